"""Which pieces and mentions are to be predicted, and what stands in their place meanwhile.

Follows section C.3 of the published systems, with B-N3, B-N18 and B-D13, for all examples of a
batch at once. A *unit* is masked as one: a piece, a word, or a mention with its whole words.
Special pieces are never drawn, [UNK] among them: nothing can be learned by predicting it; neither
are mentions of [PAD] and [UNK]. A mask depends on nothing but the masking, the seed, the epoch and
the example: not on the batch, its order, or who makes it.

Shapes: B examples, T rows of pieces, U units, M targets.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from corpora.entity_vocab import MASK
from corpora.tokenizers import Special, Tokenizer
from modeling.config import ConfigError, MaskingConfig
from modeling.data.chance import Chance, Integers, Stream, as_below

EVALUATION: Final = MaskingConfig(unit="word", budget="pieces", share=0.15, mask=1.0, random=0.0)
"""The masking of held-out examples, whatever a model was trained with: 15 % of the pieces by whole
words, all replaced by [MASK], so that no score rises by copying. Scores of models compare if they
read the same examples and as many pieces of them."""

_UNUSED = re.compile(r"[\[<]unused_?\d+[\]>]")
_RANDOM_BITS: Final = np.uint64(43)


@dataclass(frozen=True, slots=True, eq=False)
class PieceIds:
    """What must be known of the pieces of a tokenizer."""

    special: Special
    is_special: NDArray[np.bool_]
    """(V,)"""
    ordinary: Integers
    """Ids that a random replacement may have: neither special nor unused (B-N18)."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Of a tokenizer."""
        is_special = np.zeros(tokenizer.size, np.bool_)
        is_special[list(tokenizer.specials)] = True
        is_ordinary = np.zeros(tokenizer.size, np.bool_)
        vocab = tokenizer.backend.get_vocab(with_added_tokens=True)
        is_ordinary[[id for piece, id in vocab.items() if not _UNUSED.fullmatch(piece)]] = True
        return cls(tokenizer.special, is_special, np.flatnonzero(is_ordinary & ~is_special))

    def __len__(self) -> int:
        """How many ids there are: the largest, plus one."""
        return len(self.is_special)


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """The pieces of a batch, special ones among them, one sequence after the other."""

    pieces: Integers
    """(T,)"""
    sequences: Integers
    """(T,) the example of each row."""
    positions: Integers
    """(T,) the place of each row in its sequence."""
    word_starts: Integers
    """(W,) rows at which a word begins, in ascending order; each special piece is one."""
    mention_starts: Integers
    """(E,) rows."""
    mention_ends: Integers
    """(E,) rows, half-open."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is drawn as one, in the order of the text."""

    sequences: Integers
    """(U,)"""
    starts: Integers
    """(U,) the first row of each."""
    sizes: Integers
    """(U,) rows of each."""
    are_first: NDArray[np.bool_]
    """(U,) drawn before the others of their example."""

    def __getitem__(self, which: NDArray[np.bool_] | Integers) -> "Units":
        return Units(
            self.sequences[which], self.starts[which], self.sizes[which], self.are_first[which]
        )

    def __len__(self) -> int:
        """How many."""
        return len(self.starts)


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A text with masks, and what stood there."""

    pieces: Integers
    """(T,)"""
    rows: Integers
    """(M,) rows to be predicted, in ascending order."""
    labels: Integers
    """(M,) the pieces that stood there."""


class Masker:
    """Draws masks by the rules of a ``MaskingConfig``; ``ConfigError`` where they cannot be."""

    def __init__(self, config: MaskingConfig, pieces: PieceIds) -> None:
        shares = {n: getattr(config, n) for n in ("share", "mask", "random", "entity_share")}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise ConfigError(f"masking.{name} {share}: must be between 0 and 1.")
        if config.mask + config.random > 1 + 1e-9:
            raise ConfigError(
                f"masking.mask {config.mask} and masking.random {config.random}: are shares of the "
                "chosen, together at most 1."
            )
        self.config, self.pieces = config, pieces

    def mask_text(self, text: Text, chance: Chance) -> Masked:
        """Choose units, and put masks, random pieces, or what stood there, in their place."""
        units = self.units(text)
        units = units[self._choose(units, text, chance)]
        rows = ranges(units.starts, units.sizes)
        of_unit = np.repeat(np.arange(len(units)), units.sizes)
        drawn = rows if self.config.draw == "piece" else units.starts[of_unit]
        sequences, places = text.sequences[rows], text.positions[rows]
        share = chance.uniform(Stream.REPLACEMENT, sequences, text.positions[drawn])
        pieces = text.pieces.copy()
        is_mask = share < self.config.mask
        pieces[rows[is_mask]] = self.pieces.special.mask
        is_random = ~is_mask & (share < self.config.mask + self.config.random)
        bits = chance.bits(Stream.PIECE, sequences[is_random], places[is_random])
        pieces[rows[is_random]] = self.pieces.ordinary[as_below(bits, len(self.pieces.ordinary))]
        return Masked(pieces, rows, text.pieces[rows])

    def mask_entities(
        self, entities: Integers, sequences: Integers, chance: Chance
    ) -> NDArray[np.bool_]:
        """Choose mentions: max(1, round(share · n)) of n, none of none; all become [MASK]."""
        candidates = np.flatnonzero(entities > MASK)
        of = sequences[candidates]
        counters = _places(sequences)[candidates]
        units = Units(of, counters, np.ones_like(of), np.zeros(len(of), np.bool_))
        order = _visiting_order(units, chance.bits(Stream.ENTITY, of, counters))
        n = np.bincount(of, minlength=len(chance.keys))
        chosen = np.zeros(len(entities), np.bool_)
        chosen[candidates] = _within_count(units, order, _budgets(n, self.config.entity_share))
        return chosen

    def units(self, text: Text) -> Units:
        """What may be drawn: no unit has a special piece."""
        starts, are_first = text.word_starts, np.zeros(len(text.word_starts), np.bool_)
        if self.config.unit == "piece":
            starts = np.arange(len(text.pieces))
            are_first = np.zeros(len(starts), np.bool_)
        elif self.config.unit == "entity":
            starts, are_first = _mentions_as_words(text)
        sizes = np.diff(starts, append=len(text.pieces))
        units = Units(text.sequences[starts], starts, sizes, are_first)
        if not len(starts):
            return units
        specials = np.add.reduceat(self.pieces.is_special[text.pieces].astype(np.int64), starts)
        return units[specials == 0]

    def _choose(self, units: Units, text: Text, chance: Chance) -> NDArray[np.bool_]:
        """(U,) whether each is chosen."""
        counters = text.positions[units.starts]
        bits = chance.bits(Stream.UNIT, units.sequences, counters)
        if self.config.budget == "bernoulli":
            return (bits >> np.uint64(11)) * 2.0**-53 < self.config.share
        order = _visiting_order(units, bits)
        n_examples = len(chance.keys)
        if self.config.budget == "units":
            n = np.bincount(units.sequences, minlength=n_examples)
            return _within_count(units, order, _budgets(n, self.config.share))
        n = np.bincount(units.sequences, weights=units.sizes, minlength=n_examples)
        return _within_pieces(units, order, _budgets(n.astype(np.int64), self.config.share))


def ranges(starts: Integers, sizes: Integers) -> Integers:
    """Write out ranges one after the other: starts (2, 7), sizes (2, 3) are 2 3 7 8 9."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)


