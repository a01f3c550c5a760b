"""A NER dataset as files for others: CoNLL, JSON, IOBES, BMES, or for Hugging Face ``datasets``.

    python -m corpora.ner.convert build/ler --to conll
    python -m corpora.ner.convert build/sturm --to hf --output sturm-hf

Tokens, tags and inner tags come back as they were when ``benchmark_to_ner`` reads the files; from
``hf`` ids, documents and token starts do, too.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, UsageError
from corpora.hashing.splits import SPLITS
from corpora.system.arguments import ArgumentParser

if TYPE_CHECKING:
    import pyarrow as pa

    from corpora.datasets.shards import Dataset

FORMS = {
    "conll": "token and IOB2 tag, an empty line after a sentence",
    "json": "one array of sentences, each of [token, tag]",
    "iobes": "columns, with E- and S- where an entity ends",
    "bmes": "the same with M- for I-",
    "hf": "Parquet and a card that datasets.load_dataset opens, tags as ClassLabel",
}


def convert(source: Path, form: str, output: Path) -> list[str]:
    """Write each split that has rows; returns what was done, a line each.

    Raises ``CorpusError`` where there is no dataset, or a row that the form cannot hold.
    """
    dataset = _open(source)
    splits = _splits(dataset)
    output.mkdir(parents=True, exist_ok=True)
    if form == "hf":
        return _write_hf(dataset, splits, output)
    return [_write_split(dataset, split, output / f"{split}.{form}") for split in splits]


def _open(source: Path) -> "Dataset":
    from corpora.datasets.shards import open_dataset

    inside = source / "ner"
    return open_dataset(inside if (inside / "dataset.json").exists() else source, "ner")


def _splits(dataset: "Dataset") -> list[str]:
    found = {value for batch in dataset.batches() for value in batch.column("split").to_pylist()}
    unknown = found - set(SPLITS)
    if unknown:
        raise CorpusError(f"{dataset.path}: has rows of {', '.join(sorted(unknown))}, no split.")
    return [split for split in SPLITS if split in found]


def _rows(dataset: "Dataset", split: str) -> "Iterator[pa.RecordBatch]":
    """The rows of a split, as batches."""
    import pyarrow.compute as pc

    for batch in dataset.batches():
        chosen = batch.filter(pc.equal(batch.column("split"), split))
        if chosen.num_rows:
            yield chosen


def _write_split(dataset: "Dataset", split: str, path: Path) -> str:
    from corpora.ner.exports import write_columns, write_json

    rows = partial(_rows, dataset, split)
    if path.suffix == ".json":
        n, n_empty = write_json(rows, path)
    else:
        n, n_empty = write_columns(rows, path, form=path.suffix[1:])
    left_out = f"; left out, for they have no token: {n_empty:,}" if n_empty else ""
    return f"{path}: {n:,} sentences{left_out}"


def _write_hf(dataset: "Dataset", splits: Sequence[str], output: Path) -> list[str]:
    from corpora.ner.exports import HF_SPLITS, class_list, hf_features, write_card, write_parquet

    openers = {split: partial(_rows, dataset, split) for split in splits}
    classes = class_list(openers.values())
    has_inner = any(
        batch.column("inner_tags").null_count < batch.num_rows for batch in dataset.batches()
    )
    features = hf_features(classes, has_inner=has_inner)
    lines = []
    for split, rows in openers.items():
        path = output / f"{HF_SPLITS[split]}.parquet"
        n = write_parquet(rows, path, classes=classes, features=features)
        lines.append(f"{path}: {n:,} sentences")
    names = [HF_SPLITS[split] for split in splits]
    write_card(output / "README.md", classes, splits=names)
    return [*lines, f"{output / 'README.md'}: what datasets.load_dataset({str(output)!r}) opens"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert; returns the exit status."""
    parser = ArgumentParser(
        prog="python -m corpora.ner.convert",
        description="Write a NER dataset as files that others read.",
        epilog="\n".join(f"  {form:6}{about}" for form, about in FORMS.items())
        + "\n\nexample: python -m corpora.ner.convert build/ler --to conll",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("input", type=Path, metavar="DIR", help="a ner dataset, or what holds one")
    parser.add_argument("--to", choices=tuple(FORMS), required=True, help="see below")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="default: the input's name and the form"
    )
    options = parser.parse_args(arguments)
    source = Path(options.input)
    output = options.output or source.with_name(f"{source.resolve().name}-{options.to}")
    try:
        lines = convert(source, options.to, output)
    except (CorpusError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, UsageError) else 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
