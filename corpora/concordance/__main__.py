"""Write a concordance: each entity with its mentions in context, one HTML page per register.

Examples:
  onoma concordance build/letters
  onoma concordance build/letters --register 'register/*.xml' --output pages
  onoma concordance build/wiki --entities build/vocab --output pages
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.reports import counted
from corpora.system.arguments import SUMMARY, Summary, check, execute, option, option_table, parse
from corpora.system.staging import beside

if TYPE_CHECKING:
    from corpora.document import Document

MANIFEST = "concordance.json"
TABLE = "index.tsv"


@option_table
class Options:
    """Options of the command."""

    run: Path = option(
        "folder of a run with documents, or of a dataset of documents", positional=True
    )
    register: tuple[str, ...] = option(
        "TEI files with registers, or glob patterns in quotes (default: the registers of the run)",
        metavar="PATTERN",
    )
    entities: Path | None = option(
        "entity vocabulary, for titles and forms of entities that no register has"
    )
    output: Path | None = option("folder to write the pages into (default: RUN/concordance)")
    json: bool = option(SUMMARY)


def write(options: Options) -> Iterator[str | Summary]:
    """Write the pages; yields the messages to print."""
    from corpora.concordance.folder import open_documents
    from corpora.system.writing import output_folder

    check(options)
    dataset, folder = open_documents(options.run)
    output = options.output or beside(folder / "concordance")
    with output_folder(output, mark=MANIFEST):
        yield from _write(options, dataset, folder, output=output)


def _write(
    options: Options, dataset: "Iterator[Document]", folder: Path, *, output: Path
) -> Iterator[str | Summary]:
    from corpora.concordance.collect import collect
    from corpora.concordance.folder import earlier_pages, titles_of
    from corpora.concordance.pages import make_pages, make_table
    from corpora.registers.register import load_register, open_registers
    from corpora.system.writing import write_json, write_text

    earlier = earlier_pages(output, manifest=MANIFEST)
    register = None
    if options.register:
        register = open_registers(options.register)
    elif (folder / "register.jsonl").is_file():
        register = load_register(folder / "register.jsonl")
    vocab = titles_of(options.entities) if options.entities else {}
    concordance = collect(dataset, register, vocab=vocab)
    names = []
    for page in make_pages(concordance, title=folder.name):
        write_text(output / page.name, [page.html])
        names.append(page.name)
    write_text(output / TABLE, make_table(concordance))
    write_json(output / MANIFEST, {"pages": names})
    for name in set(earlier) - set(names):
        (output / name).unlink(missing_ok=True)
    mentioned = [subject for subject in concordance.subjects.values() if subject.mentions]
    n = sum(len(subject.mentions) for subject in mentioned)
    entities, mentions = counted(len(mentioned), "entity"), counted(n, "mention")
    yield f"wrote {counted(len(names), 'page')}: {entities}, {mentions}"
    if without := concordance.n_without_id:
        left = counted(without, "mention")
        yield f"without an id, and so in no entry: {left} of persons, places and the like"
    if not any(letter.lines for letter in concordance.letters):
        yield (
            "places are characters of the texts (c120): onoma tei --lines makes documents that "
            "know the lines of their files"
        )
    yield f"read  {output}/index.html in a browser; {TABLE}, which documents name each entity"
    about = {"output": str(output), "pages": names, "entities": len(mentioned), "mentions": n}
    about["without_id"] = without
    yield Summary(about)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = parse(Options, argv, name="concordance", about=__doc__)
    return execute(lambda: write(options), path=options.run, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
