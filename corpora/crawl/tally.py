"""Counts of the outcomes of addresses in a run, and its report; each address counts once."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

from corpora.crawl.archive import Repair
from corpora.crawl.types import PAGES, Fetched, Kind, NoAnswer
from corpora.reports import Row, counted, markdown_table
from corpora.system.web import hide_password
from corpora.warc.http import Answer


@dataclass
class SiteTally:
    """The counts of a site."""

    name: str
    fetched: Counter[str] = field(default_factory=Counter)
    """Answers that came over the network in this run, by kind of request."""
    archived: Counter[str] = field(default_factory=Counter)
    """Answers that were in the archive, or had not changed since, by kind of request."""
    statuses: Counter[str] = field(default_factory=Counter)
    """All answers, by HTTP status."""
    refused: Counter[str] = field(default_factory=Counter)
    """Refused requests, by reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """For each reason, the first address that was refused, and the detail."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Addresses and parts that were not requested or read, by reason: ``excluded``, ``older``,
    ``nofollow``, ``file_type``, ``broken_listing`` …"""
    n_bytes: int = 0
    """The unpacked bytes of the fetched answers."""
    n_named: int = 0
    """The addresses that sitemaps and feeds named."""
    n_pages: int = 0
    """HTML pages with status 200, fetched or archived."""
    n_articles: int = 0
    """Pages fetched in this run that news-please takes for articles."""
    seconds: float = 0.0
    session_pages: int = 0
    """The pages requested in the whole session, with the runs before an interruption."""
    session_bytes: int = 0
    """The bytes of bodies, as sent, in the whole session."""
    ended: str = ""
    """``done``, the bound that was reached, or ``interrupted``; empty during the crawl."""
    _seen: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def count(self, answer: Fetched | NoAnswer, kind: Kind) -> None:
        """Count an answer."""
        if isinstance(answer, NoAnswer):
            if self._is_new(answer.url, answer.reason):
                self.refused[answer.reason] += 1
                example = hide_password(f"{answer.url}: {answer.detail}")
                self.examples.setdefault(answer.reason, example[:500])
        elif self._is_new(answer.url, "answer"):
            (self.archived if answer.from_archive else self.fetched)[kind] += 1
            self.statuses[str(answer.status)] += 1
            self.n_bytes += 0 if answer.from_archive else len(answer.body)
            is_page = Answer(answer.status, answer.headers, answer.body).is_page
            self.n_pages += kind in PAGES and answer.status == 200 and is_page

    def pass_over(self, url: str, reason: str) -> None:
        """Count an address that is not asked for."""
        if self._is_new(url, reason):
            self.passed_over[reason] += 1

    def put_off(self, url: str) -> None:
        """Count an address without room in the queue, unless it was asked for."""
        if ("asked", url) not in self._seen:
            self.pass_over(url, "beyond_queue")

    def ask(self, url: str) -> None:
        """Record that an address is asked for; it no longer counts as without room in the queue."""
        self._seen.add(("asked", url))
        if ("beyond_queue", url) in self._seen:
            self._seen.remove(("beyond_queue", url))
            self.passed_over -= Counter({"beyond_queue": 1})

    def add_article(self, url: str) -> None:
        """Count a page that is taken for an article."""
        self.n_articles += self._is_new(url, "article")

    def add_named(self, url: str) -> None:
        """Count an address that a sitemap or a feed names."""
        self.n_named += self._is_new(url, "named")

    def _is_new(self, url: str, what: str) -> bool:
        is_new = (what, url) not in self._seen
        self._seen.add((what, url))
        return is_new

    def __getstate__(self) -> dict[str, object]:
        """Return the counts without the addresses: other processes need only the counts."""
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    def to_json(self) -> dict[str, object]:
        """Return the counts as plain data."""
        return {
            key: dict(sorted(value.items())) if isinstance(value, dict) else value
            for key, value in self.__getstate__().items()
        }


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """The report of a run; a session that was interrupted has several runs."""

    session: str
    is_finished: bool
    tallies: tuple[SiteTally, ...]
    seconds: float
    repaired: Repair
    """The repairs that were made when the archive was opened."""

    @property
    def without_pages(self) -> list[SiteTally]:
        """The sites without any page, neither fetched nor from the archive."""
        return [tally for tally in self.tallies if not tally.n_pages]

    def to_json(self) -> dict[str, object]:
        """Return the report as plain data."""
        return {
            "session": self.session,
            "finished": self.is_finished,
            "seconds": round(self.seconds, 1),
            "archive": asdict(self.repaired),
            "sites": [tally.to_json() for tally in self.tallies],
        }

    def lines(self) -> Iterator[str]:
        """Yield a line for each site, and a warning for each site that gave no page."""
        if self.repaired.cut_bytes:
            yield f"half a record was cut off: {counted(self.repaired.cut_bytes, 'byte')}"
        if self.repaired.damaged:
            yield f"WARNING {counted(self.repaired.damaged, 'place')} of the archive cannot be read"
        for tally in self.tallies:
            n_fetched, n_archived = tally.fetched.total(), tally.archived.total()
            yield (
                f"{tally.name}: {counted(tally.n_pages, 'page')} "
                f"({counted(n_fetched, 'answer')} fetched, {n_archived:,} from the archive, "
                f"{tally.refused.total():,} refused), "
                f"{tally.n_bytes / 1e6:.1f} MB, {tally.seconds:.0f} s, {tally.ended}"
            )
        yield from self.warnings()

    def warnings(self) -> Iterator[str]:
        """Yield a warning for each site that gave no page."""
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


def _counts(counts: Mapping[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count:,}" for name, count in shown if count)


_COLUMNS = (
    *("site", "pages", "articles", "fetched", "archived", "refused", "MB", "s"),
    *("session: asked", "session: MB", "ended"),
)


def _cells(tally: SiteTally) -> Row:
    totals = (tally.fetched.total(), tally.archived.total(), tally.refused.total())
    counts = (tally.n_pages, tally.n_articles, *totals, f"{tally.n_bytes / 1e6:.1f}")
    session = (tally.session_pages, f"{tally.session_bytes / 1e6:.1f}", tally.ended)
    return tally.name, *counts, f"{tally.seconds:.0f}", *session


def to_markdown(report: CrawlReport) -> str:
    """Format the report as Markdown, for people."""
    state = "finished" if report.is_finished else "not finished: the same command resumes"
    repaired = {k: v for k, v in asdict(report.repaired).items() if isinstance(v, int)}
    lines = [
        f"# Crawl {report.session}",
        "",
        f"{len(report.tallies)} sites in {report.seconds:.0f} s; {state}.",
        f"Archive, when it was opened: {_counts(repaired) or 'nothing to do'}.",
        "Each address counts once. Articles: what news-please takes for such, of what was fetched.",
        "",
        *markdown_table(_COLUMNS, map(_cells, report.tallies), align="lrrrrrrrrrl"),
        *(line for tally in report.tallies for line in _details(tally)),
        *(f"\n{line}" for line in report.warnings()),
    ]
    return "\n".join(lines) + "\n"


def _details(tally: SiteTally) -> Iterator[str]:
    yield f"\n## {tally.name}\n"
    yield f"Ended: {tally.ended}. Sitemaps and feeds named {tally.n_named:,} addresses.\n"
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
