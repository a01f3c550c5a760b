"""The mention forms of a split: how often each has which label, by hash; each form's text once.

About 100 bytes for each pair of form and label.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.hashing.tokens import Hashes, Runs
from corpora.ner.columns import Codes, Indices, SentenceColumns
from corpora.ner.spans import Spans

_PENDING = 1 << 18
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FormTable:
    """Pairs of form and label, F of them, by hash and label."""

    hashes: Hashes  # (F,), sorted
    labels: Codes  # (F,), as the tally numbers them
    counts: Counts  # (F,)
    first: Indices
    """(F,): the lower, the earlier the pair was met."""
    heads: Hashes
    """(F,): hashes of the first two tokens, or of the only one."""
    lengths: Codes  # (F,), in tokens
    texts: pa.StringArray
    """(F,): the tokens with spaces between."""


class Forms:
    """Forms that are being counted."""

    def __init__(self) -> None:
        self._table = _empty()
        self._pending: list[FormTable] = []
        self._n_pending = self._n_added = 0

    def add(self, sentences: SentenceColumns, spans: Spans, labels: Codes, *, tokens: Runs) -> None:
        """Count the spans of a batch; ``labels`` are theirs, ``tokens`` hashes of its tokens."""
        if not len(spans.starts):
            return
        hashes = tokens.hash(spans.starts, spans.ends)
        order = np.lexsort((np.arange(len(hashes)), labels, hashes))
        is_first = _changes(hashes[order], labels[order])
        places = np.flatnonzero(is_first)
        firsts = order[places]
        starts, ends = spans.starts[firsts], spans.ends[firsts]
        self._pending.append(
            FormTable(
                hashes=hashes[firsts],
                labels=labels[firsts],
                counts=np.diff(np.append(places, len(order))),
                first=firsts + self._n_added,
                heads=tokens.hash(starts, np.minimum(starts + 2, ends)),
                lengths=(ends - starts).astype(np.int32),
                texts=_texts(sentences, starts, ends),
            )
        )
        self._n_added += len(hashes)
        self._n_pending += len(firsts)
        if self._n_pending > _PENDING + len(self._table.hashes) // 2:
            self.table()

    def table(self) -> FormTable:
        """All that was counted."""
        if self._pending:
            self._table = merge([self._table, *self._pending])
            self._pending, self._n_pending = [], 0
        return self._table


def merge(tables: Sequence[FormTable]) -> FormTable:
    """Make one table of several; what was met first (``first``) is the same in all."""
    hashes, labels, counts, first, heads, lengths = (
        np.concatenate([getattr(table, name) for table in tables])
        for name in ("hashes", "labels", "counts", "first", "heads", "lengths")
    )
    order = np.lexsort((first, labels, hashes))
    places = np.flatnonzero(_changes(hashes[order], labels[order]))
    chosen = order[places]
    texts = pa.concat_arrays([table.texts for table in tables])
    return FormTable(
        hashes=hashes[chosen],
        labels=labels[chosen],
        counts=np.add.reduceat(counts[order], places) if len(places) else counts,
        first=first[chosen],
        heads=heads[chosen],
        lengths=lengths[chosen],
        texts=texts.take(pa.array(chosen)),
    )


def merge_splits(tables: Sequence[FormTable]) -> FormTable:
    """Make one table of those of several splits; what an earlier one has was met first."""
    shifted, n_before = [], 0
    for table in tables:
        shifted.append(replace(table, first=table.first + n_before))
        n_before += int(table.counts.sum())
    return merge(shifted)


def several_labels(table: FormTable) -> Iterator[slice]:
    """The rows of each form that has more than one label."""
    borders = np.flatnonzero(table.hashes[1:] != table.hashes[:-1]) + 1
    starts, ends = np.append(0, borders), np.append(borders, len(table.hashes))
    for row in np.flatnonzero(ends - starts > 1):
        yield slice(int(starts[row]), int(ends[row]))


def _changes(hashes: Hashes, labels: Codes) -> npt.NDArray[np.bool_]:
    """Whether each row is the first of its pair; rows of a pair lie together."""
    changes = np.ones(len(hashes), bool)
    changes[1:] = (hashes[1:] != hashes[:-1]) | (labels[1:] != labels[:-1])
    return changes


def _texts(sentences: SentenceColumns, starts: Indices, ends: Indices) -> pa.StringArray:
    """The tokens of spans, with spaces between."""
    lengths = ends - starts
    borders = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(borders[-1]) - np.repeat(borders[:-1], lengths)
    tokens = sentences.tokens.take(pa.array(np.repeat(starts, lengths) + within))
    lists = pa.ListArray.from_arrays(pa.array(borders, pa.int32()), tokens)
    return pa.compute.binary_join(lists, " ")


def _empty() -> FormTable:
    hashes, codes, counts = np.zeros(0, np.uint64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    return FormTable(hashes, codes, counts, counts, hashes, codes, pa.array([], pa.string()))
