"""Transforms that read published NER sets, make rows of them, and choose splits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from corpora.document import Rejected
from corpora.hashing.splits import SPLITS, parse_ratios, with_splits
from corpora.ner.files import FilePart, read_file
from corpora.ner.found import Origin, PartSentences
from corpora.ner.labels import LabelMap, load_label_map
from corpora.ner.layout import FileLayout
from corpora.ner.sentence_rows import RowMaker
from corpora.ner.sources import with_counts_of_source
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_file_records
from pipelines.outcomes import Counts, Rows

if TYPE_CHECKING:
    from pipelines.benchmark_to_ner import BenchmarkSettings


@dataclass(frozen=True, slots=True)
class FoundSentences:
    """Sentences of a file, or of a part of it, with the tags of the file."""

    source: str
    """The relative name of the file."""
    found: PartSentences
    origin: Origin
    layout: FileLayout
    position: str = ""


def read_ner_files(
    unit: Unit, *, layouts: Mapping[str, FileLayout], texts: Mapping[str, InputFile]
) -> Iterator[FoundSentences | Rejected | Counts]:
    """Read the sentences of the files of a unit, or of its part of a file.

    ``layouts``: name of each file to its layout; ``texts``: name of each file of brat's standoff to
    the file with its text. Raises ``InputChangedError``.
    """
    for file in unit.inputs:
        layout = layouts[file.name]
        if layout.encoding != "utf-8":
            yield Counts({f"encoding.{layout.encoding}": 1})
        text = texts.get(file.name)
        of_file = read_file(
            file.check(),
            layout,
            name=file.name,
            part=FilePart(**unit.part),
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


def make_ner_rows(
    record: FoundSentences, *, settings: "BenchmarkSettings", labels: InputFile | None
) -> Iterator[Rows | Counts | Rejected]:
    """Make rows from sentences: tags become IOB2, labels are mapped, long sentences cut.

    Files that are cut are divided by the hash of each document id, or of each sentence id.
    ``labels``: the file of a map of labels, if any.
    """
    is_cut = settings.is_cut(record.source)
    maker = RowMaker(
        split=SPLITS[0] if is_cut else settings.splits[record.source],
        illegal=settings.illegal,
        labels=_label_map(labels) if labels else None,
        max_tokens=settings.max_tokens,
    )
    made = maker.make(record.found, record.layout, record.origin)
    yield from made.rejected
    batches = iter(made.batches)
    if is_cut:
        column = "document_id" if settings.split == "document" else "id"
        ratios = parse_ratios(settings.ratios)
        batches = (with_splits(batch, by=column, ratios=ratios) for batch in batches)
    yield from Rows.each("", batches)
    yield Counts(
        with_counts_of_source(made.counters, record.source, n_rejected=len(made.rejected)),
        read=made.n_records,
        written=made.n_records,
    )


@cache
def _label_map(file: InputFile) -> LabelMap:
    file.read()  # raises if the file has changed since the plan was made
    return load_label_map(file.check())
