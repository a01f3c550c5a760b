"""Pre-train an encoder on examples.

Examples:
  python -m modeling.pretrain neiss_small --examples build/examples --output runs/first
  python -m modeling.pretrain daluke --examples build/examples --init-from models/bert
      --set training.micro_batch_size=60 training.precision=bfloat16 --output runs/daluke
  torchrun --nproc-per-node 4 -m modeling.pretrain neiss --examples build/examples --output runs/x

The same command resumes from the last checkpoint. SIGTERM writes one first (exit status 143).
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import CorpusError
from corpora.system.arguments import ArgumentParser

ABOUT = __doc__


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and train; 0, or 1 for an error, or 2 for a wrong command."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.list:
        return _list_recipes()
    for name in ("recipe", "examples", "output"):
        if not getattr(arguments, name):
            parser.error(f"{'a recipe' if name == 'recipe' else '--' + name} is needed")
    return _train(parser, arguments)


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.pretrain",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("recipe", nargs="?", help="known-good settings; --list names them")
    parser.add_argument(
        "--examples",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="made by documents_to_examples; of several, --set data.weights=[0.7,0.3]",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="the folder of the run")
    parser.add_argument(
        "--init-from",
        type=Path,
        metavar="DIR",
        help="weights to begin with: a BERT or LUKE of transformers, or final/ or a checkpoint of "
        "another run",
    )
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="other settings, as optimizer.lr=1e-4 training.max_steps=5000",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="go on in --output though settings, examples or processes are others",
    )
    parser.add_argument("--list", action="store_true", help="list the recipes")
    return parser


def _list_recipes() -> int:
    from modeling.recipes import RECIPES, about  # noqa: PLC0415 - for --help

    for name in RECIPES:
        sys.stdout.write(f"{name:<22} {about(name)}\n")
    return 0


def _train(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    from modeling.config import ConfigError  # noqa: PLC0415 - for --help
    from modeling.recipes import recipe  # noqa: PLC0415

    try:
        config = recipe(arguments.recipe).override(arguments.set)
    except ConfigError as error:
        parser.error(str(error))
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for training.deterministic
    # Before torch is loaded: where another job runs, threads that spin take its time and ours.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    # torch takes seconds to load: after the options are known to be right
    from modeling.models.weights import WeightsError  # noqa: PLC0415
    from modeling.training.jobs import Job  # noqa: PLC0415
    from modeling.training.loop import DivergedError  # noqa: PLC0415
    from modeling.training.run_log import Display  # noqa: PLC0415
    from modeling.training.session import pretrain  # noqa: PLC0415
    from modeling.training.termination import (  # noqa: PLC0415
        EXIT_STATUS,
        Terminated,
        Termination,
    )
    from modeling.training.world import join_world  # noqa: PLC0415

    job = Job(
        recipe=arguments.recipe,
        config=config,
        examples=tuple(arguments.examples),
        output=arguments.output,
        init_from=arguments.init_from,
        is_forced=arguments.force,
    )
    termination = Termination()
    try:
        with termination.heard(), join_world() as world:
            display = Display(sys.stderr, max_steps=config.training.max_steps)
            display.is_silent = not world.is_first
            pretrain(job, world, display, termination=termination)
            display.say(f"next python -m modeling.report {job.output}")
    except (CorpusError, DivergedError, ConfigError, WeightsError) as error:
        sys.stderr.write(f"\n{type(error).__name__}: {error}\n")
        return 1
    except Terminated:
        sys.stderr.write("\nStopped by SIGTERM. The same command resumes from the checkpoint.\n")
        return EXIT_STATUS
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The same command resumes from the last checkpoint.\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
