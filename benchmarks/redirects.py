"""Measure time, memory and disk space of a table of redirects.

    python -m benchmarks.redirects --n 10000000

Makes synthetic redirects (titles of two to four words; chains, loops and duplicates among them),
builds the table in a process of its own, and resolves titles in two others at the same time: in
fifty units of work, for each of which the table is opened, and then all their titles at once.
Memory is the peak RSS of each process. Mapped pages are shared, so that all processes together take
less than the sum; PSS, which some systems have, counts only the share of each process.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.redirect_table import RedirectTable, build_table

ROWS = 20_000  # rows of a batch, as many as a unit may have
SYLLABLES = (
    "ber lin en ham burg von der mühl jen a stadt ø bing st er 三 国 in ton ве ли кий é mar ia hof "
    "gra ben sch wei ler la pe ri co nia dor ves ter gade lund ki ro sa mo ne us ding"
)


def words(n_words: int, generator: np.random.Generator) -> pa.Array:
    """Make words of two to four syllables, with a capital."""
    syllables = np.array(SYLLABLES.split())
    lengths = generator.integers(2, 5, n_words)
    return pa.array(["".join(generator.choice(syllables, n)).capitalize() for n in lengths])


def titles(n_titles: int, vocabulary: pa.Array, generator: np.random.Generator) -> pa.Array:
    """Make titles of two to four words."""
    picks = generator.integers(0, len(vocabulary), (4, n_titles))
    columns = [vocabulary.take(pa.array(pick)) for pick in picks]
    n_words = generator.choice([2, 3, 4], n_titles, p=[0.6, 0.3, 0.1])
    joined = [pc.binary_join_element_wise(*columns[:n], " ") for n in (2, 3, 4)]
    return pc.choose(pa.array(n_words - 2), *joined)


def make(n_redirects: int, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """Yield batches of redirects, of which one in fifty leads to a redirect of the same batch.

    One in a thousand is on a loop of two.
    """
    generator = np.random.default_rng(seed)
    vocabulary = words(30_000, generator)
    for start in range(0, n_redirects, ROWS):
        n_rows = min(ROWS, n_redirects - start)
        title = titles(n_rows, vocabulary, generator)
        target = titles(n_rows, vocabulary, generator)
        other = generator.integers(0, n_rows, n_rows)
        is_redirect = generator.random(n_rows) < 0.02
        n_loops = n_rows // 2000 * 2
        other[:n_loops] = np.arange(n_loops) ^ 1
        is_redirect[:n_loops] = True
        target = pc.if_else(pa.array(is_redirect), title.take(pa.array(other)), target)
        yield pa.record_batch([title, target], ["title", "target"])


def timed(batches: Iterator[pa.RecordBatch], spent: list[float]) -> Iterator[pa.RecordBatch]:
    """Note how long it takes to make the batches."""
    while True:
        begin = time.perf_counter()
        batch = next(batches, None)
        spent[0] += time.perf_counter() - begin
        if batch is None:
            return
        yield batch


def peak() -> float:
    """Return the peak memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def proportional() -> float:
    """Return the PSS of this process, in MB: shared pages are divided by those who share them."""
    file = Path("/proc/self/smaps_rollup")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("Pss:")), 0.0)


def build(folder: Path, n_redirects: int) -> None:
    """Build a table, and print its summary, seconds and memory."""
    spent, before = [0.0], peak()
    begin = time.perf_counter()
    summary = build_table(folder, timed(make(n_redirects), spent))
    seconds = time.perf_counter() - begin - spent[0]
    print(replace(summary, loops=summary.loops[:2]))
    print(
        f"build: {seconds:.1f} s, and {spent[0]:.1f} s to make the redirects; peak {peak():.0f} MB "
        f"({before:.0f} MB before), {(peak() - before) * 1e6 / n_redirects:.0f} bytes per redirect"
    )
    n_bytes = summary.bytes_on_disk
    print(f"disk: {n_bytes / 1e6:.0f} MB, {n_bytes / n_redirects:.1f} bytes per redirect")


def units(n_units: int, n_redirects: int) -> Iterator[pa.StringArray]:
    """Yield the titles of units of work, distinct in each, a tenth of them redirects."""
    generator = np.random.default_rng(2)
    vocabulary = words(60_000, generator)
    for batch in islice(make(n_redirects), n_units):
        others = titles(ROWS - ROWS // 10, vocabulary, generator)
        yield pc.unique(pa.concat_arrays([batch["title"].slice(0, ROWS // 10), others]))


def resolve(folder: Path, n_redirects: int, together: Barrier) -> None:
    """Resolve unit by unit, then all at once, and print."""
    before, seconds, wanted = peak(), 0.0, []
    together.wait()
    for unit in units(50, n_redirects):
        begin = time.perf_counter()
        RedirectTable(folder).resolve(unit)
        seconds += time.perf_counter() - begin
        wanted.append(unit)
    show(f"resolve {len(wanted)} units", sum(map(len, wanted)), seconds=seconds, before=before)
    whole = pc.unique(pa.concat_arrays(wanted))
    before = peak()
    together.wait()
    begin = time.perf_counter()
    table = RedirectTable(folder)
    resolved = table.resolve(whole)
    seconds = time.perf_counter() - begin
    n_changed = pc.sum(pc.not_equal(whole, resolved)).as_py()
    together.wait()  # so that PSS is measured while both processes hold the table
    what = f"resolve at once ({n_changed} changed)"
    show(what, len(whole), seconds=seconds, before=before)
    together.wait()


def show(what: str, n_titles: int, *, seconds: float, before: float) -> None:
    """Print a line in one piece; others print too."""
    sys.stdout.write(
        f"{what}: {n_titles} titles in {seconds:.2f} s; peak {peak():.0f} MB "
        f"({before:.0f} MB before), now PSS {proportional():.0f} MB\n"
    )
    sys.stdout.flush()


def run(processes: list[SpawnProcess]) -> None:
    """Run processes at the same time."""
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            sys.exit("A process failed.")


def main() -> None:
    """Build and resolve, each in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--n", type=int, default=10_000_000, help="redirects")
    arguments = parser.parse_args()
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder, together = Path(name) / "table", context.Barrier(2)
        run([context.Process(target=build, args=(folder, arguments.n))])
        resolving = (folder, arguments.n, together)
        run([context.Process(target=resolve, args=resolving) for _ in range(2)])


if __name__ == "__main__":
    main()
