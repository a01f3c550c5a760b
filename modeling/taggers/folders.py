"""Folders of encoders and of taggers: how they are found, and their settings and manifests."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from corpora.errors import CorpusError
from corpora.system.parsing import parse_json
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig
from modeling.huggingface.hub import PREFIX as HUB
from modeling.huggingface.hub import local_folder, origin
from modeling.taggers.archive import opened
from modeling.tagging_config import ONNX_FILE, TAGGER_FILE, WEIGHTS_FILE, TaggerConfig
from modeling.training.records import Manifest, ModelIdentity
from modeling.training.run_folder import identify

CONFIG: Final = "config.json"
SUMMARY: Final = "summary.json"
MANIFEST: Final = "run.json"


class TrialRow(TypedDict):
    """A model that was trained, and its score on dev."""

    name: str
    setting: str
    seed: int
    fold: int | None
    epoch: int | None
    strict_f1: float | None
    shortfall: str
    """What it cannot do on dev; empty: it is above the list of the names of train."""


class SettingRow(TypedDict):
    """The scores on dev of the models of one setting."""

    setting: str
    n: int
    mean: float | None
    deviation: float | None


class TrainingSummary(TypedDict):
    """The content of ``summary.json``; ``best`` and ``tagger`` are None if none could be chosen."""

    trials: list[TrialRow]
    settings: list[SettingRow]
    best: str | None
    tagger: str | None


@dataclass(frozen=True, slots=True)
class Base:
    """A folder with a pre-trained encoder and its tokenizer."""

    folder: Path
    config: EncoderConfig
    tokenizer: Tokenizer
    identity: ModelIdentity
    """The name, the hashes of the weights, and, for a model of a hub, the commit (``revision``)."""

    @classmethod
    def open(cls, path: Path) -> "Base":
        """Open a run of ``onoma pretrain``, a model of one, or a folder of transformers.

        Raises ``CorpusError`` or ``WeightsError`` if there is none that can be read.
        """
        from modeling.huggingface.importing import read_encoder_config  # noqa: PLC0415 - torch

        folder = find_model(path)
        identity: ModelIdentity = {**identify(folder, _name_of(folder)), **origin(folder)}
        config = read_encoder_config(folder)
        return cls(folder, config, open_tokenizer(folder, config), identity)

    @classmethod
    def of_tagger(cls, path: Path) -> "Base":
        """Open a run of ``onoma finetune``, a tagger, or an archive of one, as an encoder.

        Raises ``CorpusError`` if there is none.
        """
        folder = find_tagger(opened(path)).path
        config = read_settings(folder).encoder
        return cls(folder, config, open_tokenizer(folder, config), identify(folder, _name_of(path)))


def open_tokenizer(folder: Path, encoder: EncoderConfig) -> Tokenizer:
    """Open the tokenizer of an encoder; ``CorpusError`` if it has subwords that the encoder lacks.

    This happens if tokens were added to one and not to the other.
    """
    tokenizer = Tokenizer.open(folder)
    if tokenizer.size > encoder.n_subwords:
        raise CorpusError(
            f"{folder}: its tokenizer has {tokenizer.size} subwords, its encoder only "
            f"{encoder.n_subwords}: they are not of one model. Get both again; after adding tokens "
            "in transformers, resize_token_embeddings() and save both."
        )
    return tokenizer


def _name_of(folder: Path) -> str:
    """Name a model by its folder, or by its run if the folder is a checkpoint or ``final``."""
    folder = folder.resolve()
    if folder.parent.name == "checkpoints":
        return f"{folder.parent.parent.name}-{folder.name}"
    return folder.parent.name if folder.name == "final" else folder.name


def find_model(path: Path) -> Path:
    """Find the folder with ``config.json``: the path, its ``final``, or that of ``hub:NAME``.

    Raises ``CorpusError`` if there is none.
    """
    path = local_folder(path)
    for folder in (path, path / "final"):
        if (folder / CONFIG).is_file():
            return folder
    raise CorpusError(
        f"{path}: has no model ({CONFIG}), nor a final/ with one. Name a run of onoma pretrain "
        "that is finished, a checkpoint of one, a folder of transformers, or hub:NAME."
    )


@dataclass(frozen=True, slots=True)
class TaggerFolder:
    """A tagger that a run made."""

    path: Path
    name: str
    """The name of its trial (``seed-1``); empty for a tagger outside of a run."""
    setting: str = ""


def has_tagger(path: Path) -> bool:
    """Tell whether a path is a tagger, or a finished run that made taggers."""
    folders = (path, path / "final")
    return (path / SUMMARY).is_file() or any((f / TAGGER_FILE).is_file() for f in folders)


def find_taggers(path: Path) -> list[TaggerFolder]:
    """Find the taggers of a run, of all settings, in the order of ``summary.json``.

    A path that is a tagger, or whose ``final`` is one, gives this one alone. Raises ``CorpusError``
    if there is none, or if one of them is not finished.
    """
    for folder in (path, path / "final"):
        if (folder / TAGGER_FILE).is_file():
            read_settings(folder)
            return [TaggerFolder(folder, "")]
    taggers = [
        TaggerFolder(path / row["name"] / "final", row["name"], row["setting"])
        for row in _read(path)["trials"]
    ]
    for tagger in taggers:
        if not (tagger.path / TAGGER_FILE).is_file():
            raise CorpusError(
                f"{tagger.path}: no tagger ({TAGGER_FILE}), though {path / SUMMARY} names it. It "
                "is being trained again: run the command of onoma finetune again."
            )
        read_settings(tagger.path)
    return taggers


def weights_of(folder: Path) -> Path:
    """Return the file with a tagger's weights: ours, or ``model.onnx`` if there is only that."""
    ours, exported = folder / WEIGHTS_FILE, folder / ONNX_FILE
    return exported if exported.is_file() and not ours.is_file() else ours


