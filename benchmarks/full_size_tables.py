"""The tables of ``full_size.py``: time and memory of each step at each size, and their growth."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from typing import Any

ENGLISH = {"wikipedia": 7_000_000}
"""Articles of the English Wikipedia, which has 11 million redirects and 250 million links."""
MEASURES = {"processor": "processor s", "largest": "largest MB", "all": "all MB", "made": "made MB"}

Line = Mapping[str, Any]


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the tables of each kind, as lines of Markdown."""
    for kind in dict.fromkeys(line["kind"] for line in lines):
        latest = {(line["size"], line["step"]): line for line in lines if line["kind"] == kind}
        by_size = sorted(latest.values(), key=lambda line: line["size"])
        yield from (f"### {kind}", "")
        yield from taken(by_size)
        yield from grown(by_size, ENGLISH.get(kind))


def taken(lines: Sequence[Line]) -> Iterator[str]:
    """Yield a table with a row for each step and size."""
    yield (
        "| step | size | seconds | processor s | largest process, all, MB | made MB | "
        "shards: number, median MB | plan, receipts, kB |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
    order = list(dict.fromkeys(line["step"] for line in reversed(lines)))[::-1]
    for line in sorted(lines, key=lambda line: (order.index(line["step"]), line["size"])):
        shards = ", ".join(
            f"{name if name != '.' else ''} {of['n']} × {of['median'] / 1e6:.1f}".strip()
            for name, of in line["shards"].items()
        )
        receipts = line["receipts"]["bytes"] / 1e3
        yield (
            f"| {line['step']} | {line['size']:,} | {line['seconds']:,.0f} | "
            f"{line['processor']:,.0f} | {line['largest']:,.0f}, {line['all']:,.0f} | "
            f"{line['made']:,.0f} | {shards} | {line['plan'] / 1e3:,.0f}, {receipts:,.0f} |"
        )
    yield ""


def grown(lines: Sequence[Line], wanted: int | None) -> Iterator[str]:
    """Yield a table of growth, with a row for each step that was run at two sizes or more.

    It has the slopes between the two largest sizes, and what the size ``wanted`` would take.
    """
    steps = {
        name: [line for line in lines if line["step"] == name]
        for name in dict.fromkeys(line["step"] for line in lines)
    }
    steps = {name: of for name, of in steps.items() if len(of) > 1}
    if not steps:
        return
    shown = f" at {wanted:,}" if wanted else ""
    yield (
        "| step | sizes | "
        + " | ".join(f"{name}: slope" for name in MEASURES.values())
        + (f" | processor hours{shown} | largest process GB | made GB |" if wanted else " |")
    )
    yield "| --- | --- |" + " ---: |" * (len(MEASURES) + 3 * bool(wanted))
    for name, of in steps.items():
        before, last = of[-2:]
        slopes = {measure: slope(before, last, measure) for measure in MEASURES}
        row = f"| {name} | {before['size']:,} to {last['size']:,} | "
        row += " | ".join(f"{slopes[measure]:.2f}" for measure in MEASURES)
        if wanted:
            hours = power(last, "processor", slopes["processor"], wanted=wanted) / 3600
            memory, made = (
                line_through(before, last, m, wanted=wanted) / 1e3 for m in ("largest", "made")
            )
            row += f" | {hours:.1f} | {memory:.1f} | {made:.1f}"
        yield f"{row} |"
    yield ""


def slope(before: Line, last: Line, measure: str) -> float:
    """Return the slope of a measure over size, both as logarithms.

    It is 1 where the measure grows in proportion, and 0 where it stays the same.
    """
    low, high = max(before[measure], 1e-3), max(last[measure], 1e-3)
    return log(high / low) / log(last["size"] / before["size"])


def power(last: Line, measure: str, slope: float, *, wanted: int) -> float:
    """Return a measure at another size, if it grows on as between the two largest sizes."""
    return float(last[measure]) * exp(slope * log(wanted / last["size"]))


def line_through(before: Line, last: Line, measure: str, *, wanted: int) -> float:
    """Return a measure at another size along a straight line through the two largest sizes.

    It suits measures with a constant part, which do not grow by a power of the size.
    """
    rise = (last[measure] - before[measure]) / (last["size"] - before["size"])
    return float(last[measure] + rise * (wanted - last["size"]))
