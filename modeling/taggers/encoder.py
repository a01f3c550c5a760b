"""Vectors of words, entities and spans, by an encoder.

>>> encoder = Encoder.load("runs/first")
>>> [words] = encoder.words(["Peter lebt in Frankfurt am Main."])
>>> [spans] = encoder.spans(["Peter lebt in Frankfurt am Main."], [[Span(0, 5), Span(14, 31)]])

A text is read as one unit, even if it has several lines, in overlapping windows if it is longer
than the encoder's input. A ``Sentence`` of a ``ner`` dataset is read as a tagger reads it.

Shapes: W words and P spans of a text, D width of the encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.document import Mention, Sentence, Span, TokenSpan
from corpora.entities.vocabulary import MASK, SPECIAL
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import ConfigError, EncoderConfig
from modeling.data import sentence_batches
from modeling.data.batch import Batch, SentenceBatch, SpanBatch
from modeling.data.entity_forms import EntityForms
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagger_inputs import window_settings
from modeling.huggingface.importing import read_pretrained
from modeling.layers.embeddings import EntityEmbeddings, Pooling, pool_words
from modeling.models.spans import SpanStates, read_alone, read_jointly, remember
from modeling.models.text_encoder import Encoded, TextEncoder, Undrawn, build_encoder
from modeling.models.weights import load_strictly
from modeling.taggers.archive import opened
from modeling.taggers.entities import known_entities
from modeling.taggers.folders import find_model, has_tagger, open_tokenizer
from modeling.taggers.processes import device_of, prepare_process
from modeling.taggers.tagger import Tagger, document_of
from modeling.tagging_config import HeadConfig, SentencesConfig
from modeling.training.sources import read_names

Vectors = NDArray[np.float32]
Text = str | Sentence
Place = Span | TokenSpan
"""A span of characters of a text, or of words of a ``Sentence``."""
Parts = Literal["both", "words", "entities", "mean"]
Reading = Literal["alone", "joint"]

_PREFIX: Final = "encoder."


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """The words of a text and their vectors."""

    words: tuple[str, ...]
    offsets: NDArray[np.int64] | None
    """(W, 2), half-open, in characters of the text; None for a sentence without offsets."""
    vectors: Vectors
    """(W, D)."""


class _Asked(NamedTuple):
    """A batch of texts, and the spans in them whose vectors are asked for."""

    numbers: list[int]
    """The indices of the batch's texts among all texts."""
    batch: SentenceBatch
    spans: SpanBatch
    """The spans, on the CPU."""


