r"""The first half of reading wikitext: take out what is no text, render what carries a value.

Three passes, each a search for what it takes out and slices in between, each linear in the length
of the page: comments, references and other tags; templates and tables; files. What is left are
lines with links, quotes, simple tags and entities, for ``wikitext.py``, and these marks (characters
that no XML file can hold):

``\x00N\x00``  something was dropped here: number N of ``PageText.names``
``\x01``     something was dropped that leaves no hole
``\x02N\x02``  literal text: number N of ``PageText.literals``
``\x03``     a line of verse begins
``\x04…\x05``  a caption
``\x0eN\x0e``  a block that is kept aside stood here (see ``aside.py``)
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from corpora.matching.arrays import code_units
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.scripts import is_solid
from corpora.wikipedia.aside import PLACE, PLACES, Aside, places_in, unplaced
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.definitions import Parts, count_parameters, has_calls, show
from corpora.wikipedia.disambiguation import signs_of, words
from corpora.wikipedia.image_options import ImageOptions, options_of
from corpora.wikipedia.inline_text import SCRIPTS, symbol_of, with_readings
from corpora.wikipedia.markup import tags
from corpora.wikipedia.nesting import OPENING, Braces, Brackets, ClosingTags
from corpora.wikipedia.parser_functions import choose
from corpora.wikipedia.templates import PIPE, TemplateTable, Treatment, split_call, split_parts
from corpora.wikipedia.titles import FILE, Wiki, decode, note_category

MAX_DEPTH = 20  # levels of templates inside shown parameters
_BOX_LINES = 3  # the fewest lines, and named parameters, of a box
_ROOM = 100_000

_READ = ("literal", "dropped", "silent", "references")  # lists of ``tags.toml``
_REST_OF_LINE = re.compile(r"(?:[ \t]*+<!--(?s:.*?)-->)*+[ \t]*+\n")
"""Matches the end of a line that has only comments."""
_SCRIPT = re.compile(
    r"<(su[bp])\b[^<>]*>\s*((?:[0-9+−–-]|&minus;|&#8722;|&ndash;){1,8})\s*</\1\s*>", re.IGNORECASE
)
_GALLERY_CAPTION = re.compile(
    r"(?<![\w-])caption\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'/]+))", re.IGNORECASE
)
_NOWIKI = re.compile(r"</?nowiki>", re.IGNORECASE)
_WHOLE_PAGE = re.compile(r"</?(?:noinclude|onlyinclude)\s*/?>", re.IGNORECASE)
"""Matches the tags that say what of a page is included elsewhere; on the page they show nothing."""
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_BROKEN_LINK = re.compile(r"\[\[[^\[\]\n|]++\|[^\[\]\n]*+\n[^\[\]]*+\]\]")
_BROKEN_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*+[^<>\n]*+(?:\n(?!\n)[^<>\n]*+)++>")
_BRACKETED_TAG = re.compile(
    "<(/?)([a-zA-Z][a-zA-Z0-9]*+)(?=[ \t/\x00-\x02])"
    "([^<>\\[\\]{}\n\x03-\x05]*+[\\[\\]{}][^<>\n\x03-\x05]*+)>"
)
"""Matches a tag with brackets or braces among its attributes."""
_QUOTED_TITLE = re.compile(r"\[\[[^\[\]|'\n]*+(?:'(?!')[^\[\]|'\n]*+)*+''[^\[\]|\n]*+(?=[|\]])")
"""Matches a link to a title with two apostrophes, which are no italics."""
_LATE_VERSE = re.compile("(?<!\n)\x03")
_CAPTION = re.compile("\x04[^\x04\x05\n]*+\x05")
_CAPTION_MARK = re.compile("([\x04\x05])")

_JOINING = "[]{}|!-\n"
"""The characters that may form markup with the next one: no place mark is put between two of
them."""
_LINE_STARTS = f"\n{PLACE}"
_TEMPLATE_NEXT = re.compile(rf"(?:{PLACE}\d+{PLACE})*+\n(?:{PLACE}\d+{PLACE})*+\{{\{{")
"""Matches the end of a line if the next one begins with a template."""
_NAME = re.compile(r"\{\{+([^{}|]*)")
_MARK = re.compile("\x00\\d+\x00")
"""Matches the mark of what was dropped."""
_FLAGS = re.compile(r"[A-Za-z+;\s-]*")
"""Matches what stands before the pipe of a variant: flags, or codes of languages."""
_VARIANT = re.compile(r"-\{([^{}]*?)\}-")
_ENTITY_AT_END = re.compile(r"&#?\w+;$")


class Simplifier:
    """A remover of everything in a page's wikitext that is not text."""

    def __init__(
        self,
        wiki: Wiki,
        templates: TemplateTable,
        *,
        title: str,
        today: str,
        aside: Aside | None = None,
    ) -> None:
        """Begin a page; ``today`` is the date for ages, ``aside`` collects blocks to keep."""
        self.wiki, self.templates, self.today, self.aside = wiki, templates, today, aside
        self.title = CONTROL.sub(" ", title)
        self.options = options_of(wiki.codes)
        self.signs = signs_of(wiki.codes)
        self.page = PageText()
        self.room = _ROOM
        """The number of characters that expanded templates may still have."""
        self.expanding: list[str] = []
        """The names of the templates whose definitions are being expanded: none is expanded in
        itself."""
        self.calls: list[tuple[str, str]] | None = None
        """A list that collects name and parameters of templates that are not shown; None: not
        collected."""

    def again(self) -> "Simplifier":
        """Build a simplifier for blocks kept aside, in which the marks of this one stay valid."""
        wiki, templates = self.wiki, self.templates
        other = Simplifier(wiki, templates, title=self.title, today=self.today, aside=self.aside)
        other.page.names, other.page.literals = [*self.page.names], [*self.page.literals]
        other.page.asked = self.page.asked
        return other

    def simplify(self, wikitext: str) -> PageText:
        """Simplify the wikitext of a page."""
        self.room = _ROOM + 4 * len(wikitext)
        text = self.without_tags(f"\n{_cleaned(wikitext)}")
        if self.signs.in_text(text):
            self.page.is_disambiguation = True
            text = words().sub("", text)
        elif self.signs.in_title(self.title):
            self.page.is_disambiguation = True
        text = self.page.marked = self.tidied(self.without_templates(text, depth=0))
        self.page.simplified = unplaced(text)
        # Single brackets become a link if what stood between two of them is dropped.
        n = text.count("[[") - wikitext.count("[[") + sum(self.page.dropped.values())
        n -= 2 * self.page.dropped["created"]
        if n > 0:
            self.page.dropped["created"] += n
        return self.page

    def tidied(self, text: str) -> str:
        """Remove what is left once templates are gone: variants, files, broken tags and links."""
        if PIPE in text:
            text = text.replace(PIPE, "|")
        if self.wiki.variants and "-{" in text:
            text = self.with_variants(text)
        text = self.without_files(text)
        if _has_caption_mark(_CAPTION.sub("", text)):  # nested captions, or an unpaired mark
            text = "\n".join(_flat_captions(line) for line in text.split("\n"))
        if "\x03" in text:
            text = _LATE_VERSE.sub("\n\x03", text)
        if "<rt" in text or "<RT" in text:
            text = with_readings(text)
        if "<su" in text or "<SU" in text:
            text = _SCRIPT.sub(_script, text)
        if _BROKEN_TAG.search(text):
            text = _BROKEN_TAG.sub(_on_one_line, text)
        if _BRACKETED_TAG.search(text):
            text = _BRACKETED_TAG.sub(self.without_brackets, text)
        if "''" in text and _QUOTED_TITLE.search(text):
            text = _QUOTED_TITLE.sub(lambda title: title[0].replace("'", "&#39;"), text)
        if _BROKEN_LINK.search(text):
            text = _BROKEN_LINK.sub(_on_one_line, text)
        return text

    def without_brackets(self, tag: re.Match[str]) -> str:
        """Remove the attributes of a tag with brackets or braces in them; not of an unknown tag."""
        if tag[2].lower() not in tags()["all"]:
            return tag[0]
        self.count_links(tag[3], "in_tag")
        return f"<{tag[1]}{tag[2]}>{places_in(tag[3])}"

    def count_links(self, text: str, reason: str) -> None:
        """Count the links in a text that is dropped, for a reason."""
        if n := text.count("[["):
            self.page.dropped[reason] += n

    def count_shown(self, given: str, shown: str) -> None:
        """Count the links that a template drops, or creates by showing a parameter again."""
        if n := given.count("[[") - shown.count("[["):
            self.page.dropped["in_template" if n > 0 else "created"] += abs(n)

    # --- comments, references, and other tags whose content is no wikitext

    def without_tags(self, text: str) -> str:
        """Take out comments, references, and other tags whose content is no wikitext."""
        out: list[str] = []
        position, held = 0, ""
        ends = ClosingTags(text)
        opening = _opening()
        while tag := opening.search(text, position):
            start = tag.start()
            out.append(text[position:start])
            if tag[1] is None:
                position = self.comment(text, start, out=out)
                continue
            name = tag[1].lower()
            inside = tag.end()
            if tag[2].endswith("/"):
                end = after = inside
            else:
                end, after = ends.find(name, inside)
            position = after
            if end < 0:  # never closed: only the tag is removed
                position = inside
            elif name in tags()["references"]:
                self.count_links(text[start:after], "in_reference")
                at_start = name == "ref" and text[start - 1] in "\n\t >" and _begins_line(out)
                mark = "\x01" if at_start else _mark(text, start, after)
                if self.aside:
                    held += self.aside.reference(name, tag[2], text[inside:end])
                    if text[start - 1] not in _JOINING or text[after : after + 1] not in _JOINING:
                        out[-1] += held
                        held = ""
                out.append(mark)
            else:
                out.append(self.tag(name, text[inside:end], tag[2]))
        out.append(text[position:] + held)
        return "".join(out)

    def comment(self, text: str, start: int, *, out: list[str]) -> int:
        """Return the offset after a comment, and count its links.

        A line that holds only comments and blanks is skipped, as in MediaWiki.
        """
        end = text.find("-->", start + 4)
        end = len(text) if end < 0 else end + 3
        before = text[max(0, start - len(out[-1]) - 1) : start].rstrip(" \t")
        if before[-1:] == "\n" and (rest := _REST_OF_LINE.match(text, end)):
            out[-1] = out[-1].rstrip(" \t")
            end = rest.end()
        self.count_links(text[start:end], "in_comment")
        return end

    def tag(self, name: str, content: str, attributes: str) -> str:
        """Return the text that remains of a tag with its content."""
        if name in tags()["literal"]:
            self.count_links(content, "in_tag")
            if name == "pre":
                content = _NOWIKI.sub("", content)
            number = self.literal(decode(content))
            return number if name == "nowiki" else f"\n\n{number}\n\n"
        if name == "gallery":
            return "".join(self.gallery(content, attributes))
        if name == "tabber":
            tabs = (tab.partition("=") for tab in self.without_tags(content).split("|-|"))
            return "".join(f"\n\n{title.strip()}\n\n{text.strip()}\n\n" for title, _, text in tabs)
        if name == "poem":
            lines = self.without_tags(content).split("\n")
            return "\n" + "".join(f"\x03{line}\n" for line in lines if unplaced(line).strip())
        self.count_links(content, "in_tag")
        if name in tags()["silent"]:
            return ""
        place = self.aside.formula(name, content) if self.aside else ""
        if name == "math" and (symbol := symbol_of(content)):
            return self.literal(symbol) + place
        return self.drop(f"<{name}>") + place

    def literal(self, text: str) -> str:
        """Note text that is not read any further; returns its mark."""
        self.page.literals.append(text)
        return f"\x02{len(self.page.literals) - 1}\x02"

    def gallery(self, content: str, attributes: str) -> Iterator[str]:
        """Yield the captions of a gallery, marked: its own, and those of its files."""
        yield "\n"
        own = _GALLERY_CAPTION.search(self.without_tags(attributes))
        if own and own[own.lastindex or 0].strip():
            yield f"\x04{' '.join(own[own.lastindex or 0].split())}\x05\n"
        for line in self.without_tags(content).split("\n"):
            caption = _last_part(line, self.options)
            self.page.dropped["in_tag"] += line.count("[[") - caption.count("[[")
            if caption.strip():
                yield f"\x04{caption}\x05\n"

    def drop(self, name: str) -> str:
        """Note what was dropped; returns its mark."""
        self.page.names.append(name)
        return f"\x00{len(self.page.names) - 1}\x00"

    # --- templates and tables

    def without_templates(self, text: str, *, depth: int) -> str:
        """Show or drop templates, and remove tables."""
        if "{" not in text and not any(tag in text for tag in ("<table", "<Table", "<TABLE")):
            return text  # most parameters; this is faster
        out: list[str] = []
        position = 0
        braces = Braces(text)
        while opening := OPENING.search(text, position):
            start = opening.start()
            end, skip = braces.find(start, opening.end())
            # never closed: stays as text, from which ``wikitext.py`` removes the braces
            if end < 0:
                out.append(text[position:skip])
                position = skip
                continue
            before = text[position:start]
            out.append(before)
            position = end
            if text[start] != "{":
                out.append(self.table(text[start:end], depth=depth))
                continue
            if self.aside is None or depth:
                shown = self.template(text, start, end, depth=depth)
            else:
                shown = self.with_places(text, start, end, aside=self.aside)
            is_alone = text[start - 1] in _LINE_STARTS and unplaced(before)[-1:] == "\n"
            if is_alone and unplaced(shown) and _TEMPLATE_NEXT.match(text, end):
                shown += " "  # else Chinese or Japanese lines would touch
            out.append(shown)
        out.append(text[position:])
        return "".join(out)

    def table(self, text: str, *, depth: int) -> str:
        """Remove a table."""
        place = ""
        if self.aside and depth == 0:
            place = self.aside.table(text) or places_in(text)
            text = unplaced(text)
        self.page.n_tables += 1
        self.page.in_tables.append(text)
        self.count_links(text, "in_table")
        return f"\n{place}"

    def with_places(self, text: str, start: int, end: int, *, aside: Aside) -> str:
        """Show a template or drop it, then append its place mark, or the marks inside it."""
        marked, before, after = text[start:end], start, end
        if PLACE in text[start - 1 : end + 1]:
            while text[before - 1 : before] == PLACE:
                before = text.rindex(PLACE, 0, before - 1)
            while place := PLACES.match(text, after):
                after = place.end()
            plain = unplaced(marked)
            around = text[before - 1 : before], text[after : after + 1]
            first = len(around[0])
            shown = self.template(plain.join(around), first, first + len(plain), depth=0)
        else:
            shown = self.template(text, start, end, depth=0)
        head = _NAME.match(marked)
        kept = ""
        if head:
            is_alone = text[before - 1 : before] == "\n"
            kept = self._kept(marked, head, aside, shown=shown, is_alone=is_alone)
        return shown + (kept or places_in(marked))

    def _kept(
        self, marked: str, head: re.Match[str], aside: Aside, *, shown: str, is_alone: bool
    ) -> str:
        """Keep a reference, footnote or infobox aside; returns its place mark, if it is kept.

        A template whose definition shows nothing counts as dropped.
        """
        action = self.action(head[1])
        inside = marked[head.end() + marked.startswith("|", head.end()) : -2]
        if action.kind == "reference":
            return aside.called_reference(inside)
        if action.footnote and (marks := aside.footnote(action.footnote, inside)):
            return marks
        if not (is_alone or self.calls is not None):
            return ""
        is_empty = action.kind == "expand" and not any(map(str.isalnum, _MARK.sub("", shown)))
        if self.calls is not None and (is_empty or action.kind in ("drop", "silent")):
            self.calls.append((action.name, inside))
        is_box = is_alone and (is_empty or action.kind == "drop")
        return aside.infobox(action.name, inside) if is_box else ""

    def template(self, text: str, start: int, end: int, *, depth: int) -> str:
        """Show a template or drop it."""
        head = _NAME.match(text, start)
        if not head:
            return ""
        action = self.action(head[1])
        bar = text.startswith("|", head.end())
        inside = text[head.end() + bar : end - 2]
        if head[0].startswith("{{{") and text.startswith("}}}", end - 3):
            return self.parameter(inside[:-1] if bar else None, text[start:end], depth=depth)
        if action.function:  # a template may stand right after the colon
            inside = f"{action.argument}{'|' * bar}{inside}"
        shown = self.shown(action, inside, depth=depth) if depth < MAX_DEPTH else None
        if shown is not None:
            return shown
        if action.categories:
            for category in action.categories.of(split_call(inside, self.today)):
                note_category(self.wiki.title(f"Category:{category}"), self.page.categories)
        if action.kind == "disambiguation":
            self.page.is_disambiguation = True
        if action.kind == "reference":
            self.count_links(text[start:end], "in_reference")
        else:
            self.count_links(text[start:end], "in_template")
        is_lost = action.kind in ("drop", "show", "expand", "evaluate")
        if is_lost and inside:
            self.page.in_templates.append((action.name, inside))
        if is_lost and not _is_box(text, start, inside):
            return self.drop(action.name)
        if action.kind == "silent":
            self.page.in_notes.append(inside)
        self.page.silent[action.name] += 1
        return _mark(text, start, end)

    def shown(self, action: Treatment, inside: str, *, depth: int) -> str | None:
        """Show a template by its recipe or definition, or a parser function; None for others."""
        if action.kind == "show":
            return self.show(action, inside, depth=depth)
        if action.kind == "evaluate":
            return self.evaluate(action, inside, depth=depth)
        if not action.definition or action.name in self.expanding:
            return None
        shown = self.expand(action, action.definition, inside, depth=depth)
        if shown is None:
            self.page.n_not_expanded += 1
        else:
            self.page.expanded[action.name] += 1
        return shown

    def action(self, raw: str) -> Treatment:
        """Look up the treatment of a template, and note the name sought in the definitions."""
        action = self.templates.action(raw)
        if action.asked:
            self.page.asked.add(action.asked)
        return action

    def parameter(self, inside: str | None, text: str, *, depth: int) -> str:
        """Show the default of a parameter; without one, the parameter leaves a hole."""
        default = split_parts(inside)[0] if inside is not None and depth < MAX_DEPTH else ""
        self.count_shown(text, default)
        if inside is None:
            return self.drop("{{{}}}")
        return self.without_templates(default, depth=depth + 1)

    def show(self, action: Treatment, inside: str, *, depth: int) -> str | None:
        """Show a template by its recipe; None if that does not know its text."""
        rendered = self.without_templates(inside, depth=depth + 1)
        shown = self.templates.show(action, rendered, title=self.title, today=self.today)
        if shown is None:
            return None
        self.count_shown(rendered, shown)
        return f"\n{shown}\n" if "\x03" in shown else shown

    def expand(
        self, action: Treatment, definition: Parts, inside: str, *, depth: int
    ) -> str | None:
        """Show a template by its definition in the dump; None if the page would grow too long.

        Its parameters are simplified before it is expanded, the templates that it calls afterwards.
        """
        if self.room <= 0:
            return None
        dropped = self.page.dropped.copy()
        rendered = self.without_templates(inside, depth=depth + 1)
        if count_parameters(definition) * len(rendered) > self.room:
            self.page.dropped = dropped
            return None
        shown = show(definition, split_call(rendered, self.today))
        self.room -= len(shown)
        self.count_shown(rendered, shown)
        if has_calls(definition):
            self.expanding.append(action.name)
            shown = self.without_templates(shown, depth=depth + 1)
            self.expanding.pop()
        return shown

    def evaluate(self, action: Treatment, inside: str, *, depth: int) -> str | None:
        """Show what a parser function chooses or computes; None if that is not known."""

        def value(text: str) -> str | None:
            return self.value(text, depth=depth + 1)

        chosen = choose(action.function, split_parts(inside), value)
        if chosen is None:
            return None
        self.count_shown(inside, chosen)
        return self.without_templates(chosen, depth=depth + 1).strip()

    def value(self, text: str, *, depth: int) -> str | None:
        """Render what a parser function compares; None if a template or tag in it was dropped.

        The page's counts stay as they are.
        """
        if "{{" in text:
            other = Simplifier(self.wiki, self.templates, title=self.title, today=self.today)
            other.room, other.expanding = self.room, self.expanding
            other.page.asked = self.page.asked
            text = other.without_templates(text, depth=depth)
            self.room = other.room
            if other.page.silent:
                return None
        if "\x00" in text:
            return None
        return decode(text.replace("\x01", "").replace(PIPE, "|")).strip()

    # --- variants and files

    def with_variants(self, text: str) -> str:
        """Choose one of the variants of a language."""
        for _ in range(MAX_DEPTH):
            text, n = _VARIANT.subn(lambda v: self.variant(v[1]), text)
            if not n:
                break
        return text

    def variant(self, content: str) -> str:
        """Choose the text shown by ``-{…}-``: of ``zh-hans:A;zh-hant:B``, or not converted."""
        flags, bar, rest = content.partition("|")
        if bar and _FLAGS.fullmatch(flags):
            content = rest
            if {flag.strip() for flag in flags.split(";")} & {"H", "T", "+", "-"}:
                self.count_links(content, "in_tag")
                return ""
        choices = {}
        for choice in _before_variants(self.wiki.variants).split(content):
            name, colon, text = choice.partition(":")
            if colon and primary_language(name.strip()) == primary_language(self.wiki.lang):
                text = text.strip()
                choices[name.strip()] = (
                    text if _ENTITY_AT_END.search(text) else text.removesuffix(";").rstrip()
                )
        if not choices:
            return content
        preferred = [choices[name] for name in self.wiki.variants if name in choices]
        shown = (preferred or list(choices.values()))[0]
        if n := content.count("[[") - shown.count("[["):
            self.page.dropped["in_tag"] += n
        return shown

    def without_files(self, text: str, *, depth: int = 0) -> str:
        """Remove file links, and mark their captions."""
        out: list[str] = []
        position = 0
        brackets = Brackets(text)
        pattern = _file_pattern(tuple(n for n, k in self.wiki.namespaces.items() if k == FILE))
        while file := pattern.search(text, position):
            start = file.start()
            out.append(text[position:start])
            end, after = brackets.find(start)
            self.page.dropped["file"] += 1
            position = after
            inside = text[file.end() : end]
            caption = _last_part(inside, self.options)
            self.page.dropped["file"] += inside.count("[[") - caption.count("[[")
            if depth >= MAX_DEPTH:
                self.count_links(caption, "file")
            elif caption:
                out.append(self.caption(caption, depth=depth))
            else:
                out.append("\x01")
        out.append(text[position:])
        return "".join(out)

    def caption(self, text: str, *, depth: int) -> str:
        """Mark a caption; captions of files inside it come after it."""
        text = _in_one_line(text.replace("\x03", ""))
        return f"\x04{self.without_files(text, depth=depth + 1)}\x05"


