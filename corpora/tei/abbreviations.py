"""The abbreviations of an edition that no table has, learned from its text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from corpora.document import Span
from corpora.segmentation.abbreviations import (
    MAX_CHARACTERS,
    Abbreviation,
    as_table,
    find_abbreviations,
)
from corpora.tei.edition import Edition
from corpora.tei.languages import Abbreviations, code_of

_CLOSING = "\"'»“”’)]"
Learned = Mapping[str, list[Abbreviation]]
"""Learned abbreviations by language."""


def learn_abbreviations(texts: Iterable[tuple[str | None, str]], edition: Edition) -> Learned:
    """Find abbreviations that neither a table nor the edition has; texts come with their language.

    Method: Kiss and Strunk (2006), see ``corpora/segmentation/abbreviations.py``.
    """
    by_language: dict[str, list[tuple[str | None, str]]] = {}
    n_characters: Counter[str] = Counter()
    for lang, text in texts:
        code = code_of(lang)
        if n_characters[code] < MAX_CHARACTERS:
            by_language.setdefault(code, []).append((lang, text))
            n_characters[code] += len(text)
    return {
        code: new
        for code, own in sorted(by_language.items())
        if (new := _new(find_abbreviations(text for _, text in own), edition, lang=own[0][0]))
    }


def _new(
    found: Iterable[Abbreviation], edition: Edition, *, lang: str | None
) -> list[Abbreviation]:
    known = edition.with_learned({}).language(lang).segmenter.table.periods
    return [each for each in found if any(form[:-1] not in known for form in each.written)]


def as_tables(learned: Learned) -> dict[str, Abbreviations]:
    """Convert learned abbreviations to the form that ``Edition`` takes, with all written forms."""
    return {
        code: as_table(each._replace(form=form) for each in abbreviations for form in each.written)
        for code, abbreviations in learned.items()
    }


def last_words(text: str, sentences: Sequence[Span]) -> Iterator[str]:
    """Yield the last word of each sentence that another sentence follows in the same line."""
    for sentence, following in pairwise(sentences):
        if "\n" not in text[sentence.end : following.start]:
            yield text[sentence.start : sentence.end].rsplit(maxsplit=1)[-1].rstrip(_CLOSING)
