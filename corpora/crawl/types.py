"""What finders ask the fetcher for, and what they get: a page, or why there is none."""

from dataclasses import dataclass
from typing import Literal

from corpora.crawl.addresses import parse_networks
from corpora.crawl.urls import Target
from corpora.errors import UsageError
from corpora.warc.contact import check_contact

Kind = Literal["page", "list", "feed", "sitemap", "robots", "tdmrep"]
"""What an address is asked for as. A ``page`` is never asked for again, in no session; the others
are, once in each session, and then whether they have changed. ``robots`` and ``tdmrep`` are asked
for by the fetcher itself."""
RULES: tuple[Kind, ...] = ("robots", "tdmrep")
"""The kinds that are asked for to know what may be asked."""
PAGES: tuple[Kind, ...] = ("page", "list")
"""The kinds that ``max_pages`` counts."""
Reason = Literal[
    "bad_url",  # no address of http or https, a password in it, a port that is not the site's
    "foreign_host",  # of no host of the site
    "private_address",  # leads into a private network, or to this machine
    "robots",  # robots.txt forbids it, or cannot be had
    "crawl_delay",  # robots.txt asks for longer pauses than the site's max_delay
    "reserved",  # text and data mining is reserved
    "bound_pages",
    "bound_bytes",
    "bound_seconds",
    "bound_depth",
    "too_large",  # more than max_page_bytes, as sent or unpacked, or a bomb
    "timeout",  # did not end within page_seconds
    "bad_answer",  # no HTTP, or a body that cannot be unpacked
    "certificate",  # TLS: not valid for the host
    "host_down",  # cannot be reached, or breaks off again and again
    "host_left",  # failed too often in a row, or asks for a pause beyond the site's patience
    "stopped",  # the fetcher was asked to stop
]
ANY_ADDRESS = ("0.0.0.0/0", "::/0")
"""For ``allow_private``: all of them."""


@dataclass(frozen=True, kw_only=True)
class SitePolicy:
    """Bounds of a site: hosts, pace, number and size of requests; raises ``UsageError``.

    Bounds hold for a session, with all the times that it was interrupted and resumed.
    """

    name: str
    """What it is counted and reported as."""
    hosts: tuple[str, ...]
    """``example.org``: that host and those below it (``www.example.org``), at the ports 80 and 443;
    ``127.0.0.1:8080``, ``[::1]:8080``: that port alone."""
    contact: str
    """An address of mail or of a page, where whoever runs the site reaches us."""
    delay: float = 1.0
    """Seconds between an answer and the next request to a host, at least."""
    max_delay: float = 60.0
    """If robots.txt asks for more, nothing is fetched (``crawl_delay``)."""
    patience: float = 600.0
    """Seconds that ``Retry-After`` may ask for; if it asks for more, the host is left."""
    tries: int = 3
    """Of an address whose answer is 429 or 5xx, or whose connection breaks."""
    back_off: float = 2.0
    """Seconds to the second try, where the server does not say; twice as many to each further."""
    max_failures: int = 5
    """Addresses of a host that fail in a row; then it is left."""
    page_seconds: float = 60.0
    """From the connection to the last byte."""
    max_page_bytes: int = 10_000_000
    """Of a body, as sent and unpacked."""
    max_pages: int = 10_000
    """Of the kinds ``page`` and ``list`` that are asked for."""
    max_bytes: int = 2_000_000_000
    """Of all bodies, as sent."""
    max_seconds: float = 86_400.0
    """From the first request on."""
    max_depth: int = 10
    allow_private: tuple[str, ...] = ()
    """Addresses or networks that may be asked although they are not public."""
    respect_reservations: bool = True
    """Do not fetch what robots.txt, tdmrep.json or a header reserves."""

    def __post_init__(self) -> None:
        """Check the values."""
        check_contact(self.contact, name=f"{self.name}: contact")
        parse_networks(self.allow_private)
        if not self.hosts:
            raise UsageError(f"{self.name}: no hosts. Name at least one.")
        for name in ("delay", "max_delay", "patience", "back_off", "max_depth"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{self.name}: {name} must be at least 0.")
        for name in ("tries", "max_failures", "max_pages", "max_page_bytes", "max_bytes"):
            if getattr(self, name) < 1:
                raise UsageError(f"{self.name}: {name} must be at least 1.")
        for name in ("page_seconds", "max_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{self.name}: {name} must be above 0.")


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a finder; ``depth``: links from the front page."""

    target: Target
    kind: Kind
    depth: int
    site: SitePolicy


@dataclass(frozen=True, slots=True)
class Fetched:
    """Answer of a server: any status, redirects and errors too."""

    url: str
    """In normal form, without ``#``."""
    status: int
    """Never 304: then it is what was fetched before."""
    headers: tuple[tuple[str, str], ...]
    """Names without case; those that say how the body was packed are there no more."""
    body: bytes
    """Unpacked."""
    from_archive: bool
    """Not fetched now: it was there, or has not changed."""

    def header(self, name: str) -> str | None:
        """Return the last header of a name; None if there is none."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


@dataclass(frozen=True, slots=True)
class Refused:
    """Reason for which there is no answer."""

    url: str
    reason: Reason
    detail: str
    from_archive: bool = False
    """It was tried before, in this session."""
