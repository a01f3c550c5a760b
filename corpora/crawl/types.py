"""Requests to the fetcher, its answers and refusals, and the bounds of a site."""

from dataclasses import dataclass, fields
from typing import Literal

from corpora.crawl.addresses import parse_networks
from corpora.crawl.urls import UrlParts
from corpora.errors import UsageError
from corpora.system.typed_tables import bounded, out_of_bounds
from corpora.system.web import check_contact

Kind = Literal["page", "list", "feed", "sitemap", "robots", "tdmrep"]
"""The kind of a request. A ``page`` with a lasting status (``fetcher.LASTING``) is never fetched
again, in any session. The other kinds are fetched once in each session, by a conditional request if
possible. The fetcher itself requests ``robots`` and ``tdmrep``."""
RULES: tuple[Kind, ...] = ("robots", "tdmrep")
"""The kinds of files that say what may be fetched."""
PAGES: tuple[Kind, ...] = ("page", "list")
"""The kinds that ``max_pages`` counts."""
Reason = Literal[
    "bad_url",  # not a valid address of http or https, or one with a user name or a password
    "foreign_host",  # on no host of the site, or at a port that is not the site's
    "private_address",  # in a private network, or on this machine
    "robots",  # robots.txt forbids it, or cannot be fetched
    "crawl_delay",  # robots.txt asks for longer pauses than the site's max_delay
    "reserved",  # text and data mining is reserved
    "bound_pages",
    "bound_bytes",
    "bound_seconds",
    "bound_depth",
    "too_large",  # more than max_page_bytes, as sent or unpacked, or a decompression bomb
    "timeout",  # the answer was not complete within page_seconds
    "bad_answer",  # the answer is no HTTP, or its body cannot be unpacked
    "certificate",  # the TLS certificate is not valid for the host
    "host_down",  # the host cannot be reached, or the connection breaks at every attempt
    "host_left",  # too many failures in a row, or a requested pause beyond the site's patience
    "stopped",  # the fetcher was asked to stop
]
ANY_ADDRESS = ("0.0.0.0/0", "::/0")
"""The value of ``allow_private`` that allows all addresses."""


@dataclass(frozen=True, kw_only=True)
class SitePolicy:
    """The bounds of a site: hosts, pace, number and size of requests; raises ``UsageError``.

    Bounds apply to a whole session, however often it was interrupted and resumed.
    """

    name: str
    """The name in counts and reports."""
    hosts: tuple[str, ...]
    """``example.org``: that host and its subdomains (``www.example.org``), at the ports 80 and 443;
    ``127.0.0.1:8080``, ``[::1]:8080``: that port alone."""
    contact: str
    """The e-mail address or web page by which operators of sites can reach who runs the crawl."""
    delay: float = bounded(1.0, at_least=0)
    """The least seconds between an answer and the next request to a host."""
    max_delay: float = bounded(60.0, at_least=0)
    """The longest delay of robots.txt that is accepted; if it asks for more, nothing is fetched."""
    patience: float = bounded(600.0, at_least=0)
    """The most seconds that ``Retry-After`` may ask for; if it asks for more, the host is left."""
    tries: int = bounded(3, at_least=1)
    """The most attempts for an address whose answer is 429 or 5xx, or whose connection breaks."""
    back_off: float = bounded(2.0, at_least=0)
    """The seconds to the second attempt, if the server names none; doubled for each further one."""
    max_failures: int = bounded(5, at_least=1)
    """The number of addresses of a host that may fail in a row; then the host is left."""
    page_seconds: float = bounded(60.0, above=0)
    """The most seconds of a request, from the connection to the last byte."""
    max_page_bytes: int = bounded(10_000_000, at_least=1)
    """The most bytes of a body, both as sent and unpacked."""
    max_pages: int = bounded(10_000, at_least=1)
    """The most addresses of the kinds ``page`` and ``list`` that are requested."""
    max_bytes: int = bounded(2_000_000_000, at_least=1)
    """The most bytes of all bodies together, as sent."""
    max_seconds: float = bounded(86_400.0, above=0)
    """The most seconds of the crawl of the site, from its first request on."""
    max_depth: int = bounded(10, at_least=0)
    """The most links between the front page and a page."""
    allow_private: tuple[str, ...] = ()
    """Addresses or networks that may be asked although they are not public."""
    cookies: bool = False
    """Whether the cookies that pages set are sent back to the site, in this session."""
    respect_reservations: bool = True
    """Whether pages are not fetched if robots.txt, tdmrep.json or a header reserves mining."""

    def __post_init__(self) -> None:
        """Check the values."""
        check_contact(self.contact, name=f"{self.name}: contact")
        parse_networks(self.allow_private)
        if not self.hosts:
            raise UsageError(f"{self.name}: no hosts. Name at least one.")
        for field in fields(self):
            if why := out_of_bounds(getattr(self, field.name), field):
                raise UsageError(f"{self.name}: {field.name} {why}.")


@dataclass(frozen=True, slots=True)
class Request:
    """A request; ``depth`` is the number of links from the front page."""

    target: UrlParts
    kind: Kind
    depth: int
    site: SitePolicy


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer of a server, with any status, also of redirects and errors."""

    url: str
    """The URL in normal form, without fragment."""
    status: int
    """The HTTP status; never 304, which is replaced by the earlier answer."""
    headers: tuple[tuple[str, str], ...]
    """The headers, with names in lower case, without those about the coding of the body."""
    body: bytes
    """The unpacked body."""
    from_archive: bool
    """Whether the answer was in the archive, or had not changed since."""

    def header(self, name: str) -> str | None:
        """Return the last header of a name; None if there is none."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The reason for which a request has no answer."""

    url: str
    reason: Reason
    detail: str
    from_archive: bool = False
    """Whether the request was made, and failed, earlier in this session."""
