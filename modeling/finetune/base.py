"""The encoder that a tagger begins with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.datasets.shards import sha256_of
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig
from modeling.huggingface import read_pretrained

CONFIG = "config.json"


@dataclass(frozen=True, slots=True)
class Base:
    """A folder with a pre-trained encoder and its tokenizer."""

    folder: Path
    config: EncoderConfig
    tokenizer: Tokenizer
    identity: dict[str, Any]
    """Name, and the hashes of the files with weights."""

    @classmethod
    def open(cls, path: Path) -> "Base":
        """Open a run of ``modeling.pretrain``, a model of one, or a folder of transformers.

        Raises ``CorpusError`` or ``WeightsError`` where there is none that can be read.
        """
        folder = find_model(path)
        tokenizer = Tokenizer.open(folder)
        config = read_pretrained(folder).config.encoder
        if tokenizer.size > config.n_pieces:
            raise CorpusError(
                f"{folder}: its tokenizer has {tokenizer.size} pieces, its encoder only "
                f"{config.n_pieces}: they are not of one model."
            )
        files = sorted(folder.glob("*.safetensors")) + sorted(folder.glob("*.bin"))
        identity = {
            "name": _name_of(folder),
            "sha256": {file.name: sha256_of(file) for file in files},
        }
        return cls(folder, config, tokenizer, identity)


def _name_of(folder: Path) -> str:
    """Of the run, where the folder is a model of one: ``final`` and the like say nothing."""
    folder = folder.resolve()
    if folder.parent.name == "checkpoints":
        return f"{folder.parent.parent.name}-{folder.name}"
    return folder.parent.name if folder.name == "final" else folder.name


def find_model(path: Path) -> Path:
    """The folder with ``config.json``: this one, or its ``final``; or else ``CorpusError``."""
    for folder in (path, path / "final"):
        if (folder / CONFIG).is_file():
            return folder
    raise CorpusError(
        f"{path}: has no model ({CONFIG}), nor a final/ with one. Name a run of modeling.pretrain "
        "that is finished, a checkpoint of one, or a folder of transformers."
    )