def _places(sequences: Integers) -> Integers:
    """The place of each in its group, from 0; groups stand together."""
    return np.arange(len(sequences)) - np.searchsorted(sequences, sequences)


def _budgets(n: Integers, share: float) -> Integers:
    """``max(1, round(share · n))`` of n, none of none, and none at all of no share."""
    if not share:
        return np.zeros_like(n)
    return np.where(n > 0, np.maximum(1, np.rint(share * n)), 0).astype(np.int64)


def _visiting_order(units: Units, bits: NDArray[np.uint64]) -> Integers:
    """The units by example, in random order in each, those that go first before the others."""
    groups = units.sequences.astype(np.uint64) * np.uint64(2) + ~units.are_first
    return np.argsort(
        (groups << _RANDOM_BITS) | (bits >> (np.uint64(64) - _RANDOM_BITS)), kind="stable"
    )


def _within_count(units: Units, order: Integers, budgets: Integers) -> NDArray[np.bool_]:
    """The first units of each example, as many as its budget says."""
    sequences = units.sequences[order]
    chosen = np.zeros(len(units), np.bool_)
    chosen[order[_places(sequences) < budgets[sequences]]] = True
    return chosen


def _within_pieces(units: Units, order: Integers, budgets: Integers) -> NDArray[np.bool_]:
    """Units as they come, one that is longer than what is left being skipped (LUKE).

    Where not one fits, the shortest is chosen. Each turn of the loop takes units up to the first
    that is too long, and leaves out all that are: no more turns than there are lengths.
    """
    chosen = np.zeros(len(units), np.bool_)
    left = budgets.copy()
    waiting = order[units.sizes[order] <= left[units.sequences[order]]]
    while len(waiting):
        sequences, sizes = units.sequences[waiting], units.sizes[waiting]
        before = np.cumsum(sizes) - sizes
        used = before - before[np.searchsorted(sequences, sequences)] + sizes
        fits = used <= left[sequences]
        chosen[waiting[fits]] = True
        taken = np.bincount(sequences[fits], weights=sizes[fits], minlength=len(left))
        left -= taken.astype(np.int64)
        waiting = waiting[~fits]
        waiting = waiting[units.sizes[waiting] <= left[units.sequences[waiting]]]
    is_without = budgets > 0
    is_without[units.sequences[chosen]] = False
    candidates = order[is_without[units.sequences[order]]]
    candidates = candidates[np.lexsort((units.sizes[candidates], units.sequences[candidates]))]
    chosen[candidates[_places(units.sequences[candidates]) == 0]] = True
    return chosen


def _mentions_as_words(text: Text) -> tuple[Integers, NDArray[np.bool_]]:
    """Rows at which a unit begins, a mention with its whole words being one, and which are such.

    Of nested mentions the outer one counts; two that share a word are one.
    """
    firsts = np.searchsorted(text.word_starts, text.mention_starts, side="right") - 1
    lasts = np.searchsorted(text.word_starts, text.mention_ends - 1, side="right") - 1
    is_inner = np.zeros(len(text.word_starts), np.bool_)
    is_inner[ranges(firsts + 1, lasts - firsts)] = True
    are_first = np.zeros(len(text.word_starts), np.bool_)
    are_first[firsts] = True
    return text.word_starts[~is_inner], are_first[~is_inner]
