"""Write a trained model as a folder that transformers loads.

Examples:
  python -m modeling.export runs/first --output build/model
  python -m modeling.export runs/first/average --output build/model --without-heads
  python -m modeling.export runs/first/checkpoints/step-020000 --output build/model

The first is for AutoModelForMaskedLM (entities: LukeForMaskedLM), the second for AutoModel.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

ABOUT = __doc__


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, write the folder; 0, or 1 for an error, 2 for a wrong command."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    output: Path = arguments.output
    if output.exists():
        parser.error(f"--output {output}: is there already. Choose another folder.")
    folder: Path = arguments.model
    if not (folder / "config.json").exists():
        folder /= "final"
    if not (folder / "config.json").exists():
        parser.error(f"{arguments.model}: has no model (config.json), nor a final/ with one.")
    # torch and transformers take seconds to load: after the options are known to be right
    from corpora.errors import CorpusError  # noqa: PLC0415
    from modeling.config import ConfigError  # noqa: PLC0415
    from modeling.huggingface import export  # noqa: PLC0415
    from modeling.models.pretraining import PretrainingModel  # noqa: PLC0415
    from modeling.models.weights import WeightsError  # noqa: PLC0415

    partial = output.with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        model = PretrainingModel.load(folder)
        export(model, partial, folder, has_heads=not arguments.without_heads)
        partial.rename(output)
    except (ConfigError, CorpusError, WeightsError, OSError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    loader = "AutoModel" if arguments.without_heads else "AutoModelForMaskedLM"
    sys.stdout.write(
        f"made {output}\nnext transformers.{loader}.from_pretrained({str(output)!r})\n"
    )
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m modeling.export",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "model", type=Path, metavar="RUN", help="a run, or a model or checkpoint of one"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--without-heads", action="store_true", help="the encoder alone")
    return parser


if __name__ == "__main__":
    sys.exit(main())
