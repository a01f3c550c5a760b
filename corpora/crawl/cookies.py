"""Cookies of sites: sent back to the site that set them, and kept in memory for a session only."""

from collections import defaultdict
from collections.abc import Iterable
from email.message import Message
from http.cookiejar import CookieJar
from types import SimpleNamespace
from urllib.request import Request


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
        message = Message()
        for name, value in headers:
            message[name] = value
        answer = SimpleNamespace(info=lambda: message)
        self._jars[site].extract_cookies(answer, Request(url))  # type: ignore[arg-type] # noqa: S310
