r"""Pre-train an encoder on datasets of examples.

Examples:
  onoma pretrain neiss_small --examples build/examples --output runs/first
  onoma pretrain daluke --examples build/examples --init-from models/bert \
      --set training.micro_batch_size=60 training.precision=bfloat16 --output runs/daluke
  torchrun --nproc-per-node 4 -m modeling.pretrain neiss --examples build/examples --output runs/x

The same command resumes from the last checkpoint. Ctrl-C and SIGTERM write a checkpoint and end
the run with exit status 130 or 143; a second Ctrl-C ends it at once.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.system.arguments import SUMMARY, Summary, option, option_table, say
from modeling.command import Termination, check_given, show, start

if TYPE_CHECKING:
    from modeling.config import PretrainConfig

_RESUMES = " from the last checkpoint, or, without one, at the first step"


@option_table
class Options:
    """Options of the command."""

    recipe: str = option(
        "name of a recipe, which is a set of settings; --list prints all",
        None,
        positional=True,
        nargs="?",
    )
    examples: tuple[Path, ...] = option(
        "datasets made by onoma examples; --set data.weights=[0.7,0.3] mixes several by weight "
        "(default: by size)"
    )
    output: Path = option("folder of the run; a run that was stopped is resumed there", None)
    init_from: Path | None = option(
        "model whose weights training starts from: a BERT or LUKE of transformers, "
        "hub:NAME[@REVISION], final/ or a checkpoint of another run (default: random weights)"
    )
    set: tuple[str, ...] = option(
        "settings that replace those of the recipe, such as optimizer.lr=1e-4 "
        "training.max_steps=5000",
        metavar="NAME=VALUE",
    )
    force: bool = option(
        "resume the run in --output even if settings, examples, --init-from or the number of "
        "processes differ"
    )
    estimate: bool = option(
        "print the memory and the hours that the run would take, and train nothing; with "
        "--examples, steps are timed on this machine"
    )
    list: bool = option("print all recipes")
    json: bool = option(SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and train; exit status 0, 1 for an error, 2 for a wrong command."""
    return start(Options, argv, _pretrain, name="pretrain", about=__doc__, resumes=_RESUMES)


def _pretrain(options: Options) -> Summary | None:
    from modeling.recipes.pretraining_recipes import RECIPES  # noqa: PLC0415 - for --help

    if options.list:
        say(RECIPES.listing())
        return Summary({"recipes": RECIPES.about})
    needed = () if options.estimate else ("examples", "output")
    check_given(options, "recipe", *needed)
    chosen = RECIPES.recipe(options.recipe)
    config = chosen.override(options.set)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for training.deterministic
    # torch takes seconds to load, so the options are checked first
    from modeling.huggingface.hub import local_folder  # noqa: PLC0415
    from modeling.huggingface.transfer import with_settings_of  # noqa: PLC0415
    from modeling.training.jobs import PretrainingJob  # noqa: PLC0415
    from modeling.training.pretraining_run import pretrain  # noqa: PLC0415
    from modeling.training.run_log import Display, read_metrics  # noqa: PLC0415
    from modeling.training.world import join_world  # noqa: PLC0415

    base = local_folder(options.init_from) if options.init_from else None
    if base is not None:
        encoder = with_settings_of(chosen.encoder, base)
        config = replace(chosen, encoder=encoder).override(options.set)
    if options.estimate:
        return show(_estimated(options, config))
    job = PretrainingJob(
        recipe=options.recipe,
        config=config,
        examples=options.examples,
        output=options.output,
        init_from=base,
        is_forced=options.force,
    )
    termination = Termination()
    with termination.heard(), join_world() as world:
        display = Display(sys.stderr, max_steps=config.training.max_steps)
        display.is_silent = not world.is_first
        final = pretrain(job, world, display, termination=termination)
        display.say(f"next  onoma report {job.output}")
        if not world.is_first:
            return None
    measured = {str(line["kind"]): line for line in read_metrics(job.output / "metrics.jsonl")}
    return Summary({"output": str(job.output), "model": str(final), "last": measured})


def _estimated(options: Options, config: "PretrainConfig") -> Iterator[str | Summary]:
    from modeling.training.estimate import estimate, lines_of  # noqa: PLC0415 - loads torch
    from modeling.training.sources import open_sources  # noqa: PLC0415

    values = estimate(config, open_sources(options.examples) if options.examples else None)
    yield from lines_of(values, config)
    yield Summary(values)


if __name__ == "__main__":
    sys.exit(main())
