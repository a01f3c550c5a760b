"""Convert a NER dataset to files for other tools: CoNLL, JSON, Hugging Face, annotation tools.

    onoma convert build/ler --to conll
    onoma convert build/letters --to xmi --output cas
    onoma convert build/sturm --to hf --output sturm-hf

If ``onoma benchmark`` reads the files back, tokens, tags and inner tags are the same; from ``hf``
also ids, documents and token starts.

Formats of --to; those of annotation tools need a dataset of documents, and write a file for each:
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusError
from corpora.hashing.splits import SPLITS
from corpora.ner import exchange
from corpora.reports import counted
from corpora.system.arguments import SUMMARY, Summary, execute, option, option_table, parse
from corpora.system.files import check_new
from corpora.system.staging import beside
from corpora.system.writing import output_folder, temporary_path

if TYPE_CHECKING:
    import pyarrow as pa

    from corpora.datasets.shards import Dataset

FORMS = {
    "conll": "a token and its IOB2 tag on each line, an empty line after a sentence",
    "json": "one array of sentences, each of [token, tag]",
    "iobes": "like conll, with the tags E- and S- where an entity ends",
    "bmes": "like iobes, with M- instead of I-",
    "hf": "Parquet and a card for datasets.load_dataset, tags as ClassLabel",
    **{name: f"documents: {form.about}" for name, form in exchange.FORMS.items()},
}


@option_table
class Options:
    """A dataset, and the format to write it in."""

    input: Path = option(
        "folder of a dataset of ner (for annotation tools, of documents), or of a run with one",
        positional=True,
        metavar="DIR",
    )
    to: str = option("format to write, see the list below", choices=tuple(FORMS))
    output: Path | None = option(
        "folder to write into (default: the input with -FORMAT after its name)"
    )
    json: bool = option(SUMMARY)


def convert(source: Path, form: str, output: Path) -> list[str]:
    """Write each split that has rows; returns a report, one line per file.

    Raises ``CorpusError`` if there is no dataset, or the format cannot hold a row; ``UsageError``
    if one of the files exists with other bytes.
    """
    if form in exchange.FORMS:
        return convert_documents(source, form, output)
    import pyarrow.compute as pc

    from corpora.ner import exports

    dataset = _open(source, "ner")
    found = {
        value for batch in dataset.batches() for value in pc.unique(batch["split"]).to_pylist()
    }
    if unknown := found - set(SPLITS):
        raise CorpusError(f"{dataset.path}: has rows of {', '.join(sorted(unknown))}, no split.")

    def rows(split: str) -> "Iterator[pa.RecordBatch]":
        batches = (b.filter(pc.equal(b.column("split"), split)) for b in dataset.batches())
        return (batch for batch in batches if batch.num_rows)

    openers = {split: partial(rows, split) for split in SPLITS if split in found}
    output.mkdir(parents=True, exist_ok=True)
    if form == "hf":
        return exports.write_hf(openers, output)
    write = exports.write_json if form == "json" else partial(exports.write_columns, form=form)
    lines = []
    folder = temporary_path(output / form)
    folder.mkdir()
    try:
        made = {output / f"{split}.{form}": folder / split for split in openers}
        for path, split in made.items():
            n, n_empty = write(openers[split.name], split)
            left_out = f"; left out, for they have no token: {n_empty:,}" if n_empty else ""
            lines.append(f"{path}: {counted(n, 'sentence')}{left_out}")
        for path, split in made.items():
            check_new(path, split)
        for path, split in made.items():
            split.rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return lines


def convert_documents(source: Path, form: str, output: Path) -> list[str]:
    """Write a file for each document; returns a report."""
    dataset = _open(source, "documents")
    output.mkdir(parents=True, exist_ok=True)
    n = sum(1 for _ in exchange.write_documents(iter(dataset), form, output))
    return [f"{output}: {counted(n, 'document')}"]


def _open(source: Path, schema: str) -> "Dataset":
    """Open a dataset, or the dataset named after the schema in a folder."""
    from corpora.datasets.shards import open_dataset

    inside = source / schema
    return open_dataset(inside if (inside / "dataset.json").exists() else source, schema)


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert; returns the exit status."""
    forms = "\n".join(f"  {form:10}{about}" for form, about in FORMS.items())
    about = f"{__doc__}\n{forms}"
    options = parse(Options, arguments, name="convert", about=about)
    source = options.input

    def lines() -> Iterator[str | Summary]:
        name = f"{source.resolve().name}-{options.to}"
        output = options.output or beside(source.with_name(name))
        with output_folder(output):
            yield from convert(source, options.to, output)
        files = sorted(path.name for path in output.iterdir())
        yield Summary({"output": str(output), "to": options.to, "files": files})

    return execute(lines, path=options.output or source, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
