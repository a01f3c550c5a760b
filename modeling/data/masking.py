"""Dynamic masking: the choice of the subwords and mentions to be predicted, and their replacement.

Works on all examples of a batch at once. A *unit* is masked as one: a subword, a word, or a mention
with its whole words. Special subwords are never chosen. [UNK] is one of them, because nothing can
be learned by predicting it. Mentions of [PAD] and [UNK] are not chosen either. A mask depends on
the masking settings, the seed, the epoch and the example alone: not on the batch, its order, or the
process.

Shapes: B examples, T rows of subwords, U units, E mentions, M targets.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corpora.entities.vocabulary import MASK
from modeling.config import ConfigError, MaskingConfig
from modeling.data.batch import ranges, starts_of
from modeling.data.rng import Integers, RandomUse, Rng, as_below, as_uniform
from modeling.data.texts import FlatViews, SubwordIds

EVALUATION: Final = MaskingConfig(
    unit="word", budget="subwords", ratio=0.15, mask=1.0, random=0.0, hide_entity_when_masked=True
)
"""The masking of validation examples, whatever the masking in training: 15 % of the subwords, as
whole words, all replaced by [MASK]; the entities of their mentions are hidden, so that no model can
copy. Scores of two models are comparable if both read the same examples, and as many subwords of
them."""
Flags = NDArray[np.bool_]
Reals = NDArray[np.float64]
_RANDOM_BITS: Final = np.uint64(43)


@dataclass(frozen=True, slots=True, eq=False)
class MaskingUnits:
    """The units of the examples, in the order of the text; a unit is chosen as one."""

    sequences: Integers
    """(U,) the index of the example of each."""
    starts: Integers
    """(U,) the first row of each."""
    sizes: Integers
    """(U,) the number of rows of each."""
    are_first: Flags
    """(U,) whether it is chosen before units of its example that are not ``are_first``."""

    def __getitem__(self, which: Flags | Integers) -> "MaskingUnits":
        return MaskingUnits(
            self.sequences[which], self.starts[which], self.sizes[which], self.are_first[which]
        )

    def __len__(self) -> int:
        return len(self.starts)

    def in_random_order(self, bits: NDArray[np.uint64]) -> Integers:
        """Return the indices of the units by example, at random within each.

        Units that are ``are_first`` come before the others of their example.
        """
        groups = self.sequences.astype(np.uint64) * np.uint64(2) + ~self.are_first
        keys = (groups << _RANDOM_BITS) | (bits >> (np.uint64(64) - _RANDOM_BITS))
        return np.argsort(keys, kind="stable")

    def within_count(self, order: Integers, limits: Integers) -> Flags:
        """Choose the first units of each example, as many as its budget says.

        ``order`` has the units by example; ``limits`` are the budgets (B,). Returns flags (U,).
        """
        sequences = self.sequences[order]
        chosen = np.zeros(len(self), np.bool_)
        chosen[order[_places_in_groups(sequences) < limits[sequences]]] = True
        return chosen

    def within_subwords(self, order: Integers, limits: Integers, *, used: Integers) -> Flags:
        """Choose units in order, and skip each that is longer than what is left (LUKE).

        Returns flags (U,). Where no unit fits, and nothing was ``used``, the shortest is chosen.
        Each turn of the loop chooses the units before the first that is too long, and drops all
        that are too long then: there are no more turns than different lengths of units.

        Args:
            order: in which the units are visited; one that is not in it is never chosen.
            limits: (B,) budgets in subwords.
            used: (B,) subwords of the budgets that were used before.
        """
        chosen = np.zeros(len(self), np.bool_)
        left = np.maximum(limits - used, 0)
        waiting = order[self.sizes[order] <= left[self.sequences[order]]]
        while len(waiting):
            sequences, sizes = self.sequences[waiting], self.sizes[waiting]
            before = starts_of(sizes)
            reached = before - before[np.searchsorted(sequences, sequences)] + sizes
            fits = reached <= left[sequences]
            chosen[waiting[fits]] = True
            taken = np.bincount(sequences[fits], weights=sizes[fits], minlength=len(left))
            left -= taken.astype(np.int64)
            waiting = waiting[~fits]
            waiting = waiting[self.sizes[waiting] <= left[self.sequences[waiting]]]
        is_without = (limits > 0) & (used == 0)
        is_without[self.sequences[chosen]] = False
        candidates = order[is_without[self.sequences[order]]]
        candidates = candidates[np.lexsort((self.sizes[candidates], self.sequences[candidates]))]
        chosen[candidates[_places_in_groups(self.sequences[candidates]) == 0]] = True
        return chosen


def _places_in_groups(sequences: Integers) -> Integers:
    """Compute the index of each element in its group; ``sequences``, the groups, are ascending."""
    return np.arange(len(sequences)) - np.searchsorted(sequences, sequences)


def _budgets(n: Integers, ratio: float) -> Integers:
    """Compute ``max(1, round(ratio · n))`` for each n; 0 where n or the ratio is 0."""
    if not ratio:
        return np.zeros_like(n)
    return np.where(n > 0, np.maximum(1, np.rint(ratio * n)), 0).astype(np.int64)


class Masker:
    """A masker by the rules of a ``MaskingConfig``."""

    def __init__(self, config: MaskingConfig, subwords: SubwordIds) -> None:
        self.config, self.subwords = config, subwords

    def mask_text(
        self, text: FlatViews, rng: Rng, mentions: Integers | None = None
    ) -> tuple[Integers, Integers]:
        """Choose units, and replace their subwords by [MASK], by random ones, or by themselves.

        Returns the rows to be predicted, ascending, and the subwords of all rows after the
        replacement.

        Args:
            text: of a batch.
            rng: of its examples.
            mentions: indices of the chosen mentions, whose words are masked, too, with
                ``mention_words``.
        """
        masked, firsts = self._mention_rows(text, mentions)
        units = self.units(text)
        units = units[self._choose(units, text, rng, masked=masked)]
        rows = np.concatenate((masked, ranges(units.starts, units.sizes)))
        firsts = np.concatenate((firsts, np.repeat(units.starts, units.sizes)))
        if len(masked):
            order = np.argsort(rows)
            rows, firsts = rows[order], firsts[order]
        drawn = rows if self.config.draw == "subword" else firsts
        sequences, places = text.sequences[rows], text.positions[rows]
        draws = rng.uniform(RandomUse.REPLACEMENT, sequences, text.positions[drawn])
        replaced = text.subwords.copy()
        is_mask, is_random = _deal(draws, self.config.mask, self.config.random)
        replaced[rows[is_mask]] = self.subwords.special.mask
        bits = rng.bits(RandomUse.SUBWORD, sequences[is_random], places[is_random])
        replaced[rows[is_random]] = self.subwords.ordinary[
            as_below(bits, len(self.subwords.ordinary))
        ]
        return rows, replaced

    def _mention_rows(
        self, text: FlatViews, mentions: Integers | None
    ) -> tuple[Integers, Integers]:
        """Find the rows of chosen mentions, and for each the first row of its mention.

        Special subwords are left out. Both arrays are empty if the words of mentions are not
        masked.
        """
        if mentions is None or not self.config.mention_words or not self.config.ratio:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        units = _together(text, mentions)
        rows, firsts = ranges(units.starts, units.sizes), np.repeat(units.starts, units.sizes)
        is_ordinary = ~self.subwords.is_special[text.subwords[rows]]
        return rows[is_ordinary], firsts[is_ordinary]

    def mask_entities(self, entities: Integers, sequences: Integers, rng: Rng) -> Flags:
        """Choose ``max(1, round(ratio · n))`` of the n mentions of each example; 0 of 0.

        Returns flags (E,). Mentions of special entities are never chosen, and do not count in n.
        """
        candidates = np.flatnonzero(entities > MASK)
        of = sequences[candidates]
        counters = _places_in_groups(sequences)[candidates]
        units = MaskingUnits(of, counters, np.ones_like(of), np.zeros(len(of), np.bool_))
        order = units.in_random_order(rng.bits(RandomUse.ENTITY, of, counters))
        n = np.bincount(of, minlength=len(rng.keys))
        chosen = np.zeros(len(entities), np.bool_)
        chosen[candidates] = units.within_count(order, _budgets(n, self.config.entity_ratio))
        return chosen

    def replace_entities(
        self, entities: Integers, sequences: Integers, rng: Rng, *, n_entities: int
    ) -> tuple[Integers, Integers]:
        """Choose mentions, and replace their entities by [MASK], random ones, or themselves.

        Returns the indices of the chosen mentions, ascending, and the entities of all mentions
        after the replacement.
        """
        chosen = np.flatnonzero(self.mask_entities(entities, sequences, rng))
        of, counters = sequences[chosen], _places_in_groups(sequences)[chosen]
        draws = rng.uniform(RandomUse.ENTITY_REPLACEMENT, of, counters)
        is_mask, is_random = _deal(draws, self.config.entity_mask, self.config.entity_random)
        bits = rng.bits(RandomUse.RANDOM_ENTITY, of[is_random], counters[is_random])
        replaced = entities.copy()
        replaced[chosen[is_mask]] = MASK
        replaced[chosen[is_random]] = MASK + 1 + as_below(bits, max(n_entities - MASK - 1, 0))
        return chosen, replaced

    def units(self, text: FlatViews) -> MaskingUnits:
        """Find the units that may be drawn: those without a special subword."""
        starts = text.word_starts
        if self.config.unit == "subword":
            starts = np.arange(len(text.subwords))
        are_first = np.zeros(len(starts), np.bool_)
        if self.config.unit == "entity":
            starts, are_first = _mentions_as_words(text)
        sizes = np.diff(starts, append=len(text.subwords))
        units = MaskingUnits(text.sequences[starts], starts, sizes, are_first)
        if not len(starts):
            return units
        specials = np.add.reduceat(self.subwords.is_special[text.subwords].astype(np.int64), starts)
        return units[specials == 0]

    def _choose(self, units: MaskingUnits, text: FlatViews, rng: Rng, *, masked: Integers) -> Flags:
        """Choose units by the budget of the settings; return flags (U,).

        In a budget of subwords, rows that are ``masked`` already count, and units that have one of
        them are not chosen.
        """
        counters = text.positions[units.starts]
        bits = rng.bits(RandomUse.UNIT, units.sequences, counters)
        if self.config.budget == "bernoulli":
            return as_uniform(bits) < self.config.ratio
        order = units.in_random_order(bits)
        n_examples = len(rng.keys)
        if self.config.budget == "units":
            n = np.bincount(units.sequences, minlength=n_examples)
            return units.within_count(order, _budgets(n, self.config.ratio))
        n = np.bincount(units.sequences, weights=units.sizes, minlength=n_examples)
        used = np.bincount(text.sequences[masked], minlength=n_examples)
        if len(masked):
            order = order[~_overlap(units, masked, n_rows=len(text.subwords))[order]]
        limits = _budgets(n.astype(np.int64), self.config.ratio)
        return units.within_subwords(order, limits, used=used)


def _deal(draws: Reals, mask: float, random: float) -> tuple[Flags, Flags]:
    """Tell which draws become a mask, and which become something random."""
    is_mask = draws < mask
    return is_mask, ~is_mask & (draws < mask + random)


def check_masking(config: MaskingConfig) -> None:
    """Raise ``ConfigError`` for ratios that cannot be, or rules that do not go together."""
    for mask, random in (("mask", "random"), ("entity_mask", "entity_random")):
        ratios = getattr(config, mask), getattr(config, random)
        if sum(ratios) > 1 + 1e-9:
            raise ConfigError(
                f"masking.{mask} {ratios[0]} and masking.{random} {ratios[1]}: are ratios of the "
                "chosen, together at most 1."
            )
    if config.mention_words and config.budget != "subwords":
        raise ConfigError(
            f"masking.mention_words counts in a budget of subwords, and masking.budget is "
            f"{config.budget}: set masking.budget=subwords, or masking.mention_words=false."
        )


def _mentions_as_words(text: FlatViews) -> tuple[Integers, Flags]:
    """Find the rows at which units begin, a mention with its whole words being one unit.

    Also returns which units are mentions. Of nested mentions the outer one counts; two mentions
    that share a word are one unit.
    """
    firsts = np.searchsorted(text.word_starts, text.mention_starts, side="right") - 1
    lasts = np.searchsorted(text.word_starts, text.mention_ends - 1, side="right") - 1
    is_inner = np.zeros(len(text.word_starts), np.bool_)
    is_inner[ranges(firsts + 1, lasts - firsts)] = True
    are_first = np.zeros(len(text.word_starts), np.bool_)
    are_first[firsts] = True
    return text.word_starts[~is_inner], are_first[~is_inner]


def _together(text: FlatViews, mentions: Integers) -> MaskingUnits:
    """Make units of these mentions; mentions that share a subword are one unit."""
    mentions = mentions[np.argsort(text.mention_starts[mentions], kind="stable")]
    starts, ends = text.mention_starts[mentions], text.mention_ends[mentions]
    furthest = np.maximum.accumulate(ends)
    is_apart = np.ones(len(starts), np.bool_)
    is_apart[1:] = starts[1:] >= furthest[:-1]
    starts = starts[is_apart]
    sizes = furthest[np.append(is_apart[1:], True)] - starts if len(starts) else starts
    return MaskingUnits(text.sequences[starts], starts, sizes, np.ones(len(starts), np.bool_))


def _overlap(units: MaskingUnits, rows: Integers, *, n_rows: int) -> Flags:
    """Tell whether each unit has one of these rows, shape (U,)."""
    is_one = np.zeros(n_rows + 1, np.int64)
    is_one[rows + 1] = 1
    before = np.cumsum(is_one)
    overlaps: Flags = before[units.starts] < before[units.starts + units.sizes]
    return overlaps
