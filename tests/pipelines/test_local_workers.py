"""Workers of this machine do what they are given, and die with whom they belong to."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpora.errors import CorpusError
from pipelines import local_workers
from pipelines.local_workers import WorkerDiedError, Workers
from tests.pipelines.test_interruptions import copies, finish, start  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[2]
STUCK = """import sys, time
from pipelines import local_workers, run
from tests.pipelines import test_local_workers as tests

if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        local_workers._can_fork = lambda: False
    with local_workers.Workers(2, tests.obey) as workers:
        sys.stdout.write("ready\\n")
        sys.stdout.flush()
        workers.do_all([(sys.argv[2], ""), (sys.argv[2], "")])
"""


def obey(request):
    """What the workers of these tests do."""
    order, value = request
    match order:
        case "pid":
            return os.getpid()
        case "double":
            return 2 * value
        case "touch":
            Path(value).touch()
            return os.getpid()
        case "append":
            with Path(value).open("a", encoding="utf-8") as file:
                file.write("x")
            return os.getpid()
        case "wait":
            wait_for(Path(value).exists)
            return os.getpid()
        case "fail":
            raise CorpusError(value)
        case "die":
            os.kill(os.getpid(), value)
            return wait_for(lambda: False)
        case "exit":
            os._exit(value)
        case "count":  # without ever waiting for anything
            while True:
                value += "."
        case "hold":  # without ever letting go of the interpreter
            return re.match("(a|a)*b", "a" * 40)
        case "arrow":
            return shrink(value)
    raise AssertionError(order)


def give_what_cannot_travel(_):
    """A worker that fails itself, not its work."""
    return lambda: None


def shrink(words):
    """Something of everything that Arrow does in threads of its own, or in its own memory."""
    table = pa.table({"word": words, "number": range(len(words))})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=True)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1_000)
    packed = sink.getvalue()
    again = pa.ipc.open_file(packed).read_all().group_by("word").aggregate([("number", "sum")])
    sums = again.sort_by("word").column("number_sum").to_pylist()
    return packed.to_pybytes(), sums, pc.sum(pc.utf8_length(table["word"])).as_py()


def wait_for(condition, *, seconds=20.0):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def lives(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def session_of(pid):
    """The processes that began in the session of a process, and are not dead."""
    members = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, session = file.read_text().rpartition(") ")[2].split()[:4]
            if int(session) == pid and state != "Z":
                members.append(int(file.parent.name))
    return members


both_ways = pytest.mark.usefixtures("way")


def end_of(leader, *, seconds=10.0):
    """Wait until nobody of a session lives, not long; ends it where that is in vain."""
    try:
        wait_for(lambda: not session_of(leader.pid), seconds=seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)


@pytest.fixture(params=["fork", "spawn"])
def way(request, monkeypatch):
    """Both ways to start a worker."""
    monkeypatch.setattr(local_workers, "_can_fork", lambda: request.param == "fork")
    return request.param


@both_ways
def test_results_have_the_order_of_the_requests():
    with Workers(2, obey) as workers:
        assert workers.do_all([("double", n) for n in range(50)]) == [2 * n for n in range(50)]
        assert workers.do_all([]) == []


@both_ways
def test_work_is_done_elsewhere_and_nobody_is_left():
    with Workers(2, obey) as workers:
        pids = set(workers.do_all([("pid", None)] * 20))

    assert os.getpid() not in pids
    assert not any(lives(pid) for pid in pids)


def test_nobody_is_left_where_the_launcher_fails():
    class BrokenError(Exception):
        pass

    with pytest.raises(BrokenError), Workers(2, obey) as workers:  # noqa: PT012
        pids = set(workers.do_all([("pid", None)] * 20))
        raise BrokenError

    assert not any(lives(pid) for pid in pids)


def test_who_is_done_early_takes_more(tmp_path):
    go = tmp_path / "go"

    with Workers(2, obey) as workers:
        slow, *quick = workers.do_all([("wait", go), *[("pid", None)] * 20, ("touch", go)])

    assert slow not in quick
    assert len(set(quick)) == 1


@both_ways
def test_error_of_a_worker_is_told_and_ends_all():
    with Workers(2, obey) as workers:
        with pytest.raises(RuntimeError, match=r"CorpusError: no such page$"):
            workers.do_all([("count", ""), ("fail", "no such page"), ("count", "")])

        assert not any(lives(worker.pid) for worker in workers._all)


@both_ways
@pytest.mark.parametrize(
    ("order", "message"),
    [
        (("die", signal.SIGKILL), r"Worker process \d+ was killed by SIGKILL \(.* memory"),
        (("die", signal.SIGTERM), r"Worker process \d+ was killed by SIGTERM$"),
        (("exit", 3), r"Worker process \d+ ended with exit status 3$"),
    ],
)
def test_worker_that_dies_ends_all_and_is_named(order, message):
    with Workers(2, obey) as workers:
        with pytest.raises(WorkerDiedError, match=message):
            workers.do_all([("count", ""), order, *[("pid", None)] * 5])

        assert not any(lives(worker.pid) for worker in workers._all)


def test_worker_that_died_while_it_had_nothing_to_do_is_named():
    with Workers(1, obey) as workers:
        [pid] = workers.do_all([("pid", None)])
        os.kill(pid, signal.SIGKILL)

        with pytest.raises(WorkerDiedError, match=f"{pid} was killed by SIGKILL"):
            workers.do_all([("pid", None)])


def test_arrow_does_the_same_in_a_copy_of_a_process_that_has_used_its_threads(monkeypatch):
    monkeypatch.setattr(local_workers, "_can_fork", lambda: True)
    words = [f"Wort {n % 997}" for n in range(20_000)]
    expected = shrink(words)

    with Workers(2, obey) as workers:
        found = workers.do_all([("arrow", words)] * 4)

    assert found == [expected] * 4


def test_process_with_other_threads_is_not_copied(monkeypatch):
    monkeypatch.setattr(local_workers, "_POOLS", frozenset())
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    n_threads = threading.active_count()

    alone = local_workers._can_fork()
    other.start()
    both = local_workers._can_fork()
    go.set()
    other.join()

    assert alone is (sys.platform == "linux" and n_threads == 1)
    assert both is False


def test_process_whose_libraries_have_threads_that_do_not_come_along_is_not_copied(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setitem(sys.modules, "rensa", sys)

    assert local_workers._can_fork() is False


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_worker_with_no_room_for_its_log_tells_the_error_nevertheless(monkeypatch):
    monkeypatch.setattr(local_workers, "_can_fork", lambda: True)
    with Path("/dev/full").open("w", buffering=1) as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)

        with Workers(1, obey) as workers, pytest.raises(RuntimeError, match="no such page"):
            workers.do_all([("fail", "no such page")])


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_worker_that_fails_with_no_room_for_its_log_does_not_go_on_as_its_launcher(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(local_workers, "_can_fork", lambda: True)
    launcher = os.getpid()
    with Path("/dev/full").open("w", buffering=1) as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)
        try:
            with (
                Workers(1, give_what_cannot_travel) as workers,
                pytest.raises(WorkerDiedError, match="exit status 1"),
            ):
                workers.do_all([0])
        finally:
            if os.getpid() != launcher:
                (tmp_path / "escaped").touch()
                os._exit(1)

    assert not (tmp_path / "escaped").exists()


def test_process_without_standard_streams_has_workers(monkeypatch):
    monkeypatch.setattr(local_workers, "_can_fork", lambda: True)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)

    with Workers(1, obey) as workers:
        assert workers.do_all([("double", 2)]) == [4]


@pytest.mark.parametrize(
    ("way", "order"), [("fork", "count"), ("spawn", "count"), ("fork", "hold")]
)
def test_workers_of_a_killed_launcher_are_gone_at_once_whatever_they_do(way, order, tmp_path):
    (tmp_path / "stuck.py").write_text(STUCK)
    launcher = subprocess.Popen(
        [sys.executable, str(tmp_path / "stuck.py"), way, order],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert launcher.stdout.readline() == "ready\n"
    wait_for(lambda: len(session_of(launcher.pid)) == 3)
    time.sleep(0.5 if way == "spawn" else 0.05)  # they count now

    launcher.kill()
    launcher.wait()

    end_of(launcher)
    launcher.stdout.close()
