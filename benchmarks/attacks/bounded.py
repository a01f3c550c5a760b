"""Attacks, and how they are tried: in a fork of this process, with limits of memory and time."""

import ctypes
import gc
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

MEGABYTES, SECONDS = 3_000, 60
"""The default limits of a try: megabytes of data, and seconds of processor time."""
_WALL = 8
"""The wall-clock limit, as a multiple of the limit of processor time."""
_PR_SET_CHILD_SUBREAPER = 36
"""The option of ``prctl(2)`` by which orphaned descendants become children of this process."""
ATTACKS: "list[Attack]" = []


@dataclass(frozen=True)
class Outcome:
    """How a limited process ended."""

    status: int
    """The exit status; negative for a signal, 70 for an exception."""
    said: str
    """The end of standard output and error, at most 100,000 bytes."""
    seconds: float
    """Seconds of processor time."""
    megabytes: float
    """The peak of memory above the memory at the start."""

    def fault(self, *allowed: int) -> str:
        """Return what is wrong with the end of the process; empty if nothing is.

        ``allowed``: the exit statuses that are right (0, 1 and 2 if none is given).
        """
        if self.status < 0:
            return f"killed by {signal.Signals(-self.status).name} after {self.seconds:.0f} s"
        if "Traceback (most recent call last)" in self.said or self.status == 70:
            return f"traceback: {self.said.strip().splitlines()[-1][:200]}"
        if self.status not in (allowed or (0, 1, 2)):
            last = (self.said.strip().splitlines() or [""])[-1]
            return f"exit status {self.status}: {last[:200]}"
        return ""


class Try:
    """One try of an attack, with its own folder and its own rng."""

    def __init__(self, folder: Path, rng: random.Random, *, number: int = 0) -> None:
        self.folder, self.rng, self.number = folder, rng, number
        self.seconds = 0.0

    def command(self, module: str, *argv: object, **bounds: int) -> Outcome:
        """Run the ``main`` of a module, or of a package, with arguments."""
        words = [str(word) for word in argv]
        return self.call(lambda: _main(module)(words), **bounds)

    def call(
        self, do: Callable[[], object], *, megabytes: int = MEGABYTES, seconds: int = SECONDS
    ) -> Outcome:
        """Run something in a copy of this process; what it returns is the exit status."""
        log = self.folder / ".log"
        pid = os.fork()
        if not pid:
            _be_bounded(do, log, megabytes=megabytes, seconds=seconds)
        before = _peak()
        usage = _wait(pid, seconds * _WALL)
        said = log.read_bytes()[-100_000:].decode("utf-8", "replace")
        outcome = Outcome(
            os.waitstatus_to_exitcode(usage[0]),
            said,
            usage[1].ru_utime + usage[1].ru_stime,
            max(0.0, usage[1].ru_maxrss / 1024 - before),
        )
        self.seconds = max(self.seconds, outcome.seconds)
        return outcome


@dataclass(frozen=True)
class Attack:
    """An attack, to be tried a number of times."""

    about: str
    """What is attacked: a section of the table in ``docs/security.md``."""
    name: str
    tries: int
    do: Callable[[Try], str]
    """The function that tries it and returns what failed; empty: nothing."""


def attack(about: str, name: str, *, tries: int) -> Callable[[Callable[[Try], str]], None]:
    """Make a function one of ``ATTACKS``; its docstring says what counts as a failure."""

    def add(do: Callable[[Try], str]) -> None:
        ATTACKS.append(Attack(about, name, tries, do))

    return add


def _main(module: str) -> Callable[[Sequence[str]], object]:
    found = import_module(module)
    main: Callable[[Sequence[str]], object] = (
        found.main if hasattr(found, "main") else import_module(f"{module}.__main__").main
    )
    return main


def prepare(modules: Sequence[str]) -> None:
    """Load what is attacked, and be handed the processes that attacks leave behind."""
    for module in modules:
        import_module(module)
    gc.freeze()  # otherwise each fork would copy the memory that its garbage collector visits
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def outlived(*, seconds: float = 10.0) -> Mapping[int, str]:
    """Return the processes that others left, by process id.

    Waits up to ``seconds`` until there are none, and then kills them.
    """
    end = time.monotonic() + seconds
    while (found := _children()) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def _children() -> dict[int, str]:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found = {}
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            found[int(pid)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def _peak() -> float:
    """Return the memory of this process in megabytes: a fork begins with as much."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def _delay(pid: int) -> float:
    """Return the seconds for which a process was ready to run, but others had the processor."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _wait(pid: int, seconds: float) -> tuple[int, resource.struct_rusage]:
    """Wait for the end of a process, and kill it after a while on the clock."""
    begin = time.monotonic()
    pause = 0.001
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return status, usage
        if time.monotonic() - begin - _delay(pid) > seconds:
            os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            return status, usage
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


def _be_bounded(do: Callable[[], object], log: Path, *, megabytes: int, seconds: int) -> None:
    """Be the copy: bound it, run, and end."""
    import atexit

    status = 70
    try:
        atexit._clear()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for what, most in (
            (resource.RLIMIT_DATA, megabytes << 20),
            (resource.RLIMIT_FSIZE, 4 << 30),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(what, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        returned = do()
        status = returned if isinstance(returned, int) else 0
        atexit._run_exitfuncs()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
