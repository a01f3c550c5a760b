r"""Train a tagger, which finds names in text, from a pre-trained encoder.

Examples:
  onoma finetune crf --ner build/sturm/ner --model runs/first --output runs/sturm
  onoma finetune softmax --ner build/ddt --model models/bert --seeds 1,2,3 \
      --set training.epochs=5 --output runs/ddt
  onoma finetune crf --ner build/ddt --model runs/first --output runs/grid \
      --set optimizer.lr=2e-5,5e-5 training.batch_size=8,16
  onoma finetune span --ner build/ddt --model runs/daluke --folds 5 --output runs/cv
  onoma finetune crf --ner build/new --tagger runs/sturm --output runs/more
  onoma finetune crf --ner build/sturm/ner --model build/small --teacher runs/sturm \
      --documents build/letters/documents --output runs/small

If settings have several values, each combination is tried, and the one with the best strict F1 on
dev is chosen. The same command resumes after the last finished epoch.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UsageError
from corpora.system.arguments import SUMMARY, Summary, option, option_table, say
from corpora.system.parsing import read_json
from modeling.command import Termination, check_given, counts, start

if TYPE_CHECKING:
    from modeling.finetune.continuing import Begun
    from modeling.finetune.teaching import Teacher


@option_table
class Options:
    """Options of the command."""

    recipe: str = option(
        "name of a recipe, which is a set of settings; --list prints all",
        None,
        positional=True,
        nargs="?",
    )
    ner: Path = option(
        "dataset of tagged sentences to train on, such as onoma tei and onoma benchmark make", None
    )
    level: str = option(
        "names to learn, where names stand inside names: the outer ones, those inside, or, with a "
        "recipe of spans, both (default: outer)",
        "outer",
        choices=("outer", "inner", "both"),
    )
    model: Path = option(
        "encoder to train: a run of onoma pretrain, its final/ or a checkpoint, a folder of "
        "transformers (BERT, RoBERTa, ELECTRA, DeBERTa, ModernBERT, LUKE ...), or "
        "hub:NAME[@REVISION]",
        None,
    )
    tagger: Path | None = option(
        "tagger to train further, in place of --model; it keeps its encoder, its head and how it "
        "reads sentences",
        metavar="RUN",
    )
    labels: str = option(
        "map from the labels of --tagger to those of --ner: a built-in name or a TOML file "
        "(default: labels stay the same)",
        "",
        metavar="NAME|FILE",
    )
    teacher: Path | None = option(
        "tagger whose probabilities are learned in addition to the tags of --ner (distillation)",
        metavar="RUN",
    )
    documents: tuple[Path, ...] = option(
        "datasets of untagged documents, whose sentences are also learned from --teacher"
    )
    sentences: int = option(
        "number of sentences to use of --documents, chosen by hash (default: all)", 0, at_least=0
    )
    output: Path = option("folder of the run; a run that was stopped is resumed there", None)
    seeds: tuple[int, ...] = option(
        "random seeds; a tagger is trained for each (default: 1)", type=counts, metavar="N,N"
    )
    train_sizes: tuple[int, ...] = option(
        "numbers of training sentences, for a learning curve; a tagger is trained for each (0: "
        "all sentences)",
        type=counts,
        metavar="N,N",
    )
    folds: int = option(
        "number of parts for cross-validation over all splits; a tagger is trained for each part, "
        "on the other parts",
        0,
        at_least=0,
        metavar="K",
    )
    augment_lexicon: str | None = option(
        "names that are looked up, as input of the head: of the training set (train), of a file "
        "(name TAB label), or of an entity vocabulary",
        metavar="train|FILE|DIR",
    )
    set: tuple[str, ...] = option(
        "settings that replace those of the recipe, such as head.decoder=fix; with NAME=A,B each "
        "value is tried",
        metavar="NAME=VALUE",
    )
    force: bool = option(
        "train again from the start if --output holds taggers of other settings, data or model"
    )
    list: bool = option("print all recipes")
    json: bool = option(SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 for an error, or 2 for a wrong command."""
    return start(
        Options, argv, _finetune, name="finetune", about=__doc__, resumes=" from the last epoch"
    )


def _finetune(options: Options) -> Summary:
    from modeling.finetune.trials import check_students, plan_trials  # noqa: PLC0415 - for --help
    from modeling.recipes.tagging_recipes import RECIPES  # noqa: PLC0415

    if options.list:
        say(RECIPES.listing())
        return Summary({"recipes": RECIPES.about})
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError(
            "onoma finetune trains in one process, on one device: start it without torchrun. "
            "Several seeds or settings can be trained at once, each into its own --output."
        )
    check_given(options, "recipe", "ner", *([] if options.tagger else ["model"]), "output")
    if not options.teacher and (options.documents or options.sentences):
        raise UsageError("--documents and --sentences are for --teacher.")
    begun = _begun(options)
    config = RECIPES.recipe(options.recipe)
    config = begun.settings(config) if begun else config
    config = config.override(_lexicon(options.augment_lexicon))
    trials = plan_trials(
        config,
        options.set,
        seeds=options.seeds,
        train_sizes=options.train_sizes,
        n_folds=options.folds,
    )
    if begun:
        begun.check(trials)
    if options.teacher:
        check_students(trials)
    from modeling.finetune.finetuning import finetune  # noqa: PLC0415 - loads torch

    with Termination().heard():
        teacher = _teacher(options)
        path = finetune(options, trials, sys.stderr, begun=begun, teacher=teacher)
    return Summary({"output": str(options.output), **read_json(path)})


def _begun(options: Options) -> "Begun | None":
    """Open the tagger whose training is continued; None if training begins with an encoder."""
    if options.tagger and options.model:
        raise UsageError("--tagger and --model: name one of them.")
    if options.labels and not options.tagger:
        raise UsageError("--labels is for --tagger.")
    if not options.tagger:
        return None
    from corpora.ner.labels import label_map_path, load_label_map  # noqa: PLC0415 - loads pyarrow
    from modeling.finetune.continuing import Begun  # noqa: PLC0415 - loads torch

    labels = load_label_map(label_map_path(options.labels)) if options.labels else None
    return Begun.open(options.tagger, labels)


def _teacher(options: Options) -> "Teacher | None":
    """Open the tagger that is learned from; None without ``--teacher``."""
    if not options.teacher:
        return None
    from modeling.finetune.teaching import Teacher  # noqa: PLC0415 - loads torch

    return Teacher.open(options.teacher, options.documents, n_sentences=options.sentences)


def _lexicon(given: str | None) -> list[str]:
    """Return the settings that ``--augment-lexicon`` stands for."""
    if given is None:
        return []
    if given == "train":
        return ["gazetteer.source=train"]
    source = "entities" if Path(given).is_dir() else "file"
    return [f"gazetteer.source={source}", f"gazetteer.path={json.dumps(given)}"]


if __name__ == "__main__":
    sys.exit(main())
