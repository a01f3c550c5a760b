"""Where a run stands, besides its weights."""

import math
from dataclasses import dataclass, field
from typing import Any

from modeling.training.metrics import Window


@dataclass
class Progress:
    """What every checkpoint has."""

    step: int = 0
    """Steps that were made."""
    best: float = math.inf
    """Lowest held-out loss."""
    n_worse: int = 0
    """Evaluations since then."""
    transferred: list[str] = field(default_factory=list)
    """Parameters that came from another model."""
    window: Window = field(default_factory=Window)

    def to_json(self) -> dict[str, Any]:
        """For a checkpoint."""
        best = None if math.isinf(self.best) else self.best
        return vars(self) | {"best": best, "window": self.window.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        """The reverse of ``to_json``."""
        best = math.inf if values["best"] is None else values["best"]
        return cls(**values | {"best": best, "window": Window.from_json(values["window"])})
