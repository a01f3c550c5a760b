"""Measure how much faster a dump is read with two workers, and how much two cores can give.

    python -m benchmarks.scaling enwiki-2014-first-pages.xml.bz2 --size 60 --repeats 3

Repeats the pages of a dump to SIZE MB of XML (as ``wikipedia.py`` does). Then runs, in turn, pure
computing in one process, the same work split between two, and the pipeline with ``--workers 1`` and
``--workers 2``. Prints the median seconds, how many times faster two are, and CPU seconds. The CPU
seconds that two workers take more than one are what Beam's processes add; unlike seconds, they do
not depend on what else the machine does. Start-up is part of each run.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.inputs import existing
from benchmarks.wikipedia import make_dump

LOOPS = 30_000_000
BUSY = "n = 0\nfor i in range({}): n += i * i % 7"


def computing(n_processes: int) -> None:
    """Compute the same sum in one process, or in equal shares in several."""
    command = [sys.executable, "-c", BUSY.format(LOOPS // n_processes)]
    processes = [subprocess.Popen(command) for _ in range(n_processes)]
    assert not any(process.wait() for process in processes)


def extraction(dump: Path, n_workers: int) -> None:
    """Run the pipeline that makes documents of a dump."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipelines.wikipedia_to_documents", "--input", str(dump)]
        command += ["--output", f"{folder}/out", "--workers", str(n_workers)]
        subprocess.run(command, check=True, capture_output=True)


def measure(work: Callable[[int], object], n: int) -> tuple[float, float]:
    """Return seconds, and CPU seconds of all processes, for a work done by ``n``."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work(n)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure in turn, and say the medians."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("dump", type=existing)
    parser.add_argument("--size", type=float, default=60, help="MB of XML")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "dump.xml.bz2"
        size = make_dump(arguments.dump, dump, arguments.size)
        works: dict[str, Callable[[int], object]] = {
            "pure computing": computing,
            "dump to documents": partial(extraction, dump),
        }
        runs = [
            {(name, n): measure(work, n) for name, work in works.items() for n in (1, 2)}
            for _ in range(arguments.repeats)
        ]
    print(f"{size:.0f} MB of XML, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in works:
        (one, cpu_one), (two, cpu_two) = (
            map(statistics.median, zip(*(run[name, n] for run in runs), strict=True))
            for n in (1, 2)
        )
        pairs = [run[name, 1][0] / run[name, 2][0] for run in runs]
        print(
            f"{name:<18} {one:6.1f} and {two:6.1f} s: {statistics.median(pairs):.2f} x "
            f"({min(pairs):.2f} to {max(pairs):.2f}); CPU {cpu_one:.1f} and {cpu_two:.1f} s"
        )


if __name__ == "__main__":
    main()
