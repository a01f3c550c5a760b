"""A filter that removes from rows what must be forgotten, above all a person's data.

The list of what to forget holds SHA-256 hashes of ids instead of the ids themselves, so it may be
stored beside data and in plans, and be given to others. ``onoma store forget`` writes
it; pipelines read it (``--forgotten``).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import with_columns
from corpora.datasets.rows import Row
from corpora.datasets.shards import datasets_in, open_dataset
from corpora.document import Document, Sentence
from corpora.errors import CorpusError, UsageError
from corpora.system.parsing import parse_json
from corpora.system.staging import url_of

FORGOTTEN = "forgotten.json"
"""The name of the list in a store."""
Kind = Literal["document", "entity"]
UNREAD = "0" * 32
"""A value for the column ``xml`` of ``reuse`` that no page hashes to: the page is read again."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MENTIONS = {"documents", "blocks"}
_DOCUMENT = {"documents": "id", "reuse": "id"} | dict.fromkeys(
    ("blocks", "ner", "examples"), "document_id"
)
"""Name of a schema to the column that holds the document id of a row."""


def hash_of(kind: Kind, name: str) -> str:
    """Return the SHA-256 under which an id stands in the list."""
    return hashlib.sha256(f"{kind}:{name}".encode()).hexdigest()


def read_hashes(file: Path) -> list[str]:
    """Read the hashes of a list, sorted; raises ``UsageError`` where the file is no such list."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}).") from error
    return sorted({row["sha256"] for row in parse_list(data, where=file)})


def parse_list(data: bytes, *, where: object) -> list[Row]:
    """Parse a list of what to forget; raises ``UsageError`` where it is no such list."""
    try:
        rows = [dict(row) for row in parse_json(data)["forgotten"]]
        if wrong := [row["sha256"] for row in rows if not _SHA256.fullmatch(row["sha256"])]:
            raise ValueError(f"{wrong[0]!r} is no SHA-256")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{where}: not a list of what is to be forgotten ({error}). It is the forgotten.json "
            "that onoma store forget writes: correct it, or copy it again."
        ) from error
    return rows


def _ids_in(kind: Kind, name: str | None) -> Iterator[str]:
    """Yield a name and, if it is a list of ids (``letters:p1 letters:p2``), each of them.

    Only ids have a colon in every part: titles of wikis have spaces, too (``dawiki:Ada Lem``).
    """
    if name is None:
        return
    yield name
    parts = name.split() if kind == "entity" else []
    if parts[1:] and all(":" in part for part in parts):
        yield from parts


@dataclass(slots=True)
class Forgetting:
    """A filter that removes rows and mentions from batches, and counts what it removed.

    Batches of ``documents`` and ``blocks`` must come before those of ``reuse``.
    """

    hashes: frozenset[str]
    counts: Counter[str]
    touched: set[str]
    """Ids of the documents that have lost mentions."""
    found: set[str] = field(default_factory=set)
    """Hashes of the list that an id in the data had."""

    @classmethod
    def of(cls, hashes: Iterable[str]) -> "Forgetting":
        """Build a filter for the rows of a unit or of a version."""
        return cls(frozenset(hashes), Counter(), set())

    def holds(self, kind: Kind, name: str | None) -> bool:
        """Tell whether an id, or one of the ids of a mention that has several, is in the list."""
        found = self.hashes.intersection(hash_of(kind, id) for id in _ids_in(kind, name))
        self.found |= found
        return bool(found)

    def clean(self, batch: pa.RecordBatch, schema: str) -> pa.RecordBatch:
        """Return a batch without what is to be forgotten: the same object if it has none."""
        if column := _DOCUMENT.get(schema):
            batch = self._keep(
                batch, schema, self._matches("document", batch.column(column)), what="documents"
            )
        if schema in _MENTIONS:
            batch = self._without_mentions(batch)
        if schema == "reuse":
            batch = self._unread(batch)
        if schema == "redirects":
            batch = self._without_redirects(batch)
        if schema == "entities":
            batch = self._without_entities(batch)
        return batch

    def clean_record(self, record: Document | Sentence) -> Document | Sentence | None:
        """Remove from a document or sentence what is to be forgotten; None if all of it is."""
        id = record.id if isinstance(record, Document) else record.document_id
        if self.holds("document", id):
            return None
        if isinstance(record, Sentence):
            return record
        kept = tuple(m for m in record.mentions if not self.holds("entity", m.entity))
        self.counts["mentions"] += len(record.mentions) - len(kept)
        return record if len(kept) == len(record.mentions) else replace(record, mentions=kept)

    def _matches(self, kind: Kind, names: pa.Array) -> pa.BooleanArray:
        """Tell for each id whether it is in the list; each distinct id is hashed once."""
        encoded = names.dictionary_encode()
        found = [self.holds(kind, name) for name in encoded.dictionary.to_pylist()]
        return pc.fill_null(pa.array(found, pa.bool_()).take(encoded.indices), False)  # noqa: FBT003

    def _keep(
        self, batch: pa.RecordBatch, schema: str, out: pa.BooleanArray, *, what: str
    ) -> pa.RecordBatch:
        if not pc.any(out).as_py():
            return batch
        self.counts[what if schema == "documents" else f"rows of {schema}"] += pc.sum(out).as_py()
        return batch.filter(pc.invert(out))

    def _without_mentions(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        mentions = batch.column("mentions").flatten()
        if not pc.any(self._matches("entity", mentions.field("entity"))).as_py():
            return batch
        name = _DOCUMENT["documents" if "group" in batch.schema.names else "blocks"]
        rows = []
        ids, mentions = (batch.column(column).to_pylist() for column in (name, "mentions"))
        for id, of in zip(ids, mentions, strict=True):
            kept = [m for m in of or () if not self.holds("entity", m["entity"])]
            if len(kept) < len(of or ()):
                self.counts["mentions"] += len(of) - len(kept)
                self.touched.add(id)
            rows.append(kept if of is not None else None)
        return with_columns(batch, {"mentions": rows})

    def _unread(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Mark pages whose mentions were taken out to be read again: the rows are outdated."""
        ids = batch.column("id").to_pylist()
        if self.touched.isdisjoint(ids):
            return batch
        for name, none in (("xml", UNREAD), ("led_on", []), ("blocks_led_on", None)):
            old = batch.column(name).to_pylist()
            rows = [none if id in self.touched else v for id, v in zip(ids, old, strict=True)]
            batch = with_columns(batch, {name: rows})
        return batch

    def _without_redirects(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        wikis = [id.partition(":")[0] for id in batch.column("id").to_pylist()]
        out = [False] * len(wikis)
        for name in ("title", "target", "resolved"):
            titles = batch.column(name).to_pylist()
            for i, (wiki, title) in enumerate(zip(wikis, titles, strict=True)):
                out[i] |= self.holds("entity", f"{wiki}:{title}")
        return self._keep(batch, "redirects", pa.array(out, pa.bool_()), what="")

    def _without_entities(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Retire forgotten entities under a neutral name; the ids of other entities stay."""
        names = (batch.column("entity"), pc.list_flatten(batch.column("names")))
        if not any(pc.any(self._matches("entity", column)).as_py() for column in names):
            return batch
        rows = batch.to_pylist()
        for row in rows:
            names_of_row = (row["entity"], *(row["names"] or ()))
            if sum(self.holds("entity", name) for name in names_of_row):
                self.counts["entities"] += 1
                nothing: dict[str, object] = dict.fromkeys(row, None)
                entry = {"id": row["id"], "entity": f"[forgotten {row['id']}]", "count": 0}
                lists = {"counts": [], "aliases": [], "retired": True}
                row.update(nothing | entry | lists)
        return pa.RecordBatch.from_pylist(rows, schema=batch.schema)


def held_by(folder: Path, hashes: Sequence[str]) -> Forgetting:
    """Find and count what a run or a dataset holds of a list; reads all rows."""
    forgetting = Forgetting.of(hashes)
    for dataset in map(open_dataset, datasets_in(folder)):
        for batch in dataset.batches():
            forgetting.clean(batch, dataset.schema.name)
    return forgetting


def check_forgotten(source: Path, file: Path) -> None:
    """Raise ``CorpusError`` where a run holds anything on the store's list."""
    if not file.exists():
        return
    if counts := +held_by(source, read_hashes(file)).counts:
        raise CorpusError(
            f"{source}: holds what is to be forgotten ({listed(counts)}). Run the pipeline again "
            f"with --forgotten {url_of(file) or file}."
        )


def listed(counts: Mapping[str, int]) -> str:
    """Write how much of each kind is forgotten."""
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items()))
