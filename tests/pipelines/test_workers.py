"""What a worker does on another machine: refuses other code, bears a second attempt, reads ours."""

import errno
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from corpora.errors import CorpusError
from corpora.runs.build import hold
from corpora.runs.plan import version_of_code
from corpora.runs.work_directory import WorkDirectory
from corpora.system.files import sha256_of
from corpora.system.writing import temporary_path
from pipelines import documents_to_lexicon, tei_to_ner, text_to_documents
from pipelines.engine import describe
from pipelines.failures import explain
from pipelines.in_memory import run_graph
from pipelines.transforms.elements import InUnit
from pipelines.transforms.files import read_files
from pipelines.transforms.tei import cut_sentences, parse_tei
from tests.killing import files_of
from tests.pipelines.test_tei_to_ner import LETTERS

NAME = "pipelines.tei_to_ner"
STORY = Path(__file__).parents[1] / "data" / "text" / "wulingzhen.txt"


def options(output, *, edition="tei"):
    return tei_to_ner.Options(input=(str(LETTERS),), output=output, edition=str(edition))


@contextmanager
def planned(output, **settings):
    """Hold the folder of a run; yields its build, and what its transforms know of it."""
    with hold(output, tei_to_ner.plan(options(output, **settings))) as build:
        yield build, describe(build, code=version_of_code())


def do(unit, run):
    run_graph(tei_to_ner.graph, [unit], run=run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": "other"}, "another Onoma, Python or pyarrow than the run was planned with"),
        ({"folder": "/not/mounted"}, "/not/mounted: a worker on .* does not see this folder"),
    ],
)
def test_worker_that_is_not_set_up_as_the_launcher_refuses(change, message, tmp_path):
    with planned(tmp_path / "out") as (build, run):
        [unit] = build.pending()
        do(unit, run)
        build.receipt_path(unit).unlink()

        with pytest.raises(CorpusError, match=message):
            replace(run, **change).write_shards().begin(unit)

        assert len(build.pending()) == 1


def test_second_attempt_in_the_middle_of_the_first_does_no_harm(tmp_path):
    assert tei_to_ner.main(["--input", str(LETTERS), "--output", str(tmp_path / "local")]) == 0
    with planned(tmp_path / "out") as (build, run):
        unit = build.plan.marked(*build.pending(), "").hashed()
        edition = run.auxiliary["edition"]
        files = read_files(unit, max_bytes=1_000_000)
        settings = run.settings
        parse = partial(parse_tei, settings=settings, edition=edition, registers=(), included={})
        parsed = [InUnit(unit, texts) for file in files for texts in parse(file)]
        written = [w for texts in parsed for w in cut_sentences(texts, settings=settings)]
        first = run.write_shards().begin(unit)
        for outcome in written[:3]:
            first.add(outcome)

        do(unit, run)  # the same process number as a worker elsewhere may have
        for outcome in written[3:]:
            first.add(outcome)
        first.close()

        assert not list(tmp_path.rglob(".tmp-*"))
        build.publish(tei_to_ner.write_side_files)

    assert files_of(tmp_path / "out") == files_of(tmp_path / "local")


def test_files_of_the_installation_travel_with_the_run(tmp_path):
    with planned(tmp_path / "out") as (build, run):
        file = run.auxiliary["edition"]

        assert Path(file.path).is_relative_to(build.folder)
        assert sha256_of(Path(file.path)) == file.sha256


def test_files_of_the_user_stay_where_they_are(tmp_path):
    edition = shutil.copy(LETTERS / "edition.toml", tmp_path / "mine.toml")

    with planned(tmp_path / "out", edition=edition) as (_, run):
        assert run.auxiliary["edition"].path == str(edition)


def test_shards_of_a_stage_are_those_of_the_plan_whatever_a_folder_lists(tmp_path):
    text = ["--input", str(STORY), "--lang", "zh", "--group", "g", "--output", str(tmp_path / "zh")]
    assert text_to_documents.main(text) == 0
    lexicon = documents_to_lexicon.Options(
        input=(str(tmp_path / "zh"),), output=tmp_path / "out", known="none"
    )

    with hold(lexicon.output, documents_to_lexicon.plan(lexicon)) as build:
        named = WorkDirectory(build.folder).shards("streams")

    assert [path.name for path in named] == ["shard-00000.arrow"]
    assert not any(path.exists() for path in named)


def test_what_a_kill_after_publishing_left_behind_goes_with_the_next_run(tmp_path):
    command = ["--input", str(LETTERS), "--output", str(tmp_path / "out")]
    assert tei_to_ner.main(command) == 0
    before = sorted((tmp_path / "out").rglob("*"))
    [build] = (tmp_path / "out" / ".build").glob("*[0-9a-f]")
    (build / "tables").mkdir()
    (build / "tables" / "left").touch()
    temporary_path(build.parent / "published.json").touch()

    assert tei_to_ner.main(command) == 0

    assert sorted((tmp_path / "out").rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--output", "hdfs://host/sturm"), "is no path, nor s3://BUCKET/"),
        (("--input", "https://host/*.xml"), "is no path, nor s3://BUCKET/"),
        (("--job_endpoint=localhost:8099",), "runs nothing without a --runner"),
        (("--environment_type=EXTERNAL",), "runs nothing without a --runner"),
    ],
)
def test_what_cannot_run_is_said_before_anything_is_done(change, message, tmp_path, capsys):
    output = () if "--output" in change else ("--output", str(tmp_path / "out"))
    command = ["--input", str(LETTERS), *output, *change]

    status = tei_to_ner.main(command)

    assert status == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_full_disk_is_named_where_a_copy_was_to_be_written():
    error = OSError(errno.ENOSPC, "No space left on device", "old/a.arrow", None, "new/a.arrow")

    assert explain(error, where="out").startswith("new/a.arrow: No space left on device.")


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-", ">/dev/full"])
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
