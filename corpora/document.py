"""Documents with standoff annotation: spans that refer to a text and never change it.

Offsets count Unicode code points, and spans are half-open: ``text[start:end]`` is the surface form.
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Final, Generic, Literal, TypeVar, get_args

import msgspec
from msgspec.structs import astuple, force_setattr

from corpora.errors import InvalidDocumentError

_T = TypeVar("_T")
Origin = Literal[
    "link", "self_title", "title_match", "lexicon", "annotation", "prediction"
]  # how a mention was made
ORIGINS: frozenset[str] = frozenset(get_args(Origin))
_Kind = tuple[type, ...]
_STRING: Final[_Kind] = (str,)
_STRING_OR_NONE: Final[_Kind] = (str, NoneType)
_MAP: Final[_Kind] = (dict, Mapping)


@dataclass(frozen=True, order=True, init=False, repr=False, match_args=False)
class Span(msgspec.Struct, frozen=True, gc=False):
    """A non-empty span of a text: the characters from ``start`` up to ``end``, half-open."""

    start: int
    end: int

    def __post_init__(self) -> None:
        """Refuse an empty or negative span; whole numbers of NumPy become ``int``."""
        if type(self.start) is not int or type(self.end) is not int:
            force_setattr(self, "start", _whole(self.start))
            force_setattr(self, "end", _whole(self.end))
        if not 0 <= self.start < self.end:
            raise InvalidDocumentError(f"span {self.start}:{self.end} is empty or negative")


def _whole(value: object) -> int:
    try:
        return int(operator.index(value))  # type: ignore[arg-type] # what has no index is refused
    except TypeError:
        raise InvalidDocumentError(
            f"a span begins or ends at {value!r:.60}. Give whole numbers, of characters."
        ) from None


def _check_types(thing: "Document | Mention | Sentence", kinds: Mapping[str, _Kind]) -> None:
    """Raise ``InvalidDocumentError`` for the first field whose value is of no type of its kind."""
    for name, kind in kinds.items():
        value = getattr(thing, name)
        if not isinstance(value, kind):
            where = f"{thing.start}:{thing.end}" if isinstance(thing, Mention) else repr(thing.id)
            types = " or ".join("None" if one is NoneType else one.__name__ for one in kind)
            raise InvalidDocumentError(
                f"{type(thing).__name__.lower()} {where:.60}: {name} is {value!r:.60}, no {types}"
            )


@dataclass(frozen=True, init=False, repr=False, match_args=False)
class Paragraph(Span, frozen=True, gc=False):
    """A block of text; ``kind`` names its kind (``p``, ``head``, ``cell``, ``note``, …)."""

    kind: str = "p"
    level: int | None = None
    """The level of a heading, 1 for the highest; None for other kinds, and where it is unknown."""


_OF_MENTION: Final[Mapping[str, _Kind]] = {
    "entity": _STRING_OR_NONE,
    "label": _STRING_OR_NONE,
    "attributes": _MAP,
}
_PARTS = {"note": "note", **dict.fromkeys(("head", "titlepart", "doctitle"), "heading")}


def part_of_text(kind: str) -> str:
    """Return the part of text that a kind of block belongs to: ``text``, ``note``, ``heading``."""
    return _PARTS.get(kind, "text")


@dataclass(frozen=True, init=False, repr=False, match_args=False)
class Mention(Span, frozen=True, gc=False):
    """A mention: a span that names something."""

    entity: str | None = None
    """The entity, as ``NAMESPACE:ID`` (``dawiki:Berlin``, ``gnd:118770950``); None: unknown."""
    label: str | None = None
    """The class of the mention (``PER``, ``place``); None: unknown."""
    origin: Origin = "annotation"
    score: float | None = None
    """The probability of a predicted mention; None where there is none."""
    attributes: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        """Return the hash of all but the attributes."""
        return hash(astuple(self)[:-1])

    @property
    def key(self) -> tuple[int, int, str | None, str | None]:
        """The tuple of start, end, label and entity."""
        return self.start, self.end, self.label, self.entity

    def __post_init__(self) -> None:
        """Refuse an empty span, an unknown origin, other types, or a score of no probability."""
        Span.__post_init__(self)
        if not (
            isinstance(self.entity, _STRING_OR_NONE)
            and isinstance(self.label, _STRING_OR_NONE)
            and isinstance(self.attributes, _MAP)
        ):
            _check_types(self, _OF_MENTION)
        if self.origin not in ORIGINS:
            raise InvalidDocumentError(
                f"mention {self.start}:{self.end} has the origin {self.origin!r}; "
                f"there are {', '.join(sorted(ORIGINS))}"
            )
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise InvalidDocumentError(
                f"mention {self.start}:{self.end} has the score {self.score}, not a probability"
            )


@dataclass(frozen=True, kw_only=True, init=False, repr=False, match_args=False)
class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A text with its mentions, in reading order; mentions may nest but never cross."""

    id: str
    group: str
    """The novel, bank, edition or wiki that the document belongs to."""
    source: str
    """The relative name of the input file that it was read from."""
    text: str
    lang: str | None = None
    """The language, as a BCP 47 tag; None: unknown."""
    title: str | None = None
    url: str | None = None
    revision: str | None = None
    timestamp: str | None = None
    """The time of this revision, in ISO 8601."""
    license: str | None = None
    paragraphs: tuple[Paragraph, ...] = ()
    """The paragraphs, ordered and disjoint; they need not cover the text."""
    sentences: tuple[Span, ...] = ()
    """The sentences, ordered and disjoint; they need not cover the text."""
    mentions: tuple[Mention, ...] = ()
    """The mentions, ordered by start, the longer one first."""
    categories: tuple[str, ...] = ()
    """The titles of the categories of a wiki's page, without the name of their namespace."""
    metadata: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        """Return the hash of all but the metadata."""
        return hash(astuple(self)[:-1])

    def __post_init__(self) -> None:
        """Raise ``InvalidDocumentError`` for an empty id, or spans that leave the text or cross.

        Also for values of other types. Paragraphs must not overlap one another, nor sentences;
        mentions may nest. Lists, generators and so on become tuples.
        """
        _check_types(self, _OF_DOCUMENT)
        if not self.id:
            raise InvalidDocumentError(f"{self.source}: a document needs an id")
        for name, kind in _PARTS_OF_DOCUMENT.items():
            for part in _make_tuple(self, name):
                if not isinstance(part, kind):
                    remedy = f" Write {kind.__name__}(start, end)." if kind is not str else ""
                    raise InvalidDocumentError(
                        f"{self.id}: {name}: {part!r:.60} is no {kind.__name__}.{remedy}"
                    )
        for name, spans in (("paragraphs", self.paragraphs), ("sentences", self.sentences)):
            _check_disjoint(f"{self.id}: {name}", spans, length=len(self.text))
        _check_nesting(f"{self.id}: mentions", self.mentions, length=len(self.text))


