"""Taggers that find names: ``Tagger.load("runs/sturm")("Peter lebt in Frankfurt am Main.")``."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

import torch

from corpora.document import Document, Mention, Paragraph, Sentence, Span
from corpora.errors import CorpusError
from corpora.ner.alignment import to_sentences
from corpora.ner.labels import LabelMap
from corpora.segmentation.sentences import segmenter
from corpora.tokenization.tokenizers import Tokenizer
from modeling.data.batch import ExpectedTags
from modeling.data.entity_forms import EntityForms
from modeling.data.gazetteer import Gazetteer
from modeling.data.predictions import Tagged
from modeling.data.rng import Integers
from modeling.data.sentence_batches import NumberedBatch, SentenceCollator, batches_by_length
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagger_inputs import ENTITIES, GAZETTEER, TooLong, features_of, name_too_long
from modeling.models.onnx_tagging import OnnxTaggingModel
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.archive import opened
from modeling.taggers.counts import PRECISION
from modeling.taggers.folders import find_tagger, open_tokenizer, read_manifest, weights_of
from modeling.taggers.processes import device_of, prepare_process
from modeling.tagging_config import ONNX_FILE

_AT_ONCE: Final = 2048  # sentences of several documents that are tagged together
_TEMPERATURES: Final = 41
TEMPERATURE_BOUNDS: Final = (0.25, 4.0)


class Tagger:
    """A trained tagger with all that it needs: tokenizer, gazetteer, entities of words.

    Args:
        model: the encoder and its head.
        tokenizer: the tokenizer of the encoder.
        gazetteer: the gazetteer whose features the model reads, if it reads any.
        entities: the entities of words, if the encoder's subwords know entities.
    """

    def __init__(
        self,
        model: TaggingModel,
        tokenizer: Tokenizer,
        *,
        gazetteer: Gazetteer | None = None,
        entities: EntityForms | None = None,
        folder: Path | None = None,
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.gazetteer, self.entities, self.folder = gazetteer, entities, folder
        self.decoder: str | None = None
        """The name of a decoder to use instead of the model's own; None: the model's own."""
        self.label_map: LabelMap | None = None
        """A map from the model's labels to those of the result; it may drop labels."""
        self.batch_size = 32
        """The most sentences that are tagged at once."""
        self.labels = model.config.labels
        self._encoder = SentenceEncoder(tokenizer, model.config.data)

    @classmethod
    def load(cls, path: Path | str, *, device: str | torch.device = "cpu") -> "Tagger":
        """Open a run of ``onoma finetune`` (its best tagger on dev), a tagger, or an archive.

        Raises ``CorpusError`` if there is none, ``WeightsError`` if it is damaged, ``UsageError``
        for a device that torch lacks.
        """
        prepare_process()
        device = device_of(device)
        folder = find_tagger(opened(Path(path))).path.absolute()
        is_onnx = weights_of(folder).name == ONNX_FILE  # ours are preferred
        model = OnnxTaggingModel.open(folder) if is_onnx else TaggingModel.load(folder)
        model = model.to(device)
        gazetteer = Gazetteer.load(folder / GAZETTEER) if (folder / GAZETTEER).is_dir() else None
        entities = EntityForms.load(folder / ENTITIES) if model.config.data.entities else None
        tokenizer = open_tokenizer(folder, model.config.encoder)
        return cls(model, tokenizer, gazetteer=gazetteer, entities=entities, folder=folder)

    @property
    def decoder_used(self) -> str:
        """The name in ``decoder``, or that of the model's own decoder."""
        return self.decoder or self.model.decoder

    @cached_property
    def threshold_of_dev(self) -> float | None:
        """The lowest threshold of probability at which the precision on dev was ``PRECISION``.

        None if none was chosen, or if the tagger was not loaded from a folder.
        """
        manifest = read_manifest(self.folder) if self.folder else {}
        chosen = manifest.get("dev", {}).get("threshold")
        return None if chosen is None else float(chosen)

    @property
    def threshold_of_editions(self) -> float:
        """The default threshold of probability for names that are written into an edition.

        It is ``threshold_of_dev``, or ``PRECISION`` if there is none: if the probabilities are
        calibrated, at least this ratio of the names is right.
        """
        return PRECISION if self.threshold_of_dev is None else self.threshold_of_dev

    def __call__(self, text: str, *, lang: str | None = None) -> list[Mention]:
        """Find the names in a text, with character offsets, label and probability (``score``).

        ``lang`` is a BCP 47 tag: the language whose rules cut text into sentences and words.
        """
        return list(self.annotate(document_of(text, lang=lang)).mentions)

    def pipe(self, texts: Iterable[str], *, lang: str | None = None) -> Iterator[list[Mention]]:
        """Yield the names of each text; sentences of many texts are tagged together."""
        documents = (document_of(text, lang=lang) for text in texts)
        return (list(document.mentions) for document in self.annotate_all(documents))

    def __repr__(self) -> str:
        name = f" of {self.folder}" if self.folder else ""
        head = self.model.config.head.kind
        return f"<Tagger{name}: {head}, {self.decoder_used}, labels {', '.join(self.labels)}>"

    def annotate(self, document: Document, *, threshold: float = 0.0) -> Document:
        """Return the document with predicted mentions instead of those it has."""
        [annotated] = self.annotate_all([document], threshold=threshold)
        return annotated

    def annotate_all(
        self, documents: Iterable[Document], *, threshold: float = 0.0
    ) -> Iterator[Document]:
        """Yield the documents with predicted mentions instead of those they have, one by one.

        The sentences of several documents are tagged together, some thousand at once.
        """
        for some in _packed(documents):
            sentences = [s for document, own in some for s in own]
            tagged = iter(self.tag(sentences, threshold=threshold))
            for document, own in some:
                mentions = [
                    mention for one in islice(tagged, len(own)) for mention in to_mentions(one)
                ]
                yield replace(document, mentions=tuple(mentions))

    def tag_document(self, document: Document, *, threshold: float = 0.0) -> list[Tagged]:
        """Cut a document into sentences and words, and find the names in each sentence."""
        return self.tag(sentences_of(document), threshold=threshold)

    def tag(self, sentences: Sequence[Sentence], *, threshold: float = 0.0) -> list[Tagged]:
        """Find the names in sentences, in their order; sentences of a document are its context.

        The tags of the sentences are not looked at.
        """
        return _in_order(self.tag_by_batch(sentences, threshold=threshold), len(sentences))

    def tag_by_batch(
        self, sentences: Sequence[Sentence], *, threshold: float = 0.0
    ) -> Iterator[list[tuple[int, Tagged]]]:
        """Find the names in sentences, with their indices; compute a batch when it is asked for."""
        if not sentences:
            return
        collator = self._collator(sentences)
        batches = batches_by_length(collator, batch_size=self.batch_size)
        for some in tag_by_batch(self.model, batches, sentences, decoder=self.decoder):
            yield [(number, self._chosen(one, threshold)) for number, one in some]

    def expect_by_batch(
        self, sentences: Sequence[Sentence]
    ) -> Iterator[tuple[Integers, ExpectedTags]]:
        """Compute the probabilities of tags, with sentence indices; compute a batch when asked for.

        Raises ``ConfigError`` for a tagger of spans.
        """
        prepare_process()
        batches = batches_by_length(self._collator(sentences), batch_size=self.batch_size)
        device = next(self.model.parameters()).device
        for numbers, batch in batches:
            with torch.inference_mode():
                said = self.model.expect(batch.to(device))
            yield numbers, said.to("cpu")

    def too_long(self, sentences: Sequence[Sentence]) -> TooLong:
        """Count and name the gold spans that a span head cannot find; other heads miss none."""
        if not self.model.config.head.scores_spans:
            return {"spans": 0, "some": []}
        return name_too_long(self.model.config, self._encoder.encode(sentences))

    def _chosen(self, one: Tagged, threshold: float) -> Tagged:
        """Map labels by ``label_map``, and drop spans that are less probable than the threshold."""
        if self.label_map is not None:
            one = _renamed(one, self.label_map)
        if threshold <= 0:
            return one
        return replace(one, spans=tuple(s for s in one.spans if s.probability >= threshold))

    def _collator(self, sentences: Sequence[Sentence]) -> SentenceCollator:
        config = self.model.config
        return SentenceCollator(
            self._encoder.encode(sentences),
            features=features_of(sentences, self.gazetteer),
            with_words=config.encoder.reads_words,
            max_span_subwords=config.head.longest_span,
            entities=self.entities,
        )


