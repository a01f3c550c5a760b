"""The data of a document that a linker uses: mentions, words around them, metadata of letters."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple

from corpora.document import Document, Mention

N_AROUND: Final = 5
"""The number of words on each side of a mention that are used."""
FACTS: Final = ("sent_by", "received_by", "sent_place", "received_place")
"""The metadata of letters that are used."""
_DATES: Final = ("sent_date", "received_date", "date")
_DATE = re.compile(r"(-?\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]"
)
"""Matches diacritics, and the points of Hebrew and Arabic, which most texts leave out."""
_APOSTROPHES = re.compile("['’‘ʼ`´]")
_VOWELS = "".join(c for c in map(chr, range(0x0300, 0xAC00)) if unicodedata.category(c)[0] == "M")
"""The marks of all scripts; in those of India and South-East Asia they are vowels."""
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_VOWELS}])*\.?")
_BLANKS = re.compile(r"\s+")
_REACH: Final = 80  # characters on each side in which words are looked for
_REACH_OF_WINDOW: Final = 200  # characters on each side that an encoder may read


class Case(NamedTuple):
    """A mention that is linked, or that is to be linked."""

    form: str
    label: str | None
    entity: str | None
    around: tuple[str, ...]
    """Up to ``N_AROUND`` words on each side; then, again, the word directly before with a ``<`` in
    front, and the word directly after with a ``>`` in front."""


class MentionWindow(NamedTuple):
    """A mention's text, and the text before and after it; white space is collapsed."""

    before: str
    form: str
    after: str


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """A document as the linker sees it."""

    id: str
    day: int | None
    """The date of the document, in days from 1 January of the year 1; None if not known."""
    facts: tuple[str, ...]
    """The metadata ``FACTS`` of the document, normalised: ``sent_by=walden herwarth``."""
    cases: tuple[Case, ...]
    document: Document | None = field(default=None, compare=False, repr=False)
    """The document itself, for an encoder; None if there is no encoder. It is not saved."""

    def windows(self) -> list[MentionWindow]:
        """Return the window of each mention; empty if the document was not kept."""
        return [_window(self.document, m) for m in self.document.mentions] if self.document else []

    def as_json(self) -> dict[str, object]:
        """Return the values of which ``parsing.typed`` makes an equal record."""
        return {"id": self.id, "day": self.day, "facts": self.facts, "cases": self.cases}

    def shared(self) -> "LinkRecord":
        """Return an equal record whose strings are kept once for all records."""
        return replace(self, cases=tuple(map(_shared, self.cases)))


def record_of(document: Document, *, with_text: bool = False) -> LinkRecord:
    """Make a record of a document, with a case for each of its mentions.

    ``with_text`` keeps the document, for a linker that has an encoder.
    """
    cases = tuple(_case(document, mention) for mention in document.mentions)
    facts = [
        f"{name}={normalise(value)}" for name in FACTS if (value := document.metadata.get(name))
    ]
    days = (day_of(document.metadata.get(name, "")) for name in _DATES)
    day = next((d for d in days if d is not None), None)
    source = document if with_text else None
    return LinkRecord(document.id, day, tuple(facts), cases, source)


def _window(document: Document, mention: Mention) -> MentionWindow:
    start, end = mention.start, mention.end
    places = (
        (max(0, start - _REACH_OF_WINDOW), start),
        (start, end),
        (end, end + _REACH_OF_WINDOW),
    )
    return MentionWindow(*(_BLANKS.sub(" ", document.text[a:b]) for a, b in places))


def _case(document: Document, mention: Mention) -> Case:
    text = document.text
    before = [w for w, _ in _words(text[max(0, mention.start - _REACH) : mention.start])]
    after = [w for w, _ in _words(text[mention.end : mention.end + _REACH])]
    around = [*before[-N_AROUND:], *after[:N_AROUND]]
    around += [f"<{word}" for word in before[-1:]] + [f">{word}" for word in after[:1]]
    form = text[mention.start : mention.end]
    return _shared(Case(form, mention.label, mention.entity, tuple(around)))


def _shared(case: Case) -> Case:
    """Make an equal case whose strings are kept once for all cases; most are those of others."""
    return Case(
        _kept(case.form),
        case.label and _kept(case.label),
        case.entity and _kept(case.entity),
        tuple(map(_kept, case.around)),
    )


def _kept(text: str) -> str:
    """Intern a string; one of another class, such as numpy's, is made one first."""
    return intern(str(text))


def day_of(text: str) -> int | None:
    """Parse a date, a month or a year (``1914-01-15``, ``1914``); return its first day, or None.

    Days are counted from 1 January of the year 1.
    """
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None


@lru_cache(maxsize=1 << 16)
def normalise(form: str) -> str:
    """Fold case, diacritics, long s and punctuation; join the words by single spaces."""
    return " ".join(word for word, _ in words_of(form))


@lru_cache(maxsize=1 << 16)
def words_of(text: str) -> tuple[tuple[str, bool], ...]:
    """Cut a text into folded words; True marks a word with a full stop after it.

    Such a word may be cut short.
    """
    return tuple(_words(text))


def _words(text: str) -> Iterator[tuple[str, bool]]:
    folded = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    folded = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", folded))
    for word in _WORD.findall(folded):
        yield word.rstrip("."), word.endswith(".")
