"""TEI files to documents, and documents to the sentences that name taggers are trained on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from corpora.document import Document, Rejected, Sentence
from corpora.hashing.sampling import choose
from corpora.ner.alignment import Nested, count_untagged, to_sentences
from corpora.runs.plan import InputFile, Unit
from corpora.tei.edition import Edition, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.xml import XmlError
from pipelines.outcomes import Filtered, Written
from pipelines.transforms.elements import PerRecord
from pipelines.transforms.files import SourceFile


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The documents of a file, and what was counted while it was parsed."""

    source: str
    documents: Sequence[Document]
    counters: Mapping[str, int]
    position: str = ""


@dataclass(kw_only=True, eq=False)
class ParseTei(PerRecord[SourceFile, ParsedFile | Filtered | Rejected]):
    """Parse TEI files: their text, with names beside it.

    ``PCollection[InUnit[SourceFile]]`` -> ``PCollection[InUnit[ParsedFile | Filtered | Rejected]]``
    """

    edition: InputFile
    """The table that says which element means what."""
    takes = SourceFile

    def read(self, record: SourceFile, unit: Unit) -> Iterator[ParsedFile | Filtered | Rejected]:  # noqa: ARG002
        """Parse a file."""
        try:
            texts = read_tei(record.data, _edition(self.edition), name=record.source)
        except XmlError as error:
            yield Rejected(
                source=record.source,
                position=error.position,
                reason=error.reason,
                message=str(error),
                excerpt=error.excerpt,
            )
            return
        documents = [text.document for text in texts if text.document is not None]
        if documents:
            counters = sum((text.counters for text in texts), Counter[str]())
            yield ParsedFile(record.source, documents, counters)
        else:
            yield Filtered(record.source, "no_text")


@cache
def _edition(file: InputFile) -> Edition:
    file.read()  # raises where it changed since the plan was made
    return load_edition(file.check())


@dataclass(kw_only=True, eq=False)
class ToSentences(PerRecord[ParsedFile, Written]):
    """Cut documents into sentences of tagged tokens.

    ``PCollection[InUnit[ParsedFile]]`` -> ``PCollection[InUnit[Written]]``: of each file its
    documents, and their sentences. The unit knows the split of each file; a file that it does not
    know is split by sentence, by ``ratios`` and ``seed``.
    """

    nested: Nested = "outer"
    """Which of nested names are tagged."""
    ratios: Mapping[str, float]
    """Weight of each split."""
    seed: int = 1
    takes = ParsedFile

    def read(self, record: ParsedFile, unit: Unit) -> Iterator[Written]:
        """Cut the documents of a file."""
        counters = Counter(record.counters)
        split = partial(self._split, unit.settings.get(record.source))
        sentences: list[Sentence] = []
        for document in record.documents:
            counters += count_untagged(document, self.nested)
            sentences.extend(to_sentences(document, split, nested=self.nested))
        yield Written([*record.documents, *sentences], counters)

    def _split(self, of_file: str | None, id: str) -> str:
        return of_file or choose(id, self.ratios, seed=self.seed)
