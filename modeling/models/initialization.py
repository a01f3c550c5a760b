"""How weights begin."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_DEVIATION: Final = 0.02  # BERT
_LIMIT: Final = 0.05  # Keras, embeddings
_DRAWING: Final = frozenset(
    {
        Tensor.normal_,
        Tensor.uniform_,
        nn.init.normal_,
        nn.init.uniform_,
        nn.init.kaiming_uniform_,
        nn.init.xavier_uniform_,
    }
)


class Undrawn(TorchFunctionMode):
    """Inside, weights that would be drawn by chance are whatever memory holds.

    For models whose weights are all read from a file next: drawing them takes longer than reading.
    """

    def __torch_function__(  # noqa: PLR0917 - torch's interface
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function, but for those that draw."""
        named = kwargs or {}
        if func in _DRAWING:
            return args[0] if args else named["tensor"]
        if func is torch.randn:
            return torch.empty(*args, **named)
        return func(*args, **named)


def initialize(model: nn.Module, init: Literal["normal", "keras"]) -> None:
    """Set every weight of the model; chance comes from torch's generator.

    ``normal``, as BERT: N(0, 0.02). ``keras``, as NEISS (N-M1): linear maps Glorot-uniform, tables
    U(−0.05, 0.05). Either way biases are 0, and norms 1 and 0.
    """
    set_table = _normal if init == "normal" else _uniform
    set_matrix = _normal if init == "normal" else nn.init.xavier_uniform_
    for module in model.modules():
        _initialize(module, set_matrix=set_matrix, set_table=set_table)


@torch.no_grad()
def _initialize(
    module: nn.Module,
    *,
    set_matrix: Callable[[Tensor], object],
    set_table: Callable[[Tensor], object],
) -> None:
    is_norm = isinstance(module, nn.LayerNorm)
    for name, weights in module.named_parameters(recurse=False):
        if weights.ndim < 2:
            weights.fill_(1.0 if is_norm and name == "weight" else 0.0)
        elif isinstance(module, nn.Linear):
            set_matrix(weights)
        else:
            set_table(weights)  # embeddings, and the tables of relative positions


def _normal(weights: Tensor) -> object:
    return nn.init.normal_(weights, std=_DEVIATION)


def _uniform(weights: Tensor) -> object:
    return nn.init.uniform_(weights, -_LIMIT, _LIMIT)
