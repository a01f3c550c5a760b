"""The report on how a vocabulary was made, and the tables beside it: coverage and changes."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from corpora.entities.choice import MIN_COUNTS, SIZES, VocabularyChange
from corpora.entities.exports import ExportRow
from corpora.entities.vocabulary import SPECIAL
from corpora.reports import markdown_table
from corpora.system.cells import one_line

_LISTED = 20
_MANY = 0.3
"""The fraction of mentions without a page from which on a warning is given; red links are fewer."""


def change_lines(listed: Iterable[VocabularyChange]) -> Iterator[str]:
    """Write ``changes.tsv``: the differences from the vocabulary before."""
    yield "\t".join(VocabularyChange._fields) + "\n"
    for change in listed:
        yield "\t".join("" if value is None else one_line(value) for value in change) + "\n"


def coverage_lines(counters: Mapping[str, int]) -> Iterator[str]:
    """Write ``coverage.tsv``: what each size and each minimum count would keep."""
    yield "rule\tvalue\tentities\tmentions\tfraction\n"
    for rule, value, n_entities, n_mentions, ratio in _coverage(counters):
        yield f"{rule}\t{value}\t{n_entities}\t{n_mentions}\t{ratio:.6f}\n"


def _coverage(counters: Mapping[str, int]) -> Iterator[tuple[str, str, int, int, float]]:
    rules = [("size", str(size)) for size in (*SIZES, "all")]
    rules += [("min_count", str(least)) for least in MIN_COUNTS]
    n_all = counters["mentions.counted"]
    for rule, value in rules:
        n_entities, n_mentions = (
            counters[f"coverage/{rule}/{value}/{what}"] for what in ("entities", "mentions")
        )
        yield rule, value, n_entities, n_mentions, n_mentions / n_all


def report(
    counters: Mapping[str, int], parameters: Mapping[str, object], rows: Iterable[ExportRow]
) -> str:
    """Write ``report.md``: what was counted, what was kept, and what other limits would keep."""
    options = (
        (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in parameters.items()
    )
    counted = ((name, count) for name, count in counters.items() if "/" not in name)
    coverage = (
        (f"{rule} {int(value):,}" if value.isdigit() else f"{rule} {value}", *n, f"{ratio:.1%}")
        for rule, value, *n, ratio in _coverage(counters)
    )
    known: Counter[str] = Counter()
    mentioned = (row for row in _counted(rows, known) if row.n_mentions)
    first = heapq.nsmallest(_LISTED, mentioned, key=lambda row: (-row.n_mentions, row.title))
    listed = ((str(row.id), row.entity, row.n_mentions) for row in first)
    n_live = max(known.pop("entities", 0), 1)
    of_pages = ((what, n, f"{n / n_live:.1%}") for what, n in sorted(known.items()))
    warning = warn_of_missing_items(counters) or warn_of_missing_pages(counters)
    lines = [
        *("# Entity vocabulary", "", *markdown_table(("option", "value"), options, align="ll")),
        *("", *markdown_table(("what", "number"), counted)),
        *(("", f"**{warning}**") if warning else ()),
        *("", "## What each size and each minimum count keeps", ""),
        *markdown_table(("rule", "entities", "mentions", "fraction of the counted"), coverage),
        *("", "## Ids, types and descriptions", ""),
        *markdown_table(("entities with", "number", "of all"), of_pages),
        *("", "## The most frequent", ""),
        *markdown_table(("id", "entity", "mentions"), listed, align="rlr"),
    ]
    return "\n".join([*lines, ""])


def _counted(rows: Iterable[ExportRow], known: Counter[str]) -> Iterator[ExportRow]:
    """Pass rows on, and count what is known of entities, without special and retired rows."""
    for row in rows:
        if not row.retired and row.entity not in SPECIAL:
            known["entities"] += 1
            known.update(f"an id in {scheme}" for scheme in row.ids)
            known["an id"] += bool(row.ids)
            known.update([f"the type {row.type}"] if row.type else ())
            known["a description"] += row.description is not None
        yield row


def warn_of_missing_items(counters: Mapping[str, int]) -> str:
    """Return a warning if no document says its item, and what to do; empty if some do."""
    warning = (
        "no document names an item of Wikidata, so the pages of each wiki stay apart. Make the "
        "documents with onoma wikipedia --page-props, or from HTML dumps."
    )
    return "" if counters.get("equivalents", 1) else warning


def warn_of_missing_pages(counters: Mapping[str, int]) -> str:
    """Return a warning if many mentions lead to pages that the input lacks, and what to do.

    Empty if few do.
    """
    n_dropped = counters.get("mentions.of_no_page", 0)
    fraction = n_dropped / max(counters.get("mentions.counted", 0), 1)
    if fraction < _MANY:
        return ""
    return (
        f"{n_dropped:,} mentions ({fraction:.0%} of the counted) lead to pages that are not in the "
        "input, and count for nothing. If the input is a part of a wiki only, keep them with "
        "--existing any; a complete wiki has red links only there."
    )
