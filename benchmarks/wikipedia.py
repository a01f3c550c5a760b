"""The whole job from a dump to documents, beside wikiextractor's command; and where the time goes.

    python benchmarks/wikipedia.py enwiki-2014-first-pages.xml.bz2 --size 200 --repeats 3

Repeats the pages of a dump, with new ids and titles, to SIZE MB of XML in a bz2 multistream (100
pages a stream), as the dumps of Wikipedia are. Then runs, in turn, in this run:

    python -m pipelines.wikipedia_to_documents --workers 2
    python -m wikiextractor.WikiExtractor --links --json --processes 2
    python -m wikiextractor.WikiExtractor --links --json --processes 2 --no-templates

The first resolves redirects, matches titles, cuts sentences, renders templates and keeps accounts.
The second reads the dump twice, to expand templates; the third drops them. MB count XML.
Memory is that of all processes of a run together, every 0.2 seconds, at its highest: PSS (shared
pages divided by those who share them), and RSS (shared pages counted by each). A dump of a quarter
of the size shows whether memory depends on the length. The parts are timed in one process, without
Beam, one after the other, on the first megabytes.
"""

import argparse
import bz2
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.resources import Run, measure
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.segmentation.sentences import segmenter
from corpora.wikipedia.articles import ArticleReader
from corpora.wikipedia.bzip2 import Bzip2File
from corpora.wikipedia.chunks import Chunk
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.ledger import Ledger
from corpora.wikipedia.pages import Page
from corpora.wikipedia.redirects import RedirectTable, build_table
from corpora.wikipedia.resolution import Augmentation, Resolver
from corpora.wikipedia.siteinfo import SiteInfo
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract

PAGE = re.compile(rb"[ \t]*<page>.*?</page>\n?", re.DOTALL)
HEAD = re.compile(rb"(<title>)([^<]*)(</title>.*?<id>)\d+(</id>)", re.DOTALL)
PAGES_IN_STREAM = 100
PART_BYTES = 20 << 20  # of XML, to time the parts


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
    """The XML of each stream: the head, pages by the hundred, the end."""
    yield head
    n_bytes -= len(head)
    for some in in_hundreds(renumbered(pages)):
        yield (part := b"".join(some))
        n_bytes -= len(part)
        if n_bytes <= 0:
            break
    yield b"</mediawiki>\n"


