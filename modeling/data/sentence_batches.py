"""Batches of sentences, shuffled for training or sorted by length for tagging; candidate spans.

A batch has windows of subwords, each with [CLS] and [SEP], and the features and tags of words.
*Candidates* for a span head (LUKE) are all runs of words of a sentence that
have at most a given number of subwords, and every single word, whatever its length. A span is read
in the window of its first word, or, if that does not hold the whole span, in a later window that
does. If windows overlap by fewer subwords than a span may have, no window may hold the span; such a
run of words is no candidate. ``too_long`` finds the gold spans that are no candidates.

Shapes: of a set, N sentences and W words; of a batch, S sentences, W words, B windows, T rows of
subwords ([CLS] and [SEP] included), P spans, sentence by sentence.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.document import Document, Sentence, Span, TokenSpan
from corpora.errors import CorpusError
from corpora.segmentation.sentences import segmenter
from modeling.config import ConfigError
from modeling.data.batch import (
    Batch,
    BatchMentions,
    BatchWords,
    ExpectedTags,
    LayerRows,
    Layout,
    SentenceBatch,
    SpanBatch,
    borders_of,
    ranges,
    starts_of,
)
from modeling.data.entities import subword_entities
from modeling.data.entity_forms import EntityForms
from modeling.data.gazetteer import LookedUp
from modeling.data.rng import Integers, RandomUse, hash64, key_of, permuted
from modeling.data.sentences import EncodedSentences, small, wide
from modeling.data.tagset import TagSet, gold_spans

WordSpan = tuple[int, int]
"""Indices of the first word of a span in its sentence, and of its last word plus one."""


@dataclass(frozen=True, slots=True, eq=False)
class ChosenSentences:
    """The sentences of a batch, their words and windows, and the rows of these in the batch."""

    encoded: EncodedSentences
    numbers: Integers
    """(S,) the index of each sentence in the set."""
    n_words: Integers
    """(S,) the number of words of each sentence."""
    words: Integers
    """(W,) the index of each word in the set."""
    sentences: Integers
    """(B,) the index in the batch of each window's sentence."""
    starts: Integers
    """(B,) the index in the set of each window's first subword."""
    ends: Integers
    """(B,) the index in the set of each window's last subword, plus one."""
    firsts: Integers
    """(B,) the row of each window's [CLS]."""
    word_windows: Integers
    """(W,) the index in the batch of the window in which each word is read."""

    @classmethod
    def of(cls, encoded: EncodedSentences, numbers: Integers) -> "ChosenSentences":
        """Look up the words and windows of sentences, given by index."""
        n_words, n_windows = encoded.n_words[numbers], encoded.n_windows[numbers]
        words = ranges(encoded.word_begins[numbers], n_words)
        begins = encoded.windows.begins[numbers]
        windows = ranges(begins, n_windows)
        shifts = starts_of(n_windows) - begins
        starts, ends = encoded.windows.starts[windows], encoded.windows.ends[windows]
        lengths = ends - starts + 2
        return cls(
            encoded=encoded,
            numbers=numbers,
            n_words=n_words,
            words=words,
            sentences=np.repeat(np.arange(len(numbers)), n_windows),
            starts=starts,
            ends=ends,
            firsts=starts_of(lengths),
            word_windows=wide(encoded.word_windows[words]) + np.repeat(shifts, n_words),
        )

    @property
    def lengths(self) -> Integers:
        """(B,) the number of rows of each window, [CLS] and [SEP] included."""
        return self.ends - self.starts + 2

    def rows(self, subwords: Integers, windows: Integers) -> Integers:
        """Map subwords of the set, each in a window of the batch, to rows of the batch."""
        return self.firsts[windows] + 1 + subwords - self.starts[windows]

    def locate(self, firsts: Integers, lasts: Integers) -> tuple[Integers, Integers, Integers]:
        """Find start, end and window of spans, given by their first and last words.

        Starts and ends are subwords of the set, half-open. The window is that of the first word, or
        if that does not hold the span, a later one. Windows of a sentence are ordered by their
        starts and ends, so the next ones are tried as long as they begin no later than the span.
        Where no window holds a span, its end is beyond that of the window returned; but a span of
        one word is cut to what the window holds.
        """
        starts = wide(self.encoded.word_starts[self.words[firsts]])
        ends = wide(self.encoded.word_ends[self.words[lasts]])
        windows = self.word_windows[firsts]
        outside = np.flatnonzero(ends > self.ends[windows])
        while len(outside):
            nexts = np.minimum(windows[outside] + 1, len(self.starts) - 1)
            is_other = self.sentences[nexts] == self.sentences[windows[outside]]
            may_hold = (
                is_other & (nexts > windows[outside]) & (self.starts[nexts] <= starts[outside])
            )
            outside = outside[may_hold]
            windows[outside] = nexts[may_hold]
            outside = outside[ends[outside] > self.ends[windows[outside]]]
        ends = np.where(firsts == lasts, np.minimum(ends, self.ends[windows]), ends)
        return starts, ends, windows

    def span_batch(
        self, spans: tuple[Integers, ...], *, sentences: Integers, labels: Integers | None = None
    ) -> SpanBatch:
        """Make a batch of spans.

        ``spans`` are the first and last words, indices in the batch, and what ``locate`` returns
        for them.
        """
        firsts, lasts, starts, ends, windows = spans
        before = starts_of(self.n_words)[sentences]
        columns = (
            *(sentences, firsts - before, lasts - before + 1, windows),
            *(self.rows(starts, windows), self.rows(ends - 1, windows)),
            *(() if labels is None else (labels,)),
        )
        return SpanBatch(*(torch.from_numpy(column) for column in columns))


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedSet:
    """The tag probabilities of another tagger (the teacher) for the words of a set."""

    words: NDArray[np.float16]
    """(W, C) the probability of each of C tags for each word."""
    pairs: NDArray[np.float32]
    """(N, C, C) how often the second tag is expected to follow the first in each sentence."""

    def take(self, words: Integers, sentences: Integers) -> ExpectedTags:
        """Select the probabilities for the words and sentences of a batch."""
        of_words = torch.from_numpy(self.words[words].astype(np.float32))
        of_words /= of_words.sum(1, keepdim=True)  # in half precision, they do not add up to 1
        return ExpectedTags(of_words, torch.from_numpy(self.pairs[sentences]))


