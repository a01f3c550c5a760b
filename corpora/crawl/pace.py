"""How fast a host is asked, when to leave it alone, and how much is asked of a site in a session.

Clock and sleep come from outside. A pause is counted from the end of an answer, so that the host
sees at least that much between two requests, however long they travel.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from typing import TYPE_CHECKING

from corpora.crawl.types import PAGES, Reason, SitePolicy

if TYPE_CHECKING:
    from corpora.crawl.archive_index import Entry


@dataclass
class Clock:
    """The time, and how to wait; ``stop`` ends every wait."""

    now: Callable[[], float] = time.time
    """Seconds since 1970, as the dates in the archive."""
    wait: Callable[[float], object] | None = None
    """Waits some seconds; by default until ``stop`` is set, at the longest."""
    stop: Event = field(default_factory=Event)

    def sleep(self, seconds: float) -> bool:
        """Wait; False where it was stopped."""
        if seconds > 0:
            (self.wait or self.stop.wait)(seconds)
        return not self.stop.is_set()


@dataclass
class HostPace:
    """Pauses and failures of a host in this session; whoever asks holds the host."""

    last: float = float("-inf")
    """When the last answer ended."""
    not_before: float = float("-inf")
    """It asked not to be asked before."""
    longest: float = 0.0
    """The longest pause that it asked for, in seconds."""
    n_failed: int = 0
    """Addresses in a row that it could not answer."""

    def seconds_left(self, now: float, *, delay: float) -> float:
        """Give the seconds to wait for the next request; of ``delay``, never more than that."""
        pause = min(delay, self.last + delay - now)
        return max(0.0, pause, self.not_before - now)

    def note(self, entry: "Entry") -> None:
        """Take in what came of a request, just now or before this process began."""
        self.last = max(self.last, entry.ended)
        if entry.wait >= 0:
            self.not_before = max(self.not_before, entry.ended + entry.wait)
            self.longest = max(self.longest, entry.wait)
        if entry.has_failed:
            self.n_failed += 1
        elif entry.is_final:
            self.n_failed = 0

    def why_left(self, *, patience: float, max_failures: int) -> str:
        """Say why it is left alone for this session; empty if it is not."""
        if self.longest > patience:
            return f"it asks for a pause of {self.longest:,.0f} s (patience: {patience:g} s)"
        if self.n_failed >= max_failures:
            return f"{self.n_failed} addresses in a row could not be had"
        return ""


def retry_after(headers: Iterable[tuple[str, str]], *, now: float) -> float | None:
    """Seconds that ``Retry-After`` asks for: a number, or a date by the server's own clock.

    None where there is none that can be read.
    """
    found = {name.lower(): value.strip() for name, value in headers}
    value = found.get("retry-after", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    with suppress(ValueError, TypeError, OverflowError):
        now = parsedate_to_datetime(found.get("date", "")).timestamp()
    return max(0.0, until - now)


@dataclass(frozen=True, slots=True)
class Used:
    """Pages, bytes and seconds of a site."""

    pages: int = 0
    """Different addresses of the kinds ``page`` and ``list``."""
    bytes: int = 0
    """Of bodies, as sent."""
    seconds: float = 0.0


class SiteBounds:
    """Counts what a site uses; safe for threads."""

    def __init__(self, before: Used, *, clock: Callable[[], float] = time.monotonic) -> None:
        """``before``: what earlier parts of the session used."""
        self._pages, self._bytes, self._before = before.pages, before.bytes, before.seconds
        self._clock = clock
        self._began: float | None = None
        self._lock = Lock()

    @property
    def used(self) -> Used:
        """Use until now."""
        with self._lock:
            seconds = 0.0 if self._began is None else self._clock() - self._began
            return Used(self._pages, self._bytes, self._before + seconds)

    def reached(self, site: SitePolicy, *, ahead: float = 0.0) -> tuple[Reason, str] | None:
        """The bound that is reached, and what to say; time runs from the first call on.

        ``ahead``: seconds to wait before a request.
        """
        with self._lock:
            self._began = self._clock() if self._began is None else self._began
        used = self.used
        if used.bytes >= site.max_bytes:
            return "bound_bytes", f"{site.name}: {used.bytes:,} bytes (max_bytes)"
        if used.seconds + ahead >= site.max_seconds:
            return "bound_seconds", f"{site.name}: max_seconds is {site.max_seconds:g}"
        return None

    def take_page(self, site: SitePolicy, kind: str) -> bool:
        """Count an address before it is asked for; False where no more may be."""
        if kind not in PAGES:
            return True
        with self._lock:
            if self._pages >= site.max_pages:
                return False
            self._pages += 1
            return True

    def add_bytes(self, n: int) -> None:
        """Count bytes of a body."""
        with self._lock:
            self._bytes += n

    def bytes_left(self, site: SitePolicy, most: int) -> int:
        """Give how large a body may be, of which ``most`` bytes are allowed."""
        with self._lock:
            return max(0, min(most, site.max_bytes - self._bytes))
