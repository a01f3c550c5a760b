"""Reports of comparisons: as lines for a terminal, as JSON, and as an HTML page without scripts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from corpora.diff.comparison import DatasetComparison, Drift
from corpora.reports.pages import Block, Details, Heading, Items, Prose, Table
from corpora.reports.pages import to_html as render_blocks

FATES = ("added", "removed", "renamed", "changed", "same")


def to_words(comparisons: Sequence[DatasetComparison]) -> Iterator[str]:
    """Describe the changes of each dataset in lines; counters are left to JSON and HTML."""
    for of in comparisons:
        rows = ", ".join(f"{of.counts[fate]:,} {fate}" for fate in FATES)
        yield f"{of.name} ({of.schema}): {rows}"
        differing = ", ".join(f"{name} {n:,}" for name, n in of.changed_columns.items() if n)
        if differing:
            yield f"  changed in: {differing}"
        for fate, shown in of.examples.items():
            yield from (f"  {fate}: {_one_line(example)}" for example in shown)
            if left := of.counts[fate] - len(shown):
                yield f"  {fate}: … {left:,} more" if shown else f"  {fate}: {left:,}, not listed"
        for drift in of.drift:
            if not drift.name.startswith("counters.") and drift.old != drift.new:
                change = f"({_percent(drift)})"
                yield f"  {drift.name}: {_number(drift.old)} → {_number(drift.new)} {change}"
        yield from (f"  TOO FAR: {why}" for why in of.exceeded)


def to_json(comparisons: Sequence[DatasetComparison]) -> str:
    """Write all values as JSON, the same for the same datasets."""
    values = [
        asdict(of) | {"drift": {d.name: {"old": d.old, "new": d.new} for d in of.drift}}
        for of in comparisons
    ]
    return json.dumps({"datasets": values}, ensure_ascii=False, indent=1) + "\n"


def to_html(comparisons: Sequence[DatasetComparison], *, old: str, new: str) -> str:
    """Write the HTML page; ``old`` and ``new`` are the names of the two versions."""
    exceeded = [f"{of.name}: {why}" for of in comparisons for why in of.exceeded]
    verdict = [Prose(f"Too far: {why}.", "far") for why in exceeded]
    verdict = verdict or [Prose("Nothing moved further than it may.", "good")]
    sections = (block for of in comparisons for block in _section(of))
    return render_blocks([Heading(f"{old} → {new}", 1), *verdict, *sections])


def _section(of: DatasetComparison) -> Iterator[Block]:
    yield Heading(f"{of.name} ({of.schema})")
    yield Prose(f"{of.old[:16]} → {of.new[:16]}")
    yield Table([("rows", ""), *((fate, of.counts[fate]) for fate in FATES)])
    if changed := [item for item in of.changed_columns.items() if item[1]]:
        yield Heading("Changed in", 3)
        yield Table([("columns", "rows"), *changed])
    for fate, shown in of.examples.items():
        if n := of.counts[fate]:
            more = [f"… {n - len(shown):,} more"] if n > len(shown) else []
            yield Details(f"{n:,} {fate}", [Items([*shown, *more])])
    yield Heading("Counts and ratios", 3)
    yield _drift(d for d in of.drift if not d.name.startswith("counters."))
    if counters := [d for d in of.drift if d.name.startswith("counters.")]:
        yield Details("Counters", [_drift(counters)])


def _drift(drifts: Iterable[Drift]) -> Table:
    rows = (
        (d.name, _number(d.old), _number(d.new), "" if d.old == d.new else _percent(d))
        for d in drifts
    )
    return Table([("", "old", "new", "change"), *rows])


def _number(value: float) -> str:
    """Format a count with commas, a ratio with four digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _percent(drift: Drift) -> str:
    """Format the relative change of a measure."""
    return "new" if drift.ratio is None else f"{drift.ratio:+.1%}"


def _one_line(text: str) -> str:
    """Replace line breaks and control characters, which titles should not have, by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)
