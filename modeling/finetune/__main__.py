"""Fine-tune an encoder to find names.

Examples:
  python -m modeling.finetune crf --ner build/sturm/ner --model runs/first --output runs/sturm
  python -m modeling.finetune softmax --ner build/ddt --model models/bert --seeds 1,2,3
      --set training.epochs=5 --output runs/ddt
  python -m modeling.finetune crf --ner build/ddt --model runs/first --output runs/grid
      --set optimizer.lr=2e-5,5e-5 training.batch_size=8,16
  python -m modeling.finetune span --ner build/ddt --model runs/daluke --folds 5 --output runs/cv

Settings with several values are tried in each combination, and chosen by strict F1 on dev alone.
The same command goes on where it was stopped.
"""

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import CorpusError
from corpora.system.arguments import ArgumentParser
from modeling.options import count

ABOUT = __doc__


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and train; 0, or 1 for an error, or 2 for a wrong command."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.list:
        return _list_recipes()
    for name in ("recipe", "ner", "model", "output"):
        if not getattr(arguments, name):
            parser.error(f"{'a recipe' if name == 'recipe' else '--' + name} is needed")
    return _train(parser, arguments)


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.finetune",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("recipe", nargs="?", help="known-good settings; --list names them")
    parser.add_argument("--ner", type=Path, metavar="DIR", help="a dataset of tagged sentences")
    parser.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="the encoder: a run of modeling.pretrain, final/ or a checkpoint of one, or a BERT, "
        "RoBERTa or LUKE of transformers",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="the folder of the run")
    parser.add_argument(
        "--seeds", type=_numbers, default=(), metavar="N,N", help="a model for each"
    )
    parser.add_argument(
        "--train-sizes",
        type=_numbers,
        default=(),
        metavar="N,N",
        help="a model for each number of training sentences (0: all), for a learning curve",
    )
    parser.add_argument(
        "--folds",
        type=count,
        default=0,
        metavar="K",
        help="cross-validation over all splits together: K models, each tested on its own part",
    )
    parser.add_argument(
        "--augment-lexicon",
        metavar="train|FILE|DIR",
        help="give the head what a gazetteer says: names of the training set (cross-fitted), of a "
        "file (name TAB label), or of an entity vocabulary",
    )
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="other settings, as head.decoder=fix; with several values (NAME=A,B) each is tried",
    )
    parser.add_argument("--threads", type=count, default=0, metavar="N", help="of torch, on a CPU")
    parser.add_argument(
        "--force",
        action="store_true",
        help="begin anew in --output where settings, data or model are others",
    )
    parser.add_argument("--list", action="store_true", help="list the recipes")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = (-1,)
    if min(numbers) < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: numbers from 0 on, with commas between")
    return numbers


def _list_recipes() -> int:
    from modeling.recipes.tagging import RECIPES, about  # noqa: PLC0415 - for --help

    for name in RECIPES:
        sys.stdout.write(f"{name:<12} {about(name)}\n")
    return 0


def _train(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    from modeling.config import ConfigError  # noqa: PLC0415 - for --help
    from modeling.finetune.trials import plan_trials  # noqa: PLC0415
    from modeling.recipes.tagging import recipe  # noqa: PLC0415

    try:
        config = recipe(arguments.recipe).override(_lexicon(arguments.augment_lexicon))
        trials = plan_trials(
            config,
            arguments.set,
            seeds=arguments.seeds,
            train_sizes=arguments.train_sizes,
            n_folds=arguments.folds,
        )
    except ConfigError as error:
        parser.error(str(error))
    # Before torch is loaded: where another job runs, threads that spin take its time and ours.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    # torch takes seconds to load: after the options are known to be right
    import torch  # noqa: PLC0415

    from modeling.finetune.session import Job, finetune  # noqa: PLC0415
    from modeling.models.weights import WeightsError  # noqa: PLC0415
    from modeling.training.loop import DivergedError  # noqa: PLC0415
    from modeling.training.termination import (  # noqa: PLC0415
        EXIT_STATUS,
        Terminated,
        Termination,
    )

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    job = Job(
        recipe=arguments.recipe,
        trials=tuple(trials),
        ner=arguments.ner,
        model=arguments.model,
        output=arguments.output,
        is_forced=arguments.force,
    )
    try:
        with Termination().heard():
            finetune(job, sys.stderr)
    except (CorpusError, DivergedError, ConfigError, WeightsError) as error:
        sys.stderr.write(f"\n{type(error).__name__}: {error}\n")
        return 1
    except Terminated:
        sys.stderr.write("\nStopped by SIGTERM. The same command resumes from the last epoch.\n")
        return EXIT_STATUS
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The same command resumes from the last epoch.\n")
        return 130
    return 0


def _lexicon(given: str | None) -> list[str]:
    """The settings that ``--augment-lexicon`` stands for."""
    if given is None:
        return []
    if given == "train":
        return ["gazetteer.source=train"]
    source = "entities" if Path(given).is_dir() else "file"
    return [f"gazetteer.source={source}", f"gazetteer.path={json.dumps(given)}"]


if __name__ == "__main__":
    sys.exit(main())