def read_settings(folder: Path) -> TaggerConfig:
    """Read the settings of a tagger.

    Raises ``CorpusError`` if they are missing or damaged, ``ConfigError`` for wrong settings.
    """
    try:
        return TaggerConfig.load(folder / TAGGER_FILE)
    except CorpusError:
        raise
    except (OSError, ValueError, AttributeError) as error:
        raise _damaged(folder / TAGGER_FILE, error) from error


def read_manifest(folder: Path) -> Manifest:
    """Read ``run.json``, which says from what and how a tagger was made.

    Raises ``CorpusError`` if it is missing or damaged.
    """
    path = folder / MANIFEST
    try:
        read: Manifest = parse_json(path.read_text(encoding="utf-8"))
        if lacking := {"config", "examples"} - {*read}:
            raise ValueError(f"without {', '.join(sorted(lacking))}")
        return read
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{path}: missing or damaged ({error}). Copy the whole tagger again.")


def best_taggers(path: Path) -> list[TaggerFolder]:
    """Find the taggers of the setting that is best on dev: one for each seed or fold.

    Raises ``CorpusError`` if there are several settings, and no dev to choose the best.
    """
    taggers = find_taggers(path)
    if len(taggers) == 1:
        return taggers
    best = _read(path)["best"]
    if best is None:
        raise CorpusError(
            f"{path}: several settings were tried, and none is the best, for there was no dev to "
            "score on. Evaluate them all (--every-setting), or name one of the folders in it."
        )
    return [tagger for tagger in taggers if tagger.setting == best]


def find_tagger(path: Path) -> TaggerFolder:
    """Find the one tagger to use: of the best setting, the one that is best on dev."""
    taggers = find_taggers(path)
    if len(taggers) == 1:
        return taggers[0]
    best_taggers(path)
    name = _read(path)["tagger"]
    return next(tagger for tagger in taggers if tagger.name == name)


def _read(path: Path) -> TrainingSummary:
    try:
        summary: TrainingSummary = parse_json((path / SUMMARY).read_text(encoding="utf-8"))
        if lacking := {"trials", "best", "tagger"} - {*summary}:
            raise ValueError(f"without {', '.join(sorted(lacking))}")
        return summary
    except FileNotFoundError:
        is_other = (path / CONFIG).is_file() or str(path).startswith(HUB)
        advice = (
            "If it is a token classifier of transformers, onoma export --to tagger makes a tagger "
            "of it."
        )
        raise CorpusError(
            f"{path}: no tagger ({TAGGER_FILE}), nor a finished run of onoma finetune "
            f"({SUMMARY}). Name the --output of one.{f' {advice}' if is_other else ''}"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise CorpusError(
            f"{path / SUMMARY}: not readable ({error}). The command of onoma finetune writes it "
            "again."
        ) from error
