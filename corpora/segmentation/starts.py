"""Beginnings of sentences that ICU misses or misplaces.

ICU does not end a sentence after a period if a number and then a small letter follow, after an
ellipsis, or before a dash. It takes a closing quotation mark after a space for an opening one, and
a bracket that opens right after a stop for one that closes: ``left.[1] She``, ``。「``.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from corpora.segmentation.tables import LanguageRules

INVISIBLE = (
    "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068"
    "\u2069\ufeff"
)
"""Marks of the direction of writing, and other invisible characters."""
CLOSING = "\"'»«›‹“”„‘’)]}*–—- \u00a0\t" + INVISIBLE
"""The characters that may stand between a full stop and the next sentence."""
_DASHES = "–—-"
_AFTER_DASH = re.compile(r"[–—-]+[^\S\n]+(?![–—-]+[^\S\n])")
_STOPS = (".", "!", "?", "…")
_MAY_END = frozenset(CLOSING).union(_STOPS)
_CONTEXT = 80  # characters before a dash that are examined
_NUMBER = re.compile(r"\.[\"'»”’)\]]*+[^\S\n]++(?=[(\[\"“„«]?\d)")
_MARKS = re.compile("[\u0300-\u036f]+")
_ELLIPSIS = re.compile(r"…[\"'»”’)\]]*+[^\S\n]++")
CLITIC = re.compile(r"[\"“„‘«]?['’ʼ][a-z][^\S\n]+(?=[^\W\d_])")
"""A word of a small letter after an apostrophe: a sentence may begin so (``'s Avonds``)."""
_BEFORE_CLITIC = re.compile(rf"[.!?…][\"'»”’)\]]*+[^\S\n]++(?={CLITIC.pattern})")
_MAY_BE_CLITICS = tuple(re.compile(rf"{sign}(?<=[\s\"“„‘«]{sign})[a-z][^\S\n]") for sign in "'’ʼ")
"""One of them matches in each text in which ``_BEFORE_CLITIC`` does; each begins with a literal,
which is several times faster."""
_CLOSES = re.compile(r"[»”’)\]]+[^\S\n]+")
_ALL_CLOSES = frozenset("»”’)]")
_OPENS = frozenset("([{„‚「『（【《〈〔［")
_NOTE_MARK = r"(?:\[(?:[^\W\d_]{1,6}\.[ ]?)?[^\[\]\s.!?][^\[\].!?\n]{0,15}\]|[¹²³⁰⁴-⁹]+)"
_NOTE_MARKS = re.compile(rf"{_NOTE_MARK}+$")
_BEGINS_NOTE = "[¹²³⁰⁴⁵⁶⁷⁸⁹"
_ENDS_NOTE = frozenset("]¹²³⁰⁴⁵⁶⁷⁸⁹")
_STOP_WITH_NOTES = re.compile(rf"[.!?…。！？।॥۔؟።։][\"'»”’)\]]*+({_NOTE_MARK}++[^\S\n]*+)(?=\S)")
LETTERS_BEFORE_NUMBER = 5
"""The least letters of a word before a period and a number to be taken for no abbreviation, if the
language has no list of abbreviations."""
_LETTERS_WITH_LIST = 3


def with_other_starts(text: str, found: list[int], table: LanguageRules) -> list[int]:
    """Add the starts that ICU misses, and move those that it misplaces; in order."""
    if not text:
        return found
    others = [end if table.dashes_end else start for start, end in after_dashes(text)]
    n_letters = _LETTERS_WITH_LIST if table.periods else LETTERS_BEFORE_NUMBER
    others += _numbers(text, n_letters=n_letters)
    others += _ellipses(text)
    if any(pattern.search(text) for pattern in _MAY_BE_CLITICS):
        others += (match.end() for match in _BEFORE_CLITIC.finditer(text))
    for end in table.ends:
        others += after_mark(text, end)
    if others:
        found = sorted(found + [place for place in others if place < len(text)])
    found = _around_brackets(text, found)
    if not _ALL_CLOSES.isdisjoint(itemgetter(0, *found[:-1])(text)):
        found = sorted({_after_closing(text, place) for place in found})
    return found


def after_dashes(text: str) -> Iterator[tuple[int, int]]:
    """Find the dashes that stand between white space and come after a full stop.

    Yields the offsets of the dash and of the next word. Most hyphens are inside words: to look at
    each with ``str.find`` is ten times faster than a pattern.
    """
    for dash in _DASHES:
        position = text.find(dash, 2)
        while position >= 0:
            before = text[position - 1]
            if before.isspace() and before != "\n" and text[position - 2] in _MAY_END:
                after = _AFTER_DASH.match(text, position)
                tail = text[max(0, position - _CONTEXT) : position - 1].rstrip(CLOSING)
                if after and tail.endswith(_STOPS):
                    yield after.span()
            position = text.find(dash, position + 1)


def _numbers(text: str, *, n_letters: int) -> Iterator[int]:
    """Yield the offsets of numbers after a period that ends a word of ``n_letters`` or more."""
    for match in _NUMBER.finditer(text):
        dot = match.start()
        word = _MARKS.sub("", text[max(0, dot - 3 * n_letters) : dot])[-n_letters:]
        if word.isalpha() and len(word) == n_letters:
            yield match.end()


def _ellipses(text: str) -> Iterator[int]:
    """Yield the offsets of capitals after an ellipsis and white space."""
    if "…" in text:
        for match in _ELLIPSIS.finditer(text):
            if text[match.end() : match.end() + 1].isupper():
                yield match.end()


def _around_brackets(text: str, found: list[int]) -> list[int]:
    """Move starts that follow an opening bracket before it, or behind it if it holds a note."""
    notes: list[tuple[int, int]] = []
    if any(sign in text for sign in _BEGINS_NOTE):  # most texts have none
        notes = [match.span(1) for match in _STOP_WITH_NOTES.finditer(text)]
    if not notes and _OPENS.isdisjoint([text[place - 1] for place in found]):
        return found
    begins = [begin for begin, _ in notes]
    moved = {end for _, end in notes if text[end - 1].isspace()}
    for place in found:
        note = bisect_right(begins, place) - 1
        if note >= 0 and place < notes[note][1]:
            moved.add(notes[note][1])
        else:
            moved.add(_before_opening(text, place))
    return sorted(moved)


def _before_opening(text: str, place: int) -> int:
    """Return the offset before the opening brackets that end at ``place``."""
    while place > 1 and text[place - 1] in _OPENS:
        place -= 1
    return place


def without_notes(text: str) -> str:
    """Remove the numbers of notes from the end of a text: ``[1][2]``, ``¹``."""
    return _NOTE_MARKS.sub("", text) if text[-1:] in _ENDS_NOTE else text


def after_mark(text: str, mark: str) -> Iterator[int]:
    """Yield the offsets after each mark, closing marks behind it, and white space."""
    position = text.find(mark)
    while position >= 0:
        position += len(mark)
        end = position
        while text[end : end + 1] in _ALL_CLOSES:
            end += 1
        start = end
        while (space := text[start : start + 1]).isspace() and space != "\n":
            start += 1
        if start > end:
            yield start
        position = text.find(mark, position)


def _after_closing(text: str, place: int) -> int:
    """Return the offset behind closing marks and white space at ``place``, or ``place``."""
    closing = _CLOSES.match(text, place) if place < len(text) else None
    return closing.end() if closing else place
