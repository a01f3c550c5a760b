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
WORSE = 3
"""Exit status of --fail-if-worse."""


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and score; 0, or 1 for an error, 2 for a wrong command, 3 for worse."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    # torch takes seconds to load: after the options are known to be right
    import torch  # noqa: PLC0415 - for --help

    from modeling.config import ConfigError  # noqa: PLC0415
    from modeling.evaluate.runs import Request, WorseError, run  # noqa: PLC0415
    from modeling.models.weights import WeightsError  # noqa: PLC0415

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    request = Request(
        run=arguments.run,
        ner=arguments.ner,
        split=arguments.split,
        output=arguments.output,
        decoder=arguments.decoder,
        every_setting=arguments.every_setting,
        without=tuple(arguments.without),
        labels=arguments.labels,
        train=arguments.train,
        against=arguments.against,
        fail_if_worse=arguments.fail_if_worse,
        seed=arguments.seed,
        replicates=arguments.replicates,
        batch_size=arguments.batch_size,
    )
    try:
        for line in run(request):
            sys.stdout.write(f"{line}\n")
    except UsageError as error:
        parser.error(str(error))
    except WorseError as error:
        sys.stderr.write(f"error: {error}\n")
        return WORSE
    except (CorpusError, ConfigError, WeightsError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.evaluate",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="a run of modeling.finetune, or one tagger of it")
    add("--ner", type=Path, required=True, metavar="DIR", help="a dataset of tagged sentences")
    add(
        "--split",
        default="test",
        choices=("train", "dev", "test"),
        help="(default: test; of a cross-validation, the part of each fold)",
    )
    add("--output", type=Path, metavar="DIR", help="where the report is written")
    add(
        "--decoder",
        metavar="NAME",
        help="another than the tagger's own, or several, as free,fix,viterbi: a report each",
    )
    add(
        "--every-setting",
        action="store_true",
        help="score all settings that were tried, a report each; not only the best on dev",
    )
    add(
        "--without",
        nargs="+",
        default=[],
        metavar="LABEL",
        help="classes that a second score leaves out",
    )
    add(
        "--labels",
        metavar="NAME|FILE",
        help="a map of labels, for gold and predictions, as benchmark_to_ner has it",
    )
    add(
        "--train",
        type=Path,
        metavar="DIR",
        help="the dataset that was trained on, if it is not --ner: what it knew is told apart",
    )
    add(
        "--against",
        type=Path,
        metavar="RUN",
        help="another run: agreement, and a paired bootstrap of the difference",
    )
    add(
        "--fail-if-worse",
        action="store_true",
        help="with --against: exit status 3 where strict F1 is lower, and the whole 95 %% interval "
        "of the difference is below 0",
    )
    add("--seed", type=count, default=1, metavar="N", help="of the bootstrap (default: 1)")
    add("--replicates", type=count, default=1000, metavar="N", help="of it (default: 1000)")
    add("--batch-size", type=positive, default=32, metavar="N", help="sentences at once")
    add("--threads", type=count, default=0, metavar="N", help="of torch, on a CPU")
    return parser


if __name__ == "__main__":
    sys.exit(main())
