"""Break the code that makes runs safe, one place at a time, and check that tests find each fault.

    python -m benchmarks.mutants
    python -m benchmarks.mutants --only journal fsync

Each mutant is applied to a copy of the tree, and the tests named with it are run there. It is
killed if one of them fails. The list is ``benchmarks/mutants.toml``. Exit status 1 if a mutant
survives, or does not fit the code any more.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "benchmarks" / "mutants.toml"
SECONDS = 900
"""The wall-clock limit for the tests of one mutant, or of all."""


@dataclass(frozen=True)
class Mutant:
    """A fault put into the code, and the tests that must find it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def misfit(self, root: Path) -> str:
        """Return why the mutant cannot be applied below ``root``; empty if it can."""
        n = (root / self.file).read_text("utf-8").count(self.old)
        if n != 1:
            return f"{self.file} has its text {n} times, not once"
        missing = [name for name in self.tests if not (root / name.partition("::")[0]).exists()]
        return f"no tests {missing}" if missing else ""


def read_mutants(path: Path = LIST) -> list[Mutant]:
    """Read the list; raises where a field is missing."""
    entries = tomllib.loads(path.read_text("utf-8"))["mutant"]
    return [Mutant(**entry | {"tests": tuple(entry["tests"])}) for entry in entries]


def copy_of_tree(folder: Path) -> Path:
    """Copy what git tracks, and what is new and not ignored; link Airflow for the tests of DAGs."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    (folder / ".airflow").symlink_to(ROOT / ".airflow")
    return folder


def run_tests(tree: Path, names: tuple[str, ...]) -> tuple[int, str]:
    """Run tests in a tree: the exit status of pytest, and what it said."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", *names]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, "did not end"  # proves nothing, because the machine may be busy
    return done.returncode, done.stdout + done.stderr


def fate(mutant: Mutant, tree: Path) -> str:
    """Apply a mutant, run its tests, and take it back: killed, survived, or what went wrong."""
    if why := mutant.misfit(tree):
        return f"MISFIT: {why}"
    file = tree / mutant.file
    whole = file.read_text("utf-8")
    file.write_text(whole.replace(mutant.old, mutant.new), "utf-8")
    try:
        status, said = run_tests(tree, mutant.tests)
    finally:
        file.write_text(whole, "utf-8")
    if status == 1:
        return "killed"
    return "SURVIVED" if status == 0 else f"BROKEN: {said.strip().splitlines()[-1]}"


def main() -> int:
    """Run all, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="in their names")
    arguments = parser.parse_args()
    mutants = [m for m in read_mutants() if all(word in m.name for word in arguments.only)]
    if not mutants:
        print("error: no mutant has these words in its name.")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_of_tree(Path(folder))
        names = tuple(dict.fromkeys(name for mutant in mutants for name in mutant.tests))
        status, said = run_tests(tree, names)
        if status:
            print(f"error: the tests fail without any mutant.\n{said}")
            return 1
        fates = []
        for mutant in mutants:
            begin = time.monotonic()
            fates.append(fate(mutant, tree))
            print(f"{fates[-1]:<10} {time.monotonic() - begin:5.1f} s  {mutant.name}", flush=True)
    print(f"{fates.count('killed')} of {len(fates)} were killed")
    return 0 if fates.count("killed") == len(fates) else 1


if __name__ == "__main__":
    sys.exit(main())
