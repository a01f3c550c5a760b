"""Kill pipelines at random moments or at every file operation: the data must be the same.

    python -m benchmarks.kill random --kills 200 --input 'letters/*.xml' --edition sturm
    python -m benchmarks.kill every
    python -m benchmarks.kill every tei news --workers 2 --sample 50

``random``: each run is a process of its own, killed with SIGKILL after a random time. When a run
completes, its folder is compared with that of an undisturbed run, and emptied. The table shows how
many kills came in each stage. Exit status 1 at the first difference.

``every``: the inputs are small. Each run is killed in place of its first, second, … operation on
the output (opening to write, fsync, renaming, making, removing). The data in force at that moment
is verified; then the same command is run to its end, and its output compared. No process may
outlive the kill (``tests/killing.py``). Exit status 1 if anything was found.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.inputs import pattern
from tests.killing import SCENARIOS, files_of

ROOT = Path(__file__).resolve().parents[1]

STAGES = ("before the plan", "units", "side files", "publishing", "after")


def stage(output: Path, n_units: int) -> str:
    """Return the stage in which a run was killed, by the files that are there."""
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


def kill_at_random(arguments: argparse.Namespace) -> int:
    """Kill runs at random moments, compare what they made, and print the table of kills."""
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        undisturbed, output = Path(folder) / "undisturbed", Path(folder) / "out"
        begin = time.monotonic()
        if start(arguments, undisturbed).wait() != 0:
            return 1
        seconds = time.monotonic() - begin
        expected = files_of(undisturbed)
        n_units = len(list(undisturbed.glob(".build/*/receipts/*.json")))
        print(f"undisturbed: {seconds:.1f} s, {n_units} units, {len(expected)} files")
        fell: Counter[str] = Counter()
        n_complete = 0
        while sum(fell.values()) < arguments.kills:
            process = start(arguments, output)
            try:
                process.wait(rng.uniform(0.0, 1.05 * seconds))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            if process.returncode == -signal.SIGKILL:
                fell[stage(output, n_units)] += 1
            if (output / "run.json").exists():
                if files_of(output) != expected:
                    print("DIFFERENT BYTES")
                    return 1
                n_complete += 1
                shutil.rmtree(output)
        for name in STAGES:
            print(f"{name:<16} {fell[name]:>5} kills")
        print(f"{n_complete} folders were completed, every one with the same bytes")
    return 0


def kill_at_every_operation(arguments: argparse.Namespace) -> int:
    """Kill the scenarios, each in a process of its own; print a line for each."""
    print(f"{'':<12} {'operations':>10} {'kills':>6} {'violations':>10}")
    n_violations = 0
    for name in arguments.scenarios or SCENARIOS:
        command = [sys.executable, "-m", "tests.killing", name, "--workers", str(arguments.workers)]
        if arguments.sample:
            command += ["--sample", str(arguments.sample)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        report = json.loads(done.stdout)
        found = report["violations"]
        n_violations += len(found)
        print(f"{name:<12} {report['operations']:>10} {report['kills']:>6} {len(found):>10}")
        for violation in found:
            print(f"  {violation}")
    return 1 if n_violations else 0


def main() -> int:
    """Kill as the command says."""
    parser = argparse.ArgumentParser(
        description=__doc__, allow_abbrev=False, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    at_random = commands.add_parser("random", allow_abbrev=False)
    at_random.set_defaults(kill=kill_at_random)
    at_random.add_argument("--kills", type=int, default=100)
    at_random.add_argument("--input", type=pattern, required=True)
    at_random.add_argument("--edition", default="tei")
    at_random.add_argument("--workers", type=int, default=1)
    at_random.add_argument("--seed", type=int, default=1)
    every = commands.add_parser("every", allow_abbrev=False)
    every.set_defaults(kill=kill_at_every_operation)
    every.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    every.add_argument("--workers", type=int, default=1)
    every.add_argument("--sample", type=int, default=None, metavar="N", help="kills of each")
    arguments = parser.parse_args()
    status: int = arguments.kill(arguments)
    return status


if __name__ == "__main__":
    sys.exit(main())
