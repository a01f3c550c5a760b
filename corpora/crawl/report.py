"""What a run of the crawler did: for each site what came, what was refused and why it ended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.crawl.tally import SiteTally


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """A run; a session that was interrupted has several."""

    session: str
    is_finished: bool
    tallies: tuple[SiteTally, ...]
    seconds: float
    repaired: Mapping[str, Any]
    """What was done when the archive was opened."""

    @property
    def without_pages(self) -> list[SiteTally]:
        """Sites that gave nothing at all, neither now nor earlier."""
        return [tally for tally in self.tallies if not tally.n_pages]

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "session": self.session,
            "finished": self.is_finished,
            "seconds": round(self.seconds, 1),
            "archive": dict(self.repaired),
            "sites": [tally.to_json() for tally in self.tallies],
        }

    def lines(self) -> Iterator[str]:
        """What people should see: a line a site, and a warning for each that gave nothing."""
        if self.repaired.get("cut_bytes"):
            yield f"half a record was cut off: {self.repaired['cut_bytes']:,} bytes"
        if self.repaired.get("damaged"):
            yield f"WARNING {self.repaired['damaged']:,} places of the archive cannot be read"
        for tally in self.tallies:
            n_fetched, n_archived = tally.fetched.total(), tally.archived.total()
            yield (
                f"{tally.name}: {tally.n_pages:,} pages ({n_fetched:,} answers fetched, "
                f"{n_archived:,} from the archive, {tally.refused.total():,} refused), "
                f"{tally.n_bytes / 1e6:.1f} MB, {tally.seconds:.0f} s, {tally.ended}"
            )
        yield from self.warnings()

    def warnings(self) -> Iterator[str]:
        """One for each site that gave no page."""
        for tally in self.without_pages:
            yield f"WARNING {tally.name}: gave no page ({_because(tally)})."


def _because(tally: SiteTally) -> str:
    if tally.ended == "interrupted":
        return "interrupted"
    if tally.refused:
        [(reason, _)] = tally.refused.most_common(1)
        return f"refused: {_counts(tally.refused)}; the first {reason}: {tally.examples[reason]}"
    if tally.passed_over.total():
        return f"passed over: {_counts(tally.passed_over)}"
    if tally.statuses:
        return f"statuses: {_counts(tally.statuses)}; nothing there names an article"
    return "nothing was found"


def _numbers(told: Mapping[str, Any]) -> dict[str, int]:
    return {name: value for name, value in told.items() if isinstance(value, int)}


def _counts(counts: Mapping[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count:,}" for name, count in shown if count)


def to_markdown(report: CrawlReport) -> str:
    """The report as a file for people."""
    state = "finished" if report.is_finished else "not finished: the same command goes on"
    rows = []
    for tally in report.tallies:
        cells = (tally.name, tally.n_pages, tally.n_articles, tally.fetched.total())
        more = (tally.archived.total(), tally.refused.total(), f"{tally.n_bytes / 1e6:.1f}")
        session = (tally.session_pages, f"{tally.session_bytes / 1e6:.1f}")
        rows.append([*cells, *more, f"{tally.seconds:.0f}", *session, tally.ended])
    columns = ["site", "pages", "articles", "fetched", "archived", "refused", "MB", "s"]
    columns += ["session: asked", "session: MB", "ended"]
    lines = [
        f"# Crawl {report.session}",
        "",
        f"{len(report.tallies)} sites in {report.seconds:.0f} s; {state}.",
        f"Archive, when it was opened: {_counts(_numbers(report.repaired)) or 'nothing to do'}.",
        "Each address counts once. Articles: what news-please takes for such, of what was fetched.",
        "",
        *_table(columns, rows),
    ]
    for tally in report.tallies:
        lines += ["", f"## {tally.name}", "", *_details(tally)]
    return "\n".join([*lines, *(f"\n{line}" for line in report.warnings())]) + "\n"


def _details(tally: SiteTally) -> Iterator[str]:
    yield f"Ended: {tally.ended}. Sitemaps and feeds named {tally.n_named:,} addresses."
    yield ""
    for title, counts in (
        ("fetched", tally.fetched),
        ("from the archive", tally.archived),
        ("statuses", tally.statuses),
        ("refused", tally.refused),
        ("passed over", tally.passed_over),
    ):
        if counts.total():
            yield f"- {title}: {_counts(counts)}"
    for reason, example in sorted(tally.examples.items()):
        yield f"- {reason}, the first: `{example.replace('`', '%60')}`"


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join(['---'] * len(columns))} |"
    for row in rows:
        yield f"| {' | '.join(f'{c:,}' if isinstance(c, int) else str(c) for c in row)} |"
