r"""Convert news sites, web archives or saved pages to clean documents without duplicates.

Examples:
  onoma news --sites sites.toml --output build/news
  onoma news --warc 'CC-NEWS-*.warc.gz' --output build/news --lang de da
  onoma news --html 'pages/*.html.gz' --urls pages/urls.tsv \
      --output build/news --previous build/news-october --workers 2
"""

import glob
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import (
    InputFile,
    Plan,
    Stage,
    Unit,
    describe_each,
    find_inputs,
    list_files,
    make_units,
    unit_for_each,
    units_without_input,
)
from corpora.segmentation.language_tags import primary_language
from pipelines import run
from pipelines.graph import PCollection, Phase, Run
from pipelines.options import FileOptions, option, option_table, refuse, said, values_in

if TYPE_CHECKING:
    from corpora.news.filters import Thresholds
    from corpora.runs.build import Build

DATASETS = {"": "documents"}
READ = {"pages": "pages", "paragraphs": "news_paragraphs", "revisits": "news_revisits"}
CLEANED = {"articles": "pages", "signatures": "news_signatures"}
CUT = {"ranges": "news_ranges"}
UNITS = 10_000
"""The number of units that a large input is cut into, unless their ranges would be too large."""
RANGE_BYTES = (4 << 20, 64 << 20)
"""The least and the largest size of the part of an archive that is one unit, in bytes on disk."""


@option_table
class Options(FileOptions):
    """Options of ``onoma news``."""

    input: tuple[str, ...] = ()
    """Not an option of this pipeline, which has ``sites``, ``warc`` and ``html`` instead."""
    max_page_bytes: int = 10_000_000
    """The size of the largest page that is not rejected."""
    sites: Path | None = option(
        "TOML file of sites to crawl first (docs/news.md); one of --sites, --warc and --html is "
        "required",
        metavar="FILE",
    )
    archive: Path | None = option(
        "folder of the crawl's web archives; pages in it are not fetched again (default: "
        "OUTPUT-crawl)"
    )
    warc: tuple[str, ...] = option(
        "web archives to read, WARC or ARC: files, folders or glob patterns in quotes",
        metavar="PATTERN",
    )
    html: tuple[str, ...] = option(
        "saved pages to read, plain or compressed: files, folders or glob patterns in quotes",
        metavar="PATTERN",
    )
    urls: Path | None = option(
        "tab-separated table of the saved pages: file, url, date of fetching, and further columns "
        "for the metadata",
        metavar="FILE",
    )
    extractor: Literal["trafilatura", "news-please"] = option(
        "library that finds the body of an article (default: trafilatura)", "trafilatura"
    )
    lang: tuple[str, ...] = option(
        "languages to keep, such as de da zh; other articles are left out (default: all)",
        nargs="+",
        metavar="TAG",
    )
    min_characters: int = option(
        "leave out articles of fewer than N characters; a Han character counts as three, kana and "
        "Hangul as two (default: 200)",
        200,
        at_least=0,
    )
    boilerplate_pages: int = option(
        "remove paragraphs that stand on N or more pages of a site (default: 5; 0: none)",
        5,
        at_least=0,
    )
    near_duplicates: float = option(
        "leave out articles with at least this Jaccard similarity of word triples to an earlier "
        "one (default: 0.8; above 1: exact duplicates only)",
        0.8,
        above=0,
        below=inf,
        metavar="JACCARD",
    )
    previous: tuple[str, ...] = option(
        "earlier datasets of documents, whose articles are left out", metavar="DIR"
    )
    reserved: Literal["drop", "keep"] = option(
        "keep or drop pages that reserve text and data mining: tdm-reservation, noai (default: "
        "drop)",
        "drop",
    )
    license: str | None = option(
        "SPDX identifier of the licence of pages that name none", metavar="SPDX"
    )

    @property
    def crawled(self) -> Path:
        """The folder of the crawl: ``--archive``, or else ``OUTPUT-crawl``."""
        return self.archive or self.output.with_name(f"{self.output.name}-crawl")

    @property
    def thresholds(self) -> "Thresholds":
        """The options that filter articles."""
        from corpora.news.filters import Thresholds

        return Thresholds(
            langs=tuple(sorted(set(map(primary_language, self.lang)))),
            min_characters=self.min_characters,
            keep_reserved=self.reserved == "keep",
        )


