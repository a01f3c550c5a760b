"""Pairs of texts for next sentence and sentence order prediction (published systems, C.9).

An example gives two neighbouring sentences, which grow by the sentences before the first and after
the second, side by coin, as long as both fit; C.9 draws them from a whole article, here both stay
inside their packed examples. The budget counts each side once (B-N14). In *sentence order
prediction* the two are swapped half of the time. In *next sentence prediction* the second text is,
half of the time, one of another document; sides are not swapped besides, unless asked for (B-N4).

Inside packed examples C.9's lengths would tell the label: what follows ends where the example is
full, and what is of another one does not. So the two examples of next sentence prediction are
treated alike. The same number is drawn for both, each is divided where nearest to so many pieces
are left, and of either no more is shown than the other has left, to the last whole word. The texts
that may be the second have then the same length, but for a part of that word, and end alike.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from corpora.errors import CorpusError
from modeling.config import ConfigError
from modeling.data.chance import Chance, Stream
from modeling.data.examples import ADVICE, Example, ExampleSet
from modeling.data.views import Part, View, head, tail, whole, word_borders

Viewer = Callable[[Sequence[Example], Sequence[ExampleSet], Chance], list[View]]
"""Shows examples, each of the set beside it; the chance has their numbers, in this order."""

SINGLE: Final = "pairs.single_sentence"
ALONE: Final = "pairs.no_partner"
_TRIES: Final = 64
_DRAWN: Final = 3
"""Numbers before the coins."""


class Sentences(NamedTuple):
    """Neighbouring sentences of an example: where each begins, and the last one ends."""

    example: Example
    borders: list[int]

    @classmethod
    def of(cls, example: Example) -> Self:
        """All; raises ``CorpusError`` where one is outside the example's pieces."""
        n, starts = len(example.pieces), example.sentence_starts.tolist()
        if starts and (min(starts) < 0 or max(starts) >= n):
            raise CorpusError(f"example {example.id}: has a sentence outside its pieces. {ADVICE}")
        return cls(example, sorted({0, n, *starts}))

    @property
    def n(self) -> int:
        """How many."""
        return len(self.borders) - 1

    @property
    def sizes(self) -> list[int]:
        """Pieces of each."""
        return [end - start for start, end in pairwise(self.borders)]

    def part(self, number: int) -> Part:
        """One of them."""
        return Part(self.example, self.borders[number], self.borders[number + 1])

    def split(self, number: int) -> tuple["Sentences", "Sentences"]:
        """Those before this one; and it and those after it."""
        before, after = self.borders[: number + 1], self.borders[number:]
        return Sentences(self.example, before), Sentences(self.example, after)

    def rest(self, number: int) -> int:
        """Pieces from this sentence on."""
        return self.borders[-1] - self.borders[number]

    def nearest(self, rest: int) -> int:
        """The sentence, but the first, from which on there are nearest to so many pieces."""
        return min(range(1, self.n), key=lambda number: abs(self.rest(number) - rest))

    def limited(self, room: int) -> tuple["Sentences", tuple[str, ...]]:
        """The first whole words that fit, and what is to be noted."""
        if self.rest(0) <= room:
            return self, ()
        every = Part(self.example, self.borders[0], self.borders[-1])
        part, notes = head(every, word_borders(self.example), room)
        inner = [border for border in self.borders if border < part.end]
        return Sentences(self.example, [*inner, part.end]), notes


class Draws(NamedTuple):
    """What chance says of a pair: numbers of 64 bits, and coins, 0 or 1."""

    label: int
    first: int
    swap: int
    coins: bytes


def viewer_of(
    pairs: Literal["none", "nsp", "sop"], max_length: int, *, swap_pairs: bool = False
) -> Viewer:
    """How examples are shown.

    Args:
        pairs: what texts are shown together.
        max_length: pieces with [CLS] and [SEP].
        swap_pairs: of ``nsp``, whether a coin swaps the two texts, whatever the label (B-N4).

    Raises ``ConfigError`` where there is no room for a text.
    """
    if max_length < 5:
        raise ConfigError(f"data.max_length {max_length}: no room for two pieces; set 5 or more.")
    if swap_pairs and pairs != "nsp":
        raise ConfigError(f"data.swap_pairs is for data.pairs=nsp, not {pairs}: set it to false.")
    if pairs == "none":
        return partial(show_texts, max_length=max_length)
    return partial(show_pairs, pairs=pairs, max_length=max_length, swap_pairs=swap_pairs)


def show_texts(
    examples: Sequence[Example], _: Sequence[ExampleSet], chance: Chance, *, max_length: int
) -> list[View]:
    """Show each example as one text, or a window of it."""
    return [whole(e, max_length - 2, chance.one(place)) for place, e in enumerate(examples)]


