"""Several processes that train together, by gloo."""

import os
import signal
import socket
import subprocess
import time
from functools import partial

import pytest
import torch
from safetensors.torch import load_file

from corpora.errors import CorpusError
from modeling.data.batches import Batches
from modeling.finetune.__main__ import main as finetune
from modeling.pretrain.__main__ import main as pretrain

SETTINGS = (
    *("encoder.width=16", "encoder.n_layers=1", "encoder.n_heads=2", "encoder.inner_width=16"),
    *("training.batch_size=8", "training.micro_batch_size=4", "data.n_workers=0"),
)


def command(examples, output, *, steps):
    every = [*SETTINGS, f"training.max_steps={steps}", "training.checkpoint_every=1"]
    return ["bert_small", "--examples", str(examples), "--output", str(output), "--set", *every]


@pytest.fixture
def start(warm_python):
    """Start a process for each command; they are the ranks of one run."""
    return partial(start_ranks, warm_python)


def start_ranks(python, commands):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    world = {"WORLD_SIZE": str(len(commands)), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [
        subprocess.Popen(
            [python, "-m", "modeling.pretrain", *command],
            env=os.environ | world | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, command in enumerate(commands)
    ]


def test_two_processes_train_the_weights_of_one(start, examples, tmp_path):
    assert pretrain(command(examples, tmp_path / "one", steps=3)) == 0
    for process in start([command(examples, tmp_path / "two", steps=3)] * 2):
        process.communicate(timeout=300)

    one, two = (
        load_file(tmp_path / name / "final" / "model.safetensors") for name in ("one", "two")
    )
    for name, weights in one.items():
        torch.testing.assert_close(two[name], weights, rtol=0, atol=1e-5)


def test_processes_that_see_different_folders_are_refused_with_one_message(
    start, examples, tmp_path
):
    ranks = start([command(examples, tmp_path / name, steps=3) for name in ("a", "b")])
    first, second = (process.communicate(timeout=300)[1] for process in ranks)

    assert [process.returncode for process in ranks] == [1, 1]
    assert first.count("the processes see different folders (rank 0: a run (") == 1
    assert "rank 1: no run)" in first
    assert "Traceback" not in first + second
    assert "error" not in second


def test_the_survivor_of_a_killed_process_says_so_in_one_message(start, examples, tmp_path):
    ranks = start([command(examples, tmp_path / "run", steps=10**6)] * 2)
    deadline = time.monotonic() + 240
    while not list((tmp_path / "run").glob("checkpoints/step-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    ranks[1].send_signal(signal.SIGKILL)
    _, said = ranks[0].communicate(timeout=300)
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
