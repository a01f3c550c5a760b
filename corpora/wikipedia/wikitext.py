"""Wikitext to text, paragraphs and links with exact offsets.

``structure.py`` takes out what is no text; here the lines that are left become blocks, and one
pattern finds the markup inside a line, with slices in between. Offsets are final when a character
is appended. Every ``[[`` of the source is a link or is counted with a reason.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from corpora.segmentation.scripts import is_solid
from corpora.wikipedia.aside import PLACE, PLACES, Aside, unplaced
from corpora.wikipedia.blocks import PageBlocks, PageText, TitleLink
from corpora.wikipedia.cells import read_blocks
from corpora.wikipedia.markup import (
    LITERAL_SPACES,
    MAGIC_LINE,
    MAGIC_WORDS,
    MARKS,
    SIGNS,
    SILENT,
    SPECIAL,
    MarkupGroup,
    heading,
    inline_pattern,
    tags,
    without_quotes,
)
from corpora.wikipedia.structure import Simplifier
from corpora.wikipedia.templates import TemplateTable
from corpora.wikipedia.titles import (
    VANISHING,
    LinkTarget,
    Wiki,
    decode,
    note_category,
    pipe_trick,
    wikis,
)

_ITEMS = "*#:;"
_RULE = re.compile(r"^-{4,}")
_CAPTION = re.compile("\x04([^\x04\x05]*)\x05")
_GLUED = re.compile("(?<=([\\w.!?,;:)\\]]))(?=\x04[^\x04\x05]*\x05([\\w\\[]))")
"""Matches the place before a file with a caption that stands inside a word or sentence."""
_DROPPED = re.compile("\x00(\\d+)\x00")
_NOTHING = re.compile("(?:\x00\\d+\x00|[\x01 \t])*")
_CLOSE = re.compile(r"\]\]|\[\[")
_AFTER = re.compile(r"[ \t]*")
_LINK = MarkupGroup.LINK
_MAY_BE_TEXT = frozenset(
    {
        MarkupGroup.BRACKET,
        MarkupGroup.ORPHAN,
        MarkupGroup.TAG,
        MarkupGroup.MAGIC,
        MarkupGroup.OPENINGS,
    }
)
"""The kinds of markup that are plain text in some places, see ``WikitextReader.is_text``."""
_PARTED = re.compile("''+|[ \t]{2,}|[\x01\x06]")
"""Matches what does not stay in a line as it is."""
_NEEDS_LINES = re.compile(f"[\n\x04{PLACE}]|  ")
_TAIL = 20  # characters before a place by which it is found in the line as shown
_LEAD = re.compile(
    "(?:[\x01\x06 ]|\x00\\d+\x00|<[^<>]*>|\\[\\[(?:[^\\[\\]|]*\\|)?|\\[(?:https?:)?//\\S+ +)*+"
)
"""Matches the markup before the first character of a line that is shown."""
_TABLE = frozenset({"{|", "|-", "|}", "|+"})

_STARTS = frozenset(" \t*#:;=\x03-|{!")


Step = tuple[int, int, int, int]
"""The markup that was processed: its start in the line and in the text, then its end in both."""


def extract(
    wikitext: str,
    wiki: Wiki,
    templates: TemplateTable,
    *,
    title: str = "",
    today: str = "",
    blocks: frozenset[str] = frozenset(),
) -> PageText:
    """Read the wikitext of a page; never raises, whatever the text.

    ``today`` (ISO 8601) is the date to which ages are computed: that of the revision. ``blocks``
    are the kinds of blocks that are kept aside (values of ``aside.KINDS``).
    """
    aside = Aside(blocks) if blocks else None
    simplifier = Simplifier(wiki, templates, title=title, today=today, aside=aside)
    reader = WikitextReader(wiki, simplifier.simplify(wikitext))
    page = reader.read()
    if aside and aside.blocks:
        inside = simplifier.again()
        alone = WikitextReader(wiki, inside.page).read_alone
        page.aside = read_blocks(inside, aside, dict(reader.places), read=alone)
        page.n_undefined = aside.n_undefined
    return page


class WikitextReader:
    """A reader of the lines of a page, which appends to the page's text piece by piece."""

    def __init__(self, wiki: Wiki, page: PageText) -> None:
        self.wiki, self.page = wiki, page
        trail = f"[{wiki.trail}]*+" if wiki.trail else ""
        self._pattern, self._trail = inline_pattern(trail), re.compile(trail)
        self.out = PageBlocks()
        self.external = 0
        """The number of open external links; the text of the last one starts at
        ``external_start``."""
        self.external_start = self.n_open = 0
        self.in_table = False
        """Whether the lines are those of a table that is never opened or never closed."""
        self.in_link = False
        self.link_start = -1
        """The offset at which the link that is being read starts: nothing before it belongs to the
        link."""
        self._pending: list[str] = []
        """The captions to write after the open block."""
        self.places: list[tuple[int, int]] = []
        """(index of the place mark, offset in the text) of each place mark."""
        self._n_settled = 0

    def read(self) -> PageText:
        """Read the page."""
        self.lines(self.page.marked)
        page = self.page
        page.text, page.blocks = "".join(self.out.parts), self.out.blocks
        names: dict[int, list[str]] = {}
        for offset, name in self.out.holes:
            names.setdefault(offset, []).append(" ".join(name.split()))
        page.holes = sorted(names)
        page.hole_names = ["|".join(names[offset]) for offset in page.holes]
        page.hole_templates = Counter(name for _, name in self.out.holes)
        return page

    def read_alone(self, text: str) -> tuple[str, list[TitleLink], list[tuple[int, int]]]:
        """Read a piece of wikitext by itself: returns its text, its links, and its place marks."""
        self.out, self.places, self._n_settled = PageBlocks(), [], 0
        links: list[TitleLink] = []
        self.page.links = links
        self.in_table = False
        line = text.strip()
        # most pieces; this is faster
        if line and line[0] not in _STARTS and not _NEEDS_LINES.search(line):
            self.out.open("p")
            self.inline(without_quotes(line) if "''" in line else line)
            self.external = self.n_open = 0
            self.out.close()
        else:
            self.lines(text)
        return "".join(self.out.parts), links, self.places

    def lines(self, text: str) -> None:
        """Read lines to the end of the last block."""
        for line in text.split("\n"):
            if line and (line[0] != PLACE or unplaced(line)):
                self.line(line)
            else:
                if line:
                    self.place(line, "", [], start=self.out.length)
                self.close()
                self.in_table = False
        self.close()

    # --- blocks

    def line(self, line: str) -> None:
        """Read a line that is not empty."""
        captions: list[str] = []
        if "\x04" in line:
            line, captions = self.without_captions(line)
        marked = line
        if PLACE in line:
            line = unplaced(line)
        kind, level = "p", None
        if line[:1] in _STARTS:
            kind, line, level = self.classify(line)
        if "''" in line:
            line = without_quotes(line)
        if not line or (line[0] in "\x00\x01_" and _is_nothing(line)):
            self._pending += captions
            if PLACE in marked:
                self.place(marked, "", [], start=self.out.length)
            if line.strip(" \x01") or not line:
                self.close()
                self.note_transclusions(line)
            return
        self.begin(kind, line, level=level)
        line = _with_single_spaces(line)
        if PLACE in marked:
            self.with_places(line, marked)
        elif SPECIAL.search(line):
            self.inline(line)
            self.external = self.n_open = 0
        else:
            self.out.add(line)
        self._pending += captions

    def note_transclusions(self, line: str) -> None:
        """Note a hole for each text of another page in a line of which nothing is shown."""
        for mark in _DROPPED.finditer(line):
            name = self.page.names[int(mark[1])]
            if name[:1] == ":" or name.lower() in wikis()["transclusions"]:
                self.out.holes.append((self.out.length, name))

    def with_places(self, line: str, marked: str) -> None:
        """Append a line, and note its place marks; ``marked`` is the line with place marks."""
        start = self.out.length
        steps = self.inline(line, is_followed=True)
        self.external = self.n_open = 0
        self.place(marked, line, steps, start=start)

    def classify(self, line: str) -> tuple[str, str, int | None]:
        """Return the kind of a line, by its first characters, the line without them, its level."""
        line = line.strip(" \t")
        first = line[:1]
        if first and first in _ITEMS:
            return "item", line.lstrip(_ITEMS).lstrip(" \t"), None
        if first == "=":
            text, level = heading(line)
            return "head" if level else "p", text, level
        if first == "\x03":
            return "verse", _RULE.sub("", line[1:].lstrip(" :*"), count=1), None
        if line[:2] in _TABLE or (first in "|!" and (self.in_table or "||" in line)):
            if n := line.count("[["):
                self.page.dropped["in_table"] += n
            self.in_table = True
            self.page.n_table_lines += 1
            return "p", "", None
        return "p", _RULE.sub("", line, count=1), None

    def begin(self, kind: str, line: str, *, level: int | None) -> None:
        """Continue a paragraph or verse with a line, or begin another block."""
        if self.out.start >= 0 and kind == self.out.kind:
            if kind == "p":
                if not (self.out.loose or self.continues(line)):
                    self.out.add(" ")
                return
            if kind == "verse":
                self.out.break_line()
                return
        self.close()
        self.out.open(kind, level)

    def continues(self, line: str) -> bool:
        """Tell whether Chinese or Japanese text continues with a line, without a space."""
        if not is_solid(self.out.parts[-1][-1]):
            return False
        lead = _LEAD.match(line)
        return lead is not None and is_solid(line[lead.end() : lead.end() + 1])

    def close(self) -> None:
        """End the open block, if there is one, and write the captions that wait for it."""
        self.out.close()
        if self._n_settled < len(self.places):
            length = self.out.length
            for i in range(self._n_settled, len(self.places)):
                number, offset = self.places[i]
                self.places[i] = number, min(offset, length)
            self._n_settled = len(self.places)
        if self._pending:
            captions, self._pending = self._pending, []
            for caption in captions:
                self.caption(caption)

    def without_captions(self, line: str) -> tuple[str, list[str]]:
        """Remove the captions of a line.

        Returns the line, and the captions to write after its block. If no block is open and the
        line begins with a caption, all its captions are written now instead, as blocks before it.
        """
        captions = _CAPTION.findall(line)
        rest = _CAPTION.sub("\x01", _GLUED.sub(_parted, line))
        if self.out.start >= 0 or unplaced(line)[0] != "\x04":
            return rest, captions
        for caption in captions:
            self.caption(caption)
        return rest, []

    def caption(self, text: str) -> None:
        """Write a caption as a block."""
        line = _with_single_spaces(without_quotes(unplaced(text))).strip()
        self.out.open("caption")
        self.with_places(line, text)
        self.close()

    # --- markup inside a line

    def inline(self, line: str, *, is_followed: bool = False) -> list[Step]:
        """Append a line, or the text of a link, without its markup; returns its steps if asked."""
        add = self.out.add
        steps: list[Step] = []
        position = 0
        for match in self._pattern.finditer(line):
            start, end = match.span()
            if start < position:
                continue  # inside a link that was read already
            kind = match.lastindex
            if kind == _LINK:
                if start > position:
                    add(line[position:start])
                before = self.out.length
                self.link(*match.group(1, 2, 3))
                position = end
            elif kind not in _MAY_BE_TEXT or not self.is_text(kind, match):
                if start > position:
                    add(line[position:start])
                before = self.out.length
                position = self.markup(kind, match, line)
            else:
                continue
            if is_followed:
                steps.append((start, before, position, self.out.length))
        if position < len(line):
            add(line[position:])
        return steps

    def place(self, marked: str, line: str, steps: Sequence[Step], *, start: int) -> None:
        """Note the offsets of a line's place marks, once its text, from ``start``, is appended."""
        length = self.out.length
        follows = iter([*steps, (len(line), length, len(line) + 1, length)])
        first, before, after, end = next(follows)
        low = start
        pieces = PLACES.split(marked)
        for number, at in zip(pieces[1::2], _positions(pieces[::2], line), strict=True):
            while at >= after:
                low = end
                first, before, after, end = next(follows)
            offset = end if first < at < after else max(low, before - (first - at))
            self.places.append((int(number), offset))

    def is_text(self, kind: int | None, found: re.Match[str]) -> bool:
        """Tell whether a match of the markup pattern is plain text."""
        if kind == MarkupGroup.BRACKET:
            return not self.external
        if kind == MarkupGroup.ORPHAN:
            return not self.n_open
        if kind == MarkupGroup.TAG:
            unknown = found[MarkupGroup.TAG].lower() not in tags()["all"]
            return unknown and not MARKS.search(found[0])
        if kind == MarkupGroup.MAGIC:
            return found[0].islower() and found[0][2:-2] not in MAGIC_WORDS
        if kind == MarkupGroup.OPENINGS:
            if (n := (len(found[0]) + 2) // 2 - 1) > 0:
                self.page.dropped["malformed"] += n
            return True
        return False

    def markup(self, kind: int | None, found: re.Match[str], line: str) -> int:
        """Process a piece of markup; returns the position to continue at."""
        end = found.end()
        if kind == MarkupGroup.OPEN:
            return self.complex_link(line, end)
        if kind == MarkupGroup.ENTITY:
            self.out.add(_shown_entity(found[0]))
        elif kind == MarkupGroup.BREAK:
            self.out.break_line()
        elif kind == MarkupGroup.TAG:
            self.tag(found)
        elif kind == MarkupGroup.DROPPED:
            end = self.tidy(line, end)
            self.out.holes.append(
                (self.out.length, self.page.names[int(found[MarkupGroup.DROPPED])])
            )
        elif kind == MarkupGroup.SILENT:
            return self.tidy(line, end)
        elif kind == MarkupGroup.LITERAL:
            literal = self.page.literals[int(found[MarkupGroup.LITERAL])]
            self.out.add(LITERAL_SPACES.sub(" ", literal.replace("\u00ad", "")))
        elif kind == MarkupGroup.EXTERNAL:
            self.external += 1
            self.external_start = self.out.length
        elif kind == MarkupGroup.BRACKET:
            self.external -= 1
            if self.out.length == self.external_start:  # the link has no text
                return self.tidy(line, end)
        elif kind == MarkupGroup.ORPHAN:
            self.n_open -= 1
        return end

    def tag(self, found: re.Match[str]) -> None:
        """Remove a tag, or begin another block; an unknown tag stays as text without marks."""
        name = found[MarkupGroup.TAG].lower()
        if name not in tags()["all"]:
            self.out.add(_with_single_spaces(MARKS.sub("", found[0])))
        elif not self.in_link and name in tags()["blocks"]:
            block, level = self.out.kind, self.out.level
            self.close()
            self.out.open(block, level)

    def tidy(self, line: str, position: int) -> int:
        """Remove a double space, or empty brackets, where something was dropped."""
        self.out.has_gap = True
        while True:
            after = _AFTER.match(line, position).end()  # type: ignore[union-attr]
            following, tail = line[after : after + 1], self.tail()
            if tail != "(" and not (tail == "（" and following):
                break
            if not following or following not in ")）,;:，；":
                return after
            self.out.trim(" ")
            if following in ")）":
                self.out.drop_last()
            position = after + 1
        if following and following in ")）":
            if tail:
                self.out.trim(" ,;" if tail in (",", ";") else " ")
            return after
        if following and following in ",.;:!?。、，．：；！？":
            if tail:
                self.out.trim(" ,;" if tail in ",;" and following in ",;" else " ")
            return after
        return position

    def tail(self) -> str:
        """Return the last character that is no space, unless it belongs to a link.

        Returns an empty string right after a link and at the beginning of one, and a space after a
        link with a space: nothing of a link is trimmed.
        """
        length, links = self.out.length, self.page.links
        if length == self.link_start or (links and links[-1].end == length):
            return ""
        after_link = links and self.out.loose and links[-1].end == length - 1
        return " " if after_link else self.out.tail()

    def link(self, raw: str, anchor: str | None, trail: str) -> None:
        """Append a link whose text holds no markup."""
        if raw.replace(" ", "").isalnum() and "  " not in raw and raw[0] != " " != raw[-1]:
            reason = section = ""  # most links: nothing to normalise
            label = raw
            title = raw if raw[0].upper() == raw[0] else self.wiki.upper(raw)
        else:
            reason, title, section, label = self.wiki.target(raw)
            if reason in VANISHING:
                self.vanish(reason, title)
                self.out.add(trail)
                return
        shown = (label if anchor is None else anchor) + trail
        after = ""
        if shown.strip() != shown:
            length = len(shown.rstrip())
            shown, after = shown[:length], shown[length:]
            self.out.add(shown[: length - len(shown.lstrip())])
            shown = shown.lstrip()
        start = end = self.out.length
        if shown:
            end = self.out.append(shown)
        if shown and not reason:  # as in ``end_link``; a call takes longer
            self.out.has_link = True
            self.page.links.append(TitleLink(start, end, title, section))
        else:
            self.page.dropped[reason or "empty"] += 1
        if after:
            self.out.add(after)

    def vanish(self, reason: str, title: str) -> None:
        """Count a link that shows nothing; note the category that it names."""
        self.page.dropped[reason] += 1
        if reason == "category":
            note_category(title, self.page.categories)

    def end_link(self, start: int, end: int, reason: str, *, title: str, section: str) -> None:
        """Add a link whose text was appended, or count why it is no mention."""
        if reason or end == start:
            self.page.dropped[reason or "empty"] += 1
        else:
            self.out.has_link = True
            self.page.links.append(TitleLink(start, end, title, section))

    def complex_link(self, line: str, inside: int) -> int:
        """Append a link with markup in it; returns the offset of its end."""
        close = _CLOSE.search(line, inside)
        if close is None or close[0] == "[[":
            self.page.dropped["malformed"] += 1
            self.n_open += 1
            return inside
        raw, bar, anchor = line[inside : close.start()].partition("|")
        end = close.end()
        if "[" in anchor and line[end : end + 1] == "]":
            anchor += "]"
            end += 1
        target = self.wiki.target(SILENT.sub("", raw))
        trail = self._trail.match(line, end)
        end = trail.end() if trail else end
        if target.reason in VANISHING:
            self.vanish(target.reason, target.title)
            return end
        if not bar:
            anchor = raw.strip().lstrip(": ")
            if target.reason != "malformed" and not SIGNS.search(target.label):
                anchor = target.label
        elif not anchor.strip():
            anchor = pipe_trick(raw, self.wiki)
        self.anchor(anchor, trail[0] if trail else "", target)
        return end

    def anchor(self, text: str, trail: str, target: LinkTarget) -> None:
        """Append the text of a link with markup in it."""
        if text[:1] in (" ", "\n"):
            self.out.add(" ")
        n_parts = len(self.out.parts)
        self.link_start, self.in_link = self.out.length, True
        self.inline(text.strip())
        self.out.add(trail)
        self.out.trim(" \n", floor=self.link_start)
        self.link_start, self.in_link = -1, False
        shown = "".join(self.out.parts[n_parts:])
        end = self.out.length - len(shown) + len(shown.rstrip())
        start = end - len(shown.strip())
        self.end_link(start, end, target.reason, title=target.title, section=target.section)
        if text[-1:] == " " and not trail:
            self.out.add(" ")


def _with_single_spaces(line: str) -> str:
    """Replace each tab, and each run of spaces and tabs, by a space."""
    if "\t" in line:
        line = line.replace("\t", " ")
    while "  " in line:
        line = line.replace("  ", " ")
    return line


@lru_cache(maxsize=1000)
def _shown_entity(entity: str) -> str:
    """Return the text that an entity shows."""
    text = decode(entity).replace("\u00a0", " ").replace("\u00ad", "")
    return " " if text in "\t\n\u2028\u2029" and text else text


def _parted(place: re.Match[str]) -> str:
    return "" if is_solid(place[1]) or is_solid(place[2]) else " "


def _is_nothing(line: str) -> bool:
    """Tell whether a line has only what was dropped, or magic words."""
    if line[0] == "_":
        return MAGIC_LINE.fullmatch(line) is not None and not line.islower()
    return _NOTHING.fullmatch(line) is not None


def _positions(pieces: Sequence[str], shown: str) -> list[int]:
    """Return the offsets, in the ``shown`` line, of the places between the pieces of a line.

    The shown line is without the signs of a list or heading, quotes, and superfluous spaces.
    """
    plain = "".join(pieces)
    for change in (str, _without_plain_quotes):
        skipped = change(plain).find(shown)
        if skipped >= 0:
            ends = accumulate(len(change(piece)) for piece in pieces[:-1])
            return [min(max(end - skipped, 0), len(shown)) for end in ends]
    found, positions = 0, []
    for piece in pieces[:-1]:
        least = found + len(_without_plain_quotes(piece)) - 2 * _TAIL
        tail = _PARTED.split(piece[-_TAIL:])[-1]
        low = max(found, least)
        at = shown.find(tail, low, low + len(piece) + 4 * _TAIL) if tail else -1
        found = at + len(tail) if at >= 0 else min(max(found, least + 2 * _TAIL), len(shown))
        positions.append(found)
    return positions


def _without_plain_quotes(text: str) -> str:
    return text.replace("'''", "").replace("''", "")
