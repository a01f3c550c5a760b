"""Find the ends of tags, templates, tables and file links, in time linear in the length of a page.

Openings that are never closed are remembered, so that no part of any text is searched more than a
few times.
"""

import re
from functools import cache

_BRACES = r"\{\{+|\n[ \t:*#;]*\{\|(?!\})|<(?i:table)\b"
OPENING = re.compile(_BRACES)
_INNER = re.compile(rf"{_BRACES}|\}}\}}+|\n[ \t]*\|\}}(?!\}})|</(?i:table)\s*>")
_SIMPLE = re.compile(r"\{\{[^{}]*+\}\}(?!\})")
_MAX_CAPTION = 10_000  # characters of a caption with blank lines, at most
_LINKS = re.compile(r"\[\[|\]\]")


class ClosingTags:
    """A finder of closing tags; a missing one is searched for only once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed: set[str] = set()

    def find(self, name: str, start: int) -> tuple[int, int]:
        """Find the end of the content, and of the closing tag.

        Returns -1 for both if the tag is never closed.
        """
        if name not in self.unclosed:
            if end := _closing(name).search(self.text, start):
                return end.span()
            self.unclosed.add(name)
        return -1, -1


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</(?i:{name})\s*>")


class Braces:
    """A finder of the ends of templates and tables, as lenient as MediaWiki."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed: dict[int, int] = {}
        """The start of each opening that is never closed, with the number of its braces that stay
        open (1 for a table)."""

    def find(self, start: int, opened: int) -> tuple[int, int]:
        """Find the end of what opens at ``start``; the second value is 0.

        If it is never closed, returns -1 and the offset at which to continue. ``opened`` is the end
        of the opening braces.
        """
        if start not in self.unclosed:
            if simple := _SIMPLE.match(self.text, start):
                return simple.end(), 0
            for _ in range(2):  # the second time without openings that are never closed
                end = self._scan(start)
                if end >= 0:
                    return end, 0
        n = self.unclosed[start]
        return -1, start + n if self.text[start] == "{" else opened

    def _scan(self, start: int) -> int:
        stack: list[tuple[str, int, int]] = []  # kind, start and number of open braces
        n_templates = 0
        for token in _INNER.finditer(self.text, start):
            mark, at = token[0], token.start()
            kind = mark[0]
            if kind == "}":
                used, n_templates = _close_braces(stack, len(mark), n_templates)
                if used and not stack:
                    return at + used
            elif kind == "{" or mark[-1] in "|eE":
                if at == start or at not in self.unclosed:
                    stack.append((kind, at, len(mark)))
                    n_templates += kind == "{"
            elif stack and stack[-1][0] == kind:
                stack.pop()
                if not stack:
                    return token.end()
        self.unclosed.update((at, n) for _, at, n in stack)
        return -1


def _close_braces(stack: list[tuple[str, int, int]], n: int, n_templates: int) -> tuple[int, int]:
    """Close templates with ``n`` braces; tables that are open inside them are discarded.

    Two braces are a template, three a parameter, as MediaWiki pairs them. Returns the number of
    braces used, and the number of templates still open on the stack.
    """
    used = 0
    while n - used >= 2 and n_templates:
        while stack[-1][0] != "{":
            stack.pop()
        kind, at, n_open = stack.pop()
        n_paired = min(n_open, n - used, 3)
        used += n_paired
        if n_open - n_paired >= 2:
            stack.append((kind, at, n_open - n_paired))
        else:
            n_templates -= 1
    return used, n_templates


class Brackets:
    """A finder of the closing brackets of a file link, inside its paragraph."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed: set[int] = set()
        self._paragraph = -1
        """The end of the paragraph that was searched last."""

    def find(self, start: int) -> tuple[int, int]:
        """Find the end of a link's content, and of the link.

        Returns the end of the line for both if the link is never closed.
        """
        if start not in self.unclosed:
            if self._paragraph < start:
                end = self.text.find("\n\n", start)
                self._paragraph = len(self.text) if end < 0 else end
            for limit in (self._paragraph, self._section(start)):
                stack: list[int] = []
                for token in _LINKS.finditer(self.text, start, limit):
                    if token[0] == "[[":
                        stack.append(token.start())
                    else:
                        stack.pop()
                        if not stack:
                            return self._with_bracket(start, *token.span())
            self.unclosed.update(stack)
        line = self.text.find("\n", start)
        line = len(self.text) if line < 0 else line
        return line, line

    def _section(self, start: int) -> int:
        """Return the last offset at which a caption with blank lines may end."""
        end = self.text.find("\n==", start, start + _MAX_CAPTION)
        return start + _MAX_CAPTION if end < 0 else end

    def _with_bracket(self, start: int, end: int, after: int) -> tuple[int, int]:
        """Include a third bracket, where the first one closes an external link."""
        text = self.text
        if text.startswith("]", after):
            inside = text[start + 2 : end]
            if inside.rfind("[") > inside.rfind("]"):
                return end + 1, after + 1
        return end, after
