"""Switch off each check of the last line of defence, one by one: does a test notice?

    python -m tests.switched_off                            # all rooms, about half an hour
    python -m tests.switched_off corpora/tei/proof.py modeling/http/guard.py

In a copy of the checkout, each ``raise`` (of ``tei/proof.py`` each ``return`` of a failure) stands
behind a switch. A first run of the tests of each room notes which of them reach which switch. Then,
for each switch, these tests run again with the switch off: one of them must fail. Prints a line for
each check that no test misses. ``REASONS`` has those that may be so; any other, and a reason that
is not needed any more, is exit status 1.
"""

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS: Mapping[str, Sequence[str]] = {
    "corpora/tei/proof.py": ("tests/corpora/tei/test_proof.py",),
    "corpora/system": ("tests/corpora/system", "tests/test_killed_commands.py"),
    "corpora/runs": ("tests/corpora/runs",),
    "corpora/store": ("tests/corpora/store",),
    "modeling/http/guard.py": ("tests/modeling/http",),
    "corpora/crawl/addresses.py": ("tests/corpora/crawl",),
}
"""What is switched off, and the tests that must notice."""
REASONS: Mapping[tuple[str, str], str] = {}
"""Module and beginning of the statement, to why no test can notice."""
SECONDS = 120
"""The time in which a test notices; one that hangs has noticed."""
SWITCHES = """
import os
off, log = os.environ.get("SWITCHED_OFF"), os.environ.get("SWITCHES_REACHED")
def on(number):
    if log:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        with open(log, "a") as file:
            file.write(f"{number}\\t{test!r}\\n")
    return str(number) != off
"""


class Check(NamedTuple):
    """A statement that ends what must not go on."""

    module: str
    line: int
    text: str

    @property
    def reason(self) -> str:
        """Why no test can notice that it is switched off; empty where one must."""
        of_module = ((begin, why) for (name, begin), why in REASONS.items() if name == self.module)
        return next((why for begin, why in of_module if self.text.startswith(begin)), "")


def checks_in(path: Path, module: str) -> Iterator[tuple[Check, ast.stmt]]:
    """Yield the checks of a module, the last first."""
    source = path.read_text("utf-8")
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        text = " ".join((ast.get_source_segment(source, node) or "").split())
        is_proof = module.endswith("proof.py") and text.startswith(
            ("return Failure", "return False", "return _check")
        )
        if isinstance(node, ast.Raise) or is_proof:
            yield Check(module, node.lineno, text), node


def install(copy: Path, room: str, first: int) -> list[Check]:
    """Put each check of a room behind a switch; returns them in the order of their numbers."""
    checks: list[Check] = []
    top = copy / room
    for path in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        for check, node in checks_in(path, path.relative_to(copy).as_posix()):
            line = lines[node.lineno - 1]
            switch = f"if __import__('switches').on({first + len(checks)}): "
            lines[node.lineno - 1] = line[: node.col_offset] + switch + line[node.col_offset :]
            checks.append(check)
        path.write_text("".join(lines), "utf-8")
    return checks


def run(copy: Path, tests: Sequence[str], *options: str, **environment: str) -> int:
    """Run tests in the copy; returns the exit status, 1 for those that hang."""
    command = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")
    process = subprocess.Popen(
        [*command, *options, *tests],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(SECONDS if "SWITCHED_OFF" in environment else None)
    except subprocess.TimeoutExpired:
        return 1
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()


def reached_by(copy: Path, tests: Sequence[str]) -> dict[int, list[str]]:
    """Run tests with all switches on; returns the tests that reach each."""
    log = copy / "reached"
    log.write_text("")
    if status := run(copy, tests, SWITCHES_REACHED=str(log)):
        raise SystemExit(f"{' '.join(tests)}: exit status {status} with all checks on")
    found: dict[int, dict[str, None]] = {}
    for line in log.read_text("utf-8").splitlines():
        number, _, test = line.partition("\t")
        found.setdefault(int(number), {})[ast.literal_eval(test)] = None
    return {number: list(filter(None, tests_of)) for number, tests_of in found.items()}


def missed(copy: Path, room: str) -> Iterator[Check]:
    """Yield the checks of a room that no test misses."""
    checks, tests = install(copy, room, 0), ROOMS[room]
    reached = reached_by(copy, tests)
    for number, check in enumerate(checks):
        sys.stderr.write(f"{room}: {number + 1} of {len(checks)}\r")
        among = reached.get(number)
        if not among or run(copy, among, "-x", SWITCHED_OFF=str(number)) == 0:
            yield check


def copied(folder: Path) -> Path:
    """Copy the files of the checkout that git knows or does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / "switches.py").write_text(SWITCHES)
    return folder


def main(argv: Sequence[str]) -> int:
    """Look at rooms; exit status 1 for a check that no test misses and that has no reason."""
    n_checks = n_bad = 0
    for room in argv or ROOMS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            survivors = list(missed(copied(Path(folder)), room))
        n_checks += sum(
            1
            for path in (sorted((ROOT / room).rglob("*.py")) or [ROOT / room])
            for _ in checks_in(path, "")
        )
        for check in survivors:
            n_bad += not check.reason
            said = check.reason or "NO TEST MISSES IT"
            sys.stdout.write(f"{check.module}:{check.line}: {check.text[:90]}: {said}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{n_bad} without a test or a reason\n")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