def plan(options: Options) -> Plan:
    """Crawl if requested; list archives or pages; find earlier datasets."""
    from corpora.news.reading import check_installed
    from corpora.runs.dataset_inputs import find_shards

    _check(options)
    extractor = check_installed(options.extractor)
    auxiliary: dict[str, InputFile] = {}
    cut: tuple[Unit, ...] = ()
    if options.html:
        units, auxiliary = _page_units(options)
    else:
        cut, units = _archive_units(archives_of(options), options)
    earlier = options.previous
    shards = tuple(find_shards(earlier, "documents", option="--previous")) if earlier else ()
    plain = units_without_input(len(units))
    thresholds = asdict(options.thresholds)
    return Plan(
        pipeline="news_to_documents",
        datasets=DATASETS,
        parameters={
            "extractor": options.extractor,
            "with": extractor,
            "thresholds": thresholds | {"langs": list(thresholds["langs"])},
            "license": options.license,
            "max_bytes": options.max_page_bytes,
            **values_in(options, "limit", "exclude"),
            **values_in(options, "boilerplate_pages", "near_duplicates"),
            "libraries": {name: version(name) for name in ("lxml", "py3langid", "rensa")},
        },
        units=plain,
        auxiliary=auxiliary,
        stages=(
            *((Stage("cut", cut, CUT),) if cut else ()),
            Stage("read", units, READ),
            # The single units of ``count`` and ``compare`` read what all earlier units wrote.
            Stage("count", (Unit(0),), {"boilerplate": "news_boilerplate"}),
            Stage("clean", plain, CLEANED),
            Stage("look_back", unit_for_each(shards), {"previous": "news_signatures"}),
            Stage("compare", (Unit(0, shards),), {"duplicates": "news_duplicates"}),
        ),
        settings=options.settings(Options),
    )


def _check(options: Options) -> None:
    """Raise ``UsageError`` for options that are wrong, or that contradict each other."""
    if [bool(options.sites), bool(options.warc), bool(options.html)].count(True) != 1:
        raise UsageError("say where the pages are: --sites, --warc or --html, one of them.")
    if options.urls and not options.html:
        raise UsageError("--urls is for --html: archives hold the addresses of their pages.")
    if not options.sites:
        refuse(options, "archive", because="is for --sites")
    archive, output = options.crawled.resolve(), options.output.resolve()
    if archive.is_relative_to(output) or output.is_relative_to(archive):
        raise UsageError(
            f"--archive {options.crawled}: must lie beside --output, neither in the other."
        )
    if options.lang:
        from corpora.news.filters import check_langs

        check_langs(options.lang)


