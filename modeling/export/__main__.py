"""Write a trained model in a form that others can use, with a card that says what it is.

Examples:
  python -m modeling.export runs/first --output build/model
  python -m modeling.export runs/first/average --output build/model --without-heads
  python -m modeling.export models/e5 --without-heads --keep-layers 1,5,9,12
      --trim-vocabulary build/letters/documents --output models/student
  python -m modeling.export runs/sturm --output build/sturm
  python -m modeling.export runs/sturm --output build/sturm-onnx --to onnx --int8
  python -m modeling.export runs/sturm --archive sturm.onoma --licence CC-BY-4.0 --language de

The first is for transformers' AutoModelForMaskedLM (entities: LukeForMaskedLM), the second and
third for AutoModel, the fourth for AutoModelForTokenClassification (LUKE:
LukeForEntitySpanClassification), the fifth for onnxruntime, the last one file for
modeling.Tagger.load. docs/exporting.md says which models have which form.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpora.errors import UsageError
from corpora.system.arguments import Summary, option
from modeling.command import as_json, counts, show, start

_CARD, _WHERE = "for the card", "where"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    model: Path = option(
        positional=True,
        metavar="RUN",
        help="a run of modeling.pretrain or modeling.finetune (its best tagger), or a model, a "
        "checkpoint or a tagger of one",
    )
    output: Path | None = option(None, one_of=_WHERE, metavar="DIR", help="the folder to write")
    archive: Path | None = option(
        None, one_of=_WHERE, metavar="FILE", help="one file, for modeling.Tagger|Encoder.load"
    )
    to: Literal["huggingface", "onnx"] = option(
        "huggingface",
        help="what reads the folder (default: huggingface; onnx needs the extra onnx)",
    )
    int8: bool = option(
        default=False, help="of ONNX, weights in a quarter of the size; score it before use"
    )
    without_heads: bool = option(default=False, help="of a pre-trained model, the encoder alone")
    trim_vocabulary: tuple[Path, ...] = option(
        (),
        nargs="+",
        metavar="DIR",
        help="of an encoder, keep the subwords that these datasets of documents or NER sentences "
        "have: the same states there, in a small vocabulary",
    )
    keep_layers: tuple[int, ...] = option(
        (),
        type=counts,
        metavar="N,N",
        help="of an encoder, keep these layers, counted from 1: to be trained again",
    )
    name: str = option("", group=_CARD, help="(default: that of the folder)")
    licence: str = option("", metavar="ID", group=_CARD, help="of the model, as CC-BY-4.0")
    data_licence: str = option("", metavar="ID", group=_CARD, help="of what it learned from")
    language: str = option("", metavar="TAG,TAG", group=_CARD, help="as de")
    json: bool = as_json()

    def __post_init__(self) -> None:
        """Raise ``UsageError`` if there is no model to read, or if the output exists already."""
        for name in ("output", "archive"):
            path: Path | None = getattr(self, name)
            if path is not None and path.exists():
                raise UsageError(f"--{name} {path}: is there already. Choose another name.")
        places = (self.model, self.model / "final")
        models = [place / name for place in places for name in ("config.json", "tagger.json")]
        if not any(path.is_file() for path in (*models, self.model / "summary.json")):
            raise UsageError(
                f"{self.model}: has no model (config.json, tagger.json), nor a final/ with one."
            )

    @property
    def title(self) -> str:
        """The name on the card."""
        return self.name or self.model.resolve().name


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and export; exit status 0, 1 for an error, 2 for a wrong command."""
    return start(Options, argv, _export, name="export", about=__doc__)


def _export(options: Options) -> Summary | None:
    # torch and transformers take seconds to load, so the options are checked first
    from modeling.export.exporting import run  # noqa: PLC0415

    return show(run(options))


if __name__ == "__main__":
    sys.exit(main())
