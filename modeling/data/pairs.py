"""Pairs of texts for next sentence and sentence order prediction (published systems, C.9).

An example gives two neighbouring sentences, which grow by the sentences before the first and after
the second, side by coin, as long as both fit; C.9 draws them from a whole article, here both stay
inside their packed examples. The budget counts each side once (B-N14). In *next
sentence prediction* the second text is, half of the time, one of another document; sides are not
swapped besides (B-N4). In *sentence order prediction* the two are swapped half of the time.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError
from modeling.config import ConfigError
from modeling.data.chance import Chance, Integers, Numbers, Stream, as_below
from modeling.data.examples import ADVICE, Example, ExampleSet
from modeling.data.views import Part, View, head, tail, whole, word_borders

Viewer = Callable[[Example, ExampleSet, Chance], View]
"""Shows an example of a set; the chance is its own."""

SINGLE: Final = "pairs.single_sentence"
ALONE: Final = "pairs.no_partner"
_TRIES: Final = 64
_COINS: Final = 3
"""Numbers before it choose the label, the first sentence, and the partner's."""


def viewer_of(pairs: Literal["none", "nsp", "sop"], max_length: int) -> Viewer:
    """How examples are shown; ``max_length`` counts pieces with [CLS] and [SEP].

    Raises ``ConfigError`` where there is no room for a text.
    """
    if max_length < 5:
        raise ConfigError(f"data.max_length {max_length}: no room for two pieces; set 5 or more.")
    if pairs == "none":
        return partial(show_text, max_length=max_length)
    return partial(show_pair, pairs=pairs, max_length=max_length)


def show_text(example: Example, _: ExampleSet, chance: Chance, *, max_length: int) -> View:
    """Show an example as one text, or a window of it."""
    return whole(example, max_length - 2, chance)


def show_pair(
    example: Example,
    examples: ExampleSet,
    chance: Chance,
    *,
    pairs: Literal["nsp", "sop"],
    max_length: int,
) -> View:
    """Show two texts, one of them of this example; or one text where no pair can be made.

    Where no partner is found no coin is tossed: else all pairs that are left would be connected.
    """
    if len(sentence_borders(example)) < 3:
        return _noted(whole(example, max_length - 2, chance), SINGLE)
    room = max_length - 3
    numbers = chance.row(Stream.PAIR, _COINS + 1 + max_length // 64)
    is_first = bool(as_below(numbers[:1], 2)[0])
    if pairs == "sop":
        return sentence_order(example, numbers, room=room, swap=not is_first)
    partner = find_partner(examples, example, chance.row(Stream.PARTNER, _TRIES))
    if partner is None:
        return _noted(whole(example, max_length - 2, chance), ALONE)
    return next_sentence(example, example if is_first else partner, numbers, room=room)


def _noted(view: View, note: str) -> View:
    return View(view.example, view.parts, notes=(*view.notes, note))


def sentence_borders(example: Example) -> Integers:
    """Where sentences begin, and where the last one ends."""
    n, inner = len(example.pieces), example.sentence_starts
    if len(inner) and (inner.min() < 0 or inner.max() >= n):
        raise CorpusError(f"example {example.id}: has a sentence outside its pieces. {ADVICE}")
    return np.unique(np.concatenate(([0], inner, [n])).astype(np.int64))


def find_partner(examples: ExampleSet, example: Example, numbers: Numbers) -> Example | None:
    """An example of another document, with two sentences or more; None after all tries."""
    for number in as_below(numbers, len(examples)).tolist():
        if examples.document_id(number) != example.document_id:
            partner = examples[number]
            if len(sentence_borders(partner)) > 2:
                return partner
    return None


def sentence_order(example: Example, numbers: Numbers, *, room: int, swap: bool) -> View:
    """Two texts that follow each other, swapped or not; label 0 if swapped, else 1."""
    view = next_sentence(example, example, numbers, room=room)
    parts = view.parts[::-1] if swap else view.parts
    return View(example, parts, label=int(not swap), notes=view.notes)


def next_sentence(example: Example, partner: Example, numbers: Numbers, *, room: int) -> View:
    """A text and one that follows it, label 1; or, of another partner, one that does not, 0.

    Args:
        example: of the first text; two sentences or more.
        partner: of the second text; the example itself, or another of two sentences or more.
        numbers: of chance, three and one for each 64 pieces of the room.
        room: pieces of both texts, without special ones.
    """
    of_first, of_second = sentence_borders(example), sentence_borders(partner)
    first = int(as_below(numbers[1:2], len(of_first) - 2)[0])
    is_connected = partner is example
    second = 1 + (first if is_connected else int(as_below(numbers[2:3], len(of_second) - 2)[0]))
    a = Part(example, int(of_first[first]), int(of_first[first + 1]))
    b = Part(partner, int(of_second[second]), int(of_second[second + 1]))
    notes: tuple[str, ...] = ()
    if a.size + b.size > room:
        a, cut_a = tail(a, word_borders(example), room // 2)
        b, cut_b = head(b, word_borders(partner), room // 2)
        notes = cut_a + cut_b
    else:
        n_before, n_after = grow(
            np.diff(of_first)[:first][::-1].tolist(),
            np.diff(of_second)[second + 1 :].tolist(),
            room=room - a.size - b.size,
            coins=np.unpackbits(numbers[_COINS:].view(np.uint8)),
        )
        a = a._replace(start=int(of_first[first - n_before]))
        b = b._replace(end=int(of_second[second + 1 + n_after]))
    return View(example, (a, b), label=int(is_connected), notes=notes)


def grow(
    before: Sequence[int], after: Sequence[int], *, room: int, coins: NDArray[np.uint8]
) -> tuple[int, int]:
    """How many sentences to take on each side, given their sizes from the nearest on.

    While both sides are open a coin, 0 or 1, says which grows; ``room`` + 2 coins are enough. A
    side is closed by a sentence that does not fit, or when it has no more.
    """
    sizes, taken = (before, after), [0, 0]
    is_open = [bool(before), bool(after)]
    turn = 0
    while any(is_open):
        side = int(coins[turn]) if all(is_open) else is_open.index(True)
        turn += 1
        size = sizes[side][taken[side]]
        if size > room:
            is_open[side] = False
            continue
        room -= size
        taken[side] += 1
        is_open[side] = taken[side] < len(sizes[side])
    return taken[0], taken[1]
