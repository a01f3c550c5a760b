"""What a model is shown of an example: a text of at most so many pieces, or two of a pair.

What is not shown is counted, in ``Batch.counts``, by name:

- ``examples.cut``: longer than the model reads, so that a window was drawn;
- ``words.cut``: longer than the model reads, so that only a part of the word is shown;
- ``pairs.single_sentence``: shown as a plain text, for it cannot make a pair;
- ``pairs.no_partner``: shown as a plain text, for no other document was found;
- ``pieces.left_out``, ``mentions.left_out``: of the example, but not wholly in what is shown.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from modeling.data.chance import Chance, Integers, Stream, as_below
from modeling.data.examples import Example, Int32s

EXAMPLES_CUT: Final = "examples.cut"
WORDS_CUT: Final = "words.cut"


class Part(NamedTuple):
    """Pieces ``start`` to ``end`` of an example, half-open."""

    example: Example
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many pieces."""
        return self.end - self.start

    @property
    def word_starts(self) -> Int32s:
        """Where words begin, counted from the part's first piece."""
        starts = self.example.word_starts
        if self.size < len(self.example.pieces):
            first, last = starts.searchsorted((self.start, self.end))
            starts = starts[first:last] - np.int32(self.start)
        return starts

    @property
    def mentions(self) -> tuple[Int32s, Int32s, Int32s]:
        """Entities, starts and ends of the mentions wholly inside, counted likewise."""
        example, start, end = self
        mentions = example.entities, example.entity_starts, example.entity_ends
        if self.size == len(example.pieces):
            return mentions
        inside = (mentions[1] >= start) & (mentions[2] <= end)
        entities, starts, ends = (column[inside] for column in mentions)
        return entities, starts - np.int32(start), ends - np.int32(start)


@dataclass(frozen=True, slots=True)
class View:
    """An example as a model sees it: [CLS] part [SEP], or [CLS] part [SEP] part [SEP]."""

    example: Example
    """The one that was asked for; its id names the view."""
    parts: tuple[Part, ...]
    label: int | None = None
    """Of a pair: 1 if the second part follows the first, else 0."""
    notes: tuple[str, ...] = ()
    """What is to be counted."""

    def count(self) -> Counter[str]:
        """Count what the notes say and what is left out of the example."""
        own = [part for part in self.parts if part.example is self.example]
        n_pieces = len(self.example.pieces) - sum(part.size for part in own)
        counts = Counter(self.notes)
        if n_pieces > 0:
            shown = sum(len(part.mentions[0]) for part in own)
            counts["pieces.left_out"] = n_pieces
            counts["mentions.left_out"] = len(self.example.entities) - shown
        return counts


def whole(example: Example, room: int, chance: Chance) -> View:
    """Show an example, or a window of it with whole words where it has more than ``room`` pieces.

    The window begins at a word, no later than the first from which all the rest fits, each with
    the same chance (N-D6), and ends with the last word that fits. ``chance`` is the example's own.
    """
    n = len(example.pieces)
    if n <= room:
        return View(example, (Part(example, 0, n),))
    borders = word_borders(example)
    n_starts = int(np.searchsorted(borders[:-1], n - room, side="left")) + 1
    number = as_below(chance.row(Stream.WINDOW, 1), min(n_starts, len(borders) - 1))[0]
    part, notes = head(Part(example, int(borders[number]), n), borders, room)
    return View(example, (part,), notes=(EXAMPLES_CUT, *notes))


def word_borders(example: Example) -> Integers:
    """Where words begin, and where the last one ends."""
    borders = np.append(example.word_starts, len(example.pieces)).astype(np.int64)
    return borders if borders[0] == 0 else np.insert(borders, 0, 0)


def head(part: Part, borders: Integers, room: int) -> tuple[Part, tuple[str, ...]]:
    """The first whole words of a part that fit; of a word that is longer, its first pieces."""
    if part.size <= room:
        return part, ()
    end = int(borders[np.searchsorted(borders, part.start + room, side="right") - 1])
    if end > part.start:
        return part._replace(end=end), ()
    return part._replace(end=part.start + room), (WORDS_CUT,)


def tail(part: Part, borders: Integers, room: int) -> tuple[Part, tuple[str, ...]]:
    """The last whole words of a part that fit; of a word that is longer, its last pieces."""
    if part.size <= room:
        return part, ()
    start = int(borders[np.searchsorted(borders, part.end - room, side="left")])
    if start < part.end:
        return part._replace(start=start), ()
    return part._replace(start=part.end - room), (WORDS_CUT,)
