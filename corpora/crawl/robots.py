"""The rules of a host (robots.txt, tdmrep.json) for Onoma's crawler and for AI agents.

By RFC 9309, 2.3.1, a robots.txt that does not exist (4xx, or more than five redirects) allows all
requests; one that cannot be fetched (5xx, 429, no connection) forbids all, unless the archive has
one of the last 24 hours. A tdmrep.json that cannot be fetched reserves nothing.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, TypeGuard
from urllib.parse import urljoin

from corpora.crawl.reservations import (
    MiningDecision,
    TdmRules,
    ai_agents,
    forbids_training,
    means,
    parse_tdmrep,
    strictest,
)
from corpora.crawl.types import Fetched, NoAnswer, Request, SitePolicy
from corpora.crawl.urls import BadUrlError, UrlParts, parse_url
from corpora.system.web import AGENT

if TYPE_CHECKING:
    from protego import Protego

MAX_BYTES = 500 << 10
"""The number of bytes that are read of a robots.txt (RFC 9309, 2.5)."""
MAX_REDIRECTS = 5
STALE_S = 24 * 3600.0
"""The age in seconds up to which an archived robots.txt is used if none can be fetched (RFC 9309,
2.4)."""
_LOOK_S = 3600.0
"""The seconds for which rules are kept in memory; then they are asked for again, and the archive or
the host answers."""
ROBOTS = "/robots.txt"
TDMREP = "/.well-known/tdmrep.json"
_UNTOUCHED = frozenset(
    {"private_address", "bound_bytes", "bound_seconds", "host_left", "certificate", "stopped"}
)
"""The reasons for which robots.txt is refused that apply to every page of the host as well."""
_VERSION = re.compile(
    r"^([ \t]*user-?agent[ \t]*:[ \t]*[^\s#/]+)/[^\r\n#]*", re.IGNORECASE | re.MULTILINE
)
"""An agent with a version (``User-agent: GPTBot/1.2``): only the name counts (RFC 9309, 2.2.1)."""
_LINE = re.compile(r"\s*([A-Za-z-]+)\s*:\s*([^#\r\n]*)")


@dataclass
class Robots:
    """The robots.txt of a host; ``source`` is ``200``, or says why the file is missing or old."""

    text: str
    source: str
    is_closed: bool = False
    """Whether the file could not be fetched, so that no request is allowed."""

    @cached_property
    def _rules(self) -> "Protego":
        from protego import Protego

        return Protego.parse(self.text)

    @cached_property
    def _name(self) -> str:
        """The agent whose group is ours: Onoma, or ``*`` if only the beginning of the name has one.

        Protego takes a group for ``on`` for ours; by RFC 9309, 2.2.1, names must be equal.
        """
        ours = AGENT.lower()
        return "*" if ours not in self._named and ours.startswith(tuple(self._named)) else AGENT

    def allows(self, url: str) -> bool:
        """Tell whether we may ask for an address."""
        return not self.is_closed and bool(self._rules.can_fetch(url, self._name))

    @cached_property
    def delay(self) -> float:
        """The seconds between requests that ``Crawl-delay`` or ``Request-rate`` asks for."""
        rate = self._rules.request_rate(self._name)
        try:
            pause = rate.seconds / rate.requests if rate else 0.0
        except OverflowError:
            pause = float("inf")
        return max(float(self._rules.crawl_delay(self._name) or 0.0), pause)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The addresses of sitemaps, as written in the file."""
        return tuple(self._rules.sitemaps)

    def decide(self, url: str, path: str) -> MiningDecision:
        """Decide whether mining of an address is reserved."""
        by_agents = [
            MiningDecision("reserved", f"robots.txt: {agent}")
            for agent in self._agents
            if not self._rules.can_fetch(url, agent)
        ]
        return strictest([*by_agents, self._usage(path)])

    def summary(self) -> str:
        """Summarize the rules, for the record of a page that they allow."""
        delay = f"crawl-delay={self.delay:g}" if self.delay else ""
        source = "" if self.source.startswith("2") else self.source
        return "; ".join(filter(None, ["allow", delay, source]))

    @cached_property
    def _agents(self) -> tuple[str, ...]:
        """The agents of ``ai_agents.toml`` that have a group of their own."""
        return tuple(agent for agent in ai_agents()["agents"] if agent.lower() in self._named)

    @cached_property
    def _named(self) -> frozenset[str]:
        """The agents that have a group, in lower case."""
        lines = self._lines()
        return frozenset(value.lower() for name, value in lines if name == "user-agent" and value)

    def _lines(self) -> Iterator[tuple[str, str]]:
        for line in self.text.splitlines():
            if match := _LINE.match(line):
                name = match[1].lower()
                yield "user-agent" if name == "useragent" else name, match[2].strip()

    @cached_property
    def _usages(self) -> tuple[tuple[str, bool, str], ...]:
        """The path, whether training is forbidden, and the text of each usage line that applies.

        A line applies outside of any group, and in groups for all agents, Onoma, or an AI agent.
        """
        ours = {"*", AGENT.lower(), *(agent.lower() for agent in ai_agents()["agents"])}
        group: set[str] = set()
        is_open, found = False, []
        for name, value in self._lines():
            if name == "user-agent":
                group = group | {value.lower()} if is_open else {value.lower()}
                is_open = True
            elif name in ai_agents()["lines"]:
                is_open = False
                path, _, list = value.partition(" ") if value.startswith("/") else ("/", "", value)
                if not group or group & ours:
                    found.append((path, forbids_training(list), f"{name}: {value[:200]}"))
            else:
                is_open = is_open and name == "sitemap"
        return tuple(found)

    def _usage(self, path: str) -> MiningDecision:
        """Apply the line with the longest matching path; of equal paths, one that says no."""
        fitting = [usage for usage in self._usages if means(usage[0], path)]
        if not fitting:
            return MiningDecision()
        _, says_no, line = max(fitting, key=lambda usage: (len(usage[0]), usage[1]))
        return MiningDecision("reserved", f"robots.txt: {line}") if says_no else MiningDecision()