class Encoder:
    """An encoder with its tokenizer, without dropout and without gradients.

    Args:
        model: the encoder, of any kind.
        tokenizer: the tokenizer of the encoder.
        config: the settings of the encoder.
        windows: how texts are cut into windows.
        entities: names of the encoder's entities, in the order of their ids; empty: it has none.
        of_words: the entities of words, if the encoder's subwords know entities.
    """

    def __init__(
        self,
        model: TextEncoder,
        tokenizer: Tokenizer,
        *,
        config: EncoderConfig,
        windows: SentencesConfig | None = None,
        entities: Sequence[str] = (),
        of_words: EntityForms | None = None,
    ) -> None:
        self.model, self.tokenizer, self.config = model.eval(), tokenizer, config
        windows = windows or window_settings(SentencesConfig(), HeadConfig(), config)
        self.batch_size = 32
        """The most texts that are read at once."""
        self._of_words = of_words
        self._names = tuple(entities)
        self._ids = {name: id for id, name in enumerate(entities)}
        self._cutter = SentenceEncoder(tokenizer, windows)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        forms: Path | str | None = None,
        device: str | torch.device = "cpu",
    ) -> "Encoder":
        """Open the encoder of a run, a model, a tagger or an archive, without its heads.

        ``path`` is a run of ``onoma pretrain``, a model of one, or a BERT, RoBERTa or LUKE of
        transformers; a run of ``onoma finetune`` (its best tagger is opened) or a tagger; or an
        archive of any of these. Raises ``CorpusError`` if there is none, ``WeightsError`` if it is
        damaged, ``UsageError`` for a device that torch lacks.

        If subwords know entities, texts are searched for the forms of the tagger, or, with a
        pre-trained model, for the titles of its entities. ``forms`` (a vocabulary, a lexicon, a
        table) replaces these titles; a tagger takes none (``ConfigError``).
        """
        prepare_process()
        device = device_of(device)
        path = opened(Path(path))
        if has_tagger(path):
            if forms is not None:
                raise ConfigError("A tagger has the forms that it looks up: leave forms out.")
            return cls.of(Tagger.load(path, device=device))
        folder = find_model(path)
        given = read_pretrained(folder)
        config = given.config.encoder
        with Undrawn():
            model = build_encoder(config).float()  # whatever the default type is
        weights = {
            name.removeprefix(_PREFIX): tensor
            for name, tensor in given.weights.items()
            if name.startswith(_PREFIX)
        }
        load_strictly(model, weights, where=folder)
        return cls(
            model.to(device),
            open_tokenizer(folder, config),
            config=config,
            entities=read_names(folder),
            of_words=known_entities(folder, config, forms=forms),
        )

    @classmethod
    def of(cls, tagger: Tagger) -> "Encoder":
        """Make an ``Encoder`` from a tagger; it reads text as the tagger does."""
        config = tagger.model.config
        return cls(
            tagger.model.encoder,
            tagger.tokenizer,
            config=config.encoder,
            windows=config.data,
            entities=SPECIAL if config.encoder.reads_mentions else (),
            of_words=tagger.entities,
        )

    def keep_layers(self, n: int) -> None:
        """Keep the first ``n`` layers, whose states are the vectors from then on.

        An encoder that transformers runs keeps all its layers.
        """
        if not self.config.foreign:
            self.model.encoder.layers = self.model.encoder.layers[:n]

    @property
    def width(self) -> int:
        """The width D of the vectors."""
        return self.config.width

    @property
    def room(self) -> int:
        """The most subwords of a text that are read together, in one window."""
        return self._cutter.room

    @property
    def reads_mentions(self) -> bool:
        """Whether the encoder can read mentions as input entities, and so give their vectors."""
        return isinstance(self.model.entity_embeddings, EntityEmbeddings)

    def entity(self, id: int) -> str:
        """Return the name of an entity, or ``entity ID`` if the encoder has no name for it."""
        return self._names[id] if id < len(self._names) else f"entity {id}"

    def words(
        self, texts: Sequence[Text], *, pooling: Pooling = "first", lang: str | None = None
    ) -> list[WordVectors]:
        """Compute vectors of the words of each text, from the subwords of each word.

        ``pooling`` takes the first subword of a word, or the mean or maximum of all. ``lang`` is a
        BCP 47 tag: the language whose rules cut texts into words.
        """
        _check_list(texts)
        sentences = [_sentence(text, number, (), lang=lang) for number, text in enumerate(texts)]

        def read(asked: _Asked) -> Tensor:
            batch = asked.batch.to(self._device)
            subwords = self.model(batch.inputs).subwords
            return pool_words(subwords, batch.word_subwords, batch.word_offsets, pooling=pooling)

        sizes = [len(sentence.tokens) for sentence in sentences]
        vectors = self._read(sentences, [[] for _ in sentences], read, sizes=sizes)
        return [
            WordVectors(sentence.tokens, _offsets(sentence), own)
            for sentence, own in zip(sentences, vectors, strict=True)
        ]

    def spans(
        self,
        texts: Sequence[Text],
        spans: Sequence[Sequence[Place]],
        *,
        parts: Parts | None = None,
        reading: Reading = "alone",
        lang: str | None = None,
    ) -> list[Vectors]:
        """Compute vectors of the spans of each text, in the order given, as a span head reads them.

        ``parts``: ``both`` is [first subword; last subword; entity], (P, 3 D); ``words`` the first
        two, (P, 2 D); ``entities`` the last, (P, D); ``mean`` the mean of all subwords, (P, D).
        None: ``both`` if the encoder reads entities, else ``words``. The entity is [MASK] at the
        span's place. It is read ``alone``: it sees the text, and nothing sees it; or
        ``joint``, as in LUKE, with the other spans of the text, each of which sees all.

        Words are cut where a ``Span`` (characters) begins or ends; a ``TokenSpan`` counts words.
        Raises ``CorpusError`` for a span that covers no word or is longer than a window, and
        ``ConfigError`` for entities if the encoder reads none.
        """
        chosen: Parts = parts or ("both" if self.reads_mentions else "words")
        if chosen in {"both", "entities"}:
            self._check_entities()

        def read(asked: _Asked) -> Tensor:
            inputs, spans = asked.batch.inputs.to(self._device), asked.spans.to(self._device)
            if chosen in {"words", "mean"}:
                return _of_subwords(self.model(inputs).subwords, spans, parts=chosen)
            states = _states(self.model, inputs, spans, reading=reading)
            return torch.cat(list(states), dim=1) if chosen == "both" else states.entity

        width = self.width * {"both": 3, "words": 2}.get(chosen, 1)
        return self._read_spans(texts, spans, read, lang=lang, width=width)

    def entities(
        self, texts: Sequence[Text], mentions: Sequence[Sequence[Place]], *, lang: str | None = None
    ) -> list[Vectors]:
        """Compute vectors of the mentions of each text, (P, D).

        All mentions of a text are read together, as in pre-training. A ``Mention`` with an
        ``entity`` (``dawiki:Berlin``) is read as that entity, all others as [MASK]. Raises
        ``CorpusError`` for an entity that the encoder does not know, and what ``spans`` raises.
        """
        self._check_entities()
        ids = [np.array([self._id(mention) for mention in own], np.int64) for own in mentions]

        def read(asked: _Asked) -> Tensor:
            own = np.concatenate([ids[number] for number in asked.numbers])
            inputs, rows = sentence_batches.with_mentions(asked.batch.inputs, asked.spans, own)
            encoded: Encoded = self.model(inputs.to(self._device))
            assert encoded.entities is not None  # noqa: S101 - the batch has mentions
            return encoded.entities.index_select(0, rows.to(self._device))

        return self._read_spans(texts, mentions, read, lang=lang, width=self.width)

    def windows(
        self, text: Text, mentions: Sequence[Place] = (), *, lang: str | None = None
    ) -> Batch:
        """Prepare one text as input, on the CPU; mentions are read as in ``entities``."""
        sentence = _sentence(text, 0, mentions, lang=lang)
        places = [sentence_batches.words_of(sentence, mention) for mention in mentions]
        [asked] = self._batches([sentence], [places])
        if not mentions:
            return asked.batch.inputs
        self._check_entities()
        ids = np.array([self._id(mention) for mention in mentions], np.int64)
        return sentence_batches.with_mentions(asked.batch.inputs, asked.spans, ids)[0]

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _check_entities(self) -> None:
        if not self.reads_mentions:
            raise ConfigError(
                "This encoder reads no entities: take parts='words' or 'mean', or a model that was "
                "pre-trained with an entity vocabulary."
            )

    def _id(self, mention: Place) -> int:
        entity = mention.entity if isinstance(mention, Mention) else None
        if entity is None:
            return MASK
        if entity not in self._ids:
            known = f"the {len(self._ids):,} that it knows" if self._ids else "none by name"
            raise CorpusError(
                f"{entity!r} is no entity of this encoder: it reads {known}. Leave the entity of "
                "the mention out, to read it masked."
            )
        return self._ids[entity]

    def _read_spans(
        self,
        texts: Sequence[Text],
        spans: Sequence[Sequence[Place]],
        read: "Callable[[_Asked], Tensor]",
        *,
        lang: str | None,
        width: int,
    ) -> list[Vectors]:
        _check_list(texts)
        _check_places(spans, n_texts=len(texts))
        sentences = [
            _sentence(text, number, own, lang=lang)
            for number, (text, own) in enumerate(zip(texts, spans, strict=True))
        ]
        places = [
            [sentence_batches.words_of(sentence, span) for span in own]
            for sentence, own in zip(sentences, spans, strict=True)
        ]
        return self._read(sentences, places, read, sizes=[len(own) for own in places], width=width)

    @torch.inference_mode()
    def _read(
        self,
        sentences: Sequence[Sentence],
        spans: Sequence[list[sentence_batches.WordSpan]],
        read: "Callable[[_Asked], Tensor]",
        *,
        sizes: Sequence[int],
        width: int | None = None,
    ) -> list[Vectors]:
        """Compute (size, width) vectors for each text; read texts of similar length together."""
        prepare_process()
        nothing = np.zeros((0, width or self.width), np.float32)
        found: list[Vectors] = [nothing] * len(sentences)
        for asked in self._batches(sentences, spans) if sentences else ():
            own = [sizes[number] for number in asked.numbers]
            if sum(own):
                vectors = torch.split(read(asked).float().cpu(), own)
                for number, part in zip(asked.numbers, vectors, strict=True):
                    found[number] = part.numpy()
        return found

    def _batches(
        self, sentences: Sequence[Sentence], spans: Sequence[list[sentence_batches.WordSpan]]
    ) -> Iterator[_Asked]:
        encoded = self._cutter.encode(sentences)
        collator = sentence_batches.SentenceCollator(
            encoded, with_words=self.config.reads_words, entities=self._of_words
        )
        for numbers, batch in sentence_batches.batches_by_length(
            collator, batch_size=self.batch_size
        ):
            chosen = sentence_batches.ChosenSentences.of(encoded, numbers)
            of_batch = [spans[number] for number in numbers.tolist()]
            yield _Asked(numbers.tolist(), batch, sentence_batches.given_spans(chosen, of_batch))


