"""Write sample files to try the commands on: an edition, a wiki, news pages, or a Chinese story.

Examples:
  onoma sample tei letters
  onoma sample wikipedia dumps

The texts are invented; the documentation uses them, too.
"""

import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple
from zipfile import ZipFile

from corpora.system.arguments import SUMMARY, Summary, execute, option, option_table, parse
from corpora.system.files import check_new
from corpora.system.writing import output_folder, write_whole


class SampleArchive(NamedTuple):
    """The content of an archive beside this file."""

    about: str
    next: str
    """The command that reads the files; ``{at}`` stands for their folder."""


SAMPLES = {
    "tei": SampleArchive(
        "eight letters, how they are read (edition.toml), their register, a letter without names",
        "onoma tei --input '{at}/*.xml' --edition '{at}/edition.toml' --output build/letters",
    ),
    "wikipedia": SampleArchive(
        "the dump of a wiki of 33 pages",
        "onoma wikipedia --input '{at}/*pages-articles*' --output build/wiki",
    ),
    "news": SampleArchive(
        "ten saved pages and their addresses (urls.tsv); and both as a web archive "
        "(kreisbote.warc.gz)",
        "onoma news --html '{at}/*.html*' --urls '{at}/urls.tsv' --output build/news",
    ),
    "chinese": SampleArchive(
        "a story of three chapters",
        "onoma text --input '{at}/*/*.txt' --lang zh "
        "--split-pattern '^第.{{1,9}}回' --output build/novel",
    ),
}


@option_table
class Options:
    """Options of the command."""

    kind: Literal["tei", "wikipedia", "news", "chinese"] = option(
        "kind of the sample", positional=True
    )
    folder: Path = option("folder to write the files into", positional=True, metavar="DIR")
    json: bool = option(SUMMARY)


def write(options: Options) -> Iterator[str | Summary]:
    """Write the files of a sample; raises ``UsageError`` if one exists with another content."""
    sample, folder = SAMPLES[options.kind], options.folder
    with (files("corpora.samples") / f"{options.kind}.zip").open("rb") as file, ZipFile(file) as z:
        names = z.namelist()
        for name in names:
            check_new(folder / name, z.read(name))
        with output_folder(folder):
            for name in names:
                write_whole(folder / name, z.read(name))
    yield f"made  {folder}: {sample.about}"
    quoted = str(folder).replace("'", "'\"'\"'")  # inside single quotes, as in ``next``
    yield f"next  {sample.next.format(at=quoted)}"
    yield Summary({"output": str(folder), "files": names})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = parse(Options, argv, name="sample", about=__doc__)
    return execute(lambda: write(options), path=options.folder, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
