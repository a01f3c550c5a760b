"""From text files to documents."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from corpora.datasets.shards import CHARACTERS_PER_BATCH
from corpora.document import Rejected
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_record
from corpora.text.characters import Normalization
from corpora.text.documents import DocumentMaker
from corpora.text.reader import TextSettings, read_unit
from pipelines.outcomes import Counts, Filtered, Passed, Rows, Yield


def make_documents(
    unit: Unit,
    *,
    settings: TextSettings,
    lang: str | None = None,
    license: str | None = None,
    paragraphs: str = "auto",
    normalization: Normalization = "none",
    group: str | None = None,
    folder: str | None = None,
) -> Iterator[Yield]:
    """Read plain text, JSON Lines or WikiExtractor's output, and make documents: rows of ``pages``.

    Reads the files of a unit, or its part of a file, at most as many records as its limit.
    Documents are cleaned, with paragraphs, sentences and ids. ``group``: that of all documents;
    None: the name of the folder of the file; ``folder``: that which all files share: the group of
    files that lie in no subfolder.
    """
    maker = DocumentMaker(
        lang=lang, license=license, paragraphs=paragraphs, normalization=normalization
    )
    counters: Counter[str] = Counter()
    for source, record in read_unit(unit, settings, counters=counters):
        if isinstance(record, Rejected):
            yield record
            continue
        of_file = group or Path(source).parent.name or folder or "text"
        reason = read_record(
            partial(maker.add, record, source=source, group=of_file),
            source=source,
            position=f"document {record.id}",
            excerpt=record.text,
        )
        if isinstance(reason, Rejected):
            yield reason
        else:
            yield Filtered(source, reason) if reason else Passed()
        if maker.documents.n_characters >= CHARACTERS_PER_BATCH:
            yield Rows("pages", maker.documents.batch())
    yield Counts(counters)
    yield Rows("pages", maker.documents.batch())
    yield Counts(maker.counters)
