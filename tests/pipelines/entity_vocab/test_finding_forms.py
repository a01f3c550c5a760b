"""The search for all forms in documents, unit by unit."""

import shutil

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document
from corpora.runs.plan import Plan, Unit
from pipelines.documents_to_entity_vocab import Options
from pipelines.graph import Run
from pipelines.transforms.entities import count_forms, index_forms
from tests.datasets import document_to_row


def test_a_unit_reads_the_index_of_the_forms_and_none_of_their_shards(tmp_path):
    shards = tmp_path / "shards" / "forms"
    shards.mkdir(parents=True)
    (tmp_path / "tables").mkdir()
    for number, form in enumerate(("Ulm", "Jena")):
        with ShardWriter(shards / f"shard-{number:05}.arrow", SCHEMAS["forms"]) as writer:
            writer.write({"form": form})
    options = Options(input=("documents",), output=tmp_path)
    run = Run.of(Plan("documents_to_entity_vocab", {}, {}, ()), folder=str(tmp_path))
    index_forms(Unit(0), options, run)
    shutil.rmtree(shards)
    row = document_to_row(Document(id="a", group="g", source="s", text="Jena, Jena, Ulm"))
    batch = pa.RecordBatch.from_pylist([row], SCHEMAS["documents"].columns)

    count, found = count_forms([batch], tables=run.work.tables, origins=options.origins)

    assert count.written == 1
    assert found.batch.to_pydict() == {"number": [0, 1], "unlinked": [1, 2]}
