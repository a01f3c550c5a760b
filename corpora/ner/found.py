"""Sentences as a reader found them, with the tags of their source.

Shapes: N sentences, T tokens of all of them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from corpora.document import Rejected
from corpora.ner.columns import Flags, Indices, Tags

_EXCERPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
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

    def keep(self, sentences: Flags) -> "Found":
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

    def keep_tokens(self, kept: Flags) -> "Found":
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
