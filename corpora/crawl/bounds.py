"""How much was asked of a site in a session, in all the times that it went on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from corpora.crawl.types import Reason, SitePolicy

COUNTED = ("page", "list")
"""The kinds that ``max_pages`` counts."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a site has used up."""

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
        """What was used until now."""
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
        if kind not in COUNTED:
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
        """How large a body may be, of which ``most`` bytes are allowed."""
        with self._lock:
            return max(0, min(most, site.max_bytes - self._bytes))
