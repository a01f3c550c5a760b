"""Measures of weights by origin (transferred, new): distances from the start, and histograms."""

import math
from collections.abc import Collection, Iterator, Mapping

import torch
from torch import Tensor

from modeling.training.records import Histogram, Histograms

EDGE, N_BINS = 1.0, 400
"""Histograms have N_BINS bins from −EDGE to EDGE; weights outside are counted separately."""
PIECE = 1 << 20
"""The values that are measured at once: a table of entities may be most of the memory."""


def _by_origin(names: Collection[str], transferred: Collection[str]) -> dict[str, list[str]]:
    known, every = set(transferred), set(names)
    groups = {"transferred": sorted(every & known), "new": sorted(every - known)}
    return {origin: own for origin, own in groups.items() if own}


class Distances:
    """The L2 distances of transferred and of new parameters from their start.

    The start may be memory-mapped: it is read piece by piece, and may be on another device.
    """

    def __init__(self, start: Mapping[str, Tensor], transferred: Collection[str]) -> None:
        self.start = start
        self.groups = _by_origin(start.keys(), transferred)

    def measure(self, weights: Mapping[str, Tensor]) -> dict[str, float]:
        """Compute the distance of ``weights`` from the start, by origin."""
        return {
            origin: math.sqrt(
                torch.stack([_squares(weights[name], self.start[name]) for name in names]).sum()
            )
            for origin, names in self.groups.items()
        }


def _squares(now: Tensor, start: Tensor) -> Tensor:
    """Sum the squares of differences, () float64, on the device of ``now``."""
    pairs = zip(_pieces(now), _pieces(start), strict=True)
    return sum(
        ((a - b.to(a.device)).double().square().sum() for a, b in pairs),
        start=torch.zeros((), dtype=torch.float64, device=now.device),
    )


def _pieces(tensor: Tensor) -> Iterator[Tensor]:
    return iter(torch.split(tensor.detach().flatten(), PIECE))


def histograms(weights: Mapping[str, Tensor], transferred: Collection[str]) -> Histograms:
    """Compute histograms by origin (transferred, new): of all weights, and by part of the model."""
    made: Histograms = {}
    for origin, names in _by_origin(weights.keys(), transferred).items():
        parts = sorted({_part(name) for name in names})
        made[origin] = {
            "all": _histogram([weights[name] for name in names]),
            **{part: _histogram([weights[n] for n in names if _part(n) == part]) for part in parts},
        }
    return made


def _part(name: str) -> str:
    """Return the part of the model that a parameter belongs to.

    Parts are embeddings, entity_embeddings, encoder and heads, as far as a model has them.
    """
    names = name.split(".")
    is_inner = names[0] == "encoder" and len(names) > 1 and "embeddings" in names[1]
    return names[1] if is_inner else names[0]


def _histogram(tensors: Collection[Tensor]) -> Histogram:
    counts = torch.zeros(N_BINS, dtype=torch.int64)
    n, below, above, total, squares = 0, 0, 0, 0.0, 0.0
    for values in (piece.float().cpu() for tensor in tensors for piece in _pieces(tensor)):
        inside = values[(values >= -EDGE) & (values <= EDGE)]
        places = ((inside + EDGE) * (N_BINS / (2 * EDGE))).long().clamp(max=N_BINS - 1)
        counts += torch.bincount(places, minlength=N_BINS)
        below += int((values < -EDGE).sum())
        above += int((values > EDGE).sum())
        n += values.numel()
        total += float(values.double().sum())
        squares += float(values.double().square().sum())
    mean = total / max(n, 1)
    return {
        "counts": counts.tolist(),
        "below": below,
        "above": above,
        "n": n,
        "mean": mean,
        "sd": math.sqrt(max(squares / max(n, 1) - mean**2, 0.0)),
    }
