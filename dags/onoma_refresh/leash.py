"""Run a command that ends when its caller does: ``python leash.py COMMAND …``.

The caller holds a pipe to our standard input. When that closes (the task was stopped, timed out,
or was killed so that it could do nothing any more) the command and all that it has started get
SIGTERM, and ten seconds later SIGKILL. When the command ends first, so does what it left behind;
under Linux also what has left its group of processes.
The exit status is the command's, or 128 + the signal that killed it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

GRACE_S = 10.0
NOT_FOUND = 127
ADOPT = 36
"""``PR_SET_CHILD_SUBREAPER`` of Linux: orphaned descendants become children of this process."""


def main(argv: Sequence[str]) -> int:
    """Run the command; return the exit status."""
    with contextlib.suppress(AttributeError, OSError):  # not Linux
        ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    try:
        command = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        sys.stderr.write(f"error: {argv[0]}: {error.strerror}. Check python in the settings.\n")
        return NOT_FOUND
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # only the pipe says when to end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_caller, args=[command.pid], daemon=True).start()
    os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)  # its id is not reused yet
    _signal(command.pid, signal.SIGKILL)
    status = command.wait()
    _end_adopted()
    return status if status >= 0 else 128 - status


def _end_with_caller(group: int) -> None:
    while os.read(0, 1):
        pass
    _signal(group, signal.SIGTERM)
    threading.Event().wait(GRACE_S)
    _signal(group, signal.SIGKILL)


def _end_adopted() -> None:
    """Kill our children until there are none; their own children become ours meanwhile."""
    while children := list(_children()):
        for child in children:
            os.kill(child, signal.SIGKILL)  # nobody else waits for it: its id is not reused
            os.waitpid(child, 0)


def _children() -> Iterator[int]:
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state_and_parent = file.read_bytes().rpartition(b")")[2].split()
            if int(state_and_parent[1]) == os.getpid():
                yield int(file.parent.name)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