def parse_robots(body: bytes, *, source: str) -> Robots:
    """Read a robots.txt, at most the lines that end in its first 500 KiB."""
    if len(body) > MAX_BYTES:
        body = b"".join(body[:MAX_BYTES].splitlines(keepends=True)[:-1])
    is_wide = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = body.decode("utf-16" if is_wide else "utf-8-sig", "replace")
    return Robots(_VERSION.sub(r"\1", text), source)


@dataclass(frozen=True, slots=True)
class HostRules:
    """The rules of a host: which addresses may be fetched, and which are reserved."""

    robots: Robots
    tdm: TdmRules = TdmRules()
    refused: NoAnswer | None = None
    """The reason for which nothing of the host can be fetched at all; None if there is none."""

    def decide(self, target: UrlParts) -> MiningDecision:
        """Decide whether mining of an address is reserved, as far as known before the fetch."""
        decision = self.robots.decide(target.url, target.path)
        return strictest([decision, self.tdm.decide(target.path.partition("?")[0])])


@dataclass
class Hosts:
    """The rules of hosts, fetched when needed and kept; safe for threads."""

    ask: Callable[[Request, Robots], Fetched | NoAnswer]
    """A function that fetches an address at the pace of a robots.txt."""
    stale: Callable[[str], bytes | None]
    """A function that returns an earlier robots.txt of at most ``STALE_S``, or None."""
    now: Callable[[], float]

    def __post_init__(self) -> None:
        """Begin without rules."""
        self._known: dict[str, tuple[HostRules, float]] = {}
        self._locks: dict[str, Lock] = {}

    def rules(self, target: UrlParts, site: SitePolicy) -> HostRules:
        """Return the rules for an address; ask for them if unknown or older than ``_LOOK_S``."""
        with self._locks.setdefault(target.origin, Lock()):
            found, since = self._known.get(target.origin, (None, 0.0))
            if found is None or self.now() - since > _LOOK_S:
                found = self._fetch(target, site)
                if found.refused is None:
                    self._known[target.origin] = found, self.now()
            return found

    def _fetch(self, target: UrlParts, site: SitePolicy) -> HostRules:
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

    def _follow(self, request: Request, robots: Robots) -> Fetched | NoAnswer | None:
        """Ask, and follow redirects; return None where they are too many or lead nowhere."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self.ask(request, robots)
            if isinstance(answer, NoAnswer) or not 300 <= answer.status < 400:
                return answer
            try:
                target = parse_url(urljoin(request.target.url, answer.header("location") or ""))
            except (BadUrlError, ValueError):
                return None
            if request.kind == "tdmrep" and not _may_follow(request.target, target, robots):
                return None
            request = replace(request, target=target)
        return None

    def _read_robots(self, answer: Fetched | NoAnswer | None, url: str) -> Robots:
        if answer is None:
            return parse_robots(b"", source="no robots.txt (redirects without end)")
        if isinstance(answer, Fetched):
            if 200 <= answer.status < 300:
                return parse_robots(answer.body, source=str(answer.status))
            if 300 <= answer.status < 500 and answer.status != 429:
                return parse_robots(b"", source=f"no robots.txt ({answer.status})")
        what = answer.reason if isinstance(answer, NoAnswer) else str(answer.status)
        old = self.stale(url)
        if old is not None:
            return parse_robots(old, source=f"robots.txt of the day before ({what})")
        return Robots("", f"robots.txt cannot be had ({what})", is_closed=True)


def _may_follow(target: UrlParts, to: UrlParts, robots: Robots) -> bool:
    """Tell whether a redirect of a tdmrep.json may be followed.

    On the same host, robots.txt must allow the new address. On another host, only the same path is
    followed: what else may be asked for there is not known.
    """
    return robots.allows(to.url) if to.origin == target.origin else to.path == TDMREP


def _is_all(answer: Fetched | NoAnswer | None) -> TypeGuard[NoAnswer]:
    """Tell whether a file of rules was refused for a reason that holds for its whole host."""
    return isinstance(answer, NoAnswer) and answer.reason in _UNTOUCHED
