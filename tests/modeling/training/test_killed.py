"""Runs that are killed, and runs of two processes: as commands, in processes of their own."""

import os
import random
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from corpora.errors import CorpusError
from modeling.data.batches import Batches
from modeling.finetune.__main__ import main as finetune
from modeling.training.run_log import read_metrics
from tests.processes import PATIENCE_S, copy_of, descendants_of, lives, wait_for

SMALL = [
    *("encoder.width=16", "encoder.n_layers=1", "encoder.n_heads=2", "encoder.inner_width=32"),
    *("encoder.entity_width=8", "training.batch_size=16", "training.micro_batch_size=4"),
    *("training.evaluate_every=10", "training.log_every=1", "training.evaluate_examples=8"),
]


ENDLESS = ["training.max_steps=100000", "data.n_workers=0"]


def command(output, examples, *settings):
    inputs = ["--examples", str(examples), "--output", str(output)]
    return ["daluke_small", *inputs, "--set", *SMALL, *settings]


PROGRAM = """
import multiprocessing, os, sys
import modeling.training.pretraining_run
from modeling.pretrain.__main__ import main
os.fsync = os.fstat  # what was written outlives a process that is killed
multiprocessing.set_start_method(sys.argv[1])
raise SystemExit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def start(warm_python):
    """Start a command in a process that has loaded everything already."""

    def process(argv, *, workers="fork", python=warm_python, stderr=None, **environment):
        texts = {name: str(value) for name, value in environment.items()}
        command = [python, "-c", PROGRAM, workers, *argv]
        return subprocess.Popen(command, env=os.environ | texts, stderr=stderr, text=True)

    return process


@pytest.fixture(scope="module")
def start_ranks(start):
    """Start a process for each of these commands; they are the ranks of one run."""

    def processes(*commands, **options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        world = {"WORLD_SIZE": len(commands), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks = enumerate(commands)
        return [start(argv, RANK=n, LOCAL_RANK=n, **world, **options) for n, argv in ranks]

    return processes


def lines(folder):
    timed = {"subwords_per_second", "seconds"}
    read = read_metrics(folder / "metrics.jsonl")
    return [{name: v for name, v in line.items() if name not in timed} for line in read]


def test_a_run_that_is_killed_at_any_moment_ends_with_the_same_weights(start, examples, tmp_path):
    settings = ["training.max_steps=36", "training.checkpoint_every=3", "data.n_workers=1"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    unbroken = start(command(whole, examples, *settings), python=sys.executable)
    rng = random.Random(4)

    for step in sorted(rng.sample(range(25), 3)):
        process = start(command(killed, examples, *settings))
        while process.poll() is None and last_step(killed) < step:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(copy_of(process), signal.SIGKILL)
        process.wait()
        assert process.returncode == -signal.SIGKILL
    process = start(command(killed, examples, *settings))
    unbroken.wait()
    process.wait()

    assert unbroken.returncode == process.returncode == 0
    weights = [folder / "final" / "model.safetensors" for folder in (whole, killed)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert lines(killed) == lines(whole)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("number", "workers"),
    [
        (signal.SIGKILL, "fork"),
        (signal.SIGKILL, "forkserver"),  # the default since Python 3.14
        (signal.SIGTERM, "fork"),
        (signal.SIGINT, "fork"),
    ],
)
def test_no_worker_outlives_the_trainer(start, examples, tmp_path, number, workers):
    settings = ["training.max_steps=100000", "data.n_workers=2"]
    process = start(command(tmp_path / "run", examples, *settings), workers=workers)
    wait_for_step(process, tmp_path / "run", 3)
    workers = descendants_of(copy := copy_of(process))

    os.kill(copy, number)
    process.wait(PATIENCE_S)

    assert len(workers) >= 2
    assert process.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}.get(number, -number)
    wait_for(lambda: not any(map(lives, workers)))


TO_SIGNAL = [
    *("training.max_steps=60", "training.checkpoint_every=1000", "training.log_every=7"),
    "training.evaluate_every=20",
]


@pytest.fixture(scope="module")
def whole(start, examples, tmp_path_factory):
    """Run what gets signals once undisturbed; returns the folder."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    unbroken = start(command(folder, examples, *TO_SIGNAL))
    unbroken.wait()
    assert unbroken.returncode == 0
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_all_its_processes_writes_a_checkpoint_from_which_a_run_resumes(
    start, examples, whole, tmp_path, number, status
):
    stopped = tmp_path / "stopped"

    statuses = []
    for step in (14, 35):
        process = start(command(stopped, examples, *TO_SIGNAL))
        wait_for_step(process, stopped, step)
        for pid in (*descendants_of(copy := copy_of(process)), copy):
            os.kill(pid, number)
        process.wait(PATIENCE_S)
        statuses.append(process.returncode)
        kept = sorted((stopped / "checkpoints").iterdir())
        assert int(kept[-1].name.removeprefix("step-")) >= step
    process = start(command(stopped, examples, *TO_SIGNAL))
    process.wait()

    assert [*statuses, process.returncode] == [status, status, 0]
    weights = [folder / "final" / "model.safetensors" for folder in (whole, stopped)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert lines(stopped) == lines(whole)


def test_sigterm_to_one_of_two_processes_ends_both_at_the_same_step(
    start_ranks, examples, tmp_path
):
    both = start_ranks(*[command(tmp_path / "run", examples, *ENDLESS)] * 2)
    wait_for_step(both[0], tmp_path / "run", 3)

    both[1].terminate()
    for process in both:
        process.wait(PATIENCE_S)

    assert [process.returncode for process in both] == [143, 143]
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1


def test_processes_that_see_different_folders_are_refused_with_one_message(
    start_ranks, examples, tmp_path
):
    commands = [command(tmp_path / name, examples, *ENDLESS) for name in ("a", "b")]
    ranks = start_ranks(*commands, stderr=subprocess.PIPE)
    first, second = (process.communicate(timeout=PATIENCE_S)[1] for process in ranks)

    assert [process.returncode for process in ranks] == [1, 1]
    assert first.count("the processes see different folders (rank 0: a run (") == 1
    assert "rank 1: no run)" in first
    assert "Traceback" not in first + second
    assert "error" not in second


def test_the_survivor_of_a_killed_process_says_so_in_one_message(start_ranks, examples, tmp_path):
    argv = command(tmp_path / "run", examples, *ENDLESS, "training.checkpoint_every=1")
    ranks = start_ranks(argv, argv, stderr=subprocess.PIPE)
    wait_for(lambda: list((tmp_path / "run").glob("checkpoints/step-*")), ranks[0])
    ranks[1].kill()
    _, said = ranks[0].communicate(timeout=PATIENCE_S)
    ranks[1].communicate()

    assert ranks[0].returncode == 1
    assert said.count("rank 0: another process has ended, or cannot be reached") == 1
    assert "Traceback" not in said


def test_a_dead_data_worker_is_named(monkeypatch):
    def dies():
        yield []
        raise RuntimeError("DataLoader worker (pid(s) 5) exited unexpectedly")

    batches = Batches.__new__(Batches)
    batches.n_workers = 1
    monkeypatch.setattr("modeling.data.batches.DataLoader", lambda *_, **__: dies())

    with pytest.raises(CorpusError, match=r"has ended \(DataLoader worker .* data\.n_workers=0"):
        list(batches.steps(0, 2))


def test_fine_tuning_in_several_processes_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit, match="2"):
        finetune(["crf", "--ner", "ner", "--model", "model", "--output", "run"])

    assert "start it without torchrun" in capsys.readouterr().err


