"""The tables of ``docs/results.md`` as Markdown, from the records of the cells."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.result_cells import (
    CPU,
    HEADS,
    Cell,
    NerSet,
    Record,
    by_set,
    device_of,
    read_records,
    sets_in_order,
)
from modeling.tagging_config import HEADS as RECORDS


def render(
    name: str, cells: Sequence[Cell], *, sets: Mapping[str, NerSet], records: Mapping[str, Record]
) -> Iterator[str]:
    """Yield the lines of a table: F1 of each set and head, what is scored, and what is left."""
    rows: dict[str, list[Cell]] = {}
    for cell in by_set(cells):
        rows.setdefault(cell.row, []).append(cell)
    done: dict[Cell, list[Record]] = {}
    for row in rows.values():
        if scored := [records[cell.name] for cell in row if cell.name in records]:
            done[row[0]] = scored
    if done:
        every = [record for scored in done.values() for record in scored]
        encoders = {record["encoder"] for record in every}
        gpus = {device_of(record) for record in every} - {CPU}
        yield f"Encoder: {', '.join(sorted(encoders))}. GPU: {', '.join(sorted(gpus)) or 'none'}.\n"
        if all(cell.size for cell in done):
            yield from by_size(done)
        else:
            yield from by_head(done)
            yield from notes({cell.set for cell in done}, sets)
    if left := sum(cell.name not in records for cell in cells):
        yield f"Not run: {left} of {len(cells)} seeds of a head on a set."
        yield f"`python -m benchmarks.tables {name} --model MODEL --data DATA` runs them."


def by_head(done: Mapping[Cell, Sequence[Record]]) -> Iterator[str]:
    """Yield the lines of a table of F1: a row for each set, a column for each head, a list.

    The last columns are of the first head and its first seed: interval, F1 of names that no
    training sentence has, and speed.
    """
    heads = [head for head in HEADS if any(cell.head == head for cell in done)]
    lines = []
    for name in sets_in_order(list(done)):
        scored = {cell.head: records for cell, records in done.items() if cell.set == name}
        f1 = (mean_f1(head, scored[head]) if head in scored else "" for head in heads)
        [first, *_] = next(iter(scored.values()))
        more = details(first) if HEADS[0] in scored else ["", "", ""]
        lines.append([name, *f1, list_of(first), *more])
    titles = ["", *(f"`{head}`" for head in heads), "a list"]
    crf = HEADS[0]
    yield from table_lines(
        [*titles, f"`{crf}`: 95 %", f"`{crf}`: new names", f"`{crf}`: sentences a second"], lines
    )


def details(record: Record) -> Iterator[str]:
    """Yield the interval, the F1 of names that are new with their number, and the speed."""
    yield "–".join(f"{value:.1f}" for value in record["interval"])
    yield f"{record['new'][0]:.1f} of {record['new'][1]:,}"
    yield f"{record['speed']:.0f}" if "speed" in record else ""


def mean_f1(head: str, records: Sequence[Record]) -> str:
    """Format the mean F1 over the seeds, its sample deviation, and the number of seeds."""
    f1 = [record["f1"][RECORDS[head].decoders[0]] for record in records]
    spread = f" ± {statistics.stdev(f1):.1f}" if len(f1) > 1 else ""
    return f"**{statistics.fmean(f1):.1f}**{spread} ({len(f1)})"


def by_size(done: Mapping[Cell, Sequence[Record]]) -> Iterator[str]:
    """Yield the lines of a table of learning curves, with a column for each number of sentences."""
    sizes = sorted({cell.size for cell in done})
    lines: dict[str, dict[int, str]] = {}
    for cell, records in done.items():
        name = f"{cell.set}: `{cell.head}`{', with names' if cell.has_names else ''}"
        lines.setdefault(name, {})[cell.size] = mean_f1(cell.head, records)
        lines.setdefault(f"{cell.set}: a list", {})[cell.size] = list_of(records[0])
    yield from table_lines(
        ["sentences", *(f"{size:,}" for size in sizes)],
        [[name, *(f1.get(size, "") for size in sizes)] for name, f1 in sorted(lines.items())],
    )


def list_of(record: Record) -> str:
    """Format the F1 of a list of the training names."""
    return f"{record['list']:.1f}"


def head_of(cell: Cell) -> str:
    """Return the first column of the cell's row."""
    more = [f"{cell.size:,} sentences"] if cell.size else []
    more += ["with names"] if cell.has_names else []
    return ", ".join([f"{cell.set}: `{cell.head}`", *more])


