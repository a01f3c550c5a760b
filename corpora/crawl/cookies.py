"""Cookies of sites: sent back to the site that set them, and kept in memory for a session only."""

from collections import defaultdict
from collections.abc import Iterable
from email.message import Message
from http.cookiejar import CookieJar
from urllib.request import Request


class _Answer:
    """The headers of an answer, as ``CookieJar`` reads them."""

    def __init__(self, headers: Iterable[tuple[str, str]]) -> None:
        self._headers = Message()
        for name, value in headers:
            self._headers[name] = value

    def info(self) -> Message:
        return self._headers


class Cookies:
    """The cookies of all sites, each in a jar of its own; safe for threads."""

    def __init__(self) -> None:
        self._jars: dict[str, CookieJar] = defaultdict(CookieJar)

    def header(self, site: str, url: str) -> str:
        """Return the header ``Cookie`` of a request; empty where there are none."""
        request = Request(url)  # noqa: S310 - only its address is read
        self._jars[site].add_cookie_header(request)
        return request.get_header("Cookie", "")

    def keep(self, site: str, url: str, headers: Iterable[tuple[str, str]]) -> None:
        """Keep the cookies that an answer sets."""
        answer = _Answer(headers)
        self._jars[site].extract_cookies(answer, Request(url))  # type: ignore[arg-type] # noqa: S310
