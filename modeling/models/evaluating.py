"""Without dropout."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout inside."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