_OF_DOCUMENT: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("id", "group", "source", "text"), _STRING),
    **dict.fromkeys(("lang", "title", "url", "revision", "timestamp", "license"), _STRING_OR_NONE),
    "metadata": _MAP,
}
_PARTS_OF_DOCUMENT: Final[Mapping[str, type]] = {
    "paragraphs": Paragraph,
    "sentences": Span,
    "mentions": Mention,
    "categories": str,
}


def _make_tuple(thing: "Document | Sentence", name: str) -> tuple[object, ...]:
    """Make a tuple of a list, a generator and so on, in place; return it."""
    value = getattr(thing, name)
    if type(value) is tuple:
        return value
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidDocumentError(f"{thing.id}: {name} is {value!r:.60}, no tuple or list")
    made = tuple(value)
    if isinstance(thing, Document):
        force_setattr(thing, name, made)
    else:
        object.__setattr__(thing, name, made)
    return made


def reading_order(mention: Span) -> tuple[int, int]:
    """Return the sort key of a span: by start, the longer (outer) first."""
    return mention.start, -mention.end


def without_crossing(mentions: Iterable[Mention]) -> tuple[list[Mention], list[Mention]]:
    """Sort mentions and drop those that would cross an earlier kept one: (kept, dropped)."""
    kept: list[Mention] = []
    dropped: list[Mention] = []
    ends: list[int] = []  # ends of the mentions around the current start, outermost first
    for mention in sorted(mentions, key=reading_order):
        while ends and ends[-1] <= mention.start:
            ends.pop()
        if ends and mention.end > ends[-1]:
            dropped.append(mention)
        else:
            kept.append(mention)
            ends.append(mention.end)
    return kept, dropped


