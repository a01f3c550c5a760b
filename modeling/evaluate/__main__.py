r"""Score taggers on tagged sentences, with confidence intervals, a baseline and all errors.

Examples:
  onoma evaluate runs/sturm --ner build/sturm/ner --split test
  onoma evaluate runs/ddt --ner build/ddt --split test --without MISC
  onoma evaluate runs/ddt --ner build/wikiann --split test --labels map.toml
  onoma evaluate runs/crf --ner build/ddt --split test --against runs/softmax
  onoma evaluate runs/new --ner build/ddt --against store/ddt-tagger/20261001 \
      --fail-if-worse
  onoma evaluate runs/cv --ner build/ddt

Of a run with several settings, the one that is best on dev is scored, with all of its seeds. Each
tagger of a cross-validation is scored on its own part, and all parts are reported together.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.system.arguments import Summary, option
from modeling.command import as_json, show, start


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    run: Path = option(
        positional=True,
        metavar="RUN",
        help="run of onoma finetune, one of its taggers, or an archive",
    )
    ner: Path = option(metavar="DIR", help="dataset of tagged sentences to score on")
    split: str = option(
        "test",
        choices=("train", "dev", "test"),
        help="part of --ner to score on; taggers of a cross-validation use the parts of their "
        "folds (default: test)",
    )
    level: str | None = option(
        None,
        choices=("outer", "inner", "both"),
        help="names to score, where names stand inside names (default: those that RUN has learned)",
    )
    output: Path | None = option(
        None,
        metavar="DIR",
        help="folder of the report (default: RUN/evaluation/DATASET-SPLIT; needed for an archive)",
    )
    decoder: str | None = option(
        None,
        metavar="NAME",
        help="decoder, or several such as free,fix,viterbi with a report for each (default: the "
        "tagger's own)",
    )
    every_setting: bool = option(
        default=False,
        help="score all settings that were tried, with a report for each, not only the best on dev",
    )
    without: tuple[str, ...] = option(
        (), metavar="LABEL", help="labels that are left out of an additional score"
    )
    labels: str | None = option(
        None,
        metavar="NAME|FILE",
        help="map of labels, applied to gold tags and predictions: a built-in name or a TOML "
        "file, as in onoma benchmark --labels",
    )
    train: Path | None = option(
        None,
        metavar="DIR",
        help="dataset that RUN was trained on, for separate scores of seen and unseen names "
        "(default: --ner)",
    )
    against: Path | None = option(
        None,
        metavar="RUN",
        help="another run, or an archive, to compare with: agreement, and a paired bootstrap of "
        "the difference in strict F1; of both runs the best setting on dev is compared",
    )
    fail_if_worse: bool = option(
        default=False,
        help="with --against: exit with status 3 if strict F1 is lower and the 95 %% interval of "
        "the difference is below 0",
    )
    replicates: int = option(
        1000, at_least=0, help="number of replicates of the bootstrap (default: 1000)"
    )
    json: bool = as_json()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 for an error, 2 for a wrong command, 3 for a worse run."""
    return start(Options, argv, _evaluate, name="evaluate", about=__doc__)


def _evaluate(options: Options) -> Summary | None:
    from modeling.evaluate.runs import run  # noqa: PLC0415 - loads torch

    return show(run(options))


if __name__ == "__main__":
    sys.exit(main())
