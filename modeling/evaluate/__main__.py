"""Score taggers so that a reader can trust the number.

Examples:
  python -m modeling.evaluate runs/sturm --ner build/sturm/ner --split test
  python -m modeling.evaluate runs/ddt --ner build/ddt --split test --without MISC
  python -m modeling.evaluate runs/ddt --ner build/wikiann --split test --labels map.toml
  python -m modeling.evaluate runs/crf --ner build/ddt --split test --against runs/softmax
  python -m modeling.evaluate runs/new --ner build/ddt --against store/ddt-tagger/20261001
      --fail-if-worse
  python -m modeling.evaluate runs/cv --ner build/ddt

All seeds of the setting that is best on dev are scored, or, of a cross-validation, each on its own
part. The report lies in RUN/evaluation/DATASET-SPLIT, unless --output says otherwise.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.system.arguments import Summary, option
from modeling.command import as_json, count, positive, show, start


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    run: Path = option(
        positional=True, metavar="RUN", help="a run of modeling.finetune, or one tagger of it"
    )
    ner: Path = option(metavar="DIR", help="a dataset of tagged sentences")
    split: str = option(
        "test",
        choices=("train", "dev", "test"),
        help="(default: test; of a cross-validation, the part of each fold)",
    )
    output: Path | None = option(None, metavar="DIR", help="where the report is written")
    decoder: str | None = option(
        None,
        metavar="NAME",
        help="another than the tagger's own, or several, as free,fix,viterbi: a report each",
    )
    every_setting: bool = option(
        default=False,
        help="score all settings that were tried, a report each; not only the best on dev",
    )
    without: tuple[str, ...] = option(
        (), nargs="+", metavar="LABEL", help="classes that a second score leaves out"
    )
    labels: str | None = option(
        None,
        metavar="NAME|FILE",
        help="a map of labels, for gold and predictions, as benchmark_to_ner has it",
    )
    train: Path | None = option(
        None,
        metavar="DIR",
        help="the dataset that was trained on, if it is not --ner: what it knew is scored apart",
    )
    against: Path | None = option(
        None, metavar="RUN", help="another run: agreement, and a paired bootstrap of the difference"
    )
    fail_if_worse: bool = option(
        default=False,
        help="with --against: exit status 3 where strict F1 is lower, and the whole 95 %% interval "
        "of the difference is below 0",
    )
    seed: int = option(1, type=count, metavar="N", help="of the bootstrap (default: 1)")
    replicates: int = option(1000, type=count, metavar="N", help="of it (default: 1000)")
    batch_size: int = option(32, type=positive, metavar="N", help="sentences at once")
    threads: int = option(0, type=count, metavar="N", help="of torch, on a CPU")
    json: bool = as_json()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 for an error, 2 for a wrong command, 3 for a worse run."""
    return start(Options, argv, _evaluate, name="evaluate", about=__doc__)


def _evaluate(options: Options) -> Summary | None:
    # torch takes seconds to load, so the options are checked first
    import torch  # noqa: PLC0415

    from modeling.evaluate.runs import run  # noqa: PLC0415

    if options.threads:
        torch.set_num_threads(options.threads)
    return show(run(options))


if __name__ == "__main__":
    sys.exit(main())
