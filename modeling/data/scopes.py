"""Scopes: the entities of a document, or of a group of documents, among which one is told apart.

The entities of a scope are those that its examples mention, held-out ones too: of a novel, the
words of its lexicon that were found in it. 12 bytes for each pair of a scope and an entity.

Shapes: G scopes, M targets, S negatives.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import open_dataset, read_batches
from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.data.chance import Integers, Numbers, permuted

ScopeKind = Literal["group", "document"]
_BITS = 32  # of an entity's id in a pair


class Scopes:
    """The entities of each scope; pickled, it travels to other processes as arrays.

    Args:
        of_document: the number of each document's scope.
        pairs: numbers of scopes, shifted by 32 bits, and ids of their entities; ascending.
    """

    def __init__(self, of_document: dict[str, int], pairs: Integers) -> None:
        self._of_document = of_document
        self._ids = (pairs & ((1 << _BITS) - 1)).astype(np.int32)
        n_scopes = max(of_document.values(), default=-1) + 1
        self._begins = np.searchsorted(pairs, np.arange(n_scopes + 1) << _BITS)

    @classmethod
    def read(cls, paths: Sequence[Path], kind: ScopeKind) -> Self:
        """Read which entities the examples of each document, or group, mention.

        Special entities are left out: nothing is learned by telling them apart.
        """
        numbers: dict[str, int] = {}
        of_document: dict[str, int] = {}
        pairs = [np.zeros(0, np.int64)]
        for path in paths:
            for batch in _read(path):
                documents, names = batch.column("document_id"), batch.column(_NAMES[kind])
                scopes = _number(names, numbers)
                of_document |= zip(documents.to_pylist(), scopes.tolist(), strict=True)
                pairs.append(_pairs(batch.column("entity_ids"), scopes))
        return cls(of_document, np.unique(np.concatenate(pairs)))

    def numbers(self, documents: Iterable[str]) -> Integers:
        """The scope of each document; ``CorpusError`` for one that was not read."""
        try:
            return np.array([self._of_document[document] for document in documents], np.int64)
        except KeyError as error:
            raise CorpusError(
                f"document {error}: is in no dataset whose scopes were read."
            ) from None

    def entities(self, scope: int) -> Integers:
        """The ids of a scope, ascending."""
        return self._ids[self._begins[scope] : self._begins[scope + 1]].astype(np.int64)


_NAMES = {"group": "group", "document": "document_id"}


def _read(path: Path) -> Iterable[pa.RecordBatch]:
    dataset = open_dataset(path, "examples")
    columns = ("document_id", "group", "entity_ids")
    for shard in dataset.shards:
        yield from read_batches(path / shard.name, dataset.schema, columns=columns)


def _number(names: pa.StringArray, numbers: dict[str, int]) -> Integers:
    """The number of each name; new ones get the next."""
    encoded = names.dictionary_encode()
    known = [numbers.setdefault(name, len(numbers)) for name in encoded.dictionary.to_pylist()]
    scopes: Integers = np.array(known, np.int64)[np.asarray(encoded.indices)]
    return scopes


def _pairs(entities: pa.ListArray, scopes: Integers) -> Integers:
    ids = np.asarray(entities.flatten()).astype(np.int64)
    pairs = (scopes[np.asarray(pc.list_parent_indices(entities))] << _BITS) + ids
    return np.unique(pairs[ids > MASK])


def draw_others(places: Integers, size: int, *, n: int, keys: Numbers) -> Integers:
    """Draw for each of M labels ``min(n, size - 1)`` other ids of its scope, none twice.

    Args:
        places: (M,) of the labels among the ids of the scope.
        size: how many ids the scope has.
        n: how many are asked for.
        keys: (M,) chance of each.

    Returns (M, S) places; all sets are as likely.
    """
    n = min(n, size - 1)
    if not n or not len(places):
        return np.zeros((len(places), 0), np.int64)
    drawn = permuted(np.tile(np.arange(n), len(places)), size - 1, np.repeat(keys, n))
    others = drawn.astype(np.int64).reshape(len(places), n)
    return others + (others >= places[:, None])
