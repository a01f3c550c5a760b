"""Worker processes of this machine, which die at once with the process that made them.

A worker is a copy of its launcher (``fork``): it has loaded what the launcher has, shares its
memory, and holds its locks, so that nobody takes them while it lives. Only a process with one
thread of Python, and without some libraries, is safely copied, and only on Linux; elsewhere a
worker is a fresh interpreter, which takes longer to start, and is the same otherwise.

Launcher and worker speak through a pair of sockets. A thread of the worker reads it from the first
moment on; where it ends, the launcher is dead, and the worker ends itself. On Linux the system ends
it, too: a thread waits where a library does not let go of the interpreter.
"""

import atexit
import ctypes
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NoReturn, Self

from pipelines.failures import WorkerDiedError

Do = Callable[[Any], Any]
"""What a worker does with a request; a function of a module."""
_BYE = b""
"""Instead of a request: end in an orderly way."""
_POOLS = frozenset({"polars", "rensa", "torch"})
"""Libraries whose threads are not made anew in a copy: it would wait for them for ever."""
_PR_SET_PDEATHSIG = 1
"""Of ``prctl(2)``."""


class Workers:
    """``n`` processes that do something, each one thing at a time; use them with ``with``.

    When that ends, and when anything fails, all of them are gone.
    """

    def __init__(self, n: int, do: Do) -> None:
        self._n = n
        self._do = do
        self._all: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._threads = ThreadPoolExecutor(n)  # which starts them when it has something to do

    def __enter__(self) -> Self:
        """Start them."""
        start = _fork if _can_fork() else _spawn
        try:
            for _ in range(self._n):
                worker = start(self._do, [worker.connection for worker in self._all])
                self._all.append(worker)
                self._idle.put(worker)
        except BaseException:
            self._end_now()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Send them home, or kill them where something failed."""
        if kind is not None:
            self._end_now()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._all:
            worker.dismiss()
        for worker in self._all:
            worker.wait()

    def do_all(self, requests: Iterable[Any]) -> list[Any]:
        """Have things done, each by the first who is free; gives the results in order.

        Raises ``WorkerDiedError``, or ``RuntimeError`` with the traceback of what a worker raised;
        what the others are at is broken off then.
        """
        futures = [self._threads.submit(self._have_done, request) for request in requests]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C, too: the threads wait for workers
            self._end_now()
            raise

    def _have_done(self, request: Any) -> Any:
        if self._failure:
            raise self._failure
        worker = self._idle.get()  # as many threads as workers: there is one
        try:
            return worker.do(request)
        except Exception as error:  # noqa: BLE001 - raised again, whatever it is
            with self._lock:
                self._failure = self._failure or error  # the others fail because they are ended
            self._end_now()
            raise self._failure from None
        finally:
            self._idle.put(worker)

    def _end_now(self) -> None:
        for worker in self._all:
            worker.kill()
        for worker in self._all:
            worker.wait()


@dataclass
class _Worker:
    """A process, as its launcher sees it."""

    pid: int
    connection: Connection
    collect: Callable[[], int]
    """Waits for its end, and gives its exit status; to be called once."""
    _has_worked: bool = False
    _status: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def do(self, request: Any) -> Any:
        """Have something done."""
        self._has_worked = True
        try:
            self.connection.send(request)
            is_done, result = self.connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError(self._obituary()) from error
        if not is_done:
            raise RuntimeError(result)
        return result

    def _obituary(self) -> str:
        status = self.wait()
        if status >= 0:
            return f"Worker process {self.pid} ended with exit status {status}"
        how = f"Worker process {self.pid} was killed by {signal.Signals(-status).name}"
        if status == -signal.SIGKILL:
            how += " (the system does so when memory runs out; fewer --workers need less)"
        return how

    def dismiss(self) -> None:
        """Let it end, having put away what it has; does not wait for it."""
        if not self._has_worked:
            self.kill()  # it may still be starting
            return
        with suppress(OSError):  # it is dead, and nobody noticed
            self.connection.send_bytes(_BYE)

    def kill(self) -> None:
        """End it now; whatever it does can be done again."""
        with self._lock:
            if self._status is None:
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; gives its exit status, negative for a signal."""
        with self._lock:
            if self._status is None:
                self._status = self.collect()
            return self._status


def _can_fork() -> bool:
    """Whether a copy of this process is sound: no other thread may hold a lock meanwhile.

    Threads of Arrow and OpenBLAS do no harm: both make new ones in the copy. ``tokenizers`` does
    without in a copy.
    """
    is_alone = threading.active_count() == 1 and _POOLS.isdisjoint(sys.modules)
    return sys.platform == "linux" and is_alone


def _fork(do: Do, of_others: Sequence[Connection]) -> _Worker:
    """Start a worker that is a copy of this process."""
    ours, theirs = Pipe()
    _flush()  # or the copy would write it, too
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 counts Arrow's, too
            pid = os.fork()
        if pid == 0:
            for connection in (*of_others, ours):
                connection.close()  # or siblings would keep each other alive
            _live(do, theirs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
    theirs.close()
    return _Worker(pid, ours, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _spawn(do: Do, _: Sequence[Connection]) -> _Worker:
    """Start a worker that is a fresh interpreter."""
    ours, theirs = Pipe()
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import live_anew; "
        f"live_anew({theirs.fileno()}, {do.__module__!r}, {do.__name__!r})"
    )
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    return _Worker(process.pid, ours, process.wait)


def live_anew(descriptor: int, module: str, name: str) -> NoReturn:
    """Be a worker in a fresh interpreter."""

    def do(request: Any) -> Any:
        return getattr(import_module(module), name)(request)

    _live(do, Connection(descriptor))


def _live(do: Do, connection: Connection) -> NoReturn:
    """Be a worker until there is no more to do, or the launcher is gone."""
    status = 1
    try:
        _die_with_launcher()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the launcher, who ends us
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        inbox = _listen(connection)
        gc.freeze()  # what is shared stays shared: no collection writes to it
        atexit._clear()  # noqa: SLF001 - the launcher's
        while request := inbox.get():
            connection.send(_outcome(do, request))
        atexit._run_exitfuncs()  # noqa: SLF001 - ends extractors, which are processes, too
        status = 0
    except BaseException:  # noqa: BLE001 - nothing may return from here into the launcher's code
        traceback.print_exc()
    finally:
        try:
            _flush()
        finally:
            os._exit(status)


def _flush() -> None:
    """Write what waits in the standard streams, where they are there and have room."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # none, no room, closed
            stream.flush()


def _die_with_launcher() -> None:
    """Let the system kill this process when the thread that started it is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _listen(connection: Connection) -> SimpleQueue[bytes]:
    """Read requests in another thread, which ends this process when the launcher is dead."""
    inbox: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        try:
            while True:
                inbox.put(connection.recv_bytes())
        finally:
            os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    return inbox


def _outcome(do: Do, request: bytes) -> tuple[bool, Any]:
    """Whether it is done, and the result, or the traceback."""
    try:
        return True, do(pickle.loads(request))  # noqa: S301 - from our own process
    except Exception:  # noqa: BLE001 - the launcher decides
        text = traceback.format_exc().rstrip()
        with suppress(
            AttributeError, OSError, ValueError
        ):  # the disk may be full: that is what we tell
            sys.stderr.write(f"{text}\n")
        return False, text
