"""Find names in text with a tagger; or ask a pre-trained encoder what stands behind [MASK].

Examples:
  python -m modeling.predict runs/sturm --text letter.txt --lang de
  echo "Peter lebt in Frankfurt am Main." | python -m modeling.predict runs/sturm --text -
  python -m modeling.predict runs/sturm --conll build/sturm/test.conll --format conll
  python -m modeling.predict runs/sturm --documents build/news --output build/news-names
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --output enriched
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --candidates c.tsv
  python -m modeling.predict --tei 'letters/*.xml' --edition sturm --apply c.tsv --output enriched
  python -m modeling.predict --tei 'enriched/*.xml' --undo --output original
  python -m modeling.predict runs/daluke --masked "Danmarks vigtigste lov er [MASK]."

A TEI file comes back with nothing changed but the new names: this is proved for each file before
it is written (docs/enriching.md).
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import ArgumentParser
from modeling.options import count, positive

ABOUT = __doc__
_WHAT = ("text", "conll", "documents", "tei", "masked")
_FOR = {
    "edition": ("tei", "text"),
    "existing": ("tei",),
    "crossing": ("tei",),
    "schema": ("tei",),
    "candidates": ("tei",),
    "apply": ("tei",),
    "undo": ("tei",),
    "entities": ("masked",),
    "top": ("masked",),
    "lang": ("text",),
    "format": ("text", "conll"),
    "labels": ("text", "conll", "documents", "tei"),
    "threshold": ("text", "conll", "documents", "tei"),
    "decoder": ("text", "conll", "documents", "tei"),
}
"""Options, and the inputs that they say something of."""


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and predict; 0, or 1 for an error, or 2 for a wrong command."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if problem := _problem(arguments):
        parser.error(problem)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    from modeling.config import ConfigError  # noqa: PLC0415 - for --help
    from modeling.predict import commands  # noqa: PLC0415

    what = _what(arguments)
    try:
        getattr(commands, f"predict_{what}")(arguments)
    except UsageError as error:
        parser.error(str(error))
    except (CorpusError, ConfigError, ValueError, OSError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The same command goes on with what is not written yet.\n")
        return 130
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.predict",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "model",
        nargs="?",
        type=Path,
        metavar="RUN",
        help="a run of modeling.finetune, or a tagger of one",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--text", metavar="FILE", help="plain text, - for standard input")
    what.add_argument(
        "--conll", type=Path, metavar="FILE", help="a word a line, a blank line after each sentence"
    )
    what.add_argument("--documents", type=Path, metavar="DIR", help="a dataset of documents")
    what.add_argument("--tei", nargs="+", metavar="FILE", help="TEI files, or patterns in quotes")
    what.add_argument(
        "--masked", metavar="TEXT", help="text with [MASK], for a run of modeling.pretrain"
    )
    add(
        "--output",
        type=Path,
        metavar="PATH",
        help="where to; text and CoNLL: standard output if left out",
    )
    add(
        "--format",
        choices=("conll", "json", "jsonl", "tei", "tsv"),
        default="tsv",
        help="of what is found in text and CoNLL; tei (a new file, in the elements of --edition) "
        "of text alone",
    )
    add(
        "--labels",
        metavar="NAME|FILE",
        help="a map of labels, as benchmark_to_ner has it: what the tagger finds under other names",
    )
    add("--threshold", type=float, default=0.0, metavar="P", help="least probability of a name")
    add("--decoder", metavar="NAME", help="another than the tagger's own, as viterbi")
    add("--lang", metavar="TAG", help="whose rules for sentences and words apply to --text")
    add("--batch-size", type=positive, default=32, metavar="N", help="sentences at once")
    add("--threads", type=count, default=0, metavar="N", help="of torch, on a CPU")
    _add_tei(parser.add_argument_group("TEI"))
    add(
        "--entities",
        default="",
        metavar="START:END,…",
        help="with --masked: spans of masked entities, in characters",
    )
    add("--top", type=positive, default=5, metavar="K", help="with --masked: how many are shown")
    return parser


def _add_tei(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--edition",
        metavar="NAME",
        help="how the edition is read and written: a shipped one, or a TOML file",
    )
    add(
        "--existing",
        choices=("keep", "only-new", "replace-predicted"),
        default="keep",
        help="names that are there already",
    )
    add(
        "--crossing",
        choices=("split", "standOff"),
        default="split",
        help="names that cross an element's boundary",
    )
    add("--schema", type=Path, metavar="FILE", help="a RelaxNG schema that the result must fit")
    add(
        "--candidates",
        type=Path,
        metavar="TSV",
        help="write what is found into a list to be reviewed, and no file",
    )
    add("--apply", type=Path, metavar="TSV", help="write the names of a reviewed list")
    add(
        "--undo",
        action="store_true",
        help="take out what was added, and give the original bytes back",
    )


def _what(arguments: argparse.Namespace) -> str:
    return next(name for name in _WHAT if getattr(arguments, name) is not None)


def _misplaced(arguments: argparse.Namespace) -> str:
    """Which option would do nothing, or nothing."""
    what, default = _what(arguments), make_parser().get_default
    for name, kinds in _FOR.items():
        if what not in kinds and getattr(arguments, name) != default(name):
            return f"--{name} is for {' and '.join(f'--{kind}' for kind in kinds)}"
    if arguments.undo + bool(arguments.apply) + bool(arguments.candidates) > 1:
        return "one of --candidates, --apply and --undo at a time"
    if arguments.candidates and arguments.output:
        return "--candidates writes a list and no file: leave --output out"
    if arguments.apply and arguments.labels:
        return "--labels is for --candidates: the labels of a list are written as they are"
    return ""


def _problem(arguments: argparse.Namespace) -> str:
    """What is wrong with the command, or nothing."""
    has_model = arguments.model is not None
    needs_model = not (arguments.undo or arguments.apply)
    if needs_model and not has_model:
        return "name a run: python -m modeling.predict RUN …"
    if problem := _misplaced(arguments):
        return problem
    if arguments.format == "tei" and not arguments.text:
        return "--format tei is for --text; TEI files are read by --tei"
    if arguments.edition and arguments.text and arguments.format != "tei":
        return "--edition is for --tei, or --text with --format tei"
    if arguments.tei and not (arguments.edition or arguments.undo):
        return "--tei needs --edition: a shipped one (--edition tei), or a TOML file"
    if arguments.tei and not (arguments.output or arguments.candidates):
        return "--tei needs --output, a folder for the files (or --candidates)"
    if arguments.documents and not arguments.output:
        return "--documents needs --output, the dataset to write"
    if not 0 <= arguments.threshold <= 1:
        return f"--threshold {arguments.threshold}: a probability, from 0 to 1"
    return ""


if __name__ == "__main__":
    sys.exit(main())
