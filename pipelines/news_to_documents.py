"""News sites, web archives and saved pages to documents: clean, each once, links as mentions.

Examples:
  python -m pipelines.news_to_documents --sites sites.toml --output build/news
  python -m pipelines.news_to_documents --warc 'CC-NEWS-*.warc.gz' --output build/news --lang de da
  python -m pipelines.news_to_documents --html 'pages/*.html.gz' --urls pages/urls.tsv
      --output build/news --previous build/news-october --workers 2
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from corpora.build import Build, Scratch
from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.language_tags import primary_language
from corpora.plan import InputFile, Plan, Stage, Unit
from pipelines.news_inputs import (
    archive_units,
    archives_of,
    check_crawl,
    earlier_units,
    library_versions,
    page_units,
)
from pipelines.options import CommonOptions, option
from pipelines.outcomes import Counts, Filtered, Rows, Written, Yield
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"": "documents"}
READ = {"pages": "pages", "paragraphs": "news_paragraphs", "revisits": "news_revisits"}
CLEANED = {"articles": "pages", "signatures": "news_signatures"}
RANGE_BYTES = 4 << 20
"""Part of an archive that a worker takes at once, as it lies on the disk."""
BATCH_CHARACTERS = 1 << 20
MAX_PAGE_MB = 500
"""The most that ``--max-page-size`` may allow."""


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``news_to_documents`` asks for."""

    input: tuple[str, ...] = ()
    """Not asked for: there are ``sites``, ``warc`` and ``html``."""
    sites: Path | None = option(
        None,
        type=Path,
        metavar="FILE",
        help="sites (TOML, see docs/news.md) that are crawled first, politely",
    )
    archive: Path | None = option(
        None,
        type=Path,
        metavar="DIR",
        help="what the crawl keeps; fetched once, never again (default: OUTPUT-crawl)",
    )
    allow_private: bool = option(
        default=False,
        action="store_true",
        help="crawl addresses of private networks and of this machine, too",
    )
    warc: tuple[str, ...] = option(
        (), nargs="+", action="extend", metavar="PATTERN", help="web archives: WARC or ARC"
    )
    html: tuple[str, ...] = option(
        (), nargs="+", action="extend", metavar="PATTERN", help="saved pages, packed or not"
    )
    urls: Path | None = option(
        None,
        type=Path,
        metavar="FILE",
        help="table (TSV) of saved pages: file, url, date (when it was fetched), more to keep",
    )
    extractor: str = option(
        "trafilatura",
        choices=("trafilatura", "news-please"),
        help="what finds the body of an article (default: trafilatura)",
    )
    lang: tuple[str, ...] = option(
        (), nargs="+", metavar="TAG", help="languages that are kept: de da zh … (default: all)"
    )
    min_characters: int = option(
        200, type=int, metavar="N", help="a shorter article is left out (default: 200)"
    )
    max_non_letters: float = option(
        0.25, type=float, metavar="SHARE", help="of digits and symbols (default: 0.25)"
    )
    max_links: float = option(
        0.5, type=float, metavar="SHARE", help="of text in links; beyond, it is a list (0.5)"
    )
    stub_characters: int = option(
        1_500,
        type=int,
        metavar="N",
        help="a page that says that it is not free is left out if it is shorter (1500; 0: never)",
    )
    boilerplate_pages: int = option(
        5,
        type=int,
        metavar="N",
        help="a paragraph on so many pages of a site is no text (default: 5; 0: never)",
    )
    near_doubles: float = option(
        0.8,
        type=float,
        metavar="JACCARD",
        help="from which on two articles say the same (default: 0.8; above 1: exact ones only)",
    )
    previous: tuple[str, ...] = option(
        (),
        nargs="+",
        action="extend",
        metavar="DIR",
        help="datasets of documents whose articles are not taken again",
    )
    reserved: str = option(
        "drop",
        choices=("drop", "keep"),
        help="pages that reserve text and data mining (tdm-reservation, noai)",
    )
    license: str | None = option(None, metavar="SPDX", help="of pages that do not say")
    max_page_size: float = option(
        10.0, type=float, metavar="MB", help="a larger page is rejected (default: 10)"
    )
    max_seconds: float = option(
        10.0, type=float, metavar="S", help="of the processor for a page (default: 10)"
    )


