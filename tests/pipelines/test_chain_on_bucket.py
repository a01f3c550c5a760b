"""Every pipeline reads buckets and writes into them: the bytes are those of a local run.

And Beam's runner makes the bytes that the steps make without one (``run_plainly``).
"""

from importlib import import_module
from pathlib import Path

import pytest

from corpora.system.buckets import Bucket
from corpora.system.staging import stage
from pipelines import in_memory
from tests.pipelines.graph_runs import run_plainly
from tests.pipelines.test_on_bucket import hashes

pytestmark = pytest.mark.usefixtures("bucket")
DATA = Path(__file__).resolve().parents[1] / "data"
CHAIN = (
    (
        "wikipedia_to_documents",
        "dawiki",
        "--input {data}/wikipedia/kleinwiki-*.xml --blocks tables,infoboxes,references",
    ),
    ("documents_to_entity_vocab", "vocab", "--input {root}/dawiki/documents"),
    ("augment_mentions", "augmented", "--input {root}/dawiki --forms {root}/vocab"),
    ("documents_to_tokenizer", "tok", "--input {root}/dawiki --size 500"),
    (
        "documents_to_examples",
        "examples",
        """--input {root}/augmented --tokenizer {root}/tok --entity-vocab {root}/vocab
        --max-length 64""",
    ),
    (
        "documents_to_entity_vocab",
        "vocab-2",
        "--input {root}/dawiki/documents --previous {root}/vocab",
    ),
    (
        "wikipedia_to_documents",
        "dawiki-2",
        """--input {data}/wikipedia/*.xml --blocks tables,infoboxes,references
        --reuse {root}/dawiki""",
    ),
    ("documents_to_lexicon", "lexicon", "--input {root}/dawiki/documents"),
    ("text_to_documents", "novel", "--input {data}/text/wulingzhen.txt --lang zh"),
    ("news_to_documents", "news", "--html {data}/news/*.html* --urls {data}/news/urls.tsv"),
    ("benchmark_to_ner", "ner", "--input {data}/ner/*.testa"),
)


def run_all(root, data):
    for pipeline, name, options in CHAIN:
        command = options.format(root=root, data=data).split()
        assert (
            import_module(f"pipelines.{pipeline}").main([*command, "--output", f"{root}/{name}"])
            == 0
        ), pipeline


def test_every_pipeline_gives_the_same_bytes_in_a_bucket(tmp_path):
    there = Bucket("s3://onoma/data")
    for pattern in ("wikipedia/kleinwiki-*.xml", "text/wulingzhen.txt", "news/*.*", "ner/*.testa"):
        for path in DATA.glob(pattern):
            here = tmp_path / "data" / path.relative_to(DATA)
            here.parent.mkdir(parents=True, exist_ok=True)
            here.write_bytes(path.read_bytes())
            there.put(path.relative_to(DATA).as_posix(), path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_memory, "run_graph", run_plainly)
        run_all(tmp_path / "made", tmp_path / "data")
    run_all("s3://onoma/made", "s3://onoma/data")

    for _, name, _ in CHAIN:
        made, expected = hashes(stage(f"s3://onoma/made/{name}")), hashes(tmp_path / "made" / name)
        if name == "examples":  # names the vocabulary by its shards, whose names are others
            del made["report.md"], expected["report.md"]
        assert made == expected, name
