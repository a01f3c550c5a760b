"""Run the benchmarks, compare their figures with those in ``figures.toml``; print what is worse.

    python -m benchmarks --data DATA
    python -m benchmarks --data DATA wikitext sentences
    python -m benchmarks --data DATA attention --keep      # what is measured is kept

DATA is the folder with the unpacked real data; a benchmark whose files or device are not there is
skipped. Figures are ratios and scores, few of which depend on the machine. A figure is worse if it
differs from the kept one by more than its tolerance. Exit status 1 means that a figure is worse, or
that a benchmark failed. ``--keep`` writes the values into ``figures.toml``, and a line with the
date and the device into ``records/figures.jsonl``.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import glob
from pathlib import Path
from typing import Any

import torch

from benchmarks.inputs import existing

FIGURES = Path(__file__).with_name("figures.toml")
RECORD = FIGURES.parent / "records" / "figures.jsonl"
ROOT = FIGURES.parent.parent
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that a benchmark prints, how it is found there, and its kept value."""

    name: str
    pattern: str
    kept: float
    better: str
    """Which values are better: ``less`` or ``more``."""
    tolerance: float = TOLERANCE

    def find(self, output: str) -> float | None:
        """Find the number in what was printed; the pattern has one group, of digits."""
        match = re.search(self.pattern, output, re.MULTILINE)
        return float(match[1].replace(",", "")) if match else None

    def is_worse(self, value: float) -> bool:
        """Compare with what was kept."""
        if self.better == "less":
            return value > self.kept * (1 + self.tolerance)
        return value < self.kept * (1 - self.tolerance)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A script, its arguments, and its figures."""

    name: str
    command: str
    figures: tuple[Figure, ...]
    needs_gpu: bool = False

    def arguments(self, data: Path) -> list[str] | None:
        """Fill in the folder and expand patterns; ``None`` where files or a GPU are missing."""
        if self.needs_gpu and not torch.cuda.is_available():
            return None
        arguments: list[str] = []
        for word in shlex.split(self.command):
            filled = word.replace("{data}", str(data))
            found = sorted(glob(filled)) if "{data}" in word else [filled]
            if not found:
                return None
            arguments += found
        return arguments


def read_figures(text: str) -> list[Benchmark]:
    """Read ``figures.toml``; raises ``TypeError`` and ``KeyError`` for what it should not have."""
    return [
        Benchmark(
            name,
            table["command"],
            tuple(_figures(table["figures"])),
            needs_gpu=table.get("needs_gpu", False),
        )
        for name, table in tomllib.loads(text).items()
    ]


def _figures(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    for name, table in tables.items():
        yield Figure(name=name, **table)


def run(benchmark: Benchmark, arguments: Sequence[str]) -> str | None:
    """Run one; returns what it printed, or ``None`` if it failed."""
    command = [sys.executable, "-m", f"benchmarks.{arguments[0]}", *arguments[1:]]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT, env=environment
    )
    if done.returncode:
        print(f"{benchmark.name}: exit status {done.returncode}\n{done.stdout}")
        return None
    return done.stdout


def compare(benchmark: Benchmark, output: str) -> dict[str, float]:
    """Print a line for each figure; returns the values found."""
    values = {}
    for figure in benchmark.figures:
        value = figure.find(output)
        if value is None:
            verdict = "NOT FOUND: its pattern fits nothing that was printed"
        else:
            values[figure.name] = value
            verdict = "WORSE" if figure.is_worse(value) else "as kept or better"
        shown = "" if value is None else f"{value:g}"
        print(f"{benchmark.name:12} {figure.name:44} {figure.kept:8g} {shown:>8}  {verdict}")
    return values


def keep(text: str, benchmark: Benchmark, values: Mapping[str, float]) -> str:
    """Put values into the text of ``figures.toml``; all else stays as it is written."""
    for name, value in values.items():
        head = re.escape(f'[{benchmark.name}.figures."{name}"]')
        text = re.sub(rf"(?s)({head}(?:(?!\n\[).)*?kept = )[\d.]+", rf"\g<1>{value:g}", text)
    return text


def record(benchmark: Benchmark, values: Mapping[str, float], path: Path) -> None:
    """Add a line to the record: what was measured, when, and on which device."""
    device = torch.cuda.get_device_name() if benchmark.needs_gpu else "CPU"
    line = {
        "benchmark": benchmark.name,
        "values": values,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "device": device,
        "torch": torch.__version__,
    }
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of benchmarks; otherwise all")
    parser.add_argument("--data", type=existing, required=True, metavar="DIR", help="real data")
    parser.add_argument("--keep", action="store_true", help="write the values down")
    options = parser.parse_args(argv)
    known = {benchmark.name: benchmark for benchmark in read_figures(FIGURES.read_text("utf-8"))}
    if unknown := set(options.names) - known.keys():
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    print(f"{'benchmark':12} {'figure':44} {'kept':>8} {'now':>8}")
    is_worse = False
    for benchmark in [known[name] for name in options.names or known]:
        arguments = benchmark.arguments(options.data.resolve())
        if arguments is None:
            print(f"{benchmark.name:12} skipped: its files, or a GPU, are not there")
            continue
        output = run(benchmark, arguments)
        values = {} if output is None else compare(benchmark, output)
        is_worse |= len(values) < len(benchmark.figures)
        is_worse |= any(f.is_worse(values[f.name]) for f in benchmark.figures if f.name in values)
        if options.keep:
            FIGURES.write_text(keep(FIGURES.read_text("utf-8"), benchmark, values), "utf-8")
            record(benchmark, values, RECORD)
    return int(is_worse)


if __name__ == "__main__":
    sys.exit(main())
