"""An ASGI middleware that limits who may send requests, how many, how large and how slow.

The middleware reads the whole body before the application sees the request, so that a large, slow
or incomplete body costs the application nothing. Refusals are JSON, ``{"detail": "…"}``, or a page
for a browser that opens an address, with a status that gives the reason: 400, 401, 403, 408, 413 to
415, 421, 503.
"""

import asyncio
import json
import logging
import re
import secrets
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers as RequestHeaders
from starlette.requests import HTTPConnection

from corpora.reports.pages import Heading, Prose, to_html

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]
access = logging.getLogger("modeling.http.access")
"""The log of requests, a message each, at the level INFO."""

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
ANY: Final = "*"
_MAX_PATH: Final = 2000
_MAX_DIGITS: Final = 20
_RETRY_AFTER: Final = 1  # seconds
_NOT_ADMITTED: Final = (
    "The token is missing or wrong: open the address as it was printed. A program that was started "
    "again prints another."
)
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper bounds of the histogram of seconds."""
_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^][:/?#@\s]+))(?::\d*)?")
_REQUEST_ID: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
_CLOSE: Final = (b"connection", b"close")
_PREFLIGHT_AGE: Final = b"600"  # seconds for which a browser may cache the answer to a preflight


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Limits on who may send requests, and on how much."""

    hosts: Collection[str] = ()
    """Host names that requests may use for this server, besides those of loopback; ``*``: any. The
    check refuses pages whose own host name was made to point here (DNS rebinding)."""
    origins: Collection[str] = ()
    """Origins whose pages may send requests (CORS), as ``https://example.org``; ``*``: any."""
    allow_loopback_origins: bool = False
    """Whether pages of other servers on this machine may send requests, too."""
    token: str | None = None
    """The token that each request must have: as ``Authorization: Bearer``, as ``?token=``, or in
    the cookie that the server sets after ``?token=``. None: no token is needed."""
    open_paths: Collection[str] = ()
    """Paths that need no token and are answered whatever the Host, and even beyond
    ``max_requests``: for monitoring, whose probes address a machine by its number."""
    max_body: int = 8_000_000
    """Limit on the bytes of one body."""
    max_bodies: int = 64_000_000
    """Limit on the bytes of all bodies together, of requests that are being read or answered."""
    max_requests: int = 256
    """Limit on the requests that are being read or answered at once."""
    body_seconds: float = 20.0
    """Seconds within which a whole body must arrive."""
    send_seconds: float = 60.0
    """Seconds within which the client must accept each part of an answer."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """The refusal of a request: a status, a detail for the client, and more headers."""

    def __init__(self, status: int, detail: str, *, headers: Headers | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or []


class Busy(Refusal):
    """A refusal (503) because too much work waits; the client should retry in a second."""

    def __init__(self, detail: str) -> None:
        headers = [(b"retry-after", str(_RETRY_AFTER).encode())]
        super().__init__(503, f"{detail} Ask again in a second.", headers=headers)


class _NotTaken(Exception):  # noqa: N818 - nobody sees it
    """The error for a client that does not read the answer in time."""


class Guard:
    """The middleware, which also counts answers by status and by seconds, and logs them."""

    def __init__(self, app: "ASGIApp", rules: RequestLimits) -> None:
        self.app, self.rules = app, rules
        self.counts: Counter[int] = Counter()
        self.seconds = 0.0
        self.n_by_seconds = [0] * (len(_BOUNDS) + 1)
        """Requests by the first bound that their seconds do not exceed; last, all others."""
        self.n_requests = 0
        """Requests that are being read or answered."""
        self.n_bytes = 0
        """Bytes of the bodies of these requests."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Check a request; let the application answer it, or answer with a refusal."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, answer = time.monotonic(), _Answer(self, send)
        given = HTTPConnection(scope).headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        answer.headers = [(b"x-request-id", request_id.encode())]
        self.n_requests += 1
        try:
            await self._admit(scope, receive, answer)
        except Refusal as refused:
            accepted = HTTPConnection(scope).headers.get("accept", "")
            await answer.refuse(refused, is_page="text/html" in accepted)
        except _NotTaken:
            return  # the server closes the connection
        finally:
            self.n_requests -= 1
            self.n_bytes -= answer.n_bytes
            self._record(scope, answer, seconds=time.monotonic() - began, request_id=request_id)

    def _record(
        self, scope: "Scope", answer: "_Answer", *, seconds: float, request_id: str
    ) -> None:
        """Add a request to the histogram, and log it."""
        self.seconds += seconds
        self.n_by_seconds[bisect_left(_BOUNDS, seconds)] += 1
        fields = {
            "id": request_id,
            "client": (scope.get("client") or ("",))[0],
            "method": scope["method"],
            "path": quote(scope["path"]),
            "status": answer.status,
            "seconds": round(seconds, 4),
            "bytes": answer.n_bytes,
        }
        access.info("%s", json.dumps(fields))

    def histogram(self) -> dict[str, int]:
        """Return how many requests took at most so many seconds, for each bound and ``+Inf``."""
        bounds = [*map(str, _BOUNDS), "+Inf"]
        return dict(zip(bounds, accumulate(self.n_by_seconds), strict=True))

    async def _admit(self, scope: "Scope", receive: "Receive", answer: "_Answer") -> None:
        asked = HTTPConnection(scope)
        headers, host = asked.headers, asked.headers.get("host", "")
        is_open = scope["path"] in self.rules.open_paths
        if not is_open:
            self._check_host(headers)
        if len(scope["path"]) > _MAX_PATH:
            raise Refusal(414, f"The path is longer than {_MAX_PATH:,} characters.")
        answer.headers += self._check_origin(headers, host=host)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            raise Refusal(204, "", headers=_preflight(headers))
        self._check_token(asked)
        if self.n_requests > self.rules.max_requests and not is_open:
            raise Busy(f"{self.rules.max_requests} requests are being answered.")
        body = await self._read(headers, receive, answer)
        await self._unless_gone(scope, body, receive=receive, answer=answer)

    async def _unless_gone(
        self, scope: "Scope", body: bytes, *, receive: "Receive", answer: "_Answer"
    ) -> None:
        """Let the application answer; cancel it if the client disconnects."""
        gone = asyncio.Event()
        task = asyncio.ensure_future(self.app(scope, _replay(body, gone), answer))

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()
            task.cancel()

        watcher = asyncio.create_task(watch())
        try:
            await task
        except asyncio.CancelledError:
            if not gone.is_set():
                task.cancel()
                raise
        finally:
            watcher.cancel()

    def _check_host(self, headers: RequestHeaders) -> None:
        hosts = headers.getlist("host")
        host = ", ".join(hosts)
        name = host_name(host)
        known = {*LOOPBACK, *self.rules.hosts}
        if len(hosts) > 1 or not (name in known or ANY in self.rules.hosts):
            raise Refusal(421, f"Host {host!r}: not a name of this server (--allow-host adds one).")

    def _check_origin(self, headers: RequestHeaders, *, host: str) -> Headers:
        """Return the headers that let a page of another origin read the answer (CORS).

        None are returned without an origin, or for a page of this server. Raises ``Refusal`` (403)
        for an origin that is not allowed, and for several.
        """
        origins = headers.getlist("origin")
        origin = ", ".join(origins)
        if not origin:
            return []
        if len(origins) > 1:
            raise Refusal(403, f"Origin {origin!r}: a request has one.")
        scheme, _, netloc = origin.partition("://")
        if scheme in {"http", "https"} and netloc == host:
            return []
        is_local = self.rules.allow_loopback_origins and host_name(netloc) in LOOPBACK
        if not (is_local or origin in self.rules.origins or ANY in self.rules.origins):
            raise Refusal(403, f"Origin {origin!r}: not allowed to ask (--allow-origin adds one).")
        allowed = (b"access-control-allow-origin", origin.encode("latin-1"))
        return [allowed, (b"vary", b"Origin")]

    def _check_token(self, asked: HTTPConnection) -> None:
        token, path = self.rules.token, asked.scope["path"]
        if token is None or path in self.rules.open_paths:
            return
        # The cookie's name has the port: browsers send cookies to all ports of a host.
        name = f"onoma-{(asked.scope.get('server') or ('', 0))[1]}"
        scheme, _, credentials = asked.headers.get("authorization", "").partition(" ")
        bearer = credentials if scheme.lower() == "bearer" else ""
        in_query = asked.query_params.get("token", "")
        if _is_equal(in_query, token) and asked.scope["method"] == "GET":
            rest = urlencode([p for p in asked.query_params.multi_items() if p[0] != "token"])
            cookie = f"{name}={token}; HttpOnly; SameSite=Strict; Path=/"
            place = quote(path) + (f"?{rest}" if rest else "")
            if not place.startswith("//"):  # "//host" would redirect to another server
                found = [(b"set-cookie", cookie.encode()), (b"location", place.encode())]
                raise Refusal(303, "", headers=found)
        given = (bearer, in_query, asked.cookies.get(name, ""))
        if not any(_is_equal(one, token) for one in given):
            raise Refusal(401, _NOT_ADMITTED)

    async def _read(
        self, headers: Mapping[str, str], receive: "Receive", answer: "_Answer"
    ) -> bytes:
        """Read the whole body; count the bytes that are in memory.

        Raises ``Refusal`` for a body that is too large, compressed, late or incomplete, and
        ``Busy`` where the bodies of all requests are too large together.
        """
        rules, length = self.rules, headers.get("content-length", "0")
        if "content-length" in headers and "transfer-encoding" in headers:
            raise Refusal(400, "Content-Length and Transfer-Encoding: send one of them.")
        if headers.get("content-encoding", "identity") != "identity":
            raise Refusal(415, "Packed bodies are not read: leave Content-Encoding out.")
        too_large = Refusal(413, f"The body is larger than {rules.max_body:,} bytes.")
        if not length.isdecimal() or len(length) > _MAX_DIGITS or int(length) > rules.max_body:
            raise too_large
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(rules.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "The body ended before it was whole.")
                    part = message.get("body", b"")
                    parts.append(part)
                    answer.n_bytes += len(part)
                    self.n_bytes += len(part)
                    if answer.n_bytes > rules.max_body:
                        raise too_large
                    if self.n_bytes > rules.max_bodies:
                        raise Busy("Too many large bodies are here already.")
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            message_ = f"The body was not here within {rules.body_seconds:g} seconds."
            raise Refusal(408, message_) from None


