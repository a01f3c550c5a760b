"""Marks for functions that ``torch.compile`` must not compile, and the type of their context.

``torch.compiler.disable`` loads the compiler, which takes longer than loading torch itself, and
most commands compile nothing. So functions are only marked at first, and disabled when a model is
about to be compiled.
"""

import functools
from collections.abc import Callable
from typing import Final, ParamSpec, Protocol, TypeVar

import torch
from torch import Tensor


class AutogradContext(Protocol):
    """The type of ``ctx`` in forward and backward; functions that store more extend it."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward."""


_P = ParamSpec("_P")
_R = TypeVar("_R")
_LEAVING_OUT: Final[list[Callable[[], None]]] = []
"""For each marked function, a function that excludes it from compilation."""


def uncompiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Mark a function that ``leave_out_uncompiled`` excludes from compilation."""
    called = [function]  # the function, or its wrapper that is not compiled

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return called[0](*args, **kwargs)

    def leave_out() -> None:
        called[0] = torch.compiler.disable(called[0])  # type: ignore[no-untyped-call]

    _LEAVING_OUT.append(leave_out)
    return call


def leave_out_uncompiled() -> None:
    """Exclude all marked functions from compilation; called before a model is compiled."""
    for leave_out in _LEAVING_OUT:
        leave_out()
