"""Start and stop of an HTTP server: socket, uvicorn, and a SIGTERM that lets requests finish."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from corpora.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HEAD_SECONDS: Final = 10.0
"""Seconds within which the head of a request must arrive."""
_GRACE_SECONDS: Final = 30
"""Seconds that requests may still take after SIGTERM."""
_MAX_HEAD: Final = 32_768  # bytes
_MAX_CONNECTIONS: Final = 1024


def listen(host: str, port: int) -> socket.socket:
    """Bind a socket to an address; port 0 takes any that is free. Raises ``UsageError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except (OSError, OverflowError) as error:  # OverflowError: no port has this number
        opened.close()
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--host {host} --port {port}: cannot be had ({why}). Name another port, or 0 for any "
            "that is free."
        ) from error
    opened.setblocking(False)  # noqa: FBT003 - the name of the standard library
    return opened


class Server(uvicorn.Server):
    """A server for an application, on an open socket.

    Args:
        app: usually a ``Guard``.
        listener: a socket of ``listen``.
        on_ready: called with the address once requests are answered.
    """

    def __init__(
        self,
        app: "ASGIApp",
        listener: socket.socket,
        *,
        on_ready: Callable[[str], None] | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            loop="asyncio",
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="auto",
            limit_concurrency=_MAX_CONNECTIONS,
            h11_max_incomplete_event_size=_MAX_HEAD,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)
        self.listener, self._on_ready = listener, on_ready

    @property
    def address(self) -> str:
        """The URL of the server, as ``http://127.0.0.1:8001``."""
        host, port = self.listener.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def answer(self) -> None:
        """Answer requests until SIGTERM or Ctrl-C, then finish those that have arrived."""
        with _endings_are_ours():
            self.run(sockets=[self.listener])

    def stop(self) -> None:
        """Stop the server as SIGTERM would; any thread may call this."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then call ``on_ready`` with the address."""
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready(self.address)


@contextmanager
def _endings_are_ours() -> Iterator[None]:
    """Ignore SIGTERM and Ctrl-C outside uvicorn.

    uvicorn handles both signals itself, and raises them again when it has ended.
    """
    try:
        earlier = {
            one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)
        }
    except ValueError:  # only the main thread can set handlers
        yield
        return
    try:
        yield
    finally:
        for one, handler in earlier.items():
            signal.signal(one, handler)


class _Protocol(H11Protocol):
    """A connection that is closed if the head of a request does not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_head_here = self.conn.their_state is not h11.IDLE
        if is_head_here and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not is_head_here and self._timer is None:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _wait_for_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)
