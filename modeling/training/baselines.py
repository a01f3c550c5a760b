"""Baselines without a network, on the validation targets of pre-training.

``unigram`` predicts the ids that are most frequent in training. ``look_up`` reads tables of the
training examples: a subword is looked up by the subwords beside it (bigrams), the entity of a
mention by the form of the mention. An encoder has learned of a language only what it knows
beyond such tables.

Shapes: M targets, V ids, C contexts, B sequences, E mentions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from modeling.data.batch import Batch, Choices, ranges, starts_of
from modeling.data.examples import Example
from modeling.data.rng import Integers
from modeling.data.texts import SubwordIds
from modeling.training.validation import TOP, Validation, divided

_AT_ONCE: Final = 256
"""The number of targets whose probabilities of all ids are computed at once."""
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ContextTable:
    """The ids that stood in each context in training, with their counts."""

    borders: Integers
    """(C + 1,) where the ids of each context begin and end."""
    ids: Integers
    counts: Integers
    totals: Integers
    """(C,) the sum of the counts of each context."""

    @classmethod
    def of(cls, contexts: Integers, ids: Integers, *, n_contexts: int, n_ids: int) -> Self:
        """Count pairs of a context and an id."""
        keys, counts = np.unique(contexts * n_ids + ids, return_counts=True)
        of_context = keys // n_ids
        borders = np.searchsorted(of_context, np.arange(n_contexts + 1))
        totals = np.bincount(of_context, weights=counts, minlength=n_contexts).astype(np.int64)
        return cls(borders, keys % n_ids, counts, totals)

    def ratios(self, contexts: Integers, frequencies: Reals) -> Reals:
        """Return the probabilities (M, V) of all ids in contexts (M,).

        They are interpolated with ``frequencies`` (V,) by Witten and Bell: a context that had n
        different ids has the weight of n more occurrences for all ids.
        """
        starts, sizes = self.borders[contexts], np.diff(self.borders)[contexts]
        total = self.totals[contexts] + sizes
        ratios = np.where(total > 0, sizes / np.maximum(total, 1), 1.0)[:, None] * frequencies
        rows, entries = np.repeat(np.arange(len(contexts)), sizes), ranges(starts, sizes)
        ratios[rows, self.ids[entries]] += self.counts[entries] / total[rows]
        return ratios


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The subwords that stood before and after each subword."""

    before: ContextTable
    after: ContextTable

    @classmethod
    def of(cls, examples: Sequence[Example], subwords: SubwordIds) -> Self:
        """Count neighbours in examples, among them the [CLS] and [SEP] around each."""
        special, n = subwords.special, len(subwords)
        frames = [special.cls], [special.sep]
        parts = [part for e in examples for part in (frames[0], e.subwords, frames[1])]
        text = np.concatenate(parts).astype(np.int64)
        inside = np.flatnonzero((text != special.cls) & (text != special.sep))
        sides = (
            ContextTable.of(text[inside + d], text[inside], n_contexts=n, n_ids=n) for d in (-1, 1)
        )
        return cls(*sides)

    def ratios(self, batch: Batch, rows: Integers, frequencies: Reals) -> Reals:
        """Return the probabilities (M, V) of the subwords at rows (M,).

        That is the mean of the probabilities after the subword before, and before the one after; of
        those that were seen in training, which [MASK] was not.
        """
        text = batch.subwords.numpy()
        total, n_known = np.zeros((len(rows), len(frequencies))), np.zeros(len(rows))
        for table, contexts in ((self.before, text[rows - 1]), (self.after, text[rows + 1])):
            is_known = table.totals[contexts] > 0
            total[is_known] += table.ratios(contexts[is_known], frequencies)
            n_known += is_known
        total[n_known == 0] = frequencies
        return total / np.maximum(n_known, 1)[:, None]


@dataclass(frozen=True, slots=True)
class FormEntities:
    """The entities that each form (the subwords of a mention) named."""

    numbers: Mapping[bytes, int]
    """The context of each form; the last context is that of unknown forms."""
    table: ContextTable

    @classmethod
    def of(cls, examples: Sequence[Example], n_entities: int) -> Self:
        """Count the entities of the mentions of examples."""
        numbers: dict[bytes, int] = {}
        contexts = [
            numbers.setdefault(example.subwords[start:end].astype(np.int64).tobytes(), len(numbers))
            for example in examples
            for start, end in zip(example.entity_starts, example.entity_ends, strict=True)
        ]
        ids = np.concatenate([np.zeros(0, np.int64), *(e.entities for e in examples)])
        pairs = np.array(contexts, np.int64), ids.astype(np.int64)
        return cls(numbers, ContextTable.of(*pairs, n_contexts=len(numbers) + 1, n_ids=n_entities))

    def ratios(self, batch: Batch, rows: Integers, frequencies: Reals) -> Reals:
        """Return the probabilities (M, V) of the entities of mentions (M,), by their rows."""
        contexts = [self.numbers.get(form, len(self.numbers)) for form in _forms(batch, rows)]
        return self.table.ratios(np.array(contexts, np.int64), frequencies)


