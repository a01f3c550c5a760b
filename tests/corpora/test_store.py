"""Versions in a store: published whole, switched in one step, kept while somebody needs them."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corpora.build import hold as hold_output
from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError, UsageError
from corpora.inspection import verify
from corpora.plan import Plan, Unit
from corpora.receipts import Accounting, Receipt, write_receipt
from corpora.retention import prune
from corpora.rows import document_to_row
from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter, open_dataset, sha256_of, write_json, write_text
from corpora.store import current, hold, publish, switch, version_names
from corpora.store_commands import main
from tests.corpora.diff.test_diff import document

ROOT = Path(__file__).resolve().parents[2]


def make(output, text, **parameters):
    """A run as pipelines make it: one dataset of one document, and a side file."""
    unit = Unit(0, (), {}, {})
    plan = Plan("test", {"documents": "documents"}, {"text": text} | parameters, (unit,))
    with hold_output(output, plan) as build:
        path = build.staging("documents") / unit.shard_name
        with ShardWriter(path, SCHEMAS["documents"]) as writer:
            writer.write(document_to_row(document(1, text=text)))
        receipt = Receipt(
            fingerprint=plan.fingerprint,
            unit=0,
            shards={"documents": writer.shard},
            accounting=Accounting(read=1, written=1),
            counters={},
            rejected=[],
        )
        write_receipt(build.receipt_path(unit), receipt)
        build.publish(lambda b: write_text(b.side / "report.md", [text]))
    return output


@pytest.fixture
def shelf(tmp_path):
    return tmp_path / "store" / "klwiki"


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """Five runs, and a store with a shelf of their versions v1 to v5."""
    folder = tmp_path_factory.mktemp("five")
    for n in range(1, 6):
        source = make(folder / f"run{n}", f"Text {n}.")
        publish(source, folder / "store" / "klwiki", version=f"v{n}")
    return folder


@pytest.fixture
def published(five, tmp_path, shelf):
    """The same, for one test."""
    shutil.copytree(five, tmp_path, dirs_exist_ok=True)
    return shelf


def text_of(version):
    [row] = open_dataset(version / "documents").rows()
    return row["text"]


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


@pytest.mark.parametrize("name", ["documents/shard-00000.arrow", "report.md", "run.json"])
def test_damaged_data_is_not_published(name, published, tmp_path):
    source = make(tmp_path / "run", "Ein Text.")
    path = source / name
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(CorpusError):
        publish(source, published, version="v6")

    assert current(published).name == "v5"
    assert "v6" not in version_names(published)


def test_a_run_that_still_works_is_not_published(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")
    plan = Plan("test", {"documents": "documents"}, {"text": "x"}, (Unit(0, (), {}, {}),))

    with hold_output(source, plan), pytest.raises(FolderInUseError):
        publish(source, shelf)


def test_without_a_name_a_version_is_called_by_its_fingerprint(tmp_path, shelf):
    source = make(tmp_path / "run", "Ein Text.")

    target = publish(source, shelf)

    fingerprint = json.loads((source / "run.json").read_text("utf-8"))["fingerprint"]
    assert fingerprint.startswith(target.name)


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

    with pytest.raises(DamagedDatasetError):
        switch(published, "v2")

    assert current(published).name == "v5"


def test_nothing_published_and_a_lost_version_are_errors(published, tmp_path):
    with pytest.raises(CorpusError, match="nothing is published"):
        current(tmp_path)
    shutil.rmtree(published / "v5")
    with pytest.raises(DamagedDatasetError, match=r"v1, v2, v3, v4"):
        current(published)


def test_two_processes_on_one_shelf_are_refused(published, tmp_path):
    with hold(published), pytest.raises(FolderInUseError):
        publish(tmp_path / "run1", published, version="v1")


def names_that_stay(fates):
    return {fate.version for fate in fates if fate.reason}


def test_the_last_versions_and_the_current_one_stay(published):
    switch(published, "v1")
    publish_order = version_names(published)

    fates = prune(published, keep=2)

    assert publish_order == ["v2", "v3", "v4", "v5", "v1"]
    assert names_that_stay(fates) == {"v5", "v1"} == set(version_names(published))
    verify(current(published))
    assert not list(published.glob(".removed*"))


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


def test_what_the_store_did_not_publish_stays(published):
    shutil.copytree(published / "v1", published / "by-hand")

    fates = prune(published, keep=1)

    assert names_that_stay(fates) == {"by-hand", "v5"}


def test_keeping_none_is_refused(published):
    with pytest.raises(UsageError):
        prune(published, keep=0)


def test_the_commands_publish_name_switch_and_prune(tmp_path, capsys):
    shelf = str(tmp_path / "store" / "klwiki")
    for n in "123":
        source = make(tmp_path / n, f"Text {n}.")
        assert main(["publish", str(source), shelf, "--version", n]) == 0
    capsys.readouterr()

    assert main(["current", shelf]) == 0
    assert capsys.readouterr().out == f"{shelf}/3\n"
    assert main(["switch", shelf, "2"]) == 0
    assert main(["prune", shelf, "--keep", "1"]) == 0
    capsys.readouterr()
    assert main(["list", shelf]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["2"]
    assert main(["switch", shelf, "3"]) == 2
    assert main(["current", str(tmp_path)]) == 1


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

    def verify_then_replace(path):
        verify(path)
        (other / name).replace(source / name)

    monkeypatch.setattr("corpora.inspection.verify", verify_then_replace)

    with pytest.raises(CorpusError, match="changed meanwhile"):
        publish(source, shelf, version="v")

    assert version_names(shelf) == []


def test_of_a_version_on_another_disk_the_link_is_removed_and_no_data(published, tmp_path):
    shutil.move(published / "v1", tmp_path / "big-disk")
    (published / "v1").symlink_to(tmp_path / "big-disk")

    prune(published, keep=4)

    assert version_names(published) == ["v2", "v3", "v4", "v5"]
    verify(tmp_path / "big-disk")
    switch(published, "v2")


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


@pytest.mark.parametrize(("name", "content"), [("current", b"\xff\xfe"), ("history.json", b'"v1"')])
def test_damaged_files_of_a_shelf_are_named(name, content, published):
    (published / name).write_bytes(content)

    with pytest.raises(DamagedDatasetError, match=name):
        current(published) / version_names(published)[0]


# Runs the command given as Python, killed at the file operation of that number; prints the number
# of operations when none is left to be killed at.
DRIVER = """
import os, shutil, signal, sys
from pathlib import Path
import corpora.build, corpora.inspection, corpora.retention, corpora.shards, corpora.store
from corpora.store import current, publish, version_names
from corpora.inspection import verify

