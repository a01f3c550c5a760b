"""Weights in files: ``model.safetensors``, without what is shared twice, and read strictly."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

FILE: Final = "model.safetensors"
_SHOWN: Final = 8  # names in a message


class WeightsError(ValueError):
    """Weights are missing, unexpected, damaged, or of another shape."""


def save_weights(state: Mapping[str, Tensor], folder: Path) -> None:
    """Write ``model.safetensors`` into a folder that is there."""
    write_tensors(folder / FILE, state, metadata={"format": "pt"})


def write_tensors(
    file: Path, state: Mapping[str, Tensor], *, metadata: dict[str, str] | None = None
) -> None:
    """Write safetensors, of tensors on any device; who may read it is as for other new files."""
    tensors = {name: tensor.detach().contiguous().cpu() for name, tensor in state.items()}
    file.unlink(missing_ok=True)  # of a process that was killed; or a link to another file
    file.touch()
    mode = file.stat().st_mode
    save_file(tensors, file, metadata=metadata)  # which lets its owner alone read a new file
    file.chmod(mode & 0o777)


def load_weights(file: Path) -> dict[str, Tensor]:
    """Read a ``.safetensors`` file; ``WeightsError`` if it is missing or damaged."""
    if not file.is_file():
        raise WeightsError(f"{file}: no such file. Name a folder with {FILE}.")
    try:
        return load_file(file)
    except SafetensorError as error:
        raise WeightsError(f"{file}: damaged ({error}). Copy or make it again.") from error


def load_strictly(model: nn.Module, state: Mapping[str, Tensor], *, where: object) -> None:
    """Copy weights into a model; ``WeightsError`` that names what is missing, new or misshapen."""
    check_weights(model, state, where=where)
    model.load_state_dict(state)


def check_weights(
    model: nn.Module, state: Mapping[str, Tensor], *, where: object, partly: bool = False
) -> None:
    """Raise ``WeightsError`` unless names and shapes are the model's; ``partly``: or some."""
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