def notes(shown: set[str], sets: Mapping[str, NerSet]) -> Iterator[str]:
    """Yield lines that say what is scored of each set, and where published figures are from."""
    parts: dict[str, list[str]] = {}
    for name in sorted(shown):
        parts.setdefault(sets[name].test, []).append(f"{name} ({sets[name].epochs} epochs)")
    for part, names in parts.items():
        said = "the published test part" if part == "published" else part
        yield f"- Scored is {said}: {', '.join(names)}."
    for name in sorted(shown):
        if f1 := sets[name].published:
            figures = ", ".join(f"`{head}` {value:.1f}" for head, value in f1.items())
            yield f"- Published of {name}: {figures} ({sets[name].source})."
    yield ""


def write_results(text: str, name: str, lines: Sequence[str]) -> str:
    """Return the text of a page with other lines between the marks of a table.

    Raises ``ValueError`` if a mark is missing.
    """
    begin, end = f"<!-- table {name} -->", f"<!-- end of table {name} -->"
    before, found, rest = text.partition(begin)
    _, also_found, after = rest.partition(end)
    if not found or not also_found:
        raise ValueError(f"there is no {begin} … {end}: write both where the table shall stand")
    return "\n\n".join([before + begin, "\n".join(lines).strip(), end + after])


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"| --- |{' ---: |' * (len(titles) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def differences(
    tables: Mapping[str, Sequence[Cell]], records: Mapping[str, Record], against: Path
) -> Iterator[str]:
    """Yield lines that compare the F1 of records with that of the same cells in another folder.

    Each row has the means of both and that of the differences, over the cells that both have; the
    last one those of all cells. ``±`` is the standard error of the mean difference.
    """
    pairs: dict[str, list[tuple[float, float]]] = {}
    for name, cells in tables.items():
        theirs = read_records(against / f"{name}.jsonl")
        for cell in by_set(cells):
            if cell.name in records and cell.name in theirs:
                decoder = RECORDS[cell.head].decoders[0]
                own, other = (of[cell.name]["f1"][decoder] for of in (records, theirs))
                pairs.setdefault(head_of(cell), []).append((own, other))
    every = [pair for some in pairs.values() for pair in some]
    yield from table_lines(
        ["", "seeds", "F1", f"F1 of {against.name}", "difference"],
        [
            [name, f"{len(some)}", *compared(some)]
            for name, some in [*pairs.items(), *([("all", every)] if every else [])]
        ],
    )


def compared(pairs: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Yield both means, and the mean difference with its standard error."""
    for side in zip(*pairs, strict=True):
        yield f"{statistics.fmean(side):.1f}"
    yield mean_difference([own - other for own, other in pairs])


def mean_difference(found: Sequence[float]) -> str:
    """Format the mean of differences with its standard error."""
    error = f" ± {statistics.stdev(found) / len(found) ** 0.5:.1f}" if len(found) > 1 else ""
    return f"{statistics.fmean(found):+.1f}{error}"


def compare_heads(
    tables: Mapping[str, Sequence[Cell]], records: Mapping[str, Record]
) -> Iterator[str]:
    """Yield the lines of a table that compares each head with a CRF on the same sets and seeds.

    A difference is that of a set: the mean over its seeds. ``±`` is the standard error over sets.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for cell in dict.fromkeys(cell for cells in tables.values() for cell in cells):
        chain = replace(cell, head=HEADS[0])
        if cell.head != chain.head and {cell.name, chain.name} <= records.keys():
            own, other = (
                records[one.name]["f1"][RECORDS[one.head].decoders[0]] for one in (cell, chain)
            )
            found.setdefault(cell.head, {}).setdefault(cell.set, []).append(own - other)
    yield from table_lines(
        ["", "sets", "cells", f"F1 minus that of `{HEADS[0]}`", "least", "most"],
        [[f"`{head}`", *differences_of(found[head])] for head in HEADS if head in found],
    )


def differences_of(by_set: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the numbers of sets and cells, the mean difference, and the least and the largest."""
    means = {name: statistics.fmean(some) for name, some in by_set.items()}
    yield f"{len(means)}"
    yield f"{sum(map(len, by_set.values()))}"
    yield mean_difference(list(means.values()))
    for name in (min(means, key=means.__getitem__), max(means, key=means.__getitem__)):
        yield f"{means[name]:+.1f} ({name})"
