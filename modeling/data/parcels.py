"""Batches on their way from one process to another.

A step may be hundreds of tensors. Sent one by one, each would take a file descriptor and a piece of
shared memory, and of both there may be little; so they travel as one array of 32-bit numbers, in
which every index and id of a batch finds room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from modeling.data.batch import Batch


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Batches of int64 and bool tensors, packed; pickled like any array."""

    numbers: NDArray[np.int32]
    """All values, one tensor after the other."""
    kinds: tuple[tuple[bool, tuple[int, ...]], ...]
    """Of each tensor: whether it is bool, and its shape."""
    batches: tuple[Batch, ...]
    """With empty tensors."""

    @classmethod
    def pack(cls, batches: Sequence[Batch]) -> Self:
        """Pack; the batches stay as they are."""
        tensors: list[Tensor] = []

        def take(tensor: Tensor) -> Tensor:
            tensors.append(tensor)
            return _EMPTY

        empty = tuple(batch.map(take) for batch in batches)
        kinds = tuple((tensor.dtype == torch.bool, tuple(tensor.shape)) for tensor in tensors)
        arrays = [tensor.flatten().numpy().astype(np.int32) for tensor in tensors]
        return cls(np.concatenate([np.zeros(0, np.int32), *arrays]), kinds, empty)

    def unpack(self, *, pin: bool = False) -> list[Batch]:
        """Unpack; all numbers are views of one tensor. Pinned, a GPU copies without waiting."""
        numbers = torch.from_numpy(self.numbers).long()
        tensors = _split(numbers.pin_memory() if pin else numbers, self.kinds, pin=pin)
        return [batch.map(lambda _: next(tensors)) for batch in self.batches]


_EMPTY = torch.empty(0)


def _split(
    numbers: Tensor, kinds: Sequence[tuple[bool, tuple[int, ...]]], *, pin: bool
) -> Iterator[Tensor]:
    sizes = [int(np.prod(shape, dtype=np.int64)) for _, shape in kinds]
    parts: Sequence[Tensor] = torch.split(numbers, sizes) if sizes else ()
    for part, (is_bool, shape) in zip(parts, kinds, strict=True):
        value = part.bool() if is_bool else part
        yield (value.pin_memory() if pin and is_bool else value).view(shape)
