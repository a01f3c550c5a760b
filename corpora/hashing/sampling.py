"""Choices by hash: the same name and seed give the same on every machine, in every run."""

import hashlib
from collections.abc import Iterable, Mapping


def ratio(name: str, *, seed: int = 1) -> float:
    """Map a name to a number in [0, 1), uniformly."""
    digest = hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest[:7]) / (1 << 56)  # 56 bits: exact as a float, never 1.0


def choose(name: str, ratios: Mapping[str, float], *, seed: int = 1) -> str:
    """Choose a split for a name; ``ratios`` are weights and need not add up to one."""
    point = ratio(name, seed=seed) * sum(ratios.values())
    for split, weight in ratios.items():
        point -= weight
        if point < 0:
            return split
    return next(split for split in reversed(list(ratios)) if ratios[split] > 0)


def choose_all(
    names: Iterable[str], ratios: Mapping[str, float], *, seed: int = 1
) -> dict[str, str]:
    """Choose a split for each name; each split with a ratio above 0 gets at least one.

    A name keeps its split when others come or go, except the few that fill an otherwise empty
    split; these are taken, by hash, from the largest split.
    """
    chosen = {name: choose(name, ratios, seed=seed) for name in sorted(names)}
    by_split = {split: [n for n in chosen if chosen[n] == split] for split in ratios}
    for split, weight in ratios.items():
        largest = max(by_split.values(), key=len)
        if weight > 0 and not by_split[split] and len(largest) > 1:
            name = min(largest, key=lambda name: ratio(name, seed=seed))
            largest.remove(name)
            by_split[split].append(name)
            chosen[name] = split
    return chosen
