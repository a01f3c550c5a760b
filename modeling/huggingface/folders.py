"""The tensors in a folder of weights: one file or many, safetensors or, read safely, pickled."""

import pickle
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from corpora.system.files import is_one_plain_name
from corpora.system.parsing import parse_json
from modeling.models.weights import WeightsError, check_finite, load_weights

_FILES: Final = ("model.safetensors", "pytorch_model.bin")


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors by name, numbers as float32; ``WeightsError`` where there are none.

    ``pytorch_model.bin`` is a pickle: only tensors are read from it, and no code is run.
    """
    for name in _FILES:
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return _as_float32(_read(folder / name))
        if index.is_file():
            return _as_float32(_read_shards(index))
    raise WeightsError(f"{folder}: has no weights; expected {' or '.join(_FILES)}.")


def _read_shards(index: Path) -> dict[str, Tensor]:
    """The tensors of all files that an index names; they must lie beside it."""
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
        tensors = dict(torch.load(file, map_location="cpu", weights_only=True))
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise WeightsError(f"{file}: not read ({error}). Convert it to safetensors.") from error
    check_finite(tensors, where=file)
    return tensors


def _as_float32(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
