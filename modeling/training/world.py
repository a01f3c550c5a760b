"""The processes that train together: one for each device, started by ``torchrun``."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
import torch.distributed
from torch import Tensor


@dataclass(frozen=True, slots=True)
class World:
    """The rank and the device of this process, one of ``size``; by default the only one."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def is_first(self) -> bool:
        """Whether this process is the first, which writes files and logs."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> Tensor:
        """Sum over all processes, in place."""
        if self.size > 1:
            torch.distributed.all_reduce(tensor)
        return tensor

    def share(self, tensors: Iterable[Tensor]) -> None:
        """Copy the tensors of the first process to all other processes, in place."""
        if self.size > 1:
            for tensor in tensors:
                torch.distributed.broadcast(tensor, src=0)

    def agree(self, number: int) -> int:
        """Broadcast the number of the first process to all processes, and return it."""
        if self.size == 1:
            return number
        tensor = torch.tensor([number], dtype=torch.int64, device=self.device)
        torch.distributed.broadcast(tensor, src=0)
        return int(tensor.item())


@contextmanager
def join_world() -> Iterator[World]:
    """Join the processes that ``torchrun`` started; each gets a GPU if there are GPUs."""
    rank, size = (int(os.environ.get(name, n)) for name, n in (("RANK", "0"), ("WORLD_SIZE", "1")))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    if size == 1:
        yield World(device=device)
        return
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield World(rank, size, device)
    finally:
        torch.distributed.destroy_process_group()


def best_device() -> torch.device:
    """Choose the GPU if there is one, or else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
