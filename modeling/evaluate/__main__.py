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
from pathlib import Path

from corpora.system.arguments import SUMMARY, Summary, option, option_table
from modeling.command import show, start


@option_table
class Options:
    """Options of the command."""

    run: Path = option(
        "run of onoma finetune, one of its taggers, or an archive", positional=True, metavar="RUN"
    )
    ner: Path = option("dataset of tagged sentences to score on")
    split: str = option(
        "part of --ner to score on; taggers of a cross-validation use the parts of their folds "
        "(default: test)",
        "test",
        choices=("train", "dev", "test"),
    )
    level: str | None = option(
        "names to score, where names stand inside names (default: those that RUN has learned)",
        choices=("outer", "inner", "both"),
    )
    output: Path | None = option(
        "folder of the report (default: RUN/evaluation/DATASET-SPLIT; needed for an archive)"
    )
    decoder: str | None = option(
        "decoder, or several such as free,fix,viterbi with a report for each (default: the "
        "tagger's own)",
        metavar="NAME",
    )
    every_setting: bool = option(
        "score all settings that were tried, with a report for each, not only the best on dev"
    )
    without: tuple[str, ...] = option(
        "labels that are left out of an additional score", metavar="LABEL"
    )
    labels: str | None = option(
        "map of labels, applied to gold tags and predictions: a built-in name or a TOML file, as "
        "in onoma benchmark --labels",
        metavar="NAME|FILE",
    )
    train: Path | None = option(
        "dataset that RUN was trained on, for separate scores of seen and unseen names (default: "
        "--ner)"
    )
    against: Path | None = option(
        "another run, or an archive, to compare with: agreement, and a paired bootstrap of the "
        "difference in strict F1; of both runs the best setting on dev is compared",
        metavar="RUN",
    )
    fail_if_worse: bool = option(
        "with --against: exit with status 3 if strict F1 is lower and the 95 %% interval of the "
        "difference is below 0"
    )
    replicates: int = option(
        "number of replicates of the bootstrap (default: 1000)", 1000, at_least=0
    )
    json: bool = option(SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 for an error, 2 for a wrong command, 3 for a worse run."""
    return start(Options, argv, _evaluate, name="evaluate", about=__doc__)


def _evaluate(options: Options) -> Summary | None:
    from modeling.evaluate.runs import run  # noqa: PLC0415 - loads torch

    return show(run(options))


if __name__ == "__main__":
    sys.exit(main())
