"""The rules of hosts, fetched once a session: robots.txt and tdmrep.json.

RFC 9309, 2.3.1: a robots.txt that is not there (4xx, or more than five redirects) allows all; one
that cannot be had (5xx, 429, no connection) forbids all, unless one of the last 24 hours is in the
archive. A tdmrep.json that cannot be had reserves nothing.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeGuard
from urllib.parse import urljoin

from corpora.crawl.reservations import Decision, TdmRules, parse_tdmrep, strictest
from corpora.crawl.robots import MAX_REDIRECTS, Robots, closed, parse_robots
from corpora.crawl.types import Fetched, Kind, Refused, SitePolicy
from corpora.crawl.urls import BadUrlError, Target, parse_url

RULES: tuple[Kind, ...] = ("robots", "tdmrep")
"""The kinds that are asked for to know what may be asked."""
KEPT_S = 24 * 3600.0
"""Seconds that rules hold (RFC 9309, 2.4); then they are asked for again."""
_LOOK_S = 3600.0
"""Seconds after which the archive is asked how old they are."""
Ask = Callable[["Errand", Robots], Fetched | Refused]
"""Asks for an address at the pace of a robots.txt."""
ROBOTS = "/robots.txt"
TDMREP = "/.well-known/tdmrep.json"
_UNTOUCHED = frozenset(
    {"private_address", "bound_bytes", "bound_seconds", "host_left", "certificate", "stopped"}
)
"""Reasons that are as true of every page of the host."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is asked for, as what, for whom."""

    target: Target
    kind: Kind
    depth: int
    site: SitePolicy


@dataclass(frozen=True, slots=True)
class HostRules:
    """What may be asked of a host, and what it reserves."""

    robots: Robots
    tdm: TdmRules
    refused: Refused | None = None
    """Why nothing of the host can be had at all."""

    def decide(self, target: Target) -> Decision:
        """Whether mining of an address is reserved, as far as it is known before it is fetched."""
        told = self.robots.decide(target.url, target.path)
        return strictest([told, self.tdm.decide(target.path.partition("?")[0])])


class Hosts:
    """Fetches and keeps the rules; safe for threads. ``stale`` finds a robots.txt from before."""

    def __init__(
        self, ask: Ask, stale: Callable[[str], bytes | None], now: Callable[[], float]
    ) -> None:
        self._ask, self._stale, self._now = ask, stale, now
        self._known: dict[str, tuple[HostRules, float]] = {}
        self._locks: defaultdict[str, Lock] = defaultdict(Lock)
        self._lock = Lock()

    def rules(self, target: Target, site: SitePolicy) -> HostRules:
        """The rules for an address; asks for them where they are not known."""
        with self._lock:
            lock = self._locks[target.origin]
        with lock:
            found, since = self._known.get(target.origin, (None, 0.0))
            if found is None or self._now() - since > _LOOK_S:
                found = self._fetch(target, site)
                if found.refused is None:
                    self._known[target.origin] = found, self._now()
            return found

    def _fetch(self, target: Target, site: SitePolicy) -> HostRules:
        errand = Errand(replace(target, path=ROBOTS), "robots", 0, site)
        answer = self._follow(errand, Robots("", ""))
        robots = self._read_robots(answer, errand.target.url)
        tdm = TdmRules()
        errand = Errand(replace(target, path=TDMREP), "tdmrep", 0, site)
        if _is_all(answer):
            return HostRules(robots, tdm, answer)
        if robots.allows(errand.target.url) and robots.delay <= site.max_delay:
            answer = self._follow(errand, robots)
            if _is_all(answer):
                return HostRules(robots, tdm, answer)
            if isinstance(answer, Fetched) and answer.status == 200:
                tdm = parse_tdmrep(answer.body)
        return HostRules(robots, tdm)

    def _follow(self, errand: Errand, robots: Robots) -> Fetched | Refused | None:
        """Ask, and go where redirects lead; None where they lead on and on, or nowhere."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._ask(errand, robots)
            if isinstance(answer, Refused) or not 300 <= answer.status < 400:
                return answer
            location = answer.header("location") or ""
            try:
                target = parse_url(urljoin(errand.target.url, location))
            except (BadUrlError, ValueError):
                return None
            if errand.kind == "tdmrep" and not _may_follow(errand.target, target, robots):
                return None
            errand = replace(errand, target=target)
        return None

    def _read_robots(self, answer: Fetched | Refused | None, url: str) -> Robots:
        if answer is None:
            return parse_robots(b"", told="no robots.txt (redirects without end)")
        if isinstance(answer, Fetched):
            if answer.status == 200:
                return parse_robots(answer.body, told="200")
            if 200 <= answer.status < 500 and answer.status != 429:
                return parse_robots(b"", told=f"no robots.txt ({answer.status})")
        what = answer.reason if isinstance(answer, Refused) else str(answer.status)
        old = self._stale(url)
        if old is not None:
            return parse_robots(old, told=f"robots.txt of the day before ({what})")
        return closed(f"robots.txt cannot be had ({what})")


def _may_follow(target: Target, to: Target, robots: Robots) -> bool:
    """Whether a tdmrep.json may be elsewhere: where robots.txt lets us, or on another host.

    There, at the same path alone: of what else may be asked there, we know nothing.
    """
    return robots.allows(to.url) if to.origin == target.origin else to.path == TDMREP


def _is_all(answer: Fetched | Refused | None) -> TypeGuard[Refused]:
    """Whether a file of rules was refused for a reason that holds for all of its host."""
    return isinstance(answer, Refused) and answer.reason in _UNTOUCHED
