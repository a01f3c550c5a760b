"""Runs that are killed, and runs of two processes: as commands, in processes of their own."""

import multiprocessing
import os
import random
import signal
import socket
import time

import pytest
import torch
from safetensors.torch import load_file

from modeling.training.telling import read_metrics

SMALL = [
    *("encoder.width=16", "encoder.n_layers=1", "encoder.n_heads=2", "encoder.inner_width=32"),
    *("encoder.entity_width=8", "training.batch_size=16", "training.micro_batch_size=4"),
    *("training.evaluate_every=10", "training.log_every=1", "training.evaluate_examples=8"),
]


def command(output, examples, *settings):
    inputs = ["--examples", str(examples), "--output", str(output)]
    return ["daluke_small", *inputs, "--set", *SMALL, *settings]


COMMAND = """
import os
os.environ.update(environment)
from modeling.pretrain import main
raise SystemExit(main(argv))
"""


@pytest.fixture(scope="module")
def start():
    """Start a command in a process that has loaded everything already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["modeling.training.session", "modeling.pretrain"])
    os.environ["OMP_NUM_THREADS"] = "1"

    def process(argv, **environment):
        texts = {name: str(value) for name, value in environment.items()}
        values = {"argv": argv, "environment": texts}
        made = context.Process(target=exec, args=(COMMAND, values))  # this module has no name there
        made.start()
        return made

    yield process
    del os.environ["OMP_NUM_THREADS"]


def lines(folder):
    timed = {"pieces_per_second", "seconds"}
    read = read_metrics(folder / "metrics.jsonl")
    return [{name: v for name, v in line.items() if name not in timed} for line in read]


def test_a_run_that_is_killed_at_any_moment_ends_with_the_same_weights(start, examples, tmp_path):
    settings = ["training.max_steps=36", "training.checkpoint_every=3", "data.n_workers=1"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    unbroken = start(command(whole, examples, *settings))
    rng = random.Random(4)

    for step in sorted(rng.sample(range(25), 3)):
        process = start(command(killed, examples, *settings))
        while process.is_alive() and last_step(killed) < step:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
    process = start(command(killed, examples, *settings))
    unbroken.join()
    process.join()

    assert unbroken.exitcode == process.exitcode == 0
    weights = [folder / "final" / "model.safetensors" for folder in (whole, killed)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert lines(killed) == lines(whole)


def last_step(folder):
    return max((line["step"] for line in read_metrics(folder / "metrics.jsonl")), default=-1)


def test_two_processes_are_one_with_the_whole_batch(start, examples, tmp_path):
    # 56 examples in steps of 11: the sixth step has one example, and the second process none
    settings = [
        "training.batch_size=11",
        "training.max_steps=8",
        "encoder.dropout=0",
        "encoder.embedding_dropout=0",
    ]
    settings += ["encoder.attention_dropout=0", "data.n_workers=0", "training.checkpoint_every=5"]
    one, two = tmp_path / "one", tmp_path / "two"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}

    alone = start(command(one, examples, *settings))
    both = [start(command(two, examples, *settings), RANK=rank, **world) for rank in range(2)]
    for process in (alone, *both):
        process.join(timeout=120)

    assert [process.exitcode for process in (alone, *both)] == [0, 0, 0]
    expected = load_file(one / "final" / "model.safetensors")
    weights = load_file(two / "final" / "model.safetensors")
    for name, tensor in expected.items():
        torch.testing.assert_close(weights[name], tensor, rtol=0, atol=1e-5)
    for ours, theirs in zip(lines(two), lines(one), strict=True):
        assert ours["kind"] == theirs["kind"]
        assert ours.get("loss") == pytest.approx(theirs.get("loss"), abs=1e-4)
        assert ours.get("targets") == theirs.get("targets")
