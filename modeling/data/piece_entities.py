"""Pieces are given the entities of the mentions that they are part of (EntityBERT: A.2, C.12).

Of mentions that share a piece, it knows the longest, of equal ones the first: what maximum entity
matching would label it with (C.11); one that has an entity goes before one that is [UNK], which is
read, too, but never predicted.

Shapes: B examples, T rows of pieces, E mentions, C pieces that know an entity, M targets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.data.batch import Choices, PieceEntities, Targets
from modeling.data.chance import Chance, Integers, Stream
from modeling.data.frames import Frame
from modeling.data.masking import Text, ranges
from modeling.data.scopes import Scopes, draw_others


@dataclass(frozen=True, slots=True)
class Spreader:
    """Spreads entities over the pieces of a batch, and says which are to be predicted."""

    is_hiding: bool = False
    """Whether a mention of which a piece is to be predicted is hidden, and only such ones are
    predicted (``masking.hide_entity_when_masked``)."""
    is_predicting: bool = True
    """Whether entities are to be predicted at all."""
    scopes: Scopes | None = None
    """Among which entities they are told apart; None: all."""
    n_negatives: int = 0
    """Of each target, drawn from its scope; 0: all of it."""

    def __call__(
        self,
        frame: Frame,
        masked: Integers,
        chance: Chance,
        *,
        documents: Sequence[str],
        negatives: Integers | None = None,
    ) -> tuple[PieceEntities | None, Targets | None]:
        """What pieces know, and the targets; None where there are none.

        Args:
            frame: the batch.
            masked: (K,) rows of pieces that are to be predicted.
            chance: of its examples.
            documents: (P,) of which document each part is.
            negatives: of a softmax over all entities that is sampled.
        """
        owners = owners_of(frame.text, frame.entities)
        rows = np.flatnonzero(owners >= 0)
        of_rows = owners[rows]
        is_hidden = np.zeros(len(frame.entities), np.bool_)
        if self.is_hiding:
            hidden = owners[masked]
            is_hidden[hidden[hidden >= 0]] = True
        shown = ~is_hidden[of_rows]
        entities = frame.entities[of_rows]
        is_target = entities > MASK
        if self.is_hiding:
            is_target &= ~shown
        target = None
        if self.is_predicting and is_target.any():
            target = self._targets(
                _Asked(rows[is_target], entities[is_target], of_rows[is_target]),
                frame,
                chance,
                documents=documents,
                negatives=negatives,
            )
        return piece_entities(rows[shown], entities[shown]), target

    def _targets(
        self,
        asked: "_Asked",
        frame: Frame,
        chance: Chance,
        *,
        documents: Sequence[str],
        negatives: Integers | None,
    ) -> Targets:
        if self.scopes is None:
            return Targets(
                rows=torch.from_numpy(asked.rows),
                labels=torch.from_numpy(asked.labels),
                negatives=None if negatives is None else torch.from_numpy(negatives),
            )
        numbers = self.scopes.numbers(documents)[frame.mention_parts[asked.mentions]]
        order = np.argsort(numbers, kind="stable")
        asked, numbers = asked.take(order), numbers[order]
        if not self.n_negatives:
            return _among_all(asked, numbers, self.scopes)
        text = frame.text
        keys = chance.bits(
            Stream.PIECE_NEGATIVE, text.sequences[asked.rows], text.positions[asked.rows]
        )
        return _among_some(asked, numbers, self.scopes, keys=keys, n=self.n_negatives)


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What is to be predicted."""

    rows: Integers
    """(M,)"""
    labels: Integers
    """(M,)"""
    mentions: Integers
    """(M,) which mention each row is of."""

    def take(self, order: NDArray[np.int64]) -> "_Asked":
        return _Asked(self.rows[order], self.labels[order], self.mentions[order])


def piece_entities(rows: Integers, entities: Integers) -> PieceEntities | None:
    """For a batch; None where no piece knows an entity."""
    if not len(rows):
        return None
    return PieceEntities(rows=torch.from_numpy(rows), entities=torch.from_numpy(entities))


def owners_of(text: Text, entities: Integers) -> Integers:
    """(T,) the mention whose entity each piece knows, −1 for none."""
    sizes = text.mention_ends - text.mention_starts
    order = np.lexsort((-np.arange(len(sizes)), sizes, entities > MASK))  # the last one wins
    ranks = np.full(len(text.pieces), -1)
    rows = ranges(text.mention_starts[order], sizes[order])
    np.maximum.at(ranks, rows, np.repeat(np.arange(len(order)), sizes[order]))
    owners = np.full(len(text.pieces), -1)
    owners[ranks >= 0] = order[ranks[ranks >= 0]]
    return owners


def _scopes_of(numbers: Integers) -> tuple[list[int], list[int]]:
    """Scopes, and how many targets each has; numbers are ascending."""
    scopes, counts = np.unique(numbers, return_counts=True)
    return scopes.tolist(), counts.tolist()


def _places(labels: Integers, ids: Integers) -> Integers:
    places = np.searchsorted(ids, labels)
    if not len(ids) or (ids[np.minimum(places, len(ids) - 1)] != labels).any():
        raise CorpusError(
            "An example mentions an entity that its document did not when scopes were read: the "
            "dataset was changed meanwhile. Start again."
        )
    return places


def _among_all(asked: _Asked, numbers: Integers, scopes: Scopes) -> Targets:
    """Targets that are told apart among all entities of their scopes."""
    chosen, counts = _scopes_of(numbers)
    ids = [scopes.entities(scope) for scope in chosen]
    labels = np.split(asked.labels, np.cumsum(counts)[:-1])
    places = [_places(own, of) for own, of in zip(labels, ids, strict=True)]
    return Targets(
        rows=torch.from_numpy(asked.rows),
        labels=torch.from_numpy(asked.labels),
        choices=Choices(
            ids=torch.from_numpy(np.concatenate(ids)),
            sizes=tuple(map(len, ids)),
            n_targets=tuple(counts),
            places=torch.from_numpy(np.concatenate(places)),
        ),
    )


def _among_some(
    asked: _Asked, numbers: Integers, scopes: Scopes, *, keys: NDArray[np.uint64], n: int
) -> Targets:
    """Targets that are compared with some other entities of their scopes."""
    chosen, counts = _scopes_of(numbers)
    others = np.empty(len(numbers), np.int64)
    negatives = np.repeat(asked.labels[:, None], n, axis=1)
    end = 0
    for scope, count in zip(chosen, counts, strict=True):
        part, end = slice(end, end + count), end + count
        ids = scopes.entities(scope)
        drawn = draw_others(_places(asked.labels[part], ids), len(ids), n=n, keys=keys[part])
        negatives[part, : drawn.shape[1]] = ids[drawn]
        others[part] = len(ids) - 1
    return Targets(
        rows=torch.from_numpy(asked.rows),
        labels=torch.from_numpy(asked.labels),
        negatives=torch.from_numpy(negatives),
        n_others=torch.from_numpy(others),
    )
