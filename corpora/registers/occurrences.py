"""Places where known forms stand in documents, with the words around them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpora.document import Document, Paragraph, Span, SpanIndex
from corpora.matching.form_table import SurfaceMatcher
from corpora.registers.lemmas import Lemmas

WORD = re.compile(r"[^\W_]+")
_NEXT = re.compile(r"[^\W_]+|\S")
_LAST = re.compile(r"(?:[^\W_]+|\S)(?=\s*\Z)")
_SHORT = re.compile(r"(?<!\w)[^\W\d_]{1,4}\.(?=\s*\Z)")
"""Matches an abbreviation, if it begins with a capital: *Dr.*, *P.*"""
_WINDOW = 40
"""The most characters between a place and the end of the word beside it."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Matches letters of scripts without spaces between words: each counts as a word."""
_ENDS = frozenset("…!?.:;。！？।։؟۔")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place of a known form that is not inside a longer one."""

    start: int
    end: int
    form: str
    left: str
    """The word or sign before it in its block; empty at the beginning."""
    right: str
    block: str
    """The kind of its block."""
    run: tuple[str, ...]
    """The words beside it, only a space away, that begin with a capital as it does; but no word
    that a sentence begins with."""
    is_joined: bool
    """Whether a hyphen or the like joins it to a word."""

    @property
    def begins_sentence(self) -> bool:
        """Whether a capital says nothing here."""
        return self.left == "" or self.left in _ENDS


class FormFinder:
    """A finder of forms in documents; of overlapping forms it takes the leftmost, then longest."""

    def __init__(self, forms: Iterable[str], *, lang: str | None) -> None:
        self._forms = sorted(form for form in forms if len(form) > 1 or not form.isascii())
        self._matcher = SurfaceMatcher(self._forms, lang=lang, ignore_case=False)

    def find(
        self, document: Document, occupied: Sequence[tuple[int, int]] = ()
    ) -> list[Occurrence]:
        """List the places of forms, outside of what is occupied; of words also by lemmas."""
        starts = [block.start for block in document.paragraphs]
        places: list[Occurrence] = []
        for start, end, index in self._matches(document, occupied):
            number = bisect_right(starts, start) - 1
            block = document.paragraphs[number] if number >= 0 else None
            if block is None or end > block.end:
                block = Paragraph(0, len(document.text), kind="")
            places.append(
                _described(document.text, Span(start, end), block, form=self._forms[index])
            )
        return places

    def _matches(
        self, document: Document, occupied: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int, int]]:
        """Find forms as they are written and, where words have lemmas, by these."""
        matches = self._matcher.find(document.text, occupied, composes=True)
        lemmas = Lemmas(document)
        if not lemmas.words:
            return matches
        taken = SpanIndex[None]()
        for start, end in occupied:
            taken.add(start, end, None)
        for start, end, index in self._matcher.find(lemmas.text, composes=True):
            if (span := lemmas.span(start, end)) and not taken.touching(*span):
                matches.append((*span, index))
        disjoint: list[tuple[int, int, int]] = []
        for match in sorted(matches, key=lambda match: (match[0], -match[1])):
            if not disjoint or disjoint[-1][1] <= match[0]:
                disjoint.append(match)
        return disjoint


def _described(text: str, span: Span, block: Paragraph, *, form: str) -> Occurrence:
    start, end = span.start, span.end
    left, before = _word_before(text, start, block.start)
    right = _word_after(text, end, block.end)
    run: list[str] = []
    if form[0].isupper():
        is_first = before == block.start or _word_before(text, before, block.start)[0] in _ENDS
        if left[:1].isupper() and text[before + len(left) : start].isspace() and not is_first:
            run.append(left)
        if right[:1].isupper() and text[end : end + 1].isspace():
            run.append(right)
    sides = text[max(start - 1, block.start) : start], text[end : min(end + 1, block.end)]
    is_joined = any(side and side in "-–‐'’/&" for side in sides)
    return Occurrence(start, end, form, left, right, block.kind, tuple(run), is_joined)


def _word_before(text: str, start: int, first: int) -> tuple[str, int]:
    """Return the word or sign before a place, and its start; of unspaced scripts, a letter."""
    begin = max(first, start - _WINDOW)
    match = _SHORT.search(text[begin:start])
    if not match or not match[0][0].isupper():
        match = _LAST.search(text[begin:start])
    if not match:
        return "", start
    word = match[0][-1] if _UNSPACED.match(match[0][-1]) else match[0]
    return word, begin + match.end() - len(word)


def _word_after(text: str, end: int, last: int) -> str:
    """Return the word or sign after a place; of unspaced scripts, a letter."""
    match = _NEXT.search(text, end, min(last, end + _WINDOW))
    if not match:
        return ""
    return match[0][0] if _UNSPACED.match(match[0][0]) else match[0]
