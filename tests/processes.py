"""Processes: which live, which started which, and waiting until none does.

A process that has ended and for which nobody has waited is dead here: in a container, the first
process need not take the status of orphans.
"""

import gc
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PYTHONPATH = str(Path(__file__).parents[1])
"""The folder of our packages, for processes that are started elsewhere."""
PATIENCE_S = 300.0
"""Seconds after which a busy machine is no reason: a bound for a hang, not a measurement."""


def wait_for(condition, process=None, *, seconds=PATIENCE_S):
    """Wait until something holds, as long as a process lives if one is given."""
    end = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)


def copy_of(process):
    """Return the copy for which a client of ``warm.py`` stands."""
    name = Path(f"/proc/{process.pid}/comm")
    wait_for(lambda: name.read_text().strip().isdigit(), process)
    return int(name.read_text())


def lives(pid):
    return pid in living()


def living():
    """Return parent and session of each process that is not dead, by id."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, _, session = file.read_text().rpartition(") ")[2].split()[:4]
            if state != "Z":
                found[int(file.parent.name)] = int(parent), int(session)
    return found


def session_of(pid):
    """Return the processes of the session that a process began."""
    return [member for member, (_, session) in living().items() if session == pid]


def descendants_of(pid):
    children = [child for child, (parent, _) in living().items() if parent == pid]
    return [*children, *(one for child in children for one in descendants_of(child))]


def end_of(leader, *, seconds=PATIENCE_S):
    """Wait until nobody of a session lives; ends it where that is in vain."""
    try:
        wait_for(lambda: not session_of(leader.pid), seconds=seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def workers_of(process):
    """Return the workers of a run, which its server of processes has started."""
    return [pid for child in children_of(process.pid) for pid in children_of(child)]


def seconds_of(do, *arguments, times, **options):
    """Return the least CPU seconds of this process for a call, without searches for garbage."""
    shortest = float("inf")
    gc.disable()
    try:
        for _ in range(times):
            start = time.process_time()
            do(*arguments, **options)
            shortest = min(shortest, time.process_time() - start)
    finally:
        gc.enable()
    return shortest