def _in_one_line(text: str) -> str:
    """Join lines by a space, or, within Chinese or Japanese text, without one."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    joined = lines[:1]
    for before, line in pairwise(lines):
        goes_on = is_solid(before.rstrip("]'")[-1:]) and is_solid(line.lstrip("['")[:1])
        joined.append(line if goes_on else f" {line}")
    return "".join(joined)


def _cleaned(wikitext: str) -> str:
    """Normalize line ends and no-break spaces; remove control characters and soft hyphens."""
    if "\r" in wikitext:
        wikitext = wikitext.replace("\r\n", "\n").replace("\r", "\n")
    if has_control(wikitext):
        wikitext = CONTROL.sub(" ", wikitext)
    if "include>" in wikitext:
        wikitext = _WHOLE_PAGE.sub("", wikitext)
    return wikitext.replace("\u00a0", " ").replace("\u00ad", "")


def has_control(text: str) -> bool:
    """Tell whether ``CONTROL`` matches in a text.

    The test on arrays is ten times faster than the pattern.
    """
    return bool(_controls().take(code_units(text)).any())


@cache
def _controls() -> npt.NDArray[np.bool_]:
    """Make a table of all UTF-16 code units that ``CONTROL`` matches."""
    return np.array([CONTROL.match(chr(code)) is not None for code in range(0x10000)])


def _has_caption_mark(text: str) -> bool:
    return "\x04" in text or "\x05" in text


def _flat_captions(line: str) -> str:
    """Move captions inside a caption behind it, and close captions that stay open."""
    if not _has_caption_mark(line):
        return line
    outer: list[str] = []
    open_: list[list[str]] = []
    inner: list[str] = []
    for piece in [*_CAPTION_MARK.split(line), *"\x05" * line.count("\x04")]:
        if piece == "\x04":
            open_.append([])
        elif piece != "\x05":
            (open_[-1] if open_ else outer).append(piece)
        elif open_:
            inner.append(f"\x04{''.join(open_.pop())}\x05")
            if not open_:
                outer += inner.pop(), *inner
                inner = []
    return "".join(outer)


def _on_one_line(markup: re.Match[str]) -> str:
    return markup[0].replace("\n", " ").replace("\x03", "")


@cache
def _opening() -> re.Pattern[str]:
    """Compile the pattern of a comment, or of a tag whose content is no ordinary wikitext."""
    names = {"gallery", "poem", "tabber"}.union(*(tags()[name] for name in _READ))
    attributes = "[^<>]*+(?=>)|[^<>]*+(?:<[^<>]*+){1,3}+"  # the first alternative is faster
    return re.compile(rf"<(?:!--|(?i:({'|'.join(sorted(names))}))(?=[\s/>])({attributes})>)")


@cache
def _before_variants(codes: tuple[str, ...]) -> re.Pattern[str]:
    """Compile the pattern of the semicolon before a variant; others are part of a text."""
    languages = "|".join(sorted({code.partition("-")[0] for code in codes}))
    return re.compile(rf";(?=\s*(?:{languages})(?:-\w+)*\s*:)")


@cache
def _file_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(re.escape(name).replace("\\ ", "[ _]") for name in sorted(names)) or "(?!)"
    return re.compile(rf"\[\[[ _]*(?:(?i:{either})[ _]*:)")


def _script(found: re.Match[str]) -> str:
    digits = decode(found[2]).replace("–", "−")
    return digits.translate(SCRIPTS[found[1].lower()])


def _last_part(text: str, options: ImageOptions) -> str:
    """Return the caption of a file link: its last part that is no option, or an empty string."""
    for part in reversed(split_parts(text)[1:]):
        if (word := unplaced(part).strip()) and not options.has(word):
            return part
    return ""


def _begins_line(pieces: Sequence[str]) -> bool:
    """Tell whether the last line of a text in pieces is blank so far."""
    kept = next(filter(None, (piece.rstrip(" \t") for piece in reversed(pieces))), "")
    return kept[-1:] == "\n"


def _is_box(text: str, start: int, inside: str) -> bool:
    """Tell whether a template is a box before a paragraph, not a part of its first sentence."""
    return text[start - 1 : start] in ("", "\n") and min(map(inside.count, "\n=")) >= _BOX_LINES


def _mark(text: str, start: int, end: int) -> str:
    """Return a mark if dropping ``text[start:end]`` may leave a space, brackets or quotes to tidy.

    Also returns one between the signs of a list, which would join. Else returns an empty string.
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    needs = (
        (before in " (>};,\n" and after in " ,.;:!?)<{。、，．：；！？")
        or before == after == "'"
        or (before in "*#:;" and after in "*#:;")
    )
    return "\x01" if needs else ""