def tag(
    model: TaggingModel, batches: Iterable[NumberedBatch], sentences: Sequence[Sentence]
) -> list[Tagged]:
    """Find names in sentences, in their order; ``batches`` must contain all of the sentences."""
    return _in_order(tag_by_batch(model, batches, sentences), len(sentences))


def tag_by_batch(
    model: TaggingModel,
    batches: Iterable[NumberedBatch],
    sentences: Sequence[Sentence],
    *,
    decoder: str | None = None,
) -> Iterator[list[tuple[int, Tagged]]]:
    """Find names in sentences; yield for each batch the indices of sentences and what was found."""
    prepare_process()
    device = next(model.parameters()).device
    for numbers, batch in batches:
        # inference_mode is not around the loop, because the caller runs other code in between
        with torch.inference_mode():
            results = model.find(batch.to(device), decoder=decoder)
        yield [
            (n, Tagged(sentence=sentences[n], spans=r.spans, words=r.words, tags=r.tags))
            for n, r in zip(numbers.tolist(), results, strict=True)
        ]


def _in_order(found: Iterable[list[tuple[int, Tagged]]], n_sentences: int) -> list[Tagged]:
    by_number = dict(pair for some in found for pair in some)
    return [by_number[number] for number in range(n_sentences) if number in by_number]