class _Answer:
    """The ASGI ``send`` of one request, which adds headers and counts answers by status."""

    def __init__(self, guard: Guard, send: "Send") -> None:
        self.guard, self.send = guard, send
        self.headers: Headers = []
        self.is_begun = False
        self.status = 0
        """The status of the answer; 0 as long as there is none."""
        self.n_bytes = 0
        """Bytes of the request's body that are in memory."""

    async def __call__(self, message: "Message") -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            self.status = message["status"]
            self.guard.counts[self.status] += 1
            message["headers"] = [*message.get("headers", ()), *self.headers]
        try:
            async with asyncio.timeout(self.guard.rules.send_seconds):
                await self.send(message)
        except TimeoutError as error:
            raise _NotTaken from error

    async def refuse(self, refused: Refusal, *, is_page: bool) -> None:
        if self.is_begun:
            raise refused
        if not refused.detail:
            body = b""
        elif is_page:
            body = to_html([Heading("Onoma", 1), Prose(refused.detail)]).encode()
        else:
            body = json.dumps({"detail": refused.detail}).encode()
        headers = [*refused.headers]
        if refused.status != 204:
            headers.append((b"content-length", str(len(body)).encode()))
        if body:  # the rest of the request is not read: close the connection
            kind = b"text/html; charset=utf-8" if is_page else b"application/json"
            headers += [(b"content-type", kind), _CLOSE]
        await self({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _replay(body: bytes, gone: asyncio.Event) -> "Receive":
    """Make an ASGI ``receive``: the body once, then the disconnect as soon as ``gone`` is set."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> "Message":
        if waiting:
            return waiting.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    return replay


def host_name(host: str) -> str:
    """Return the host name in a Host header, in lower case, without port and brackets.

    It is empty for what is no host with at most a port.
    """
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower() if match else ""


def new_token() -> str:
    """Create a random token that cannot be guessed."""
    return secrets.token_urlsafe(24)


def _is_equal(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _preflight(headers: Mapping[str, str]) -> Headers:
    """Return the headers that answer a browser's preflight request (CORS)."""
    asked = headers.get("access-control-request-headers") or "content-type"
    return [
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", asked.encode("latin-1")),
        (b"access-control-max-age", _PREFLIGHT_AGE),
        (b"access-control-allow-private-network", b"true"),
    ]
