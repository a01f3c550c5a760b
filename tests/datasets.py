"""Datasets as a run publishes them, written by hand."""

from dataclasses import asdict

from corpora.datasets.rows import sentence_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document, Sentence
from corpora.system.writing import write_json


def write_dataset(folder, *parts, schema="documents", plan=None, counters=None, accounting=None):
    """Write a dataset; each part, of rows, documents or sentences, becomes a shard."""
    folder.mkdir(parents=True, exist_ok=True)
    shards = []
    for number, records in enumerate(parts):
        with ShardWriter(folder / f"shard-{number:05}.arrow", SCHEMAS[schema]) as writer:
            for record in records:
                writer.write(as_row(record))
        shards.append(asdict(writer.shard))
    n = sum(shard["rows"] for shard in shards)
    account = {"read": n, "written": n, "filtered": {}, "rejected": {}} | (accounting or {})
    plan = plan or {"fingerprint": "f", "inputs": [], "parameters": {}}
    about = {"schema": schema, "version": SCHEMAS[schema].version, "plan": plan, "shards": shards}
    about |= {"accounting": account, "counters": counters or {}}
    write_json(folder / "dataset.json", about)
    return folder


def document_to_row(document):
    """Return the row of a document, with lists of pairs for its maps."""
    row = asdict(document)
    for owner, name in ((row, "metadata"), *((m, "attributes") for m in row["mentions"])):
        owner[name] = [{"key": key, "value": value} for key, value in owner[name].items()]
    return row


def as_row(record):
    if isinstance(record, Document):
        return document_to_row(record)
    return sentence_to_row(record) if isinstance(record, Sentence) else record
