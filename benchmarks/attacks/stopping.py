"""Attacks by early ends: signals while a command starts, two runs at once, trainers that die."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.attacks.bounded import Try, attack
from benchmarks.attacks.folders import OPTIONS, ROOT


def started(*words: object, cwd: Path | None = None) -> "subprocess.Popen[str]":
    """Start a module of ours in an interpreter of its own; returns the process."""
    return subprocess.Popen(
        [sys.executable, "-m", *map(_word, words)],
        cwd=cwd or ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _word(word: object) -> "str | bytes":
    return word if isinstance(word, bytes) else str(word)


def ended(process: "subprocess.Popen[str]", seconds: float = 120) -> tuple[int, str]:
    """Wait for the end; gives exit status and standard error."""
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        return -signal.SIGKILL, said
    return process.returncode, said


_SAYS_SO = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in {"corpora.errors", "dataclasses", "pyarrow"}:
            os.write(1, b"x")
        return None
sys.meta_path.insert(0, Finder())
"""
"""A ``sitecustomize`` that writes a byte when one of our first imports is loaded."""


@attack("stopping", "Ctrl-C at any moment of a run, from its first import on", tries=12)
def interrupted(one: Try) -> str:
    """Fail at an exit status other than 130, or 0 where the run was done, or at a traceback."""
    (one.folder / "sitecustomize.py").write_text(_SAYS_SO)
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.tei_to_ner"]
        + [str(word) for word in (*OPTIONS, "--output", one.folder / "out")],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{one.folder}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    assert process.stdout
    process.stdout.read(1)
    time.sleep(one.rng.uniform(0, 2.5) ** 2 / 2.5)
    process.send_signal(signal.SIGINT)
    status, said = ended(process)
    if status not in {0, 130} or "Traceback" in said:
        return f"exit status {status}: {said.strip()[-300:]}"
    return ""


@attack("stopping", "two runs at once into one folder", tries=6)
def two_runs(one: Try) -> str:
    """Fail if neither run is done, or if one ends otherwise than done or refused."""
    output = one.folder / "out"
    first = started("pipelines.tei_to_ner", *OPTIONS, "--output", output)
    time.sleep(one.rng.uniform(0, 1.0))
    second = started("pipelines.tei_to_ner", *OPTIONS, "--output", output)
    ends = [ended(process) for process in (first, second)]
    for status, said in ends:
        if status != 0 and not (status == 1 and "another run" in said):
            return f"exit status {status}: {said.strip()[-300:]}"
    return "" if 0 in [status for status, _ in ends] else "neither was done"


@attack("stopping", "paths that are no UTF-8", tries=3)
def paths(one: Try) -> str:
    """Fail at an exit status other than 0, 1 or 2, or at a traceback."""
    strange = os.fsencode(one.folder / "o") + bytes([one.rng.randrange(128, 256)])
    where = one.rng.choice([
        ("--input", strange, "--output", one.folder / "out"),
        (*OPTIONS[:2], "--output", strange),
        (*OPTIONS[:2], "--edition", strange, "--output", one.folder / "out"),
    ])  # fmt: skip
    status, said = ended(started("pipelines.tei_to_ner", *where))
    if status not in {0, 1, 2} or "Traceback" in said:
        return f"exit status {status}: {said.strip()[-300:]}"
    return ""


@attack("stopping", "pre-training that is killed, or asked to end", tries=3)
def trainer(one: Try) -> str:
    """Fail if a worker outlives the trainer, or if SIGTERM ends it wrongly.

    Rightly it leaves a checkpoint then, and ends with status 143.
    """
    examples = one.folder / "examples"

    def write() -> None:
        from tests.modeling.conftest import write_examples

        write_examples(examples)

    if fault := one.call(write).fault(0):
        return fault
    output = one.folder / "out"
    small = ["encoder.width=16", "encoder.n_layers=1", "encoder.n_heads=2", "data.n_workers=1"]
    small += ["encoder.inner_width=32", "encoder.entity_width=8", "training.batch_size=16"]
    small += ["training.micro_batch_size=4", "training.log_every=1", "training.max_steps=100000"]
    process = started(
        "modeling.pretrain",
        "daluke_small",
        "--examples",
        examples,
        "--output",
        output,
        "--set",
        *small,
    )
    metrics = output / "metrics.jsonl"
    end = time.monotonic() + 200
    while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    kind = one.rng.choice([signal.SIGKILL, signal.SIGTERM])
    process.send_signal(kind)
    status, said = ended(process)
    if kind == signal.SIGKILL:
        return "" if status == -kind else f"exit status {status}: {said[-300:]}"
    if status not in {143, 0} or "Traceback" in said:
        return f"exit status {status}: {said.strip()[-300:]}"
    is_there = any(output.glob("checkpoints/step-*")) or any(output.glob("**/step-*"))
    return "" if is_there else "no checkpoint"
