"""How fast a host is asked: pauses, and when to leave it alone. Clock and sleep come from outside.

A pause is counted from the end of an answer, so that the host sees at least that much between two
requests, however long they travel.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Event

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
    """What is known of a host in this session; whoever asks holds the host."""

    last: float = float("-inf")
    """When the last answer ended."""
    not_before: float = float("-inf")
    """It asked not to be asked before."""
    longest: float = 0.0
    """The longest pause that it asked for, in seconds."""
    n_failed: int = 0
    """Addresses in a row that it could not answer."""

    def seconds_left(self, now: float, *, delay: float) -> float:
        """How long to wait for the next request; of ``delay``, never more than that."""
        pause = min(delay, self.last + delay - now)
        return max(0.0, pause, self.not_before - now)

    def note(self, entry: Entry) -> None:
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
        """Why it is left alone for this session; empty if it is not."""
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