def calibrate(model: TaggingModel, batches: Iterable[NumberedBatch]) -> float:
    """Find the temperature at which gold tags (or spans) are likeliest (Guo et al. 2017).

    It is chosen from ``_TEMPERATURES`` values within ``TEMPERATURE_BOUNDS``.
    """
    device = next(model.parameters()).device
    low, high = (math.log2(bound) for bound in TEMPERATURE_BOUNDS)
    temperatures = torch.logspace(low, high, _TEMPERATURES, base=2, dtype=torch.float64)
    total = torch.zeros(len(temperatures), dtype=torch.float64)
    with torch.inference_mode():
        for _, batch in batches:
            total += model.log_likelihood(batch.to(device), temperatures).double().cpu()
    return float(temperatures[int(total.argmax())])


def _renamed(one: Tagged, labels: LabelMap) -> Tagged:
    """Map the labels of spans; spans whose label is mapped to nothing are left out."""
    targets = ((span, labels.target(span.label)) for span in one.spans)
    spans = tuple(replace(span, label=target) for span, target in targets if target)
    return Tagged(sentence=one.sentence, spans=spans)


def to_mentions(tagged: Tagged) -> Iterator[Mention]:
    """Convert the spans of a document's sentence to mentions of the document's text, in order.

    Raises ``ValueError`` for a sentence without a text.
    """
    sentence = tagged.sentence
    starts = sentence.token_starts
    if starts is None:
        raise ValueError(f"{sentence.id}: has no text that its words stand in.")
    for span in tagged.spans:
        last = span.end - 1
        yield Mention(
            starts[span.start],
            starts[last] + len(sentence.tokens[last]),
            label=span.label,
            origin="prediction",
            score=min(span.probability, 1.0),
        )


def _packed(documents: Iterable[Document]) -> Iterator[list[tuple[Document, list[Sentence]]]]:
    """Group documents with their sentences, as many as are tagged together.

    Sentences have the number of their document as its id: documents may have the same id, and the
    sentences of one are no context of another's.
    """
    some: list[tuple[Document, list[Sentence]]] = []
    n = 0
    for number, document in enumerate(documents):
        if not isinstance(document, Document):
            raise TypeError(f"{document!r:.60} is no Document. A text is tagged as tagger(text).")
        sentences = sentences_of(replace(document, id=str(number)))
        some.append((document, sentences))
        n += len(sentences)
        if n >= _AT_ONCE:
            yield some
            some, n = [], 0
    if some:
        yield some


def sentences_of(document: Document) -> list[Sentence]:
    """Cut a document into sentences and words; its mentions do not affect where words are cut."""
    bare = replace(document, mentions=())
    return [sentence for sentence in to_sentences(bare, lambda _: "test") if sentence.tokens]


def document_of(text: str, *, lang: str | None = None) -> Document:
    """Make a document of a text, with lines as paragraphs, cut into sentences.

    Raises ``TypeError`` for what is no string, and ``CorpusError`` for half a surrogate pair.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"{text!r:.60} is no text. Give a string; a tagger reads a Document as "
            "tagger.annotate(document)."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"The text has half a surrogate pair, at character {error.start} (from 0). Decode it "
            "correctly, or replace such halves: text.encode(errors='replace').decode()."
        ) from error
    breaker = segmenter(lang)
    paragraphs = [Paragraph(s.start, s.end) for s in _lines(text)]
    sentences = [s for p in paragraphs for s in breaker.sentences(text, p)]
    return Document(
        id="text",
        group="text",
        source="text",
        text=text,
        lang=lang,
        paragraphs=tuple(paragraphs),
        sentences=tuple(sentences),
    )


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare:
            begin = start + line.index(bare[0])
            yield Span(begin, begin + len(bare))
        start += len(line)
