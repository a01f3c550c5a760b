"""Versions in a store: kept while somebody needs them."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from corpora.errors import CorpusError, DamagedDatasetError, UsageError
from corpora.store.inspection import verify
from corpora.store.retention import prune
from corpora.store.versions import current, history, publish, switch, version_names
from corpora.system.files import sha256_of
from corpora.system.writing import write_json
from tests.corpora.store.stored_runs import make, names_that_stay


def test_the_last_versions_and_the_current_one_stay(published):
    switch(published, "v1")
    publish_order = version_names(published)

    fates = prune(published, keep=2)

    assert publish_order == ["v2", "v3", "v4", "v5", "v1"]
    assert names_that_stay(fates) == {"v5", "v1"} == set(version_names(published))
    verify(current(published))
    assert not list(published.glob(".removed*"))


def test_the_current_version_stays_where_a_switch_was_killed_before_its_end(published):
    (published / "current").write_text("v2\n")  # and v5 is still the last that was published

    prune(published, keep=1)

    assert current(published).name == "v2"
    assert set(version_names(published)) == {"v2", "v5"}


def test_a_dry_run_removes_nothing(published):
    fates = prune(published, keep=1, is_dry_run=True)

    assert names_that_stay(fates) == {"v5"}
    assert len(version_names(published)) == 5


def test_what_a_model_names_stays(published, tmp_path):
    run = tmp_path / "runs" / "tagger" / "seed-1" / "final"
    run.mkdir(parents=True)
    dataset = sha256_of(published / "v2" / "documents" / "dataset.json")
    write_json(run / "run.json", {"examples": [{"dataset": dataset}]})

    fates = prune(published, keep=1, keep_for=[tmp_path / "runs"])

    assert names_that_stay(fates) == {"v2", "v5"}
    [reason] = [fate.reason for fate in fates if fate.version == "v2"]
    assert str(tmp_path / "runs") in reason


def test_what_the_data_of_a_model_was_made_from_stays(published, tmp_path):
    shard = sha256_of(published / "v3" / "documents" / "shard-00000.arrow")
    made = make(tmp_path / "examples-run", "Beispiele.", inputs=[{"sha256": shard}])
    examples = publish(made, published.parent / "examples", version="e1")
    write_json(
        tmp_path / "settings.json",
        {"examples": [{"dataset_sha256": sha256_of(examples / "documents" / "dataset.json")}]},
    )

    fates = prune(published, keep=1, keep_for=[tmp_path / "settings.json"])

    assert names_that_stay(fates) == {"v3", "v5"}


def same_side_file(shelf, *names):
    """Give versions a file that is the same in all of them; returns its hash."""
    for name in names:
        (shelf / name / "tokenizer.json").write_text("{}", "utf-8")
        run = json.loads((shelf / name / "run.json").read_text("utf-8"))
        run["files"]["tokenizer.json"] = sha256_of(shelf / name / "tokenizer.json")
        write_json(shelf / name / "run.json", run)
    return run["files"]["tokenizer.json"]


def test_of_a_file_that_all_versions_have_alike_one_is_enough(published, tmp_path):
    tokenizer = same_side_file(published, "v1", "v2", "v3", "v4")
    dataset = sha256_of(published / "v2" / "documents" / "dataset.json")
    for hashes in ([tokenizer, dataset], [dataset, tokenizer]):
        write_json(tmp_path / "run.json", {"files": hashes})
        fates = prune(published, keep=1, keep_for=[tmp_path / "run.json"], is_dry_run=True)

        assert names_that_stay(fates) == {"v2", "v5"}
    write_json(tmp_path / "run.json", {"files": [tokenizer]})
    assert names_that_stay(prune(published, keep=1, keep_for=[tmp_path / "run.json"])) == {
        "v4",
        "v5",
    }


def test_a_version_does_not_need_itself(published):
    same_side_file(published, "v1", "v2", "v3")

    fates = prune(published, keep=1, keep_for=[published / name for name in ("v1", "v2", "v3")])

    assert names_that_stay(fates) == {"v5"}


def test_a_model_of_data_that_is_not_in_the_store_stops_the_pruning(published, tmp_path):
    shard = sha256_of(published / "v3" / "documents" / "shard-00000.arrow")
    examples = make(tmp_path / "examples", "Beispiele.", inputs=[{"sha256": shard}])
    dataset = sha256_of(examples / "documents" / "dataset.json")
    write_json(tmp_path / "settings.json", {"examples": [{"dataset_sha256": dataset}]})
    run = tmp_path / "settings.json"

    with pytest.raises(CorpusError, match="names no version"):
        prune(published, keep=1, keep_for=[run])
    assert len(version_names(published)) == 5
    assert names_that_stay(prune(published, keep=1, keep_for=[run, examples])) == {"v3", "v5"}


def test_a_model_without_a_manifest_stops_the_pruning(published, tmp_path):
    (tmp_path / "empty").mkdir()

    with pytest.raises(CorpusError, match="nobody knows what it needs"):
        prune(published, keep=1, keep_for=[tmp_path / "empty"])

    assert len(version_names(published)) == 5


def test_a_folder_of_models_that_cannot_be_read_stops_the_pruning(published, tmp_path, monkeypatch):
    def scan(path):
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    (tmp_path / "closed").mkdir()
    listed = os.scandir
    monkeypatch.setattr(os, "scandir", scan)

    with pytest.raises(PermissionError):
        prune(published, keep=1, keep_for=[tmp_path])


def test_a_damaged_manifest_stops_the_pruning(published, tmp_path):
    (tmp_path / "run.json").write_text("{")

    with pytest.raises(DamagedDatasetError, match=r"run\.json: damaged .* Nothing was removed"):
        prune(published, keep=1, keep_for=[tmp_path])

    assert len(version_names(published)) == 5


@pytest.mark.parametrize("value", [None, {}, {"files": None}, {"files": {"report.md": None}}])
def test_a_version_whose_list_of_files_was_edited_stops_the_pruning(value, published):
    (published / "v4" / "run.json").unlink()  # which may be the file of the run, linked
    write_json(published / "v4" / "run.json", value)

    with pytest.raises(DamagedDatasetError, match=r"v4/run\.json: damaged .it lists no files"):
        prune(published, keep=1)

    assert len(version_names(published)) == 5


def test_what_the_store_did_not_publish_stays(published):
    shutil.copytree(published / "v1", published / "by-hand")

    fates = prune(published, keep=1)

    assert names_that_stay(fates) == {"by-hand", "v5"}


def test_keeping_none_is_refused(published):
    with pytest.raises(UsageError):
        prune(published, keep=0)


def test_of_a_version_on_another_disk_the_link_is_removed_and_no_data(published, tmp_path):
    shutil.move(published / "v1", tmp_path / "big-disk")
    (published / "v1").symlink_to(tmp_path / "big-disk")

    prune(published, keep=4)

    assert version_names(published) == ["v2", "v3", "v4", "v5"]
    verify(tmp_path / "big-disk")
    switch(published, "v2")


def test_a_version_to_which_another_leads_stays_until_the_link_is_gone(published):
    (published / "stable").symlink_to("v1")
    other = published.parent / "other" / "best"
    other.parent.mkdir()
    other.symlink_to(published / "v2")
    switch(published, "stable")

    fates = prune(published, keep=1)

    assert names_that_stay(fates) == {"stable", "v1", "v2"}
    verify(current(published))
    other.unlink()
    assert names_that_stay(prune(published, keep=1)) == {"stable", "v1"}


def test_what_a_run_behind_a_link_names_stays(published, tmp_path):
    for number, folder in ((1, tmp_path / "big-disk"), (2, tmp_path / "runs" / "here")):
        folder.mkdir(parents=True)
        dataset = sha256_of(published / f"v{number}" / "documents" / "dataset.json")
        write_json(folder / "run.json", {"examples": [{"dataset": dataset}]})
    (tmp_path / "runs" / "there").symlink_to(tmp_path / "big-disk")
    (tmp_path / "runs" / "again").symlink_to(tmp_path / "runs")

    fates = prune(published, keep=1, keep_for=[tmp_path / "runs"])

    assert names_that_stay(fates) == {"v1", "v2", "v5"}


def test_a_shelf_may_be_named_from_inside(published, tmp_path, monkeypatch):
    shard = sha256_of(published / "v3" / "documents" / "shard-00000.arrow")
    made = make(tmp_path / "examples-run", "Beispiele.", inputs=[{"sha256": shard}])
    examples = publish(made, published.parent / "examples")
    dataset = sha256_of(examples / "documents" / "dataset.json")
    write_json(tmp_path / "settings.json", {"examples": [{"dataset_sha256": dataset}]})
    monkeypatch.chdir(published)

    fates = prune(Path(), keep=1, keep_for=[tmp_path / "settings.json"])

    assert names_that_stay(fates) == {"v3", "v5"}


def test_a_removal_that_failed_half_way_leaves_no_version_that_is_gone(published, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("corpora.store.versions.take_away", full)
        with pytest.raises(OSError, match="No space left"):
            prune(published, keep=1)
    prune(published, keep=1)

    assert set(history(published)) == set(version_names(published))
