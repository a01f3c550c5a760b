"""Revisions of pages: of those with the same id the newest counts, whatever their order.

A dump may hold several revisions in one ``<page>``, or each in a ``<page>`` of its own, anywhere.
The first stage of a run notes each page that it reads, with its outcome, as a row of
``wiki_revisions``; when all are there, the outcomes of the newest revisions are counted, and the
rows that older ones made are dropped.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.repeated_ids import are_among, equal_among, hashes_of_ids
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Rejected
from corpora.runs.duplicates import duplicate, note_dropped
from corpora.runs.work_directory import WorkDirectory

OLDER, REDIRECT = "older_revision", "redirect"
"""Reasons why a page is filtered."""
REVISIONS = "revisions"
DATASETS = (REVISIONS, "pages", "found_redirects")
"""The datasets between the stages: of all pages, of articles, of redirects."""
_REMEDY = "this revision a second time. Is a file given twice?"
_SCHEMA = SCHEMAS["wiki_revisions"]
_KEY = ("id", "timestamp", "revision")
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_REVISION = re.compile(
    rb"<revision>\s*<id>(\d+)</id>\s*(?:<parentid>\d*</parentid>\s*)?<timestamp>([^<]*)</timestamp>"
)


class Revision(NamedTuple):
    """A revision; the newer is the greater one."""

    timestamp: str
    n_digits: int
    id: str

    @classmethod
    def of(cls, timestamp: str, id: str) -> "Revision":
        """Build a revision from its time and its number, both as the dump has them."""
        return cls(timestamp, len(id), id)


def revisions_in(xml: bytes) -> list[Revision]:
    """Find the revisions of a page without reading it; empty if they have an unusual form."""
    revisions = [
        Revision.of(timestamp.decode("utf-8", "replace"), id.decode())
        for id, timestamp in _REVISION.findall(xml)
    ]
    return revisions if len(revisions) == xml.count(b"<revision") else []


def title_in(xml: bytes) -> str:
    """Find the title of a page without reading it; empty if it has an unusual form."""
    title = _TITLE.search(xml)
    return unescape(title[1].decode("utf-8", "replace")) if title else ""


@dataclass(slots=True)
class RevisionRows:
    """A collector of rows of ``wiki_revisions``."""

    _rows: list[tuple[str | None, ...]] = field(default_factory=list)

    def add(
        self,
        id: str,
        revision: Revision,
        *,
        outcome: str | None = None,
        title: str | None = None,
        meaning: str | None = None,
        name: str | None = None,
    ) -> None:
        """Add a page; ``title`` is to be reported, ``name`` may be written in another script."""
        self._rows.append((id, revision.timestamp, revision.id, outcome, title, meaning, name))

    def batch(self) -> pa.RecordBatch:
        """Return all rows."""
        columns = [*zip(*self._rows, strict=True)] or [()] * len(_SCHEMA.columns)
        arrays = [pa.array(column, pa.string()) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA.columns)


def find_superseded(shards: Sequence[Path], schema: str) -> list[dict[int, bool]]:
    """Find, in each shard, the rows that are not the first with the newest revision of their id.

    The value tells whether the revision is older; if not, it is the newest once more. Keeps half a
    kilobyte a row whose id stands several times.
    """
    suspects = equal_among(hashes_of_ids(shards, SCHEMAS[schema]))
    keys = [
        (number, row, id, revision)
        for number, path in enumerate(shards if len(suspects) else ())
        for row, id, revision in _keys(path, schema, are_among(path, SCHEMAS[schema], suspects))
    ]
    newest: dict[str, Revision] = {}
    for _, _, id, revision in keys:
        newest[id] = max(revision, newest.get(id, revision))
    dropped: list[dict[int, bool]] = [{} for _ in shards]
    seen: set[str] = set()
    for number, row, id, revision in keys:
        is_older = revision < newest[id]
        if is_older or id in seen:
            dropped[number][row] = is_older
        else:
            seen.add(id)
    return dropped


def newest_rows(shards: Sequence[Path], schema: str) -> Iterator[pa.RecordBatch]:
    """Read the rows of shards without those that ``find_superseded`` finds."""
    for path, others in zip(shards, find_superseded(shards, schema), strict=True):
        start = 0
        for batch in read_batches(path, schema):
            rows = [row for row in range(len(batch)) if start + row not in others]
            start += len(batch)
            yield batch.take(pa.array(rows, pa.int64())) if others else batch


def _keys(
    path: Path, schema: str, wanted: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, str, Revision]]:
    """Yield index, id and revision of the wanted rows of a shard."""
    start = 0
    for batch in read_batches(path, schema, columns=_KEY) if wanted.any() else ():
        rows = np.flatnonzero(wanted[start : start + len(batch)])
        for row, each in zip(rows.tolist(), batch.take(pa.array(rows)).to_pylist(), strict=True):
            yield start + row, each["id"], Revision.of(each["timestamp"], each["revision"])
        start += len(batch)


@dataclass(slots=True)
class Outcomes:
    """The outcomes of the pages of a dump."""

    filtered: Counter[str] = field(default_factory=Counter)
    without_text: Counter[str] = field(default_factory=Counter)
    """The titles of the pages that have no text."""
    repeated: list[Rejected] = field(default_factory=list)
    """Articles whose newest revision stands in the dump once more."""


def choose_newest(work: WorkDirectory) -> Outcomes:
    """Count the outcomes of the newest revisions; note the rows of all others, to be dropped."""
    shards = work.shards(REVISIONS)
    outcomes = Outcomes()
    dropped: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for unit, others in enumerate(find_superseded(shards, "wiki_revisions")):
        batches = read_batches(shards[unit], "wiki_revisions")
        rows = pa.Table.from_batches(batches, _SCHEMA.columns)
        _count(rows, others, into=outcomes)
        for row, is_older in others.items():
            if not is_older and not rows["outcome"][row].is_valid:
                source = _source_of(work.shard("pages", unit))
                id = rows["id"][row].as_py()
                outcomes.repeated.append(duplicate(source, id, remedy=_REMEDY))
        for dataset, made in _rows_made(rows) if others else ():
            dropped[dataset][unit] = [int(made[row]) for row in others if made[row] >= 0]
    for dataset in DATASETS:
        note_dropped(work, dataset, dropped[dataset])
    return outcomes


def _source_of(pages: Path) -> str:
    """Read the name of the file that a unit's pages are of."""
    batches = read_batches(pages, "wiki_pages", columns=("source",))
    return next(str(batch.column(0)[0]) for batch in batches)


def _count(rows: pa.Table, others: Mapping[int, bool], *, into: Outcomes) -> None:
    """Count the outcomes of a unit's pages; ``others`` are those that are not the newest."""
    is_older = np.zeros(len(rows), bool)
    is_older[[row for row, older in others.items() if older]] = True
    into.filtered[OLDER] += int(is_older.sum())
    rows = rows.filter(pa.array(~is_older))
    for count in pc.value_counts(rows["outcome"].drop_null()).to_pylist():
        into.filtered[count["values"]] += count["counts"]
    into.without_text.update(rows["title"].drop_null().to_pylist())


def _rows_made(rows: pa.Table) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Yield for each dataset the index of the row that each page made in it, -1 for none."""
    is_article = rows["outcome"].is_null()
    is_redirect = pc.equal(rows["outcome"], REDIRECT).fill_null(False)  # noqa: FBT003
    for dataset, made_row in zip(DATASETS, (None, is_article, is_redirect), strict=True):
        has = np.ones(len(rows), bool) if made_row is None else made_row.to_numpy()
        yield dataset, np.where(has, np.cumsum(has) - 1, -1)
