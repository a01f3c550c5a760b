"""Files of weights (``model.safetensors``), and checks that they fit the model."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from corpora.errors import CorpusError
from modeling.config import EncoderConfig
from modeling.models.text_encoder import Undrawn
from modeling.tagging_config import WEIGHTS_FILE

_SHOWN: Final = 8  # most names in a message


_M = TypeVar("_M", bound=nn.Module)


class WeightsError(CorpusError, ValueError):
    """The error for weights that are missing, unexpected, damaged, or of another shape."""


def save_weights(state: Mapping[str, Tensor], folder: Path) -> None:
    """Write ``model.safetensors`` into a folder that is there."""
    write_tensors(folder / WEIGHTS_FILE, state, metadata={"format": "pt"})


def write_tensors(
    file: Path, state: Mapping[str, Tensor], *, metadata: dict[str, str] | None = None
) -> None:
    """Write tensors of any device to a safetensors file, with the permissions of any new file.

    Raises ``OSError`` if that fails, as on a full disk; no half of the file is left.
    """
    tensors = {name: tensor.detach().contiguous().cpu() for name, tensor in state.items()}
    file.unlink(missing_ok=True)  # left by a killed process, or a link to another file
    file.touch()
    mode = file.stat().st_mode
    try:
        save_file(tensors, file, metadata=metadata)  # makes new files readable by their owner only
    except SafetensorError as error:
        file.unlink()
        raise OSError(
            f"{file}: not written ({error}). If the disk is full, make room; then give the same "
            "command again."
        ) from error
    file.chmod(mode & 0o777)


def load_weights(file: Path) -> dict[str, Tensor]:
    """Read a ``.safetensors`` file; ``WeightsError`` if it is missing, damaged or not finite."""
    if not file.is_file():
        raise WeightsError(f"{file}: no such file. Name a folder with {WEIGHTS_FILE}.")
    try:
        tensors = load_file(file)
    except SafetensorError as error:
        raise WeightsError(f"{file}: damaged ({error}). Copy or make it again.") from error
    check_finite(tensors, where=file)
    return tensors


def check_finite(tensors: Mapping[str, Tensor], *, where: object) -> None:
    """Raise ``WeightsError`` that names the first tensor with NaN or an infinite value."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.numel() and not _is_finite(tensor):
            raise WeightsError(
                f"{where}: {name} has values that are no numbers, or infinite. Copy the weights "
                "again; if they were so, the training diverged: take an earlier checkpoint."
            )


def _is_finite(tensor: Tensor) -> bool:
    """Tell whether all values are finite, without the copy that ``isfinite`` of a tensor makes.

    If a value is NaN, ``aminmax`` returns NaN as both the smallest and the largest.
    """
    if tensor.itemsize == 1:  # float8, whose values torch does not compare
        tensor = tensor.float()
    return all(bool(torch.isfinite(extreme)) for extreme in torch.aminmax(tensor))


def check_size(encoder: EncoderConfig, tensors: Mapping[str, Tensor], *, where: object) -> None:
    """Raise ``WeightsError`` where settings ask for more values than the weights have.

    This is checked before a model is built, as building takes the memory that settings ask for.
    """
    n_values = sum(tensor.numel() for tensor in tensors.values())
    least = encoder.least_values
    if encoder.foreign:
        from modeling.models.foreign import count_values  # noqa: PLC0415 - needs transformers

        least = count_values(encoder)
    if least > n_values:
        raise WeightsError(
            f"{where}: not the weights of this model. They are {n_values:,} values, and the "
            f"settings are of an encoder with {least:,} or more. Copy both again."
        )


def load_strictly(model: nn.Module, state: Mapping[str, Tensor], *, where: object) -> None:
    """Copy weights into a model.

    Raises ``WeightsError`` that names tensors that are missing, unexpected or of another shape.
    """
    check_weights(model, state, where=where)
    model.load_state_dict(state)


def load_model(make: Callable[[], _M], encoder: EncoderConfig, folder: Path) -> _M:
    """Build a model with the weights of a folder; ``WeightsError`` if they are of another model."""
    weights = load_weights(folder / WEIGHTS_FILE)
    check_size(encoder, weights, where=folder)
    with Undrawn():
        model = make().float()  # whatever type the program has made the default
    load_strictly(model, weights, where=folder)
    return model


def check_weights(
    model: nn.Module, state: Mapping[str, Tensor], *, where: object, partly: bool = False
) -> None:
    """Raise ``WeightsError`` unless names and shapes fit; ``partly``: tensors may be missing."""
    expected = model.state_dict()
    problems = []
    if not partly:
        problems += _listed("missing", [name for name in expected if name not in state])
    problems += _listed("unexpected", [name for name in state if name not in expected])
    problems += _listed(
        "of another shape",
        [
            f"{name} {tuple(tensor.shape)}, here {tuple(expected[name].shape)}"
            for name, tensor in state.items()
            if name in expected and tensor.shape != expected[name].shape
        ],
    )
    if problems:
        raise WeightsError(
            f"{where}: not the weights of this model. " + " ".join(problems) + " Take the settings "
            "that the weights were made with."
        )


def _listed(what: str, names: list[str]) -> list[str]:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [f"{what}: {', '.join(names[:_SHOWN])}{more}."] if names else []
