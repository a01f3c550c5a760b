"""An output folder that somebody else filled: nothing outside is touched, nor what no run made."""

import json
import shutil

import pytest

from corpora.runs.plan import fingerprint_of
from corpora.store.inspection import main as shards
from corpora.system.files import sha256_of
from tests.killing import files_of
from tests.pipelines.test_tei_to_ner import run

pytestmark = pytest.mark.usefixtures("without_runner")


@pytest.fixture
def mine(tmp_path):
    """Write a file beside the output, and check that it stays."""
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    yield path
    assert path.read_text() == "mine"


def edit(file, change):
    values = json.loads(file.read_text())
    change(values)
    file.write_text(json.dumps(values))


def names_outside(mine):
    return ("../mine.txt", str(mine), "documents/../../mine.txt")


@pytest.mark.parametrize("n", range(3))
def test_manifests_that_name_a_file_outside_are_refused(n, mine, output, capsys):
    name = names_outside(mine)[n]
    manifests = [output / "run.json", output / ".build" / "published.json"]
    edit(manifests[0], lambda run: run["files"].update({name: "0" * 64}))
    (output / "train.json").unlink()  # so that there is something to do

    assert run(output) == 1
    assert "no plain name" in capsys.readouterr().err
    assert shards(["verify", str(output)]) == 1
    assert "no plain name" in capsys.readouterr().err

    edit(manifests[0], lambda run: run["files"].pop(name))
    edit(manifests[1], lambda names: names.append(name))
    assert run(output) == 1
    assert "no plain name" in capsys.readouterr().err


@pytest.mark.parametrize("n", range(3))
def test_a_dataset_has_no_shards_outside(n, mine, output, capsys):
    change = {"name": names_outside(mine)[n]}
    edit(output / "ner" / "dataset.json", lambda about: about["shards"][0].update(change))

    for command in ("verify", "show"):
        assert shards([command, str(output / "ner")]) == 1
        assert "damaged shards" in capsys.readouterr().err


def test_a_receipt_that_names_a_file_outside_is_not_believed(mine, output):
    before = files_of(output)
    [receipt] = output.glob(".build/*/receipts/00000.json")
    values = json.loads(receipt.read_text())
    values["shards"]["ner"] |= {"name": "../../mine.txt", "sha256": sha256_of(mine)}
    values.pop("sha256")
    receipt.write_text(json.dumps(values | {"sha256": fingerprint_of(values)}))
    (output / "run.json").unlink()

    assert run(output) == 0
    assert files_of(output) == before


def test_a_lock_that_is_a_link_is_not_followed(mine, output, capsys):
    (output / ".lock").unlink()
    (output / ".lock").symlink_to(mine)

    assert run(output) == 1
    assert ".lock: is a link" in capsys.readouterr().err


@pytest.mark.parametrize("where", [".build", "documents"])
def test_a_folder_that_is_a_link_is_not_followed(where, output, tmp_path, capsys):
    (output / where).rename(tmp_path / "elsewhere")
    (output / where).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / ("f" * 16)).mkdir()
    before = sorted(tmp_path.rglob("*"))
    (output / "train.json").unlink()

    assert run(output) == 1

    assert f"{where}: is a link" in capsys.readouterr().err
    assert sorted({*tmp_path.rglob("*"), output / "train.json"}) == before


@pytest.mark.parametrize(
    "name",
    [
        *("documents/shard-00000.arrow", "documents/shard-77777.arrow", "ner/rejected.jsonl"),
        *("ner/dataset.json", "run.json", "ner", "train.json"),
    ],
)
def test_a_file_of_my_own_is_refused_and_stays(name, tmp_path, capsys):
    own = tmp_path / "out" / name
    own.parent.mkdir(parents=True)
    own.write_text("mine")

    assert run(tmp_path / "out") == 1

    assert f"{name}: was not made by a run" in capsys.readouterr().err
    assert own.read_text() == "mine"
    assert not list(tmp_path.glob("out/**/run.json")) or name == "run.json"


def test_my_own_files_between_those_of_a_run_stay(output):
    own = [output / name for name in (".build/debug/a.o", ".tmp-notes", "documents/notes.txt")]
    for path in own:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")

    assert run(output, "--split", "sentence") == 0
    assert run(output) == 0

    assert [path.read_text() for path in own] == ["mine"] * 3


def test_what_was_published_once_is_a_name_of_mine_afterwards(output, capsys):
    assert run(output, "--split", "sentence") == 0
    assert not (output / "splits.tsv").exists()
    (output / "splits.tsv").write_text("mine")

    assert run(output) == 1

    assert "splits.tsv: was not made by a run" in capsys.readouterr().err
    assert (output / "splits.tsv").read_text() == "mine"


def test_a_model_is_not_replaced_by_data(output, capsys):
    about = {"kind": "model", "fingerprint": "f", "files": {"final/model.safetensors": "0" * 64}}
    shutil.rmtree(output)
    (output / "final").mkdir(parents=True)
    (output / "final" / "model.safetensors").write_text("weights")
    (output / "run.json").write_text(json.dumps(about))

    assert run(output) == 1

    assert "run.json: was not made by a run" in capsys.readouterr().err
    assert (output / "final" / "model.safetensors").read_text() == "weights"
