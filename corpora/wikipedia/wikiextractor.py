"""Another engine for wikitext: the library wikiextractor (3.1 or later, AGPL-3, an extra).

The library gives lines of text without offsets, and links as ``<a href>``; this module turns them
into blocks and links by the conventions of ``wikitext.py``. What the library leaves out (templates,
tables, captions, lines in brackets, headings without text) stays out. Two of its losses are
prevented: links whose title has a colon, and the items of lists.

Some texts keep the library busy for hours, so it works in a separate process
(``system/sandbox.py``).
"""

import re
from collections import Counter
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import unquote

from corpora.errors import UsageError
from corpora.system.sandbox import Bounds, Task, TaskError, call
from corpora.wikipedia.blocks import ExtractorError, PageBlocks, PageText, TitleLink
from corpora.wikipedia.nesting import OPENING, Braces
from corpora.wikipedia.structure import Simplifier
from corpora.wikipedia.templates import TemplateTable
from corpora.wikipedia.titles import VANISHING, LinkTarget, Wiki, note_category, pipe_trick

PAGE_SECONDS = 60.0
"""The seconds of processor time after which a page is given up; a page of a megabyte takes less
than one."""
_MEGABYTES = 8_000
_OLDEST = (3, 1)  # older versions evaluate the text of pages as Python
_INSTALL = "pip install 'onoma[wikiextractor]'"

_LESS, _ITEM, _COLON = "\x02", "\x03", "\x04"
"""Placeholders for ``<`` of a page's own ``<a>``, for the marker of a list item, and for a ``:``
that begins a link."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f]")
_OWN_ANCHOR = re.compile(r"(?:<|&lt;)(?=/?[aA]\b)")
_MARKERS = re.compile(r"^[*#:;]+[ \t]*", re.MULTILINE)
_TOKEN = re.compile(r'<a href="([^"]*)">|</a>|\n')
_SPACES = re.compile("[ \t\u00a0]+")
_EXTERNAL = re.compile(r"(?i:[a-z]+://|//|(?:mailto|news|geo|magnet|sips?|sms|tel|urn|xmpp):)")
_HEAD = "## "
_PERIOD = re.compile(rf"^({_HEAD}.*)\.$", re.MULTILINE)


def extract(
    wikitext: str, wiki: Wiki, templates: TemplateTable, *, title: str = "", today: str = ""
) -> PageText:
    """Read the wikitext of a page, as ``wikitext.extract`` does.

    Links that the library loses count as ``not_kept``; holes are unknown. Raises ``ExtractorError``
    for a page that cannot be read, and ``UsageError`` where the library is missing or too old.
    """
    reader = ExtractorReader(wiki)
    reader.read("\n".join(clean(wikitext, title=title)))
    no_recipes = TemplateTable(
        {}, templates.silent, templates.disambiguation, templates.dates, templates.prefixes
    )
    page = Simplifier(wiki, no_recipes, title=title, today=today).simplify(wikitext)
    reader.fill(page)
    if missing := wikitext.count("[[") - len(page.links) - page.dropped.total():
        page.dropped["not_kept" if missing > 0 else "created"] = abs(missing)
    return page


class ExtractorReader:
    """A reader of wikiextractor's output: lines with links, and headings that end with a period."""

    def __init__(self, wiki: Wiki) -> None:
        self.wiki = wiki
        self.trail = re.compile(f"[{wiki.trail}]*" if wiki.trail else "")
        self.out = PageBlocks()
        self.dropped: Counter[str] = Counter()
        self.categories: list[str] = []
        self.found: list[tuple[int, int, LinkTarget]] = []
        self.open: list[tuple[int, LinkTarget | None]] = []
        """(offset, target) of each open link; the target is None if the link leads out of the
        wiki."""

    def read(self, text: str) -> None:
        """Append blocks and links.

        A link to a file, category or language vanishes with its text.
        """
        text = _PERIOD.sub(r"\1", _SPACES.sub(" ", text.replace("\u00ad", "")))
        ends = _pairs(text)
        position = self.begin(text, 0)
        for token in _TOKEN.finditer(text):
            start, end = token.span()
            if start < position:
                continue
            self.add(text[position:start])
            if token[0] == "\n":
                self.out.close()
                self.open = [(0, None)] * len(self.open)
                position = self.begin(text, end)
            elif token[1] is None:
                position = self.end(text, end) if self.open else end
            else:
                position = self.start(token[1], ends.get(start, -1), inside=end)
        self.add(text[position:])
        self.out.close()

    def add(self, piece: str) -> None:
        """Append text, with the placeholders replaced by the characters they stand for."""
        self.out.add(piece.replace(_LESS, "<").replace(_ITEM, "").replace(_COLON, ""))

    def begin(self, text: str, position: int) -> int:
        """Open the block of a line; returns the offset of its text."""
        for mark, kind in ((_HEAD, "head"), (_ITEM, "item"), ("", "p")):
            if text.startswith(mark, position):
                self.out.open(kind)
                return position + len(mark)
        return position

    def start(self, href: str, close: int, *, inside: int) -> int:
        """Begin a link whose ``</a>`` is at ``close``; returns the offset to continue at."""
        raw = unquote(href).replace(_COLON, ":")
        for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
            raw = raw.replace(entity, character)
        if close < 0:
            return inside
        target = None if _EXTERNAL.match(raw) else self.wiki.target(raw)
        if target and target.reason in VANISHING:
            self.dropped[target.reason] += 1
            if target.reason == "category":
                note_category(target.title, self.categories)
            return close + len("</a>")
        self.open.append((self.out.length, target))
        if target and close == inside:
            self.add(pipe_trick(raw, self.wiki))
        return inside

    def end(self, text: str, position: int) -> int:
        """End the last link begun, with its trail; returns the offset to continue at."""
        start, target = self.open.pop()
        if target is None:
            return position
        trail = self.trail.match(text, position)
        after = trail.end() if trail else position
        self.add(text[position:after])
        if target.reason:
            self.dropped[target.reason] += 1
        else:
            self.found.append((start, self.out.length, target))
        return after

    def fill(self, page: PageText) -> None:
        """Write the result into a page; links lose white space at their ends."""
        page.text, page.blocks, page.dropped = (
            "".join(self.out.parts),
            self.out.blocks,
            self.dropped,
        )
        page.categories = self.categories
        for begin, close, target in self.found:
            anchor = page.text[begin:close]
            start = begin + len(anchor) - len(anchor.lstrip())
            end = start + len(anchor.strip())
            if start < end:
                page.links.append(TitleLink(start, end, target.title, target.section))
            else:
                page.dropped["empty"] += 1
        page.links.sort(key=lambda link: (link.start, -link.end))


