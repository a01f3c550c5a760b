"""The model of a tagger: an encoder with a head that finds names.

Shapes: S sentences, W words, T subwords, P candidate spans, D width, G features of a gazetteer.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self, assert_never

import torch
from torch import Tensor, nn

from modeling.config import ConfigError
from modeling.data.batch import ExpectedTags, SentenceBatch
from modeling.data.predictions import SentencePredictions
from modeling.data.tagset import TagSet
from modeling.decoding.spans import decode_spans
from modeling.decoding.tags import decode
from modeling.heads.tagging_heads import CrfHead, CseHead, SoftmaxHead, TokenHead
from modeling.layers.crf import (
    RuledTransitions,
    Transitions,
    log_partition,
    pair_counts,
    score,
    word_log_marginals,
)
from modeling.layers.embeddings import pool_words
from modeling.models.spans import SpanHead, SpanScores, spans_of
from modeling.models.text_encoder import TextEncoder, build_encoder, evaluating
from modeling.models.weights import load_model, save_weights
from modeling.tagging_config import HEADS, TAGGER_FILE, TaggerConfig, check_head


class TaggingModel(nn.Module):
    """An encoder, and a head that reads words or spans."""

    def __init__(
        self, encoder: TextEncoder, head: TokenHead | SpanHead, *, config: TaggerConfig
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.config = config
        self.tagset = TagSet(config.labels)

    @classmethod
    def from_config(cls, config: TaggerConfig, *, class_weights: Tensor | None = None) -> Self:
        """Build and initialise a model; ``ConfigError`` for settings that do not go together.

        ``class_weights`` (1 + labels,) are the loss weights of O and of each label.
        """
        check_tagger(config)
        encoder = build_encoder(config.encoder)
        return cls(encoder, build_head(config, class_weights), config=config)

    def forward(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Compute the summed loss of the words, () float32; ``ValueError`` without gold tags."""
        if batch.tags is None:
            raise ValueError("The sentences have no tags to learn from.")
        if isinstance(self.head, SpanHead):
            return {"tags": self.head.loss(self.encoder, batch)}
        scores = self.scores(batch)
        if batch.expected is not None:
            return {"tags": self.head.loss_of_expected(scores, batch.words, batch.expected)}
        return {"tags": self.head.loss(scores, batch.words, batch.tags)}

    def scores(self, batch: SentenceBatch) -> Tensor:
        """Compute the scores of words, (W, K); the head must be a ``TokenHead``."""
        scores: Tensor = self.head(self._states(batch))
        return scores

    def _states(self, batch: SentenceBatch) -> Tensor:
        """Compute the states of words, (W, D + G): pooled subwords, and gazetteer features."""
        subwords = self.encoder(batch.inputs).subwords
        states = pool_words(
            subwords, batch.word_subwords, batch.word_offsets, pooling=self.config.head.pooling
        )
        if batch.features is None:
            return states
        return torch.cat([states, batch.features.to(states)], dim=1)

    @torch.no_grad()
    def find(
        self, batch: SentenceBatch, *, decoder: str | None = None
    ) -> list[SentencePredictions]:
        """Find the names of each sentence, with calibrated probabilities; without dropout."""
        decoder = decoder or self.decoder
        with evaluating(self):
            if isinstance(self.head, SpanHead):
                return self._find_spans(self.head, batch, decoder)
            scores, temperature = self.scores(batch).float(), self.config.temperature
            return decode(self.head, scores, batch.words, decoder=decoder, temperature=temperature)

    @torch.no_grad()
    def expect(self, batch: SentenceBatch) -> ExpectedTags:
        """Compute calibrated probabilities of tags, over valid tag sequences; without dropout.

        Raises ``ConfigError`` for a span head, which scores no tags.
        """
        if isinstance(self.head, SpanHead):
            raise ConfigError("head.kind=span: it scores spans, not the tags of words.")
        with evaluating(self):
            scores = self.scores(batch).float()
            crf = self.head.valid_crf(scores, batch.words, self.config.temperature)
            words = batch.words.pack(word_log_marginals(crf).exp())
        return ExpectedTags(words.float(), pair_counts(crf).float())

    def _find_spans(
        self, head: SpanHead, batch: SentenceBatch, decoder: str
    ) -> list[SentencePredictions]:
        scores = head.scores(self.encoder, batch, temperature=self.config.temperature)
        spans = spans_of(batch)
        found = decode_spans(
            scores, spans, len(batch.ids), decoder=decoder, labels=self.config.labels
        )
        return [SentencePredictions(spans, []) for spans in found]

    @property
    def decoder(self) -> str:
        """The name of the decoder that is used if none is given."""
        return self.config.head.decoder or HEADS[self.config.head.kind].decoders[0]

    @torch.no_grad()
    def log_likelihood(self, batch: SentenceBatch, temperatures: Tensor) -> Tensor:
        """Compute the log-likelihood (K,) of gold tags (spans), summed, at K temperatures."""
        with evaluating(self):
            if isinstance(self.head, SpanHead):
                labels = spans_of(batch).labels
                found: SpanScores = self.head(self.encoder, batch)
                rows = [found.log_probabilities(t) for t in temperatures.tolist()]
                return torch.stack([r.gather(1, labels[:, None]).sum() for r in rows])  # type: ignore[index]
            scores = self.scores(batch).float()
            tags = batch.words.pad(batch.tags)  # type: ignore[arg-type]
            crfs = (self.head.valid_crf(scores, batch.words, t) for t in temperatures.tolist())
            return torch.stack([(score(c, tags) - log_partition(c)).sum() for c in crfs])

    def save(self, folder: Path) -> None:
        """Write ``tagger.json`` and ``model.safetensors`` into a folder, which is made."""
        save_tagger(self.config, self.state_dict(), folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote; ``WeightsError`` if the weights are not this model's."""
        config = TaggerConfig.load(folder / TAGGER_FILE)
        return load_model(lambda: cls.from_config(config), config.encoder, folder)


def save_tagger(config: TaggerConfig, state: Mapping[str, Tensor], folder: Path) -> None:
    """Write the files that ``TaggingModel.load`` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    config.save(folder / TAGGER_FILE)
    save_weights(state, folder)


def check_tagger(config: TaggerConfig) -> None:
    """Raise ``ConfigError`` for settings that do not go together."""
    head = config.head
    if not config.labels:
        raise ConfigError("A tagger needs labels: the training data has no name.")
    check_head(head)
    reads_entities = head.scores_spans and config.span_features != "words"
    if reads_entities and not config.encoder.reads_mentions:
        raise ConfigError(
            f"head.span_features={head.span_features} needs an encoder that reads entities (LUKE, "
            "daluke). Take such a --model, or --set head.span_features=words."
        )


def build_head(config: TaggerConfig, class_weights: Tensor | None = None) -> TokenHead | SpanHead:
    """Build the head of a tagger, with initial weights, from the settings that its kind uses.

    Class weights are not for a CRF, whose loss is of sentences and not of words.
    """
    head, tagset = config.head, TagSet(config.labels)
    width = config.encoder.width + config.n_features
    match head.kind:
        case "span":
            return SpanHead(
                width=config.encoder.width,
                n_labels=len(config.labels),
                features=config.span_features,
                dropout=head.dropout,
                n_features=config.n_features,
                class_weights=class_weights,
                max_candidates=head.max_candidates,
                skip_below=head.skip_below,
                reading=head.span_reading,
                rank=head.span_products,
            )
        case "softmax":
            return SoftmaxHead(
                width=width, tagset=tagset, dropout=head.dropout, class_weights=class_weights
            )
        case "cse":
            return CseHead(
                width=width,
                tagset=tagset,
                dropout=head.dropout,
                boundary_loss=head.boundary_loss,
                boundary_weight=head.boundary_weight,
                class_weights=class_weights,
            )
        case "crf":
            transitions: Transitions | RuledTransitions = Transitions(len(tagset))
        case "crf_ner":
            transitions = RuledTransitions(
                follows=tagset.follows, begins=tagset.begins, init=head.crf_init
            )
        case unknown:
            assert_never(unknown)
    return CrfHead(width=width, tagset=tagset, transitions=transitions, dropout=head.dropout)
