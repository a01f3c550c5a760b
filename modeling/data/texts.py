"""Texts of examples as a model sees them (the whole text, a window, or a pair), and flat arrays.

An example that is too long is shown as a random window of whole words. For next sentence and
sentence order prediction an example becomes two adjacent sentences, which
grow while both fit: a coin decides each time whether the sentence before the first or the one after
the second is added. The papers take the texts from a whole article; here they stay inside
packed examples. The budget counts each side once. In *sentence order prediction* the two texts are
swapped half of the time, and divided so that the lengths tell little of it. In *next sentence
prediction* the second text is from another document half of the time; the two are not swapped,
unless ``data.swap_pairs`` is set.

Inside packed examples, the lengths of the papers would give the label away: a text that follows
ends where its example is full, and a text from another example does not. So next sentence
prediction treats both examples alike. One number of subwords is drawn for both; each example is
divided where the number of subwords that remain is nearest to it; and of either remainder no more
is shown than the other has, in whole words. The two candidates for the second text then have the
same length, except for a part of a word, and end in the same way.

``Batch.counts`` counts what is cut, left out or shown otherwise, by name:

- ``examples.cut``: examples longer than the model reads, so that a window was drawn;
- ``words.cut``: words longer than the model reads, so that only a part is shown;
- ``pairs.single_sentence``: examples shown as one text, because one sentence makes no pair;
- ``pairs.no_partner``: examples shown as one text, because no other document was found;
- ``subwords.left_out``, ``mentions.left_out``: those of the example that are not shown whole.

Shapes: B examples, P parts (one or two for each), T rows of subwords, W words, E mentions.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Special, Tokenizer
from modeling.data.batch import ranges, starts_of
from modeling.data.examples import ADVICE, Example, ExampleSet, Int32s
from modeling.data.rng import Integers, RandomUse, Rng, as_below

EXAMPLES_CUT: Final = "examples.cut"
WORDS_CUT: Final = "words.cut"
SINGLE: Final = "pairs.single_sentence"
ALONE: Final = "pairs.no_partner"
_TRIES: Final = 64
_DRAWN: Final = 3
"""Random numbers of a pair before its coins."""
_UNUSED: Final = re.compile(r"[\[<]unused_?\d+[\]>]")


class ExamplePart(NamedTuple):
    """A part of an example: its subwords from ``start`` to ``end``, half-open."""

    example: Example
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of subwords."""
        return self.end - self.start

    @property
    def word_starts(self) -> Int32s:
        """The subwords at which words begin, counted from the part's first subword."""
        starts = self.example.word_starts
        if self.size < len(self.example.subwords):
            first, last = starts.searchsorted((self.start, self.end))
            starts = starts[first:last] - np.int32(self.start)
        return starts

    @property
    def mentions(self) -> tuple[Int32s, Int32s, Int32s]:
        """Entities, starts and ends of mentions wholly inside, counted from the part's start."""
        example, start, end = self
        mentions = example.entities, example.entity_starts, example.entity_ends
        if self.size == len(example.subwords):
            return mentions
        inside = (mentions[1] >= start) & (mentions[2] <= end)
        entities, starts, ends = (column[inside] for column in mentions)
        return entities, starts - np.int32(start), ends - np.int32(start)


@dataclass(frozen=True, slots=True)
class ExampleView:
    """An example as a model sees it: [CLS] part [SEP], or [CLS] part [SEP] part [SEP]."""

    example: Example
    """The example that was asked for, whose id names the view; a pair may also show another one."""
    parts: tuple[ExamplePart, ...]
    label: int | None = None
    """1 if the second part follows the first, else 0; None for a single text."""
    notes: tuple[str, ...] = ()
    """The names whose counts in ``Batch.counts`` grow by 1."""

    def count(self) -> Counter[str]:
        """Count the notes, and the subwords and mentions of the example that are left out."""
        own = [part for part in self.parts if part.example is self.example]
        n_subwords = len(self.example.subwords) - sum(part.size for part in own)
        counts = Counter(self.notes)
        if n_subwords > 0:
            shown = sum(len(part.mentions[0]) for part in own)
            counts["subwords.left_out"] = n_subwords
            counts["mentions.left_out"] = len(self.example.entities) - shown
        return counts


