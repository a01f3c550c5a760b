"""The span head, which finds names and their labels among candidate spans (LUKE).

To *read* a span is to put an entity [MASK] at the span's positions and pass it through all layers
of the encoder; then the span is scored by [first subword; last subword; entity]. Reading a span
costs as much as encoding a subword, and there are about ten candidates a word. So a cheap first
score, by [first subword; last subword] alone, chooses the candidates that are read: in each
sentence those with the lowest p(O). The others keep their first score.

In LUKE all subwords and entities attend to each other (``read_jointly``): a window with more than
128 candidates is encoded several times, each time with an equal part of them, in their order; the
state of a span depends on this partition. If spans are read alone (``read_alone``), subwords are
encoded once and attend to subwords only; then each span attends, in each layer, to the remembered
keys and values of the subwords and to itself. So its state depends on the text, not on which other
spans are read, or in which order.

Shapes: B windows, S sentences, W words, T subwords of all, P candidates, E candidates that are
read, C chunks, D width, G features of a gazetteer, L labels; 1 + L classes, of which 0 is O.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final, Literal, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from corpora.entities.vocabulary import MASK
from modeling.data.batch import (
    Batch,
    BatchMentions,
    LayerRows,
    Layout,
    SentenceBatch,
    SpanBatch,
    ranges,
    starts_of,
)
from modeling.layers.attention import AttentionMemory, EntityAwareAttention, SelfAttention
from modeling.layers.attention_blocks import exact_type
from modeling.layers.transformer import Dropout, EncoderLayer
from modeling.models.text_encoder import TextEncoder

Features = Literal["both", "words", "entities"]
Reading = Literal["alone", "joint"]
Indices = NDArray[np.int64]
_Attention = SelfAttention | EntityAwareAttention
_SPANS_PER_WORD: Final = 10.0
_AT_ONCE: Final = 2048  # spans read alone without gradients: more are no faster, but take memory
_LONGEST: Final = 16  # words; longer spans have one score
CHUNK: Final = 128
"""The most spans that are read jointly with a window at once."""


class SpanStates(NamedTuple):
    """The states of E spans that a head scores."""

    first: Tensor
    """(E, D): the states of the first subwords."""
    last: Tensor
    """(E, D): the states of the last subwords."""
    entity: Tensor
    """(E, D): the states of the entities."""


class Remembered(NamedTuple):
    """Encoded windows, and the keys and values that spans in them attend to."""

    subwords: Tensor
    """(T, D) the states of subwords after the last layer."""
    memories: tuple[AttentionMemory, ...]
    """The keys and values of each layer."""


class _Places(NamedTuple):
    """The places of E spans: the window, and the positions of the first and last subword in it."""

    windows: Indices
    firsts: Indices
    lasts: Indices

    @classmethod
    def of(cls, spans: SpanBatch, subwords: Layout, chosen: Tensor) -> "_Places":
        """Look up where chosen candidates (E,) stand."""
        edges = (
            subwords.positions[rows[chosen]] for rows in (spans.first_subwords, spans.last_subwords)
        )
        return cls(*torch.stack([spans.windows[chosen], *edges]).cpu().numpy())

    def take(self, order: Indices) -> "_Places":
        """Select spans by index, in this order."""
        return _Places(*(column[order] for column in self))

    def mentions(self) -> BatchMentions:
        """Convert spans to mentions of [MASK], for the entity embedding of the encoder."""
        sizes = self.lasts - self.firsts + 1
        return BatchMentions.of(np.full(len(sizes), MASK), self.firsts, sizes)


def remember(encoder: TextEncoder, inputs: Batch) -> Remembered:
    """Encode subwords, which attend to no span; ``ValueError`` if the attention reads no spans."""
    memories: list[AttentionMemory] = []

    def look(x: Tensor, attention: _Attention) -> Tensor:
        mixed, memory = attention.remember(x, inputs.rows.subwords)
        memories.append(memory)
        return mixed

    x = encoder.embeddings(inputs.subwords, inputs.rows, inputs.segments)
    for layer, attention in _layers(encoder):
        x = layer.around(partial(look, attention=attention), x)
    return Remembered(encoder.encoder.normed(x), tuple(memories))


def _layers(encoder: TextEncoder) -> Iterator[tuple[EncoderLayer, _Attention]]:
    for layer in encoder.encoder.layers:
        if not isinstance(layer, EncoderLayer) or not isinstance(layer.attention, _Attention):
            raise ValueError(
                f"{type(layer.attention).__name__} reads no spans. Take a head that reads words "
                "alone (head.span_features=words), or plain or entity-aware attention."
            )
        yield layer, layer.attention


def read_alone(
    encoder: TextEncoder, remembered: Remembered, spans: SpanBatch, *, chosen: Tensor, inputs: Batch
) -> SpanStates:
    """Read chosen candidates (E,), int64, each by itself; states (E, D) are in their order.

    Without gradients at most ``_AT_ONCE`` spans are read at once. Raises ``ValueError`` if the
    encoder reads no entities.
    """
    layout, subwords = inputs.rows.subwords, remembered.subwords
    places = _Places.of(spans, layout, chosen)
    order = np.argsort(places.windows, kind="stable")
    size = max(1, len(order)) if torch.is_grad_enabled() else _AT_ONCE
    states = [subwords.new_zeros((0, subwords.shape[1]))]
    for begin in range(0, len(order), size):
        part = places.take(order[begin : begin + size])
        states.append(_read_part(encoder, remembered, part, longest=layout.longest))
    first, last = (
        subwords.index_select(0, rows[chosen])
        for rows in (spans.first_subwords, spans.last_subwords)
    )
    back = torch.from_numpy(np.argsort(order)).to(subwords.device)
    return SpanStates(first, last, torch.cat(states[1:] or states).index_select(0, back))


def _read_part(
    encoder: TextEncoder, remembered: Remembered, places: _Places, *, longest: int
) -> Tensor:
    """Read spans that are ordered by window: (E, D)."""
    device = remembered.subwords.device
    begin, end = int(places.windows[0]), int(places.windows[-1]) + 1
    readers = Layout.of(np.bincount(places.windows - begin, minlength=end - begin)).to(device)
    x = encoder.embed_mentions(places.mentions().to(device), longest=longest)
    for (layer, attention), memory in zip(_layers(encoder), remembered.memories, strict=True):
        own = memory.cut(slice(begin, end))
        x = layer.around(partial(attention.read, memory=own, readers=readers), x)
    return encoder.encoder.normed(x)


def read_jointly(encoder: TextEncoder, inputs: Batch, spans: SpanBatch) -> SpanStates:
    """Read all candidates together, as LUKE does; states (P, D) are in their order.

    Raises ``ValueError`` if the encoder reads no entities.
    """
    device = spans.windows.device
    every = torch.arange(len(spans.windows), device=device)
    places = _Places.of(spans, inputs.rows.subwords, every)
    if not len(every):
        nothing = encoder.embeddings.subwords.weight[:0]
        return SpanStates(nothing, nothing, nothing)
    of_span, windows = _chunks(places.windows)
    order = np.argsort(of_span, kind="stable")
    batch, begins = _chunked(inputs, windows, of_span[order])
    batch = replace(batch, mentions=places.take(order).mentions().to(device))
    encoded = encoder(batch)
    firsts, lasts, back = (
        torch.from_numpy(rows).to(device)
        for rows in (
            begins[of_span] + places.firsts,
            begins[of_span] + places.lasts,
            np.argsort(order),
        )
    )
    return SpanStates(
        first=encoded.subwords.index_select(0, firsts),
        last=encoded.subwords.index_select(0, lasts),
        entity=cast(Tensor, encoded.entities).index_select(0, back),
    )


def _chunks(windows: Indices) -> tuple[Indices, Indices]:
    """Divide the spans of each window (P,) into chunks of at most ``CHUNK``.

    Returns the chunk of each span (P,), and the window of each chunk (C,), ascending.
    """
    order = np.argsort(windows, kind="stable")
    counts = np.bincount(windows)
    in_window = np.empty_like(windows)
    in_window[order] = ranges(np.zeros_like(counts), counts)
    sizes = -(-counts // np.maximum(-(-counts // CHUNK), 1))
    n_chunks = -(-counts // np.maximum(sizes, 1))  # 129 spans give 65 and 64; no chunk is empty
    chunks = starts_of(n_chunks)[windows] + in_window // sizes[windows]
    return chunks, np.repeat(np.arange(len(counts)), n_chunks)


def _chunked(inputs: Batch, windows: Indices, chunks: Indices) -> tuple[Batch, Indices]:
    """Build the batch of all chunks; also return the row (C,) where the subwords of each begin.

    ``windows`` (C,): the window of each chunk; ``chunks``: the chunk of each mention, ascending.
    """
    device, counts = inputs.subwords.device, inputs.rows.subwords.lengths.cpu().numpy()
    lengths = counts[windows]
    rows = torch.from_numpy(ranges(starts_of(counts)[windows], lengths)).to(device)
    batch = Batch(
        ids=tuple(inputs.ids[window] for window in windows.tolist()),
        subwords=inputs.subwords.index_select(0, rows),
        rows=LayerRows.with_mentions(Layout.of(lengths), chunks).to(device),
        segments=None if inputs.segments is None else inputs.segments.index_select(0, rows),
    )
    return batch, starts_of(lengths)


class SpanScores(NamedTuple):
    """Logits of candidates, float32 or wider; second scores replace first scores."""

    first: Tensor | None
    """(P, classes) by words alone; None: there are none, as all candidates were read."""
    second: Tensor | None = None
    """(E, classes) of the candidates that were read; None: the head reads no spans."""
    read: Tensor | None = None
    """(E,) int64: indices of the candidates that were read, ascending; None: all, if ``second``."""

    def log_probabilities(self, temperature: float) -> Tensor:
        """Compute log-probabilities (P, classes) from logits divided by ``temperature``."""
        first, second = (
            None if logits is None else (logits / temperature).log_softmax(1)
            for logits in (self.first, self.second)
        )
        if second is None or first is None or self.read is None:
            return first if second is None else second  # type: ignore[return-value]
        return first.index_copy(0, self.read, second)


class Products(nn.Module):
    """Scores of spans by what their first and last subword are together, and by their length.

    A sum of scores of both (``FirstScores``) cannot tell a name from a span that begins where one
    name does and ends where another does. These are products of as many projections of the first
    and the last subword as ``rank`` says, a biaffine map of low rank (Yu, Bohnet and Poesio, ACL
    2020), beside a score for each length in words. All begin at 0.
    """

    def __init__(self, *, width: int, rank: int, n_classes: int) -> None:
        super().__init__()
        self.begin, self.end = nn.Linear(width, rank), nn.Linear(width, rank)
        self.classes = nn.Linear(rank, n_classes, bias=False)
        self.lengths = nn.Embedding(_LONGEST + 1, n_classes)
        for weights in (self.classes.weight, self.lengths.weight):
            nn.init.zeros_(weights)

    def forward(self, subwords: Tensor, spans: SpanBatch) -> Tensor:
        """Score candidates by the states of subwords (T, D) -> (P, classes)."""
        begins = self.begin(subwords).index_select(0, spans.first_subwords)
        ends = self.end(subwords).index_select(0, spans.last_subwords)
        lengths = self.lengths((spans.ends - spans.starts).clamp(max=_LONGEST))
        return _exact(self.classes(begins * ends)) + _exact(lengths)


class FirstScores(nn.Module):
    """A linear map of [first subword; last subword], computed once a subword, not once a span.

    ``rank`` > 0: with products of both (``Products``), too.
    """

    def __init__(
        self, *, width: int, n_features: int, n_classes: int, dropout: float, rank: int = 0
    ) -> None:
        super().__init__()
        self.begin = nn.Linear(width, n_classes)
        self.end = nn.Linear(width, n_classes, bias=False)
        self.products = Products(width=width, rank=rank, n_classes=n_classes) if rank else None
        self.beside = nn.Linear(2 * n_features, n_classes, bias=False) if n_features else None
        self.dropout = Dropout(dropout)

    def forward(self, subwords: Tensor, spans: SpanBatch, beside: Tensor | None) -> Tensor:
        """Score candidates: subwords (T, D), gazetteer features (P, 2G) -> (P, classes)."""
        subwords = self.dropout(subwords)
        scores = _exact(self.begin(subwords)).index_select(0, spans.first_subwords)
        scores = scores + _exact(self.end(subwords)).index_select(0, spans.last_subwords)
        if self.products is not None:
            scores = scores + self.products(subwords, spans)
        return scores if self.beside is None else scores + _exact(self.beside(self.dropout(beside)))


class SecondScores(nn.Module):
    """A linear map of [first subword; last subword; entity], or of the entity alone."""

    def __init__(self, width: int, n_classes: int, *, dropout: float, has_words: bool) -> None:
        super().__init__()
        self.classifier = nn.Linear(width, n_classes)
        self.dropout = Dropout(dropout)
        self.has_words = has_words

    def forward(self, states: SpanStates, beside: Tensor | None) -> Tensor:
        """Score spans: states (E, D) each, gazetteer features (E, 2G) -> (E, classes)."""
        parts = list(states) if self.has_words else [states.entity]
        if beside is not None:
            parts.append(beside.to(states.entity))
        return _exact(self.classifier(self.dropout(torch.cat(parts, dim=1))))


class SpanScorer(nn.Module):
    """A scorer of spans, by words first, then by reading some spans; either step may be missing."""

    def __init__(
        self,
        first: FirstScores | None,
        second: SecondScores | None,
        *,
        reading: Reading,
        max_candidates: float,
        skip_below: float,
    ) -> None:
        super().__init__()
        self.first = first
        self.second = second
        self.reading = reading
        self.max_candidates, self.skip_below = max_candidates, skip_below

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode a batch and score its candidates.

        They are scored by words only; or all are read; or those that their first score chooses.
        Raises ``ValueError`` if spans are to be read and the encoder has no entities.
        """
        spans = spans_of(batch)
        beside = _beside(batch, spans)
        if self.second is None:
            subwords = encoder(batch.inputs).subwords
            return SpanScores(cast(FirstScores, self.first)(subwords, spans, beside))
        if encoder.entity_embeddings is None:
            raise ValueError(
                "This encoder has no entities, as which spans could be read: take "
                "head.span_features=words, or a model that was trained with entities."
            )
        if self.reading == "joint":
            states = read_jointly(encoder, batch.inputs, spans)
            return SpanScores(None, self.second(states, beside))
        remembered, first = remember(encoder, batch.inputs), None
        chosen = torch.arange(len(spans.windows), device=spans.windows.device)
        if self.first is not None:
            first = self.first(remembered.subwords, spans, beside)
            chosen = self._choose(first.detach(), spans, batch.words)
            beside = None if beside is None else beside.index_select(0, chosen)
        states = read_alone(encoder, remembered, spans, chosen=chosen, inputs=batch.inputs)
        return SpanScores(first, self.second(states, beside), None if first is None else chosen)

    @torch.no_grad()
    def _choose(self, first: Tensor, spans: SpanBatch, words: Layout) -> Tensor:
        """Select the candidates to be read, (E,) int64, ascending, by first scores (P, classes).

        Each sentence has room for ``max_candidates`` times its number of words, taken by lowest
        p(O); ties are won by the earlier candidate. In evaluation ``skip_below`` leaves out more;
        in training gold spans are always read.
        """
        log_outside = first.log_softmax(1)[:, 0]
        sentences = spans.sentences
        n_spans = torch.bincount(sentences, minlength=words.n_sequences)
        order = log_outside.argsort(stable=True)
        order = order[sentences[order].argsort(stable=True)]  # by sentence, then by p(O)
        ranks = torch.arange(len(order), device=order.device)
        ranks = ranks - (n_spans.cumsum(0) - n_spans).index_select(0, sentences[order])
        room = (self.max_candidates * words.lengths).ceil().index_select(0, sentences)
        is_read = torch.empty_like(order).index_copy(0, order, ranks) < room
        if not self.training:
            is_read &= log_outside <= math.log1p(-self.skip_below)
        elif spans.labels is not None:
            is_read |= spans.labels > 0
        return is_read.nonzero()[:, 0]


