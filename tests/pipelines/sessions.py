"""Processes that were started together: who lives, and waiting until nobody does."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


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


def end_of(leader, *, seconds=10.0):
    """Wait until nobody of a session lives, not long; ends it where that is in vain."""
    try:
        wait_for(lambda: not session_of(leader.pid), seconds=seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers_of(process):
    """The workers of a run: what its server of processes has started."""
    return [pid for child in children_of(process.pid) for pid in children_of(child)]
