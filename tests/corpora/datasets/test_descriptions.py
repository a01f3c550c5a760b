"""A ``dataset.json`` that somebody edited: a message of every command, never a traceback."""

import json
import re
from pathlib import Path

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_description
from corpora.diff.__main__ import main as diff
from corpora.errors import DamagedDatasetError
from corpora.store.__main__ import main as store
from corpora.store.catalogue import main as card
from corpora.store.inspection import main as shards
from corpora.store.versions import publish
from tests.corpora.store.stored_runs import make


def edit(file, path, value):
    """Put a value into a JSON file, at a path such as ``shards.0.rows``."""
    about = inner = json.loads(file.read_text())
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in above:
        inner = inner[key]
    inner[last] = value
    file.write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("plan", None, "damaged plan"),
        ("plan", ["test"], "damaged plan"),
        ("plan.fingerprint", 7, "damaged plan"),
        ("plan.schemas", None, "damaged plan"),
        ("shards", None, "damaged shards"),
        ("shards.0", {}, "damaged shards"),
        ("shards.0.name", None, "damaged shards"),
        ("shards.0.sha256", [], "damaged shards"),
        ("shards.0.rows", 10**30, "damaged shards"),
        ("accounting", None, "damaged accounting"),
        ("accounting.read", "1", "damaged accounting"),
        ("accounting.written", None, "damaged accounting"),
        ("accounting.filtered", None, "damaged accounting"),
        ("accounting.rejected", {"empty": -1}, "damaged accounting"),
        ("counters", {"characters": float("nan")}, "damaged counters"),
        ("forgotten", {"rows": 3}, "damaged forgotten"),
        ("forgotten", {"before": [None]}, "damaged forgotten"),
    ],
)
def test_a_description_that_was_edited_is_named_by_every_command(
    path, value, said, tmp_path, capsys
):
    run = make(tmp_path / "run", "Ein Text.")
    there = make(tmp_path / "store" / "klwiki" / "v1", "Ein Text.")
    (there.parent / "current").write_text("v1\n")
    for folder in (run, there):
        edit(folder / "documents" / "dataset.json", path, value)

    for command, *arguments in (
        (shards, "verify", run / "documents"),
        (shards, "show", run / "documents"),
        (diff, run, run),
        (card, run),
        (store, "publish", run / "documents", tmp_path / "store" / "other"),
        (store, "prune", there.parent),
        (store, "forget", tmp_path / "store", "--documents", "klwiki:1"),
    ):
        assert command(list(map(str, arguments))) == 1
        assert f"documents/dataset.json: {said}" in capsys.readouterr().err


def test_a_plan_without_a_fingerprint_is_described_and_not_verified(tmp_path, capsys):
    run = make(tmp_path / "run", "Ein Text.")
    edit(run / "documents" / "dataset.json", "plan", {})
    edit(run / "documents" / "dataset.json", "accounting", {})

    assert card([str(run)]) == 0
    assert shards(["verify", str(run / "documents")]) == 1
    assert "damaged plan" in capsys.readouterr().err


def test_counts_may_be_as_large_as_those_of_arrow(tmp_path):
    run = make(tmp_path / "run", "Ein Text.") / "documents"
    edit(run / "dataset.json", "accounting.read", 2**63 - 1)
    assert read_description(run)["accounting"]["read"] == 2**63 - 1

    edit(run / "dataset.json", "accounting.read", 2**63)
    with pytest.raises(DamagedDatasetError, match="damaged accounting"):
        read_description(run)


def test_a_file_is_no_dataset_but_the_folder_around_it(tmp_path, capsys):
    shard = next((make(tmp_path / "run", "Ein Text.") / "documents").glob("*.arrow"))

    assert shards(["show", str(shard)]) == 2

    said = capsys.readouterr().err
    assert f"{shard}: no dataset, but a file. Name the folder that holds dataset.json." in said


@pytest.mark.parametrize("part", ["", "documents"])
@pytest.mark.parametrize("command", [card, diff, shards])
def test_versions_of_a_store_are_no_dataset_but_each_is(command, part, tmp_path, capsys):
    shelf = tmp_path / "store" / "letters"
    publish(make(tmp_path / "run", "Ein Text.") / part, shelf)
    words = {card: [], diff: [str(tmp_path / "run")], shards: ["verify"]}[command]

    assert command([*words, str(shelf)]) == 2

    said = f"{shelf}: holds versions of a store. Name one of them: onoma store current {shelf} "
    assert said in capsys.readouterr().err


def test_the_documented_columns_are_those_of_the_schemas():
    page = (Path(__file__).parents[3] / "docs" / "datasets.md").read_text("utf-8")

    rows = re.findall(r"^\| `(\w+)` \| .* \| `(id, .*)` \|$", page, re.MULTILINE)

    assert len(rows) == 9
    assert {name: columns.split(", ") for name, columns in rows} == {
        name: SCHEMAS[name].columns.names for name, _ in rows
    }