def _check_list(texts: Sequence[Text]) -> None:
    """Raise ``TypeError`` for a string, each character of which would be a text."""
    if isinstance(texts, str):
        raise TypeError(f"{texts!r:.60} is one text. Give a list of texts: [text].")


def _check_places(spans: Sequence[Sequence[Place]], *, n_texts: int) -> None:
    """Raise ``TypeError`` for what is no place, ``ValueError`` unless each text has its list."""
    if len(spans) != n_texts:
        raise ValueError(
            f"{len(spans)} lists of spans for {n_texts} texts. Give a list for each text, [] where "
            "there is none."
        )
    for span in (span for own in spans for span in own):
        if not isinstance(span, Span | TokenSpan):
            raise TypeError(
                f"{span!r:.60} is no place. Write Span(start, end), which counts characters, or "
                "TokenSpan(start, end, label), which counts words."
            )


def _sentence(text: Text, number: int, spans: Sequence[Place], *, lang: str | None) -> Sentence:
    if isinstance(text, Sentence):
        return text
    document = replace(document_of(text, lang=lang), id=f"text {number + 1}")
    return sentence_batches.whole_text(document, [span for span in spans if isinstance(span, Span)])


def _offsets(sentence: Sentence) -> NDArray[np.int64] | None:
    if sentence.token_starts is None:
        return None
    starts = np.array(sentence.token_starts, np.int64)
    sizes = np.array([len(token) for token in sentence.tokens], np.int64)
    return np.stack([starts, starts + sizes], axis=1)


def _of_subwords(subwords: Tensor, spans: SpanBatch, *, parts: Parts) -> Tensor:
    """Pool (T, D) subwords of spans: first and last one, (P, 2 D), or the mean, (P, D)."""
    first, last = spans.first_subwords, spans.last_subwords
    if parts == "words":
        return torch.cat([subwords.index_select(0, first), subwords.index_select(0, last)], dim=1)
    sums = subwords.double().cumsum(0)  # a span's rows are adjacent: its sum is a difference
    ends, begins = sums.index_select(0, last), sums.index_select(0, first)
    total = ends - begins + subwords.index_select(0, first)
    return total / (last - first + 1)[:, None]


def _states(model: TextEncoder, inputs: Batch, spans: SpanBatch, *, reading: Reading) -> SpanStates:
    if reading == "joint":
        return read_jointly(model, inputs, spans)
    every = torch.arange(len(spans.windows), device=spans.windows.device)
    return read_alone(model, remember(model, inputs), spans, chosen=every, inputs=inputs)
