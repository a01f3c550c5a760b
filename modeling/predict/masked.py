"""Predictions of a pre-trained model: the best subwords for each [MASK], and entities for spans.

Section 6.3.1 of the DaLUKE thesis. If the model has entities of subwords (EntityBERT), the entities
of the text are looked up as input, except in the spans whose entity is to be predicted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.entities.vocabulary import MASK, SPECIAL
from corpora.errors import CorpusError, UsageError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import OF_ENTITIES
from modeling.data.batch import (
    Batch,
    BatchMentions,
    BatchWords,
    LayerRows,
    Layout,
    SubwordEntities,
    starts_of,
)
from modeling.data.entity_forms import EntityForms
from modeling.data.sentence_batches import whole_text
from modeling.huggingface.importing import read_pretrained
from modeling.models.pretraining_model import PretrainingModel
from modeling.taggers.entities import known_entities
from modeling.taggers.folders import find_model, open_tokenizer
from modeling.taggers.tagger import document_of
from modeling.training.sources import read_names


class Guess(NamedTuple):
    """The best subwords or entities for a place in a text."""

    start: int
    """In characters of the text, as ``end``; half-open."""
    end: int
    best: list[tuple[str, float]]
    """Subwords or entities, and their probabilities, the best first."""


@dataclass(frozen=True, slots=True)
class Guesser:
    """A pre-trained model with its tokenizer and the names of its entities."""

    model: PretrainingModel
    tokenizer: Tokenizer
    entities: tuple[str, ...] = ()
    of_words: EntityForms | None = None
    """The lookup of the entities of words; None if the model has no entities of subwords."""

    @classmethod
    def load(cls, path: Path) -> "Guesser":
        """Open a run of ``onoma pretrain``, or a folder of transformers with its heads."""
        folder = find_model(path)
        model = read_pretrained(folder).build().eval()
        of_words = known_entities(folder, model.config.encoder)
        tokenizer = open_tokenizer(folder, model.config.encoder)
        return cls(model, tokenizer, read_names(folder), of_words)

    @torch.inference_mode()
    def subwords(self, text: str, *, top: int = 5) -> list[Guess]:
        """Predict the ``top`` best subwords for each mask subword (``[MASK]``) in a text.

        Raises ``CorpusError`` for a model without a head for subwords, and ``UsageError`` for a
        text without a mask.
        """
        ids, starts, ends = self._cut(text)
        places = np.flatnonzero(ids == self.tokenizer.special.mask)
        if "subwords" not in self.model.heads:
            raise CorpusError("This model has no head for subwords: it cannot guess words.")
        if not len(places):
            raise UsageError(f"--masked: there is no {self._mask} in the text.")
        known = self._known(text, starts, hidden=places)
        states = self.model.encoder(self._batch(ids, known=known)).subwords
        head = self.model.heads["subwords"]
        scores = head.logits(states.index_select(0, torch.from_numpy(places + 1)))  # type: ignore[operator]
        best = _best(scores, self.tokenizer.specials, top=top)
        token_of = self.tokenizer.backend.id_to_token
        return [
            Guess(int(starts[place]), int(ends[place]), [(token_of(id), p) for id, p in rows])
            for place, rows in zip(places.tolist(), best, strict=True)
        ]

    @torch.inference_mode()
    def guess_entities(
        self, text: str, spans: Sequence[tuple[int, int]], *, top: int = 5
    ) -> list[Guess]:
        """Predict the ``top`` best entities for each span of characters; all spans are masked.

        Raises ``CorpusError`` for a model without entities, and ``UsageError`` for a span without
        text.
        """
        if not self.entities or not OF_ENTITIES.intersection(self.model.heads):
            raise CorpusError(
                "This model knows no entities: pre-train one with an entity vocabulary."
            )
        ids, starts, ends = self._cut(text)
        masks = np.flatnonzero(ids == self.tokenizer.special.mask)
        inside = []
        for start, end in spans:
            subwords = np.flatnonzero((ends > start) & (starts < end))
            if not 0 <= start < end <= len(text) or not len(subwords):
                raise UsageError(
                    f"--entities {start}:{end}: no text of the {len(text)} characters."
                )
            inside.append(subwords + 1)
        if "entities" in self.model.heads:
            encoded = self.model.encoder(self._batch(ids, inside))
            scores = self.model.heads["entities"].logits(encoded.entities)  # type: ignore[operator]
        else:
            hidden = np.concatenate([*(rows - 1 for rows in inside), masks])
            known = self._known(text, starts, hidden=hidden)
            scores = self._of_subwords(self._batch(ids, known=known), inside)
        best = _best(scores, range(len(SPECIAL)), top=top)
        return [
            Guess(start, end, [(self.entities[id], p) for id, p in rows])
            for (start, end), rows in zip(spans, best, strict=True)
        ]

    def _of_subwords(self, batch: Batch, inside: Sequence[NDArray[np.int64]]) -> Tensor:
        """Compute log-probabilities of entities for spans: the mean over a span's subwords."""
        states = self.model.encoder(batch).subwords
        head = self.model.heads["subword_entities"]
        means = []
        for rows in inside:
            logits = head.logits(states.index_select(0, torch.from_numpy(rows)))  # type: ignore[operator]
            means.append(logits.float().log_softmax(1).mean(0))
        return torch.stack(means)

    def describe(self, text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
        """Predict subwords and entities; yield lines that show them."""
        guesses = self.subwords(text) if self._mask in text or not spans else []
        for guess in [*guesses, *(self.guess_entities(text, spans) if spans else ())]:
            yield f"{guess.start}:{guess.end} {text[guess.start : guess.end]}\n"
            for name, probability in guess.best:
                yield f"  {probability:7.4f}  {name}\n"

    @property
    def _mask(self) -> str:
        return str(self.tokenizer.backend.id_to_token(self.tokenizer.special.mask))

    def _cut(self, text: str) -> NDArray[np.int64]:
        """Cut a text into subwords; return their ids, starts and ends, shape (3, n).

        Raises ``UsageError`` for more subwords than the encoder has positions for.
        """
        special, parts = self.tokenizer.special.mask, text.split(self._mask)
        columns: list[NDArray[np.int64]] = []
        position = 0
        for part, subwords in zip(parts, self.tokenizer.encode(parts), strict=True):
            places = (subwords.starts + position, subwords.ends + position)
            columns.append(np.array([subwords.ids, *places], np.int64))
            position += len(part)
            here = [[special], [position], [position + len(self._mask)]]
            columns.append(np.array(here, np.int64))
            position += len(self._mask)
        cut = np.concatenate(columns[:-1], axis=1)
        n, limit = cut.shape[1], self.model.config.encoder.max_positions
        if self.model.config.encoder.positions == "learned" and n + 2 > limit:
            raise UsageError(
                f"--masked: {n} subwords, and the encoder reads {limit - 2}. Cut the text."
            )
        return cut

    def _known(
        self, text: str, starts: NDArray[np.int64], *, hidden: NDArray[np.int64]
    ) -> SubwordEntities | None:
        """Look up the entities of subwords, by the places where these start; None without any.

        All subwords of a mention that contains a ``hidden`` subword get no entity.
        """
        if self.of_words is None:
            return None
        sentence = whole_text(document_of(text))
        if not sentence.tokens or sentence.token_starts is None:
            return None
        begins = np.array(sentence.token_starts, np.int64)
        word_of_subword = np.maximum(np.searchsorted(begins, starts, side="right") - 1, 0)
        of_words = self.of_words.find([sentence.tokens])
        runs = np.cumsum(np.diff(of_words, prepend=0) != 0)  # a run is usually one mention
        found, numbers = of_words[word_of_subword], runs[word_of_subword]
        found[np.isin(numbers, numbers[hidden])] = 0
        rows = np.flatnonzero(found)
        if not len(rows):
            return None
        return SubwordEntities(torch.from_numpy(rows + 1), torch.from_numpy(found[rows]))

    def _batch(
        self,
        ids: NDArray[np.int64],
        inside: Sequence[NDArray[np.int64]] = (),
        *,
        known: SubwordEntities | None = None,
    ) -> Batch:
        """Make a batch of one sequence; ``inside`` holds the positions of each masked entity."""
        special = self.tokenizer.special
        framed = np.concatenate([[special.cls], ids, [special.sep]])
        layout = Layout.of([len(framed)])
        words = BatchWords.of(np.flatnonzero(~self.tokenizer.continuations[framed]), layout)
        rows, mentions = LayerRows(layout, together=layout, words=words), None
        if inside:
            rows = LayerRows.with_mentions(layout, np.zeros(len(inside), np.int64), words)
            mentions = BatchMentions(
                entities=torch.full((len(inside),), MASK),
                positions=torch.from_numpy(np.concatenate(inside)),
                offsets=torch.from_numpy(starts_of(np.array([len(own) for own in inside]))),
            )
        subwords = torch.from_numpy(framed)
        return Batch(("text",), subwords, rows, mentions=mentions, subword_entities=known)


def _best(
    scores: Tensor, left_out: Sequence[int] | frozenset[int] | range, *, top: int
) -> list[list[tuple[int, float]]]:
    """Find the ids with the highest probabilities in each row, without those in ``left_out``."""
    probabilities = scores.float().softmax(1)
    probabilities[:, list(left_out)] = 0.0
    values, ids = probabilities.topk(min(top, probabilities.shape[1]), dim=1)
    return [
        list(zip(row, ratios, strict=True))
        for row, ratios in zip(ids.tolist(), values.tolist(), strict=True)
    ]


def parse_spans(text: str) -> list[tuple[int, int]]:
    """Parse half-open spans of characters, ``0:4,10:14``; raise ``UsageError`` for other text."""
    spans = []
    for part in filter(None, text.split(",")):
        start, _, end = part.partition(":")
        if not (start.strip().isdecimal() and end.strip().isdecimal()):
            raise UsageError(f"--entities {part}: expected START:END, in characters, as 0:8,15:20.")
        spans.append((int(start), int(end)))
    return spans
