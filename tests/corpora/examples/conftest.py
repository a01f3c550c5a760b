"""A small entity vocabulary."""

import pytest

from corpora.entities.vocabulary import EntityVocab
from corpora.examples import mentions
from tests.corpora.examples.small_examples import ENTITIES
from tests.datasets import write_dataset


@pytest.fixture(scope="module")
def short_mentions():
    """Let mentions of more than four subwords be too long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mentions, "MAX_SUBWORDS", 4)
        yield


@pytest.fixture(scope="module")
def vocab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocab") / "vocab"
    rows = [(name, 0, False) for name in ("[PAD]", "[UNK]", "[MASK]")]
    rows += [(name, count, False) for name, count in ENTITIES.items()] + [("x:Gone", 5, True)]
    named = [
        {"id": id, "entity": entity, "count": count, "retired": retired}
        for id, (entity, count, retired) in enumerate(rows)
    ]
    return EntityVocab(write_dataset(folder, named, schema="entities"))
