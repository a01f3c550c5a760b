"""A small entity vocabulary."""

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.entities.vocabulary import EntityVocab
from corpora.examples import mentions
from corpora.system.writing import write_json
from tests.corpora.examples.small_examples import ENTITIES


@pytest.fixture(scope="module")
def short_mentions():
    """Let mentions of more than four subwords be too long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mentions, "MAX_SUBWORDS", 4)
        yield


@pytest.fixture(scope="module")
def vocab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocab")
    rows = [(name, 0, False) for name in ("[PAD]", "[UNK]", "[MASK]")]
    rows += [(name, count, False) for name, count in ENTITIES.items()] + [("x:Gone", 5, True)]
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["entities"]) as writer:
        for id, (entity, count, retired) in enumerate(rows):
            writer.write({"id": id, "entity": entity, "count": count, "retired": retired})
    shard = {name: getattr(writer.shard, name) for name in ("name", "rows", "bytes", "sha256")}
    description = {"schema": "entities", "version": 1, "shards": [shard]}
    write_json(folder / "dataset.json", {**description, "plan": {}, "accounting": {}})
    return EntityVocab(folder)