class SentenceCollator:
    """The function that makes batches of sentences, given by index.

    Args:
        encoded: the sentences.
        tagset: the tags of the tagger; None: batches have no gold tags.
        features: the names that a gazetteer found; None: there is no gazetteer.
        with_words: whether batches have the words of the encoder's pre-tokenizer.
        max_span_subwords: the longest candidate for a span head; 0: batches have no candidates.
        entities: the entities that subwords know; None: subwords know none.
        expected: the tag probabilities of another tagger, to learn from instead of gold tags; None:
            learn from gold tags.
    """

    def __init__(
        self,
        encoded: EncodedSentences,
        *,
        tagset: TagSet | None = None,
        features: LookedUp | None = None,
        with_words: bool = False,
        max_span_subwords: int = 0,
        entities: EntityForms | None = None,
        expected: ExpectedSet | None = None,
    ) -> None:
        self.expected = expected
        self.encoded, self.tagset, self.features = encoded, tagset, features
        self.with_words, self.max_span_subwords = with_words, max_span_subwords
        self._tags = None if tagset is None else small(tagset.encode_all(encoded.sentences))
        self._inner = None
        if tagset is not None and any(one.inner_tags for one in encoded.sentences):
            inner = (tagset.encode(one.inner_tags or one.tags) for one in encoded.sentences)
            self._inner = small(np.concatenate(list(inner)))
        self._entities = None if entities is None else entities.of_subwords(encoded)

    def __len__(self) -> int:
        return len(self.encoded)

    def __call__(self, numbers: Sequence[int] | Integers) -> SentenceBatch:
        """Make a batch of one sentence or more, given by index."""
        encoded = self.encoded
        chosen = ChosenSentences.of(encoded, np.asarray(numbers, np.int64))
        names = [encoded.sentences[number].id for number in chosen.numbers.tolist()]
        words = chosen.words
        starts = wide(encoded.word_starts[words])
        firsts = chosen.rows(starts, chosen.word_windows)
        sizes = np.minimum(encoded.word_ends[words], chosen.ends[chosen.word_windows]) - starts
        tags = None if self._tags is None else wide(self._tags[words])
        features = None if self.features is None else self.features.rows(words)
        levels = () if tags is None else (tags,)
        if self._inner is not None:
            levels = (wide(self._inner[words]), *levels)
        most = self.max_span_subwords
        return SentenceBatch(
            ids=tuple(names),
            inputs=self._inputs(chosen, names),
            words=Layout.of(chosen.n_words),
            word_subwords=torch.from_numpy(ranges(firsts, sizes)),
            word_offsets=torch.from_numpy(starts_of(sizes)),
            windows=torch.from_numpy(chosen.word_windows),
            features=None if features is None else torch.from_numpy(features),
            tags=None if tags is None else torch.from_numpy(tags),
            expected=self.expected.take(words, chosen.numbers) if self.expected else None,
            spans=_candidates(chosen, max_subwords=most, levels=levels) if most else None,
        )

    def _inputs(self, chosen: ChosenSentences, names: Sequence[str]) -> Batch:
        encoded, lengths = self.encoded, chosen.lengths
        inside, shown = ranges(chosen.firsts + 1, lengths - 2), ranges(chosen.starts, lengths - 2)
        ids = np.full(int(lengths.sum()), encoded.special.cls, np.int64)
        ids[chosen.firsts + lengths - 1] = encoded.special.sep
        ids[inside] = encoded.subwords[shown]
        layout = Layout.of(lengths)
        words = known = None
        if self._entities is not None:
            entities = self._entities[shown]
            known = subword_entities(inside[entities > 0], entities[entities > 0])
        if self.with_words:
            begins = np.ones(len(ids), np.bool_)
            begins[inside] = encoded.begins_word[shown]
            begins[chosen.firsts + 1] = True  # a window may cut a word
            words = BatchWords.of(np.flatnonzero(begins), layout)
        cut = encoded.word_ends[chosen.words] > chosen.ends[chosen.word_windows]
        counts = {
            "words.cut": int(np.count_nonzero(cut)),
            "words.unknown": int(np.count_nonzero(encoded.is_unknown[chosen.words])),
        }
        return Batch(
            ids=tuple(names[sentence] for sentence in chosen.sentences.tolist()),
            subwords=torch.from_numpy(ids),
            rows=LayerRows(layout, together=layout, words=words),
            subword_entities=known,
            counts={name: count for name, count in counts.items() if count},
        )