class SpanHead(nn.Module):
    """A head that scores candidate spans, with its loss.

    ``features``: the states that score a span: ``both``: [first; last; entity]; ``entities``: the
    entity alone; ``words``: [first; last] alone, without reading spans. ``reading``: ``alone``, or
    ``joint`` as in LUKE. ``max_candidates``: the most spans that are read alone, for each word of a
    sentence; 0: all are read, and there is no first score. ``skip_below``: in evaluation, a span is
    not read if by its first score it is a name with less than this probability. In training, only
    ``max_candidates`` decides, because little would be left to learn from once the first score is
    good; besides, all gold spans are read.
    """

    def __init__(
        self,
        *,
        width: int,
        n_labels: int,
        features: Features = "both",
        dropout: float = 0.0,
        n_features: int = 0,
        class_weights: Tensor | None = None,
        max_candidates: float = 3.0,
        skip_below: float = 0.005,
        reading: Reading = "alone",
        rank: int = 0,
    ) -> None:
        super().__init__()
        self.n_features, n_classes = n_features, 1 + n_labels
        first = second = None
        if features != "words":
            in_width = (3 if features == "both" else 1) * width + 2 * n_features
            has_words = features == "both"
            second = SecondScores(in_width, n_classes, dropout=dropout, has_words=has_words)
        if second is None or (reading == "alone" and max_candidates):
            first = FirstScores(
                width=width, n_features=n_features, n_classes=n_classes, dropout=dropout, rank=rank
            )
        self.scorer = SpanScorer(
            first, second, reading=reading, max_candidates=max_candidates, skip_below=skip_below
        )
        self.class_weights: Tensor | None
        self.register_buffer("class_weights", class_weights, persistent=False)

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode a batch and score its candidates.

        Raises ``ValueError`` if spans are to be read and the encoder has no entities, or if the
        batch has another number of gazetteer features than the head.
        """
        n_features = 0 if batch.features is None else batch.features.shape[1]
        if n_features != self.n_features:
            raise ValueError(
                f"The head reads {self.n_features} features of words, and the batch has "
                f"{n_features}: both must come from the same gazetteer."
            )
        return self.scorer(encoder, batch)  # type: ignore[no-any-return]

    def scores(
        self, encoder: TextEncoder, batch: SentenceBatch, *, temperature: float = 1.0
    ) -> Tensor:
        """Compute the log-probabilities of all candidates, (P, classes)."""
        scores: SpanScores = self(encoder, batch)
        return scores.log_probabilities(temperature)

    def loss(self, encoder: TextEncoder, batch: SentenceBatch) -> Tensor:
        """Compute the cross-entropy of candidates, () float32: a sum that is to be divided by W.

        The sum over first and second scores is divided by 10, as there are about ten candidates a
        word. So sum / W is about a mean over spans, as in LUKE, but does not depend on how a step
        is cut into batches. With class weights, the sum is instead multiplied by W and divided by
        the summed weight of all candidates of the batch, as in torch's weighted mean.
        """
        labels = spans_of(batch).labels
        if labels is None:
            raise ValueError("The candidate spans have no labels to learn from.")
        scores: SpanScores = self(encoder, batch)
        total = torch.zeros((), device=labels.device)
        if scores.first is not None:
            total = total + self._cross_entropy(scores.first, labels)
        if scores.second is not None:
            read = labels if scores.read is None else labels.index_select(0, scores.read)
            total = total + self._cross_entropy(scores.second, read)
        if self.class_weights is None:
            return total / _SPANS_PER_WORD
        weight = self.class_weights.index_select(0, labels).sum()
        return total * len(batch.words.index) / weight.clamp(min=torch.finfo(weight.dtype).tiny)

    def _cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        weights = None if self.class_weights is None else self.class_weights.to(logits.dtype)
        return functional.cross_entropy(logits, labels, weight=weights, reduction="sum")


def spans_of(batch: SentenceBatch) -> SpanBatch:
    """Return the candidate spans of a batch; ``ValueError`` if it has none."""
    if batch.spans is None:
        raise ValueError("A span head reads the candidate spans of a batch, and this has none.")
    return batch.spans


def _beside(batch: SentenceBatch, spans: SpanBatch) -> Tensor | None:
    """Look up the gazetteer features of the first and of the last word of each span, (P, 2G)."""
    if batch.features is None:
        return None
    n_words = batch.words.lengths
    before = (n_words.cumsum(0) - n_words).index_select(0, spans.sentences)
    edges = (before + spans.starts, before + spans.ends - 1)
    return torch.cat([batch.features.index_select(0, rows) for rows in edges], dim=1)


def _exact(x: Tensor) -> Tensor:
    """Convert to float32 or wider, in which scores are added and compared."""
    return x.to(exact_type(x.dtype))
