"""Look inside an encoder, or the encoder of a tagger: how spans lie, and where heads look.

Examples:
  python -m modeling.inspect runs/sturm --ner build/sturm/ner --plot pca tsne --output build/inside
  python -m modeling.inspect runs/daluke --ner build/ddt --plot pca --spans all --sample 20000
      --output build/inside
  python -m modeling.inspect runs/first --attention "Peter lebt in Frankfurt am Main."
      --layers 1,4 --heads 1,2 --output build/inside

Writes a page, inspection.html, each picture as PNG, and points.tsv with what they show.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import ArgumentParser

ABOUT = __doc__


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and draw; 0, or 1 for an error, or 2 for a wrong command."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    # torch takes seconds to load: after the options are known to be right
    from corpora.document import Span  # noqa: PLC0415
    from modeling.config import ConfigError  # noqa: PLC0415
    from modeling.inspect import commands  # noqa: PLC0415
    from modeling.models.weights import WeightsError  # noqa: PLC0415
    from modeling.predict.masked import parse_spans  # noqa: PLC0415

    try:
        request = commands.Request(
            run=arguments.run,
            output=arguments.output,
            plots=arguments.plot,
            ner=arguments.ner,
            split=arguments.split,
            which=arguments.spans,
            sample=arguments.sample,
            seed=arguments.seed,
            parts=arguments.parts,
            max_words=arguments.max_words,
            neighbours=arguments.neighbours,
            attention=arguments.attention,
            layers=arguments.layers,
            heads=arguments.heads,
            mentions=[Span(*pair) for pair in parse_spans(arguments.entities)],
            lang=arguments.lang,
        )
        commands.check(request)
        for line in commands.run(request):
            sys.stdout.write(f"{line}\n")
    except UsageError as error:
        parser.error(str(error))
    except (CorpusError, ConfigError, WeightsError, ValueError, OSError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.inspect",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="whatever modeling.Encoder.load opens")
    add("--output", type=Path, required=True, metavar="DIR", help="where the pictures go")
    _add_spans(parser.add_argument_group("vectors of spans"))
    group = parser.add_argument_group("attention")
    add = group.add_argument
    add("--attention", metavar="TEXT", help="a sentence: where the heads look")
    add("--layers", type=_numbers, default=(), metavar="N,N", help="(default: all)")
    add("--heads", type=_numbers, default=(), metavar="N,N", help="(default: all)")
    add("--entities", default="", metavar="START:END,…", help="characters that are masked entities")
    add("--lang", metavar="TAG", help="whose rules for words apply")
    return parser


def _add_spans(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--plot",
        nargs="+",
        choices=("pca", "tsne", "umap"),
        default=[],
        help="principal components, t-SNE (needs scikit-learn), UMAP (needs umap-learn)",
    )
    add("--ner", type=Path, metavar="DIR", help="a dataset of tagged sentences")
    add("--split", default="dev", choices=("train", "dev", "test"), help="(default: dev)")
    add(
        "--spans",
        choices=("names", "all"),
        default="names",
        help="those that are tagged, or all runs of words (default: names)",
    )
    add("--max-words", type=int, default=8, metavar="N", help="of a span of all (default: 8)")
    add("--sample", type=int, default=2000, metavar="N", help="drawn at random; 0: all")
    add("--seed", type=int, default=1, metavar="N", help="of that, and of maps (default: 1)")
    add(
        "--parts",
        choices=("both", "words", "entities", "mean"),
        help="[first; last; entity], the first two, the last, or the mean of all pieces (default: "
        "both where the encoder reads entities, else words)",
    )
    add(
        "--neighbours",
        type=float,
        default=30.0,
        metavar="N",
        help="perplexity of t-SNE, neighbours of UMAP (default: 30)",
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
