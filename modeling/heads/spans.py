"""The span head: which of all candidate spans are names, and of which label (LUKE; C.4, D-F2).

A span that is read is scored by [first piece; last piece; entity]. To read it costs as much as to
encode a piece, and there are about ten candidates a word, so a cheap first score, of [first piece;
last piece] alone, says which are worth it: in each sentence those with the least p(O). The others
keep their first score.

Shapes: S sentences, W words, T pieces, P candidates, E of them that are read, D width, G features
of a gazetteer, L labels, C = 1 + L classes; class 0 is O, no name.
"""

import math
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import Layout
from modeling.data.sentence_batch import SentenceBatch, SpanBatch
from modeling.layers.dropout import Dropout
from modeling.layers.groups import exact_type
from modeling.models.encoder import TextEncoder
from modeling.models.span_chunks import read_jointly
from modeling.models.span_reading import SpanStates, read_alone, remember

Features = Literal["both", "words", "entities"]
Reading = Literal["alone", "joint"]
_SPANS_PER_WORD: Final = 10.0


class SpanScores(NamedTuple):
    """Logits of candidates, float32 or wider; of one that was read the second score counts."""

    first: Tensor | None
    """(P, C) by words alone; None: all candidates were read."""
    second: Tensor | None = None
    """(E, C) of those that were read; None: none can be."""
    read: Tensor | None = None
    """(E,) int64: which these are, ascending; None: all, if there are second scores."""

    def log_probabilities(self, temperature: float = 1.0) -> Tensor:
        """(P, C): a distribution for each candidate, from logits divided by ``temperature``."""
        first, second = (
            None if logits is None else (logits / temperature).log_softmax(1)
            for logits in (self.first, self.second)
        )
        if second is None or first is None or self.read is None:
            return first if second is None else second  # type: ignore[return-value]
        return first.index_copy(0, self.read, second)


class Sizes(NamedTuple):
    """D, G and C."""

    width: int
    n_features: int
    n_classes: int


class FirstScores(nn.Module):
    """A linear map of [first piece; last piece], multiplied once for each piece, not each span."""

    def __init__(self, sizes: Sizes, *, dropout: float) -> None:
        super().__init__()
        n_features, n_classes = sizes.n_features, sizes.n_classes
        self.begin = nn.Linear(sizes.width, n_classes)
        self.end = nn.Linear(sizes.width, n_classes, bias=False)
        self.beside = nn.Linear(2 * n_features, n_classes, bias=False) if n_features else None
        self.dropout = Dropout(dropout)

    def forward(self, pieces: Tensor, spans: SpanBatch, beside: Tensor | None) -> Tensor:
        """(T, D), and (P, 2G) of the candidates -> (P, C)."""
        pieces = self.dropout(pieces)
        scores = _exact(self.begin(pieces)).index_select(0, spans.first_pieces)
        scores = scores + _exact(self.end(pieces)).index_select(0, spans.last_pieces)
        return scores if self.beside is None else scores + _exact(self.beside(self.dropout(beside)))


class SecondScores(nn.Module):
    """A linear map of [first piece; last piece; entity], or of the last alone."""

    def __init__(self, sizes: Sizes, *, dropout: float, has_words: bool) -> None:
        super().__init__()
        n_states = 3 if has_words else 1
        in_width = n_states * sizes.width + 2 * sizes.n_features
        self.classifier = nn.Linear(in_width, sizes.n_classes)
        self.dropout = Dropout(dropout)
        self.has_words = has_words

    def forward(self, states: SpanStates, beside: Tensor | None) -> Tensor:
        """(E, D) each, and (E, 2G) -> (E, C)."""
        parts = list(states) if self.has_words else [states.entity]
        if beside is not None:
            parts.append(beside.to(states.entity))
        return _exact(self.classifier(self.dropout(torch.cat(parts, dim=1))))


class ByWords(nn.Module):
    """Nothing is read: first scores are all there are, and any encoder will do."""

    def __init__(self, first: FirstScores) -> None:
        super().__init__()
        self.first = first

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode and score."""
        spans = spans_of(batch)
        return SpanScores(self.first(encoder(batch.inputs).pieces, spans, _beside(batch, spans)))


class Jointly(nn.Module):
    """All candidates are read, in chunks, with the pieces, as LUKE does."""

    def __init__(self, second: SecondScores) -> None:
        super().__init__()
        self.second = second

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode and score."""
        _check_entities(encoder)
        spans = spans_of(batch)
        states = read_jointly(encoder, batch.inputs, spans)
        return SpanScores(None, self.second(states, _beside(batch, spans)))


