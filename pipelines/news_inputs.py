"""What goes into ``news_to_documents``: archives, maybe crawled first, saved pages, old datasets.

What a crawl fetched lies in its archive, beside the output; everything after it reads archives.
"""

import glob
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import (
    InputFile,
    Unit,
    describe_file,
    describe_files,
    find_inputs,
    make_units,
)

if TYPE_CHECKING:
    from pipelines.news_to_documents import Options


def archives_of(options: "Options") -> tuple[str, ...]:
    """The patterns of archives to read; with ``--sites`` these are crawled first.

    An output that was begun is made of what its archive has, without another crawl: the same
    command ends what was killed, and does nothing where all is done.
    """
    if not options.sites:
        return options.warc
    from corpora.crawl.session import crawl, read_session
    from corpora.crawl.sites import read_sites

    archive = archive_folder(options)
    sites = read_sites(options.sites, allow_private=options.allow_private)
    if _is_begun(options.output) and read_session(archive).get("finished"):
        _say(f"{options.output} was begun: no new crawl. For one, name another --output.")
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


def archive_folder(options: "Options") -> Path:
    """Where the crawl is kept: beside the output unless ``--archive`` says where."""
    output = options.output
    return options.archive or output.with_name(f"{output.name}-crawl")


def check_crawl(options: "Options") -> None:
    """Raise ``UsageError`` for options of a crawl that do not fit."""
    if not options.sites:
        if options.archive or options.allow_private:
            raise UsageError("--archive and --allow-private are for --sites.")
        return
    archive, output = archive_folder(options).resolve(), options.output.resolve()
    if archive.is_relative_to(output) or output.is_relative_to(archive):
        raise UsageError(f"--archive {archive}: must lie beside --output, neither in the other.")


def _is_begun(output: Path) -> bool:
    return (output / "run.json").exists() or any((output / ".build").glob("*/plan.json"))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _find(patterns: Sequence[str], option: str, exclude: Sequence[str]) -> list[InputFile]:
    try:
        found = find_inputs(patterns, exclude=exclude)
    except UsageError as error:
        raise UsageError(str(error).replace("--input", option)) from error
    return describe_files(found)


def archive_units(
    patterns: Sequence[str], options: "Options", *, range_bytes: int
) -> Iterator[Unit]:
    """Cut archives into ranges; ``--limit`` counts records."""
    from corpora.warc.archives import cut

    number, left = 0, options.limit
    for file in _find(patterns, "--warc", options.exclude):
        for start, end, n_records in cut(file.check(), range_bytes=range_bytes):
            part = {"start": start, "end": end}
            if left is not None:
                part["limit"] = min(left, n_records)
                left -= part["limit"]
            yield Unit(number, (file,), {}, {}, part)
            number += 1
            if left == 0:
                return


def page_units(options: "Options") -> tuple[list[Unit], dict[str, InputFile]]:
    """Pack saved pages into units, each with its rows of the table."""
    from corpora.news.url_table import read_url_table

    files = _find(options.html, "--html", options.exclude)[: options.limit]
    told = read_url_table(options.urls, [file.name for file in files]) if options.urls else {}
    units = make_units(
        files,
        settings=lambda inputs: {f.name: told[f.name] for f in inputs if f.name in told},
        auxiliary={},
    )
    auxiliary = {"urls": describe_file("urls", options.urls)} if options.urls else {}
    return list(units), auxiliary


def earlier_units(previous: Sequence[str]) -> Iterator[Unit]:
    """A unit for each shard of the datasets whose articles are not taken again."""
    from corpora.runs.dataset_inputs import find_shards

    if not previous:
        return
    try:
        shards = find_shards(previous, "documents")
    except UsageError as error:
        raise UsageError(str(error).replace("--input", "--previous")) from error
    for number, shard in enumerate(shards):
        yield Unit(number, (shard,))


def library_versions() -> dict[str, str]:
    """Versions of the libraries that may change what comes out."""
    from importlib.metadata import version

    return {name: version(name) for name in ("lxml", "py3langid", "rensa")}
