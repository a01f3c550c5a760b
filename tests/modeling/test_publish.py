"""``onoma publish``: a trained model as a version in a store."""

import json
import shutil

import pytest

from corpora.errors import DamagedDatasetError
from corpora.store import on_bucket
from corpora.store.inspection import verify
from corpora.store.versions import current, switch, version_names
from corpora.system.files import locked
from corpora.system.staging import stage
from modeling.publish import main
from modeling.taggers.folders import find_tagger
from modeling.taggers.tagger import Tagger


def publish(run, shelf, *options):
    return main([str(part) for part in (run, shelf, *options)])


@pytest.fixture
def run(tagger_run, tmp_path):
    """Copy a run with scores, so that a test may change it."""
    folder = tmp_path / "run"
    shutil.copytree(tagger_run, folder)
    (folder / "evaluation").mkdir(exist_ok=True)
    (folder / "evaluation" / "evaluation.json").write_text("{}")
    return folder


def test_a_published_tagger_is_the_best_of_the_run_with_its_scores(run, tmp_path):
    assert publish(run, tmp_path / "store" / "tagger", "--version", "20261101") == 0

    version = current(tmp_path / "store" / "tagger")
    assert version.name == "20261101"
    assert verify(version)
    text = "Anna in Ulm"
    ours, theirs = (Tagger.load(path)(text, lang="de") for path in (version, find_tagger(run).path))
    assert ours == theirs
    assert (version / "evaluation" / "evaluation.json").read_text() == "{}"


def test_a_published_encoder_is_its_final_model(bases, tmp_path):
    shutil.copytree(bases / "plain", tmp_path / "run" / "final")

    assert publish(tmp_path / "run", tmp_path / "store" / "encoder") == 0

    version = current(tmp_path / "store" / "encoder")
    files = {path.name for path in (version / "final").iterdir()}
    assert files == {path.name for path in (bases / "plain").iterdir()}


@pytest.mark.usefixtures("bucket")
def test_a_tagger_is_published_in_a_bucket_and_read_from_there(run):
    shelf = "s3://onoma/store/tagger"

    for _ in range(2):
        assert publish(run, shelf, "--version", "1") == 0

    assert on_bucket.version_names(shelf) == ["1"]
    version = stage(on_bucket.current(shelf))
    assert verify(version)
    assert Tagger.load(version)("Anna in Ulm", lang="de") == Tagger.load(find_tagger(run).path)(
        "Anna in Ulm", lang="de"
    )


def test_publishing_the_same_again_changes_nothing(run, tmp_path):
    for _ in range(2):
        assert publish(run, tmp_path / "store" / "tagger", "--version", "1") == 0

    assert version_names(tmp_path / "store" / "tagger") == ["1"]


def test_a_version_of_other_files_is_refused(run, tmp_path, capsys):
    assert publish(run, tmp_path / "store" / "tagger", "--version", "1") == 0
    (run / "evaluation" / "evaluation.json").write_text("{ }")

    assert publish(run, tmp_path / "store" / "tagger", "--version", "1") == 1
    assert "a version never changes" in capsys.readouterr().err


def test_a_damaged_version_cannot_become_current(run, tmp_path):
    shelf = tmp_path / "store" / "tagger"
    publish(run, shelf, "--version", "1")
    (run / "evaluation" / "more.txt").write_text("more")
    publish(run, shelf, "--version", "2")
    weights = shelf / "1" / "final" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.unlink()
    weights.write_bytes(data)

    with pytest.raises(DamagedDatasetError, match="other bytes"):
        switch(shelf, "1")
    assert current(shelf).name == "2"


def test_what_a_killed_run_left_is_not_published(run, tmp_path):
    (run / ".publishing" / "final").mkdir(parents=True)
    (run / ".publishing" / "final" / "old.txt").write_text("old")

    assert publish(run, tmp_path / "store" / "tagger") == 0

    [version] = version_names(tmp_path / "store" / "tagger")
    about = json.loads((tmp_path / "store" / "tagger" / version / "run.json").read_text())
    assert about["fingerprint"].startswith(version)
    assert "final/old.txt" not in about["files"]
    assert not (run / ".publishing").exists()


def test_two_processes_do_not_publish_a_run_at_once(run, tmp_path, capsys):
    with locked(run / ".lock", busy=str):
        assert publish(run, tmp_path / "store" / "tagger") == 1

    assert f"{run}: another process works here" in capsys.readouterr().err
    assert publish(run, tmp_path / "store" / "tagger") == 0


def test_what_is_no_model_is_an_error(tmp_path, capsys):
    assert publish(tmp_path, tmp_path / "store" / "tagger") == 1
    assert "has no model" in capsys.readouterr().err


def test_scores_that_are_not_there_are_a_wrong_command(run, tmp_path):
    with pytest.raises(SystemExit) as end:
        publish(run, tmp_path / "store" / "tagger", "--evaluation", tmp_path / "no")

    assert end.value.code == 2
