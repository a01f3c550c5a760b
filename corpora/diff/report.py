"""A comparison in words, for a terminal and a log, and as JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from corpora.diff.comparison import Comparison, Drift

FATES = ("added", "removed", "renamed", "changed", "same")


def to_words(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Say what became of each dataset, in lines; counters are left to JSON and HTML."""
    for of in comparisons:
        rows = ", ".join(f"{of.counts[fate]:,} {fate}" for fate in FATES)
        yield f"{of.name} ({of.schema}): {rows}"
        differing = ", ".join(f"{name} {n:,}" for name, n in of.changed_columns.items() if n)
        if differing:
            yield f"  changed in: {differing}"
        for fate, shown in of.examples.items():
            yield from (f"  {fate}: {one_line(example)}" for example in shown)
            if left := of.counts[fate] - len(shown):
                yield f"  {fate}: … {left:,} more" if shown else f"  {fate}: {left:,}, not listed"
        for drift in of.drift:
            if not drift.name.startswith("counters.") and drift.old != drift.new:
                yield f"  {drift.name}: {number(drift.old)} → {number(drift.new)} {percent(drift)}"
        yield from (f"  TOO FAR: {why}" for why in of.exceeded)


def to_json(comparisons: Sequence[Comparison]) -> str:
    """All that is known, the same for the same datasets."""
    values = [
        asdict(of) | {"drift": {d.name: {"old": d.old, "new": d.new} for d in of.drift}}
        for of in comparisons
    ]
    return json.dumps({"datasets": values}, ensure_ascii=False, indent=1) + "\n"


def number(value: float) -> str:
    """A count with commas, a rate with four digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def percent(drift: Drift) -> str:
    """How much a measure moved, of what it was."""
    return "(new)" if drift.share is None else f"({drift.share:+.1%})"


def one_line(text: str) -> str:
    """Without line breaks and control characters, which titles should not have."""
    return "".join(character if character.isprintable() else " " for character in text)
