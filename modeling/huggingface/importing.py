"""Import of pre-trained models from folders: weights in safetensors or, read safely, pickles."""

import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from corpora.system.files import is_one_plain_name
from corpora.system.parsing import parse_json
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.huggingface import names, settings
from modeling.models import foreign
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.text_encoder import Undrawn
from modeling.models.weights import WeightsError, check_finite, load_weights
from modeling.tagging_config import WEIGHTS_FILE

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_FILES: Final = (WEIGHTS_FILE, "pytorch_model.bin")
_ADAPTER: Final = "adapter_config.json"


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read all tensors by name, floating-point ones as float32.

    ``pytorch_model.bin`` is a pickle: only tensors are read from it, and no code is run. Raises
    ``WeightsError`` if there are no weights.
    """
    for name in _FILES:
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return _as_float32(_read(folder / name))
        if index.is_file():
            return _as_float32(_read_shards(index))
    advice = "Get them, or take another model."
    if (folder / _ADAPTER).is_file():
        advice = (
            "It is an adapter: merge it into its model (merge_and_unload() of peft), and save that "
            "(save_pretrained)."
        )
    raise WeightsError(f"{folder}: has no weights; expected {' or '.join(_FILES)}. {advice}")


def _read_shards(index: Path) -> dict[str, Tensor]:
    """Read the tensors of all files that an index names; these must lie beside the index."""
    try:
        names = set(parse_json(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError) as error:
        raise WeightsError(f"{index}: damaged ({error!r}). Get the model again.") from error
    if strange := [name for name in names if not is_one_plain_name(name)]:
        raise WeightsError(f"{index}: names {strange[0]!r}, which is not beside it.")
    shards = [_read(index.parent / name) for name in sorted(names)]
    return {name: tensor for shard in shards for name, tensor in shard.items()}


def _read(file: Path) -> dict[str, Tensor]:
    if file.suffix == ".safetensors":
        return load_weights(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about what else could be loaded
            tensors = torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise WeightsError(
            f"{file}: not read: it is damaged, or holds more than tensors, which is never loaded. "
            "Get it again, or take a model in safetensors."
        ) from error
    if not isinstance(tensors, dict) or not all(map(torch.is_tensor, tensors.values())):
        raise WeightsError(
            f"{file}: not read: it is no table of tensors by name. Take a model that transformers "
            "has saved (save_pretrained)."
        )
    check_finite(tensors, where=file)
    return tensors


def _as_float32(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }


@dataclass(frozen=True, slots=True)
class Pretrained:
    """The settings and weights of a pre-trained model in a folder."""

    config: PretrainConfig
    """Settings with the ``encoder`` and ``heads`` of these weights; the rest has default values."""
    weights: dict[str, Tensor]
    """All weights of ``PretrainingModel.from_config(config)``, by our names."""
    copied: tuple[str, ...]
    """Our names of weights that the folder lacks, and that are copies of other weights in it."""
    unused: tuple[str, ...]
    """The folder's names of weights that our model has no place for."""

    def build(self) -> PretrainingModel:
        """Build the model with these weights."""
        with Undrawn():
            model = PretrainingModel.from_config(self.config).float()
        model.load_state_dict(self.weights)
        return model


def read_pretrained(folder: Path) -> Pretrained:
    """Read a folder of transformers, or one that our models were saved in.

    BERT, RoBERTa, ELECTRA, DistilBERT and LUKE become encoders of ours. A model with other layers
    (``modeling.models.foreign``) is run by transformers; its weights are those of its base model.
    If a LUKE has no separate queries for entities, these are copies of the plain query.
    Raises ``WeightsError`` if weights are missing, or if the model cannot be read.
    """
    values = settings.read_json(folder)
    if "encoder" in values:
        config = PretrainConfig.from_json(values)
        return Pretrained(config, load_weights(folder / WEIGHTS_FILE), copied=(), unused=())
    if settings.is_foreign(values):
        return _read_foreign(values, folder)
    theirs = settings.to_config(values, where=folder)
    found = {
        names.our_form(name, theirs.model_type): tensor
        for name, tensor in read_tensors(folder).items()
    }
    config = PretrainConfig(
        encoder=settings.read_encoder_config(theirs), heads=_find_heads(found, theirs)
    )
    with torch.device("meta"):
        expected = dict(PretrainingModel.from_config(config).state_dict())
    return _rename(found, expected, config=config, theirs=theirs, where=folder)


def read_encoder_config(folder: Path) -> EncoderConfig:
    """Read the settings of the encoder in a folder, without its weights."""
    values = settings.read_json(folder)
    if "encoder" in values:
        return PretrainConfig.from_json(values).encoder
    if settings.is_foreign(values):
        return foreign.encoder_config(values)
    return settings.read_encoder_config(settings.to_config(values, where=folder))


