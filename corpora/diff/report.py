"""A comparison in words, for a terminal and a log, as JSON, and as one page without scripts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape

from corpora.diff.comparison import Comparison, Drift

FATES = ("added", "removed", "renamed", "changed", "same")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
code { font-size: .9em; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid #ddd; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; }
.tile { border: 1px solid #ddd; border-radius: .4rem; padding: .4rem .9rem; }
.tile b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.far { border-left: .3rem solid #b3261e; background: #fdecea; padding: .4rem .9rem; }
.good { border-left: .3rem solid #2e7d32; background: #edf7ed; padding: .4rem .9rem; }
tr.still td { color: #777; }
summary { cursor: pointer; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } th, td, .tile { border-color: #444; }
  .far { background: #3b1512; } .good { background: #12301a; } tr.still td { color: #999; }
}
"""


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


def to_html(comparisons: Sequence[Comparison], *, old: str, new: str) -> str:
    """Write the page; ``old`` and ``new`` are what the two versions are called."""
    title = f"{old} → {new}"
    exceeded = [f"{of.name}: {why}" for of in comparisons for why in of.exceeded]
    verdict = (
        "".join(f'<p class="far">Too far: {escape(why)}.</p>' for why in exceeded)
        or '<p class="good">Nothing moved further than it may.</p>'
    )
    body = "".join("".join(_section(of)) for of in comparisons)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{verdict}\n{body}</body>\n</html>\n"
    )


def _section(of: Comparison) -> Iterator[str]:
    yield f"<h2>{escape(of.name)} <small>({escape(of.schema)})</small></h2>\n"
    yield f"<p><code>{escape(of.old[:16])}</code> → <code>{escape(of.new[:16])}</code></p>\n"
    yield '<div class="tiles">\n'
    for fate in FATES:
        yield f'<div class="tile"><b>{of.counts[fate]:,}</b>{fate}</div>\n'
    yield "</div>\n"
    if any(of.changed_columns.values()):
        rows = ((escape(name), f"{n:,}") for name, n in of.changed_columns.items() if n)
        yield from ("<h3>Changed in</h3>\n", *_table(("columns", "rows"), rows))
    for fate, shown in of.examples.items():
        yield from _examples(fate, shown, of.counts[fate])
    yield "<h3>Counts and rates</h3>\n"
    yield from _drift([d for d in of.drift if not d.name.startswith("counters.")])
    if counters := [d for d in of.drift if d.name.startswith("counters.")]:
        yield "<details><summary>Counters</summary>\n"
        yield from _drift(counters)
        yield "</details>\n"


def _examples(fate: str, shown: Sequence[str], n: int) -> Iterator[str]:
    if not n:
        return
    yield f"<details><summary>{n:,} {fate}</summary>\n<ul>\n"
    yield from (f"<li>{escape(one_line(example))}</li>\n" for example in shown)
    if n > len(shown):
        yield f"<li>… {n - len(shown):,} more</li>\n"
    yield "</ul>\n</details>\n"


def _drift(drifts: Sequence[Drift]) -> Iterator[str]:
    yield '<table>\n<tr><th></th><th class="n">old</th><th class="n">new</th>'
    yield '<th class="n">change</th></tr>\n'
    for drift in drifts:
        is_still = drift.old == drift.new
        yield '<tr class="still">' if is_still else "<tr>"
        yield f"<td>{escape(one_line(drift.name))}</td>"
        yield f'<td class="n">{number(drift.old)}</td><td class="n">{number(drift.new)}</td>'
        yield f'<td class="n">{"" if is_still else percent(drift).strip("()")}</td></tr>\n'
    yield "</table>\n"


def _table(heads: tuple[str, str], rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    yield f'<table>\n<tr><th>{heads[0]}</th><th class="n">{heads[1]}</th></tr>\n'
    for name, value in rows:
        yield f'<tr><td>{name}</td><td class="n">{value}</td></tr>\n'
    yield "</table>\n"
