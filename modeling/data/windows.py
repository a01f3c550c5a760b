"""Windows of sentences: which pieces are read together, and where each word is read.

All pieces of a set of sentences stand in one row, the sentences of a document one after the other,
so that a window is a range of it, context included.

Shapes: N sentences, B windows, W words.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from modeling.data.chance import Integers
from modeling.data.masking import ranges


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The windows of all sentences, one sentence after the other, from left to right."""

    begins: Integers
    """(N + 1,) sentence ``n`` has the windows from ``begins[n]`` to ``begins[n + 1]``."""
    starts: Integers
    """(B,) pieces, half-open."""
    ends: Integers
    """(B,)"""

    @classmethod
    def cut(cls, starts: Integers, ends: Integers, *, room: int, overlap: int) -> Self:
        """Cut sentences, ranges of pieces, into windows of at most ``room`` pieces.

        A sentence that fits is one window, even where it is empty. A longer one is as few as have
        ``overlap`` pieces in common, at least, with the next; they are of one size, evenly spread.
        Every run of at most ``overlap + 1`` pieces lies in one of them.
        """
        lengths = ends - starts
        counts = np.maximum(1, -(-(lengths - overlap) // (room - overlap)))
        counts[lengths <= room] = 1
        sizes = -(-(lengths + (counts - 1) * overlap) // counts)
        begins = np.concatenate([[0], np.cumsum(counts)])
        of = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(of)) - begins[of]
        firsts = starts[of] + place * (lengths - sizes)[of] // np.maximum(counts - 1, 1)[of]
        return cls(begins, firsts, firsts + sizes[of])

    def with_context(
        self, starts: Integers, ends: Integers, *, room: int, most: int | None = None
    ) -> Self:
        """Add what stands before and after, as far as the document goes (published systems, C.4).

        The side that has less gives what it does not need to the other.

        Args:
            starts: (N,) where the document of each sentence begins.
            ends: (N,) where it ends.
            room: pieces of a window.
            most: pieces that are added to a window, on both sides together.
        """
        of = np.repeat(np.arange(len(starts)), np.diff(self.begins))
        left, right = self.starts - starts[of], ends[of] - self.ends
        budget = room - (self.ends - self.starts)
        if most is not None:
            budget = np.minimum(budget, most)
        half = budget // 2
        is_left_less = left < right
        n_less = np.minimum(np.where(is_left_less, left, right), half)
        n_more = np.minimum(np.where(is_left_less, right, left), budget - n_less)
        n_left = np.where(is_left_less, n_less, n_more)
        n_right = np.where(is_left_less, n_more, n_less)
        return type(self)(self.begins, self.starts - n_left, self.ends + n_right)

    def of_words(self, begins: Integers, starts: Integers, ends: Integers) -> Integers:
        """(W,) the window in which each word is read.

        Of those that hold its first piece, the one in which it is furthest from both edges; of
        equals, the first. Only a word that no window holds wholly is cut by its window.

        Args:
            begins: (N + 1,) words of each sentence.
            starts: (W,) pieces of each word, half-open.
            ends: (W,)
        """
        counts = np.diff(self.begins)
        chosen = np.repeat(self.begins[:-1], np.diff(begins))
        furthest = np.full(len(starts), np.iinfo(np.int64).min)
        several = np.flatnonzero(counts > 1)
        of = np.repeat(several, counts[several])
        for sentence, window in zip(of, ranges(self.begins[several], counts[several]), strict=True):
            first, last = begins[sentence], begins[sentence + 1]
            edges = self.starts[window], self.ends[window]
            held = slice(*(first + np.searchsorted(starts[first:last], edges)))
            distance = np.minimum(starts[held] - edges[0], edges[1] - ends[held])
            is_further = distance > furthest[held]
            furthest[held][is_further] = distance[is_further]
            chosen[held][is_further] = window
        return chosen
