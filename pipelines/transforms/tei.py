"""Transforms from TEI files to documents, and from these to sentences for name taggers."""

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from corpora.document import Rejected, Sentence
from corpora.hashing.sampling import choose
from corpora.ner.alignment import Nested, count_untagged, to_sentences
from corpora.registers.lines import read_with_lines
from corpora.registers.linking import identify_text
from corpora.registers.register import Register, read_registers
from corpora.runs.plan import InputFile
from corpora.tei.edition import Edition, load_edition
from corpora.tei.include import Part
from corpora.tei.languages import Abbreviations
from corpora.tei.reader import TeiText, read_tei
from corpora.tei.xml import XmlError
from pipelines.outcomes import Counts, Filtered, Written
from pipelines.transforms.elements import PerRecord
from pipelines.transforms.files import SourceFile


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The documents of a file."""

    source: str
    texts: Sequence[TeiText]
    position: str = ""


class ParseTei(PerRecord[SourceFile, ParsedFile | Counts | Filtered | Rejected]):
    """Parse TEI files to documents with mentions.

    ``PCollection[InUnit[SourceFile]]`` -> ``PCollection[InUnit[ParsedFile | Counts | Filtered |
    Rejected]]``
    """

    edition: InputFile
    """The edition file, which says what elements mean."""
    registers: tuple[InputFile, ...] = ()
    """Files of registers, whose entries become the entities of mentions."""
    has_lines: bool = False
    """Whether documents hold the line numbers of their text in its file."""
    learned: Mapping[str, Abbreviations] = field(default_factory=dict)
    """Learned abbreviations of the edition, by language."""
    included: Mapping[str, InputFile] = field(default_factory=dict)
    """Included files, by name."""
    repeated: Mapping[str, Collection[Part]] = field(default_factory=dict)
    """For each file, what it includes and an earlier file has included."""
    max_bytes: int = sys.maxsize
    """The most bytes of a file together with all that it includes."""

    def read(self, record: SourceFile) -> Iterator[ParsedFile | Counts | Filtered | Rejected]:
        """Parse a file."""
        try:
            texts = self._texts(record)
        except XmlError as error:
            yield Rejected(
                source=record.source,
                position=error.position,
                reason=error.reason,
                message=str(error),
                excerpt=error.excerpt,
            )
            return
        if any(text.document for text in texts):
            yield ParsedFile(record.source, texts)
        else:
            yield Counts(sum((text.counters for text in texts), Counter[str]()))
            yield Filtered(record.source, "no_text")

    def _texts(self, record: SourceFile) -> list[TeiText]:
        edition = _edition(self.edition, json.dumps(self.learned))
        if not self.has_lines:
            return read_tei(
                record.data,
                edition,
                name=record.source,
                included=self.included,
                repeated=self.repeated.get(record.source, ()),
                max_bytes=self.max_bytes,
            )
        texts = read_with_lines(record.data, edition, name=record.source)
        if not self.registers:
            return texts
        register = _register(self.registers).read_by(edition)
        return [identify_text(text, register) for text in texts]


@cache
def _register(files: tuple[InputFile, ...]) -> Register:
    return read_registers((file.name, file.read()) for file in files)


@cache
def _edition(file: InputFile, learned: str) -> Edition:
    file.read()  # raises if the file has changed since the plan was made
    return load_edition(file.check()).with_learned(json.loads(learned))


class ToSentences(PerRecord[ParsedFile, Written]):
    """Cut documents into sentences of tagged tokens.

    ``PCollection[InUnit[ParsedFile]]`` -> ``PCollection[InUnit[Written]]``: the documents of each
    file, and their sentences. The settings of the unit give the split of each file; other files are
    split by sentence or document, by ``ratios`` and ``seed``.
    """

    nested: Nested = "outer"
    """The level of nested names that is tagged."""
    by_document: bool = False
    """Whether other files are split by document, instead of by sentence."""
    ratios: Mapping[str, float]
    """The weight of each split."""
    seed: int = 1

    def read(self, record: ParsedFile) -> Iterator[Written]:
        """Cut the documents of a file."""
        counters = Counter[str]()
        sentences: list[Sentence] = []
        documents = []
        for text in record.texts:
            counters += text.counters
            if document := text.document:
                documents.append(document)
                split = partial(self._split, self.unit.settings.get(record.source), text.split_with)
                counters += count_untagged(document, self.nested)
                sentences += to_sentences(
                    document, split, nested=self.nested, segmenter_at=text.segmenters.at
                )
        yield Written([*documents, *sentences], counters)

    def _split(self, of_file: str | None, document: str, id: str) -> str:
        by = document if self.by_document else id
        return of_file or choose(by, self.ratios, seed=self.seed)
