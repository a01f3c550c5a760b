"""The language of each passage of a text: where its sentences end, and what its hyphens mean."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from corpora.document import Span
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.sentences import Segmenter, may_be_final, segmenter, table_name
from corpora.segmentation.starts import CLOSING
from corpora.segmentation.tables import LanguageRules
from corpora.tei.xml import Element

Abbreviations = Mapping[str, Sequence[str]]
"""Abbreviations under ``never_final`` and ``may_be_final``, as in the tables of languages."""
MAX_TAG = 64
"""The most characters of a language tag; a longer value is ignored."""
_UNSAID = {"", "und", "mul", "mis", "zxx"}
"""The language subtags that name no language."""
_AFTER_ABBREVIATION = re.compile(rf"[{re.escape(CLOSING)}\s]*")


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """The properties of a language in an edition."""

    tag: str | None
    """The BCP 47 tag; None if nothing tells it."""
    segmenter: Segmenter
    """The segmenter, which languages with the same table share, and all languages without one."""
    keeps_hyphens: bool
    """Whether a hyphen at a line end belongs to the word, unless the markup says otherwise."""


def code_of(tag: str | None) -> str:
    """Return the code of a language that has a table, empty for all others."""
    return primary_language(tag) if table_name(tag) else ""


def keeps_hyphens(tag: str | None) -> bool:
    """Tell whether a hyphen at a line end belongs to the word.

    In a language without any table hyphens stay. Without a language, the rule of most languages
    applies.
    """
    table = segmenter(code_of(tag)).table
    return table.keeps_hyphens or bool(tag and table == LanguageRules())


def said_language(element: Element) -> str | None:
    """Return the language that an element declares: ``@xml:lang``, or ``@lang`` of TEI P4."""
    for attribute in ("xml:lang", "lang"):
        tag = element.attributes.get(attribute, "").strip()
        if len(tag) <= MAX_TAG and primary_language(tag) not in _UNSAID:
            return tag
    return None


Passages = Sequence[tuple[int, Language]]
"""The offset at which each passage begins, and its language; it extends to the next passage."""


def count_languages(passages: Passages, text: str) -> Counter[str]:
    """Count the characters of each language, by its tag; empty where there is none."""
    counts: Counter[str] = Counter()
    ends = [*(start for start, _ in passages[1:]), len(text)]
    for (start, language), end in zip(passages, ends, strict=True):
        counts[language.tag or ""] += end - start
    return counts


@dataclass(frozen=True, slots=True)
class Segmenters:
    """The segmenters of a text, one for each passage; ``starts`` are the offsets of these."""

    starts: Sequence[int] = ()
    segmenters: Sequence[Segmenter] = ()

    @classmethod
    def of(cls, passages: Passages) -> "Segmenters":
        """Take the segmenters of the languages of passages."""
        starts, languages = zip(*passages, strict=True) if passages else ((), ())
        return cls(starts, [language.segmenter for language in languages])

    def at(self, offset: int) -> Segmenter:
        """Return the segmenter of the character at an offset."""
        return self.segmenters[max(0, bisect_right(self.starts, offset) - 1)]

    def within(self, span: Span) -> list[Segmenter]:
        """Return the distinct segmenters of a span: one for each table."""
        first = max(0, bisect_right(self.starts, span.start) - 1)
        last = bisect_right(self.starts, span.end - 1)
        return list({id(each): each for each in self.segmenters[first:last]}.values())

    def sentences(
        self, text: str, within: Span, *, names: Sequence[Span], abbreviations: Sequence[Span]
    ) -> Iterator[Span]:
        """Cut a paragraph; no sentence ends inside a name, or at a marked abbreviation.

        In a paragraph of several languages, the language of the last character before a place
        decides whether a sentence ends there.
        """
        segmenters = self.within(within)
        unbroken = [*names, *self._unbroken(text, within, abbreviations)]
        unbroken = _merged(unbroken) if abbreviations else unbroken
        if len(segmenters) == 1:
            yield from segmenters[0].sentences(text, within, unbroken=unbroken)
            return
        starts = {
            id(each): {span.start for span in each.sentences(text, within, unbroken=unbroken)}
            for each in segmenters
        }
        chosen = [
            start
            for start in sorted(set().union(*starts.values()))
            if start in starts[id(self.at(_last_before(text, start, within.start)))]
        ]
        for start, end in pairwise([*chosen, within.end]):
            yield Span(start, start + len(text[start:end].rstrip()))

    def _unbroken(self, text: str, within: Span, abbreviations: Sequence[Span]) -> Iterator[Span]:
        """Yield spans from marked abbreviations to what follows, but not after ``etc.``."""
        for span in abbreviations:
            form = text[span.start : span.end]
            if not form.endswith(".") or may_be_final(self.at(span.start), form):
                continue
            following = _AFTER_ABBREVIATION.match(text, span.end, within.end)
            end = following.end() if following else span.end
            yield Span(span.start, min(end + 1, within.end))


def _last_before(text: str, start: int, begin: int) -> int:
    """Return the offset of the last character before ``start`` that is no white space."""
    last = start - 1
    while last > begin and text[last].isspace():
        last -= 1
    return max(last, begin)


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Merge spans that overlap; returns them sorted."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
