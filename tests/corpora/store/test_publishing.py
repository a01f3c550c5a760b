"""Versions in a store: published whole, switched in one step."""

import errno
import json
import random
import shutil
from pathlib import Path

import pytest

from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError, UsageError
from corpora.runs.build import hold as hold_output
from corpora.runs.journal import hash_of
from corpora.runs.plan import Plan, Unit, fingerprint_of
from corpora.store.inspection import verify
from corpora.store.versions import current, hold, publish, switch, version_names
from corpora.system.files import sha256_of
from corpora.system.writing import link_or_copy
from tests.corpora.store.stored_runs import make, text_of


def test_what_is_published_is_verified_current_and_whole(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")

    target = publish(source, shelf, version="20261101")

    assert current(shelf) == target == shelf / "20261101"
    verify(target)
    made = {p.relative_to(source) for p in source.rglob("*") if p.is_file()}
    there = {p.relative_to(target) for p in target.rglob("*") if p.is_file()}
    assert there == {p for p in made if p.parts[0] not in {".build", ".lock"}}


def test_a_version_outlives_its_source(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")
    target = publish(source, shelf)

    make(source, "Ein anderer Text.")

    assert text_of(target) == "Ein Text."
    shutil.rmtree(source)
    verify(target)


def test_files_are_copied_and_verified_where_they_cannot_be_linked(tmp_path, shelf, monkeypatch):
    def fail(self, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link", str(self), None, str(target))

    source = make(tmp_path / "run", "Ein Text.")
    monkeypatch.setattr(Path, "hardlink_to", fail)

    target = publish(source, shelf)

    verify(target)
    assert not any(p.stat().st_nlink > 1 for p in target.rglob("*") if p.is_file())


def test_a_copy_that_comes_out_damaged_is_not_published(published, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    def copy_half(source, target):
        target.write_bytes(source.read_bytes()[: source.stat().st_size // 2])

    source = make(tmp_path / "run", "Ein Text.")
    monkeypatch.setattr(Path, "hardlink_to", fail)
    monkeypatch.setattr(shutil, "copyfile", copy_half)

    with pytest.raises(CorpusError):
        publish(source, published, version="v6")

    assert current(published).name == "v5"
    assert not list(published.glob(".incoming*"))


def test_a_disk_that_is_full_leaves_nothing_of_a_version(published, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    source = make(tmp_path / "run", "Ein Text.")
    monkeypatch.setattr(Path, "hardlink_to", fail)

    with pytest.raises(OSError, match="No space left"):
        publish(source, published, version="v6")

    assert not list(published.glob("*v6*"))


@pytest.mark.parametrize("name", ["report.md", "documents/shard-00000.arrow"])
def test_a_run_that_lacks_a_file_is_not_published(name, published, tmp_path):
    source = make(tmp_path / "run", "Ein Text.")
    (source / name).unlink()

    with pytest.raises(DamagedDatasetError, match=f"{source / name}: is missing"):
        publish(source, published, version="v6")


@pytest.mark.parametrize("name", ["documents/shard-00000.arrow", "report.md", "run.json"])
def test_damaged_data_is_not_published(name, published, tmp_path):
    source = make(tmp_path / "run", "Ein Text.")
    path = source / name
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(CorpusError):
        publish(source, published, version="v6")

    assert current(published).name == "v5"
    assert "v6" not in version_names(published)


@pytest.mark.parametrize("data", [b"", b'{"pipeline": "test", "fi', b"[]", b"{}"])
def test_a_damaged_record_of_a_run_is_named(data, published, tmp_path):
    source = make(tmp_path / "run", "Ein Text.")
    (source / "run.json").write_bytes(data)

    with pytest.raises(DamagedDatasetError, match=f"^{source / 'run.json'}: damaged"):
        publish(source, published)


def test_a_run_that_still_works_is_not_published(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")
    plan = Plan("test", {"documents": "documents"}, {"text": "x"}, (Unit(0),))

    with hold_output(source, plan), pytest.raises(FolderInUseError):
        publish(source, shelf)


def test_without_a_name_a_version_is_called_by_its_fingerprint(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")

    target = publish(source, shelf)

    fingerprint = json.loads((source / "run.json").read_text("utf-8"))["fingerprint"]
    assert fingerprint.startswith(target.name)


@pytest.mark.parametrize(("place", "said"), [(".", "is a store"), ("klwiki/v6", "lies in klwiki")])
def test_a_store_or_a_version_is_no_place_to_publish(place, said, published, tmp_path):
    source = make(tmp_path / "run", "Ein Text.")
    store = published.parent
    before = sorted(store.rglob("*"))

    with pytest.raises(UsageError, match=said):
        publish(source, store / place)

    assert sorted(store.rglob("*")) == before


def test_publishing_again_changes_nothing_but_what_is_current(published, tmp_path):
    before = {p: p.stat().st_mtime_ns for p in (published / "v2").rglob("*")}

    publish(tmp_path / "run2", published, version="v2")

    assert current(published).name == "v2"
    assert {p: p.stat().st_mtime_ns for p in (published / "v2").rglob("*")} == before


def test_a_version_is_never_replaced_by_other_data(published, tmp_path):
    source = make(tmp_path / "other", "Etwas anderes.")

    with pytest.raises(CorpusError, match="holds other data"):
        publish(source, published, version="v2")

    assert text_of(published / "v2") == "Text 2."
    assert current(published).name == "v5"


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "current", "", "a b"])
def test_names_that_are_no_versions_are_refused(name, tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")

    if name:
        with pytest.raises(UsageError):
            publish(source, shelf, version=name)
    assert not shelf.exists()


def test_a_part_of_a_run_can_be_published(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")

    target = publish(source / "documents", shelf, version="v1")

    verify(target)
    assert {p.name for p in target.iterdir()} == {p.name for p in (source / "documents").iterdir()}


def test_an_earlier_version_becomes_current_again(published):
    switch(published, "v2")

    assert current(published).name == "v2"
    assert version_names(published) == ["v1", "v3", "v4", "v5", "v2"]


def test_a_damaged_version_does_not_become_current(published):
    (published / "v2" / "report.md").write_text("?", "utf-8")

    with pytest.raises(DamagedDatasetError, match=r"remove the folder .*/v2, and publish"):
        switch(published, "v2")

    assert current(published).name == "v5"


def test_a_damaged_version_that_was_removed_by_hand_can_be_published_again(published, tmp_path):
    (published / "v2" / "report.md").unlink()
    (published / "v2" / "report.md").write_text("?", "utf-8")
    with pytest.raises(DamagedDatasetError, match=r"remove the folder .*/v2, and publish"):
        publish(tmp_path / "run2", published, version="v2")

    shutil.rmtree(published / "v2")
    publish(tmp_path / "run2", published, version="v2")

    assert text_of(current(published)) == "Text 2."


def test_a_lost_name_of_the_current_version_is_an_error_that_says_what_is_there(published):
    (published / "current").unlink()

    with pytest.raises(DamagedDatasetError, match=r"current: is missing.*v1, v2, v3, v4, v5"):
        current(published)

    switch(published, "v4")
    assert current(published).name == "v4"


def test_nothing_published_and_a_lost_version_are_errors(published, tmp_path):
    with pytest.raises(CorpusError, match="nothing is published"):
        current(tmp_path)
    shutil.rmtree(published / "v5")
    with pytest.raises(DamagedDatasetError, match=r"v1, v2, v3, v4"):
        current(published)


def test_two_processes_on_one_shelf_are_refused(published, tmp_path):
    with hold(published), pytest.raises(FolderInUseError):
        publish(tmp_path / "run1", published, version="v1")


def test_links_in_a_run_are_published_as_files(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")
    shard = source / "documents" / "shard-00000.arrow"
    shard.rename(tmp_path / "elsewhere.arrow")
    shard.symlink_to("../../elsewhere.arrow")

    target = publish(source, shelf)

    shutil.rmtree(source)
    (tmp_path / "elsewhere.arrow").unlink()
    verify(target)  # raises where a hash is not right
    assert not (target / "documents" / "shard-00000.arrow").is_symlink()


@pytest.mark.parametrize("name", ["documents/shard-00000.arrow", "documents/dataset.json"])
def test_what_is_replaced_while_it_is_published_is_not_published(
    name, tmp_path, shelf, monkeypatch
):
    source, other = make(tmp_path / "run", "Ein Text."), make(tmp_path / "other", "Ein anderer.")

    def replace_then_link(path, target):
        if (other / name).exists():
            (other / name).replace(source / name)
        return link_or_copy(path, target)

    monkeypatch.setattr("corpora.store.versions.link_or_copy", replace_then_link)

    with pytest.raises(DamagedDatasetError, match=f"{source / name}: damaged"):
        publish(source, shelf, version="v")

    assert version_names(shelf) == []


def test_what_is_replaced_after_it_was_verified_is_not_what_is_published(
    tmp_path, shelf, monkeypatch
):
    source, other = make(tmp_path / "run", "Ein Text."), make(tmp_path / "other", "Ein anderer.")
    shard = Path("documents", "shard-00000.arrow")

    def verify_then_replace(path):
        verify(path)
        (other / shard).replace(source / shard)

    monkeypatch.setattr("corpora.store.versions.verify", verify_then_replace)

    target = publish(source, shelf, version="v")

    verify(target)
    assert text_of(target) == "Ein Text."


def edit(file, change):
    values = json.loads(file.read_text("utf-8"))
    change(values)
    file.write_text(json.dumps(values), "utf-8")


NAMES = ["documents/shard-00000.arrow", "documents/rejected.jsonl", "report.md"]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_whose_list_lacks_a_file_is_not_published_and_made_whole_by_its_command(
    name, published, tmp_path
):
    source = make(tmp_path / "run", "Ein Text.")
    edit(source / "run.json", lambda run: run["files"].pop(name))

    with pytest.raises(DamagedDatasetError, match=r"run\.json: damaged"):
        publish(source, published, version="v6")

    assert version_names(published) == ["v1", "v2", "v3", "v4", "v5"]
    make(source, "Ein Text.")
    verify(publish(source, published, version="v6"))


@pytest.mark.parametrize("name", [*NAMES[:2], "titles/dataset.json"])
def test_a_list_with_a_right_hash_lacks_no_file_of_a_dataset(name, published, tmp_path):
    source = make(tmp_path / "run", "Ein Text.")

    edit(source / "run.json", lambda run: run["files"].pop(name, None))
    if name not in NAMES:
        with_another_dataset(source, name.partition("/")[0])
    edit(source / "run.json", lambda run: run.update(sha256=hash_of(run)))

    with pytest.raises(DamagedDatasetError, match=f"does not list {name}"):
        publish(source, published, version="v6")


def with_another_dataset(source, name):
    """Let the plan of a run have another dataset, of which ``run.json`` knows nothing."""

    def add(about):
        about["plan"]["schemas"][name] = "documents 1"
        about["plan"].pop("fingerprint")
        about["plan"] = {"fingerprint": fingerprint_of(about["plan"]), **about["plan"]}

    file = source / "documents" / "dataset.json"
    edit(file, add)
    fingerprint = json.loads(file.read_text("utf-8"))["plan"]["fingerprint"]
    files = {"documents/dataset.json": sha256_of(file)}
    edit(source / "run.json", lambda run: run["files"].update(files))
    edit(source / "run.json", lambda run: run.update(fingerprint=fingerprint))


def test_no_flipped_bit_of_a_list_is_published(tmp_path):
    source = make(tmp_path / "run", "Ein Text.")
    whole = (source / "run.json").read_bytes()
    rng = random.Random(1)
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        (source / "run.json").write_bytes(flipped)
        try:
            verify(source)
        except CorpusError:
            continue
        # a space, the case of a letter of \u00e9: what it says is the same
        said, wanted = json.loads(flipped), json.loads(whole)
        assert {**said, "sha256": wanted["sha256"]}["files"] == wanted["files"]


def test_a_list_with_a_hash_that_is_no_string_is_not_published(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")
    said = json.loads((source / "run.json").read_text())
    (source / "run.json").write_text(json.dumps(said | {"sha256": []}))

    with pytest.raises(CorpusError, match=r"run\.json: damaged"):
        verify(source)
    with pytest.raises(CorpusError):
        publish(source, shelf, version="v1")


@pytest.mark.parametrize(("name", "content"), [("current", b"\xff\xfe"), ("history.json", b'"v1"')])
def test_damaged_files_of_a_shelf_are_named(name, content, published):
    (published / name).write_bytes(content)

    with pytest.raises(DamagedDatasetError, match=name):
        current(published) / version_names(published)[0]
