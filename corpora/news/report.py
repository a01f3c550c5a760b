"""The side files of a run: the list of duplicates, and the report with the outcomes of records."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from corpora.news.filters import Thresholds
from corpora.reports import counted, markdown_table
from corpora.runs.build import Build
from corpora.system.cells import one_line

_COLUMNS = ("id", "url", "kind", "similarity", "duplicate_of", "duplicate_of_url")


def duplicates_lines(notes: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the list of duplicates as TSV: each article left out, and the kept one."""
    yield "\t".join(_COLUMNS) + "\n"
    for note in notes:
        yield "\t".join(one_line(note[column]) for column in _COLUMNS) + "\n"


def to_markdown(
    build: Build,
    thresholds: Thresholds,
    *,
    extractor: str,
    boilerplate_pages: int,
    near_duplicates: float,
) -> str:
    """Write the report: outcomes of records, thresholds, counters.

    ``extractor`` is its name and version; the last two are the options of these names.
    """
    account = build.accounting
    bounds = asdict(thresholds) | {"langs": list(thresholds.langs)}
    said = (
        f"Read {counted(account.read, 'record')}: {account.written:,} are articles, "
        f"{account.n_filtered:,} were left out on purpose, {account.n_rejected:,} could not be "
        "read."
    )
    lines = [
        "# News to documents",
        "",
        said,
        "",
        *_table("left out", account.filtered),
        *_table("could not be read", account.rejected),
        "## Thresholds",
        "",
        f"- extractor: {extractor}",
        *(f"- {name}: {bound}" for name, bound in sorted(bounds.items())),
        f"- boilerplate_pages: {boilerplate_pages}",
        f"- near_duplicates: {near_duplicates:g}",
        "",
        *_table("counter", build.counters),
    ]
    return "\n".join(lines) + "\n"


def _table(title: str, counts: Mapping[str, int]) -> list[str]:
    return [*markdown_table((title, ""), counts.items()), ""] if counts else []
