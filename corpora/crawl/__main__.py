"""Crawl news sites politely into web archives, from which articles are made.

    python -m corpora.crawl sites.toml --archive build/crawl
    python -m pipelines.news_to_documents --warc 'build/crawl/*.warc.gz' --output build/news

What was fetched lies in the archive and is never fetched again; killed at any moment, the same
command goes on where it was. docs/news.md says what sites.toml holds.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import ArgumentParser


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    description, _, epilog = (__doc__ or "").partition("\n\n")
    parser = ArgumentParser(
        prog="python -m corpora.crawl",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("sites", type=Path, metavar="FILE", help="the table of sites (TOML)")
    parser.add_argument(
        "--archive", type=Path, required=True, metavar="DIR", help="the folder of the archive"
    )
    parser.add_argument(
        "--allow-private",
        action="store_true",
        help="also addresses of private networks and of this machine, for all sites",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Crawl; returns the exit status: 1 where a site gave no page at all."""
    arguments = _arguments(argv)
    from corpora.crawl.session import crawl
    from corpora.crawl.sites import read_sites

    archive: Path = arguments.archive
    try:
        sites = read_sites(arguments.sites, allow_private=arguments.allow_private)
        report = crawl(sites, archive, say=_say)
    except UsageError as error:
        return _fail(str(error), status=2)
    except CorpusError as error:
        return _fail(str(error), status=1)
    except OSError as error:
        return _fail(f"{error.filename or archive}: {error.strerror or error}.", status=1)
    except KeyboardInterrupt:
        return _fail("interrupted. The same command goes on from here.", status=130)
    lines = [
        *report.lines(),
        f"made  {archive} (WARC files); crawl-{report.session}.report.md says what became of all",
        f"next  python -m pipelines.news_to_documents --warc '{archive}/*.warc.gz' --output …",
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if report.without_pages else 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _fail(message: str, *, status: int) -> int:
    sys.stderr.write(f"error: {message}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
