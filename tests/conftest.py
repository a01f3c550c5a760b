"""Fixtures that more than one test needs: real data, golden files, and a browser."""

import difflib
import fcntl
import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import hypothesis
import pytest

from corpora.system import buckets
from tests import bucket_server
from tests.processes import PATIENCE_S, wait_for

# A busy machine may take a second for what takes a millisecond. Each run tries other examples.
hypothesis.settings.register_profile("onoma", deadline=None, max_examples=30)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("onoma")
# Virtual machines may announce AMX and refuse it: an illegal instruction ends the tests.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
# Threads that wait for each other on a busy machine compute nothing, but take the processor, in
# what tests start, too.
os.environ["OMP_NUM_THREADS"] = "1"
# No power is cut here, and tests would wait for the disk more than compute; the descriptor is
# looked at nevertheless. Commands that tests start wait for it.
os.fsync = os.fstat
# Temporary files lie in memory, where there is room and programs may be started: a folder there
# is made and removed in a tenth of the time. TMPDIR says otherwise.
MEMORY, MIN_BYTES = Path("/dev/shm"), 4 << 30  # noqa: S108 - pytest makes a folder of its own
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
    _about = os.statvfs(MEMORY)
    if _about.f_bavail * _about.f_frsize > MIN_BYTES and not _about.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
# A shell's background jobs ignore Ctrl-C, and so would what tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
GOLDEN = ROOT / "tests" / "data" / "golden"
CHROMIUM = Path("/usr/bin/chromium")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files; then read the diff"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep what was imported for all tests out of each search for garbage, and search seldom."""
    gc.disable()
    try:
        if session.config.args_source == pytest.Config.ArgsSource.TESTPATHS:
            import_tests()
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # objects, searches, searches


def import_tests() -> None:
    """Import all tests, each process of several beginning elsewhere: they share what is compiled.

    What cannot be imported says so when it is collected.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files = sorted(ROOT.glob("tests/**/test_*.py"))
    begin = len(files) * worker // count
    for file in files[begin:] + files[:begin]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates of what a test said: reports travel from process to process."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was skipped and why, in a line for each reason; also in the file ``$SKIPPED``."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    lines = [
        f"skipped {count}: {' '.join(reason.split())}" for reason, count in reasons.most_common()
    ]
    for line in lines:
        terminalreporter.write_line(line)
    if lines and (file := os.environ.get("SKIPPED")):
        with Path(file).open("a", encoding="utf-8") as log:
            log.writelines(f"{line}\n" for line in lines)


@pytest.fixture(scope="session")
def realdata() -> Callable[[str], Path]:
    """Unpack a real data set by name, once, and return its folder; skip where there is none."""

    def unpack(name: str) -> Path:
        if not (SHARED / f"{name}.tar.xz").is_file():
            pytest.skip(f"no real data: ../shared/data/{name}.tar.xz is absent")
        cache = ROOT / "build" / "realdata"
        subprocess.run([SHARED / "unpack", cache, name], check=True)
        return cache / name

    return unpack


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory) -> str:
    """Return what starts programs in the place of an interpreter, see ``warm.py``.

    All processes of pytest have it of one process, which the first of them starts.
    """
    if not hasattr(os, "pidfd_open"):
        return sys.executable
    folder, pytest_id = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder, pytest_id = folder.parent, os.getppid()
    program, log = folder / "warm.python", folder / "warm.log"
    with (folder / "warm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            command = [sys.executable, "-m", "tests.warm", str(folder / "warm"), str(pytest_id)]
            to_log = (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT, 0o600)
            os.posix_spawn(
                *(sys.executable, command, os.environ | {"PYTHONPATH": str(ROOT)}),
                file_actions=[to_log],
                setsid=True,
            )
            wait_for(program.exists)
    return str(program)


@pytest.fixture(scope="session")
def bucket_program() -> Path:
    """Return the program of an S3 server; skip where it can neither be found nor built."""
    try:
        return bucket_server.built()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no S3 server: {error}")


@pytest.fixture
def bucket(
    bucket_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[bucket_server.BucketServer]:
    """Start an S3 server with a bucket, ``s3://onoma``, and set the environment for it."""
    server = bucket_server.BucketServer(bucket_program, tmp_path / "server")
    use_server(server, tmp_path / "cache", monkeypatch)
    yield server
    buckets.open_store.cache_clear()
    server.kill()


def use_server(
    server: bucket_server.BucketServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the environment lead to a server."""
    settings = {"ONOMA_CACHE": str(cache), "ONOMA_BUCKET_SECONDS": "20"}
    for name, value in (server.environment | settings).items():
        monkeypatch.setenv(name, value)
    buckets.open_store.cache_clear()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a file in ``tests/data/golden``, or write it with --update-golden."""

    def compare(name: str, actual: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(actual, encoding="utf-8", newline="")
            return
        if not file.is_file():
            pytest.fail(f"{name}: no golden file. Write it with pytest --update-golden, read it.")
        expected = file.read_bytes().decode("utf-8")
        if actual != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), actual.splitlines(), "golden", "actual", lineterm=""
            )
            pytest.fail(
                f"{name} differs; if this is right: pytest --update-golden\n" + "\n".join(diff),
                pytrace=False,
            )

    return compare


@pytest.fixture(scope="module")
def chromium():
    """Start Debian's Chromium; skip where it is missing.

    For the tests of one module only: while it runs, its event loop runs, and no other can in this
    thread.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright (group dev)")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser: {CHROMIUM} is not there (apt-get install chromium)")
    with playwright.sync_playwright() as program:
        browser = program.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            timeout=PATIENCE_S * 1000,
        )
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium, monkeypatch):
    """Close what the test opens: nothing of it is kept, no cookie and no decision.

    Pages wait as long as a busy machine may take.
    """
    new_context = chromium.new_context

    def patient_context(**options):
        context = new_context(**options)
        context.set_default_timeout(PATIENCE_S * 1000)
        return context

    monkeypatch.setattr(chromium, "new_context", patient_context)
    yield chromium
    for context in chromium.contexts:
        context.close()