def archives_of(options: Options) -> tuple[str, ...]:
    """Return the patterns of archives to read; with ``--sites``, crawl first.

    If the output was begun and its crawl finished, there is no new crawl: the same command finishes
    what was killed, and does nothing where all is done.
    """
    if not options.sites:
        return options.warc
    from corpora.crawl.session import crawl, read_session
    from corpora.crawl.sites import read_sites

    archive, output = options.crawled, options.output
    sites = read_sites(options.sites)
    is_begun = (output / "run.json").exists() or any((output / ".build").glob("*/plan.json"))
    if is_begun and read_session(archive).get("finished"):
        _say(f"{output} was begun: no new crawl. For one, name another --output.")
    else:
        report = crawl(sites, archive, say=_say)
        for line in report.lines():
            _say(line)
        if len(report.without_pages) == len(report.tallies):
            raise CorpusError(
                f"{options.sites}: no site gave a page; {archive}/crawl-{report.session}.report.md "
                "says why. Is there a network? Are the addresses right?"
            )
    return (str(Path(glob.escape(str(archive))) / "crawl-*.warc.gz"),)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _archive_units(
    patterns: Sequence[str], options: Options
) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Plan the ranges of archives by their sizes; return the units that cut, and that read.

    A range has the records that begin in it: where, the stage ``cut`` finds out for archives of
    several ranges.
    """
    files = list_files(find_inputs(patterns, exclude=options.exclude, option="warc"))
    range_bytes = sum(file.size for file in files) // UNITS
    range_bytes = min(max(range_bytes, RANGE_BYTES[0]), RANGE_BYTES[1])
    cut: list[Unit] = []
    units: list[Unit] = []
    for file in files:
        n_ranges = max(1, -(-file.size // range_bytes))
        for number in range(n_ranges):
            part = {"cut": len(cut), "range": number} if n_ranges > 1 else {}
            units.append(Unit(len(units), (file,), part=part))
        if n_ranges > 1:
            cut.append(Unit(len(cut), (file,), part={"range_bytes": range_bytes}))
    if options.limit is not None:
        units = list(_limited(units, options.limit, range_bytes=range_bytes))
    return tuple(cut), tuple(units)


def _limited(units: Iterable[Unit], limit: int, *, range_bytes: int) -> Iterator[Unit]:
    """Yield the units of the first ``limit`` records, which are counted here."""
    from corpora.warc.archives import ranges_of

    counts: Iterator[int] = iter(())
    for unit in units:
        if not unit.part.get("range"):
            counts = (n for _, _, n in ranges_of(unit.inputs[0].check(), range_bytes=range_bytes))
        n_records = min(limit, next(counts, 0))
        limit -= n_records
        yield replace(unit, part={**unit.part, "limit": n_records})
        if not limit:
            return


def _page_units(options: Options) -> tuple[tuple[Unit, ...], dict[str, InputFile]]:
    """Pack saved pages into units, each with its rows of the table."""
    from corpora.news.url_table import read_url_table

    found = find_inputs(options.html, exclude=options.exclude, option="html")
    files = list_files(found)[: options.limit]
    rows = read_url_table(options.urls, [file.name for file in files]) if options.urls else {}
    return make_units(files, settings=rows), describe_each({"urls": options.urls})


def count(units: PCollection, options: Options, run: Run) -> PCollection:
    """Find the paragraphs that are boilerplate."""
    from pipelines.transforms.common_keys import find_boilerplate

    found: PCollection = find_boilerplate(units, work=run.work, min_pages=options.boilerplate_pages)
    return found | run.write_shards("count")


def compare(units: PCollection, options: Options, run: Run) -> PCollection:
    """Find exact and near duplicates among the articles."""
    from pipelines.transforms.common_keys import find_duplicates

    found: PCollection = find_duplicates(units, work=run.work, threshold=options.near_duplicates)
    return found | run.write_shards("compare")


def phases() -> tuple[Phase, ...]:
    """List the functions and the graphs of the units of each stage."""
    from pipelines.transforms import news

    return (
        Phase.of_units(news.cut_archives, "cut"),
        Phase.of_units(news.read_articles, "read"),
        Phase(count, "count"),
        Phase.of_units(news.clean_articles, "clean"),
        Phase.of_units(news.sign_earlier, "look_back"),
        Phase(compare, "compare"),
        Phase.of_units(news.publish_articles),
    )


def write_side_files(build: "Build", options: Options) -> None:
    """Write the list of duplicates and the report."""
    from corpora.news.reading import check_installed
    from corpora.news.report import duplicates_lines, to_markdown

    notes = build.notes
    build.write("duplicates.tsv", duplicates_lines(notes))
    report = to_markdown(
        build,
        options.thresholds,
        extractor=check_installed(options.extractor),
        boilerplate_pages=options.boilerplate_pages,
        near_duplicates=options.near_duplicates,
    )
    build.write("report.md", [report])


next_steps = said("""\
made  {output} (dataset); {output}/duplicates.tsv: what was left out, and why
read  {output}/report.md: what became of every record
next  onoma verify {output}
      onoma show {output} --limit 1
      onoma augment --input {output} --policy gated --forms …
""")


main = partial(run.main, "pipelines.news_to_documents", "news")


if __name__ == "__main__":
    sys.exit(main())
