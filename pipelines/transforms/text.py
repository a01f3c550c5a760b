"""From text files to documents."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.datasets.shards import CHARACTERS_PER_BATCH
from corpora.document import Rejected
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_record
from corpora.text.documents import DocumentMaker
from corpora.text.reader import read_unit
from pipelines.graph import Run
from pipelines.outcomes import Counts, Filtered, Rows, Yield

if TYPE_CHECKING:
    from pipelines.text_to_documents import TextRunSettings


def make_documents(unit: Unit, settings: "TextRunSettings", _: Run) -> Iterator[Yield]:
    """Read plain text, JSON Lines or WikiExtractor's output, and make documents: rows of ``pages``.

    Reads the files of a unit, or its part of a file, at most as many records as its limit.
    Documents are cleaned, with paragraphs, sentences and ids. Their group is that of the settings,
    or the name of the folder of the file.
    """
    maker = DocumentMaker(
        lang=settings.lang,
        license=settings.license,
        paragraphs=settings.paragraphs,
        normalization=settings.normalize,
    )
    counters: Counter[str] = Counter()
    for source, record in read_unit(unit, settings.read, counters=counters):
        if isinstance(record, Rejected):
            yield record
            continue
        of_file = settings.group or Path(source).parent.name or settings.folder or "text"
        reason = read_record(
            partial(maker.add, record, source=source, group=of_file),
            source=source,
            position=f"document {record.id}",
            excerpt=record.text,
        )
        if isinstance(reason, Rejected):
            yield reason
        else:
            yield Filtered(reason) if reason else Counts(read=1)
        if maker.documents.n_characters >= CHARACTERS_PER_BATCH:
            yield Rows("pages", maker.documents.batch())
    yield Counts(counters)
    yield Rows("pages", maker.documents.batch())
    yield Counts(maker.counters)
