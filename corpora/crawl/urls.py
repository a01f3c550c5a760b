"""Normalization of URLs, so that the same page has the same key in the archive."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote, urlsplit

from corpora.crawl.addresses import literal
from corpora.errors import CorpusError
from corpora.news.page_metadata import without_session

_PORTS = {"http": 80, "https": 443}
_KEPT = "%/:=&?~+!$,;'@()*[]|-._"
"""The characters that are not percent-encoded in paths and queries."""
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_ENCODED = re.compile("%[0-9A-Fa-f]{2}")
_DOT = re.compile("%2[eE]")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
MAX_PATH = 3000
"""The most characters of a path with its query, in normal form."""


class BadUrlError(CorpusError):
    """The error for a URL that is not that of a page that can be fetched."""


@dataclass(frozen=True, slots=True)
class UrlParts:
    """The parts of an http or https URL, in normal form."""

    scheme: str
    host: str
    """The host in lower case, in ASCII (IDNA); an IPv6 address has no brackets."""
    port: int
    path: str
    """The path with the query."""

    @property
    def authority(self) -> str:
        """The host as written in URLs, with the port unless it is the default one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The scheme and the authority, to which a robots.txt applies."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The URL in normal form."""
        return f"{self.origin}{self.path}"

    def is_of(self, hosts: tuple[str, ...]) -> bool:
        """Tell whether this is on one of the hosts or its subdomains, at an allowed port."""
        return any(self._is_at(host.lower()) for host in hosts)

    def _is_at(self, authority: str) -> bool:
        host, port = split_host(authority)
        is_host = self.host == host or (self.host.endswith(f".{host}") and not literal(host))
        return is_host and (self.port == port if port else self.port in _PORTS.values())


def split_host(authority: str) -> tuple[str, int | None]:
    """Split ``example.org``, ``127.0.0.1:8080`` or ``[::1]:8080`` into host and port."""
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        port = port.removeprefix(":")
    elif authority.count(":") > 1:
        return authority, None
    else:
        host, _, port = authority.partition(":")
    return host, int(port) if port.isascii() and port.isdigit() else None


def parse_url(url: str) -> UrlParts:
    """Parse an address; raise ``BadUrlError``.

    Leaves out the part after ``#``, the id of a session, and white space around the address.
    """
    url = without_session(url.strip().partition("#")[0])
    if len(url) > 4 * MAX_PATH:
        raise BadUrlError(f"longer than {4 * MAX_PATH:,} characters")
    try:
        url.encode()  # raises for lone surrogates
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError as error:
        raise BadUrlError(str(error)) from error
    if scheme not in _PORTS:
        raise BadUrlError(f"{scheme or 'no scheme'}: only http and https are fetched")
    if "@" in parts.netloc or "\\" in parts.netloc:
        raise BadUrlError("has a user name or a password")
    if not host:
        raise BadUrlError("has no host")
    if port == 0:
        raise BadUrlError("has the port 0")
    path = _without_dots(_quoted(parts.path)) + (f"?{_quoted(parts.query)}" if parts.query else "")
    if len(path) > MAX_PATH:
        raise BadUrlError(f"longer than {MAX_PATH:,} characters")
    return UrlParts(scheme, _host(host), port or _PORTS[scheme], path)


def _quoted(text: str) -> str:
    quoted = quote(_CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", text), safe=_KEPT)
    # in capitals (``%C3``), as RFC 3986, 6.2.2.1, asks for
    return _ENCODED.sub(lambda found: found[0].upper(), quoted)


def _without_dots(path: str) -> str:
    """Resolve ``.`` and ``..`` in a path (RFC 3986, 5.2.4), so that no rule can be bypassed."""
    parts = [_DOT.sub(".", part) if len(part) <= 6 else part for part in path.split("/")[1:]]
    kept: list[str] = []
    for part in parts:
        if part == "..":
            kept = kept[:-1]
        elif part != ".":
            kept.append(part)
    ends_open = bool(parts) and parts[-1] in {".", ".."} and bool(kept)
    return "/" + "/".join(kept) + ("/" if ends_open else "")


def _host(host: str) -> str:
    address = literal(host)
    if address is not None:
        if "%" in host:
            raise BadUrlError("has an address of one network card")
        # without dots in IPv6: since 3.13, Python writes mapped IPv4 with dots
        if isinstance(address, IPv6Address) and (wrapped := address.ipv4_mapped) is not None:
            high, low = divmod(int(wrapped), 1 << 16)
            return f"::ffff:{high:x}:{low:x}"
        return str(address)
    try:
        name = host.lower() if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise BadUrlError(f"{host!r} is no name of a host") from error
    if not _NAME.fullmatch(name):
        raise BadUrlError(f"{host!r} is no name of a host")
    return name.rstrip(".")
