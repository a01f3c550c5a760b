"""What a robots.txt says (RFC 9309): to us, and of those who learn from pages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from corpora.crawl.reservations import (
    Decision,
    ai_agents,
    forbids_training,
    matches,
    strictest,
    usage_lines,
)
from corpora.warc.contact import AGENT

if TYPE_CHECKING:
    from protego import Protego

MAX_BYTES = 500 << 10
"""What is read of one (RFC 9309, 2.5)."""
MAX_REDIRECTS = 5
STALE_S = 24 * 3600.0
"""How old the one from before may be where it cannot be had now (RFC 9309, 2.4)."""
_VERSION = re.compile(
    r"^([ \t]*user-?agent[ \t]*:[ \t]*[^\s#/]+)/[^\r\n#]*", re.IGNORECASE | re.MULTILINE
)
"""``User-agent: GPTBot/1.2``: the name alone counts (RFC 9309, 2.2.1)."""
_LINE = re.compile(r"\s*([A-Za-z-]+)\s*:\s*([^#\r\n]*)")


@dataclass
class Robots:
    """The rules of one host; ``told`` says where they come from: ``200``, ``404``."""

    text: str
    told: str
    is_closed: bool = False
    """It could not be had: nothing may be asked."""

    @cached_property
    def _rules(self) -> "Protego":
        from protego import Protego

        return Protego.parse(self.text)

    def allows(self, url: str) -> bool:
        """Say whether we may ask for an address."""
        return not self.is_closed and bool(self._rules.can_fetch(url, AGENT))

    @cached_property
    def delay(self) -> float:
        """Seconds between requests that ``Crawl-delay`` and ``Request-rate`` ask for."""
        rate = self._rules.request_rate(AGENT)
        try:
            pause = rate.seconds / rate.requests if rate else 0.0
        except OverflowError:
            pause = float("inf")
        return max(float(self._rules.crawl_delay(AGENT) or 0.0), pause)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Addresses of sitemaps, as they stand there."""
        return tuple(self._rules.sitemaps)

    def decide(self, url: str, path: str) -> Decision:
        """Say whether mining of an address is reserved."""
        by_agents = [
            Decision("reserved", f"robots.txt: {agent}")
            for agent in self._agents
            if not self._rules.can_fetch(url, agent)
        ]
        return strictest([*by_agents, self._usage(path)])

    def summary(self) -> str:
        """Sum up, for the archive of a page."""
        if not self.told.startswith("2"):
            return f"allow; {self.told}"
        return f"allow; crawl-delay={self.delay:g}" if self.delay else "allow"

    @cached_property
    def _agents(self) -> tuple[str, ...]:
        """The agents that learn which have a group of their own."""
        named = {value.lower() for name, value in self._lines() if name == "user-agent"}
        return tuple(agent for agent in ai_agents() if agent.lower() in named)

    def _lines(self) -> Iterator[tuple[str, str]]:
        for line in self.text.splitlines():
            if found := _LINE.match(line):
                name = found[1].lower()
                yield "user-agent" if name == "useragent" else name, found[2].strip()

    @cached_property
    def _usages(self) -> tuple[tuple[str, bool, str], ...]:
        """Path, whether it says no, and the line: of groups for all, for us, for who learns."""
        ours = {"*", AGENT.lower(), *(agent.lower() for agent in ai_agents())}
        group: set[str] = set()
        is_open, found = False, []
        for name, value in self._lines():
            if name == "user-agent":
                group = group | {value.lower()} if is_open else {value.lower()}
                is_open = True
            elif name in usage_lines():
                is_open = False
                path, _, list = value.partition(" ") if value.startswith("/") else ("/", "", value)
                if not group or group & ours:
                    found.append((path, forbids_training(list), f"{name}: {value[:200]}"))
            else:
                is_open = is_open and name == "sitemap"
        return tuple(found)

    def _usage(self, path: str) -> Decision:
        """Apply the line with the longest path that matches; of two, the one that says no."""
        fitting = [usage for usage in self._usages if matches(usage[0], path)]
        if not fitting:
            return Decision()
        _, says_no, line = max(fitting, key=lambda usage: (len(usage[0]), usage[1]))
        return Decision("reserved", f"robots.txt: {line}") if says_no else Decision()


def parse_robots(body: bytes, *, told: str) -> Robots:
    """Read a robots.txt, at most the lines that end in its first 500 KiB."""
    if len(body) > MAX_BYTES:
        body = b"".join(body[:MAX_BYTES].splitlines(keepends=True)[:-1])
    text = body.decode("utf-8-sig", "replace")
    return Robots(_VERSION.sub(r"\1", text), told)


def closed(told: str) -> Robots:
    """Make the rules of a host whose robots.txt cannot be had: nothing may be asked."""
    return Robots("", told, is_closed=True)