def whole(example: Example, room: int, rng: Rng) -> ExampleView:
    """Show an example, or a window of it with whole words where it has more than ``room`` subwords.

    The window begins at a word, each with the same chance, but no later than the first word
    from which all the rest fits, and ends with the last word that fits. ``rng`` is the example's
    own.
    """
    n = len(example.subwords)
    if n <= room:
        return ExampleView(example, (ExamplePart(example, 0, n),))
    borders = _word_borders(example)
    n_starts = int(np.searchsorted(borders[:-1], n - room, side="left")) + 1
    number = as_below(rng.table(RandomUse.WINDOW, 1)[0], min(n_starts, len(borders) - 1))[0]
    part, notes = _fitting(ExamplePart(example, int(borders[number]), n), room)
    return ExampleView(example, (part,), notes=(EXAMPLES_CUT, *notes))


def _word_borders(example: Example) -> Integers:
    """Find where words begin, 0 always among them, and where the last one ends."""
    borders = np.append(example.word_starts, len(example.subwords)).astype(np.int64)
    return borders if borders[0] == 0 else np.insert(borders, 0, 0)


def _fitting(
    part: ExamplePart, room: int, *, at_end: bool = False
) -> tuple[ExamplePart, tuple[str, ...]]:
    """Take the first, or last, whole words that fit; of a word that is longer, its subwords.

    Also returns the notes.
    """
    if part.size <= room:
        return part, ()
    borders, edge = _word_borders(part.example), part.end - room if at_end else part.start + room
    after = np.searchsorted(borders, edge, side="left" if at_end else "right")
    border = int(borders[after if at_end else after - 1])
    is_inside = part.start < border < part.end
    cut = border if is_inside else edge
    left = part._replace(start=cut) if at_end else part._replace(end=cut)
    return left, () if is_inside else (WORDS_CUT,)


class AdjacentSentences(NamedTuple):
    """Adjacent sentences of an example; ``borders``: where each begins, and the last one ends."""

    example: Example
    borders: list[int]

    @classmethod
    def of(cls, example: Example) -> Self:
        """Take all sentences of an example.

        Raises ``CorpusError`` where a sentence is outside the example's subwords.
        """
        n, starts = len(example.subwords), example.sentence_starts.tolist()
        if starts and (min(starts) < 0 or max(starts) >= n):
            raise CorpusError(
                f"example {example.id}: has a sentence outside its subwords. {ADVICE}"
            )
        return cls(example, sorted({0, n, *starts}))

    @property
    def n(self) -> int:
        """The number of sentences."""
        return len(self.borders) - 1

    @property
    def size(self) -> int:
        """The number of subwords of all sentences."""
        return self.borders[-1] - self.borders[0]

    def split(self, number: int) -> tuple["AdjacentSentences", "AdjacentSentences"]:
        """Split before the sentence with this index into the sentences before, and the rest."""
        before, after = self.borders[: number + 1], self.borders[number:]
        return AdjacentSentences(self.example, before), AdjacentSentences(self.example, after)

    def split_near(self, rest: int) -> tuple["AdjacentSentences", "AdjacentSentences"]:
        """Split where the number of subwords after is nearest to ``rest``.

        Both parts have a sentence, so there must be two.
        """
        distances = [abs(self.borders[-1] - border - rest) for border in self.borders[1:-1]]
        return self.split(1 + distances.index(min(distances)))

    def limited(self, room: int) -> tuple["AdjacentSentences", tuple[str, ...]]:
        """Take the first whole words that fit; also return the notes."""
        if self.size <= room:
            return self, ()
        part, notes = _fitting(ExamplePart(self.example, self.borders[0], self.borders[-1]), room)
        inner = [border for border in self.borders if border < part.end]
        return AdjacentSentences(self.example, [*inner, part.end]), notes


