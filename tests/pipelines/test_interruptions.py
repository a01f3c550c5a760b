"""What was built survives kills, full disks, damage, and two runs at once."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from tests.killing import files_of
from tests.pipelines.test_tei_to_ner import LETTERS, OPTIONS, run
from tests.processes import copy_of, lives, wait_for

ROOT = Path(__file__).resolve().parents[2]
KILLS_BEFORE_PLAN = 1
KILLS_AFTER_PLAN = 3
COPIES = 13
UNIT_FILES = 10
PROGRAM = f"""import sys
import corpora.runs.plan
from pipelines.tei_to_ner import main

corpora.runs.plan.UNIT_FILES = {UNIT_FILES}
if "--workers" not in sys.argv:
    import pipelines.in_memory  # Beam: while it is loaded, nothing else happens
sys.exit(main())
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Copy letters until they are enough for some ten units of work."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(COPIES):
        for letter in LETTERS.glob("*.xml"):
            shutil.copy(letter, folder / f"{number:03}-{letter.name}")
    return folder


def start(python, output, inputs, *options, **settings):
    command = [python, "-c", PROGRAM, "--input", str(inputs)]
    return subprocess.Popen(
        [*command, "--output", str(output), *OPTIONS, *options],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def finish(process):
    """Wait for a run; its exit status."""
    process.communicate()
    return process.returncode


def resume(output, inputs, *options):
    """Run the same command in this process, which has loaded the libraries; its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corpora.runs.plan.UNIT_FILES", UNIT_FILES)
        return run(output, *options, inputs=inputs)


def wait_for_plan(process, output):
    """Wait until a run has its plan, or ends."""
    while process.poll() is None and not any(output.glob(".build/*/plan.json")):
        time.sleep(0.01)


def kill_after_plan(process, output, delay):
    """Kill a run some time after it has its plan; whether it was still at work.

    It has its lock until it is gone, which is a little later than the client that stands for it.
    """
    copy = copy_of(process)
    wait_for_plan(process, output)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    is_killed = finish(process) == -signal.SIGKILL
    wait_for(lambda: not lives(copy))
    return is_killed


def kill_before_plan(process):
    """Kill a run while it starts."""
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    return finish(process) == -signal.SIGKILL


@pytest.fixture(scope="module")
def undisturbed(copies, warm_python, tmp_path_factory):
    """Run to the end; returns the files, and the seconds after the plan."""
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    process = start(warm_python, output, copies)
    wait_for_plan(process, output)
    begin = time.monotonic()
    assert finish(process) == 0
    return files_of(output), time.monotonic() - begin


def test_killed_runs_end_in_the_same_bytes(copies, undisturbed, warm_python, tmp_path):
    expected, seconds = undisturbed
    rng = random.Random(20261120)
    output = tmp_path / "out"
    n_killed = sum(
        kill_before_plan(start(sys.executable, output, copies)) for _ in range(KILLS_BEFORE_PLAN)
    )
    assert n_killed == KILLS_BEFORE_PLAN

    while n_killed < KILLS_BEFORE_PLAN + KILLS_AFTER_PLAN:
        delay = rng.uniform(0.0, 0.6 * seconds)
        n_killed += kill_after_plan(start(warm_python, output, copies), output, delay)
        if (output / "run.json").exists():  # it was done: the next kill meets a new run
            assert files_of(output) == expected
            shutil.rmtree(output)
    assert resume(output, copies) == 0

    assert files_of(output) == expected


def test_interrupted_run_says_so_and_goes_on(copies, undisturbed, warm_python, tmp_path):
    process = start(warm_python, tmp_path / "out", copies)
    while process.poll() is None and not any((tmp_path / "out").glob(".build/*/receipts/0*.json")):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    assert process.returncode == 130
    assert errors.splitlines()[-1] == ("error: interrupted. The same command resumes from here.")
    assert resume(tmp_path / "out", copies) == 0
    assert files_of(tmp_path / "out") == undisturbed[0]


@pytest.mark.parametrize("where", ["ner/shard-00000.arrow", "train.json"])
def test_full_disk_is_a_clear_error_and_the_next_run_goes_on(where, tmp_path):
    options = ("--ratios", "100/0/0")  # so that train.json is larger than the shards
    assert run(tmp_path / "undisturbed", *options) == 0
    expected = files_of(tmp_path / "undisturbed")
    room = (tmp_path / "undisturbed" / where).stat().st_size - 1

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = start(sys.executable, tmp_path / "out", LETTERS, *options, preexec_fn=limit_file_size)
    _, errors = process.communicate()

    assert process.returncode == 1
    assert "File too large. Nothing was published" in errors.splitlines()[-1]
    assert not list((tmp_path / "out").glob("**/dataset.json"))
    assert bool(list((tmp_path / "out").glob(".build/*/receipts/*"))) is (where == "train.json")
    assert run(tmp_path / "out", *options) == 0
    assert files_of(tmp_path / "out") == expected


@pytest.mark.parametrize("workers", ["1", "2"])
def test_input_that_changes_during_the_run_is_an_error(workers, tmp_path, monkeypatch, capsys):
    letters = tmp_path / "letters"
    shutil.copytree(LETTERS, letters)
    import pipelines.tei_to_ner as pipeline

    plan = pipeline.plan

    def plan_and_change(options):
        made = plan(options)
        os.truncate(letters / "03.xml", 100)
        return made

    monkeypatch.setattr(pipeline, "plan", plan_and_change)

    assert run(tmp_path / "out", "--workers", workers, inputs=letters) == 1
    assert "03.xml: has changed since the run began" in capsys.readouterr().err


def test_shards_open_in_polars_and_in_hugging_face_datasets(tmp_path):
    import datasets
    import polars as pl

    assert run(tmp_path / "out") == 0
    shard = str(tmp_path / "out" / "documents" / "shard-00000.arrow")

    frame = pl.read_ipc(shard)
    loaded = datasets.load_dataset(
        "arrow", data_files=shard, split="train", cache_dir=str(tmp_path / "cache")
    )

    expected = list(open_dataset(tmp_path / "out" / "documents").records())
    assert frame["text"].to_list() == [d.text for d in expected]
    assert loaded["text"][:] == [d.text for d in expected]
    first = [(m["start"], m["label"]) for m in loaded[0]["mentions"]]
    assert first == [(m.start, m.label) for m in expected[0].mentions]
