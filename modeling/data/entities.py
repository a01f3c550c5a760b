"""Subwords with the entities of the mentions that they are part of (EntityBERT).

If several mentions share a subword, the subword knows the entity of the longest one, and of equally
long ones the first, as in maximum entity matching. Mentions with an entity come before
mentions of [UNK], which is an input, too, but never a target.

A *scope* is the set of entities from which the entity of a subword is predicted: all entities that
the examples of a document, or of a group of documents, mention, validation examples included. For a
novel these are the words of its lexicon that were found in it. Scopes take 12 bytes for each pair
of a scope and an entity.

Shapes: B examples, P parts, T rows of subwords, E mentions, C subwords that know an entity,
M targets, G scopes, S negatives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pyarrow.compute as pc
import torch

from corpora.datasets.shards import open_dataset
from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.data.batch import Choices, SubwordEntities, Targets, ranges
from modeling.data.rng import Integers, Numbers, RandomUse, Rng, permuted
from modeling.data.texts import FlatViews

ScopeKind = Literal["group", "document"]
_NAMES = {"group": "group", "document": "document_id"}
_BITS = 32  # of a pair of scope and entity, those that hold the entity's id


class Scopes:
    """The entities of each scope; its pickle consists of arrays.

    Args:
        of_document: the index of each document's scope.
        pairs: for each entity of a scope, the index of the scope, shifted by 32 bits, plus the id
            of the entity; ascending.
    """

    def __init__(self, of_document: dict[str, int], pairs: Integers) -> None:
        self._of_document = of_document
        self._ids = (pairs & ((1 << _BITS) - 1)).astype(np.int32)
        n_scopes = max(of_document.values(), default=-1) + 1
        self._begins = np.searchsorted(pairs, np.arange(n_scopes + 1) << _BITS)

    @classmethod
    def read(cls, paths: Sequence[Path], kind: ScopeKind) -> Self:
        """Read which entities the examples of each document, or group, mention.

        Special entities are left out: nothing is learned by distinguishing them.
        """
        numbers: dict[str, int] = {}
        of_document: dict[str, int] = {}
        pairs = [np.zeros(0, np.int64)]
        columns = ("document_id", "group", "entity_ids")
        for path in paths:
            for batch in open_dataset(path, "examples").batches(columns):
                names = batch.column(_NAMES[kind])
                encoded = names.dictionary_encode()
                known = [
                    numbers.setdefault(name, len(numbers))
                    for name in encoded.dictionary.to_pylist()
                ]
                scopes: Integers = np.array(known, np.int64)[np.asarray(encoded.indices)]
                documents = batch.column("document_id").to_pylist()
                of_document |= zip(documents, scopes.tolist(), strict=True)
                entities = batch.column("entity_ids")
                ids = np.asarray(entities.flatten()).astype(np.int64)
                of = (scopes[np.asarray(pc.list_parent_indices(entities))] << _BITS) + ids
                pairs.append(np.unique(of[ids > MASK]))
        return cls(of_document, np.unique(np.concatenate(pairs)))

    def numbers(self, documents: Iterable[str]) -> Integers:
        """Look up the scope of each document; raise ``CorpusError`` for one that was not read."""
        try:
            return np.array([self._of_document[document] for document in documents], np.int64)
        except KeyError as error:
            raise CorpusError(
                f"document {error}: is in no dataset whose scopes were read."
            ) from None

    def entities(self, scope: int) -> Integers:
        """Return the entity ids of a scope, ascending."""
        return self._ids[self._begins[scope] : self._begins[scope + 1]].astype(np.int64)


def draw_others(places: Integers, size: int, *, n: int, keys: Numbers) -> Integers:
    """Draw for each of M labels ``min(n, size - 1)`` other ids of its scope, none twice.

    Args:
        places: (M,) the place of each label among the ids of the scope.
        size: how many ids the scope has.
        n: how many are asked for.
        keys: (M,) random bits of each label.

    Returns (M, S) places among the ids of the scope; all sets are equally likely.
    """
    n = min(n, size - 1)
    if not n or not len(places):
        return np.zeros((len(places), 0), np.int64)
    drawn = permuted(np.tile(np.arange(n), len(places)), size - 1, np.repeat(keys, n))
    others = drawn.reshape(len(places), n)
    return others + (others >= places[:, None])


@dataclass(frozen=True, slots=True)
class Spreader:
    """The function that gives entities to the subwords of a batch, and makes the targets."""

    is_hiding: bool = False
    """Whether the entity of a mention is hidden if one of its subwords is to be predicted, and only
    hidden entities are predicted (``masking.hide_entity_when_masked``)."""
    is_predicting: bool = True
    """Whether there are targets; False: entities are only given to subwords."""
    scopes: Scopes | None = None
    """The entities that each one is predicted from; None: the whole vocabulary."""
    n_negatives: int = 0
    """Negatives of each target, drawn from its scope; 0: all entities of the scope."""

    def __call__(
        self,
        text: FlatViews,
        masked: Integers,
        rng: Rng,
        *,
        documents: Sequence[str],
        negatives: Integers | None = None,
    ) -> tuple[SubwordEntities | None, Targets | None]:
        """Give subwords the entities of their mentions, and make the targets; None where none are.

        Args:
            text: of the batch.
            masked: (K,) rows of subwords that are to be predicted.
            rng: of its examples.
            documents: (P,) the id of the document of each part.
            negatives: ids that a sampled softmax over all entities compares with.
        """
        owners = _owners_of(text)
        rows = np.flatnonzero(owners >= 0)
        of_rows = owners[rows]
        is_hidden = np.zeros(len(text.entities), np.bool_)
        if self.is_hiding:
            hidden = owners[masked]
            is_hidden[hidden[hidden >= 0]] = True
        shown, entities = ~is_hidden[of_rows], text.entities[of_rows]
        known = subword_entities(rows[shown], entities[shown])
        asked = (entities > MASK) & ~shown if self.is_hiding else entities > MASK
        if not (self.is_predicting and asked.any()):
            return known, None
        rows, labels = rows[asked], entities[asked]
        if self.scopes is None:
            return known, Targets.of(rows, labels, negatives)
        numbers = self.scopes.numbers(documents)[text.mention_parts[of_rows[asked]]]
        order = np.argsort(numbers, kind="stable")
        rows, labels = rows[order], labels[order]
        keys = rng.bits(RandomUse.SUBWORD_NEGATIVE, text.sequences[rows], text.positions[rows])
        return known, self._scoped(self.scopes, rows, labels, numbers=numbers[order], keys=keys)

    def _scoped(
        self, scopes: Scopes, rows: Integers, labels: Integers, *, numbers: Integers, keys: Numbers
    ) -> Targets:
        """Make targets that are sorted by scope, with the ids that each is distinguished from.

        These are all ids of its scope, or ``n_negatives`` drawn from them. ``numbers`` (M,) has the
        index of the scope of each target, ascending.
        """
        chosen, counts = np.unique(numbers, return_counts=True)
        ends = np.cumsum(counts)[:-1]
        ids = [scopes.entities(scope) for scope in chosen.tolist()]
        places = [_places(*each) for each in zip(np.split(labels, ends), ids, strict=True)]
        sizes = [len(of) for of in ids]
        if not self.n_negatives:
            choices = Choices(
                ids=torch.from_numpy(np.concatenate(ids)),
                sizes=tuple(sizes),
                n_targets=tuple(counts.tolist()),
                places=torch.from_numpy(np.concatenate(places)),
            )
            return Targets.of(rows, labels, choices=choices)
        negatives = np.repeat(labels[:, None], self.n_negatives, axis=1)
        parts = zip(np.split(negatives, ends), np.split(keys, ends), places, ids, strict=True)
        for own, own_keys, own_places, of in parts:  # views: writing to `own` fills `negatives`
            drawn = draw_others(own_places, len(of), n=self.n_negatives, keys=own_keys)
            own[:, : drawn.shape[1]] = of[drawn]
        return Targets.of(rows, labels, negatives, n_others=np.repeat(sizes, counts) - 1)


def subword_entities(rows: Integers, entities: Integers) -> SubwordEntities | None:
    """Make the ``SubwordEntities`` of a batch; None where no subword knows an entity."""
    if not len(rows):
        return None
    return SubwordEntities(rows=torch.from_numpy(rows), entities=torch.from_numpy(entities))


def _owners_of(text: FlatViews) -> Integers:
    """Find the mention whose entity each subword knows, shape (T,); −1 for none."""
    sizes = text.mention_ends - text.mention_starts
    order = np.lexsort((-np.arange(len(sizes)), sizes, text.entities > MASK))  # the last one wins
    ranks = np.full(len(text.subwords), -1)
    rows = ranges(text.mention_starts[order], sizes[order])
    np.maximum.at(ranks, rows, np.repeat(np.arange(len(order)), sizes[order]))
    owners: Integers = np.append(order, -1)[ranks]
    return owners


def _places(labels: Integers, ids: Integers) -> Integers:
    places = np.searchsorted(ids, labels)
    if not len(ids) or (ids[np.minimum(places, len(ids) - 1)] != labels).any():
        raise CorpusError(
            "An example mentions an entity that its document did not when scopes were read: the "
            "dataset was changed meanwhile. Start again."
        )
    return places