class Draws(NamedTuple):
    """The random numbers of a pair: two of 64 bits, and coins, each 0 or 1."""

    label: int
    first: int
    coins: bytes


@dataclass(frozen=True, slots=True)
class Viewer:
    """The function that shows examples."""

    pairs: Literal["none", "nsp", "sop"]
    """Which texts are shown together."""
    max_length: int
    """Subwords with [CLS] and [SEP]; at least 5."""
    swap_pairs: bool = False
    """Of ``nsp``, whether a coin swaps the two texts, whatever the label."""

    def __call__(
        self, examples: Sequence[Example], sets: Sequence[ExampleSet], rng: Rng
    ) -> list[ExampleView]:
        """Show each example as two texts, or as one where no pair is asked for or possible.

        An example for which no partner is found is shown alone, whatever its label would be:
        otherwise all such pairs would have label 1. ``sets`` has the set of each example.
        """
        room = self.max_length - 3
        if self.pairs == "none":
            return [whole(e, room + 1, rng.one(n)) for n, e in enumerate(examples)]
        numbers = rng.table(RandomUse.PAIR, _DRAWN + 1 + self.max_length // 64)
        coins = np.unpackbits(numbers[:, _DRAWN:].view(np.uint8), axis=1)
        tries = rng.table(RandomUse.PARTNER, _TRIES if self.pairs == "nsp" else 0)
        views = []
        for place, (example, of) in enumerate(zip(examples, sets, strict=True)):
            label, first, swap = numbers[place, :_DRAWN].tolist()
            draws = Draws(label, first, coins[place].tobytes())
            sentences = AdjacentSentences.of(example)
            if sentences.n > 1 and self.pairs == "sop":
                view = _sentence_order(sentences, draws, room=room)
            elif sentences.n > 1 and (partner := _find_partner(of, example, tries[place].tolist())):
                view = next_sentence(sentences, partner, draws, room=room)
                if self.swap_pairs and _below(swap, 2):
                    view = replace(view, parts=view.parts[::-1])
            else:
                view = whole(example, room + 1, rng.one(place))
                view = replace(view, notes=(*view.notes, ALONE if sentences.n > 1 else SINGLE))
            views.append(view)
        return views


def _find_partner(
    examples: ExampleSet, example: Example, numbers: Iterable[int]
) -> AdjacentSentences | None:
    """Find an example of another document, with two sentences or more; None after all tries."""
    for number in numbers:
        found = _below(number, len(examples))
        if examples.document_id(found) != example.document_id:
            partner = AdjacentSentences.of(examples[found])
            if partner.n > 1:
                return partner
    return None


def _below(number: int, n: int) -> int:
    """Map 64 bits to 0 … n - 1, as ``rng.as_below`` does."""
    return (number >> 32) * n >> 32


def _sentence_order(sentences: AdjacentSentences, draws: Draws, *, room: int) -> ExampleView:
    """Show two texts that follow each other, swapped or not; label 0 if swapped, else 1.

    The text that is shown first gets a length from the middle half, whatever the label: it would
    tell the label if the first text of an example were always divided alike, because the sentences
    at the ends of examples differ in length.
    """
    size, label = sentences.size, _below(draws.label, 2)
    shown_first = size // 4 + _below(draws.first, size // 2)
    before, after = sentences.split_near(size - shown_first if label else shown_first)
    parts, notes = _grown(before, after, draws.coins, room=room)
    return ExampleView(sentences.example, parts if label else parts[::-1], label=label, notes=notes)


def next_sentence(
    sentences: AdjacentSentences, partner: AdjacentSentences, draws: Draws, *, room: int
) -> ExampleView:
    """Show a text and the one that follows it, label 1; or one of the partner, label 0.

    Args:
        sentences: of the first text; two or more.
        partner: of another document, two sentences or more.
        draws: random numbers.
        room: subwords of both texts, without special ones.
    """
    rest = _below(draws.first, min(sentences.size, partner.size))
    before, following = sentences.split_near(rest)
    _, other = partner.split_near(rest)
    label = _below(draws.label, 2)
    after, notes = (following if label else other).limited(min(following.size, other.size))
    parts, cut = _grown(before, after, draws.coins, room=room)
    return ExampleView(sentences.example, parts, label=label, notes=notes + cut)


def _grown(
    before: AdjacentSentences, after: AdjacentSentences, coins: Sequence[int], *, room: int
) -> tuple[tuple[ExamplePart, ExamplePart], tuple[str, ...]]:
    """Grow one text from the last sentence of ``before``, one from the first of ``after``.

    They grow away from each other. If these two sentences are already too long together, each is
    cut to at most ``room // 2`` subwords, those nearest to the other. Also returns the notes.
    """
    a, b = (
        ExamplePart(before.example, *before.borders[-2:]),
        ExamplePart(after.example, *after.borders[:2]),
    )
    if a.size + b.size > room:
        (a, cut_a), (b, cut_b) = _fitting(a, room // 2, at_end=True), _fitting(b, room // 2)
        return (a, b), cut_a + cut_b
    sizes = [[end - start for start, end in pairwise(of.borders)] for of in (before, after)]
    left = room - a.size - b.size
    n_before, n_after = grow(sizes[0][-2::-1], sizes[1][1:], room=left, coins=coins)
    start, end = before.borders[before.n - 1 - n_before], after.borders[1 + n_after]
    return (a._replace(start=start), b._replace(end=end)), ()


def grow(
    before: Sequence[int], after: Sequence[int], *, room: int, coins: Sequence[int]
) -> tuple[int, int]:
    """Count the sentences to take on each side, given their sizes from the nearest on.

    While both sides are open, a coin decides which grows: 0 before, 1 after; ``room`` + 2 coins are
    enough. A side is closed by a sentence that does not fit, or when it has no more.
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


@dataclass(frozen=True, slots=True, eq=False)
class SubwordIds:
    """The kinds of the subwords of a tokenizer: special, ordinary, or neither (unused)."""

    special: Special
    is_special: NDArray[np.bool_]
    """(V,) whether each id is that of a special subword."""
    ordinary: Integers
    """The ids that a random replacement may have: neither special nor unused."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Sort the vocabulary of a tokenizer into kinds."""
        is_special, is_ordinary = np.zeros((2, tokenizer.size), np.bool_)
        is_special[list(tokenizer.specials)] = True
        vocab = tokenizer.backend.get_vocab(with_added_tokens=True)
        is_ordinary[[id for subword, id in vocab.items() if not _UNUSED.fullmatch(subword)]] = True
        return cls(tokenizer.special, is_special, np.flatnonzero(is_ordinary & ~is_special))

    def __len__(self) -> int:
        """Return the number of ids: the largest, plus one."""
        return len(self.is_special)


@dataclass(frozen=True, slots=True, eq=False)
class FlatViews:
    """The views of a batch, one after the other in flat arrays, framed by [CLS] and [SEP]."""

    subwords: Integers
    """(T,) ids."""
    sequences: Integers
    """(T,) the index of the view of each row."""
    positions: Integers
    """(T,) the place of each row in its sequence, from 0."""
    lengths: Integers
    """(B,) the number of rows of each sequence."""
    segments: Integers
    """(T,) 1 for the second part of a pair and its [SEP], else 0."""
    word_starts: Integers
    """(W,) the first row of each word, ascending; each special subword is a word."""
    entities: Integers
    """(E,) ids."""
    mention_starts: Integers
    """(E,) the first row of each mention."""
    mention_ends: Integers
    """(E,) the last row of each mention, plus one."""
    mention_parts: Integers
    """(E,) the index of the part of each mention, counted over all views."""

    @property
    def mention_sequences(self) -> Integers:
        """(E,) the index of the sequence of each mention."""
        return self.sequences[self.mention_starts]

    @classmethod
    def of(
        cls, views: Sequence[ExampleView], subwords: SubwordIds, *, n_entities: int | None = None
    ) -> Self:
        """Lay out one view or more.

        Args:
            views: what is shown.
            subwords: of the tokenizer.
            n_entities: of the vocabulary; 0: read mentions, but do not check their entities; None:
                leave the mentions out.

        Raises ``CorpusError`` that names the example where a row is not valid.
        """
        parts = [part for view in views for part in view.parts]
        of_parts = np.repeat(np.arange(len(views)), [len(view.parts) for view in views])
        sizes = np.array([part.size for part in parts], np.int64)
        # Before a part are all earlier parts, a [SEP] for each, and a [CLS] for each view so far.
        starts = starts_of(sizes) + np.arange(len(sizes)) + of_parts + 1
        lengths = np.bincount(of_parts, weights=sizes + 1).astype(np.int64) + 1
        firsts = starts_of(lengths)
        sequences = np.repeat(np.arange(len(views)), lengths)
        ids = np.empty(len(sequences), np.int64)
        ids[firsts] = subwords.special.cls
        ids[starts + sizes] = subwords.special.sep
        ids[ranges(starts, sizes)] = _ids_of(parts, sizes, len(subwords))
        is_start, segments = np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.int64)
        for rows in (firsts, starts, starts + sizes, _words_of(parts, starts, sizes)):
            is_start[rows] = True
        second = np.flatnonzero(np.diff(of_parts, prepend=-1) == 0)
        segments[ranges(starts[second], sizes[second] + 1)] = 1
        nothing = np.zeros(0, np.int64)
        return cls(
            ids,
            sequences,
            np.arange(len(ids)) - firsts[sequences],
            lengths,
            segments,
            np.flatnonzero(is_start),
            *(4 * [nothing] if n_entities is None else _mentions_of(parts, starts, n_entities)),
        )


def _ids_of(parts: Sequence[ExamplePart], sizes: Integers, n_subwords: int) -> Integers:
    """Join the subwords of all parts, and check that the vocabulary has them."""
    ids = np.concatenate([part.example.subwords[part.start : part.end] for part in parts])
    if len(ids) and not (ids.min() >= 0 and ids.max() < n_subwords):
        is_wrong, of = (ids < 0) | (ids >= n_subwords), np.repeat(np.arange(len(parts)), sizes)
        _check(parts, is_wrong, of, what=f"a subword beyond the {n_subwords}")
    return ids.astype(np.int64)


def _words_of(parts: Sequence[ExamplePart], rows: Integers, sizes: Integers) -> Integers:
    """Find the rows at which words begin, checked; ``rows`` are those at which parts begin."""
    columns = [part.word_starts for part in parts]
    of = np.repeat(np.arange(len(columns)), [len(column) for column in columns])
    starts = np.concatenate(columns).astype(np.int64)
    _check(parts, (starts < 0) | (starts >= sizes[of]), of, what="a word outside its subwords")
    return rows[of] + starts


def _mentions_of(
    parts: Sequence[ExamplePart], rows: Integers, n_entities: int
) -> tuple[Integers, ...]:
    """Return entity, first row, end and part of all mentions, each (E,), checked."""
    triples = [part.mentions for part in parts]
    of = np.repeat(np.arange(len(triples)), [len(triple[0]) for triple in triples])
    sizes = np.array([part.size for part in parts], np.int64)[of]
    entities, starts, ends = (
        np.concatenate(column).astype(np.int64) for column in zip(*triples, strict=True)
    )
    is_wrong = (starts < 0) | (starts >= ends) | (ends > sizes)
    _check(parts, is_wrong, of, what="a mention outside its subwords")
    if n_entities:
        is_wrong = (entities < 0) | (entities >= n_entities)
        _check(parts, is_wrong, of, what=f"an entity beyond the {n_entities} of the model")
    return entities, rows[of] + starts, rows[of] + ends, of


def _check(
    parts: Sequence[ExamplePart], is_wrong: NDArray[np.bool_], of: Integers, *, what: str
) -> None:
    """Raise ``CorpusError`` that names the first example with something wrong.

    ``of`` has the index of the part to which each item belongs.
    """
    if is_wrong.any():
        example = parts[int(of[is_wrong.argmax()])].example
        raise CorpusError(f"example {example.id}: has {what}. {ADVICE}")
