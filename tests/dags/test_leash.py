"""A command ends with its caller, and what it started ends with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE_S, lives, wait_for

LEASH = Path(__file__).resolve().parents[2] / "dags" / "onoma_refresh" / "leash.py"
# starts a child that holds our output open, and says its number
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print(child.pid, flush=True)
"""


def start(code, **options):
    command = [sys.executable, "-I", LEASH, sys.executable, "-c", code]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, **options
    )


@pytest.mark.parametrize(
    ("code", "status"),
    [("pass", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_status_is_that_of_the_command(code, status):
    with start(code) as leash:
        assert leash.wait(PATIENCE_S) == status


def test_a_command_that_is_not_there_is_an_error():
    done = subprocess.run(
        [sys.executable, "-I", LEASH, "/nowhere/python"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 127
    assert "/nowhere/python: No such file" in done.stderr


def test_a_command_and_its_children_end_when_the_caller_is_killed():
    command = [sys.executable, "-I", str(LEASH), sys.executable, "-c", f"{PARENT}time.sleep(3600)"]
    caller = "import subprocess, time\n"
    caller += f"leash = subprocess.Popen({command!r}, stdin=-1, start_new_session=True)\n"
    caller += "time.sleep(3600)"
    with subprocess.Popen([sys.executable, "-c", caller], stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        assert lives(child)

        process.kill()

        wait_for(lambda: not lives(child))


def test_a_command_that_ignores_the_first_signal_is_killed(tmp_path):
    shorter = tmp_path / "leash.py"
    shorter.write_text(LEASH.read_text().replace("GRACE_S = 10.0", "GRACE_S = 0.2"))
    code = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    code += "print(os.getpid(), flush=True); signal.pause()"
    command = [sys.executable, "-I", shorter, sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as leash:
        pid = int(leash.stdout.readline())

        leash.stdin.close()

        wait_for(lambda: not lives(pid))
        assert leash.wait(PATIENCE_S) == 137


def test_what_a_command_leaves_behind_ends_with_it():
    with start(PARENT) as leash:
        child = int(leash.stdout.readline())

        assert leash.wait(PATIENCE_S) == 0
        wait_for(lambda: not lives(child))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives us the orphans")
def test_what_has_a_session_of_its_own_ends_too():
    with start(PARENT.replace('3600)"]', '3600)"], start_new_session=True')) as leash:
        child = int(leash.stdout.readline())

        assert leash.wait(PATIENCE_S) == 0
        wait_for(lambda: not lives(child))
