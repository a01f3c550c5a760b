"""Downloads that end before they are done, as processes of their own."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.corpora.wikipedia.download.one_dump import DATA, NAME, PATH, names
from tests.corpora.wikipedia.dump_server import Fault

ROOT = Path(__file__).resolve().parents[4]


def start(server, output, **streams):
    """Start the command in a process of its own."""
    command = [sys.executable, "-m", "corpora.wikipedia.download", "klwiki", "--output"]
    command += [str(output), "--mirror", server.url, "--contact", "a@b.org"]
    return subprocess.Popen(command, cwd=ROOT, **{"stdout": subprocess.DEVNULL} | streams)


def wait_for_bytes(process, output, n_bytes):
    """Wait until so much of a file has come."""
    while process.poll() is None and not any(
        path.stat().st_size == n_bytes for path in output.glob(".*.partial")
    ):
        time.sleep(0.01)


def test_a_killed_download_fetches_only_the_rest(server, tmp_path):
    server.faults[PATH] = [Fault(wait_after=200_000)]
    process = start(server, tmp_path, stderr=subprocess.DEVNULL)
    wait_for_bytes(process, tmp_path, 200_000)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not any(name.startswith("klwiki") for name in names(tmp_path))

    again = start(server, tmp_path, stdout=subprocess.PIPE)
    said, _ = again.communicate()

    assert (again.returncode, (tmp_path / NAME).read_bytes()) == (0, DATA)
    assert server.asked_for(NAME) == [None, "bytes=200000-"]
    assert names(tmp_path) == {NAME, "klwiki-20261101.lock.json"}
    assert str(tmp_path / NAME).encode() in said


def test_an_interrupted_download_says_so_and_goes_on(server, tmp_path):
    server.faults[PATH] = [Fault(wait_after=200_000)]
    process = start(server, tmp_path, stderr=subprocess.PIPE)
    wait_for_bytes(process, tmp_path, 200_000)

    process.send_signal(signal.SIGINT)
    server.release.set()
    _, errors = process.communicate()

    assert process.returncode == 130
    assert errors.splitlines()[-1] == b"error: interrupted. The same command resumes from here."
    assert start(server, tmp_path, stderr=subprocess.DEVNULL).wait() == 0
    assert server.asked_for(NAME) == [None, "bytes=200000-"]


def test_a_full_disk_is_a_clear_error_and_the_next_download_goes_on(server, tmp_path):
    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = start(server, tmp_path, stderr=subprocess.PIPE, preexec_fn=limit_file_size)
    _, errors = process.communicate()

    assert process.returncode == 1
    assert b"File too large" in errors.splitlines()[-1]
    assert not any(name.startswith("klwiki") for name in names(tmp_path))
    assert start(server, tmp_path, stderr=subprocess.DEVNULL).wait() == 0
    assert (tmp_path / NAME).read_bytes() == DATA
