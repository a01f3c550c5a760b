"""The scale of a loss whose gradients are float16 (Micikevicius et al. 2018, section 3.2).

Gradients below 6e-8 would be 0 in float16, so the loss is multiplied by a power of two, and the
gradients are divided by it again. Where they overflow, the step is left out and the scale halved;
after many steps without, it is doubled.
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

_PATIENCE: Final = 2_000
_LARGEST: Final = 2.0**40


@dataclass
class LossScale:
    """The scale, and the number of steps since it changed; 1 for good if nothing is scaled."""

    value: float = 2.0**16
    n_good: int = 0
    is_fixed: bool = False

    @classmethod
    def of(cls, precision: str) -> "LossScale":
        """Return the scale to begin with: of float16, 65,536; of other types, 1 for good."""
        return cls() if precision == "float16" else cls(1.0, is_fixed=True)

    def overflows(self, norm: Tensor) -> bool:
        """Tell whether a step is left out, given the norm of its gradients; adapt the scale.

        At a scale of 1 no step is left out: what is not finite then is not so by the scale.
        """
        if self.is_fixed:
            return False
        if not torch.isfinite(norm):
            is_cause = self.value > 1
            self.value, self.n_good = max(self.value / 2, 1.0), 0
            return is_cause
        self.n_good += 1
        if self.n_good == _PATIENCE:
            self.value, self.n_good = min(2 * self.value, _LARGEST), 0
        return False

    def state(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint keeps; none if nothing is scaled."""
        if self.is_fixed:
            return {}
        return {"loss_scale": torch.tensor([self.value, self.n_good], dtype=torch.float64)}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Take what ``state`` returned out of ``tensors``."""
        if (state := tensors.pop("loss_scale", None)) is not None and not self.is_fixed:
            self.value, self.n_good = float(state[0]), int(state[1])