def in_hundreds(pages: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Pages, a stream's at a time."""
    some: list[bytes] = []
    for page in pages:
        some.append(page)
        if len(some) == PAGES_IN_STREAM:
            yield some
            some = []


def renumbered(pages: list[bytes]) -> Iterator[bytes]:
    """The pages again and again, with ids of their own; from the second time on, titles too."""
    ids = count(1)
    for copy in count(1):
        suffix = b"" if copy == 1 else b" (copy %d)" % copy
        for page in pages:
            yield HEAD.sub(rb"\g<1>\g<2>%s\g<3>%d\g<4>" % (suffix, next(ids)), page, count=1)


# --- runs


def onoma(dump: Path, output: Path) -> list[str]:
    """The command line of our job."""
    command = [sys.executable, "-m", "pipelines.wikipedia_to_documents", "--input", str(dump)]
    return [*command, "--output", str(output), "--workers", "2"]


def wikiextractor(dump: Path, output: Path) -> list[str]:
    """The command line of the other."""
    command = [sys.executable, "-W", "ignore", "-m", "wikiextractor.WikiExtractor", str(dump)]
    options = ["--links", "--json", "--processes", "2", "--quiet"]
    return [*command, "--output", str(output), *options]


def without_templates(dump: Path, output: Path) -> list[str]:
    """The same, with less to do."""
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


# --- parts


class Stopwatch:
    """Seconds by part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        """Do something, and add what it took to a part."""
        begin = time.perf_counter()
        result = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        return result


ORDER = (
    "decompress", "XML", "wikitext", "sentences", "ledger", "columns, redirects found",
    "redirect table", "redirects resolved", "matching", "writing, twice",
)  # fmt: skip


def show_parts(dump: Path, scratch: Path) -> None:
    """Print where the time goes, in one process without Beam, on the first megabytes."""
    watch_ = Stopwatch()
    found = examine(dump, range_bytes=PART_BYTES, scratch=scratch)
    range_, file = found.ranges[0], Bzip2File(dump)
    n_bytes = 0
    for _ in range(2):  # the first time it loads, too
        watch_.seconds.clear()
        chunks = watch_.time("decompress", lambda: own(file.chunks(range_.start, range_.end)))
        n_bytes = sum(len(c.data) for c in chunks if isinstance(c, Chunk) and c.own)
        del chunks
    read = partial(read_pages, dump, range_, source=dump.name, max_page_bytes=50_000_000)
    pages = watch_.time("XML", lambda: list(read()))
    watch_.seconds["XML"] -= watch_.seconds["decompress"]
    batches, reader = read_parts([p for p in pages if isinstance(p, Page)], found.site, watch_)
    resolve_parts(batches, reader, watch_=watch_, scratch=scratch)
    megabytes, total = n_bytes / 1e6, sum(watch_.seconds.values())
    print(f"\nWhere the time goes ({megabytes:.0f} MB of XML, one process):\n")
    print("| part | ms per MB | share |\n| --- | ---: | ---: |")
    for name in ORDER:
        seconds = watch_.seconds[name]
        print(f"| {name} | {1e3 * seconds / megabytes:.1f} | {100 * seconds / total:.0f} % |")
    print(f"| all | {1e3 * total / megabytes:.1f} | {megabytes / total:.2f} MB/s a core |")


def own(items: Iterable[Any]) -> list[Any]:
    """The chunks of a range, and the one after them, in which its last page ends."""
    chunks = []
    for item in items:
        chunks.append(item)
        if not item.own:
            break
    return chunks


def read_parts(
    pages: list[Page], site: SiteInfo, watch_: Stopwatch
) -> tuple[list[pa.RecordBatch], ArticleReader]:
    """Time what is done with each page; returns the documents, and who read them."""
    wiki = wiki_of(name=site.wiki, lang=site.lang, namespaces=site.namespaces)
    reader = ArticleReader(wiki, load_templates(site.lang), license=None)
    for page in pages[:50]:  # what is loaded and compiled once
        reader.read(page, source="")
    reader = ArticleReader(wiki, reader.templates, license=None)
    batches, articles = [], []
    begin = time.perf_counter()
    for page in pages:
        if not reader.read(page, source=""):
            articles.append(page)
        if reader.documents.n_characters >= 1 << 20:
            batches.append(reader.documents.batch())
    batches.append(reader.documents.batch())
    watch_.seconds["columns, redirects found"] = time.perf_counter() - begin
    wiki = wiki_of(name=site.wiki, lang=site.lang, namespaces=site.namespaces)
    read_again(articles, replace(reader, wiki=wiki), watch_)
    for name in ("wikitext", "sentences", "ledger"):
        watch_.seconds["columns, redirects found"] -= watch_.seconds[name]
    return batches, reader


def read_again(articles: list[Page], reader: ArticleReader, watch_: Stopwatch) -> None:
    """Time the parts of reading an article alone."""
    split, ledger = segmenter(reader.wiki.lang).split, Ledger()
    for page in articles:
        text = watch_.time(
            "wikitext",
            partial(
                extract,
                page.text,
                reader.wiki,
                reader.templates,
                title=page.title,
                today=page.timestamp[:10],
            ),
        )
        blocks = [(start, end) for start, end, _ in text.blocks]
        links = sorted((start, end) for start, end, _, _ in text.links)
        cut = partial(split, text.text, blocks, unbroken=links)
        watch_.time("sentences", lambda cut=cut: list(cut()))
        watch_.time("ledger", partial(ledger.add, page.text, text))


def resolve_parts(
    batches: list[pa.RecordBatch], reader: ArticleReader, *, watch_: Stopwatch, scratch: Path
) -> None:
    """Time what is done once all redirects are known."""

    columns = [[r.title for r in reader.redirects], [r.target for r in reader.redirects]]
    redirects = pa.record_batch([pa.array(c, pa.string()) for c in columns], ["title", "target"])
    watch_.time("redirect table", lambda: build_table(scratch / "table", [redirects]))
    table = RedirectTable(scratch / "table")
    plain = Resolver(reader.wiki.name, table, None)
    watch_.time("redirects resolved", lambda: [plain.resolve(batch) for batch in batches])
    matcher = Resolver(reader.wiki.name, table, Augmentation(lang=reader.wiki.lang))
    done = watch_.time("matching", lambda: [matcher.resolve(batch) for batch in batches])
    watch_.seconds["matching"] -= watch_.seconds["redirects resolved"]
    for name, some in (("pages", batches), ("documents", done)):
        with ShardWriter(scratch / f"{name}.arrow", SCHEMAS[name]) as writer:
            watch_.time("writing, twice", lambda w=writer, s=some: [w.write_batch(b) for b in s])


def main() -> None:
    """Make the dumps; measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("dump", type=Path, help="a dump in bz2 whose pages are repeated")
    parser.add_argument("--size", type=float, default=200, metavar="MB", help="of XML")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--scratch", type=Path, help="where the dumps are made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        scratch = Path(name)
        for size in (arguments.size / 4, arguments.size):
            dump = scratch / "enwiki-repeated-pages-articles-multistream.xml.bz2"
            megabytes = make_dump(arguments.dump, dump, size)
            compare(dump, megabytes, arguments.repeats if size == arguments.size else 1)
        show_parts(dump, scratch)


if __name__ == "__main__":
    main()
