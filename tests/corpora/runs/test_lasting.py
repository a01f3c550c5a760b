"""The order in which files are written, synced and named: safe at any kill and any power cut."""

import errno
import json
import os
from pathlib import Path

import pytest

from corpora.errors import InputChangedError
from corpora.runs.plan import describe_file
from corpora.store import versions as store
from corpora.store.inspection import verify
from corpora.store.retention import prune
from corpora.store.versions import publish
from corpora.system.writing import write_json
from tests.corpora.store.stored_runs import make
from tests.file_operations import Operation, recorded, unsafe


def named(operations, root, *, name="rename"):
    """Return the paths of operations of one kind, in order, without hidden files."""
    paths = [operation.path.relative_to(root) for operation in operations if operation.name == name]
    return [path.as_posix() for path in paths if not any(p.startswith(".") for p in path.parts)]


@pytest.fixture(scope="module")
def republished(tmp_path_factory):
    """Record the operations of two runs into one folder.

    Returns the folder, all operations, and how many are of the first run.
    """
    output = tmp_path_factory.mktemp("republished") / "out"
    with recorded(output) as operations:
        make(output, "Ein Text.")
        n_first = len(operations)
        make(output, "Ein anderer Text.")
    return output, operations, n_first


def test_publishing_is_safe_at_every_operation(republished):
    output, operations, _ = republished

    assert unsafe(operations, output) == []


def test_old_data_are_out_of_force_before_anything_is_exchanged_and_new_ones_after(republished):
    output, operations, n_first = republished
    second = operations[n_first:]

    assert named(second, output, name="remove") == [
        "run.json",
        "documents/dataset.json",
        "documents/rejected.jsonl",
        "report.md",
    ]
    assert named(second, output) == [
        "documents/shard-00000.arrow",
        "documents/rejected.jsonl",
        "documents/dataset.json",
        "report.md",
        "run.json",
    ]


def test_all_that_is_touched_stands_in_the_journal_before(republished):
    output, operations, n_first = republished
    second = operations[n_first:]
    build = output / ".build"

    steps = [(operation.name, operation.path) for operation in second]
    journal = steps.index(("rename", build / "published.json"))
    assert steps[journal + 1] == ("fsync", build)
    assert journal + 2 == steps.index(("remove", output / "run.json"))
    assert json.loads((build / "published.json").read_text()) == [
        "documents/dataset.json",
        "documents/rejected.jsonl",
        "documents/shard-00000.arrow",
        "report.md",
        "run.json",
    ]


def test_a_receipt_is_written_after_its_shard_is_on_the_disk(republished):
    _, operations, _ = republished
    steps = [(operation.name, operation.path.name) for operation in operations]
    shard = steps.index(("rename", "shard-00000.arrow"))

    assert shard < steps.index(("rename", "00000.json"))
    assert steps[shard - 1][0] == "fsync"


def test_a_side_file_that_a_pipeline_only_wrote_is_brought_to_the_disk(tmp_path):
    def write_plainly(build, _):
        (build.side / "report.md").write_text("Ein Bericht.")

    output = tmp_path / "out"
    with recorded(output) as operations:
        make(output, "Ein Text.", write_side_files=write_plainly)

    assert unsafe(operations, output) == []


def test_no_file_of_a_run_is_ever_half_there_under_its_name(republished):
    output, operations, _ = republished
    opened = {operation.path for operation in operations if operation.name == "open"}

    assert all(path.name.startswith(".tmp-") for path in opened - {output / ".lock"})


def test_no_file_is_ever_half_there_under_its_name(tmp_path):
    with recorded(tmp_path) as operations:
        write_json(tmp_path / "values.json", [1, 2, 3])

    assert [operation.name for operation in operations] == ["open", "fsync", "rename"]
    assert operations[0].path.name.startswith(".tmp-")


@pytest.mark.parametrize("can_link", [True, False])
def test_publishing_a_version_is_safe_at_every_operation(can_link, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    if not can_link:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    source, shelf = make(tmp_path / "run", "Ein Text."), tmp_path / "store" / "klwiki"

    with recorded(shelf) as operations:
        publish(source, shelf, version="v1")

    assert unsafe(operations, shelf) == []
    assert named(operations, shelf) == ["history.json", "v1", "history.json", "current"]
    assert named(operations, shelf, name="link") == []
    assert set(named(operations, shelf, name="mkdir")) == {"."}


def test_a_version_is_verified_before_it_becomes_current(tmp_path, monkeypatch):
    source, shelf = make(tmp_path / "run", "Ein Text."), tmp_path / "store" / "klwiki"
    publish(source, shelf, version="v1")
    publish(make(tmp_path / "other", "Ein anderer Text."), shelf, version="v2")
    seen = []

    def look(path):
        seen.append((path, (shelf / "current").read_text()))
        verify(path)

    monkeypatch.setattr("corpora.store.versions.verify", look)

    store.switch(shelf, "v1")
    publish(tmp_path / "other", shelf, version="v2")

    assert (shelf / "v1", "v2\n") in seen
    assert (shelf / "v2", "v1\n") in seen


def test_a_version_is_gone_in_one_step_before_its_files_are_removed(tmp_path):
    shelf = tmp_path / "store" / "klwiki"
    for n in (1, 2):
        publish(make(tmp_path / f"run{n}", f"Text {n}."), shelf, version=f"v{n}")

    with recorded(shelf) as operations:
        prune(shelf, keep=1)

    hidden = shelf / ".removed-v1"
    first = operations.index(Operation("rename", hidden, shelf / "v1"))
    assert operations[first + 1] == Operation("fsync", shelf)
    assert named(operations, shelf, name="remove") == []


@pytest.mark.parametrize(("text", "later"), [("Zwei", 1), ("Drei!", 0)])
def test_an_input_of_another_size_or_time_has_changed(text, later, tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text("Eins")
    file = describe_file("dump.xml", path)
    assert file.check() == path

    path.write_text(text)
    os.utime(path, ns=(0, file.changed + later))

    with pytest.raises(InputChangedError, match="has changed since the run began"):
        file.check()