def show_pairs(
    examples: Sequence[Example],
    sets: Sequence[ExampleSet],
    chance: Chance,
    *,
    pairs: Literal["nsp", "sop"],
    max_length: int,
    swap_pairs: bool = False,
) -> list[View]:
    """Show two texts, one of them of the example; or one text where no pair can be made.

    Where no partner is found no coin is tossed: else all pairs that are left would be connected.
    """
    room = max_length - 3
    numbers = chance.table(Stream.PAIR, _DRAWN + 1 + max_length // 64)
    coins = np.unpackbits(numbers[:, _DRAWN:].view(np.uint8), axis=1)
    tries = chance.table(Stream.PARTNER, _TRIES if pairs == "nsp" else 0)
    views = []
    for place, (example, of) in enumerate(zip(examples, sets, strict=True)):
        label, first, swap = numbers[place, :_DRAWN].tolist()
        draws = Draws(label, first, swap, coins[place].tobytes())
        sentences = Sentences.of(example)
        if sentences.n < 2:
            view = _noted(whole(example, max_length - 2, chance.one(place)), SINGLE)
        elif pairs == "sop":
            view = sentence_order(sentences, draws, room=room)
        elif partner := find_partner(of, example, tries[place].tolist()):
            view = next_sentence(sentences, partner, draws, room=room)
            view = _swapped(view, draws) if swap_pairs else view
        else:
            view = _noted(whole(example, max_length - 2, chance.one(place)), ALONE)
        views.append(view)
    return views


def _noted(view: View, note: str) -> View:
    return View(view.example, view.parts, notes=(*view.notes, note))


def _swapped(view: View, draws: Draws) -> View:
    parts = view.parts[::-1] if _below(draws.swap, 2) else view.parts
    return View(view.example, parts, label=view.label, notes=view.notes)


def find_partner(
    examples: ExampleSet, example: Example, numbers: Iterable[int]
) -> Sentences | None:
    """An example of another document, with two sentences or more; None after all tries."""
    for number in numbers:
        found = _below(number, len(examples))
        if examples.document_id(found) != example.document_id:
            partner = Sentences.of(examples[found])
            if partner.n > 1:
                return partner
    return None


def _below(number: int, n: int) -> int:
    """One of 0 … n - 1, as ``chance.as_below`` makes of these 64 bits."""
    return (number >> 32) * n >> 32


def sentence_order(sentences: Sentences, draws: Draws, *, room: int) -> View:
    """Two texts that follow each other, swapped or not; label 0 if swapped, else 1."""
    before, after = sentences.split(1 + _below(draws.first, sentences.n - 1))
    parts, notes = _grown(before, after, draws.coins, room=room)
    label = _below(draws.label, 2)
    return View(sentences.example, parts if label else parts[::-1], label=label, notes=notes)


def next_sentence(sentences: Sentences, partner: Sentences, draws: Draws, *, room: int) -> View:
    """A text and one that follows it, label 1; or, of the partner, one that does not, label 0.

    Args:
        sentences: of the first text; two or more.
        partner: of another document, two sentences or more.
        draws: what chance says.
        room: pieces of both texts, without special ones.
    """
    rest = _below(draws.first, min(sentences.rest(0), partner.rest(0)))
    before, following = sentences.split(sentences.nearest(rest))
    _, other = partner.split(partner.nearest(rest))
    label = _below(draws.label, 2)
    limit = min(following.rest(0), other.rest(0))
    after, notes = (following if label else other).limited(limit)
    parts, cut = _grown(before, after, draws.coins, room=room)
    return View(sentences.example, parts, label=label, notes=notes + cut)


def _grown(
    before: Sentences, after: Sentences, coins: Sequence[int], *, room: int
) -> tuple[tuple[Part, Part], tuple[str, ...]]:
    """Texts from the last of the ones before and the first of the ones after, and what to note.

    They grow away from there; or, where already these two are too long, keep what is nearest.
    """
    a, b = before.part(before.n - 1), after.part(0)
    if a.size + b.size > room:
        a, cut_a = tail(a, word_borders(a.example), room // 2)
        b, cut_b = head(b, word_borders(b.example), room // 2)
        return (a, b), cut_a + cut_b
    n_before, n_after = grow(
        before.sizes[-2::-1], after.sizes[1:], room=room - a.size - b.size, coins=coins
    )
    start, end = before.borders[before.n - 1 - n_before], after.borders[1 + n_after]
    return (a._replace(start=start), b._replace(end=end)), ()


def grow(
    before: Sequence[int], after: Sequence[int], *, room: int, coins: Sequence[int]
) -> tuple[int, int]:
    """How many sentences to take on each side, given their sizes from the nearest on.

    While both sides are open a coin, 0 or 1, says which grows; ``room`` + 2 coins are enough. A
    side is closed by a sentence that does not fit, or when it has no more.
    """
    sizes, taken = (before, after), [0, 0]
    is_open = [bool(before), bool(after)]
    turn = 0
    while any(is_open):
        side = coins[turn] if all(is_open) else is_open.index(True)
        turn += 1
        size = sizes[side][taken[side]]
        if size > room:
            is_open[side] = False
            continue
        room -= size
        taken[side] += 1
        is_open[side] = taken[side] < len(sizes[side])
    return taken[0], taken[1]