def _forms(batch: Batch, rows: Integers) -> Iterator[bytes]:
    """Yield the subwords of mentions, by their rows, as the batch shows them."""
    mentions, layout = batch.mentions, batch.rows.entities
    assert mentions is not None and layout is not None  # noqa: S101 PT018 - targets are of them
    text, positions = batch.subwords.numpy(), mentions.positions.numpy()
    firsts = starts_of(batch.rows.subwords.lengths.numpy())[layout.sequences.numpy()]
    borders = np.append(mentions.offsets.numpy(), len(positions))
    for row in rows.tolist():
        yield text[firsts[row] + positions[borders[row] : borders[row + 1]]].tobytes()


def look_up(
    batches: Iterable[Batch],
    counts: Mapping[str, Integers],
    tables: Mapping[str, Neighbours | FormEntities],
) -> Validation:
    """Score what is looked up: subwords by their neighbours, entities by their forms.

    ``counts`` is that of ``unigram``, for what no table has; ``tables`` are by objective.
    """
    sums = {name: np.zeros(2 + len(TOP)) for name in tables}
    frequencies = {name: (counts[name] + 1) / (counts[name] + 1).sum() for name in tables}
    for batch in batches:
        for name in tables.keys() & batch.targets.keys():
            targets = batch.targets[name]
            for start in range(0, len(targets.labels), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                rows, labels = targets.rows[part].numpy(), targets.labels[part].numpy()
                ratios = tables[name].ratios(batch, rows, frequencies[name])
                sums[name] += _sums(ratios, labels)
    return divided({name: row.tolist() for name, row in sums.items() if row[0]})


def _sums(ratios: Reals, labels: Integers) -> Reals:
    """Sum targets, loss and hits of labels (M,) by their probabilities (M, V); ties are by id."""
    label = labels[:, None]
    own = np.take_along_axis(ratios, label, 1)
    is_before = (ratios > own) | ((ratios == own) & (np.arange(ratios.shape[1]) < label))
    ranks = is_before.sum(axis=1)
    hits = [(ranks < k).sum() for k in TOP]
    return np.array([len(labels), -np.log(own).sum(), *hits], np.float64)


def unigram(batches: Iterable[Batch], counts: Mapping[str, NDArray[np.int64]]) -> Validation:
    """Score the unigram baseline, which always predicts the ids that are most frequent in training.

    ``counts`` holds for each objective the count of each id; ties are ranked by id. The loss is
    that of probabilities in proportion to the counts, with 1 added to each. Targets with
    ``choices`` are distinguished among these alone.
    """
    labels: dict[str, list[NDArray[np.int64]]] = {name: [] for name in counts}
    sums: dict[str, NDArray[np.float64]] = {}
    for batch in batches:
        for name, targets in batch.targets.items():
            if name not in counts:
                continue
            if targets.choices is None:
                labels[name].append(targets.labels.numpy())
            else:
                sums[name] = sums.get(name, 0.0) + _scoped_sums(targets.choices, counts[name])
    for name, parts in labels.items():
        if sum(map(len, parts)):
            sums[name] = np.array(_unigram_sums(np.concatenate(parts), counts[name]))
    return divided({name: sums[name].tolist() for name in counts if name in sums})


def _scoped_sums(choices: Choices, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum targets, loss and hits of the unigram baseline over a batch, computed in each scope."""
    ids = np.split(choices.ids.numpy(), np.cumsum(choices.sizes)[:-1])
    places = np.split(choices.places.numpy(), np.cumsum(choices.n_targets)[:-1])
    pairs = zip(places, ids, strict=True)
    return np.sum([_unigram_sums(own, counts[of]) for own, of in pairs], axis=0)  # type: ignore[no-any-return]


def _unigram_sums(labels: NDArray[np.int64], counts: NDArray[np.int64]) -> list[float]:
    order = np.argsort(-counts, kind="stable")
    ranks = np.empty(len(counts), np.int64)
    ranks[order] = np.arange(len(counts))
    log_ratios = np.log((counts + 1) / (counts + 1).sum())
    hits = [float((ranks[labels] < k).sum()) for k in TOP]
    return [float(len(labels)), float(-log_ratios[labels].sum()), *hits]
