"""Compare a refresh with --reuse, a full rebuild, and reading and decompressing alone.

    python -m benchmarks.refresh ltgwiki-latest-pages-articles.xml.bz2 --size 400 --changed 0.02

Repeats the pages of a dump, with new ids and titles, to SIZE MB of XML in a bz2 multistream (100
pages a stream), and makes the dump of the next month: of all pages a fraction is edited (eight in
ten), deleted (one) or new (one). Documents are made of the first. Then runs, in turn:

    read       decompress the second dump, and read the XML of its pages; nothing else
    refresh    python -m pipelines.wikipedia_to_documents --reuse, of the second dump
    rebuild    the same without --reuse

Each is a command of its own, with the same number of processes; the rebuild is done once. The last
two must make the same files. Seconds are medians, with the lowest and the highest; so are ratios.
A ratio is to the reading just before it, because a machine may be slower for some minutes.
Processor seconds are those of all processes of a run together.
"""

import argparse
import bz2
import hashlib
import multiprocessing
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.inputs import existing
from benchmarks.resources import Run, measure
from benchmarks.wikipedia import PAGE, in_hundreds, renumbered
from corpora.wikipedia.dump import Range, examine, read_pages

RANGE_BYTES = 8 << 20  # of XML, as the pipeline cuts dumps of this size
MAX_PAGE_BYTES = 50_000_000
ID = re.compile(rb"<id>(\d+)</id>")
REVISION = re.compile(rb"(<revision>\s*<id>)(\d+)(</id>)")
END = re.compile(rb"</text>")
NEW = b" Neu ist dieser Satz, und ein [[Berlin|Verweis]] steht darin.</text>"
NAMES = ("wiki-20261001-pages-articles.xml.bz2", "wiki-20261101-pages-articles.xml.bz2")


# --- the dumps


def make_dumps(source: Path, folder: Path, *, megabytes: float, changed: float) -> float:
    """Write the dumps of two months; returns the MB of XML of the second."""
    xml = bz2.decompress(source.read_bytes())
    pages = PAGE.findall(xml)
    if not pages:
        sys.exit(f"{source}: no pages in it; it must be a dump in bz2.")
    head = xml[: xml.index(pages[0])]
    before = list(take(renumbered(pages), int(megabytes * 1e6)))
    write(folder / NAMES[0], head, before)
    after = list(next_month(before, changed, random.Random(20261101)))
    write(folder / NAMES[1], head, after)
    return sum(map(len, after)) / 1e6


