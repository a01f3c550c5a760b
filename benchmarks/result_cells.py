"""The cells of the tables of ``docs/results.md``: sets, heads, seeds, and the records of runs."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HEADS = ("crf", "span", "softmax", "cse", "crf_ner")
SEEDS = (1, 2, 3)
CPU = "CPU"

Record = dict[str, Any]


@dataclass(frozen=True)
class NerSet:
    """A NER set: its files, how they are split, and what others published about it."""

    name: str
    folder: str
    files: tuple[str, ...]
    epochs: int
    test: str
    split: str = ""
    blocks: int = 0
    """Sentences in a block, which is in one split, for a set without documents; 0: no blocks."""
    source: str = ""
    published: Mapping[str, float] | None = None
    is_nested: bool = False
    """Whether the set has names inside names; it is then not scored with other sets."""


@dataclass(frozen=True)
class Cell:
    """One fine-tuning run: a set, a head, a seed, and what a learning curve varies."""

    set: str
    head: str
    seed: int
    size: int = 0
    has_names: bool = False

    @property
    def row(self) -> str:
        """The name of the cell without the seed."""
        more = [f"{self.size}"] if self.size else []
        return "-".join([self.set, self.head, *more, *(["names"] if self.has_names else [])])

    @property
    def name(self) -> str:
        """The name of the cell in the records."""
        return f"{self.row}-seed{self.seed}"


def read_sets(path: Path) -> tuple[dict[str, NerSet], dict[str, list[Cell]]]:
    """Read the sets, and the cells of each table in the order in which they are run."""
    read = tomllib.loads(path.read_text("utf-8"))
    sets = {
        name: NerSet(name=name, **values | {"files": tuple(values["files"])})
        for name, values in read["sets"].items()
    }
    return sets, {name: list(plan(**table)) for name, table in read["tables"].items()}


def plan(
    sets: Sequence[str],
    heads: Sequence[str] = HEADS,
    *,
    sizes: Sequence[int] = (),
    left_out: Sequence[str] = (),
) -> Iterator[Cell]:
    """Yield the cells of a table in the order in which they are run.

    The first two heads come with their first seed on all sets, then with the other seeds, and then
    the other heads. ``left_out`` has patterns of names of cells that are not run.
    """
    kinds = [(size, names) for size in sizes for names in (False, True)] or [(0, False)]
    for some in (heads[:2], heads[2:]):
        for seed in SEEDS:
            for head in some:
                for size, names in kinds:
                    for name in sets:
                        cell = Cell(name, head, seed, size, names)
                        if not any(fnmatch(cell.name, pattern) for pattern in left_out):
                            yield cell


def sets_in_order(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.set for cell in cells))


def by_set(cells: Sequence[Cell]) -> list[Cell]:
    """Sort the cells by set and size; those of one set and size stay in the order they have."""
    order = sets_in_order(cells)
    return sorted(cells, key=lambda cell: (order.index(cell.set), cell.size))


def device_of(record: Record) -> str:
    """Return the device of a record; the first records were all made on a CPU."""
    return str(record.get("device", CPU))


def read_records(path: Path) -> dict[str, Record]:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return {record["cell"]: record for record in map(json.loads, lines)}
