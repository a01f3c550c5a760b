"""The connections of a crawl: one a host at a time, kept while its server keeps it."""

import ssl
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Self

from corpora.crawl.addresses import PrivateAddressError, Resolver, find_place
from corpora.crawl.connection import Connection, ExchangeError
from corpora.crawl.urls import Target

MAX_IDLE = 100
MAX_IDLE_S = 30.0
"""Seconds that an idle connection is kept for the next request."""


class Lines:
    """Opens connections, and keeps those that are idle; safe for threads."""

    def __init__(self, *, resolver: Resolver, tls: ssl.SSLContext) -> None:
        self._resolver, self._tls = resolver, tls
        self._idle: dict[str, Connection] = {}
        self._held: defaultdict[str, Lock] = defaultdict(Lock)
        self._lock = Lock()

    def __enter__(self) -> Self:
        """Open nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what is idle."""
        with self._lock:
            for connection in self._idle.values():
                connection.close()
            self._idle.clear()

    @contextmanager
    def holding(self, host: str) -> Iterator[None]:
        """Let nobody else ask a host meanwhile."""
        with self._lock:
            lock = self._held[host]
        with lock:
            yield

    def take(self, target: Target) -> Connection | None:
        """The idle connection to a host, if there is one; the caller holds the host."""
        with self._lock:
            connection = self._idle.pop(target.authority, None)
        if connection is None:
            return None
        is_end = connection.end == (target.scheme, target.host, target.port)
        is_old = time.monotonic() - connection.idle_since > MAX_IDLE_S
        if is_old or not is_end or not connection.is_open:
            connection.close()
            return None
        return connection

    def open(self, target: Target, *, allow: tuple[str, ...], deadline: float) -> Connection:
        """Find where a host is, and connect to it.

        Raises ``ExchangeError``; ``PrivateAddressError`` where it may not be asked.
        """
        try:
            place = find_place(target.host, target.port, allow=allow, resolver=self._resolver)
        except PrivateAddressError as error:
            raise ExchangeError("private_address", str(error)) from error
        except (OSError, UnicodeError) as error:
            what = f"the name cannot be resolved ({error})."
            raise ExchangeError("host_down", what) from error
        return Connection.open(target, place, deadline=deadline, tls=self._tls)

    def put(self, target: Target, connection: Connection) -> None:
        """Keep a connection for the next request to its host, or close it."""
        if not connection.is_reusable:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        with self._lock:
            self._idle[target.authority] = connection
            extra = [self._idle.pop(host) for host in list(self._idle)[:-MAX_IDLE]]
        for old in extra:
            old.close()