def wait_for_step(process, folder, step):
    while process.poll() is None and last_step(folder) < step:
        time.sleep(0.005)
    assert process.poll() is None


def last_step(folder):
    return max((line["step"] for line in read_metrics(folder / "metrics.jsonl")), default=-1)


@pytest.mark.parametrize("is_begun", [False, True])
def test_two_processes_are_one_with_the_whole_batch(
    start, start_ranks, make_examples, tmp_path, is_begun
):
    names = ["[PAD]", "[UNK]", "[MASK]", *(f"x:w{5 * n}" for n in range(8))]
    examples = make_examples(tmp_path / "examples", entities=names)
    # 56 examples in steps of 11: the sixth step has one example, and the second process none
    settings = [
        "training.batch_size=11",
        "training.max_steps=8",
        "encoder.dropout=0",
        "encoder.embedding_dropout=0",
    ]
    settings += ["encoder.attention_dropout=0", "data.n_workers=0", "training.checkpoint_every=5"]
    one, two = tmp_path / "one", tmp_path / "two"
    begun = []
    if is_begun:
        base = start(command(tmp_path / "base", examples, *settings, "training.max_steps=1"))
        base.wait(PATIENCE_S)
        settings += ["training.center=true", "training.entity_start=names"]
        (tmp_path / "base" / "final" / "entities.arrow").unlink()  # so that all entities are new
        begun = ["--init-from", str(tmp_path / "base" / "final")]

    alone = start([*command(one, examples, *settings), *begun])
    argv = [*command(two, examples, *settings), *begun]
    both = start_ranks(argv, argv)
    for process in (alone, *both):
        process.wait(PATIENCE_S)

    assert [process.returncode for process in (alone, *both)] == [0, 0, 0]
    expected = load_file(one / "final" / "model.safetensors")
    weights = load_file(two / "final" / "model.safetensors")
    for name, tensor in expected.items():
        torch.testing.assert_close(weights[name], tensor, rtol=0, atol=1e-5)
    for ours, theirs in zip(lines(two), lines(one), strict=True):
        assert ours["kind"] == theirs["kind"]
        assert ours.get("loss") == pytest.approx(theirs.get("loss"), abs=1e-4)
        assert ours.get("targets") == theirs.get("targets")
