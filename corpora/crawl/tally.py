"""What became of the addresses of a site in a run: each counts once, whoever finds it again."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corpora.crawl.types import Fetched, Kind, Refused

PAGES = ("page", "list")


@dataclass
class SiteTally:
    """Counts what a site gave; ``to_json`` and ``from_json`` carry it between processes."""

    name: str
    fetched: Counter[str] = field(default_factory=Counter)
    """By kind: answers that came over the network now."""
    archived: Counter[str] = field(default_factory=Counter)
    """By kind: answers that lay in the archive, or had not changed."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Of all answers."""
    refused: Counter[str] = field(default_factory=Counter)
    """By reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first address that was refused for each reason, and the detail."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Not asked for: ``excluded``, ``older``, ``nofollow``, ``file_type``, ``broken_listing`` …"""
    n_bytes: int = 0
    """Of what was fetched, unpacked."""
    n_named: int = 0
    """Addresses that sitemaps and feeds named."""
    n_pages: int = 0
    """Pages of HTML with status 200, fetched or archived."""
    n_articles: int = 0
    """Of those fetched now, what news-please takes for articles."""
    seconds: float = 0.0
    session_pages: int = 0
    """Pages that were asked for in the whole session, with what came before an interruption."""
    session_bytes: int = 0
    """As sent."""
    ended: str = ""
    """``done``, the bound that was reached, ``interrupted``, or ``error``."""
    _seen: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def count(self, answer: Fetched | Refused, kind: Kind) -> None:
        """Count an answer."""
        if isinstance(answer, Refused):
            self._refuse(answer)
        elif self._is_new(answer.url, "answer"):
            (self.archived if answer.from_archive else self.fetched)[kind] += 1
            self.statuses[str(answer.status)] += 1
            self.n_bytes += 0 if answer.from_archive else len(answer.body)
            is_html = "html" in (answer.header("content-type") or "").lower()
            self.n_pages += kind in PAGES and answer.status == 200 and is_html

    def _refuse(self, refused: Refused) -> None:
        if self._is_new(refused.url, refused.reason):
            self.refused[refused.reason] += 1
            example = f"{refused.url}: {refused.detail}"
            self.examples.setdefault(refused.reason, example[:500])

    def pass_over(self, url: str, reason: str) -> None:
        """Count an address that is not asked for."""
        if self._is_new(url, reason):
            self.passed_over[reason] += 1

    def put_off(self, url: str) -> None:
        """Count an address that has no room among those that wait, if it was not asked for."""
        if ("asked", url) not in self._seen:
            self.pass_over(url, "beyond_queue")

    def ask(self, url: str) -> None:
        """Note that an address is asked for: there is room for it now, if there was none before."""
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
        before = len(self._seen)
        self._seen.add((what, url))
        return len(self._seen) > before

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        values = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        return {
            key: dict(sorted(value.items())) if isinstance(value, dict) else value
            for key, value in values.items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "SiteTally":
        """What ``to_json`` made."""
        counters = {"fetched", "archived", "statuses", "refused", "passed_over"}
        told: dict[str, Any] = {
            key: Counter(value) if key in counters else value for key, value in values.items()
        }
        return cls(**told)