class SentenceBatches:
    """The batches of training; the index of a step and the seed alone determine its batch.

    Sentences come in the order of one permutation of all sentences after the other. An epoch is one
    permutation, or ``samples`` sentences; then the next epoch continues where the last one ended.

    Args:
        collator: makes the batches.
        batch_size: sentences of a step; the last step of an epoch may have fewer.
        micro_batch_size: sentences of a micro-batch; 0: all of a step.
        seed: the seed of the permutations.
        samples: sentences of an epoch; 0: all.
    """

    def __init__(
        self,
        collator: SentenceCollator,
        *,
        batch_size: int,
        seed: int,
        samples: int = 0,
        micro_batch_size: int = 0,
    ) -> None:
        self.collator, self.batch_size, self.seed = collator, batch_size, seed
        self.micro_batch_size = micro_batch_size or batch_size
        if not len(collator):
            raise ConfigError("No sentence to learn from: the training set is empty.")
        self.samples = samples or len(collator)
        """The number of sentences of an epoch."""
        self.steps_per_epoch = -(-self.samples // batch_size)

    def numbers(self, epoch: int) -> Integers:
        """Return the indices of the sentences of an epoch (from 0), in the order of training."""
        n = len(self.collator)
        laps, places = np.divmod(np.arange(self.samples) + epoch * self.samples, n)
        return permuted(places, n, key_of(self.seed, RandomUse.SHUFFLE, laps))

    def epoch(self, epoch: int, first: int = 0) -> Iterator[list[SentenceBatch]]:
        """Yield the micro-batches of each step of an epoch (from 0), from step ``first`` on."""
        numbers = self.numbers(epoch)
        for start in range(first * self.batch_size, len(numbers), self.batch_size):
            own, size = numbers[start : start + self.batch_size], self.micro_batch_size
            yield [self.collator(own[at : at + size]) for at in range(0, len(own), size)]


class NumberedBatch(NamedTuple):
    """A batch, with the indices of its sentences."""

    numbers: Integers
    """(S,) the index of each sentence in the set."""
    batch: SentenceBatch


def batches_by_length(
    collator: SentenceCollator, *, batch_size: int = 32, max_subwords: int = 4096
) -> Iterator[NumberedBatch]:
    """Yield batches of all sentences, each once, the longest first, so that little is padded.

    Args:
        collator: makes the batches.
        batch_size: sentences of a batch, at most.
        max_subwords: subwords of a batch, at most, padding included; but a sentence whose windows
            have more is a batch of its own.
    """
    longest, n_windows = collator.encoded.longest, collator.encoded.n_windows
    order = np.lexsort((np.arange(len(longest)), n_windows, longest))[::-1]
    start = windows = 0
    for place, number in enumerate(order.tolist()):  # the first of a batch has the longest window
        windows += int(n_windows[number])
        is_full = place - start == batch_size or windows * longest[order[start]] > max_subwords
        if is_full and place > start:
            yield NumberedBatch(order[start:place], collator(order[start:place]))
            start, windows = place, int(n_windows[number])
    if len(order):
        yield NumberedBatch(order[start:], collator(order[start:]))


def first_by_hash(sentences: Sequence[Sentence], n: int) -> Integers:
    """Select the ``n`` sentences whose ids have the smallest hashes; 0: all.

    Returns their indices, ascending. With a larger ``n`` the same sentences are among them.
    """
    hashes = np.fromiter((hash64(s.id) for s in sentences), np.uint64, len(sentences))
    order = np.argsort(key_of(RandomUse.EVALUATION, hashes), kind="stable")
    return np.sort(order[: n or None])


def _candidates(
    chosen: ChosenSentences, *, max_subwords: int, levels: Sequence[Integers]
) -> SpanBatch:
    """Make the candidate spans of a batch, ordered by sentence, first word and length.

    Args:
        chosen: the sentences.
        max_subwords: of a span that is longer than a word.
        levels: (W,) gold tags, valid IOB2, of each level of names, to label the candidates: 0, or
            1 + the id of the label; the last level wins. None: candidates have no labels.
    """
    encoded, n_words = chosen.encoded, chosen.n_words
    sizes = wide((encoded.word_ends - encoded.word_starts)[chosen.words])
    borders, words = borders_of(sizes), np.arange(len(sizes))
    reach = np.searchsorted(borders, borders[:-1] + max_subwords, side="right") - 1
    counts = np.clip(reach - words, 1, np.repeat(np.cumsum(n_words), n_words) - words)
    firsts, lasts = np.repeat(words, counts), ranges(words, counts)
    located = chosen.locate(firsts, lasts)
    labels = np.zeros(len(firsts), np.int64)
    for tags in levels:
        begins, ends = gold_spans(tags)
        is_short = ends - begins < counts[begins]
        begins, ends = begins[is_short], ends[is_short]
        places = starts_of(counts)[begins] + ends - begins
        labels[places] = 1 + (tags[begins] - 1) // 2
    kept = located[1] <= chosen.ends[located[2]]
    return chosen.span_batch(
        tuple(column[kept] for column in (firsts, lasts, *located)),
        sentences=np.repeat(np.arange(len(n_words)), n_words)[firsts[kept]],
        labels=labels[kept] if levels else None,
    )


def too_long(
    encoded: EncodedSentences, tagset: TagSet, *, max_subwords: int
) -> Iterator[tuple[Sentence, TokenSpan, int]]:
    """Yield the gold spans that are no candidates, with their sentence and number of subwords."""
    chosen = ChosenSentences.of(encoded, np.arange(len(encoded)))
    tags = tagset.encode_all(encoded.sentences)
    firsts, lasts = gold_spans(tags)
    starts, ends, windows = chosen.locate(firsts, lasts)
    is_long = (ends - starts > max_subwords) | (ends > chosen.ends[windows])
    for index in np.flatnonzero(is_long & (lasts > firsts)).tolist():
        first, last = int(firsts[index]), int(lasts[index])
        number = int(np.searchsorted(encoded.word_begins, first, side="right")) - 1
        sentence, begin = encoded.sentences[number], int(encoded.word_begins[number])
        label = tagset.labels[(int(tags[first]) - 1) // 2]
        span = TokenSpan(start=first - begin, end=last - begin + 1, label=label)
        yield sentence, span, int(ends[index] - starts[index])


def whole_text(document: Document, spans: Iterable[Span] = ()) -> Sentence:
    """Make one sentence of all words of a text; cut words where a span begins or ends."""
    breaker, text = segmenter(document.lang), document.text
    edges = breaker.edges(text)
    cuts = sorted({edge for span in spans for edge in (span.start, span.end)})
    pairs = [
        pair
        for sentence in document.sentences
        for pair in breaker.words(text, sentence, cuts=cuts, edges=edges)
    ]
    return Sentence(
        id=document.id,
        document_id=document.id,
        split="test",
        tokens=tuple([text[start:end] for start, end in pairs]),
        tags=("O",) * len(pairs),
        token_starts=tuple([start for start, _ in pairs]),
    )


def words_of(sentence: Sentence, span: Span | TokenSpan) -> WordSpan:
    """Find the words that a span covers, wholly or in part.

    A ``Span`` counts characters of the text, a ``TokenSpan`` words. Raises ``CorpusError`` where it
    covers none, or for a ``Span`` if the sentence does not say where its words stand.
    """
    n_words = len(sentence.tokens)
    if isinstance(span, TokenSpan):
        first, end = span.start, span.end
    elif sentence.token_starts is None:
        raise CorpusError(
            f"{sentence.id}: has no text that characters could be counted in. Give words: "
            "TokenSpan(start=…, end=…, label='')."
        )
    else:
        starts = sentence.token_starts
        end = bisect_left(starts, span.end)
        first = max(0, bisect_right(starts, span.start) - 1)
        if n_words and starts[first] + len(sentence.tokens[first]) <= span.start:
            first += 1
    if not 0 <= first < end <= n_words:
        raise CorpusError(
            f"{sentence.id}: the span {span.start}:{span.end} covers no word; there are {n_words}."
        )
    return first, end


def given_spans(chosen: ChosenSentences, spans: Sequence[Sequence[WordSpan]]) -> SpanBatch:
    """Make a batch of the spans that are given for each sentence.

    Raises ``CorpusError`` for a span that no window holds, which only happens in long sentences.
    """
    sentences = np.repeat(np.arange(len(spans)), [len(own) for own in spans])
    starts, ends = np.array(list(chain.from_iterable(spans)), np.int64).reshape(-1, 2).T
    before = starts_of(chosen.n_words)[sentences]
    firsts, lasts = before + starts, before + ends - 1
    located = chosen.locate(firsts, lasts)
    if len(outside := np.flatnonzero(located[1] > chosen.ends[located[2]])):
        place = int(outside[0])
        sentence = chosen.encoded.sentences[int(chosen.numbers[sentences[place]])]
        raise CorpusError(
            f"{sentence.id}: words {starts[place]} to {ends[place]} are more than a window of "
            f"{int(chosen.lengths.max())} subwords holds. Name a shorter span."
        )
    return chosen.span_batch((firsts, lasts, *located), sentences=sentences)


def with_mentions(
    inputs: Batch, spans: SpanBatch, entities: NDArray[np.int64]
) -> tuple[Batch, Tensor]:
    """Add a mention with an entity, (P,), at each span of the windows.

    Returns the new batch, and the row of each span among the mentions, (P,). Mentions stand window
    by window, those of a window in the order of the spans. On the CPU.
    """
    windows, layout = spans.windows.numpy(), inputs.rows.subwords
    order = np.argsort(windows, kind="stable")
    firsts, lasts = (
        layout.positions[rows].numpy()[order]
        for rows in (spans.first_subwords, spans.last_subwords)
    )
    batch = replace(
        inputs,
        rows=replace(LayerRows.with_mentions(layout, windows[order]), words=inputs.rows.words),
        mentions=BatchMentions.of(entities[order], firsts, lasts - firsts + 1),
    )
    return batch, torch.from_numpy(np.argsort(order))
