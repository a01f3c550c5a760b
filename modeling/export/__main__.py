"""Write a trained model in a form that others can use, with a card that says what it is.

Examples:
  python -m modeling.export runs/first --output build/model
  python -m modeling.export runs/first/average --output build/model --without-heads
  python -m modeling.export runs/sturm --output build/sturm
  python -m modeling.export runs/sturm --output build/sturm-onnx --to onnx
  python -m modeling.export runs/sturm --archive sturm.onoma --licence CC-BY-4.0 --language de

The first is for transformers' AutoModelForMaskedLM (entities: LukeForMaskedLM), the second for
AutoModel, the third for AutoModelForTokenClassification (LUKE: LukeForEntitySpanClassification),
the fourth for onnxruntime, the last one file for modeling.Tagger.load. docs/exporting.md says which
models have which form.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora.errors import CorpusError
from corpora.system.arguments import ArgumentParser

ABOUT = __doc__


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, write the model; 0, or 1 for an error, 2 for a wrong command."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    model: Path = arguments.model
    for name in ("output", "archive"):
        path: Path | None = getattr(arguments, name)
        if path is not None and path.exists():
            parser.error(f"--{name} {path}: is there already. Choose another name.")
    if not any(_files_of_models(model)):
        parser.error(f"{model}: has no model (config.json, tagger.json), nor a final/ with one.")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # torch and transformers take seconds to load: after the options are known to be right
    from modeling.config import ConfigError  # noqa: PLC0415
    from modeling.export import commands  # noqa: PLC0415
    from modeling.export.card import About  # noqa: PLC0415
    from modeling.models.weights import WeightsError  # noqa: PLC0415

    request = commands.Request(
        model=model,
        output=arguments.output,
        archive=arguments.archive,
        form=arguments.to,
        has_heads=not arguments.without_heads,
        about=About(
            name=arguments.name or model.resolve().name,
            licence=arguments.licence,
            data_licence=arguments.data_licence,
            language=arguments.language,
        ),
    )
    try:
        commands.check(request)
        for line in commands.run(request):
            sys.stdout.write(f"{line}\n")
    except (ConfigError, CorpusError, WeightsError, OSError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


def _files_of_models(path: Path) -> list[Path]:
    """The files that say that something is a model, or a run with models."""
    names = ("config.json", "tagger.json", "final/config.json", "final/tagger.json", "summary.json")
    return [path / name for name in names if (path / name).is_file()]


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.export",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "model",
        type=Path,
        metavar="RUN",
        help="a run of modeling.pretrain or modeling.finetune (its best tagger), or a model, a "
        "checkpoint or a tagger of one",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--output", type=Path, metavar="DIR", help="the folder to write")
    where.add_argument(
        "--archive", type=Path, metavar="FILE", help="one file, for modeling.Tagger|Encoder.load"
    )
    add(
        "--to",
        choices=("huggingface", "onnx"),
        default="huggingface",
        help="what reads the folder (default: huggingface; onnx needs the extra onnx)",
    )
    add("--without-heads", action="store_true", help="of a pre-trained model, the encoder alone")
    about = parser.add_argument_group("for the card")
    about.add_argument("--name", default="", help="(default: that of the folder)")
    about.add_argument("--licence", default="", metavar="ID", help="of the model, as CC-BY-4.0")
    about.add_argument("--data-licence", default="", metavar="ID", help="of what it learned from")
    about.add_argument("--language", default="", metavar="TAG,TAG", help="as de")
    return parser


if __name__ == "__main__":
    sys.exit(main())
