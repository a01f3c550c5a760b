"""Datasets of documents and entities, and two versions of one compared."""

from dataclasses import asdict

from corpora.datasets.rows import document_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.diff.__main__ import compare_all
from corpora.document import Document, Mention
from corpora.system.writing import write_json


def document(number, title=None, text="Ein Text.", *, links=1, **more):
    mentions = tuple(Mention(i, i + 1, f"klwiki:{i}", origin="link") for i in range(links))
    title = title or f"Titel {number}"
    return Document(
        id=f"klwiki:{number}",
        group="klwiki",
        source="dump",
        lang="de",
        title=title,
        text=text,
        mentions=mentions,
        **more,
    )


def write_rows(folder, schema, rows, *, n_shards=2, **account):
    """Write a dataset of rows, dealt out to shards."""
    folder.mkdir(parents=True)
    shards = []
    size = -(-len(rows) // n_shards) or 1
    for number in range(n_shards):
        path = folder / f"shard-{number:05d}.arrow"
        with ShardWriter(path, SCHEMAS[schema]) as writer:
            for row in rows[number * size :][:size]:
                writer.write(row)
        shards.append(asdict(writer.shard))
    accounting = {"read": len(rows), "written": len(rows), "filtered": {}, "rejected": {}} | account
    about = {
        "schema": schema,
        "version": SCHEMAS[schema].version,
        "plan": {"fingerprint": "f"},
        "shards": shards,
    }
    write_json(folder / "dataset.json", about | {"accounting": accounting, "counters": {"x.y": 3}})
    return folder


def write_documents(folder, documents, **account):
    return write_rows(folder, "documents", [document_to_row(d) for d in documents], **account)


def entity(id, name, *, page=None, count=1, retired=False):
    return {
        "id": id,
        "entity": name,
        "title": name.partition(":")[2],
        "page_id": page,
        "count": count,
        "counts": [],
        "aliases": [],
        "retired": retired,
    }


def compare_documents(tmp_path, old, new, **settings):
    write_documents(tmp_path / "old", old)
    write_documents(tmp_path / "new", new)
    [of] = compare_all(tmp_path / "old", tmp_path / "new", **settings)
    return of


def values_of(of):
    return {drift.name: (drift.old, drift.new) for drift in of.drift}


def pair(tmp_path, *, n_new=80, links=1, **account):
    write_documents(tmp_path / "old", [document(n) for n in range(100)])
    new = [document(n, links=links) for n in range(n_new)]
    write_documents(tmp_path / "new", new, **account)
    return [str(tmp_path / "old"), str(tmp_path / "new")]
