"""A graph on processes of this machine; each asks for a unit when it is done with the one before.

They are started by the standard library's server for that (``forkserver``), which has loaded Beam
and the pipeline once, ends with the launcher, and has no thread whose lock a copy could inherit.
"""

import fcntl
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from corpora.system.imports import hide_pandas_from_pyarrow
from pipelines.failures import WorkerDiedError, failure_of
from pipelines.graph import EachUnit, Graph, Run

_NEXT, _DONE = "next", "done"


def run_graph(graph: Graph, units: Sequence[Unit], *, run: Run, n_workers: int, log: Path) -> None:
    """Run a graph on units in worker processes; none is left when it returns or raises.

    Raises ``CorpusError``, ``RuntimeError`` or ``WorkerDiedError`` as soon as one worker failed.
    """
    context = get_context("forkserver")
    named = graph.function if isinstance(graph, EachUnit) else graph
    context.set_forkserver_preload(["pipelines.in_memory", named.__module__])
    pending = iter(units)
    workers: dict[Connection, ForkServerProcess] = {}
    try:
        for number in range(min(n_workers, len(units))):
            ours, theirs = context.Pipe()
            given = (theirs, (str(log), dict(os.environ)), (graph, run))
            process = context.Process(target=_work, args=given, name=f"worker {number}")
            process.start()
            theirs.close()
            workers[ours] = process
        while workers:
            talking = wait(list(workers))
            for ready in [each for each in workers if each in talking]:
                try:
                    message = ready.recv()
                    if message == _NEXT:
                        ready.send(next(pending, None))
                except (EOFError, BrokenPipeError, ConnectionResetError):
                    raise _died(workers[ready]) from None
                if isinstance(message, Exception):
                    raise message
                if message == _DONE:
                    workers.pop(ready).join()
    finally:
        for process in workers.values():
            process.kill()
            process.join()


def _died(process: ForkServerProcess) -> WorkerDiedError:
    process.join()
    code = process.exitcode or 0
    killed = f"was killed by {signal.Signals(-code).name}" if code < 0 else ""
    how = killed or f"ended with status {code}"
    return WorkerDiedError(f"Worker process {process.pid} {how}")


def _work(
    connection: Connection, place: tuple[str, dict[str, str]], task: tuple[Graph, Run]
) -> None:
    """Do units until there are no more, or the launcher is gone.

    The environment is the run's: the server that starts workers may have an older one.
    """
    log, environment = place
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_follow_launcher, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the launcher, which ends us
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
    hide_pandas_from_pyarrow()
    from pipelines.in_memory import run_graph as run_here

    graph, run = task
    try:
        run_here(graph, _units(connection), run=run)
    except Exception as error:  # noqa: BLE001 - the launcher decides
        with suppress(OSError):  # the disk with the log may be full
            traceback.print_exc()
        clear = failure_of(error)
        text = str(clear) if clear else traceback.format_exc().rstrip()
        connection.send(CorpusError(text) if clear else RuntimeError(text))
    else:
        connection.send(_DONE)


def _units(connection: Connection) -> Iterator[Unit]:
    connection.send(_NEXT)
    while unit := connection.recv():
        yield unit
        connection.send(_NEXT)


def _follow_launcher() -> None:
    """Kill this process when the launcher ends, whatever the main thread does.

    While a library holds the interpreter lock, no thread runs: so on Linux the system also sends a
    signal when the pipe that only the launcher holds is closed, and the signal ends this process.
    """
    if launcher := parent_process():
        if sys.platform == "linux":
            fcntl.fcntl(launcher.sentinel, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(launcher.sentinel, fcntl.F_SETFL, os.O_ASYNC)
        launcher.join()
    os.kill(os.getpid(), signal.SIGKILL)
