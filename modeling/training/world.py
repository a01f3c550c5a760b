"""The processes that train together: one for each device, started by ``torchrun``."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import torch
import torch.distributed
from torch import Tensor

from corpora.errors import CorpusError

_LOST: Final = re.compile(
    r"connection (closed|reset|refused)|broken pipe|timed? ?out|nccl|peer|gloo", re.IGNORECASE
)
"""What the messages of gloo and NCCL have in them if another process is gone."""


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

    def gather(self, value: str) -> list[str]:
        """Return the text of each process, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1 and torch.distributed.is_initialized():
            torch.distributed.all_gather_object(values, value)
        return values

    @contextmanager
    def together(self) -> Iterator[None]:
        """Prepare in each process; an error in one ends all, and the first process says it.

        There is no other exchange between processes inside. Raises the error of this process, or a
        ``CorpusError`` with those of others; in processes other than the first, ``SystemExit``.
        """
        problem: CorpusError | None = None
        try:
            yield
        except CorpusError as error:
            problem = error
        said = self.gather("" if problem is None else str(problem))
        if not any(said):
            return
        if not self.is_first:
            raise SystemExit(1 if problem is None else problem.exit_status)
        distinct = {text: rank for rank, text in reversed(list(enumerate(said))) if text}
        if problem is not None and len(distinct) == 1:
            raise problem
        raise CorpusError(
            "\n".join(f"rank {rank}: {text}" for text, rank in sorted(distinct.items()))
        )


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
    try:
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        yield World(rank, size, device)
    except RuntimeError as error:
        if not _LOST.search(str(error)):
            raise
        raise CorpusError(
            f"rank {rank}: another process has ended, or cannot be reached "
            f"({str(error).splitlines()[0][:200]}). Its own message says why; without one it was "
            "killed, or had too little memory. The same command resumes from the last checkpoint."
        ) from error
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def best_device() -> torch.device:
    """Choose the GPU if there is one, or else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
