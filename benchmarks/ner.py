"""Measure time and memory to make a NER dataset from CoNLL, with and without its card.

    python -m benchmarks.ner --megabytes 200 --workers 2

Makes text with 200,000 words by Zipf's law and 300,000 names, a tenth of it dev and a tenth test,
and runs the whole job with and without the card. Start-up is measured by a run on a small file and
taken off. Memory is that of all processes together at its highest, less that of the small run.
CPU seconds are those of all processes; on a shared machine they say more than the clock.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.resources import measure

N_WORDS, N_NAMES, UNITS = 200_000, 300_000, 400_000
SYLLABLES = (
    "ba",
    "ce",
    "dor",
    "fu",
    "gen",
    "hil",
    "ja",
    "ko",
    "lin",
    "me",
    "nau",
    "pe",
    "rö",
    "sa",
)


def word(number: int) -> str:
    """Return the word of a number; different numbers have different words."""
    made = ""
    while number or not made:
        number, syllable = divmod(number, len(SYLLABLES))
        made += SYLLABLES[syllable]
    return made


def units() -> list[bytes]:
    """Return the pieces of sentences as CoNLL: words, names of one to three tokens, an end."""
    words = [f"{word(n)} O\n".encode() for n in range(N_WORDS)]
    names = []
    for n in range(N_NAMES):
        label = ("PER", "LOC", "ORG", "MISC")[n % 4]
        tokens = [word(7 * n + i).capitalize() for i in range(1 + n % 3)]
        lines = [f"{t} {'I' if i else 'B'}-{label}\n" for i, t in enumerate(tokens)]
        names.append("".join(lines).encode())
    return [*words, *names, b". O\n\n"]


def blocks(kinds: list[bytes], rng: np.random.Generator) -> Iterator[bytes]:
    """Yield text without end, some megabytes at once."""
    while True:
        numbers = np.minimum(rng.zipf(1.2, UNITS) - 1, N_WORDS - 1)
        names = rng.random(UNITS) < 0.06
        picked = np.minimum(rng.zipf(1.3, int(names.sum())) - 1, 10 * N_NAMES) % N_NAMES
        numbers[names] = N_WORDS + picked
        numbers[rng.random(UNITS) < 0.07] = len(kinds) - 1
        numbers[-1] = len(kinds) - 1
        yield b"".join(map(kinds.__getitem__, numbers.tolist()))


def make(folder: Path, megabytes: float) -> float:
    """Write train, dev and test; returns their size in MB."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    kinds = units()
    for split, ratio in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        with (folder / f"{split}.conll").open("wb") as file:
            for block in blocks(kinds, rng):
                file.write(block)
                if file.tell() >= ratio * megabytes * 1e6:
                    break
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def run(folder: Path, workers: int, card: str) -> tuple[float, float, float]:
    """Run the job: seconds, CPU seconds, and peak memory of all processes in MB."""
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "pipelines.benchmark_to_ner", "--input", str(folder)]
        command += ["--output", output, "--workers", str(workers), "--card", card]
        took = measure(command)
        return took.seconds, took.processor, took.pss


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--card", nargs="+", default=["off", "on"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        small, large = Path(temporary) / "small", Path(temporary) / "large"
        make(small, 0.1)
        size = make(large, arguments.megabytes)
        print(f"{size:.0f} MB, {arguments.workers} workers, load {os.getloadavg()[0]:.1f}")
        for card in arguments.card:
            least = run(small, arguments.workers, card)
            seconds, cpu, memory = (
                a - b for a, b in zip(run(large, arguments.workers, card), least, strict=True)
            )
            print(
                f"card {card:3}: {size / seconds:5.1f} MB/s, {size / cpu:5.1f} MB per CPU second, "
                f"{memory:4.0f} MB beyond the start-up's {least[2]:.0f} MB ({least[0]:.1f} s)"
            )


if __name__ == "__main__":
    main()
