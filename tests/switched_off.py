"""Switch off each check of the last line of defence, one by one: does a test notice?

    python -m tests.switched_off                            # all rooms, minutes of CPU time
    python -m tests.switched_off corpora/tei/proof.py modeling/http/guard.py

In a copy of the checkout, each ``raise`` (of ``tei/proof.py`` each ``return`` of a failure) stands
behind a switch. A first run of the tests of a room notes which of them reach which switch. Then,
for each switch, these tests run again with the switch off, the fastest first, in a fork of a
process that has loaded their libraries and runs no test: one of them must fail, or hang. Prints a
line for each check that no test misses, or with which tests hang; exit status 1 if there is one
that no test misses.
"""

import ast
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
ON_BUCKET, KILLED = "tests/pipelines/test_on_bucket.py", "tests/test_killed_commands.py"
ROOMS: Mapping[str, Sequence[str]] = {
    "corpora/tei/proof.py": ("tests/corpora/tei/test_proof.py",),
    "corpora/system": (
        *("tests/corpora/system", "--ignore=tests/corpora/system/test_slow_inputs.py"),
        *("tests/corpora/news/test_sandbox.py", "tests/pipelines/test_other_buckets.py"),
        *(ON_BUCKET, KILLED),
        *("-k", "not run_gives and not run_on_a_bucket and not of_a_run_is"),
        *("--deselect", f"{KILLED}::test_the_same_command_ends_in_the_same_files_after_kills"),
        *("--deselect", f"{ON_BUCKET}::test_kills_of_launcher_worker_and_server_leave_right_data"),
    ),
    "corpora/runs": (
        *("tests/corpora/runs", "tests/pipelines/test_publishing.py"),
        *("tests/pipelines/test_foreign_folders.py", "tests/pipelines/test_given_twice.py"),
        "tests/pipelines/test_changed_inputs.py",
    ),
    "corpora/store": ("tests/corpora/store",),
    "modeling/http/guard.py": ("tests/modeling/http",),
    "corpora/crawl/addresses.py": ("tests/corpora/crawl/test_addresses.py",),
}
"""What is switched off, and the tests that must notice."""
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider")
SECONDS = 60
"""How much longer than four times their usual time tests may take: then they hang, and noticed."""
LOG, TOLD = Path("reached"), Path("told")
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


class Told(NamedTuple):
    """What the first run of the tests of a room told."""

    tests: Mapping[str, Sequence[str]]
    """Those that reach a check, by its number, the fastest first."""
    seconds: Mapping[str, float]
    """How long each test took."""
    modules: Sequence[str]
    """What they imported."""


class Check(NamedTuple):
    """A statement that ends what must not go on."""

    module: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.text[:90]}"


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
    (copy / "corpora" / "switches.py").write_text(SWITCHES)
    checks: list[Check] = []
    for path in sorted((copy / room).rglob("*.py")) or [copy / room]:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        for check, node in checks_in(path, path.relative_to(copy).as_posix()):
            line = lines[node.lineno - 1]
            switch = f"if __import__('corpora.switches').switches.on({len(checks)}): "
            lines[node.lineno - 1] = line[: node.col_offset] + switch + line[node.col_offset :]
            checks.append(check)
        path.write_text("".join(lines), "utf-8")
    return checks


class Reaching:
    """What a run with all checks on tells: the seconds of each test, the checks that it reaches."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the time of setting up, running and tearing down."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write which tests reach which check, the fastest first, and what was imported."""
        tests: dict[str, set[str]] = defaultdict(set)
        for line in LOG.read_text("utf-8").splitlines():
            number, _, test = line.partition("\t")
            if (name := ast.literal_eval(test)) in self.seconds:
                tests[number].add(name)
        told = Told(
            {
                number: sorted(names, key=self.seconds.__getitem__)
                for number, names in tests.items()
            },
            dict(self.seconds),
            [name for name in sys.modules if not name.startswith(("tests", "conftest", "_pytest"))],
        )
        TOLD.write_text(json.dumps(told._asdict()))


def forked(tests: Sequence[str], off: int, seconds: float, *plugins: object) -> int | None:
    """Run tests in a fork, in which libraries are loaded and no test ran; returns the exit status.

    The status is negative for a signal, and None for a run that was ended after so many seconds.
    """
    if not (pid := os.fork()):
        os.setsid()
        os.environ["SWITCHED_OFF"] = str(off)
        output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(output, number)
        os._exit(int(pytest.main([*OPTIONS, *tests], plugins=list(plugins))))
    end, status = time.monotonic() + seconds, None
    while status is None and time.monotonic() < end:
        time.sleep(0.02)
        ended, how = os.waitpid(pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(how) if ended else None
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if status is None:
        os.waitpid(pid, 0)
    return status


def tell(tests: Sequence[str]) -> Told:
    """Run the tests of a room with all checks on, and load what they load."""
    os.environ["SWITCHES_REACHED"] = str(LOG.absolute())
    LOG.touch()
    if status := forked(tests, -1, 3600, Reaching()):
        raise SystemExit(f"{' '.join(tests)}: exit status {status}\n{Path('output').read_text()}")
    del os.environ["SWITCHES_REACHED"]
    told = Told(**json.loads(TOLD.read_text()))
    for name in told.modules:
        with suppress(Exception):
            import_module(name)
    gc.freeze()  # or each fork would copy what it only looks through
    return told


def look_at(room: str) -> int:
    """Look at a room, in a copy that is the current folder; returns how many no test misses."""
    checks, n_bad = install(Path.cwd(), room), 0
    told = tell(ROOMS[room])
    for number, check in enumerate(checks):
        tests = told.tests.get(str(number), [])
        seconds = SECONDS + 4 * sum(told.seconds[test] for test in tests)
        status = forked(["-x", *tests], number, seconds) if tests else 0
        if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise SystemExit(f"{' '.join(tests)}: exit status {status}")
        if not status:
            n_bad += status == 0
            how = "tests hang" if status is None else "NO TEST" if tests else "NO TEST reaches it"
            sys.stdout.write(f"{check}: {how}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{room}: {len(checks)} checks, {n_bad} that no test misses\n")
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
    """Look at rooms; exit status 1 for a check that no test misses."""
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
