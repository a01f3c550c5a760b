"""Measure time and memory to make NER data from TEI.

    python -m benchmarks.tei --input 'letters/*.xml' --edition sturm --copies 20

Runs the whole job (datasets, CoNLL, JSON, card) on copies of the input with one and two workers;
start-up is measured by a run on one file and taken off. Peak memory is that of the largest process,
once for the copies and once for four times as many.
"""

import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.inputs import pattern


def copy(files: list[Path], folder: Path, n_copies: int) -> float:
    """Copy the files so many times; returns their size in MB."""
    folder.mkdir()
    for number in range(n_copies):
        for file in files:
            shutil.copy(file, folder / f"{number:03}-{file.name}")
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def run(arguments: argparse.Namespace, folder: Path, workers: int) -> tuple[float, float]:
    """Run the job: seconds, and peak memory of the largest process in MB."""
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "pipelines.tei_to_ner", "--input", str(folder)]
        command += ["--edition", arguments.edition, "--output", output, "--workers", str(workers)]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        if status:
            sys.exit(f"failed: {' '.join(command)}")
        return seconds, usage.ru_maxrss / 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--input", type=pattern, required=True)
    parser.add_argument("--edition", default="tei")
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    files = [Path(file) for file in sorted(glob.glob(arguments.input))]
    with tempfile.TemporaryDirectory() as temporary:
        one, many, more = (Path(temporary) / name for name in ("one", "many", "more"))
        copy(files[:1], one, 1)
        size = copy(files, many, arguments.copies)
        copy(files, more, 4 * arguments.copies)
        print(f"{len(files) * arguments.copies} files, {size:.1f} MB")
        for workers in (1, 2):
            startup = statistics.median(run(arguments, one, workers)[0] for _ in range(3))
            times = [run(arguments, many, workers)[0] for _ in range(arguments.runs)]
            speed = size / (statistics.median(times) - startup)
            print(f"{workers} workers: {speed:5.1f} MB/s after a start-up of {startup:.1f} s")
        small, large = (run(arguments, folder, 1)[1] for folder in (many, more))
        print(f"memory: {small:.0f} MB; with four times as many files {large:.0f} MB")


if __name__ == "__main__":
    main()
