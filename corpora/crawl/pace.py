"""The pace of requests to a host, its failures, and the bounds of a site in a session.

The caller gives the clock and the sleep. A pause is counted from the end of an answer, so that at
least that much time passes between two requests at the host, however long they travel.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TYPE_CHECKING

from corpora.crawl.types import PAGES, Reason, SitePolicy

if TYPE_CHECKING:
    from corpora.crawl.archive_index import IndexedRequest


@dataclass
class Clock:
    """A clock, with a sleep that ``stop`` ends."""

    now: Callable[[], float] = time.time
    """A function that returns the seconds since 1970, as the archive has them."""
    wait: Callable[[float], object] | None = None
    """A function that waits some seconds; by default ``stop.wait``, which setting ``stop`` ends."""
    stop: Event = field(default_factory=Event)

    def sleep(self, seconds: float) -> bool:
        """Wait; return False if ``stop`` is set."""
        if seconds > 0:
            (self.wait or self.stop.wait)(seconds)
        return not self.stop.is_set()


@dataclass
class HostPace:
    """The pauses and failures of a host in this session; guarded by the lock of the host."""

    last: float = float("-inf")
    """The time when the last answer ended."""
    not_before: float = float("-inf")
    """The time until which the host asked for a pause (``Retry-After``)."""
    longest: float = 0.0
    """The longest pause that the host asked for, in seconds."""
    n_failed: int = 0
    """The number of addresses in a row that the host could not answer."""

    def seconds_left(self, now: float, *, delay: float) -> float:
        """Compute the seconds to wait before the next request.

        It is the longer of what is left of ``delay`` and of the pause that the host asked for; even
        if the clock was set back, at most ``delay`` and that pause.
        """
        pause = min(delay, self.last + delay - now)
        return max(0.0, pause, min(self.longest, self.not_before - now))

    def note(self, entry: "IndexedRequest") -> None:
        """Record the outcome of a request, made now or before this process began."""
        self.last = max(self.last, entry.ended)
        if entry.wait >= 0:
            self.not_before = max(self.not_before, entry.ended + entry.wait)
            self.longest = max(self.longest, entry.wait)
        if entry.has_failed:
            self.n_failed += 1
        elif entry.is_final:
            self.n_failed = 0

    def why_left(self, *, patience: float, max_failures: int) -> str:
        """Say why the host is left alone in this session; empty if it is not."""
        if self.longest > patience:
            return f"it asks for a pause of {self.longest:,.0f} s (patience: {patience:g} s)"
        if self.n_failed >= max_failures:
            return f"{self.n_failed} addresses in a row could not be had"
        return ""


@dataclass(frozen=True, slots=True)
class Used:
    """The pages, bytes and seconds of its bounds that a site has used."""

    pages: int = 0
    """The number of distinct addresses of the kinds ``page`` and ``list``."""
    bytes: int = 0
    """The bytes of all bodies, as sent."""
    seconds: float = 0.0


class SiteBounds:
    """A counter of what a site uses of its bounds; safe for threads."""

    def __init__(self, before: Used, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with ``before``, what earlier parts of the session used."""
        self._pages, self._bytes, self._before = before.pages, before.bytes, before.seconds
        self._clock = clock
        self._began: float | None = None
        self._lock = Lock()

    @property
    def used(self) -> Used:
        """The pages, bytes and seconds that the site has used until now."""
        with self._lock:
            seconds = 0.0 if self._began is None else self._clock() - self._began
            return Used(self._pages, self._bytes, self._before + seconds)

    def reached(self, site: SitePolicy, *, ahead: float = 0.0) -> tuple[Reason, str] | None:
        """Return the bound that is reached and a message, or None.

        Time runs from the first call on. ``ahead``: seconds to wait before a request.
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
        """Count a page before it is asked for; return False where no more may be asked for."""
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
        """Return how many bytes the next body may have, ``most`` at most."""
        with self._lock:
            return max(0, min(most, site.max_bytes - self._bytes))
