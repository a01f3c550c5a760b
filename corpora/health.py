"""Examine a NER data set: counts, leaks between splits, contradictory tags, a gazetteer's score.

example: onoma health --train train.conll --dev dev.conll --test test.conll --output out
"""

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.document import Sentence
from corpora.errors import UsageError
from corpora.ner.card import Health, list_findings, to_json, to_markdown
from corpora.ner.conll import read_conll
from corpora.system.arguments import SUMMARY, Summary, execute, option, parse

SUFFIXES = (".conll", ".txt", ".json")
_FILE = "two-column CoNLL (.conll, .txt) or a JSON array (.json)"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command: the files of a data set, and the folder for the card."""

    train: Path = option(metavar="FILE", help=f"training data: {_FILE}")
    dev: Path | None = option(None, metavar="FILE", help=f"development data: {_FILE}")
    test: Path | None = option(None, metavar="FILE", help=f"test data: {_FILE}")
    output: Path = option(metavar="DIR", help="folder to write card.md and card.json into")
    limit: int | None = option(
        None, help="read only the first N sentences of each file (default: all)"
    )
    json: bool = option(default=False, help=SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Examine the files of a data set, write the card; return the exit status."""
    options = parse(Options, argv, name="health", about=__doc__)
    return execute(lambda: _examine(options), path=options.output, as_json=options.json)


def _examine(options: Options) -> Iterator[str | Summary]:
    paths = {"train": options.train, "dev": options.dev, "test": options.test}
    sources = {
        split: _open_source(path, split=split, limit=options.limit)
        for split, path in paths.items()
        if path is not None
    }
    from corpora.ner.health import examine
    from corpora.runs.named_files import refuse_published

    refuse_published(options.output / "card.json")
    health = examine(sources)
    _write_card(health, options.output, title=options.train.stem)
    read = ", ".join(f"{row.sentences:,} of {split}" for split, row in health.splits.items())
    yield f"Read sentences: {read}. Rejected: none."
    yield from (f"- {finding}" for finding in list_findings(health)[:3])
    yield f"Wrote {options.output / 'card.json'} and {options.output / 'card.md'}."
    yield Summary({"output": str(options.output), **to_json(health)})


def _open_source(path: Path, *, split: str, limit: int | None) -> Callable[[], Iterator[Sentence]]:
    """Choose the reader for the suffix; check the path and ``limit`` first."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path}: unknown suffix {path.suffix!r}. Rename it to one of {', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise UsageError(f"{path}: no such file. Check --{split}.")
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit}: reads nothing. Give 1 or more.")
    from corpora.ner.json import read_json

    read = read_json if suffix == ".json" else read_conll
    return lambda: itertools.islice(read(path, split=split), limit)


def _write_card(health: Health, folder: Path, *, title: str) -> None:
    from corpora.runs.named_files import write_named

    text = json.dumps(to_json(health), ensure_ascii=False, indent=2)
    write_named(folder / "card.json", [f"{text}\n"])
    write_named(folder / "card.md", [to_markdown(health, title=title)])


if __name__ == "__main__":
    sys.exit(main())
