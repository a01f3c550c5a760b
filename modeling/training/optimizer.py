"""AdamW over all parameters from the start; frozen ones have no gradient until they are unlocked.

The type of the module and the shape of a parameter decide whether it has weight decay, not its
name: matrices of linear layers, embeddings and relative positions have it, as in BERT and LUKE;
biases, norms and other vectors have none.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import unwrap
from typing import Final

import torch
from torch import Tensor, nn

from modeling.config import OptimizerConfig

_PATIENCE: Final = 2_000
_LARGEST: Final = 2.0**40


@dataclass
class LossScale:
    """The scale of a loss whose gradients are float16; 1 for good if nothing is scaled.

    Gradients below 6e-8 would be 0 in float16, so the loss is multiplied by a power of two, and the
    gradients are divided by it again (Micikevicius et al. 2018, section 3.2). Where they overflow,
    the step is left out and the scale halved; after many steps without, it is doubled.
    """

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


_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm)


class Gradients:
    """The gradients of parameters as views of one flat tensor.

    So all of them are cleared, summed over processes and measured at once. A parameter that no
    target of a step depends on has gradient 0, whatever the number of processes and micro-batches.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        sizes = [parameter.numel() for parameter in self.parameters]
        self.flat = torch.zeros(sum(sizes), device=self.parameters[0].device)
        for parameter, part in zip(self.parameters, torch.split(self.flat, sizes), strict=True):
            parameter.grad = part.view_as(parameter)

    def norm(self) -> Tensor:
        """Compute the L2 norm of all gradients together."""
        norm: Tensor = torch.linalg.vector_norm(self.flat)
        return norm

    def clip(self, norm: Tensor, limit: float) -> None:
        """Scale the gradients down to the norm ``limit``, if their ``norm`` is larger."""
        self.flat.mul_((limit / (norm + 1e-6)).clamp(max=1.0))


class _AdamW(torch.optim.AdamW):
    """AdamW that does not load torch's compiler, which takes as long as loading torch.

    Torch's own optimizers load it to mark these methods as not to be compiled, and here nothing
    compiles them: only models are compiled.
    """

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    state_dict = unwrap(torch.optim.AdamW.state_dict)
    load_state_dict = unwrap(torch.optim.AdamW.load_state_dict)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class Optimizer:
    """AdamW with gradient clipping, frozen parameters, and a moving average of the weights."""

    def __init__(
        self,
        model: nn.Module,
        config: OptimizerConfig,
        *,
        frozen: Collection[str] = (),
        lr_ratios: Mapping[str, float] | None = None,
        precision: str = "float32",
    ) -> None:
        """Take all parameters of the model; ``frozen`` ones, by name, are fixed until ``unlock``.

        ``lr_ratios``: by name, the multiple of the learning rate that a parameter has; the others
        have 1. ``precision``: the type of autocast. Raises ``ValueError`` for unknown names.
        """
        self.config, self.loss_scale = config, LossScale.of(precision)
        self.names = dict(model.named_parameters())  # a shared parameter has one name
        self._lr_ratios = dict(lr_ratios or {})
        unknown = {*frozen, *self._lr_ratios} - self.names.keys()
        if unknown:
            raise ValueError(f"No such parameters: {', '.join(sorted(unknown))}.")
        for name, parameter in self.names.items():
            parameter.requires_grad_(name not in frozen)
            parameter.grad = None
        groups = self._groups(decaying(model))
        self.adam = _AdamW(
            groups,
            lr=config.lr,
            betas=(config.betas[0], config.betas[1]),
            eps=config.eps,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.gradients = Gradients(p for p in self.names.values() if p.requires_grad)
        self.average = self._copies() if config.ema is not None else None

    def _groups(self, decayed: Collection[str]) -> list[dict[str, object]]:
        """Group parameters by multiple of the learning rate, 1 first, and by whether they decay."""
        groups: list[dict[str, object]] = []
        for ratio in (1.0, *sorted(set(self._lr_ratios.values()) - {1.0}, reverse=True)):
            own = {n: p for n, p in self.names.items() if self._lr_ratios.get(n, 1.0) == ratio}
            decay = [p for n, p in own.items() if n in decayed]
            others = [p for n, p in own.items() if n not in decayed]
            groups += [
                {"params": decay, "rate": ratio},
                {"params": others, "rate": ratio, "weight_decay": 0.0},
            ]
        return groups

    def _copies(self) -> dict[str, Tensor]:
        return {name: p.detach().clone() for name, p in self.names.items()}

    def unlock(self, *, resets: bool = False) -> None:
        """Let all parameters learn; ``resets`` clears the state of AdamW."""
        for parameter in self.names.values():
            parameter.requires_grad_(True)  # noqa: FBT003 - torch's own
        if resets:
            self.adam.state.clear()
        self.gradients = Gradients(self.names.values())

    def step(self, lr: float, norm: Tensor) -> None:
        """Clip the gradients, whose norm is ``norm``, and update the weights and their average."""
        if self.config.clip is not None:
            self.gradients.clip(norm, self.config.clip)
        for group in self.adam.param_groups:
            group["lr"] = lr * group["rate"]
        if not self.config.bias_correction:
            self._skip_correction()
        self.adam.step()
        if self.average is not None and self.config.ema is not None:
            averages = list(self.average.values())
            weights: list[Tensor] = list(self.names.values())
            with torch.no_grad():
                torch._foreach_lerp_(averages, weights, 1 - self.config.ema)

    def _skip_correction(self) -> None:
        """Switch off the bias correction of AdamW, by a step count of infinity: 1 - β^∞ is 1.

        So torch's fused kernel can still be used. The moments begin at 0, as usual.
        """
        for parameter in self._in_order():
            if parameter.grad is not None and not self.adam.state[parameter]:
                self.adam.state[parameter] = {
                    "step": torch.full((), math.inf, device=parameter.device),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }

    def state(self) -> dict[str, Tensor]:
        """Return AdamW's state of each parameter, as ``NAME.exp_avg``; and the scale of losses."""
        return {
            f"{name}.{key}": value
            for name, parameter in self.names.items()
            for key, value in self.adam.state.get(parameter, {}).items()
        } | self.loss_scale.state()

    def load_state(self, tensors: dict[str, Tensor]) -> None:
        """Load the tensors that ``state`` returned.

        Without bias correction, the step count becomes infinite, whatever it was.
        """
        self.loss_scale.load(tensors)
        numbers = {parameter: n for n, parameter in enumerate(self._in_order())}
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            name, _, what = key.rpartition(".")
            is_endless = what == "step" and not self.config.bias_correction  # see _skip_correction
            value = torch.full_like(tensor, math.inf) if is_endless else tensor
            state.setdefault(numbers[self.names[name]], {})[what] = value
        groups = self.adam.state_dict()["param_groups"]
        self.adam.load_state_dict({"state": state, "param_groups": groups})

    def load_average(self, tensors: dict[str, Tensor]) -> None:
        """Load the average of a checkpoint; a weight without one begins its average now."""
        with torch.no_grad():
            for name, average in (self.average or {}).items():
                average.copy_(tensors.get(name, self.names[name]))

    def _in_order(self) -> Iterator[nn.Parameter]:
        return (p for group in self.adam.param_groups for p in group["params"])


def decaying(model: nn.Module) -> set[str]:
    """Return the names of the parameters that decay: matrices outside norms."""
    norms = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, _NORMS)
        for parameter in module.parameters(recurse=False)
    }
    return {
        name
        for name, parameter in model.named_parameters()
        if parameter.ndim >= 2 and id(parameter) not in norms
    }