code, pristine, store, source = sys.argv[1], *map(Path, sys.argv[2:])
shelf = store / "klwiki"
EVENTS = {"os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "fcntl.flock"}
WRITING = os.O_WRONLY | os.O_RDWR

def in_a_child(number):
    pid = os.fork()
    if not pid:
        left = number
        def hook(event, arguments):
            nonlocal left
            if event in EVENTS or (event == "open" and (arguments[2] or 0) & WRITING):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        exec(code)
        os._exit(0)
    return os.waitpid(pid, 0)[1]

number, is_killed = 0, True
while is_killed:
    number += 1
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(pristine, store)
    is_killed = in_a_child(number) == signal.SIGKILL
    name = current(shelf).name
    verify(current(shelf))
    for version in version_names(shelf):
        verify(shelf / version)
    assert name == "v2" or (name == "v3" and "publish" in code), name
    assert in_a_child(0) == 0
    left = {path.name for path in shelf.iterdir()} - {"current", "history.json", ".lock"}
    assert left == ({"v1", "v2", "v3"} if "publish" in code else {"v2"}), left
    verify(current(shelf))
print(number)
"""


@pytest.mark.parametrize(
    "code",
    ['publish(source, shelf, version="v3")', "corpora.retention.prune(shelf, keep=1)"],
    ids=["publish", "prune"],
)
def test_killed_at_any_file_operation_there_is_always_a_whole_current_version(code, five, tmp_path):
    pristine = tmp_path / "pristine"
    for n in (1, 2):
        publish(five / f"run{n}", pristine / "klwiki", version=f"v{n}")
    command = [sys.executable, "-c", DRIVER, code]

    done = subprocess.run(
        [*command, pristine, tmp_path / "store", five / "run3"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
