"""The one way to the network: every request of a crawl passes here, each hop of a redirect too.

What the archive has is answered from there. What may not be asked for is refused with a reason; all
else is asked for at the pace of its host, written to the archive, and only then handed on.
"""

import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from corpora.crawl.addresses import Resolver, literal, may_ask, parse_networks, resolve
from corpora.crawl.archive import Archive
from corpora.crawl.connection import Connections
from corpora.crawl.exchange import UNRESERVED, Exchange
from corpora.crawl.hosts import ROBOTS, HostRules, Hosts
from corpora.crawl.pace import Clock
from corpora.crawl.reservations import Decision
from corpora.crawl.robots import STALE_S, Robots
from corpora.crawl.types import Fetched, Kind, Refused, Request, SitePolicy
from corpora.crawl.urls import BadUrlError, Target, parse_url
from corpora.warc.contact import AGENT


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
    about = {"software": AGENT, "isPartOf": f"crawl-{session}", "format": "WARC File Format 1.1"}
    connections = Connections(resolver=resolver, tls=tls or ssl.create_default_context())
    with Archive(folder) as archive, closing(connections):
        archive.begin(session, about)
        yield Fetcher(archive, connections, clock or Clock())


class Fetcher:
    """Answers from the archive, or asks; safe for threads, one connection a host at a time."""

    def __init__(self, archive: Archive, connections: Connections, clock: Clock) -> None:
        self._clock = clock
        self._exchange = Exchange(archive, connections, clock)
        self._memory = self._exchange.memory
        self._hosts = Hosts(self._ask_for_rules, self._stale_robots, clock.now)
        self.repaired = archive.repaired
        self.bounds = self._exchange.bounds

    def stop(self) -> None:
        """Ask for nothing more; who waits is refused (``stopped``)."""
        self._clock.stop.set()

    def sitemaps(self, url: str, *, site: SitePolicy) -> tuple[str, ...] | Refused:
        """The sitemaps that the robots.txt of an address names."""
        target = _check(url, site)
        if isinstance(target, Refused):
            return target
        rules = self._hosts.rules(target, site)
        return rules.refused or rules.robots.sitemaps

    def fetch(self, url: str, *, kind: Kind, depth: int, site: SitePolicy) -> Fetched | Refused:
        """Answer from the archive, or ask the server.

        Redirects are answers, and not followed. Raises ``OSError`` where the archive cannot be
        written, ``DamagedDatasetError`` where it cannot be read.
        """
        target = _check(url, site)
        if isinstance(target, Refused):
            return target
        request = Request(target, "robots" if target.path == ROBOTS else kind, depth, site)
        known = self._memory.recall(request)
        if known is not None:
            return known
        if depth > site.max_depth:
            detail = f"{site.name}: max_depth is {site.max_depth}"
            return Refused(target.url, "bound_depth", detail)
        rules = self._hosts.rules(target, site)
        mining = rules.decide(target)
        refused = _forbidden(request, rules, mining)
        return refused or self._exchange.run(request, rules.robots, mining)

    def _ask_for_rules(self, request: Request, robots: Robots) -> Fetched | Refused:
        """Ask for robots.txt or tdmrep.json, of this or of the host that a redirect leads to."""
        refused = _private(request.target, request.site) or _of_another_port(request)
        known = refused or self._memory.recall(request)
        return known or self._exchange.run(request, robots, Decision())

    def _stale_robots(self, url: str) -> bytes | None:
        return self._memory.stale(url, since=self._clock.now() - STALE_S)


def _check(url: str, site: SitePolicy) -> Target | Refused:
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


def _private(target: Target, site: SitePolicy) -> Refused | None:
    """Refuse an address that is written as a number, before anything is asked."""
    address = literal(target.host)
    if address and not may_ask(address, parse_networks(site.allow_private)):
        return Refused(target.url, "private_address", f"{address} is not of the public internet")
    return None


def _of_another_port(request: Request) -> Refused | None:
    """Refuse to look for rules where no site of the web is."""
    target = request.target
    if target.port in (80, 443) or target.is_of(request.site.hosts):
        return None
    return Refused(target.url, "foreign_host", f"{target.authority}: a port of another host")


def _forbidden(request: Request, rules: HostRules, mining: Decision) -> Refused | None:
    """What robots.txt and reservations say against a request."""
    url, site, robots = request.target.url, request.site, rules.robots
    if rules.refused:
        return replace(rules.refused, url=url)
    if request.kind == "robots":
        return None
    if not robots.allows(url):
        return Refused(url, "robots", robots.told if robots.is_closed else "robots.txt: Disallow")
    if robots.delay > site.max_delay:
        detail = f"robots.txt asks for {robots.delay:g} s, max_delay is {site.max_delay:g}"
        return Refused(url, "crawl_delay", detail)
    if mining.is_reserved and site.respect_reservations and request.kind not in UNRESERVED:
        return Refused(url, "reserved", mining.because)
    return None
