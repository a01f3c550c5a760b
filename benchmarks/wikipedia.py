"""Compare time and memory from a dump to documents with those of wikiextractor's command.

    python -m benchmarks.wikipedia enwiki-2014-first-pages.xml.bz2 --size 200 --repeats 3

Repeats the pages of a dump, with new ids and titles, to SIZE MB of XML in a bz2 multistream (100
pages a stream), as the dumps of Wikipedia are. Then runs, in turn, in this run:

    onoma wikipedia --workers 2
    python -m wikiextractor.WikiExtractor --links --json --processes 2
    python -m wikiextractor.WikiExtractor --links --json --processes 2 --no-templates

The first resolves redirects, matches titles, cuts sentences, renders templates and keeps accounts.
The second reads the dump twice, to expand templates; the third drops them. MB count XML.
Memory is that of all processes of a run together, every 0.2 seconds, at its highest: PSS (shared
pages divided by those who share them), and RSS (shared pages counted by each). A dump of a quarter
of the size shows whether memory depends on the length.
"""

import argparse
import bz2
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.inputs import existing
from benchmarks.resources import Run, measure

PAGE = re.compile(rb"[ \t]*<page>.*?</page>\n?", re.DOTALL)
HEAD = re.compile(rb"(<title>)([^<]*)(</title>.*?<id>)\d+(</id>)", re.DOTALL)
PAGES_IN_STREAM = 100


# --- the dump


def make_dump(source: Path, target: Path, size: float) -> float:
    """Write a multistream of at least ``size`` MB of XML; returns how many MB it is."""
    xml = bz2.decompress(source.read_bytes())
    pages = PAGE.findall(xml)
    if not pages:
        sys.exit(f"{source}: no pages in it; it must be a dump in bz2.")
    n_bytes = 0
    with target.open("wb") as file:
        for part in streams(xml[: xml.index(pages[0])], pages, n_bytes=int(size * 1e6)):
            n_bytes += len(part)
            file.write(bz2.compress(part))
    return n_bytes / 1e6


def streams(head: bytes, pages: list[bytes], *, n_bytes: int) -> Iterator[bytes]:
    """Yield the XML of each stream: the head, pages by the hundred, the end."""
    yield head
    n_bytes -= len(head)
    for some in in_hundreds(renumbered(pages)):
        yield (part := b"".join(some))
        n_bytes -= len(part)
        if n_bytes <= 0:
            break
    yield b"</mediawiki>\n"


def in_hundreds(pages: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the pages, those of a stream at a time; a last incomplete hundred is dropped."""
    some: list[bytes] = []
    for page in pages:
        some.append(page)
        if len(some) == PAGES_IN_STREAM:
            yield some
            some = []


def renumbered(pages: list[bytes]) -> Iterator[bytes]:
    """Yield the pages again and again, each with a new id; copies have other titles, too."""
    ids = count(1)
    for copy in count(1):
        suffix = b"" if copy == 1 else b" (copy %d)" % copy
        for page in pages:
            yield HEAD.sub(rb"\g<1>\g<2>%s\g<3>%d\g<4>" % (suffix, next(ids)), page, count=1)


# --- runs


def onoma(dump: Path, output: Path) -> list[str]:
    """Return the command line of our job."""
    command = [sys.executable, "-m", "pipelines.wikipedia_to_documents", "--input", str(dump)]
    return [*command, "--output", str(output), "--workers", "2"]


def wikiextractor(dump: Path, output: Path) -> list[str]:
    """Return the command line of wikiextractor."""
    command = [sys.executable, "-W", "ignore", "-m", "wikiextractor.WikiExtractor", str(dump)]
    options = ["--links", "--json", "--processes", "2", "--quiet"]
    return [*command, "--output", str(output), *options]


def without_templates(dump: Path, output: Path) -> list[str]:
    """Return the command line of wikiextractor that drops templates."""
    return [*wikiextractor(dump, output), "--no-templates"]


COMMANDS = {
    "onoma": onoma,
    "wikiextractor": wikiextractor,
    "wikiextractor --no-templates": without_templates,
}


def compare(dump: Path, megabytes: float, repeats: int) -> None:
    """Run all in turn, and print the medians."""
    runs: dict[str, list[Run]] = {name: [] for name in COMMANDS}
    output = dump.parent / "output"
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            runs[name].append(measure(command(dump, output)))
            shutil.rmtree(output)
    medians = {name: statistics.median(run.seconds for run in all_) for name, all_ in runs.items()}
    print(f"\n{megabytes:.0f} MB of XML, {dump.stat().st_size / 1e6:.1f} MB of bz2:\n")
    print("| command | seconds | MB/s | peak PSS, MB | peak RSS, MB | onoma is faster |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, all_ in runs.items():
        seconds = f"{medians[name]:.1f} ({min(r.seconds for r in all_):.1f}–"
        seconds += f"{max(r.seconds for r in all_):.1f})"
        peaks = f"{max(r.pss for r in all_):.0f} | {max(r.rss for r in all_):.0f}"
        ratio = medians[name] / medians["onoma"]
        speed = megabytes / medians[name]
        print(f"| {name} | {seconds} | {speed:.2f} | {peaks} | {ratio:.2f} × |")


def main() -> None:
    """Make dumps of two sizes, and compare all commands on each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("dump", type=existing, help="a dump in bz2 whose pages are repeated")
    parser.add_argument("--size", type=float, default=200, metavar="MB", help="of XML")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--scratch", type=Path, help="where the dumps are made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        temporary = Path(name)
        for size in (arguments.size / 4, arguments.size):
            dump = temporary / "enwiki-repeated-pages-articles-multistream.xml.bz2"
            megabytes = make_dump(arguments.dump, dump, size)
            compare(dump, megabytes, arguments.repeats if size == arguments.size else 1)


if __name__ == "__main__":
    main()
