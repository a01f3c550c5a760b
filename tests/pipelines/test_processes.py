"""Processes that each run a graph over a part of the units, and end with their launcher."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from pipelines import processes
from pipelines.failures import WorkerDiedError
from pipelines.graph import Run
from tests.pipelines import broken_graphs
from tests.processes import PYTHONPATH, children_of, end_of, lives, session_of, wait_for

STUCK = """import sys
from pathlib import Path
from tests.pipelines import broken_graphs
from tests.pipelines.test_processes import run_graph

if __name__ == "__main__":
    print("ready", flush=True)
    run_graph(getattr(broken_graphs, sys.argv[1]), Path(sys.argv[2]))
"""


def units(n):
    return [Unit(number, (), {"n": n}) for number in range(n)]


def run_in(folder, settings=None):
    """Return what transforms may know of a run that has no plan."""
    return Run(str(folder), "", {"": {}}, {"": 2}, settings, {})


def run_graph(graph, folder, *, n=2, settings=None, log="log"):
    run = run_in(folder, settings)
    log = folder / log
    processes.run_graph(graph, units(n), run=run, n_workers=2, log=log)


def test_worker_that_is_done_takes_the_next_unit(tmp_path):
    (tmp_path / "notes").mkdir()

    run_graph(broken_graphs.noting, tmp_path, n=6, settings=tmp_path / "notes")

    notes = [path.name.split("-") for path in (tmp_path / "notes").iterdir()]
    [slow] = [pid for number, pid in notes if number == "0"]
    assert sorted(int(number) for number, _ in notes) == list(range(6))
    assert [number for number, pid in notes if pid == slow] == ["0"]
    assert str(os.getpid()) not in {pid for _, pid in notes}


def test_workers_do_one_graph_after_the_other(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run_graph(broken_graphs.noting, tmp_path, settings=tmp_path / name)

    assert len(list((tmp_path / "two").iterdir())) == 2


def test_workers_have_the_environment_of_their_run(monkeypatch, tmp_path):
    for value in ("first", "second"):
        monkeypatch.setenv("ONOMA_TEST", value)
        run_graph(broken_graphs.saying, tmp_path, settings=tmp_path / "said")

        assert (tmp_path / "said").read_text() == value


def test_nobody_is_left_afterwards(tmp_path):
    (tmp_path / "notes").mkdir()

    run_graph(broken_graphs.noting, tmp_path, settings=tmp_path / "notes")

    pids = {int(path.name.split("-")[1]) for path in (tmp_path / "notes").iterdir()}
    assert pids
    assert not any(map(lives, pids))


@pytest.mark.parametrize("log", ["log", "/dev/full"])
def test_error_of_a_worker_is_raised_whether_its_log_has_room_or_not(log, tmp_path):
    with pytest.raises(CorpusError, match=r"^b.xml:7: what is wrong. What to do.$"):
        run_graph(broken_graphs.cannot_read, tmp_path, log=log)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (broken_graphs.killed, "was killed by SIGKILL"),
        (broken_graphs.exited, "ended with status 3"),
    ],
)
def test_worker_that_dies_is_named_and_ends_all(graph, message, tmp_path):
    with pytest.raises(WorkerDiedError, match=message):
        run_graph(graph, tmp_path)

    assert not multiprocessing.active_children()


def test_process_without_standard_streams_has_workers(monkeypatch, tmp_path):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    (tmp_path / "notes").mkdir()

    run_graph(broken_graphs.noting, tmp_path, settings=tmp_path / "notes")

    assert len(list((tmp_path / "notes").iterdir())) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("graph", ["counting", "holding"])
def test_workers_of_a_killed_launcher_are_gone_whatever_they_do(graph, tmp_path):
    (tmp_path / "stuck.py").write_text(STUCK)
    launcher = subprocess.Popen(
        [sys.executable, str(tmp_path / "stuck.py"), graph, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert launcher.stdout.readline() == "ready\n"
    wait_for(lambda: len(at_work(launcher.pid)) == 2)

    launcher.kill()
    launcher.wait()

    end_of(launcher)
    launcher.stdout.close()


def at_work(pid):
    """Return the workers that have computed for over half a second, which they take to start."""
    workers = [of for child in children_of(pid) for of in children_of(child)]
    ticks = os.sysconf("SC_CLK_TCK")
    times = {of: int(Path(f"/proc/{of}/stat").read_text().split()[13]) / ticks for of in workers}
    return [of for of, seconds in times.items() if seconds > 0.5 and of in session_of(pid)]
