"""Work on untrusted input in a process of its own, under bounds of time and memory.

A hostile page can keep a parser busy for hours, or fill the memory, and a library of C cannot be
stopped from inside: so a page that goes beyond ``Bounds`` costs its process, and nothing else. Time
is that of the processor, which hardly depends on what else the machine does.
"""

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from typing import IO, Any, Generic, TypeVar, get_type_hints

from corpora.errors import CorpusError, CountedError
from corpora.system.interrupts import let_sigterm_end
from corpora.system.parsing import JsonObject, typed

_WALL = 20
_START_SECONDS = 60.0
_NO_MEMORY = 97
"""The exit status of a process that ran out of memory."""
_XML_NO_MEMORY = 2
"""The error code ``XML_ERR_NO_MEMORY`` of libxml2."""
Arguments = Mapping[str, object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of time and memory of one call."""

    seconds: float = 10.0
    """Seconds of processor time."""
    megabytes: int = 1_000
    wall_seconds: float | None = None
    """The limit by the clock; None: twenty times that of the processor, at least 60 s."""


@dataclass(frozen=True, eq=False)
class Task(Generic[T]):
    """A module-level function to be called in another process; make one Task for all calls.

    The function may return JSON values, dataclasses, tuples and dates; its return annotation must
    say which. If it raises a ``CorpusError`` with a ``reason``, the caller gets a ``TaskError``
    with that reason.
    """

    function: Callable[..., T]
    first: Arguments
    """Arguments of a first call, which loads the libraries; its processor time is not limited."""


class TaskError(CountedError):
    """A failed call; ``reason`` is ``timeout``, ``memory``, ``failed``, or that of the error."""


def call(task: Task[T], arguments: Arguments, *, bounds: Bounds) -> T:
    """Call a function in another process; raises ``TaskError``."""
    answer: T = _engine(os.getpid(), task, bounds).call(arguments)
    return answer


def stop(task: Task[T], bounds: Bounds) -> None:
    """Kill the process of a call that another thread waits for; the call raises ``TaskError``."""
    process = _engine(os.getpid(), task, bounds).process
    if process is not None:
        process.kill()


class _Engine(Generic[T]):
    """The other process, shared by all threads of this one; a fatal call ends only the other."""

    def __init__(self, task: Task[T], bounds: Bounds) -> None:
        self.task, self.bounds = task, bounds
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.too_late: subprocess.Popen[bytes] | None = None
        """The last process that was killed because of the wall-clock limit."""

    def call(self, arguments: Arguments) -> T:
        with self.lock:
            answer = self._answer(pickle.dumps(arguments))
        if error := answer.get("error"):
            raise TaskError(answer["reason"], error)
        kind: type[T] = get_type_hints(self.task.function)["return"]
        return typed(kind, answer["answer"])

    def _answer(self, arguments: bytes) -> JsonObject:
        if self.process is None:
            self.process = _start(self.task, self.bounds)
            arguments = pickle.dumps(self.task.first) + arguments
        process = self.process
        assert process.stdin  # noqa: S101 - pipes were asked for
        assert process.stdout  # noqa: S101
        seconds = self.bounds.wall_seconds or max(_START_SECONDS, self.bounds.seconds * _WALL)
        timer = threading.Timer(seconds, self._give_up, [process])
        timer.start()
        try:
            process.stdin.write(arguments)
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        finally:
            timer.cancel()
        if not answer.endswith(b"\n"):
            self.process = None
            raise self._explain(process)
        values: JsonObject = json.loads(answer)
        return values

    def _give_up(self, process: "subprocess.Popen[bytes]") -> None:
        self.too_late = process
        process.kill()

    def _explain(self, process: "subprocess.Popen[bytes]") -> TaskError:
        """Wait for the end of a process that gave no answer, and explain it."""
        _end(process)
        if process.returncode == -signal.SIGPROF or process is self.too_late:
            what = f"not read within {self.bounds.seconds:g} s of the processor"
            return TaskError("timeout", what)
        if process.returncode == _NO_MEMORY:
            what = f"takes more than {self.bounds.megabytes} MB of memory to read"
            return TaskError("memory", what)
        if process.returncode == -signal.SIGKILL:
            what = "its reader was killed, as the system does when the machine's memory is full"
            return TaskError("memory", f"{what}: try again with fewer workers or more memory")
        return TaskError("failed", f"its reader ended with exit status {process.returncode}")

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            _end(self.process)
            self.process = None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close the pipes, and wait for the process."""
    try:
        process.communicate()
    except (BrokenPipeError, ValueError):
        process.wait()


@cache
def _engine(_: int, task: Task[T], bounds: Bounds) -> _Engine[T]:
    """Make one engine for each process id: after a fork, the child must not share the pipes."""
    engine = _Engine(task, bounds)
    atexit.register(engine.close)
    return engine


def _start(task: Task[T], bounds: Bounds) -> "subprocess.Popen[bytes]":
    name = f"{task.function.__module__}:{task.function.__qualname__}"
    known = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"}
    arguments = [name, str(bounds.seconds), str(bounds.megabytes)]
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", __name__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | known,
    )


def serve(
    requests: IO[bytes], answers: IO[str], *, function: Callable[..., object], seconds: float
) -> int:
    """Answer requests until there are no more; return the exit status."""
    while True:
        try:
            arguments = pickle.load(requests)  # noqa: S301 - of our parent
        except EOFError:
            return 0
        signal.setitimer(signal.ITIMER_PROF, seconds)  # the signal ends this process
        try:
            answer = {"answer": function(**arguments)}
            written = json.dumps(answer, default=_plain)
        except MemoryError:
            return _NO_MEMORY
        except Exception as error:  # noqa: BLE001 - of a library, on a page that it did not expect
            if _is_no_memory(error):
                return _NO_MEMORY
            what = f"its reader failed ({type(error).__name__}: {error})"[:200]
            reason = getattr(error, "reason", None) if isinstance(error, CorpusError) else None
            written = json.dumps(
                {"reason": reason or "failed", "error": str(error) if reason else what}
            )
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(written + "\n")
        answers.flush()


def _plain(value: Any) -> object:  # Any: as ``json.dumps`` hands it on
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value.isoformat()


def _is_no_memory(error: Exception) -> bool:
    """Tell whether libxml2 got no memory, which lxml reports as an unknown syntax error."""
    return type(error).__name__ == "XMLSyntaxError" and getattr(error, "code", 0) == _XML_NO_MEMORY


def main(argv: list[str]) -> int:
    """Limit this process, load the libraries, and serve."""
    import resource

    let_sigterm_end()
    (module, _, name), seconds, megabytes = argv[0].partition(":"), *argv[1:]
    bytes_ = int(megabytes) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_, bytes_))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes to standard error, not among answers
    function = getattr(import_module(module), name)
    function(**pickle.load(sys.stdin.buffer))  # noqa: S301 - of our parent
    return serve(sys.stdin.buffer, answers, function=function, seconds=float(seconds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