def _read_foreign(values: settings.Settings, folder: Path) -> Pretrained:
    """Read the weights of a base model that transformers runs, under transformers' names."""
    config = foreign.encoder_config(values)
    tensors = read_tensors(folder)
    with torch.device("meta"):
        model = foreign.build_model(config)
    prefix = f"{model.base_model_prefix}."
    found = {names.new_form(name.removeprefix(prefix)): tensor for name, tensor in tensors.items()}
    expected = model.state_dict()
    if missing := [name for name in expected if name not in found]:
        raise WeightsError(_lacks(folder, missing))
    weights = {f"encoder.model.{name}": found.pop(name).contiguous() for name in expected}
    wrong = [n for n, like in expected.items() if weights[f"encoder.model.{n}"].shape != like.shape]
    if wrong:
        raise WeightsError(f"{folder}: {wrong[0]} has another shape than config.json says.")
    heads = HeadsConfig(weights={})
    return Pretrained(
        PretrainConfig(encoder=config, heads=heads), weights, copied=(), unused=tuple(sorted(found))
    )


def _find_heads(found: dict[str, Tensor], theirs: "PretrainedConfig") -> HeadsConfig:
    """Find the heads that are read: those that are there, and compute what ours compute.

    The subword head of RoBERTa and LUKE always has GELU, and ours the activation of the layers. Our
    entity head has no vectors of its own.
    """
    head = names.subword_head(theirs.model_type)
    is_there = f"{head}.bias" in found or f"{head}.decoder.bias" in found
    objectives = {
        "subwords": is_there and (theirs.model_type == "bert" or theirs.hidden_act == "gelu"),
        "entities": "entity_predictions.bias" in found
        and (
            names.ENTITY_DECODER not in found
            or _are_equal(found, names.ENTITY_DECODER, names.ENTITIES)
        ),
        "pairs": set(names.PAIRS + names.POOLER) <= set(found),
    }
    decoder = f"{head}.decoder.weight"
    is_tied = decoder not in found or _are_equal(found, decoder, names.EMBEDDING)
    return HeadsConfig(
        weights={name: 1.0 for name, is_there in objectives.items() if is_there}, tied=is_tied
    )


def _rename(
    found: dict[str, Tensor],
    expected: dict[str, Tensor],
    *,
    config: PretrainConfig,
    theirs: "PretrainedConfig",
    where: Path,
) -> Pretrained:
    """Rename and reshape the tensors to ours; list those that are copies, and those not used.

    Raises ``WeightsError`` if one is missing or has another shape than the settings say.
    """
    used = _without_ties(found, theirs.model_type)
    of_theirs = {name: names.their_name(name, theirs.model_type) for name in expected}
    weights = {name: used.pop(other) for name, other in of_theirs.items() if other in used}
    copies = {}
    for name in expected.keys() - weights.keys():
        plain = names.plain_query(name)
        if plain in weights:
            copies[name] = weights[plain].clone()
    weights = _to_our_shapes(weights | copies, config=config, theirs=theirs)
    if missing := [str(of_theirs[name]) for name in expected if name not in weights]:
        raise WeightsError(_lacks(where, missing))
    wrong = [name for name, like in expected.items() if weights[name].shape != like.shape]
    if wrong:
        shape, expectation = tuple(weights[wrong[0]].shape), tuple(expected[wrong[0]].shape)
        raise WeightsError(
            f"{where}: {of_theirs[wrong[0]]} has the shape {shape}, by config.json {expectation}."
        )
    unused = tuple(sorted(name for name in used if not names.BUFFERS.fullmatch(name)))
    in_order = {name: weights[name].contiguous() for name in expected}
    return Pretrained(config, in_order, copied=tuple(sorted(copies)), unused=unused)


def _lacks(where: Path, missing: Sequence[str]) -> str:
    return (
        f"{where}: has no {', '.join(missing[:8])} ({len(missing)} missing). Its weights are not "
        "those of its config.json: get both again."
    )


def _without_ties(found: dict[str, Tensor], model_type: str) -> dict[str, Tensor]:
    """Return the tensors, each tied one only once, under the name that we know."""
    head = names.subword_head(model_type)
    found = dict(found)
    if f"{head}.decoder.bias" in found:  # where both exist, transformers adds this one
        found[f"{head}.bias"] = found.pop(f"{head}.decoder.bias")
    for decoder, table in (
        (f"{head}.decoder.weight", names.EMBEDDING),
        (names.ENTITY_DECODER, names.ENTITIES),
    ):
        if _are_equal(found, decoder, table):
            del found[decoder]
    return found


def _are_equal(found: dict[str, Tensor], one: str, other: str) -> bool:
    return one in found and other in found and torch.equal(found[one], found[other])


def _to_our_shapes(
    weights: dict[str, Tensor], *, config: PretrainConfig, theirs: "PretrainedConfig"
) -> dict[str, Tensor]:
    """Cut off rows of positions that are never reached, and reverse the classes of pairs."""
    first, n_positions = settings.first_position(theirs), config.encoder.max_positions
    changed = dict(weights)
    for name, tensor in weights.items():
        match names.their_name(name, theirs.model_type):
            case names.POSITIONS:
                changed[name] = tensor[first:]
            case names.ENTITY_POSITIONS:
                changed[name] = tensor[:n_positions]
            case "cls.seq_relationship.weight" | "cls.seq_relationship.bias":
                changed[name] = tensor.flip(0)  # theirs: 0 if text 2 follows
    return changed
