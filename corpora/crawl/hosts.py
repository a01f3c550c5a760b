"""The rules of hosts, fetched once a session: robots.txt and tdmrep.json.

RFC 9309, 2.3.1: a robots.txt that is not there (4xx, or more than five redirects) allows all; one
that cannot be had (5xx, 429, no connection) forbids all, unless one of the last 24 hours is in the
archive. A tdmrep.json that cannot be had reserves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeGuard
from urllib.parse import urljoin

from corpora.crawl.reservations import Decision, TdmRules, parse_tdmrep, strictest
from corpora.crawl.robots import MAX_REDIRECTS, Robots, closed, parse_robots
from corpora.crawl.types import Fetched, Refused, Request, SitePolicy
from corpora.crawl.urls import BadUrlError, Target, parse_url

_LOOK_S = 3600.0
"""Seconds after which the archive is asked how old rules are."""
ROBOTS = "/robots.txt"
TDMREP = "/.well-known/tdmrep.json"
_UNTOUCHED = frozenset(
    {"private_address", "bound_bytes", "bound_seconds", "host_left", "certificate", "stopped"}
)
"""Reasons that are as true of every page of the host."""


@dataclass(frozen=True, slots=True)
class HostRules:
    """Rules of a host: addresses that may be asked for, and reservations."""

    robots: Robots
    tdm: TdmRules = TdmRules()
    refused: Refused | None = None
    """Why nothing of the host can be had at all."""

    def decide(self, target: Target) -> Decision:
        """Say whether mining of an address is reserved, as far as is known before it is fetched."""
        told = self.robots.decide(target.url, target.path)
        return strictest([told, self.tdm.decide(target.path.partition("?")[0])])


@dataclass
class Hosts:
    """Fetches and keeps the rules; safe for threads."""

    ask: Callable[[Request, Robots], Fetched | Refused]
    """Asks for an address at the pace of a robots.txt."""
    stale: Callable[[str], bytes | None]
    """Finds a robots.txt from before."""
    now: Callable[[], float]

    def __post_init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, tuple[HostRules, float]] = {}
        self._locks: dict[str, Lock] = {}

    def rules(self, target: Target, site: SitePolicy) -> HostRules:
        """The rules for an address; asks for them where they are not known."""
        with self._locks.setdefault(target.origin, Lock()):
            found, since = self._known.get(target.origin, (None, 0.0))
            if found is None or self.now() - since > _LOOK_S:
                found = self._fetch(target, site)
                if found.refused is None:
                    self._known[target.origin] = found, self.now()
            return found

    def _fetch(self, target: Target, site: SitePolicy) -> HostRules:
        request = Request(replace(target, path=ROBOTS), "robots", 0, site)
        answer = self._follow(request, Robots("", ""))
        robots = self._read_robots(answer, request.target.url)
        if _is_all(answer):
            return HostRules(robots, refused=answer)
        request = Request(replace(target, path=TDMREP), "tdmrep", 0, site)
        if robots.allows(request.target.url) and robots.delay <= site.max_delay:
            answer = self._follow(request, robots)
            if _is_all(answer):
                return HostRules(robots, refused=answer)
            if isinstance(answer, Fetched) and answer.status == 200:
                return HostRules(robots, parse_tdmrep(answer.body))
        return HostRules(robots)

    def _follow(self, request: Request, robots: Robots) -> Fetched | Refused | None:
        """Ask, and go where redirects lead; None where they lead on and on, or nowhere."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self.ask(request, robots)
            if isinstance(answer, Refused) or not 300 <= answer.status < 400:
                return answer
            try:
                location = answer.header("location") or ""
                target = parse_url(urljoin(request.target.url, location))
            except (BadUrlError, ValueError):
                return None
            if request.kind == "tdmrep" and not _may_follow(request.target, target, robots):
                return None
            request = replace(request, target=target)
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
        old = self.stale(url)
        if old is not None:
            return parse_robots(old, told=f"robots.txt of the day before ({what})")
        return closed(f"robots.txt cannot be had ({what})")


def _may_follow(target: Target, to: Target, robots: Robots) -> bool:
    """Say whether a tdmrep.json may be elsewhere: where robots.txt lets us, or on another host.

    There, at the same path alone: of what else may be asked there, we know nothing.
    """
    return robots.allows(to.url) if to.origin == target.origin else to.path == TDMREP


def _is_all(answer: Fetched | Refused | None) -> TypeGuard[Refused]:
    """Say whether a file of rules was refused for a reason that holds for all of its host."""
    return isinstance(answer, Refused) and answer.reason in _UNTOUCHED
