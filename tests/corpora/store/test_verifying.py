"""``onoma verify``: what is damaged is named, each kind by itself."""

import json

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.errors import DamagedDatasetError
from corpora.runs.journal import hash_of
from corpora.store.inspection import verify
from tests.corpora.diff.two_versions import document
from tests.corpora.store.stored_runs import make
from tests.datasets import document_to_row


def edited(file, change):
    """Change what a JSON file says."""
    about = json.loads(file.read_text())
    change(about)
    file.write_text(json.dumps(about))


def described(change):
    return lambda folder: edited(folder / "dataset.json", change)


def with_repeated_id(folder):
    path = folder / "shard-00000.arrow"
    path.unlink()
    with ShardWriter(path, SCHEMAS["documents"]) as writer:
        for _ in range(2):
            writer.write(document_to_row(document(1, text="Ulm")))
    described(lambda about: about.update(shards=[writer.shard.to_json()]))(folder)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "shard-00000.arrow").unlink(), r"00000\.arrow: is missing"),
        (lambda folder: (folder / "shard-00009.arrow").touch(), "unknown to dataset.json"),
        (with_repeated_id, "is met twice"),
        (described(lambda about: about["shards"][0].update(rows=2)), "1 row, .* says 2"),
        (described(lambda about: about["plan"].update(pipeline="x")), "damaged plan"),
        (described(lambda about: about["accounting"].update(more=1)), "damaged accounting"),
        (described(lambda about: about["accounting"].update(read=2)), "does not add up"),
        (lambda folder: (folder / "rejected.jsonl").write_text("{}\n"), r"rejected\.jsonl: 1 line"),
        (
            lambda folder: (folder / "rejected.jsonl").unlink(),
            r"rejected\.jsonl: is missing\. Copy",
        ),
    ],
)
def test_a_damaged_dataset_does_not_verify(damage, said, tmp_path):
    folder = make(tmp_path / "run", "Ein Text.") / "documents"
    verify(folder)

    damage(folder)

    with pytest.raises(DamagedDatasetError, match=said):
        verify(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.update(files={}), "it lists no dataset"),
        (lambda run: run.update(fingerprint="f" * 64), "is not of the run"),
    ],
)
def test_a_list_of_another_run_does_not_verify(change, said, tmp_path):
    run = make(tmp_path / "run", "Ein Text.")

    edited(run / "run.json", change)
    edited(run / "run.json", lambda about: about.update(sha256=hash_of(about)))

    with pytest.raises(DamagedDatasetError, match=said):
        verify(run)
