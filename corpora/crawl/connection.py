"""HTTP with untrusted servers: httpcore2, over sockets that connect to checked addresses only.

httpcore2 reads HTTP and keeps idle connections. Below it, a name is resolved once, and the socket
is connected to an address that was checked. A request has a deadline, however slowly bytes arrive.
Proxies of the environment are not used: they would hide the real address.
"""

import select
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace

import httpcore2

from corpora.crawl.addresses import PrivateAddressError, Resolver, checked_addresses
from corpora.crawl.types import Reason
from corpora.crawl.urls import UrlParts
from corpora.errors import CorpusError
from corpora.warc.writer import Response

CONNECT_S = 20.0
"""Seconds to connect to an address; less if the deadline of the request is earlier."""
MAX_HEADERS = 1 << 16
"""The most bytes of all headers of an answer."""
MAX_IDLE = 100
MAX_IDLE_S = 30.0
"""Seconds for which an idle connection is kept for the next request."""


class ExchangeError(CorpusError):
    """The error for a request without a usable answer; ``reason`` is counted."""

    def __init__(self, reason: Reason, message: str, *, n_bytes: int = 0) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.n_bytes = n_bytes
        """The bytes of the body that have arrived."""


@dataclass(slots=True)
class _Limits:
    """The limits and the state of the request that a thread makes."""

    allow: tuple[str, ...]
    deadline: float
    """A time of ``time.monotonic``."""
    is_ended: bool = False
    """Whether the server has closed the connection."""

    def seconds_left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


_limits: ContextVar[_Limits] = ContextVar("limits")


class _Stream(httpcore2.NetworkStream):
    """A socket that is read and written until the deadline of the request."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - theirs
        self._link.settimeout(_limits.get().seconds_left())
        data = self._link.recv(max_bytes)
        _limits.get().is_ended = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._link.settimeout(_limits.get().seconds_left())
        self._link.sendall(buffer)

    def close(self) -> None:
        self._link.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> "_Stream":
        """Start TLS with a host by its name; a connection cut without a TLS close is an error."""
        try:
            self._link.settimeout(_limits.get().seconds_left())
            link = ssl_context.wrap_socket(
                self._link, server_hostname=server_hostname, suppress_ragged_eofs=False
            )
        except BaseException:
            self._link.close()
            raise
        return _Stream(link)

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable":  # httpcore2 drops an idle connection with unrequested data
            poll = select.poll()
            poll.register(self._link, select.POLLIN)
            return bool(poll.poll(0))
        return self._link.getpeername() if info == "server_addr" else None


class _CheckedNetwork(httpcore2.NetworkBackend):
    """A network backend that connects to checked addresses only."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def connect_tcp(  # noqa: PLR0917 - theirs
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[object] | None = None,  # noqa: ARG002
    ) -> _Stream:
        """Resolve a host, check its addresses, and connect; raise ``ExchangeError``."""
        limits, problem = _limits.get(), "no time left"
        try:
            found = checked_addresses(host, port, allow=limits.allow, resolver=self._resolver)
        except PrivateAddressError as error:
            raise ExchangeError("private_address", str(error)) from error
        except (OSError, UnicodeError) as error:
            what = f"the name cannot be resolved ({error})."
            raise ExchangeError("host_down", what) from error
        for address in found:
            left = min(CONNECT_S, limits.deadline - time.monotonic())
            if left <= 0:
                break
            try:
                return _Stream(socket.create_connection((address, port), timeout=left))
            except OSError as error:
                problem = str(error)
        raise ExchangeError("host_down", f"cannot be reached ({problem}).")


class Connections:
    """The connections of a crawl; safe for threads. The fetcher uses one at a time for a host."""

    def __init__(self, *, resolver: Resolver, tls: ssl.SSLContext) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls,
            max_connections=None,
            max_keepalive_connections=MAX_IDLE,
            keepalive_expiry=MAX_IDLE_S,
            network_backend=_CheckedNetwork(resolver),
        )

    def close(self) -> None:
        """Close the pool of connections."""
        self._pool.close()

    def get(
        self,
        target: UrlParts,
        headers: Mapping[str, str],
        *,
        allow: tuple[str, ...],
        deadline: float,
        max_bytes: Callable[[Response], int],
    ) -> Response:
        """Request an address; raise ``ExchangeError``.

        ``max_bytes`` gets the answer without its body; it returns how many bytes of the body may be
        read, or raises. ``deadline`` is a time of ``time.monotonic``; ``allow`` are the private
        addresses and networks that may be asked.
        """
        named = {"Host": target.authority, **headers}
        url = httpcore2.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode(),
        )
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
        limits = _Limits(allow, deadline)
        body = bytearray()
        token = _limits.set(limits)
        try:
            answer = self._pool.handle_request(httpcore2.Request("GET", url, headers=pairs))
            try:
                head = _head(answer)
                _read_body(answer, body, max_bytes=max_bytes(head))
            finally:
                answer.close()
        except (OSError, ValueError, httpcore2.ProtocolError) as error:
            raise _explained(error, limits, n_bytes=len(body)) from error
        finally:
            _limits.reset(token)
        return replace(head, body=bytes(body))


def _head(answer: httpcore2.Response) -> Response:
    """Convert an answer without its body; raise ``ValueError`` for an invalid answer."""
    if answer.status < 200:
        raise ValueError(f"status {answer.status}")
    if sum(len(name) + len(value) + 4 for name, value in answer.headers) > MAX_HEADERS:
        raise ValueError(f"more than {MAX_HEADERS:,} bytes of headers")
    address = answer.extensions["network_stream"].get_extra_info("server_addr")
    return Response(
        status=answer.status,
        reason=answer.extensions["reason_phrase"].decode("latin-1"),
        version=answer.extensions["http_version"].decode("latin-1").removeprefix("HTTP/"),
        headers=tuple(
            (name.decode("latin-1"), " ".join(value.decode("latin-1").split()))
            for name, value in answer.headers
        ),
        address=address[0],
    )


def _read_body(answer: httpcore2.Response, body: bytearray, *, max_bytes: int) -> None:
    for name, value in () if answer.status in {204, 304} else answer.headers:
        if name.lower() == b"content-length" and int(value) > max_bytes:
            raise ExchangeError("too_large", f"announces {int(value):,} bytes.")
    for chunk in answer.iter_stream():
        body += chunk
        if len(body) > max_bytes:
            what = f"has more than {max_bytes:,} bytes."
            raise ExchangeError("too_large", what, n_bytes=len(body))


def _explained(error: Exception, limits: _Limits, *, n_bytes: int) -> ExchangeError:
    """Convert an exception of a request to an ``ExchangeError`` with reason and message."""
    if isinstance(error, TimeoutError):
        what = f"did not end in time ({n_bytes:,} bytes came)."
        return ExchangeError("timeout", what, n_bytes=n_bytes)
    if isinstance(error, ssl.SSLCertVerificationError):
        return ExchangeError("certificate", f"{error.verify_message}.")
    said = f"{type(error).__name__} {str(error)[:100]}"
    if isinstance(error, OSError) or limits.is_ended:
        return ExchangeError("host_down", f"the connection broke: {said}", n_bytes=n_bytes)
    return ExchangeError("bad_answer", f"no HTTP that can be read: {said}", n_bytes=n_bytes)
