"""The search for all forms in documents, unit by unit."""

import shutil

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document
from corpora.runs.work_directory import WorkDirectory
from pipelines.transforms.entities import count_forms, index_forms
from tests.datasets import document_to_row


def test_a_unit_reads_the_index_of_the_forms_and_none_of_their_shards(tmp_path):
    shards = tmp_path / "shards" / "forms"
    shards.mkdir(parents=True)
    (tmp_path / "tables").mkdir()
    for number, form in enumerate(("Ulm", "Jena")):
        with ShardWriter(shards / f"shard-{number:05}.arrow", SCHEMAS["forms"]) as writer:
            writer.write({"form": form})
    index_forms(WorkDirectory(tmp_path))
    shutil.rmtree(shards)
    row = document_to_row(Document(id="a", group="g", source="s", text="Jena, Jena, Ulm"))
    batch = pa.RecordBatch.from_pylist([row], SCHEMAS["documents"].columns)

    count, found = count_forms([batch], work=WorkDirectory(tmp_path), origins=("link",))

    assert count.written == 1
    assert found.batch.to_pydict() == {"number": [0, 1], "unlinked": [1, 2]}
