"""Link names to entities, as learned from documents whose names are linked.

Examples:
  onoma link evaluate build/sturm/documents --register 'register/*.xml' --output links
  onoma link evaluate build/hipe-train --test build/hipe-dev --output build/links
  onoma link train build/sturm/documents --register 'register/*.xml' --output linker
  onoma link apply linker --documents build/new --output build/linked
  onoma link apply linker --ner build/sturm/ner --output linked.jsonl
  onoma link index build/vocab --output build/forms
  onoma link score --gold build/sturm/documents --predicted build/linked

evaluate trains on four fifths of the documents and links the other fifth, five times. With --test,
it trains on all documents and links those of --test. Its report compares the links with a baseline.
Only probable links are written, so that at most about 2 % of them are wrong (--max-wrong).
"""

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from corpora.system.arguments import (
    SUMMARY,
    Subcommand,
    Summary,
    execute,
    option,
    option_table,
    parse_subcommand,
    refuse,
)


@option_table
class _Learning:
    """The options of what a linker is trained on."""

    documents: tuple[Path, ...] = option(
        "datasets of documents with linked names, to learn from", positional=True, metavar="DIR"
    )
    register: tuple[str, ...] = option(
        "registers in TEI, or glob patterns in quotes, whose entries are candidates", metavar="FILE"
    )
    vocabulary: Path | None = option(
        "index made by onoma link index, whose entities are candidates"
    )
    space: str | None = option(
        "prefix of the ids of --register, such as sturm for sturm:P.1 (default: the most frequent "
        "in the documents)",
        metavar="NAME",
    )
    encoder: Path | None = option(
        "encoder that compares the contexts of names: a run, a folder of transformers, hub:NAME, "
        "or an archive",
        metavar="MODEL",
    )
    descriptions: Path | None = option(
        "with --encoder: entity vocabulary whose descriptions are compared with the contexts, too",
        metavar="VOCABULARY",
    )
    nil: bool = option(
        "treat names without an id as names of no known entity, which must not be linked "
        "(default: ignore them)"
    )
    max_wrong: float = option(
        "highest ratio of wrong links among the written ones, from 0 to 1 (default: 0.02)",
        0.02,
        at_least=0,
        at_most=1,
        metavar="RATIO",
    )


@option_table
class TrainOptions(_Learning):
    """Options of ``train``."""

    output: Path = option("folder of the linker")
    json: bool = option(SUMMARY)


@option_table
class EvaluateOptions(_Learning):
    """Options of ``evaluate``."""

    output: Path = option("folder of the report")
    test: tuple[Path, ...] = option(
        "datasets to link as a test, by a linker trained on the other datasets (default: "
        "cross-validation)"
    )
    folds: int = option(
        "number of parts for cross-validation, at least 2 (default: 5)", 5, at_least=2
    )
    json: bool = option(SUMMARY)


@option_table
class ApplyOptions:
    """Options of ``apply``."""

    linker: Path = option("folder of the linker, made by train", positional=True, metavar="LINKER")
    documents: Path | None = option("dataset of documents whose names are linked", one_of="input")
    ner: Path | None = option("dataset of tagged sentences whose names are linked", one_of="input")
    output: Path = option("dataset to write, or with --ner a file of JSON lines", metavar="PATH")
    threshold: float | None = option(
        "lowest probability of a link that is written, from 0 to 1 (default: that of the linker)",
        at_least=0,
        at_most=1,
        metavar="P",
    )
    candidates: int = option(
        "with --ner: number of candidates to list for each name, the most probable first "
        "(default: 0)",
        0,
        at_least=0,
        metavar="K",
    )
    json: bool = option(SUMMARY)


@option_table
class IndexOptions:
    """Options of ``index``."""

    vocabulary: Path = option(
        "entity vocabulary, made by onoma vocab", positional=True, metavar="VOCABULARY"
    )
    output: Path = option("folder of the index")
    wiki: str = option(
        "for a vocabulary of several wikis: the wiki whose titles entities are called by, as "
        "those of the documents (default: by the names in the vocabulary)",
        "",
        metavar="NAME",
    )
    json: bool = option(SUMMARY)


@option_table
class ScoreOptions:
    """Options of ``score``."""

    gold: Path = option("dataset of documents with the correct links")
    predicted: Path = option("dataset of the same documents with the links to score")
    nil: bool = option(
        "count names without an entity as links to NIL, as in HIPE-2022 (default: ignore them)"
    )
    json: bool = option(SUMMARY)


def _do(name: str, options: Any) -> Iterator[str | Summary]:  # Any: those of one command
    if isinstance(options, _Learning) and not options.register:
        refuse(options, "space", because="is for --register, whose ids begin with it")
    if isinstance(options, EvaluateOptions) and options.test:
        refuse(options, "folds", because="is for a cross-validation, without --test")
    # Set before numpy is loaded: for small matrices, its threads wait more than they compute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from modeling.link import commands  # noqa: PLC0415 - for --help

    yield from getattr(commands, name)(options)


_COMMANDS: Final = {
    "train": Subcommand(
        TrainOptions,
        partial(_do, "train"),
        "train a linker on documents whose names are linked",
        "Train a linker on documents whose names are linked, and write it to a folder.",
    ),
    "evaluate": Subcommand(
        EvaluateOptions,
        partial(_do, "evaluate"),
        "score links of documents that were not trained on",
        "Train on a part of the documents, link the others, and report how many links are right.",
    ),
    "apply": Subcommand(
        ApplyOptions,
        partial(_do, "apply"),
        "link the names of other documents",
        "Link the names of other documents, or of tagged sentences, with a trained linker.",
    ),
    "index": Subcommand(
        IndexOptions,
        partial(_do, "index"),
        "make an index of an entity vocabulary, for --vocabulary",
        "Make an index of the names in an entity vocabulary, from which linkers are trained.",
    ),
    "score": Subcommand(
        ScoreOptions,
        partial(_do, "score"),
        "score the links of documents against correct ones",
        "Score the links of documents against the correct ones, by whatever they were made.",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and run it; exit status 0, 1 for an error, 2 for a wrong command."""
    options, work = parse_subcommand(_COMMANDS, argv, name="link", about=__doc__)
    where = options.gold if isinstance(options, ScoreOptions) else options.output
    return execute(work, path=where, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
