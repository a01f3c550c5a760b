"""Examine a NER data set: ``python -m corpora.health``; writes ``card.md`` and ``card.json``."""

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from corpora.document import Sentence
from corpora.errors import CorpusError, UsageError
from corpora.ner.card import Health, list_findings, to_json, to_markdown
from corpora.ner.conll import read_conll
from corpora.system.arguments import SUMMARY, ArgumentParser, Summary, fail

SUFFIXES = (".conll", ".txt", ".json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine the files of a data set, write the card; return the exit status."""
    options = _parse(arguments)
    paths = {split: getattr(options, split) for split in ("train", "dev", "test")}
    try:
        sources = {
            split: _open_source(path, split=split, limit=options.limit)
            for split, path in paths.items()
            if path is not None
        }
        from corpora.ner.health import examine

        health = examine(sources)
        _write_card(health, options.output, title=options.title or options.train.stem)
    except CorpusError as error:
        return fail(str(error), status=error.exit_status)
    if options.json:
        Summary({"output": str(options.output), **to_json(health)}).write()
        return 0
    read = ", ".join(f"{row.sentences:,} of {split}" for split, row in health.splits.items())
    sys.stdout.write(f"Read sentences: {read}. Rejected: none.\n")
    sys.stdout.writelines(f"- {finding}\n" for finding in list_findings(health)[:3])
    sys.stdout.write(f"Wrote {options.output / 'card.json'} and {options.output / 'card.md'}.\n")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="python -m corpora.health",
        description="Examine a NER data set: counts, leaks, contradictions, a gazetteer's score.",
        epilog="example: python -m corpora.health --train train.conll --dev dev.conll "
        "--test test.conll --output card",
        allow_abbrev=False,
    )
    for split in ("train", "dev", "test"):
        parser.add_argument(
            f"--{split}",
            type=Path,
            required=split == "train",
            metavar="FILE",
            help="two-column CoNLL (.conll, .txt) or a JSON array (.json)",
        )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="for the card")
    parser.add_argument("--title", help="heading of the card; otherwise the name of --train")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences each")
    parser.add_argument("--json", action="store_true", help=SUMMARY)
    return parser.parse_args(arguments)


def _open_source(path: Path, *, split: str, limit: int | None) -> Callable[[], Iterator[Sentence]]:
    """Choose the reader for the suffix; check what can be checked."""
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(to_json(health), ensure_ascii=False, indent=2)
        (folder / "card.json").write_text(text + "\n", encoding="utf-8")
        (folder / "card.md").write_text(to_markdown(health, title=title), encoding="utf-8")
    except OSError as error:
        raise CorpusError(
            f"{folder}: cannot write the card ({error.strerror}). Choose another --output."
        ) from error


if __name__ == "__main__":
    sys.exit(main())
