"""Datasets of documents and entities, and two versions of one compared."""

from corpora.diff.__main__ import compare_all
from corpora.document import Document, Mention
from tests.datasets import write_dataset


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
    """Write a dataset of rows or documents, dealt out to shards."""
    size = -(-len(rows) // n_shards) or 1
    parts = [rows[number * size :][:size] for number in range(n_shards)]
    about = {"plan": {"fingerprint": "f"}, "counters": {"x.y": 3}, "accounting": account}
    return write_dataset(folder, *parts, schema=schema, **about)


def write_documents(folder, documents, **account):
    return write_rows(folder, "documents", documents, **account)


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
