"""Sentences as a reader found them, with the tags of their source; records that cannot be used.

Readers of all formats share what is here: a ``Gathered`` makes columns of rows, checks of
characters, labels and tags raise a ``BadRecordError``, and an ``Origin`` makes a rejection of it.

Shapes: N sentences, T tokens of all of them.
"""

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.document import Rejected
from corpora.ner.bad_records import BadRecordError
from corpora.ner.columns import Flags, Indices, Tags
from corpora.ner.schemes import READABLE

_AT_ONCE = 1 << 16
"""The number of tokens that become columns at once."""
_EXCERPT = 200
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which no UTF-8 can hold."""

T = TypeVar("T")
Row = tuple[str, str, str]
"""A token, its tag, and its inner tag (``_`` for none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSentences:
    """The sentences that a reader found in a part of a file."""

    tokens: pa.StringArray  # (T,)
    begins: Indices  # (N + 1,)
    tags: Tags  # (T,)
    inner: Tags | None = None  # (T,)
    places: Indices
    """(T,): the number of each token's line, or of its sentence, from 1."""
    documents: Sequence[str | None] = ()
    """(N,): the document of each sentence, None if the file names none; empty if it never names
    one."""
    ids: Sequence[str] = ()
    """(N,): the ids in the file; empty if it has none."""
    token_starts: pa.ListArray | None = None  # (N,)
    rejected: Sequence[Rejected] = ()
    counters: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.begins) - 1

    def keep(self, sentences: Flags) -> "PartSentences":
        """Keep the sentences with a flag, shape (N,)."""
        if sentences.all():
            return self
        lengths, rows = np.diff(self.begins), np.flatnonzero(sentences).tolist()
        return replace(
            self.keep_tokens(np.repeat(sentences, lengths)),
            begins=np.append(0, np.cumsum(lengths[rows])),
            documents=[self.documents[row] for row in rows] if self.documents else (),
            ids=[self.ids[row] for row in rows] if self.ids else (),
            token_starts=self.token_starts and self.token_starts.take(pa.array(rows)),
        )

    def keep_tokens(self, kept: Flags) -> "PartSentences":
        """Keep the tokens with a flag, shape (T,); the caller must update ``begins``."""
        return replace(
            self,
            tokens=self.tokens.filter(pa.array(kept)),
            tags=self.tags.where(kept),
            inner=self.inner and self.inner.where(kept),
            places=self.places[kept],
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of sentences, for messages."""

    source: str
    """The relative name of the file."""
    unit: str = "line"
    first_line: int = 1
    """The number in the file of the first line that is read."""

    def reject(self, place: int, reason: str, *, what: str, excerpt: str = "") -> Rejected:
        """Build the rejection of a sentence for a fault in this line."""
        mark = ":" if self.unit == "line" else f", {self.unit} "
        return Rejected(
            source=self.source,
            position=f"{self.unit} {place}",
            reason=reason,
            message=f"{self.source}{mark}{place}: {what}",
            excerpt=excerpt[:_EXCERPT],
        )

    def leave_out(self, what: str, error: Exception, place: int, *, excerpt: str = "") -> Rejected:
        """Build the rejection of what a ``BadRecordError`` is about; a line in the error counts."""
        reason, problem, *own = error.args
        said = f"{problem}. The {what} is left out; fix it."
        return self.reject(own[0] if own else place, reason, what=said, excerpt=excerpt)


def any_of(flags: Flags, begins: Indices) -> Flags:
    """Tell for each sentence whether a token has the flag, from shape (T,) to shape (N,)."""
    sums = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(sums[begins[1:]] > sums[begins[:-1]])


class Gathered:
    """Sentences that become columns while they are read, which need a tenth of their memory."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._parts: list[tuple[pa.StringArray, ...]] = []
        self._lengths, self._places = array("q", [0]), array("q")

    def add(self, place: int, rows: Sequence[Row]) -> None:
        """Add a sentence; ``place`` is its number, or that of its first line."""
        self._rows += rows
        self._lengths.append(len(rows))
        self._places.append(place)
        if len(self._rows) >= _AT_ONCE:
            self._close()

    def found(self, rejected: Sequence[Rejected]) -> PartSentences:
        """Return all sentences, in the order in which they were added."""
        self._close()
        tokens, tags, inner = map(pa.concat_arrays, zip(*self._parts, strict=True))
        lengths = np.frombuffer(self._lengths, np.int64)
        has_inner = pc.any(pc.not_equal(inner, "_"), min_count=0).as_py()
        return PartSentences(
            tokens=tokens,
            begins=np.cumsum(lengths),
            tags=Tags.of(tags),
            inner=Tags.of(inner) if has_inner else None,
            places=np.repeat(np.frombuffer(self._places, np.int64), lengths[1:]),
            rejected=rejected,
        )

    def _close(self) -> None:
        columns = ([row[n] for row in self._rows] for n in range(3))
        self._parts.append(tuple(pa.array(column, pa.string()) for column in columns))
        self._rows.clear()


def read_blocks(
    data: bytes,
    origin: Origin,
    *,
    mark: str,
    document_of: Callable[[str], str | None],
    read: Callable[[Sequence[str], int, Counter[str]], list[Row]],
) -> PartSentences:
    """Read sentences of a token a line; empty lines, and those that begin with a mark, end them.

    ``document_of`` gets each line between sentences, and returns the name of the document that
    begins there, if any. ``read`` gets the lines of a sentence and the number of the first; what it
    raises rejects it.
    """
    sentences, rejected, counters = Gathered(), list[Rejected](), Counter[str]()
    documents: list[str | None] = []
    document: str | None = None
    lines: list[str] = []
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip() and not line.startswith(mark):
            lines.append(line)
            continue
        first = number - len(lines)
        try:
            if lines:
                sentences.add(first, read(lines, first, counters))
                documents.append(document)
        except BadRecordError as error:
            rejected.append(origin.leave_out("sentence", error, first))
        begun = document_of(line)
        lines, document = [], document if begun is None else begun
    counters["documents"] += len({*documents} - {None})
    return replace(sentences.found(rejected), documents=documents, counters=counters)


def row_of(pair: object) -> Row:
    """Read ``[token, tag]`` or ``[token, tag, inner tag]``; raises ``BadRecordError``."""
    match pair:
        case [str(token), str(tag)]:
            inner = "_"
        case [str(token), str(tag), str(inner)]:
            pass
        case _:
            raise BadRecordError("columns", f"{str(pair)[:80]!r} is no [token, tag]")
    if not token:
        raise BadRecordError("empty_token", f"no token before {tag!r}")
    if not READABLE.fullmatch(tag) or not (inner == "_" or READABLE.fullmatch(inner)):
        raise BadRecordError("bad_tag", f"{tag!r}, {inner!r}: no tags that can be read")
    check_characters(token + tag + inner)
    return token, tag, inner


def label_of(value: object, name: object) -> str:
    """Read the label of a name; blanks become ``_``. Raises ``BadRecordError`` without one."""
    label = "_".join(value.split()) if isinstance(value, str) else ""
    if not label or not label.isprintable():
        raise BadRecordError("bad_label", f"{str(name)[:80]!r} has no label")
    return label


def reject_record(
    number: int, error: BadRecordError, record: object, *, origin: Origin
) -> Rejected:
    """Build the rejection of the record with this number."""
    excerpt = "" if record is error else json.dumps(record, ensure_ascii=True)
    return replace(origin, unit="record").leave_out("record", error, number, excerpt=excerpt)


def read_each(
    records: Iterable[tuple[int, object]],
    read: Callable[[object], T],
    rejected: list[Rejected],
    *,
    origin: Origin,
) -> Iterator[tuple[int, object, T]]:
    """Read numbered records; those that are, or raise, a ``BadRecordError`` are rejected."""
    for number, record in records:
        try:
            if isinstance(record, BadRecordError):
                raise record
            content = read(record)
        except BadRecordError as error:
            rejected.append(reject_record(number, error, record, origin=origin))
        else:
            yield number, record, content


def check_characters(text: str) -> None:
    """Raise ``BadRecordError`` for half a character, or a NUL."""
    if HALF_CHARACTER.search(text):
        raise BadRecordError("not_utf8", "half a character (\\ud800 …)")
    if "\0" in text:
        raise BadRecordError("nul", "a NUL character")
