"""Crawl news sites politely into web archives, from which ``onoma news`` makes documents.

    onoma crawl sites.toml --archive build/crawl
    onoma news --warc 'build/crawl/*.warc.gz' --output build/news

Pages in the archive are never fetched again. The same command resumes a crawl that was killed.
docs/news.md describes sites.toml.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpora.system.arguments import SUMMARY, Summary, execute, option, option_table, parse


@option_table
class Options:
    """Options of the command."""

    sites: Path = option(
        "TOML file of the sites to crawl (docs/news.md)", positional=True, metavar="FILE"
    )
    archive: Path = option("folder of the web archives; pages in it are not fetched again")
    json: bool = option(SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Crawl; return the exit status: 1 where a site gave no page at all."""
    options = parse(Options, argv, name="crawl", about=__doc__)
    archive, without_pages = options.archive, 0

    def crawl_sites() -> Iterator[str | Summary]:
        from corpora.crawl.session import crawl
        from corpora.crawl.sites import read_sites

        nonlocal without_pages
        sites = read_sites(options.sites)
        report = crawl(sites, archive, say=lambda line: sys.stderr.write(f"{line}\n"))
        without_pages = len(report.without_pages)
        yield from report.lines()
        about = f"crawl-{report.session}.report.md"
        yield f"made  {archive} (WARC files); {about} says what became of all"
        yield f"next  onoma news --warc '{archive}/*.warc.gz' --output …"
        yield Summary({"archive": str(archive), **report.to_json()})

    resumes = "The same command resumes."
    status = execute(crawl_sites, path=archive, resumes=resumes, as_json=options.json)
    return status or min(without_pages, 1)


if __name__ == "__main__":
    sys.exit(main())
