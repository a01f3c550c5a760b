"""What a worker does on another machine: refuses other code, bears a second attempt, reads ours."""

import errno
import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from corpora.build import Scratch, hold
from corpora.shards import sha256_of
from pipelines import documents_to_lexicon, tei_to_ner, text_to_documents
from pipelines.run import _tasks
from pipelines.work import FAILURE, UnitFailedError, do_unit, explain, version_of_code
from tests.pipelines.test_tei_to_ner import LETTERS, files_of

NAME = "pipelines.tei_to_ner"
STORY = Path(__file__).parents[1] / "data" / "text" / "wulingzhen.txt"


def options(output, *, edition="tei"):
    return tei_to_ner.Options(input=(str(LETTERS),), output=output, edition=str(edition))


@contextmanager
def planned(output, **settings):
    """A run that holds its folder, and the tasks of its units."""
    with hold(output, tei_to_ner.plan(options(output, **settings))) as build:
        [(tasks, _)] = _tasks(NAME, build.pending(), build=build)
        yield build, tasks


def message_of(error):
    return bytes.fromhex(str(error.value).removeprefix(FAILURE)).decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": "other"}, "another Onoma, Python or pyarrow than the run was planned with"),
        ({"folder": "/not/mounted"}, "/not/mounted: a worker on .* does not see this folder"),
    ],
)
def test_worker_that_is_not_set_up_as_the_launcher_refuses(change, message, tmp_path):
    with planned(tmp_path / "out") as (build, [task]):
        do_unit(replace(task, code=version_of_code()))
        build.receipt_path(build.plan.units[0]).unlink()

        with pytest.raises(UnitFailedError) as error:
            do_unit(replace(task, **change))

        assert len(build.pending()) == 1
    assert re.search(message, message_of(error))


def test_second_attempt_in_the_middle_of_the_first_does_no_harm(tmp_path, monkeypatch):
    assert tei_to_ner.main(["--input", str(LETTERS), "--output", str(tmp_path / "local")]) == 0
    write, n_begun = tei_to_ner.write, 0
    with planned(tmp_path / "out") as (build, [task]):

        def write_twice(unit, scratch):
            nonlocal n_begun
            n_begun += 1
            for number, outcome in enumerate(write(unit, scratch)):
                if number == 3 and n_begun == 1:
                    do_unit(task)  # the same process number as a worker elsewhere may have
                yield outcome

        monkeypatch.setattr(tei_to_ner, "write", write_twice)
        do_unit(task)

        assert n_begun == 2
        assert not list(tmp_path.rglob(".tmp-*"))
        build.publish(tei_to_ner.write_side_files)

    assert files_of(tmp_path / "out") == files_of(tmp_path / "local")


def test_files_of_the_installation_travel_with_the_run(tmp_path):
    with planned(tmp_path / "out") as (build, [task]):
        [file] = json.loads(task.unit)["auxiliary"].values()

        assert Path(file["path"]).is_relative_to(build.folder)
        assert sha256_of(Path(file["path"])) == file["sha256"]


def test_files_of_the_user_stay_where_they_are(tmp_path):
    edition = shutil.copy(LETTERS / "edition.toml", tmp_path / "mine.toml")

    with planned(tmp_path / "out", edition=edition) as (_, [task]):
        [file] = json.loads(task.unit)["auxiliary"].values()

    assert file["path"] == str(edition)


def test_shards_of_a_stage_are_those_of_the_plan_whatever_a_folder_lists(tmp_path):
    text = ["--input", str(STORY), "--lang", "zh", "--group", "g", "--output", str(tmp_path / "zh")]
    assert text_to_documents.main(text) == 0
    lexicon = documents_to_lexicon.Options(
        input=(str(tmp_path / "zh"),), output=tmp_path / "out", known="none"
    )

    with hold(lexicon.output, documents_to_lexicon.plan(lexicon)) as build:
        named = Scratch(build.folder).shards("streams")

    assert [path.name for path in named] == ["shard-00000.arrow"]
    assert not any(path.exists() for path in named)


def test_what_a_kill_after_publishing_left_behind_goes_with_the_next_run(tmp_path):
    command = ["--input", str(LETTERS), "--output", str(tmp_path / "out")]
    assert tei_to_ner.main(command) == 0
    before = sorted((tmp_path / "out").rglob("*"))
    [build] = (tmp_path / "out" / ".build").glob("*[0-9a-f]")
    (build / "tables").mkdir()
    (build / "tables" / "left").touch()
    (build.parent / ".tmp-1-published.json").touch()

    assert tei_to_ner.main(command) == 0

    assert sorted((tmp_path / "out").rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--output", "gs://bucket/sturm"), "only paths of a file system are read and written"),
        (("--input", "s3://bucket/*.xml"), "only paths of a file system are read and written"),
        (("--job_endpoint=localhost:8099",), "runs nothing without a --runner"),
        (("--environment_type=EXTERNAL",), "runs nothing without a --runner"),
    ],
)
def test_what_cannot_run_is_said_before_anything_is_done(change, message, tmp_path, capsys):
    command = ["--input", str(LETTERS), "--output", str(tmp_path / "out"), *change]

    with pytest.raises(SystemExit) as stop:
        tei_to_ner.main(command)

    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_full_disk_is_named_where_a_copy_was_to_be_written():
    error = OSError(errno.ENOSPC, "No space left on device", "old/a.arrow", None, "new/a.arrow")

    assert explain(error, where="out").startswith("new/a.arrow: No space left on device.")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_run_that_cannot_say_anything_is_done_nevertheless(closed, tmp_path):
    program = [sys.executable, "-m", NAME, "--workers", "2", "--input", str(LETTERS), "--output"]
    command = f"{shlex.join([*program, str(tmp_path / 'out')])} {closed}"

    assert subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0

    assert (tmp_path / "out" / "run.json").exists()


def test_half_made_folders_of_a_killed_run_are_removed_by_the_next(tmp_path):
    with planned(tmp_path / "out") as (build, _):
        (build.folder / "carried" / ".tmp-1-table").mkdir(parents=True)
        (build.folder / "carried" / ".tmp-1-table" / "ids").touch()

    with planned(tmp_path / "out") as (build, _):
        assert not list(build.folder.rglob(".tmp-*"))
