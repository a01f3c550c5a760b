"""Processes of this machine that run the same graph, each over its part of the units.

A worker asks for a unit when it is done with the one before. It is started by the standard
library's server for that (``forkserver``), which has loaded Beam once, ends with the launcher, and
has no thread whose lock a copy could inherit.
"""

import fcntl
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self

from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from pipelines.failures import WorkerDiedError, failure_of
from pipelines.graph import Graph, Run

_NEXT, _DONE = "next", "done"


@dataclass(frozen=True)
class _Failure:
    message: str
    """For people, or a traceback."""
    is_clear: bool


class Workers:
    """``n`` processes; use them with ``with``, after which none is left."""

    def __init__(self, n: int, *, log: Path) -> None:
        self._n, self._log = n, log
        self._processes: dict[Any, Any] = {}

    def __enter__(self) -> Self:
        """Start them."""
        context = get_context("forkserver")
        context.set_forkserver_preload(["pipelines.in_memory"])
        for number in range(self._n):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_live, args=(theirs, str(self._log)), name=f"worker {number}"
            )
            process.start()
            theirs.close()
            self._processes[ours] = process
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Send them home, or kill them where something failed."""
        for connection, process in self._processes.items():
            if kind is not None:
                process.kill()
            connection.close()
        for process in self._processes.values():
            process.join()

    def run_graph(self, graph: Graph, units: Sequence[Unit], *, options: Any, run: Run) -> None:
        """Have units done; raises ``CorpusError`` or ``RuntimeError`` as soon as one failed."""
        pending = iter(units)
        busy: set[Any] = set(list(self._processes)[: len(units)])
        for connection in busy:
            self._send(connection, (graph, options, run))
        while busy:
            ready: Any
            for ready in wait(busy):
                message = self._receive(ready)
                if isinstance(message, _Failure):
                    raise (CorpusError if message.is_clear else RuntimeError)(message.message)
                if message == _NEXT:
                    self._send(ready, next(pending, None))
                else:
                    busy.discard(ready)

    def _send(self, connection: Any, message: object) -> None:
        try:
            connection.send(message)
        except BrokenPipeError:
            raise self._died(connection) from None

    def _receive(self, connection: Any) -> Any:
        try:
            return connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._died(connection) from None

    def _died(self, connection: Any) -> WorkerDiedError:
        process = self._processes[connection]
        process.join()
        code = process.exitcode or 0
        how = (
            f"was killed by {signal.Signals(-code).name}"
            if code < 0
            else f"ended with status {code}"
        )
        return WorkerDiedError(f"Worker process {process.pid} {how}")


def _live(connection: Connection, log: str) -> None:
    """Be a worker until there is no more to do, or the launcher is gone."""
    threading.Thread(target=_follow_launcher, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the launcher, who ends us
    with open(log, "ab") as file:  # noqa: PTH123 - a descriptor is all that is needed
        os.dup2(file.fileno(), 2)
    from pipelines.in_memory import run_graph

    while True:
        try:
            graph, options, run = connection.recv()
        except EOFError:
            return
        try:
            run_graph(graph, _units(connection), options=options, run=run)
        except Exception as error:  # noqa: BLE001 - the launcher decides
            with suppress(OSError):  # the log has no room
                sys.stderr.write(traceback.format_exc())
                sys.stderr.flush()
            clear = failure_of(error)
            text = str(clear) if clear else traceback.format_exc().rstrip()
            connection.send(_Failure(text, is_clear=clear is not None))
        else:
            connection.send(_DONE)


def _follow_launcher() -> None:
    """Die with the launcher, whatever the main thread does.

    Where a library holds the interpreter, no thread of it runs: so the system is asked for a signal
    at the end of the pipe that only the launcher holds, which ends this process.
    """
    launcher = parent_process()
    if launcher is not None:
        if sys.platform == "linux":
            fcntl.fcntl(launcher.sentinel, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(launcher.sentinel, fcntl.F_SETFL, os.O_ASYNC)
        launcher.join()
    os.kill(os.getpid(), signal.SIGKILL)


def _units(connection: Connection) -> Iterator[Unit]:
    connection.send(_NEXT)
    while unit := connection.recv():
        yield unit
        connection.send(_NEXT)
