"""Transforms from text files to records, and from records to documents."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corpora.datasets.shards import CHARACTERS_PER_BATCH
from corpora.document import Rejected
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_record
from corpora.text.characters import Normalization
from corpora.text.documents import DocumentMaker
from corpora.text.reader import Settings, read_unit
from corpora.text.records import Record
from pipelines.outcomes import Counts, Filtered, Passed, Rows, Yield
from pipelines.transforms.elements import PerUnit


@dataclass(frozen=True, slots=True)
class TextRecord:
    """A record of a text file, and the name of the file."""

    source: str
    record: Record


def read_text(unit: Unit, *, settings: Settings) -> Iterator[TextRecord | Rejected | Counts]:
    """Read the records of text files: plain text, JSON Lines, WikiExtractor's output.

    Of the files of a unit, or its part of a file; at most as many records as its limit.
    """
    counters: Counter[str] = Counter()
    for source, record in read_unit(unit, settings, counters=counters):
        yield record if isinstance(record, Rejected) else TextRecord(source, record)
    yield Counts(counters)


class MakeDocuments(PerUnit[TextRecord, Yield]):
    """Make documents from records: cleaned, with paragraphs, sentences and ids.

    ``PCollection[InUnit[TextRecord]]`` -> ``PCollection[InUnit[Passed | Filtered | Rejected |
    Rows | Counts]]``; rows of ``pages``.
    """

    lang: str | None = None
    license: str | None = None
    paragraphs: str = "auto"
    normalization: Normalization = "none"
    group: str | None = None
    """The group of all documents; None: the name of the folder of the file."""
    folder: str | None = None
    """The name of the folder that all files share: the group of files that lie in no subfolder."""

    def start(self) -> None:
        """Make an empty maker of documents."""
        self._maker = DocumentMaker(
            lang=self.lang,
            license=self.license,
            paragraphs=self.paragraphs,
            normalization=self.normalization,
        )

    def process(self, of: TextRecord) -> Iterator[Yield]:
        """Make a document from a record."""
        group = self.group or Path(of.source).parent.name or self.folder or "text"
        reason = read_record(
            partial(self._maker.add, of.record, source=of.source, group=group),
            source=of.source,
            position=f"document {of.record.id}",
            excerpt=of.record.text,
        )
        if isinstance(reason, Rejected):
            yield reason
        else:
            yield Filtered(of.source, reason) if reason else Passed()
        if self._maker.documents.n_characters >= CHARACTERS_PER_BATCH:
            yield Rows("pages", self._maker.documents.batch())

    def finish(self) -> Iterator[Yield]:
        """Yield the last documents."""
        yield Rows("pages", self._maker.documents.batch())
        yield Counts(self._maker.counters)
