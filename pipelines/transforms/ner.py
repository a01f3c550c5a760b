"""Transforms that read published NER sets, make rows of them, and choose splits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from corpora.document import Rejected
from corpora.hashing.splits import SPLITS, with_splits
from corpora.ner.files import Part, read_file
from corpora.ner.found import Found, Origin
from corpora.ner.labels import LabelMap, load_label_map
from corpora.ner.layout import Layout
from corpora.ner.sentence_rows import RowMaker
from corpora.ner.sources import with_counts_of_source
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_file_records
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import PerRecord, PerUnit, ReadUnits


@dataclass(frozen=True, slots=True)
class FoundSentences:
    """Sentences of a file, or of a part of it, with the tags of the file."""

    source: str
    """The relative name of the file."""
    found: Found
    origin: Origin
    layout: Layout
    position: str = ""


class ReadNerFiles(ReadUnits[FoundSentences | Rejected | Counts]):
    """Read the sentences of NER files, with the tags of the files.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[FoundSentences | Rejected | Counts]]``
    """

    layouts: Mapping[str, Layout]
    """Name of each file to its layout."""
    texts: Mapping[str, InputFile] = field(default_factory=dict)
    """Name of each file of brat's standoff to the file with its text."""

    def read(self, unit: Unit) -> Iterator[FoundSentences | Rejected | Counts]:
        """Read the files of a unit, or its part of a file; raises ``InputChangedError``."""
        for file in unit.inputs:
            layout = self.layouts[file.name]
            if layout.encoding != "utf-8":
                yield Counts({f"encoding.{layout.encoding}": 1})
            text = self.texts.get(file.name)
            of_file = read_file(
                file.check(),
                layout,
                name=file.name,
                part=Part(**unit.part),
                text=text.check() if text else None,
            )
            for of_part in read_file_records(of_file, source=file.name):
                if isinstance(of_part, Rejected):
                    yield of_part
                    continue
                found, origin = of_part
                if isinstance(found, Rejected):
                    yield found
                else:
                    yield FoundSentences(file.name, found, origin, layout)


class MakeNerRows(PerRecord[FoundSentences, Rows | Counts | Rejected]):
    """Make rows from sentences: tags become IOB2, labels are mapped, long sentences cut.

    ``PCollection[InUnit[FoundSentences]]`` -> ``PCollection[InUnit[Rows | Counts | Rejected]]``
    """

    splits: Mapping[str, str] = field(default_factory=dict)
    """Name of a file to its split; other files are ``train`` until ``DivideSentences``."""
    illegal: Literal["repair", "reject"] = "repair"
    """Whether tags that their scheme does not allow are repaired, or their sentences rejected."""
    labels: InputFile | None = None
    """The file of a map of labels; None: labels stay as they are."""
    max_tokens: int = 0
    """The most tokens of a sentence; longer ones are cut. 0: none are."""

    def read(self, record: FoundSentences) -> Iterator[Rows | Counts | Rejected]:
        """Make the rows of some sentences."""
        maker = RowMaker(
            split=self.splits.get(record.source, SPLITS[0]),
            illegal=self.illegal,
            labels=_label_map(self.labels) if self.labels else None,
            max_tokens=self.max_tokens,
        )
        made = maker.make(record.found, record.layout, record.origin)
        yield from made.rejected
        yield from Rows.each("", made.batches)
        yield Counts(
            with_counts_of_source(made.counters, record.source, n_rejected=len(made.rejected)),
            read=made.n_records,
            written=made.n_records,
        )


@cache
def _label_map(file: InputFile) -> LabelMap:
    file.read()  # raises if the file has changed since the plan was made
    return load_label_map(file.check())


class DivideSentences(PerUnit[Rows, Rows]):
    """Choose the split of each sentence by the hash of its document id, or of its id.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``
    """

    by: Literal["document", "sentence"]
    """What is never divided between splits."""
    ratios: Mapping[str, float]
    """The weight of each split."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """Name of a file that is not divided to its split; a unit has only such files, or none."""

    def start(self) -> None:
        """Find out whether the files of the unit are divided."""
        self._is_divided = self.unit.inputs[0].name not in self.splits

    def process(self, rows: Rows) -> Iterator[Rows]:
        """Assign splits to rows."""
        if self._is_divided:
            column = "document_id" if self.by == "document" else "id"
            batch = with_splits(rows.batch, by=column, ratios=self.ratios)
            rows = Rows(rows.dataset, batch)
        yield rows
