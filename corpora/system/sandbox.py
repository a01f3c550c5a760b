"""Work on what strangers made in a process of its own, under bounds of time and memory.

A hostile page can keep a parser busy for hours, or fill the memory, and a library of C cannot be
stopped from inside: so a page that goes beyond ``Bounds`` costs its process, and nothing else. Time
is that of the processor, which hardly depends on what else the machine does.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import IO, Any

from corpora.errors import CorpusError

_WALL = 20
"""How many times the time of the processor may pass on the clock, before a process is killed."""
_START_SECONDS = 60.0
Values = Mapping[str, Any]
"""What JSON can hold."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request may take."""

    seconds: float = 10.0
    """Of the processor."""
    megabytes: int = 1_000


@dataclass(frozen=True, slots=True)
class Task:
    """A function that answers requests, of JSON with JSON."""

    function: str
    """``module:name``; it takes the fields of a request by name, and gives the answer."""
    first: str
    """A request, as JSON, to load the libraries with."""


class TaskError(CorpusError):
    """No answer; ``reason`` is ``timeout``, ``memory``, ``failed``, or what the function says."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def ask(task: Task, request: Values, *, bounds: Bounds) -> dict[str, Any]:
    """Have a request answered by another process; raises ``TaskError``."""
    return _engine(os.getpid(), task, bounds).ask(request)


class _Engine:
    """The process, one for all threads of this one; a request that ends it ends it alone."""

    def __init__(self, task: Task, bounds: Bounds) -> None:
        self.task, self.bounds = task, bounds
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None

    def ask(self, request: Values) -> dict[str, Any]:
        written = json.dumps(request)
        with self.lock:
            answer = self._answer(written)
        if error := answer.get("error"):
            raise TaskError(answer["reason"], error)
        return dict(answer["answer"])

    def _answer(self, request: str) -> dict[str, Any]:
        process = self.process = self.process or _start(self.task, self.bounds)
        assert process.stdin  # noqa: S101 - pipes were asked for
        assert process.stdout  # noqa: S101
        seconds = max(_START_SECONDS, self.bounds.seconds * _WALL)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if not answer.endswith("\n"):
            self.process = None
            raise self._explain(process)
        values: dict[str, Any] = json.loads(answer)
        return values

    def _explain(self, process: "subprocess.Popen[str]") -> TaskError:
        """Say why a process gave no answer, once it has ended."""
        _end(process)
        if process.returncode in (-signal.SIGPROF, -signal.SIGKILL):
            what = f"not read within {self.bounds.seconds:g} s of the processor"
            return TaskError("timeout", what)
        if process.returncode == _NO_MEMORY:
            what = f"takes more than {self.bounds.megabytes} MB of memory to read"
            return TaskError("memory", what)
        return TaskError("failed", f"its reader ended with exit status {process.returncode}")

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            _end(self.process)
            self.process = None


def _end(process: "subprocess.Popen[str]") -> None:
    """Close the pipes, and wait."""
    try:
        process.communicate()
    except (BrokenPipeError, ValueError):
        process.wait()


@cache
def _engine(_: int, task: Task, bounds: Bounds) -> _Engine:
    """One for each process, by its id: a copy of a process does not share the pipes."""
    engine = _Engine(task, bounds)
    atexit.register(engine.close)
    return engine


def _start(task: Task, bounds: Bounds) -> "subprocess.Popen[str]":
    arguments = [task.function, task.first, str(bounds.seconds), str(bounds.megabytes)]
    known = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"}
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", __name__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | known,
        encoding="utf-8",
    )


_NO_MEMORY = 97
"""Exit status of a process that has no memory left."""
_XML_NO_MEMORY = 2
"""``XML_ERR_NO_MEMORY`` of libxml2."""


def serve(
    requests: IO[str], answers: IO[str], *, function: Callable[..., Values], seconds: float
) -> int:
    """Answer requests until there are no more; returns the exit status."""
    for request in requests:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # ends this process when it is over
        try:
            answer: Values = {"answer": function(**json.loads(request))}
        except MemoryError:
            return _NO_MEMORY
        except Exception as error:  # noqa: BLE001 - of a library, on a page that it did not expect
            if _is_no_memory(error):
                return _NO_MEMORY
            what = f"its reader failed ({type(error).__name__}: {error})"[:200]
            reason = getattr(error, "reason", None) if isinstance(error, CorpusError) else None
            answer = {"reason": reason or "failed", "error": str(error) if reason else what}
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


def _is_no_memory(error: Exception) -> bool:
    """Whether libxml2 got no memory, which lxml raises as an unknown error of syntax."""
    return type(error).__name__ == "XMLSyntaxError" and getattr(error, "code", 0) == _XML_NO_MEMORY


def main(argv: list[str]) -> int:
    """Bound this process, load the libraries, and serve."""
    import resource

    (module, _, name), first, seconds, megabytes = argv[0].partition(":"), *argv[1:]
    bytes_ = int(megabytes) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_, bytes_))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    function = getattr(import_module(module), name)
    function(**json.loads(first))
    return serve(sys.stdin, answers, function=function, seconds=float(seconds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
