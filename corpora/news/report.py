"""The side files of a run: the list of duplicates, and the report with the outcomes of records."""

from collections.abc import Iterable, Iterator, Mapping

from corpora.reports import counted, markdown_table
from corpora.runs.build import Build

_COLUMNS = ("id", "url", "kind", "similarity", "duplicate_of", "duplicate_of_url")


def duplicates_lines(notes: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the list of duplicates as TSV: each article left out, and the kept one."""
    yield "\t".join(_COLUMNS) + "\n"
    for note in notes:
        values = (" ".join(str(note[column]).split()) for column in _COLUMNS)
        yield "\t".join(values) + "\n"


def to_markdown(build: Build) -> str:
    """Write the report: outcomes of records, thresholds, counters."""
    account, parameters = build.accounting, build.plan.parameters
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
        f"- extractor: {parameters['with']}",
        *(f"- {name}: {value}" for name, value in sorted(parameters["thresholds"].items())),
        f"- boilerplate_pages: {parameters['boilerplate_pages']}",
        f"- near_duplicates: {parameters['near_duplicates']:g}",
        "",
        *_table("counter", build.counters),
    ]
    return "\n".join(lines) + "\n"


def _table(title: str, counts: Mapping[str, int]) -> list[str]:
    return [*markdown_table((title, ""), counts.items()), ""] if counts else []
