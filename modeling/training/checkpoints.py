"""Checkpoints: folders that are either complete or absent.

``step-000500/`` holds tensors (safetensors), JSON, copied files, and ``checkpoint.json`` with the
hash of each file. If the files include the settings of the model, the tokenizer and the entities,
the checkpoint is a usable model. A checkpoint is written under another name, flushed to the disk,
and then renamed.
"""

import logging
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from corpora.errors import CorpusError
from corpora.system.files import is_plain, sha256_of
from corpora.system.parsing import read_json
from corpora.system.writing import appearing, remove_leftovers, write_json
from modeling.models.weights import WeightsError, write_tensors

log = logging.getLogger(__name__)

MANIFEST = "checkpoint.json"
_NAME = re.compile(r"step-(\d{6,})")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint."""

    path: Path
    step: int

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Read a file of tensors by name; empty if there is no such file."""
        path = self.path / name
        return load_file(path) if path.is_file() else {}

    def values(self, name: str) -> Any:  # Any: as ``read_json``
        """Read a file of JSON."""
        return read_json(self.path / name)


def write_checkpoint(
    folder: Path,
    step: int,
    *,
    tensors: Mapping[str, Mapping[str, Tensor]],
    values: Mapping[str, object],
    files: Mapping[str, Path] | None = None,
) -> Checkpoint:
    """Write ``folder/step-…``, in place of an older checkpoint of this name.

    The keys are names of files: ``tensors`` holds tensors by name for each file, ``values`` are
    written as JSON, and ``files`` are copied. Raises ``OSError`` if that fails, as on a full disk;
    no half of a checkpoint is left.
    """
    final = folder / f"step-{step:06d}"
    with appearing(final) as temporary:
        temporary.mkdir(parents=True)
        for name, by_name in tensors.items():
            write_tensors(temporary / name, by_name)
        for name, value in values.items():
            write_json(temporary / name, value)
        for name, source in (files or {}).items():
            shutil.copyfile(source, temporary / name)
        hashes = {path.name: sha256_of(path) for path in sorted(temporary.iterdir())}
        write_json(temporary / MANIFEST, {"step": step, "files": hashes})
    return Checkpoint(final, step)


def load_tensors(path: Path, device: torch.device) -> dict[str, Tensor]:
    """Read safetensors; ``CorpusError`` where the file is missing or damaged."""
    try:
        return load_file(path, device=str(device))
    except (OSError, SafetensorError) as error:
        raise CorpusError(
            f"{path}: not readable ({error}). If the folder was copied, copy it again with all its "
            "files."
        ) from error


def newest(folder: Path, *, begins_again: bool = True) -> Checkpoint | None:
    """Find the newest complete checkpoint; warns of each newer one that is damaged.

    Without a complete one, returns None, so that the run begins again. Where it must not
    (``begins_again``), raises ``CorpusError`` if there are damaged ones.
    """
    reason = None
    for step, path in sorted(_checkpoints(folder), reverse=True):
        reason = _damage(path)
        if reason is None:
            return Checkpoint(path, step)
        log.warning("%s: damaged (%s), so it is passed over.", path, reason)
    if reason is not None and not begins_again:
        raise CorpusError(
            f"{folder}: all checkpoints are damaged. If they were copied, copy them again. To "
            "train again from the first step, remove this folder."
        )
    return None


def prune(folder: Path, *, written: int, keep: int, keep_every: int = 0) -> None:
    """Remove all checkpoints but the newest ``keep`` and those at multiples of ``keep_every``.

    The newest is that of the step ``written``. Later ones are damaged, as the run did not resume
    from them: they stay, and do not count.
    """
    steps = sorted((of for of in _checkpoints(folder) if of[0] <= written), reverse=True)
    for step, path in steps[max(keep, 1) :]:
        if not keep_every or step % keep_every:
            shutil.rmtree(path)
    remove_leftovers(folder)


def _checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in folder.glob("step-*"):
        if match := _NAME.fullmatch(path.name):
            yield int(match[1]), path


def _damage(path: Path) -> str | None:
    """Say what is wrong with a checkpoint; None if nothing is."""
    try:
        manifest = read_json(path / MANIFEST)
        for name, sha256 in manifest["files"].items():
            if not is_plain(name):
                return f"{name!r} is no name of a file of it"
            if sha256_of(path / name) != sha256:
                return f"{name} has other bytes than were written"
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return each tensor of a model once, by name: parameters, and buffers saved with them."""
    seen: set[int] = set()
    weights = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            weights[name] = tensor.detach()
    return weights


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, where: Path) -> None:
    """Copy tensors into a model; ``WeightsError`` if their names or shapes are not the model's."""
    weights = weights_of(model)
    shapes, given = ({n: t.shape for n, t in of.items()} for of in (weights, tensors))
    if different := sorted({name for name, _ in shapes.items() ^ given.items()}):
        raise WeightsError(
            f"{where}: the weights of another model (other names or shapes: {len(different):,}, "
            f"{different[0]} is the first). Take the settings of the run, or another --output."
        )
    with torch.no_grad():
        for name, tensor in tensors.items():
            weights[name].copy_(tensor)
