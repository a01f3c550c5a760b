r"""Export a trained model for other programs, with a model card.

Examples:
  onoma export runs/first --output build/model
  onoma export runs/first/average --output build/model --without-heads
  onoma export models/e5 --without-heads --keep-layers 1,5,9,12 \
      --trim-vocabulary build/letters/documents --output models/student
  onoma export runs/sturm --output build/sturm
  onoma export runs/sturm --output build/sturm-onnx --to onnx --int8
  onoma export runs/sturm --archive sturm.onoma --facts licence=CC-BY-4.0 language=de
  onoma export hub:dslim/bert-base-NER --to tagger --output models/bert-base-ner

What loads the results of these examples:
  1     AutoModelForMaskedLM of transformers (with entities: LukeForMaskedLM)
  2, 3  AutoModel
  4     AutoModelForTokenClassification (span heads: LukeForEntitySpanClassification)
  5     onnxruntime
  6, 7  modeling.Tagger.load

docs/exporting.md says which models can be exported in which form.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from corpora.errors import UsageError
from corpora.system.arguments import SUMMARY, Summary, named_texts, option, option_table
from modeling.command import counts, show, start

_WHERE = "where"
_FACTS = ("name", "licence", "data_licence", "language")


@option_table
class Options:
    """Options of the command."""

    model: Path = option(
        "run of onoma pretrain or onoma finetune (its best tagger is taken), or one of its "
        "models, checkpoints or taggers; a folder of transformers, or hub:NAME[@REVISION]",
        positional=True,
        metavar="RUN",
    )
    output: Path | None = option("folder to write, which must not exist", one_of=_WHERE)
    archive: Path | None = option(
        "file to write, which modeling.Tagger.load or modeling.Encoder.load opens",
        one_of=_WHERE,
        metavar="FILE",
    )
    to: Literal["huggingface", "onnx", "tagger"] = option(
        "form of the folder: for transformers (huggingface), for onnxruntime (onnx, needs the "
        "extra onnx), or, of a token classifier of transformers, a tagger for this project's "
        "commands (tagger) (default: huggingface)",
        "huggingface",
    )
    int8: bool = option(
        "with --to onnx: store weights as int8, in a quarter of the size; check the scores before "
        "use"
    )
    without_heads: bool = option("of a pre-trained model, write only the encoder")
    trim_vocabulary: tuple[Path, ...] = option(
        "of an encoder, keep only the subwords that occur in these datasets of documents or NER "
        "sentences; vectors of their texts stay the same"
    )
    keep_layers: tuple[int, ...] = option(
        "of an encoder, keep only these layers, counted from 1; it must then be trained again",
        type=counts,
        metavar="N,N",
    )
    facts: tuple[str, ...] = option(
        "for the card, name of the model (default: of the folder RUN), its licence, that of its "
        "data, and its languages: name=… licence=CC-BY-4.0 data_licence=… language=de,da",
        metavar="NAME=TEXT",
    )
    json: bool = option(SUMMARY)

    def __post_init__(self) -> None:
        """Raise ``UsageError`` if there is no model to read, or if the output exists already."""
        for name in ("output", "archive"):
            path: Path | None = getattr(self, name)
            if path is not None and path.exists():
                raise UsageError(f"--{name} {path}: is there already. Choose another name.")
        _ = self.on_card  # raises for an unknown name
        places = (self.model, self.model / "final")
        models = [place / name for place in places for name in ("config.json", "tagger.json")]
        is_named = str(self.model).startswith("hub:")
        files = (*models, self.model / "summary.json")
        if not is_named and not any(path.is_file() for path in files):
            raise UsageError(
                f"{self.model}: has no model (config.json, tagger.json), nor a final/ with one."
            )

    @property
    def on_card(self) -> dict[str, str]:
        """The facts on the card, by name."""
        facts = named_texts(self.facts, _FACTS)
        return {**facts, "name": facts["name"] or self.model.resolve().name}


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and export; exit status 0, 1 for an error, 2 for a wrong command."""
    return start(Options, argv, _export, name="export", about=__doc__)


def _export(options: Options) -> Summary | None:
    # torch and transformers take seconds to load, so the options are checked first
    from modeling.export.exporting import run  # noqa: PLC0415

    return show(run(options))


if __name__ == "__main__":
    sys.exit(main())
