"""Functions that ``torch.compile`` leaves out of what it compiles.

``torch.compiler.disable`` loads the compiler, which takes longer than torch itself; most commands
compile nothing. So functions are marked first, and left out when a model is compiled.
"""

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])
_CALLED: Final[list[list[Callable[..., Any]]]] = []
"""For each marked function the one that is called: itself, or what the compiler leaves out."""


def uncompiled(function: _Function) -> _Function:
    """Mark a function, which ``leave_out_uncompiled`` leaves out."""
    called: list[Callable[..., Any]] = [function]
    _CALLED.append(called)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return called[0](*args, **kwargs)

    return call  # type: ignore[return-value]


def leave_out_uncompiled() -> None:
    """Leave all marked functions out; called before a model is compiled."""
    for called in _CALLED:
        called[0] = torch.compiler.disable(called[0])  # type: ignore[no-untyped-call]
