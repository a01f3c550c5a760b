"""Link names to entities: of a register, or of documents whose names are linked.

Examples:
  python -m modeling.link evaluate build/sturm/documents --register 'register/*.xml'
  python -m modeling.link evaluate build/hipe-train --test build/hipe-dev --output build/links
  python -m modeling.link train build/sturm/documents --register 'register/*.xml' --output linker
  python -m modeling.link apply linker --documents build/new --output build/linked
  python -m modeling.link apply linker --ner build/sturm/ner --output linked.jsonl
  python -m modeling.link index build/vocab --output build/forms
  python -m modeling.link score --gold build/sturm/documents --predicted build/linked

``evaluate`` trains on four fifths of the documents and links the fifth, five times, or links those
of --test; its report stands beside the baseline. A link is written if it is sure enough: at most
2 % of those that are written should be wrong (--max-wrong).
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from corpora.errors import UsageError
from corpora.system.arguments import (
    SUMMARY,
    Summary,
    add_options,
    check,
    execute,
    make_parser,
    option,
    values_of,
)


@dataclass(frozen=True, kw_only=True)
class _Learning:
    """The options of what a linker is trained on."""

    documents: tuple[Path, ...] = option(
        positional=True, metavar="DIR", nargs="+", help="datasets of documents with linked names"
    )
    register: tuple[str, ...] = option(
        (), metavar="FILE", help="registers in TEI, or patterns in quotes"
    )
    vocabulary: Path | None = option(
        None, metavar="DIR", help="forms of an entity vocabulary, as index wrote them"
    )
    space: str | None = option(
        None,
        metavar="NAME",
        help="what ids of the register begin with, as sturm: (default: that of the documents)",
    )
    encoder: Path | None = option(
        None,
        metavar="MODEL",
        help="a model of texts: names in their texts are also compared by what it reads",
    )
    descriptions: Path | None = option(
        None,
        metavar="VOCABULARY",
        help="with --encoder: an entity vocabulary, whose descriptions it reads",
    )
    nil: bool = option(
        default=False,
        help="names without an id mean nobody who is known (NIL, as in HIPE-2022), and a link of "
        "them is wrong (default: nothing is learned of them)",
    )
    max_wrong: float = option(
        0.02, metavar="RATIO", help="of the links that are written (default: 0.02)"
    )
    seed: int = option(1, help="of the parts that the threshold is found on (default: 1)")


@dataclass(frozen=True, kw_only=True)
class TrainOptions(_Learning):
    """Options of ``train``."""

    output: Path = option(metavar="DIR", help="where the linker is written")
    json: bool = option(default=False, help=SUMMARY)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(_Learning):
    """Options of ``evaluate``."""

    output: Path = option(metavar="DIR", help="where the report is written")
    test: tuple[Path, ...] = option(
        (), metavar="DIR", help="documents that are linked; those before teach (default: folds)"
    )
    folds: int = option(5, at_least=2, help="parts of the documents (default: 5)")
    replicates: int = option(1000, at_least=0, help="of the bootstrap (default: 1000)")
    json: bool = option(default=False, help=SUMMARY)


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    """Options of ``apply``."""

    linker: Path = option(positional=True, metavar="LINKER", help="what train wrote")
    documents: Path | None = option(
        None, one_of="input", metavar="DIR", help="a dataset of documents with names"
    )
    ner: Path | None = option(None, one_of="input", metavar="DIR", help="a dataset of sentences")
    output: Path = option(metavar="PATH", help="a dataset, or, with --ner, a file of JSON lines")
    threshold: float | None = option(
        None, metavar="P", help="least probability of a link (default: the linker's own)"
    )
    candidates: int = option(
        0, at_least=0, metavar="K", help="with --ner: list the K likeliest of each name"
    )
    json: bool = option(default=False, help=SUMMARY)


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """Options of ``index``."""

    vocabulary: Path = option(
        positional=True, metavar="VOCABULARY", help="a dataset of documents_to_entity_vocab"
    )
    output: Path = option(metavar="DIR", help="where the files are written")
    json: bool = option(default=False, help=SUMMARY)


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Options of ``score``."""

    gold: Path = option(metavar="DIR", help="a dataset of documents with right links")
    predicted: Path = option(metavar="DIR", help="the same documents with links that are scored")
    nil: bool = option(
        default=False, help="names without an entity count as linked to NIL, as in HIPE-2022"
    )
    replicates: int = option(1000, at_least=0, help="of the bootstrap (default: 1000)")
    seed: int = option(1, help="of the bootstrap (default: 1)")
    json: bool = option(default=False, help=SUMMARY)


_COMMANDS: Final[dict[str, tuple[type[Any], str]]] = {  # Any: each its own options
    "train": (TrainOptions, "make a linker from documents whose names are linked"),
    "evaluate": (EvaluateOptions, "say how good the links of documents not trained on are"),
    "apply": (ApplyOptions, "link the names of other documents"),
    "index": (IndexOptions, "write the forms of an entity vocabulary as files that are mapped"),
    "score": (ScoreOptions, "compare the links of documents with right ones"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and run it; exit status 0, 1 for an error, 2 for a wrong command."""
    parser = make_parser("modeling.link", __doc__ or "")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (kind, help) in _COMMANDS.items():
        add_options(commands.add_parser(name, help=help, allow_abbrev=False), kind)
    values = values_of(parser.parse_args(argv))
    name = str(values.pop("command"))
    options = _COMMANDS[name][0](**values)
    where = options.gold if isinstance(options, ScoreOptions) else options.output
    return execute(lambda: _do(name, options), path=where, as_json=options.json)


def _do(name: str, options: Any) -> Iterator[str | Summary]:
    check(options)  # Any: those of one of the commands
    for field in fields(options):
        if field.name in {"max_wrong", "threshold"}:
            value = getattr(options, field.name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"--{field.name.replace('_', '-')} {value}: from 0 to 1.")
    from modeling.link import commands  # noqa: PLC0415 - for --help

    yield from getattr(commands, name)(options)


if __name__ == "__main__":
    sys.exit(main())
