"""Measurement of a command: seconds, processor time, memory of its processes, disk space."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.2  # the least seconds between two samples of the memory
RATIO = 0.02
"""The largest fraction of a core for sampling, which visits all pages of each process."""
EVERY_DISK = 5.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Run:
    """The resources that a command took."""

    seconds: float = 0.0
    processor: float = 0.0
    """Processor seconds of all its processes together."""
    pss: float = 0.0
    """The peak PSS of all its processes together, in MB: shared pages count once."""
    rss: float = 0.0
    """The peak RSS of all its processes together, in MB: shared pages count for each process."""
    processes: dict[int, float] = field(default_factory=dict)
    """Process id to its peak PSS, in MB; the first is the process that was started."""
    disk: float = 0.0
    """The peak size of the watched folder, in MB; 0 if none is watched."""

    @property
    def largest(self) -> float:
        """The peak PSS of the largest process, in MB."""
        return max(self.processes.values(), default=0.0)


def measure(command: Sequence[str], *, watched: Path | None = None, log: Path | None = None) -> Run:
    """Run a command to its end, and look at its memory meanwhile, and at a folder's size.

    Ends with what the command said where it fails.
    """
    begin, run, ended = time.perf_counter(), Run(), threading.Event()
    with log.open("ab+") if log else tempfile.TemporaryFile() as said:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans of a run become ours
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, process_group=0)
        watchers = [threading.Thread(target=_watch_memory, args=(process.pid, run, ended))]
        if watched:
            watchers.append(threading.Thread(target=_watch_disk, args=(watched, run, ended)))
        for watcher in watchers:
            watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        run.seconds = time.perf_counter() - begin
        run.processor = usage.ru_utime + usage.ru_stime + _of_orphans(process.pid)
        ended.set()
        for watcher in watchers:
            watcher.join()
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}\n{said.read().decode(errors='replace')[-3000:]}")
    return run


def _of_orphans(group: int) -> float:
    """Wait for the processes that outlive the one that was started: its forkserver.

    Returns their processor seconds.
    """
    seconds = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-group, 0)
        except ChildProcessError:
            return seconds
        seconds += usage.ru_utime + usage.ru_stime


def _watch_memory(pid: int, run: Run, ended: threading.Event) -> None:
    """Keep the highest PSS of each process, and the highest sums of PSS and RSS of all."""
    wait = EVERY
    while not ended.wait(wait):
        pss, rss, began = 0.0, 0.0, time.thread_time()
        for process in family(pid):
            of_process = memory(process)
            pss, rss = pss + of_process[0], rss + of_process[1]
            run.processes[process] = max(run.processes.get(process, 0.0), of_process[0])
        run.pss, run.rss = max(run.pss, pss), max(run.rss, rss)
        wait = max(EVERY, (time.thread_time() - began) / RATIO)


def _watch_disk(folder: Path, run: Run, ended: threading.Event) -> None:
    """Keep the highest size of a folder."""
    while True:
        run.disk = max(run.disk, room_of(folder) / 1e6)
        if ended.wait(EVERY_DISK):
            return


def family(pid: int) -> list[int]:
    """Return the ids of a process and of its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found


def memory(pid: int) -> tuple[float, float]:
    """Return PSS and RSS of a process in MB; zeros once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    except OSError:
        return 0.0, 0.0
    values = {line.partition(":")[0]: line.split() for line in lines}
    pss, rss = (int(values[name][1]) / 1e3 if name in values else 0.0 for name in ("Pss", "Rss"))
    return pss, rss


def room_of(folder: Path) -> int:
    """Return the bytes on disk of all files below a folder; one with several names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(parent, name))  # noqa: PTH118 - there are many
            except OSError:
                continue  # the file is gone
            sizes[status.st_dev, status.st_ino] = 512 * status.st_blocks
    return sum(sizes.values())
