"""Addresses on the web that are asked: of http and https only, and without passwords.

A redirect is followed under the same conditions, and never from https to http. Servers are told the
``User-Agent`` of the crawler, with a contact address.
"""

import re
from http.client import HTTPMessage
from typing import IO
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urlsplit

from corpora.errors import UsageError

AGENT = "Onoma"
"""The name of the crawler in robots.txt and in the ``User-Agent``."""
_CONTACT = re.compile(r"[\x21-\x7e]+@[\x21-\x7e]+|https?://[\x21-\x7e]+")


def check_contact(contact: str, *, name: str) -> None:
    """Raise ``UsageError`` unless ``contact`` is an e-mail address or the URL of a page.

    ``name`` is the option that the user gave: ``--contact``.
    """
    if not _CONTACT.fullmatch(contact):
        raise UsageError(
            f"{name} {contact!r}: must be your address of mail or of a page. It goes to the "
            "server, whose operators block who cannot be reached."
        )


def crawler_agent(contact: str) -> str:
    """Return the ``User-Agent``: the crawler with its version, and who is responsible."""
    from importlib.metadata import version

    number = ".".join(version("onoma").split(".")[:2])
    return f"{AGENT}/{number} (+{contact})"


_USER = re.compile(r"(?<=://)[^/?#\s]*@")


def hide_password(text: str) -> str:
    """Replace the user name and the password in the addresses of a text.

    >>> hide_password("GET http://ada:key@example.org/a: refused")
    'GET http://…@example.org/a: refused'
    """
    return _USER.sub("…@", text)


def check_address(address: str, *, option: str) -> str:
    """Return an address that can be asked; raises ``UsageError`` that names the option."""
    if (why := why_not(address)) is not None:
        raise UsageError(f"--{option} {hide_password(address)}: {why}.")
    return address


def why_not(address: str) -> str | None:
    """Say why an address is not asked; None for one that is."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises for what is no number
    except ValueError as error:
        return f"is no address ({hide_password(str(error))})"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "must begin with https:// or http://"
    return "a user name or a password is not sent; leave it out" if "@" in parts.netloc else None


class _Redirects(request.HTTPRedirectHandler):
    def redirect_request(  # noqa: PLR0917 - urllib's own
        self,
        req: request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> request.Request | None:
        why = why_not(newurl)
        if req.type == "https" and not newurl.startswith("https:"):
            why = "from https to http"
        if why is not None:
            raise HTTPError(hide_password(newurl), code, f"redirect: {why}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def opener() -> request.OpenerDirector:
    """Build an opener of http and https only: it opens no local files."""
    made = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.UnknownHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        made.add_handler(handler)
    return made
