"""Pipelines that are killed at a sample of their file operations, from the first to the last.

``benchmarks/kill.py every`` kills at each.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("scenario", "workers", "sample"),
    [
        ("tei", 1, 4),
        ("tei", 2, 3),
        ("wikipedia", 1, 4),
        ("news", 1, 2),
        ("vocabulary", 1, 3),
        ("augment", 1, 2),
        ("lexicon", 1, 3),
    ],
)
def test_killed_at_any_file_operation_it_ends_in_the_same_bytes_and_leaves_no_process(
    scenario, workers, sample
):
    command = [sys.executable, "-m", "tests.killing", scenario]
    command += ["--workers", str(workers), "--sample", str(sample)]

    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["violations"] == []
    assert report["kills"] >= sample - (workers > 1)  # several make more operations, or fewer
    assert report["operations"] > 50
