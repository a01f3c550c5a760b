"""Pipelines that are killed at a sample of their file operations, from the first to the last.

``python -m tests.killing NAME`` kills at each.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.processes import PYTHONPATH

ROOT = Path(__file__).resolve().parents[2]


SAMPLES = {
    1: {"tei": 3, "wikipedia": 3, "vocabulary": 2, "augment": 2, "lexicon": 2, "news": 2},
    2: {"tei": 2},
}
"""Kills of each scenario, by the number of workers; the last one loads a model."""


@cache
def killed(n_workers, python):
    """Run all scenarios in one process.

    Returns the report of each, and standard error.
    """
    samples = SAMPLES[n_workers]
    scenarios = [f"{name}={sample}" for name, sample in samples.items()]
    command = [python, "-m", "tests.killing", *scenarios, "--workers", str(n_workers)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(zip(samples, map(json.loads, done.stdout.splitlines()), strict=False)), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("scenario", "workers", "sample"),
    [(name, workers, sample) for workers in SAMPLES for name, sample in SAMPLES[workers].items()],
)
def test_killed_at_any_file_operation_it_ends_in_the_same_bytes_and_leaves_no_process(
    scenario, workers, sample, warm_python
):
    reports, errors = killed(workers, warm_python)

    assert scenario in reports, errors
    report = reports[scenario]
    assert report["violations"] == []
    assert report["kills"] >= sample - (workers > 1)  # several make more operations, or fewer
    assert report["operations"] > 50