def _pairs(text: str) -> dict[int, int]:
    """Map the offset of each ``<a>`` to that of its ``</a>``."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for token in _TOKEN.finditer(text):
        if token[1] is not None:
            stack.append(token.start())
        elif token[0] == "</a>" and stack:
            pairs[stack.pop()] = token.start()
    return pairs


def clean(source: str, *, title: str) -> list[str]:
    """Clean a page with the library; returns its lines, headings begin with ``## ``."""
    _check_once()
    page = {"title": title, "source": mask(source)}
    try:
        return call(_TASK, page, bounds=Bounds(seconds=PAGE_SECONDS, megabytes=_MEGABYTES))
    except TaskError as error:
        if error.reason == "timeout":
            what = f"did not finish it in {PAGE_SECONDS:g} s"
        else:
            what = f"failed ({error})"
        raise ExtractorError(
            f"wikiextractor {what}. Read it with --extractor onoma, or leave it out."
        ) from error


def check_installed() -> None:
    """Raise ``UsageError`` unless a safe version is installed."""
    try:
        found = version("wikiextractor")
    except PackageNotFoundError:
        raise UsageError(
            f"--extractor wikiextractor: it is not installed. Install it: {_INSTALL}"
        ) from None
    if tuple(int(n) for n in re.findall(r"\d+", found)[:2]) < _OLDEST:
        raise UsageError(
            f"--extractor wikiextractor: version {found} evaluates the text of pages as code; "
            f"3.1 does not. Install it: {_INSTALL}"
        )


_check_once = cache(check_installed)


def mask(source: str) -> str:
    """Replace the parts of the wikitext that wikiextractor would lose or misread."""
    source = _OWN_ANCHOR.sub(_LESS, _without_templates(_CONTROL.sub(" ", source)))
    return _MARKERS.sub(_ITEM, source).replace("[[:", f"[[{_COLON}")


def _without_templates(text: str) -> str:
    """Remove templates and tables as the library does, and the braces of those never closed.

    The library drops all that stands between a brace that is never closed and the last ``}}``.
    """
    out: list[str] = []
    position, braces = 0, Braces(text)
    while opening := OPENING.search(text, position):
        end, skip = braces.find(opening.start(), opening.end())
        out.append(text[position : opening.start()])
        position = skip if end < 0 else end
        if opening[0][0] == "<":  # the library removes the tags, not the cells
            out.append(opening[0])
            position = opening.end()
        elif opening[0][0] == "\n":
            out.append("\n")
    return "".join(out) + text[position:]


def clean_lines(source: str, title: str) -> list[str]:
    """Call the library in this process, on text that ``mask`` returned."""
    from wikiextractor.extract import Extractor

    task = Extractor("", "", "", title, [], acceptedNamespaces=_Everything(), keepLinks=True)
    escaped = escape(source, quote=False)
    lines = task.clean_text(escaped, mark_headers=True, expand_templates=False, html_safe=False)
    return "\n".join(lines).split("\n")


_TASK = Task(clean_lines, {"source": "", "title": ""})


class _Everything:
    """A container of every namespace: ``ExtractorReader`` decides which links vanish."""

    def __contains__(self, _: object) -> bool:
        return True
