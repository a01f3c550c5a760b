import io
import json
import math
import os
import tty

import pytest
import torch

from corpora.system import arguments
from modeling.training.metrics import _PEAKS, MetricsWindow, TrainingClock, peak_flops
from modeling.training.run_folder import RunFolder
from modeling.training.run_log import Display, MetricsFile, Recorder, read_metrics


class FakeStep:
    """What ``MetricsWindow`` asks of a step."""

    def __init__(self, sums, n_targets, norm=1.0):
        self.sums, self.n_targets, self.gradient_norm, self.n_subwords = sums, n_targets, norm, 10
        self.is_checked = False

    def check(self):
        self.is_checked = True


def test_a_line_has_means_over_all_targets_of_its_steps():
    window = MetricsWindow()
    window.waiting += [
        FakeStep({"subwords": 6.0, "entities": 0.0}, {"subwords": 2, "entities": 0}, norm=1.0),
        FakeStep({"subwords": 1.0, "entities": 3.0}, {"subwords": 5, "entities": 1}, norm=2.0),
    ]
    steps = list(window.waiting)

    n_subwords = window.read()
    line = window.line({"subwords": 1.0, "entities": 0.5})

    assert n_subwords == 20
    assert all(step.is_checked for step in steps)
    assert line == {
        "loss": {"subwords": 1.0, "entities": 3.0},
        "weighted": 2.5,
        "gradient_norm": 1.5,
    }
    assert window.read() == 0


def test_a_window_survives_json():
    window = MetricsWindow()
    window.waiting.append(FakeStep({"subwords": 6.5}, {"subwords": 2}))
    window.left_out.update({"examples.cut": 3})
    window.read()

    again = MetricsWindow(**json.loads(json.dumps(window.to_json())))

    assert again == window
    assert again.line({"subwords": 1.0})["left_out"] == {"examples.cut": 3}


def test_the_clock_leaves_pauses_out(monkeypatch):
    now = iter([0.0, 2.0, 100.0, 103.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    clock = TrainingClock(n_subwords=50, flops=1e3)

    clock.go()
    clock.stop()
    clock.go()
    clock.stop()

    assert clock.line(peak=400.0) == {"subwords_per_second": 10.0, "seconds": 5.0, "mfu": 0.5}


def test_the_peak_of_a_cpu_is_not_known():
    assert peak_flops(torch.device("cpu"), "bfloat16") is None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", None),
        ("NVIDIA A1000", None),
        ("NVIDIA RTX A4000", None),
    ],
)
def test_the_peak_is_that_of_the_device_and_of_no_other_with_a_longer_name(
    monkeypatch, name, known
):
    monkeypatch.setattr("torch.cuda.get_device_name", lambda _: name)

    assert peak_flops(torch.device("cuda"), "bfloat16") == (known and _PEAKS[known])


@pytest.mark.parametrize(
    "cut", [b'{"kind": "tra', '{"too_long": {"長'.encode()[:-1], b"\0\0\0", b"17", b'{"step": 9}']
)
def test_going_on_removes_later_lines_and_a_cut_one(tmp_path, caplog, cut):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    for step in (1, 2, 3):
        file.write({"kind": "train", "step": step})
    with file.path.open("ab") as stream:
        stream.write(cut)

    file.resume(2)

    assert "metrics.jsonl:4: a line that was cut is left out" in caplog.text
    assert [line["step"] for line in read_metrics(file.path)] == [1, 2]


def test_lines_of_the_end_are_written_again(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    for kind in ("train", "average", "final"):
        file.write({"kind": kind, "step": 1})

    file.resume(1)

    assert [line["kind"] for line in read_metrics(file.path)] == ["train"]


def test_what_is_no_number_is_null(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")

    file.write({"kind": "train", "step": 1, "loss": {"subwords": math.nan}})

    [line] = read_metrics(file.path)
    assert line["loss"] == {"subwords": None}


LINE = {
    "kind": "evaluation",
    "step": 20,
    "loss": {"subwords": 1.5},
    "accuracy": {"subwords": {"1": 0.25}},
}


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()

    Display(stream, max_steps=1000).show(LINE)

    expected = "step 20/1,000 · evaluation · subwords 1.500 · subwords top-1 25.0%\n"
    assert stream.getvalue() == expected


def test_in_a_terminal_lines_of_training_replace_each_other():
    reader, terminal = os.openpty()
    tty.setraw(terminal)
    like = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", line_buffering=True)
    display = Display(arguments._to_output(terminal, like=like), max_steps=1000)

    for step in (10, 20):
        display.show({"kind": "train", "step": step, "loss": {"subwords": 2.0}, "lr": 1e-3})
    display.show(LINE)
    display.say("shown\x1b[2J")

    with os.fdopen(reader, encoding="utf-8", newline="\n") as shown:
        lines = shown.readline() + shown.readline()
    seen = [text.removesuffix("\033[K") for text in lines.split("\r")]
    assert seen[1:3] == [f"step {n}/1,000 · subwords 2.000 · lr 1.00e-03" for n in (10, 20)]
    assert seen[3].endswith("subwords top-1 25.0%\033[K\n")
    assert seen[4] == "shown␛[2J\033[K\n"


def test_tensorboard_has_the_numbers_where_it_is_installed(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = RunFolder(tmp_path)
    recorder = Recorder(folder, Display(io.StringIO(), max_steps=10), after=-1)

    recorder.record(LINE)
    recorder.close()

    board = events.EventAccumulator(str(folder.tensorboard))
    board.Reload()
    [event] = board.Scalars("evaluation/accuracy/subwords/1")
    assert (event.step, event.value) == (20, 0.25)
    assert [line["step"] for line in read_metrics(folder.metrics)] == [20]
