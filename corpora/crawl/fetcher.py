"""The one door to the network: every request of a crawl passes here, each hop of a redirect too.

What the archive has is answered from there. What may not be asked for is refused with a reason; all
else is asked for at the pace of its host, written to the archive, and only then handed on.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from corpora.crawl.addresses import Resolver, literal, may_ask, parse_networks, resolve
from corpora.crawl.archive import Archive, Repair
from corpora.crawl.bounds import SiteBounds, Used
from corpora.crawl.exchange import Exchange, Request
from corpora.crawl.hosts import ROBOTS, RULES, Errand, HostRules, Hosts
from corpora.crawl.lines import Lines
from corpora.crawl.memory import Memory
from corpora.crawl.pace import Clock, Pace
from corpora.crawl.reservations import Decision, TdmRules
from corpora.crawl.robots import STALE_S, Robots
from corpora.crawl.types import Fetched, Kind, Refused, SitePolicy
from corpora.crawl.urls import BadUrlError, Target, parse_url
from corpora.warc.contact import AGENT, crawler_agent

_UNRESERVED = (*RULES, "sitemap")
"""Kinds that are made for those who come by themselves: no text of the site is in them."""


@contextmanager
def open_fetcher(
    folder: Path,
    *,
    session: str,
    clock: Clock | None = None,
    resolver: Resolver = resolve,
    tls: ssl.SSLContext | None = None,
) -> Iterator["Fetcher"]:
    """Open an archive, and a fetcher that writes into a session of it, begun before or not.

    Raises ``FolderInUseError`` where another process works in the folder.
    """
    with Archive(folder) as archive:
        archive.begin(
            session,
            {"software": AGENT, "isPartOf": f"crawl-{session}", "format": "WARC File Format 1.1"},
        )
        lines = Lines(resolver=resolver, tls=tls or ssl.create_default_context())
        with lines:
            yield Fetcher(archive, lines, clock or Clock())


class Fetcher:
    """Answers from the archive, or asks; safe for threads, one connection a host at a time."""

    def __init__(self, archive: Archive, lines: Lines, clock: Clock) -> None:
        self._archive, self._lines, self._clock = archive, lines, clock
        self._memory = Memory(archive, clock.now)
        self._pace = _restored(archive, clock.now())
        self._exchange = Exchange(archive, lines, clock=clock, pace=self._pace)
        self._hosts = Hosts(self._ask_for_rules, self._stale_robots, clock.now)
        self._sites: dict[str, SiteBounds] = {}

    @property
    def repaired(self) -> Repair:
        """What was done when the archive was opened."""
        return self._archive.repaired

    def stop(self) -> None:
        """Ask for nothing more; who waits is refused (``stopped``)."""
        self._clock.stop.set()

    def used(self, site: SitePolicy) -> Used:
        """What a site has used up in this session."""
        return self._bounds(site).used

    def sitemaps(self, url: str, *, site: SitePolicy) -> tuple[str, ...] | Refused:
        """The sitemaps that the robots.txt of an address names."""
        answer = self._check(url, site)
        if isinstance(answer, Refused):
            return answer
        rules = self._hosts.rules(answer, site)
        return rules.refused or rules.robots.sitemaps

    def fetch(self, url: str, *, kind: Kind, depth: int, site: SitePolicy) -> Fetched | Refused:
        """Answer from the archive, or ask the server.

        Redirects are answers, and not followed. Raises ``OSError`` where the archive cannot be
        written, ``DamagedDatasetError`` where it cannot be read.
        """
        target = self._check(url, site)
        if isinstance(target, Refused):
            return target
        if target.path == ROBOTS:
            kind = "robots"
        known = self._memory.recall(target, kind, site)
        if known is not None:
            return known
        if depth > site.max_depth:
            detail = f"{site.name}: max_depth is {site.max_depth}"
            return Refused(target.url, "bound_depth", detail)
        errand = Errand(target, kind, depth, site)
        rules = self._hosts.rules(target, site)
        mining = rules.decide(target)
        return _forbidden(errand, rules, mining) or self._ask(errand, rules, mining)

    def _check(self, url: str, site: SitePolicy) -> Target | Refused:
        """Take an address apart, and look whether it is one of the site."""
        try:
            target = parse_url(url)
        except BadUrlError as error:
            return Refused(url, "bad_url", str(error))
        if refused := _private(target, site):
            return refused
        if not target.is_of(site.hosts):
            return Refused(target.url, "foreign_host", f"{target.authority}, not of {site.name}")
        return target

    def _ask(self, errand: Errand, rules: HostRules, mining: Decision) -> Fetched | Refused:
        """Ask the server, unless another thread has just done so."""
        target, kind, site = errand.target, errand.kind, errand.site
        self._archive.describe(_about(site))
        with self._lines.holding(target.authority):
            known = self._memory.recall(target, kind, site)
            if known is not None:
                return known
            request = Request(
                target=target,
                kind=kind,
                depth=errand.depth,
                site=site,
                bounds=self._bounds(site),
                delay=max(site.delay, rules.robots.delay),
                robots=rules.robots.summary() if kind not in RULES else "",
                mining=mining,
                heeds_headers=site.respect_reservations and kind not in _UNRESERVED,
                attempt=self._memory.n_tried(target) + 1,
                before=self._memory.before(target, kind),
            )
            return self._exchange.run(request)

    def _ask_for_rules(self, errand: Errand, robots: Robots) -> Fetched | Refused:
        """Ask for robots.txt or tdmrep.json, of this or of the host that a redirect leads to."""
        target, site = errand.target, errand.site
        refused = _private(target, site) or _of_another_port(target, site)
        known = refused or self._memory.recall(target, errand.kind, site)
        return known or self._ask(errand, HostRules(robots, TdmRules()), Decision())

    def _bounds(self, site: SitePolicy) -> SiteBounds:
        found = self._sites.get(site.name)
        if found is None:
            found = SiteBounds(self._archive.used(site.name))
            found = self._sites.setdefault(site.name, found)
        return found

    def _stale_robots(self, url: str) -> bytes | None:
        return self._memory.stale(url, since=self._clock.now() - STALE_S)


def _private(target: Target, site: SitePolicy) -> Refused | None:
    """Refuse an address that is written as a number, before anything is asked."""
    address = literal(target.host)
    if address and not may_ask(address, parse_networks(site.allow_private)):
        return Refused(target.url, "private_address", f"{address} is not of the public internet")
    return None


def _of_another_port(target: Target, site: SitePolicy) -> Refused | None:
    """Refuse to look for rules where no site of the web is."""
    if target.port in (80, 443) or target.is_of(site.hosts):
        return None
    return Refused(target.url, "foreign_host", f"{target.authority}: a port of another host")


def _forbidden(errand: Errand, rules: HostRules, mining: Decision) -> Refused | None:
    """What robots.txt and reservations say against a request."""
    url, site, robots = errand.target.url, errand.site, rules.robots
    if rules.refused:
        return replace(rules.refused, url=url)
    if errand.kind == "robots":
        return None
    if not robots.allows(url):
        return Refused(url, "robots", robots.told if robots.is_closed else "robots.txt: Disallow")
    if robots.delay > site.max_delay:
        detail = f"robots.txt asks for {robots.delay:g} s, max_delay is {site.max_delay:g}"
        return Refused(url, "crawl_delay", detail)
    if mining.is_reserved and site.respect_reservations and errand.kind not in _UNRESERVED:
        return Refused(url, "reserved", mining.because)
    return None


def _about(site: SitePolicy) -> dict[str, str]:
    """What the files of the archive say of themselves."""
    return {
        "operator": site.contact,
        "http-header-user-agent": crawler_agent(site.contact),
        "robots": "classic",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    }


def _restored(archive: Archive, now: float) -> Pace:
    """The pace of the hosts, as a process before this one left it.

    What was being asked for when that was killed is not in the archive: if the session goes on,
    every host may have been asked just now.
    """
    pace = Pace(all_asked=now if archive.is_resumed else float("-inf"))
    for host, ended in archive.hosts().items():
        known = pace.of(host)
        known.last = max(known.last, ended)
    for entry in archive.replay():
        pace.of(entry.host).note(entry)
    for host, until in archive.pauses(now).items():
        known = pace.of(host)
        known.not_before = max(known.not_before, until)
        known.longest = max(known.longest, until - now)
    return pace
