"""Devices that torch may lack, and processes that were forked."""

import os
from typing import Final

import torch

from corpora.errors import UsageError

_USED_IN: Final[set[int]] = set()
"""The numbers of this process and of those that it was forked from, if models worked in them."""


def prepare_process() -> None:
    """Let torch use one thread if a model has worked in the process that this one is a copy of.

    A fork copies one thread only. Torch would wait forever for the others of its pool.
    """
    if _USED_IN and os.getpid() not in _USED_IN:
        torch.set_num_threads(1)
    _USED_IN.add(os.getpid())


def device_of(name: str | torch.device) -> torch.device:
    """Return a device of torch; raise ``UsageError`` if torch cannot compute there."""
    try:
        device = torch.device(name)
        torch.ones(1, device=device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        said = str(error).partition("\n")[0].rstrip(".")
        raise UsageError(
            f"device {str(name)!r}: torch cannot compute there ({said}). Take cpu, or cuda on a "
            "machine with a GPU of NVIDIA and a torch that is built for it."
        ) from error
    return device
