"""The log of a run: ``metrics.jsonl``, TensorBoard, and the terminal."""

import json
import logging
import math
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TextIO

from corpora.system.arguments import overwrite
from corpora.system.files import open_own
from corpora.system.parsing import parse_json
from corpora.system.writing import write_text
from modeling.training.metrics import Line
from modeling.training.records import shortfall
from modeling.training.run_folder import RunFolder

log = logging.getLogger(__name__)


class _Board(Protocol):
    """The interface of torch's writer for TensorBoard, which may not be installed."""

    def add_scalar(self, tag: str, value: float, step: int, /) -> None:
        """Record a number."""

    def close(self) -> None:
        """Write what is still waiting."""


class Recorder:
    """A log that writes to ``metrics.jsonl``, to TensorBoard and to the terminal."""

    def __init__(
        self, folder: RunFolder, display: "Display", *, after: int, is_silent: bool = False
    ) -> None:
        """Resume after a step (−1: from the beginning); ``is_silent``: another process logs."""
        self._display, self._is_silent = display, is_silent
        if is_silent:
            return
        self._file = MetricsFile(folder.metrics)
        self._file.resume(after)
        if after < 0:
            shutil.rmtree(folder.tensorboard, ignore_errors=True)
        self._board: _Board | None = None
        with suppress(ImportError):
            from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - slow, and optional

            self._board = SummaryWriter(str(folder.tensorboard), purge_step=after + 1)

    def record(self, line: Line) -> None:
        """Log a line, which has at least ``kind`` and ``step``."""
        if self._is_silent:
            return
        self._file.write(line)
        if self._board is not None:
            numbers = {name: value for name, value in line.items() if name not in {"step", "kind"}}
            for name, value in _flat(numbers, prefix=str(line["kind"])):
                self._board.add_scalar(name, value, line["step"])
        self._display.show(line)

    def close(self) -> None:
        """Write what is still waiting."""
        if not self._is_silent and self._board is not None:
            self._board.close()


class MetricsFile:
    """``metrics.jsonl``: a line of JSON for each thing measured, with its step."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resume(self, step: int) -> None:
        """Remove the lines that will be written again: after ``step``, and those of the end.

        −1 removes all lines.
        """
        lines = read_metrics(self.path)
        at_end = ("average", "final")
        kept = [line for line in lines if line["step"] <= step and line["kind"] not in at_end]
        write_text(self.path, (_dump(line) for line in kept))

    def write(self, line: Line) -> None:
        """Append a line."""
        with open_own(self.path, "a", encoding="utf-8") as file:
            file.write(_dump(line))


def _dump(line: Line) -> str:
    return json.dumps(_finite(line), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: object) -> object:
    """Replace infinity and NaN, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_metrics(path: Path) -> Iterator[Line]:
    """Iterate over the lines of a run; one that was cut off by a kill, or is none, is left out."""
    if not path.exists():
        return
    with path.open("rb") as file:  # a kill may cut a line inside a character
        for number, line in enumerate(file, 1):
            try:
                found = parse_json(line)
            except ValueError:
                found = None
            if isinstance(found, dict) and found.keys() >= {"kind", "step"}:
                yield found  # type: ignore[misc]
            else:
                said = line.decode("utf-8", "replace").strip()
                log.warning("%s:%d: a line that was cut is left out: %.40s", path, number, said)


def _flat(values: Mapping[str, object], *, prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, prefix=f"{prefix}/{name}")
        elif isinstance(value, int | float):
            yield f"{prefix}/{name}", float(value)


class Display:
    """A display of the progress of a run: one live line in a terminal, plain lines elsewhere."""

    def __init__(self, stream: TextIO, *, max_steps: int) -> None:
        self.stream, self.max_steps = stream, max_steps
        self._is_terminal = stream.isatty()
        self.is_silent = False
        self._began: tuple[float, int] | None = None

    def show(self, line: Line) -> None:
        """Show a line of the metrics; in a terminal, lines of training replace each other."""
        text = self._text(line)
        if self._is_terminal and line["kind"] == "train":
            self._write(text[: shutil.get_terminal_size().columns - 1], end="")
        else:
            self.say(text)

    def say(self, text: str) -> None:
        """Show a sentence."""
        self._write(text, end="\n")

    def _write(self, text: str, *, end: str) -> None:
        if self.is_silent:
            return
        if self._is_terminal:
            overwrite(self.stream, text, end=end)
        else:
            self.stream.write(text + end)
        self.stream.flush()

    def _text(self, line: Line) -> str:
        parts = [f"step {line['step']:,}/{self.max_steps:,}"]
        if line["kind"] != "train":
            parts.append(line["kind"])
        if "epoch" in line:
            parts.append(f"epoch {line['epoch']}")
        if "parameters" in line:
            parts.append(f"{line['parameters']['total']:,} parameters")
            parts.append(
                f"{line['examples']:,} examples, {line['steps_per_epoch']:,} steps an epoch"
            )
        parts += [f"{name} {loss:.3f}" for name, loss in line.get("loss", {}).items()]
        for name, ratios in line.get("accuracy", {}).items():
            parts.append(f"{name} top-1 {ratios['1']:.1%}")
        if line.get("strict_f1") is not None:
            parts.append(f"strict F1 {line['strict_f1']:.4f}")
            parts += filter(None, [shortfall(line)])
        if "lr" in line:
            parts.append(f"lr {line['lr']:.2e}")
        if "subwords_per_second" in line:
            parts.append(f"{line['subwords_per_second']:,.0f} subwords/s")
            parts.append(f"{self._left(line['step'])} left")
        return " · ".join(parts)

    def _left(self, step: int) -> str:
        now = time.monotonic()
        if self._began is None or step <= self._began[1]:
            self._began = (now, step)
            return "…"
        began, first = self._began
        seconds = int((now - began) / (step - first) * (self.max_steps - step))
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