def take(pages: Iterator[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield pages until they have ``n_bytes`` or more."""
    for page in pages:
        yield page
        n_bytes -= len(page)
        if n_bytes <= 0:
            return


def next_month(pages: list[bytes], changed: float, rng: random.Random) -> Iterator[bytes]:
    """Yield the pages of the next month: some are edited or gone; new ones are at the end."""
    new = []
    for page in pages:
        if rng.random() >= changed:
            yield page
            continue
        what = rng.randrange(10)
        if what == 0:
            continue
        if what == 1:
            new.append(page)
            yield page
        else:
            yield REVISION.sub(lambda m: m[1] + b"9" + m[2] + m[3], END.sub(NEW, page), count=1)
    for number, page in enumerate(new):
        renamed = page.replace(b"</title>", b" (new)</title>", 1)
        yield ID.sub(b"<id>%d</id>" % (10**8 + number), renamed, count=1)


def write(file: Path, head: bytes, pages: list[bytes]) -> None:
    """Write a multistream."""
    with file.open("wb") as dump:
        dump.write(bz2.compress(head))
        for some in in_hundreds(pages):
            dump.write(bz2.compress(b"".join(some)))
        dump.write(bz2.compress(b"</mediawiki>\n"))


# --- measurements


def read_alone(dump: Path, workers: int) -> int:
    """Decompress a dump, and read its pages, by so many processes; returns how many pages."""
    ranges = examine(dump, range_bytes=RANGE_BYTES, work_directory=dump.parent).ranges
    if workers == 1:
        return sum(map(count_pages, ((dump, range_) for range_ in ranges)))
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        work = [(dump, range_) for range_ in ranges]
        return sum(pool.imap_unordered(count_pages, work))


def count_pages(work: tuple[Path, Range]) -> int:
    """Read the pages of a range, and drop them."""
    dump, range_ = work
    pages = read_pages(dump, range_, source=dump.name, max_page_bytes=MAX_PAGE_BYTES)
    return sum(1 for _ in pages)


def pipeline(dump: Path, output: Path, workers: int) -> list[str]:
    """Return the command line that makes documents."""
    command = [sys.executable, "-m", "pipelines.wikipedia_to_documents", "--input", str(dump)]
    return [*command, "--output", str(output), "--workers", str(workers), "--wiki", "repeatedwiki"]


def hashes(output: Path) -> dict[str, str]:
    """Hash every published file but ``run.json``, which says what was taken over."""
    return {
        path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*"))
        if path.is_file() and ".build" not in path.parts and path.name not in {".lock", "run.json"}
    }


def compare(folder: Path, workers: int, repeats: int) -> dict[str, list[Run]]:
    """Run reading and refresh in turn, and the rebuild once; return the runs by name."""
    before, after = (folder / name for name in NAMES)
    earlier = folder / "earlier"
    measure(pipeline(before, earlier, workers))
    commands = {
        "read": [
            sys.executable,
            "-m",
            "benchmarks.refresh",
            str(after),
            "--only-read",
            "--workers",
            str(workers),
        ],
        "refresh": [*pipeline(after, folder / "refresh", workers), "--reuse", str(earlier)],
        "rebuild": pipeline(after, folder / "rebuild", workers),
    }
    costs: dict[str, list[Run]] = {name: [] for name in commands}
    for round_ in range(repeats):
        for name in commands if round_ == 0 else ("read", "refresh"):
            shutil.rmtree(folder / name, ignore_errors=True)
            costs[name].append(measure(commands[name]))
        if hashes(folder / "refresh") != hashes(folder / "rebuild"):
            sys.exit("DIFFERENT BYTES")
    return costs


def show(costs: dict[str, list[Run]], megabytes: float) -> None:
    """Print the medians."""
    print("| run | seconds | × read | processor s | × read | MB/s | peak PSS, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    seconds = {name: [run.seconds for run in all_] for name, all_ in costs.items()}
    busy = {name: [run.processor for run in all_] for name, all_ in costs.items()}
    for name, all_ in costs.items():
        wall = statistics.median(seconds[name])
        print(
            f"| {name} | {spread(seconds[name], '.1f')} | {beside(seconds[name], seconds['read'])} "
            f"| {statistics.median(busy[name]):.1f} | {beside(busy[name], busy['read'])} "
            f"| {megabytes / wall:.1f} | {max(run.pss for run in all_):.0f} |"
        )


def spread(values: list[float], form: str) -> str:
    """Show the median, and in brackets the lowest and the highest."""
    low, high = min(values), max(values)
    return f"{statistics.median(values):{form}} ({low:{form}}–{high:{form}})"


def beside(values: list[float], read: list[float]) -> str:
    """Show how many times as much something took as the reading of the same round."""
    return spread([value / of for value, of in zip(values, read, strict=False)], ".2f")


def main() -> None:
    """Make the dumps, and measure reading, refresh and rebuild."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("dump", type=existing, help="a dump in bz2 whose pages are repeated")
    parser.add_argument("--size", type=float, default=400, metavar="MB", help="of XML")
    parser.add_argument("--changed", type=float, default=0.02, metavar="RATIO", help="of the pages")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--scratch", type=Path, help="where the dumps are made")
    parser.add_argument("--only-read", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only_read:
        read_alone(arguments.dump, arguments.workers)
        return
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        folder = Path(name)
        begin = time.perf_counter()
        megabytes = make_dumps(
            arguments.dump, folder, megabytes=arguments.size, changed=arguments.changed
        )
        sizes = ", ".join(f"{(folder / file).stat().st_size / 1e6:.1f} MB" for file in NAMES)
        print(f"{megabytes:.0f} MB of XML in {sizes} ({time.perf_counter() - begin:.0f} s)\n")
        show(compare(folder, arguments.workers, arguments.repeats), megabytes)


if __name__ == "__main__":
    main()
