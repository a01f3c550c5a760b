"""Runs with workers of this machine: killed, interrupted, in a thread, their log."""

import os
import random
import re
import signal
import sys
import threading
import time

import pytest

from pipelines import tei_to_ner
from pipelines.graph import Phase
from tests.killing import files_of
from tests.pipelines import broken_graphs
from tests.pipelines.test_interruptions import copies, resume, start  # noqa: F401 - a fixture
from tests.pipelines.test_tei_to_ner import LETTERS, OPTIONS
from tests.processes import PATIENCE_S, end_of, wait_for, workers_of

KILLS = 2


def start_two(output, inputs):
    """Start a run with two workers in a session of its own."""
    return start(sys.executable, output, inputs, "--workers", "2", start_new_session=True)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killed_run_leaves_no_process_at_any_moment_of_its_start(copies, tmp_path):  # noqa: F811
    rng = random.Random(20261122)
    n_killed = 0

    while n_killed < KILLS:
        run_of_two = start_two(tmp_path / "out", copies)
        time.sleep(rng.uniform(0.2, 1.0))
        run_of_two.kill()
        n_killed += run_of_two.wait() == -signal.SIGKILL

        end_of(run_of_two)
        run_of_two.stderr.close()

    assert resume(tmp_path / "out", copies, "--workers", "2") == 0
    assert resume(tmp_path / "one", copies) == 0
    assert files_of(tmp_path / "out") == files_of(tmp_path / "one")


@pytest.fixture
def run_at_work(copies, tmp_path):  # noqa: F811
    """Start a run with two workers, and wait for its first unit; returns it and its output."""
    process = start_two(tmp_path / "out", copies)
    wait_for(lambda: any((tmp_path / "out").glob(".build/*/receipts/0*.json")))
    return process, tmp_path / "out"


def test_run_whose_worker_is_killed_says_so_and_goes_on(run_at_work, copies):  # noqa: F811
    process, output = run_at_work
    victim = workers_of(process)[0]

    os.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1
    last = errors.splitlines()[-1]
    assert last.startswith(f"error: Worker process {victim} was killed by SIGKILL")
    assert re.search(r"See .*/workers.log; the same command resumes from here\.$", last)
    end_of(process)
    assert resume(output, copies, "--workers", "2") == 0


@pytest.mark.parametrize(
    ("number", "send", "status", "said"),
    [
        (signal.SIGINT, os.killpg, 130, "interrupted"),  # as a terminal does
        (signal.SIGTERM, os.kill, 143, "stopped by SIGTERM"),  # as a scheduler does
    ],
)
def test_interrupted_run_with_workers_leaves_none(run_at_work, copies, number, send, status, said):  # noqa: F811
    process, output = run_at_work

    send(process.pid, number)
    _, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == status
    assert errors.splitlines()[-1] == f"error: {said}. The same command resumes from here."
    end_of(process)
    assert not (output / "run.json").exists()
    assert resume(output, copies, "--workers", "2") == 0


def test_what_workers_write_to_standard_error_is_in_their_log(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("corpora.runs.plan.UNIT_FILES", 4)
    monkeypatch.setattr(tei_to_ner, "phases", lambda: [Phase(broken_graphs.cannot_read)])
    command = ["--input", str(LETTERS), "--output", str(tmp_path / "out"), *OPTIONS]

    assert tei_to_ner.main([*command, "--workers", "2"]) == 1

    [log] = (tmp_path / "out").glob(".build/*/workers.log")
    assert "a library of the worker complains" in log.read_text()
    assert "a library" not in capfd.readouterr().err


def test_runs_from_another_thread_and_one_after_the_other_make_the_same(tmp_path):
    command = ["--input", str(LETTERS), *OPTIONS, "--workers", "2", "--output"]
    statuses = []

    def run_one():
        statuses.append(tei_to_ner.main([*command, str(tmp_path / "thread")]))

    thread = threading.Thread(target=run_one)
    thread.start()
    thread.join()
    statuses += [tei_to_ner.main([*command, str(tmp_path / name)]) for name in ("one", "two")]

    assert statuses == [0, 0, 0]
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two") == files_of(tmp_path / "thread")
