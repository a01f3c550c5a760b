"""Kill a pipeline at random moments, again and again: the data must end up the same.

    python benchmarks/kill.py --kills 200 --input 'letters/*.xml' --edition sturm

Each run is a process of its own, killed with SIGKILL after a random time; when a run completes,
the folder is compared with that of an undisturbed run and emptied. The table says in which stage
the kills fell. Exit status 1 at the first difference.
"""

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

STAGES = ("before the plan", "units", "side files", "publishing", "after")


def hashes(output: Path) -> dict[str, str]:
    """Hash every published file."""
    return {
        path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*"))
        if path.is_file() and ".build" not in path.parts and path.name != ".lock"
    }


def stage(output: Path, n_units: int) -> str:
    """In which stage a run was when it was killed, by what lies there."""
    plans = list(output.glob(".build/*/plan.json"))
    if (output / "run.json").exists():
        return "after"
    if not plans:
        return "before the plan"
    build = plans[0].parent
    if len(list(build.glob("receipts/0*.json"))) < n_units:
        return "units"
    n_moved = len(list(output.glob("*/shard-*.arrow")))
    return "publishing" if n_moved or not (build / "side").exists() else "side files"


def start(arguments: argparse.Namespace, output: Path) -> subprocess.Popen[bytes]:
    """Start a run."""
    command = [sys.executable, "-m", "pipelines.tei_to_ner", "--input", arguments.input]
    command += ["--edition", arguments.edition, "--output", str(output)]
    command += ["--workers", str(arguments.workers)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> int:
    """Kill, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--input", required=True)
    parser.add_argument("--edition", default="tei")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        undisturbed, output = Path(folder) / "undisturbed", Path(folder) / "out"
        begin = time.monotonic()
        if start(arguments, undisturbed).wait() != 0:
            return 1
        seconds = time.monotonic() - begin
        expected = hashes(undisturbed)
        n_units = len(list(undisturbed.glob(".build/*/receipts/*.json")))
        print(f"undisturbed: {seconds:.1f} s, {n_units} units, {len(expected)} files")
        fell: Counter[str] = Counter()
        n_complete = 0
        while sum(fell.values()) < arguments.kills:
            process = start(arguments, output)
            try:
                process.wait(chance.uniform(0.0, 1.05 * seconds))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            if process.returncode == -signal.SIGKILL:
                fell[stage(output, n_units)] += 1
            if (output / "run.json").exists():
                if hashes(output) != expected:
                    print("DIFFERENT BYTES")
                    return 1
                n_complete += 1
                shutil.rmtree(output)
        for name in STAGES:
            print(f"{name:<16} {fell[name]:>5} kills")
        print(f"{n_complete} folders were completed, every one with the same bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
