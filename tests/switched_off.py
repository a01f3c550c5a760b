"""Switch off each check of the last line of defence, one by one: does a test notice?

    python -m tests.switched_off                            # all rooms, about half an hour
    python -m tests.switched_off corpora/tei/proof.py modeling/http/guard.py

In a copy of the checkout, each ``raise`` (of ``tei/proof.py`` each ``return`` of a failure) stands
behind a switch. A first run of the tests of a room notes which of them reach which switch. Then,
for each switch, these tests run again with the switch off: one of them must fail. Prints a line for
each check that no test misses; exit status 1 for one that ``REASONS`` does not explain.
"""

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS: Mapping[str, Sequence[str]] = {
    "corpora/tei/proof.py": ("tests/corpora/tei/test_proof.py",),
    "corpora/system": ("tests/corpora/system", "tests/test_killed_commands.py"),
    "corpora/runs": (
        "tests/corpora/runs",
        *(f"tests/pipelines/test_{name}.py" for name in ("publishing", "foreign_folders")),
        *(f"tests/pipelines/test_{name}.py" for name in ("given_twice", "on_bucket")),
    ),
    "corpora/store": ("tests/corpora/store",),
    "modeling/http/guard.py": ("tests/modeling/http",),
    "corpora/crawl/addresses.py": ("tests/corpora/crawl/test_addresses.py",),
}
"""What is switched off, and the tests that must notice."""
REASONS: Mapping[str, str] = {
    "corpora/runs/on_bucket.py raise AssertionError": "after a loop without end",
    'corpora/runs/plan.py raise UsageError( f"{folder}: cannot be read': "root may read all",
}
"""The beginning of a statement, after its module and a space, to why no test can notice."""
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider")
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

    def __str__(self) -> str:
        said = f"{self.module} {self.text}"
        reason = next((why for begin, why in REASONS.items() if said.startswith(begin)), "NO TEST")
        return f"{self.module}:{self.line}: {self.text[:90]}: {reason}"


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


def install(copy: Path, room: str) -> list[Check]:
    """Put each check of a room behind a switch; returns them in the order of their numbers."""
    (copy / "switches.py").write_text(SWITCHES)
    checks: list[Check] = []
    for path in sorted((copy / room).rglob("*.py")) or [copy / room]:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        for check, node in checks_in(path, path.relative_to(copy).as_posix()):
            line, switch = lines[node.lineno - 1], f"if __import__('switches').on({len(checks)}): "
            lines[node.lineno - 1] = line[: node.col_offset] + switch + line[node.col_offset :]
            checks.append(check)
        path.write_text("".join(lines), "utf-8")
    return checks


def reached_by(tests: Sequence[str]) -> dict[int, list[str]]:
    """Run tests with all checks on; returns the tests that reach each."""
    log = Path("reached").absolute()
    log.touch()
    os.environ["SWITCHES_REACHED"] = str(log)
    if status := pytest.main([*OPTIONS, *tests]):
        raise SystemExit(f"{' '.join(tests)}: exit status {status} with all checks on")
    os.environ.pop("SWITCHES_REACHED")
    found: dict[int, dict[str, None]] = {}
    for line in log.read_text("utf-8").splitlines():
        number, _, test = line.partition("\t")
        if ast.literal_eval(test):
            found.setdefault(int(number), {})[ast.literal_eval(test)] = None
    return {number: list(tests_of) for number, tests_of in found.items()}


def run_anew(tests: Sequence[str], off: int) -> int:
    """Run tests in a new process with a check off; returns the exit status."""
    command = (sys.executable, "-m", "pytest", *OPTIONS, "-x", *tests)
    environment = os.environ | {"SWITCHED_OFF": str(off)}
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=environment, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    return ended(process.pid)


def run_here(tests: Sequence[str], off: int) -> int:
    """Run tests in a fork, in which all libraries are loaded; returns the exit status."""
    if not (pid := os.fork()):
        os.setsid()
        switches = sys.modules["switches"]
        switches.off, switches.log = str(off), None  # type: ignore[attr-defined]
        os.environ["SWITCHED_OFF"] = str(off)
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        os._exit(int(pytest.main([*OPTIONS, "-x", *tests])))
    return ended(pid)


def ended(pid: int) -> int:
    """Wait for a process, at most ``SECONDS``, and end its children; returns its exit status."""
    end = time.monotonic() + SECONDS
    while not (found := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(found[1] if found[0] else os.waitpid(pid, 0)[1])


def look_at(room: str) -> int:
    """Look at a room, in a copy that is the current folder; returns how many have no reason."""
    checks = install(Path.cwd(), room)
    reached, n_bad = reached_by(ROOMS[room]), 0
    every = list(dict.fromkeys(test for tests in reached.values() for test in tests))
    can_fork = run_here(every, -1) == 0
    for number, check in enumerate(checks):
        tests = reached.get(number)
        if tests and can_fork and run_here(tests, number):
            continue
        if tests and run_anew(tests, number):  # in a fork, a check may be behind a cache
            continue
        n_bad += str(check).endswith("NO TEST")
        sys.stdout.write(f"{check}\n")
        sys.stdout.flush()
    return n_bad


def copied(folder: Path) -> Path:
    """Copy the files of the checkout that git knows or does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def main(argv: Sequence[str]) -> int:
    """Look at rooms; exit status 1 for a check that no test misses and that has no reason."""
    if argv[:1] == ["--here"]:
        return look_at(argv[1])
    status = 0
    for room in argv or ROOMS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            command = (sys.executable, "-m", "tests.switched_off", "--here", room)
            environment = os.environ | {"PYTHONPATH": folder}
            status |= subprocess.run(
                command, cwd=copied(Path(folder)), env=environment, check=False
            ).returncode
    return min(status, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