def plan(options: Options) -> Plan:
    """Crawl, if asked to; find the archives or pages, cut large archives, find earlier datasets."""
    from corpora.news.bounded import check_installed

    _check(options)
    settings = _settings(options) | {"with": check_installed(options.extractor)}
    auxiliary: dict[str, InputFile] = {}
    if options.html:
        units, auxiliary = page_units(options, settings)
    else:
        patterns = archives_of(options)
        units = list(archive_units(patterns, options, settings, range_bytes=RANGE_BYTES))
    plain = tuple(Unit(unit.number, (), {}, settings) for unit in units)
    more = {
        "limit": options.limit,
        "exclude": list(options.exclude),
        "boilerplate_pages": options.boilerplate_pages,
        "near_doubles": options.near_doubles,
        "libraries": library_versions(),
    }
    return Plan(
        pipeline="news_to_documents",
        datasets=DATASETS,
        parameters=settings | more,
        units=plain,
        auxiliary=auxiliary,
        stages=(Stage("read", tuple(units), READ), *_later_stages(plain, options)),
    )


def _later_stages(units: tuple[Unit, ...], options: Options) -> tuple[Stage, ...]:
    """What is done once all pages are read; ``count`` and ``compare`` look at all, alone."""
    earlier = tuple(earlier_units(options.previous))
    shards = tuple(file for unit in earlier for file in unit.inputs)
    minimum = {"min_pages": options.boilerplate_pages}
    threshold = {"near_doubles": options.near_doubles, "n_units": len(units)}
    return (
        Stage("count", (Unit(0, (), {}, minimum),), {"boilerplate": "news_boilerplate"}),
        Stage("clean", units, CLEANED),
        Stage("look_back", earlier, {"previous": "news_signatures"}),
        Stage("compare", (Unit(0, shards, {}, threshold),), {"doubles": "news_doubles"}),
    )


def _check(options: Options) -> None:
    """Raise ``UsageError`` for options that are wrong, or do not fit each other."""
    if [bool(options.sites), bool(options.warc), bool(options.html)].count(True) != 1:
        raise UsageError("say where the pages are: --sites, --warc or --html, one of them.")
    if options.urls and not options.html:
        raise UsageError("--urls is for --html: archives hold the addresses of their pages.")
    check_crawl(options)
    for name in ("max_page_size", "max_seconds", "near_doubles"):
        if not 0 < getattr(options, name) < float("inf"):
            raise UsageError(f"--{name.replace('_', '-')}: must be above 0.")
    for name in ("max_non_letters", "max_links"):
        if not 0 <= getattr(options, name) <= 1:
            raise UsageError(f"--{name.replace('_', '-')}: must be between 0 and 1.")
    for name in ("min_characters", "stub_characters", "boilerplate_pages"):
        if getattr(options, name) < 0:
            raise UsageError(f"--{name.replace('_', '-')}: must be at least 0.")
    if options.lang:
        from corpora.news.filters import check_langs

        check_langs(options.lang)
    if options.max_page_size > MAX_PAGE_MB:
        raise UsageError(f"--max-page-size: at most {MAX_PAGE_MB}.")


def _settings(options: Options) -> dict[str, Any]:
    """What units must know to read."""
    return {
        "extractor": options.extractor,
        "thresholds": {
            "langs": sorted(set(map(primary_language, options.lang))),
            "min_characters": options.min_characters,
            "max_non_letters": options.max_non_letters,
            "max_links": options.max_links,
            "stub_characters": options.stub_characters,
            "keep_reserved": options.reserved == "keep",
        },
        "license": options.license,
        "max_bytes": int(options.max_page_size * 1e6),
        "max_seconds": options.max_seconds,
    }


