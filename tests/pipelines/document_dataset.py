"""A dataset of documents, as a pipeline would have written it."""

from dataclasses import asdict

from corpora.datasets.rows import document_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.system.writing import write_json


def write_dataset(folder, *shards_of_documents):
    """Write a dataset of documents, a shard for each list."""
    folder.mkdir(parents=True)
    written = []
    for number, documents in enumerate(shards_of_documents):
        path = folder / f"shard-{number:05d}.arrow"
        with ShardWriter(path, SCHEMAS["documents"]) as writer:
            for each in documents:
                writer.write(document_to_row(each))
        written.append(asdict(writer.shard))
    about = {"schema": "documents", "version": 1, "plan": {}, "accounting": {}, "shards": written}
    write_json(folder / "dataset.json", about)
    return folder