class Alone(nn.Module):
    """All candidates are read, each alone."""

    def __init__(self, second: SecondScores) -> None:
        super().__init__()
        self.second = second

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode and score."""
        _check_entities(encoder)
        spans, remembered = spans_of(batch), remember(encoder, batch.inputs)
        every = torch.arange(len(spans.windows), device=spans.windows.device)
        states = read_alone(encoder, remembered, spans, chosen=every, inputs=batch.inputs)
        return SpanScores(None, self.second(states, _beside(batch, spans)))


class Chosen(nn.Module):
    """The candidates that are worth it by their first score are read, each alone."""

    def __init__(
        self,
        first: FirstScores,
        second: SecondScores,
        *,
        max_candidates: float,
        skip_below: float,
    ) -> None:
        super().__init__()
        self.first = first
        self.second = second
        self.max_candidates = max_candidates
        self.skip_below = skip_below

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode and score."""
        _check_entities(encoder)
        spans, remembered = spans_of(batch), remember(encoder, batch.inputs)
        beside = _beside(batch, spans)
        first = self.first(remembered.pieces, spans, beside)
        chosen = self.choose(first.detach(), spans, batch.words)
        states = read_alone(encoder, remembered, spans, chosen=chosen, inputs=batch.inputs)
        second = self.second(states, None if beside is None else beside.index_select(0, chosen))
        return SpanScores(first, second, chosen)

    @torch.no_grad()
    def choose(self, first: Tensor, spans: SpanBatch, words: Layout) -> Tensor:
        """(E,) int64, ascending: the candidates to be read, by first scores (P, C).

        A sentence's candidates compete with each other alone; ties are won by the earlier one.
        """
        log_outside = first.log_softmax(1)[:, 0]
        sentences, n = spans.sentences, words.n_sequences
        n_spans, n_words = (torch.bincount(of, minlength=n) for of in (sentences, words.sequences))
        order = log_outside.argsort(stable=True)
        order = order[sentences[order].argsort(stable=True)]  # by sentence, then by p(O)
        ranks = torch.arange(len(order), device=order.device)
        ranks = ranks - (n_spans.cumsum(0) - n_spans).index_select(0, sentences[order])
        room = (self.max_candidates * n_words).ceil().index_select(0, sentences)
        is_read = torch.empty_like(order).index_copy(0, order, ranks) < room
        if not self.training:
            is_read &= log_outside <= math.log1p(-self.skip_below)
        elif spans.labels is not None:
            is_read |= spans.labels > 0
        return is_read.nonzero()[:, 0]


class SpanHead(nn.Module):
    """Log-probabilities of candidates, and the loss that they are learned with.

    ``features``: ``both``, [first; last; entity]; ``entities``, the last; ``words``, the first two,
    where nothing is read. ``reading``: ``alone`` (``span_reading``), or ``joint``, LUKE's way
    (``span_chunks``). ``max_candidates``: spans for each word of a sentence that are read alone at
    most; 0: all are, and there is no first score. ``skip_below``: in evaluation a span is not read
    that by its first score is a name with less than this probability. In training the number alone
    decides, or little would be left to learn from once the first score is good; and all gold spans
    are read.
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
    ) -> None:
        super().__init__()
        if max_candidates < 0 or not 0 <= skip_below < 1:
            raise ValueError(
                f"max_candidates={max_candidates} must not be negative, and "
                f"skip_below={skip_below} must be at least 0 and less than 1."
            )
        sizes = Sizes(width=width, n_features=n_features, n_classes=1 + n_labels)
        self.n_features = n_features
        self.scorer: nn.Module
        if features == "words":
            self.scorer = ByWords(FirstScores(sizes, dropout=dropout))
        else:
            second = SecondScores(sizes, dropout=dropout, has_words=features == "both")
            if reading == "joint":
                self.scorer = Jointly(second)
            elif not max_candidates:
                self.scorer = Alone(second)
            else:
                first = FirstScores(sizes, dropout=dropout)
                self.scorer = Chosen(
                    first, second, max_candidates=max_candidates, skip_below=skip_below
                )
        self.class_weights: Tensor | None
        self.register_buffer("class_weights", class_weights, persistent=False)

    def forward(self, encoder: TextEncoder, batch: SentenceBatch) -> SpanScores:
        """Encode and score; ``ValueError`` if entities are to be read, and the encoder has none."""
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
        """(P, C) log-probabilities of all candidates."""
        scores: SpanScores = self(encoder, batch)
        return scores.log_probabilities(temperature)

    def loss(self, encoder: TextEncoder, batch: SentenceBatch) -> Tensor:
        """() float32: cross-entropy of the candidates, as a sum that is to be divided by W.

        The sum over first and second scores is divided by 10, as there are about ten candidates a
        word: so sum / W is about a mean over spans (LUKE's), yet the same however a step is cut
        into batches. With class weights it is multiplied by W and divided by the summed weight of
        all candidates of the batch instead, as torch's weighted mean (D-F6).
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
    """The candidates; ``ValueError`` if there are none."""
    if batch.spans is None:
        raise ValueError("A span head reads the candidate spans of a batch, and this has none.")
    return batch.spans


def _check_entities(encoder: TextEncoder) -> None:
    if encoder.entity_embeddings is None:
        raise ValueError(
            "This encoder has no entities, as which spans could be read: take "
            "head.span_features=words, or a model that was trained with entities."
        )


def _beside(batch: SentenceBatch, spans: SpanBatch) -> Tensor | None:
    """(P, 2G): what the gazetteer says of the first and of the last word of each span."""
    if batch.features is None:
        return None
    words = batch.words
    n_words = torch.bincount(words.sequences, minlength=words.n_sequences)
    before = (n_words.cumsum(0) - n_words).index_select(0, spans.sentences)
    edges = (before + spans.starts, before + spans.ends - 1)
    return torch.cat([batch.features.index_select(0, rows) for rows in edges], dim=1)


def _exact(x: Tensor) -> Tensor:
    """In float32 or wider, as scores are added and compared."""
    return x.to(exact_type(x.dtype))