def read(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Read the pages of a unit: those that are articles become rows."""
    from corpora.news.reading import PageReader

    reader = PageReader.of(unit.settings)
    documents = reader.articles.documents
    for source, page in _pages(unit):
        reason = reader.read(page)
        if isinstance(reason, Rejected):
            yield reason
        else:
            yield Filtered(source, reason) if reason else Written(())
        if documents.n_characters >= BATCH_CHARACTERS:
            yield Rows("pages", documents.batch())
    yield Rows("pages", documents.batch())
    for name, batch in reader.batches().items():
        yield Rows(name, batch)
    yield Counts(reader.articles.counters)


def _pages(unit: Unit) -> Iterator[tuple[str, Any]]:
    """What is found in the files of a unit, or in its part of an archive."""
    from corpora.news.pages import read_pages, read_saved

    max_bytes = unit.settings["max_bytes"]
    part = dict(unit.part)
    for file in unit.inputs:
        path = file.check()
        if part:
            limit = part.pop("limit", None)
            found = read_pages(path, source=file.name, max_bytes=max_bytes, **part)
            yield from ((file.name, page) for page in islice(found, limit))
        else:
            told = unit.settings.get("told", {}).get(file.name, {})
            yield file.name, read_saved(path, source=file.name, max_bytes=max_bytes, told=told)


def count(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Find the paragraphs that are boilerplate; alone, for it looks at all pages."""
    from corpora.news.boilerplate import count_shards

    found = count_shards(scratch.shards("paragraphs"), min_pages=unit.settings["min_pages"])
    yield Rows("boilerplate", found)
    yield Counts({"boilerplate.paragraphs": found.num_rows})


def clean(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Take boilerplate out of the articles of a unit, find sentences, take their signatures."""
    from corpora.news.boilerplate import read_boilerplate
    from corpora.news.rows import RowCleaner
    from corpora.record_errors import read_record
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    minimum = unit.settings["thresholds"]["min_characters"]
    cleaner = RowCleaner(read_boilerplate(scratch.shard("boilerplate", 0)), minimum)
    for batch in read_batches(scratch.shard("pages", unit.number), SCHEMAS["pages"]):
        for row in batch.to_pylist():
            id, source = row["id"], row["source"]
            kept = read_record(partial(cleaner.add, row), source=source, position=f"document {id}")
            if isinstance(kept, Rejected):
                yield Counts(written=-1, rejected=[kept])
            elif kept is None:
                yield from _take_back(source, "short")
        for name, rows in cleaner.batches().items():
            yield Rows(name, rows)
    yield Counts(cleaner.counters)


def _take_back(source: str, reason: str) -> Iterator[Yield]:
    """Filter a record that was taken for written."""
    yield Counts(read=-1, written=-1)
    yield Filtered(source, reason)


def look_back(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Take the signatures of a shard of an earlier dataset."""
    from corpora.news.comparing import signature_shard

    [shard] = unit.inputs
    for batch in signature_shard(shard.check()):
        yield Rows("previous", batch)


def compare(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Find the doubles; alone, for it looks at all articles."""
    from corpora.news.comparing import compare_all

    batch, doubles, revisits = compare_all(
        scratch,
        [file.check() for file in unit.inputs],
        n_units=unit.settings["n_units"],
        threshold=unit.settings["near_doubles"],
    )
    yield Rows("doubles", batch)
    for double in doubles:
        yield from _take_back(double["id"], f"{double['kind']}_double")
    n_found = sum(1 for revisit in revisits if revisit["twin"])
    yield Counts({"revisits.of_an_article": n_found, "revisits.others": len(revisits) - n_found})


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Write the articles of a unit, but for the doubles; these are noted for the side file."""
    from corpora.news.comparing import doubles_of, note_of, without_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    doubles = doubles_of(scratch.shard("doubles", 0), unit.number)
    gone = {double["row"] for double in doubles}
    batches = read_batches(scratch.shard("articles", unit.number), SCHEMAS["pages"])
    for batch in without_rows(batches, gone):
        yield Rows("", batch)
    yield Counts(notes=[note_of(double) for double in doubles if double["twin"]])


def write_side_files(build: Build) -> None:
    """Write the list of doubles and the report."""
    from corpora.news.report import doubles_lines, to_markdown
    from corpora.shards import write_text

    notes = [note for receipt in build.finished for note in receipt.notes]
    write_text(build.side / "doubles.tsv", doubles_lines(notes))
    write_text(build.side / "report.md", [to_markdown(build)])


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    output = options.output
    return [
        f"made  {output} (dataset); {output}/doubles.tsv: what was left out, and its twin",
        f"read  {output}/report.md: what became of every record",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m corpora.shards show {output} --limit 1",
        f"      python -m pipelines.augment_mentions --input {output} --policy gated --forms …",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.news_to_documents", argv)


if __name__ == "__main__":
    sys.exit(main())
