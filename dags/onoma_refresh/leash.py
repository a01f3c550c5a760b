"""Run a command that ends when its caller does: ``python leash.py COMMAND …``.

The caller holds a pipe to our standard input. When that closes (the task was stopped, timed out,
or was killed so that it could do nothing any more) the command and all that it has started get
SIGTERM, and ten seconds later SIGKILL. When the command ends first, so does what it left behind.
The exit status is the command's, or 128 + the signal that killed it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

GRACE_S = 10.0
NOT_FOUND = 127


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit status."""
    try:
        command = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        sys.stderr.write(f"error: {argv[0]}: {error.strerror}. Check python in the settings.\n")
        return NOT_FOUND
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the pipe says when
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_caller, args=[command.pid], daemon=True).start()
    os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)  # its number stays taken
    _signal(command.pid, signal.SIGKILL)
    status = command.wait()
    return status if status >= 0 else 128 - status


def _end_with_caller(group: int) -> None:
    while os.read(0, 1):
        pass
    _signal(group, signal.SIGTERM)
    threading.Event().wait(GRACE_S)
    _signal(group, signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
