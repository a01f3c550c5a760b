"""A connection to a checked address: one request after the other, each with a limit of time.

Status, headers and body are read by the standard library; the socket below it knows until when, so
that no server can go on for ever by sending a byte now and then. Proxies that the environment names
are not used: behind them, nobody could check to what address a connection is made.
"""

import io
import select
import ssl
import time
from collections.abc import Callable, Iterable
from email.errors import (
    FirstHeaderLineIsContinuationDefect,
    MisplacedEnvelopeHeaderDefect,
    MissingHeaderBodySeparatorDefect,
)
from http.client import HTTPException, HTTPResponse, IncompleteRead, parse_headers
from socket import create_connection, socket
from typing import IO, Any

from corpora.crawl.addresses import Place
from corpora.crawl.types import Reason
from corpora.crawl.urls import Target
from corpora.errors import CorpusError

CONNECT_S = 20.0
"""For an address; a page may leave less."""
MAX_HEADERS = 1 << 16
"""Bytes of all headers of an answer."""
_CHUNK = 1 << 16
_ENDS_HEADERS = (
    FirstHeaderLineIsContinuationDefect,
    MisplacedEnvelopeHeaderDefect,
    MissingHeaderBodySeparatorDefect,
)
"""Lines after which the standard library reads no more headers, and says nothing."""


class ExchangeError(CorpusError):
    """A request has no answer that can be used; ``reason`` is what is counted."""

    def __init__(self, reason: Reason, message: str, *, n_bytes: int = 0) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.n_bytes = n_bytes
        """Of the body, that came."""


class _TimedStream(io.RawIOBase):
    """Reads from a socket until a time."""

    def __init__(self, link: socket, until: Callable[[], float]) -> None:
        self._link, self._until = link, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until() - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._link.settimeout(left)
        return self._link.recv_into(buffer)


class _Response(HTTPResponse):
    """Passes over what is said before the answer (RFC 9110, 15.2), not only ``100``."""

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]  # not in stubs
            if not 102 <= status < 200:
                return version, status, reason
            parse_headers(self.fp)


class Answer:
    """The answer to a request: status and headers are there, the body is to be read."""

    def __init__(self, response: HTTPResponse, connection: "Connection") -> None:
        self._response, self._connection = response, connection
        self.status = response.status
        self.reason = response.reason
        self.version = f"{response.version // 10}.{response.version % 10}"
        self.headers = tuple((name, " ".join(v.split())) for name, v in response.headers.items())

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def read(self, max_bytes: int) -> bytes:
        """Read the whole body, without its chunks; raises ``ExchangeError``."""
        coding = self.header("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise ExchangeError("bad_answer", f"Transfer-Encoding {coding!r} is not read.")
        if self._response.length is not None and self._response.length > max_bytes:
            raise ExchangeError("too_large", f"announces {self._response.length:,} bytes.")
        body = bytearray()
        with _told(lambda: len(body)):
            while chunk := self._response.read1(_CHUNK):
                body += chunk
                if len(body) > max_bytes:
                    what = f"has more than {max_bytes:,} bytes."
                    raise ExchangeError("too_large", what, n_bytes=len(body))
            if self._response.length:
                raise IncompleteRead(bytes(body[-10:]), self._response.length)
        self._connection.is_reusable = not self._response.will_close
        return bytes(body)


class _told:  # noqa: N801 - reads as a statement
    """Says in our words what went wrong on the way."""

    def __init__(self, n_bytes: Callable[[], int] = lambda: 0) -> None:
        self._n_bytes = n_bytes

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        n = self._n_bytes()
        if isinstance(error, TimeoutError):
            raise ExchangeError("timeout", f"did not end in time ({n:,} bytes came).", n_bytes=n)
        if isinstance(error, ssl.SSLCertVerificationError):
            raise ExchangeError("certificate", f"{error.verify_message}.") from error
        if isinstance(error, OSError | IncompleteRead):
            what = f"the connection broke: {type(error).__name__} {error}"
            raise ExchangeError("host_down", what, n_bytes=n) from error
        if isinstance(error, HTTPException | ValueError):
            what = f"no HTTP that can be read: {type(error).__name__} {str(error)[:100]}"
            raise ExchangeError("bad_answer", what, n_bytes=n) from error


class Connection:
    """One connection; ``is_reusable`` says whether another request may follow."""

    def __init__(self, link: socket, target: Target, address: str) -> None:
        self._link = link
        self.address = address
        """It was checked, and is what was connected to."""
        self.end = (target.scheme, target.host, target.port)
        self.is_reusable = False
        self.idle_since = time.monotonic()
        self._deadline = 0.0

    @classmethod
    def open(
        cls, target: Target, place: Place, *, deadline: float, tls: ssl.SSLContext
    ) -> "Connection":
        """Connect to one of the addresses of a place; raises ``ExchangeError``.

        ``deadline`` is of ``time.monotonic``.
        """
        error: OSError | None = None
        for address in place.addresses:
            left = min(CONNECT_S, deadline - time.monotonic())
            if left <= 0:
                break
            try:
                link = create_connection((address, place.port), timeout=left)
            except OSError as found:
                error = found
                continue
            if target.scheme == "https":
                link = _secure(link, target.host, deadline=deadline, tls=tls)
            return cls(link, target, address)
        raise ExchangeError("host_down", f"cannot be reached ({error or 'no time left'}).")

    def ask(self, target: Target, headers: Iterable[tuple[str, str]], *, deadline: float) -> Answer:
        """Send a request, and read the answer's headers; raises ``ExchangeError``."""
        self._deadline, self.is_reusable = deadline, False
        lines = [f"GET {target.path} HTTP/1.1", f"Host: {target.authority}"]
        lines += [f"{name}: {value}" for name, value in headers]
        request = "\r\n".join([*lines, "", ""]).encode("latin-1")
        with _told():
            self._link.settimeout(max(0.001, deadline - time.monotonic()))
            self._link.sendall(request)
            response = _Response(self, method="GET")  # type: ignore[arg-type] # see makefile
            response.begin()
            _check_head(response)
        return Answer(response, self)

    def makefile(self, _: str) -> IO[bytes]:
        """What ``HTTPResponse`` reads from."""
        return io.BufferedReader(_TimedStream(self._link, lambda: self._deadline))

    @property
    def is_open(self) -> bool:
        """Whether the server has kept it; what it says unasked ends it, too."""
        poll = select.poll()
        poll.register(self._link, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """End it."""
        self.is_reusable = False
        self._link.close()


def _check_head(response: HTTPResponse) -> None:
    """Raise ``HTTPException`` where headers were not read: one of them may reserve the page."""
    if response.status < 200:
        raise HTTPException(f"status {response.status}")
    if any(isinstance(defect, _ENDS_HEADERS) for defect in response.headers.defects):
        raise HTTPException("a line among the headers is none")
    if sum(len(name) + len(value) + 4 for name, value in response.headers.items()) > MAX_HEADERS:
        raise HTTPException(f"more than {MAX_HEADERS:,} bytes of headers")


def _secure(link: socket, host: str, *, deadline: float, tls: ssl.SSLContext) -> socket:
    """Speak TLS with the host by its name, and check that it is it."""
    try:
        with _told():
            link.settimeout(max(0.001, deadline - time.monotonic()))
            return tls.wrap_socket(link, server_hostname=host, suppress_ragged_eofs=False)
    except BaseException:
        link.close()
        raise
