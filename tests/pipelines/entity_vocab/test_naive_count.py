"""Documents to an entity vocabulary: the whole, against a naive count."""

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Document, Mention
from corpora.entities.vocabulary import SPECIAL
from pipelines import documents_to_entity_vocab as pipeline
from tests.datasets import write_dataset
from tests.pipelines.entity_vocab.made_vocabularies import build, rows_of
from tests.pipelines.entity_vocab.naive_vocabulary import ORIGINS, count_naively, many_documents

pytestmark = pytest.mark.usefixtures("without_runner")


@given(
    documents=many_documents(),
    n_shards=st.integers(1, 3),
    part_bytes=st.sampled_from([1 << 28, 3000]),
    fold_rows=st.sampled_from([1 << 20, 1]),
    min_count=st.integers(1, 2),
    max_size=st.sampled_from([1, 2, 1000]),
)
def test_vocabulary_equals_naive_count(
    documents, n_shards, part_bytes, fold_rows, min_count, max_size
):
    expected = count_naively(documents, min_count, max_size)
    any_link = any(m.entity and m.origin == "link" for d in documents for m in d.mentions)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "PART_BYTES", part_bytes)
        patch.setattr("corpora.entities.counts.FOLD_ROWS", fold_rows)
        pieces = [documents[number::n_shards] for number in range(n_shards)]
        inputs = write_dataset(Path(folder) / "documents", *pieces)
        output = Path(folder) / "out"

        if any_link:
            rows = rows_of(build(output, inputs, min_count=min_count, max_size=max_size))

    if any_link:
        assert [row["entity"] for row in rows[: len(SPECIAL)]] == list(SPECIAL)
        assert rows[len(SPECIAL) :] == expected


def test_many_entities_equal_naive_count(tmp_path, monkeypatch):
    monkeypatch.setattr("corpora.entities.counts.FOLD_ROWS", 100)
    rng = random.Random(20261120)
    documents = []
    for number in range(20):
        words = [f"{rng.choice('ABC')}{rng.randrange(300)}" for _ in range(100)]
        mentions, at = [], 0
        for word in words:
            entity, origin = f"xwiki:{word[1:]}", rng.choice(ORIGINS)
            if rng.random() < 0.9:
                mentions.append(Mention(at, at + len(word), entity, origin=origin))
            at += len(word) + 1
        title, text = str(number), " ".join(words)
        about = {"id": f"xwiki:{number}", "group": "xwiki", "source": "", "title": title}
        documents.append(Document(**about, text=text, mentions=tuple(mentions)))
    inputs = write_dataset(tmp_path / "documents", documents[:9], documents[9:])

    rows = rows_of(build(tmp_path / "out", inputs, existing="any"))

    named = [replace(each, title=None) for each in documents]  # so that all count as existing
    expected = count_naively(named, 1, 1000)
    pages = {f"xwiki:{number}": f"xwiki:{number}" for number in range(20)}
    assert rows[len(SPECIAL) :] == [row | {"page_id": pages.get(row["entity"])} for row in expected]
