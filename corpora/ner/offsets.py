"""The unit of the offsets of names, found out from the texts of a file.

Programs count characters, UTF-16 units (in browsers and in Java), bytes, or characters with a line
end as one; the end of a name is the place after it, or its last character. Of these, the one is
taken in which the fewest names are odd: names that are not what the file says they are; without
that, names that begin or end inside a word or with a blank, or that are outside of the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol

from corpora.document import Mention
from corpora.ner.bad_records import BadRecordError
from corpora.segmentation.scripts import UNSPACED

_LETTER = re.compile(rf"[^\W_{UNSPACED}\u1100-\u11ff\uac00-\ud7ff]")
"""A letter or digit of a script in which the edges of words can be seen."""
_BLANKS = re.compile(r"\s+")
_MIN_ODD = 3
"""The fewest odd names for which a file is refused."""


class WrittenName(NamedTuple):
    """A name as a file has it."""

    start: int
    end: int
    label: str
    surface: str | None = None
    """Its text; None if the file does not say."""
    line: int | None = None
    """The number of its line, for messages; None: that of the text."""


class OffsetText(Protocol):
    """A text with names."""

    @property
    def text(self) -> str: ...  # noqa: D102 - as the class says

    @property
    def names(self) -> Sequence[WrittenName]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Counting:
    """A way to count offsets."""

    unit: str = "characters"
    is_inclusive: bool = False
    """Whether the end of a name is its last unit, not the one after it."""

    def __str__(self) -> str:
        """Name it in messages and counters."""
        return f"{self.unit}, ends inclusive" if self.is_inclusive else self.unit

    def places(self, text: str, names: Iterable[WrittenName]) -> Iterator[tuple[int, int] | None]:
        """Yield the place of each name in characters; None for one that is not in the text."""
        starts = _starts(text, self.unit)
        limit = len(text) if starts is None else starts[-1]
        for name in names:
            start, end = name.start, name.end + self.is_inclusive
            if not 0 <= start < end <= limit:
                yield None
            elif starts is None:
                yield start, end
            else:
                first, last = bisect_left(starts, start), bisect_left(starts, end)
                yield (first, last) if starts[first] == start and starts[last] == end else None

    def mentions(self, text: str, names: Sequence[WrittenName]) -> list[Mention]:
        """Find the names of a text; raises ``BadRecordError`` for one that is not there."""
        return [
            _mention(text, name, place, counting=self)
            for name, place in zip(names, self.places(text, names), strict=True)
        ]


CHARACTERS = Counting()
_COUNTINGS = [
    Counting(unit, is_inclusive)
    for is_inclusive in (False, True)
    for unit in ("characters", "UTF-16 units", "bytes", "characters with a line end as one")
]


def utf16_units(text: str) -> list[int]:
    """Return the number of UTF-16 units before each character, and of all."""
    return list(accumulate((1 + (character > "\uffff") for character in text), initial=0))


def _starts(text: str, unit: str) -> list[int] | None:
    """Return the number of units before each character, and of all; None if each is one unit."""
    if unit == "UTF-16 units" and max(text, default="") > "\uffff":
        return utf16_units(text)
    if unit == "bytes" and not text.isascii():
        widths = (len(character.encode("utf-8", "surrogatepass")) for character in text)
        return list(accumulate(widths, initial=0))
    if unit == "characters with a line end as one" and "\r\n" in text:
        ends = {match.start() for match in re.finditer("\r\n", text)}
        return list(accumulate((at not in ends for at in range(len(text))), initial=0))
    return None


def _mention(
    text: str, name: WrittenName, place: tuple[int, int] | None, *, counting: Counting
) -> Mention:
    where = f"{name.start}–{name.end}"
    if place is None or not (here := text[slice(*place)]).strip():
        what = f"{name.label} {where} is no place in the text of {len(text):,} characters"
    elif name.surface is not None and name.surface.split() != here.split():
        ends = "" if counting.is_inclusive else ", ends exclusive"
        what = f"{name.surface[:80]!r} is {here[:80]!r} at {where} (offsets in {counting}{ends})"
    else:
        return Mention(*place, label=name.label)
    raise BadRecordError("bad_span", what, *([name.line] if name.line else []))


def find_counting(texts: Sequence[OffsetText]) -> Counting:
    """Find what the offsets of a file count: characters, half-open, unless others fit better.

    Ends are inclusive only if more of the surfaces fit; or, without these, if at least half of the
    names are odd, and nearly all of these are not then. Raises ``BadRecordError`` if most names
    begin inside words in any case.
    """
    n_odd = _count_odd(texts, CHARACTERS)
    if not n_odd:
        return CHARACTERS
    n_names = sum(len(text.names) for text in texts)
    has_surfaces = any(name.surface is not None for text in texts for name in text.names)
    best, n_best = CHARACTERS, n_odd
    for counting in _COUNTINGS[1:]:
        n = _count_odd(texts, counting)
        is_plain = has_surfaces or not counting.is_inclusive
        if n < n_best and (is_plain or (2 * n_odd >= n_names and 4 * n <= n_odd > 1)):
            best, n_best = counting, n
    n_cut = _count_odd(texts, best, is_start=True)
    if n_cut >= _MIN_ODD and 2 * n_cut > n_names and not has_surfaces:
        units = ", ".join(map(str, _COUNTINGS[:3]))
        what = f"{n_cut:,} of {n_names:,} names of the file begin inside words, or are outside of "
        raise BadRecordError("bad_span", f"{what}their texts, whether offsets count {units}")
    return best


def _count_odd(texts: Iterable[OffsetText], counting: Counting, *, is_start: bool = False) -> int:
    """Count the odd names; with ``is_start`` those that begin inside a word or are not there."""
    return sum(
        place is None
        or (_cuts(text.text, place[0]) if is_start else _is_odd(text.text, name, place))
        for text in texts
        for name, place in zip(text.names, counting.places(text.text, text.names), strict=True)
    )


def _is_odd(text: str, name: WrittenName, place: tuple[int, int]) -> bool:
    (start, end), here = place, text[slice(*place)]
    if name.surface is not None:
        return _BLANKS.sub(" ", name.surface) != _BLANKS.sub(" ", here)
    return here[0].isspace() or here[-1].isspace() or _cuts(text, start) or _cuts(text, end)


def _cuts(text: str, place: int) -> bool:
    """Tell whether a place is inside a word."""
    around = text[max(place - 1, 0) : place + 1]
    return 0 < place < len(text) and all(map(_LETTER.fullmatch, around))
