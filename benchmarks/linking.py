"""Candidates of an entity vocabulary of millions: time, memory and disk.

    python -m benchmarks.linking --entities 6000000

Entities are made by simulation: names of one to three words, drawn by Zipf's law from a list of
made words, so that forms are shared as names are; each entity has its title, its last word, and
its first letter with its last word as forms. Printed are seconds of the processor, bytes on disk,
and memory of a second process that looks up 100,000 forms (a tenth of them unknown): what is its
own, and what is mapped and shared.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.entities.lookup import EntityLookup, Pairs, write_lookup

N_WORDS, N_AT_ONCE, N_LOOKED_UP = 400_000, 100_000, 100_000


def words() -> list[str]:
    """Make words of two to four syllables."""
    rng = np.random.default_rng(1)
    syllables = [a + b for a in "bdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er")]
    sizes = rng.integers(2, 5, N_WORDS)
    return [
        "".join(syllables[i] for i in rng.integers(0, len(syllables), n)).title() for n in sizes
    ]


def simulate(n: int, known: list[str], *, seed: int) -> Iterator[list[tuple[str, str]]]:
    """Yield names, (title, last word), some at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, N_AT_ONCE):
        size = min(N_AT_ONCE, n - start)
        drawn = (rng.zipf(1.2, (size, 3)) % N_WORDS).tolist()
        counts = rng.integers(1, 4, size).tolist()
        yield [
            (" ".join(known[i] for i in row[:k]), known[row[k - 1]])
            for row, k in zip(drawn, counts, strict=True)
        ]


def to_pairs(names: list[tuple[str, str]], first: int) -> Pairs:
    """Give each name three forms; ids make entities of the same name different."""
    entities = [f"xwiki:{title} ({first + i})" for i, (title, _) in enumerate(names)]
    forms = [form for title, last in names for form in (title, last, f"{title[0]}. {last}")]
    of = np.repeat(np.arange(len(names)), 3)
    priors = np.random.default_rng(first).random(len(forms), np.float32)
    return Pairs(pa.array(entities), pa.array(forms), of, priors)


def look_up(folder: Path) -> None:
    """Look forms up, and print what it takes."""
    known = words()
    forms = [title for some in simulate(N_LOOKED_UP, known, seed=2) for title, _ in some]
    forms[::10] = [f"{form} unknown" for form in forms[::10]]
    lookup = EntityLookup(folder)
    times = []
    n_found = 0
    before = _memory()
    for form in forms:
        start = time.process_time()
        n_found += len(lookup.look_up(form))
        times.append(time.process_time() - start)
    after = _memory()
    at = np.quantile(times, [0.5, 0.99, 1.0]) * 1000
    print(f"look-up, ms of the processor: median {at[0]:.3f}, 99 % {at[1]:.3f}, most {at[2]:.3f}")
    print(f"{n_found / len(forms):.1f} candidates a form; in all {sum(times):.1f} s")
    for kind in before:
        print(f"{kind}: {before[kind] / 1024:.0f} MB before, {after[kind] / 1024:.0f} MB after")


def _memory() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return {kind: int(values[kind].split()[0]) for kind in ("RssAnon", "RssFile")}


def main() -> None:
    """Make, measure, and look up in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--lookup", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lookup:
        look_up(given.lookup)
        return
    with tempfile.TemporaryDirectory() as name:
        folder, known, start = Path(name), words(), time.process_time()
        some = simulate(given.entities, known, seed=1)
        pairs = (to_pairs(names, i * N_AT_ONCE) for i, names in enumerate(some))
        n = write_lookup(folder, pairs)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"{n:,} entities: {time.process_time() - start:.0f} s of the processor to make")
        print(f"(with the simulation), {most:.0f} MB of memory at most; {size:.0f} MB on disk")
        sys.stdout.flush()
        subprocess.run([sys.executable, "-m", "benchmarks.linking", "--lookup", name], check=True)


if __name__ == "__main__":
    main()
