"""Views of examples, one after the other in flat arrays, with [CLS] and [SEP] around them.

Shapes: B examples, P parts (one or two for each), T rows of pieces, W words, E mentions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError
from modeling.data.chance import Integers
from modeling.data.examples import ADVICE
from modeling.data.masking import PieceIds, Text, ranges
from modeling.data.views import View


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The text of a batch and what is known of it."""

    text: Text
    lengths: Integers
    """(B,) rows of each sequence."""
    segments: Integers
    """(T,) 1 for the second part of a pair and its [SEP], else 0."""
    entities: Integers
    """(E,)"""
    mention_sequences: Integers
    """(E,)"""
    mention_parts: Integers
    """(E,) the number of the part, of all views together, that each stands in."""

    @classmethod
    def of(cls, views: Sequence[View], pieces: PieceIds, *, n_entities: int | None = None) -> Self:
        """Frame one view or more.

        Args:
            views: what is shown.
            pieces: of the tokenizer.
            n_entities: of the vocabulary; 0: read mentions, but not what they refer to; None:
                leave the mentions out.

        Raises ``CorpusError`` that names the example where a row is not valid.
        """
        parts = _Parts.of(views)
        n_rows = int(parts.lengths.sum())
        sequences = np.repeat(np.arange(len(views)), parts.lengths)
        firsts = np.cumsum(parts.lengths) - parts.lengths
        ids = np.empty(n_rows, np.int64)
        ids[firsts] = pieces.special.cls
        ids[parts.starts + parts.sizes] = pieces.special.sep
        ids[ranges(parts.starts, parts.sizes)] = parts.pieces(len(pieces))
        if n_entities is None:
            entities = starts = ends = of_mention = np.zeros(0, np.int64)
        else:
            entities, starts, ends, of_mention = parts.mentions(n_entities)
        text = Text(
            pieces=ids,
            sequences=sequences,
            positions=np.arange(n_rows) - firsts[sequences],
            word_starts=parts.word_starts(firsts, n_rows),
            mention_starts=starts,
            mention_ends=ends,
        )
        segments = parts.segments(n_rows)
        of_sequence = parts.sequences[of_mention]
        return cls(text, parts.lengths, segments, entities, of_sequence, of_mention)


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The parts of all views, and where they stand among the rows."""

    views: Sequence[View]
    sequences: Integers
    """(P,) the view of each."""
    sizes: Integers
    """(P,)"""
    starts: Integers
    """(P,) the row of its first piece."""
    lengths: Integers
    """(B,) rows of each view."""

    @classmethod
    def of(cls, views: Sequence[View]) -> Self:
        sequences = np.repeat(np.arange(len(views)), [len(view.parts) for view in views])
        sizes = np.array([part.size for view in views for part in view.parts], np.int64)
        # Before a part stand all parts before it, a [SEP] for each, and a [CLS] for each view.
        starts = np.cumsum(sizes) - sizes + np.arange(len(sizes)) + sequences + 1
        lengths = np.bincount(sequences, weights=sizes + 1).astype(np.int64) + 1
        return cls(views, sequences, sizes, starts, lengths)

    def pieces(self, n_pieces: int) -> Integers:
        """The ids of all, checked."""
        parts = (part for view in self.views for part in view.parts)
        ids = np.concatenate([part.example.pieces[part.start : part.end] for part in parts])
        if len(ids) and not (ids.min() >= 0 and ids.max() < n_pieces):
            of = np.repeat(np.arange(len(self.sizes)), self.sizes)
            self._check((ids < 0) | (ids >= n_pieces), of, f"a piece beyond the {n_pieces}")
        return ids.astype(np.int64)

    def word_starts(self, firsts: Integers, n_rows: int) -> Integers:
        """(W,) the rows at which words begin; a special piece is a word, a part begins one."""
        columns = [part.word_starts for view in self.views for part in view.parts]
        of = np.repeat(np.arange(len(columns)), [len(column) for column in columns])
        starts = np.concatenate(columns).astype(np.int64)
        self._check((starts < 0) | (starts >= self.sizes[of]), of, "a word outside its pieces")
        is_start = np.zeros(n_rows, np.bool_)
        for rows in (firsts, self.starts, self.starts + self.sizes, self.starts[of] + starts):
            is_start[rows] = True
        return np.flatnonzero(is_start)

    def mentions(self, n_entities: int) -> tuple[Integers, Integers, Integers, Integers]:
        """(E,) the entity, first row, end and part of all mentions, checked."""
        triples = [part.mentions for view in self.views for part in view.parts]
        of = np.repeat(np.arange(len(triples)), [len(triple[0]) for triple in triples])
        entities, starts, ends = (
            np.concatenate(column).astype(np.int64) for column in zip(*triples, strict=True)
        )
        is_wrong = (starts < 0) | (starts >= ends) | (ends > self.sizes[of])
        self._check(is_wrong, of, "a mention outside its pieces")
        if n_entities:
            is_wrong = (entities < 0) | (entities >= n_entities)
            self._check(is_wrong, of, f"an entity beyond the {n_entities} of the model")
        return entities, self.starts[of] + starts, self.starts[of] + ends, of

    def segments(self, n_rows: int) -> Integers:
        """(T,) 0 or 1."""
        segments = np.zeros(n_rows, np.int64)
        second = np.flatnonzero(np.diff(self.sequences, prepend=-1) == 0)
        segments[ranges(self.starts[second], self.sizes[second] + 1)] = 1
        return segments

    def _check(self, is_wrong: NDArray[np.bool_], of: Integers, what: str) -> None:
        """Name the first example with something wrong; ``of`` is the part of each."""
        if not is_wrong.any():
            return
        parts = [part for view in self.views for part in view.parts]
        example = parts[int(of[np.flatnonzero(is_wrong)[0]])].example
        raise CorpusError(f"example {example.id}: has {what}. {ADVICE}")
