"""Fifty clients at once, by the benchmark whose table is in the documentation.

They ask for three seconds, so that the suite takes no longer; ``ONOMA_LOAD_MINUTES=1`` asks for one
minute, ``=10`` for ten.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MINUTES = os.environ.get("ONOMA_LOAD_MINUTES", "0.05")


def test_fifty_clients_at_once_are_answered_without_an_error(tagger_run):
    command = [sys.executable, "-m", "benchmarks.serve", "--tagger", tagger_run, "--only-clients"]
    more = ["--minutes", MINUTES, "--clients", "50", "--threads", "1"]

    done = subprocess.run(
        [*map(str, command), *more],
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120 + 60 * float(MINUTES),
    )

    assert done.returncode == 0, done.stderr[-2000:]
    [statuses] = re.findall(r"^answers: (.*)$", done.stdout, re.MULTILINE)
    assert re.fullmatch(r"\{200: \d{3,}\}", statuses), statuses
    rows = re.findall(r"^\| (letter|reconcile|text) \|", done.stdout, re.MULTILINE)
    assert rows == ["letter", "reconcile", "text"]
    memory = [int(m) for m in re.findall(r"(\d+) MB", done.stdout)]
    assert memory[2] < 1.2 * memory[0]
    assert "exit status after SIGTERM: 0" in done.stdout