class SpanIndex(Generic[_T]):
    """An index of things by their spans in a text, which finds quickly what overlaps a span.

    The text is divided into stretches of ``STRETCH`` characters, and a thing is filed under each
    stretch that it touches: a query looks only at things nearby, however they nest and cross.
    """

    STRETCH = 64

    def __init__(self) -> None:
        self._stretches: dict[int, dict[int, tuple[int, int, _T]]] = {}

    def add(self, start: int, end: int, thing: _T) -> None:
        """File a thing under its place."""
        for number in self._numbers(start, end):
            self._stretches.setdefault(number, {})[id(thing)] = (start, end, thing)

    def remove(self, start: int, end: int, thing: _T) -> None:
        """Remove a thing; it must be the same object, filed under this place."""
        for number in self._numbers(start, end):
            del self._stretches[number][id(thing)]

    def touching(self, start: int, end: int) -> list[_T]:
        """Find the things that share characters with a place, in the order of their stretches.

        Things that were filed in reading order are found in reading order.
        """
        found: dict[int, _T] = {}
        for number in self._numbers(start, end):
            for key, (first, last, thing) in self._stretches.get(number, {}).items():
                if first < end and start < last:
                    found[key] = thing
        return list(found.values())

    def _numbers(self, start: int, end: int) -> range:
        return range(start // self.STRETCH, (end - 1) // self.STRETCH + 1)


def index_of(mentions: Iterable[Mention]) -> SpanIndex[Mention]:
    """Build an index of mentions by their places."""
    index = SpanIndex[Mention]()
    for mention in mentions:
        index.add(mention.start, mention.end, mention)
    return index


def _check_disjoint(where: str, spans: Sequence[Span], *, length: int) -> None:
    end = 0
    for span in spans:
        if span.start < end or span.end > length:
            raise InvalidDocumentError(
                f"{where}: {span.start}:{span.end} overlaps the one before or leaves the text"
            )
        end = span.end


def _check_nesting(where: str, mentions: Sequence[Mention], *, length: int) -> None:
    previous: Mention | None = None
    ends: list[int] = []
    for mention in mentions:
        if previous is not None and reading_order(mention) < reading_order(previous):
            raise InvalidDocumentError(
                f"{where}: {mention.start}:{mention.end} is out of order. Sort them by start, the "
                "longer one first."
            )
        while ends and ends[-1] <= mention.start:
            ends.pop()
        if mention.end > (ends[-1] if ends else length):
            raise InvalidDocumentError(
                f"{where}: {mention.start}:{mention.end} crosses another or leaves the text"
            )
        ends.append(mention.end)
        previous = mention


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSpan:
    """A labelled span of a sentence: the tokens from ``start`` up to ``end``, half-open."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A row of a ``ner`` dataset: tokens and their IOB2 tags; lists become tuples."""

    id: str
    document_id: str
    split: str
    """``train``, ``dev`` or ``test``."""
    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    inner_tags: tuple[str, ...] | None = None
    """A second level of tags, for names inside names; None where there is none."""
    token_starts: tuple[int, ...] | None = None
    """The offset of each token in the document's text; None where there is no such text."""
    origin: str | None = None
    """The part of text: ``text``, ``note`` or ``heading``; None where it is unknown."""

    def __post_init__(self) -> None:
        """Raise ``InvalidDocumentError`` unless there is one tag (and start) for each token.

        Also for ids and the like of other types.
        """
        _check_types(self, _OF_SENTENCE)
        n_tokens = len(_make_tuple(self, "tokens"))
        for name in ("tags", "inner_tags", "token_starts"):
            if name != "tags" and getattr(self, name) is None:
                continue
            if (n := len(_make_tuple(self, name))) != n_tokens:
                raise InvalidDocumentError(f"{self.id}: {n_tokens} tokens but {n} {name}")


_OF_SENTENCE: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(("id", "document_id", "split"), _STRING),
    "origin": _STRING_OR_NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """An input record that could not be used, and why."""

    source: str
    """The relative name of the file."""
    position: str
    """The place in the file: ``line 3, column 7``, ``byte 1234``; empty: the whole file."""
    reason: str
    """A short name, by which rejects are counted: ``malformed_xml``."""
    message: str
    """What is wrong and what to do."""
    excerpt: str = ""
    """The first or the faulty characters of the record, at most 200."""
