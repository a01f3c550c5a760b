"""The table of the records of an archive; it can be made again from the archive at any time."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from datetime import datetime
from itertools import starmap
from pathlib import Path
from threading import RLock
from typing import Any, get_type_hints

from corpora.crawl.pace import Used
from corpora.crawl.types import PAGES
from corpora.crawl.urls import parse_url
from corpora.warc.http import parse_answer

NAME = "index.sqlite"
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The HTTP statuses of errors that may be temporary."""
_VERSION = 2
"""The version of the table; one of another version is made again."""
_PLAIN_FIELDS = ("kind", "session", "site", "refused")
"""The columns that are copied from the ``Onoma-…`` field of the same name."""
_Row = tuple[Any, ...]
"""Any: SQLite does not say which types its columns have."""


@dataclass(frozen=True, slots=True)
class IndexedRequest:
    """A row of the table: the record of a request; each field is a column."""

    file: str
    offset: int
    type: str
    """``response``, ``revisit``, or ``metadata`` for a request that failed."""
    url: str
    kind: str
    session: str
    site: str
    host: str
    status: int
    """The HTTP status; 0 for a request that failed."""
    refused: str
    """The reason (``Reason``) for which it failed; empty for an answer."""
    detail: str
    attempt: int
    tries: int
    """The number of attempts that were allowed."""
    date: str
    """The date as written in the record."""
    ended: float
    """The time when the answer was complete, in seconds since 1970."""
    elapsed: float
    """The seconds that the session had spent on the site by then."""
    n_bytes: int
    """The bytes of the body, as sent."""
    etag: str
    modified: str
    digest: str
    wait: float
    """The seconds that the host asked to wait (``Retry-After``); -1 if it did not."""

    @property
    def is_final(self) -> bool:
        """Whether the request is not to be tried again."""
        failed = self.refused == "host_down" or self.status in TRANSIENT
        return not failed or self.attempt >= self.tries

    @property
    def has_failed(self) -> bool:
        """Whether the host could not answer, even at the last attempt."""
        failed = self.refused in {"host_down", "timeout"} or self.status in TRANSIENT
        return failed and self.is_final

    @property
    def can_be_asked_whether_changed(self) -> bool:
        """Whether the answer has what a conditional request needs."""
        return self.type == "response" and self.status == 200 and bool(self.etag or self.modified)


_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT"}
_COLUMNS = [f'"{field.name}"' for field in fields(IndexedRequest)]
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM entries "  # noqa: S608 - names of our own fields
_INSERT = f"INSERT INTO entries ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_TABLES = f"""
BEGIN;
CREATE TABLE files (name TEXT PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE entries (id INTEGER PRIMARY KEY, {
    ", ".join(
        f'"{name}" {_TYPES[type]} NOT NULL' for name, type in get_type_hints(IndexedRequest).items()
    )
});
CREATE INDEX by_url ON entries (url);
CREATE INDEX by_session ON entries (session, site);
PRAGMA user_version = {_VERSION};
COMMIT
"""


class ArchiveIndex:
    """The table of an archive; safe for threads.

    The table is written without waiting for the disk. If a power cut damages it, it is made again
    from the archive. Raises ``sqlite3.DatabaseError`` if it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._lock = RLock()
        try:
            self._db.execute("PRAGMA synchronous = OFF")
            [[version]] = self._rows("PRAGMA user_version")
            if version == 0:
                self._db.executescript(_TABLES)
            elif version != _VERSION:
                raise sqlite3.DatabaseError(f"version {version}")
            [verdict] = self._rows("PRAGMA quick_check")[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the table."""
        self._db.close()

    def add(self, entries: Iterable[IndexedRequest], *, file: str, size: int) -> None:
        """Add records of a file, which has ``size`` bytes with them."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany(_INSERT, map(astuple, entries))
            self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (file, size))

    def _rows(self, query: str, *values: object) -> list[_Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def _last(self, clause: str, *values: object) -> IndexedRequest | None:
        rows = self._rows(f"{_SELECT} WHERE {clause} ORDER BY id DESC LIMIT 1", *values)
        return IndexedRequest(*rows[0]) if rows else None

    def sizes(self) -> dict[str, int]:
        """Return how many bytes of each file are in the table."""
        return dict(self._rows("SELECT name, size FROM files"))

    def newest(self, url: str, *, session: str) -> IndexedRequest | None:
        """Find the last record of an address in a session."""
        return self._last("url = ? AND session = ?", url, session)

    def newest_answer(self, url: str, statuses: Iterable[int]) -> IndexedRequest | None:
        """Find the last answer of an address with one of some statuses, in any session."""
        wanted = ", ".join(str(int(status)) for status in statuses)
        return self._last(f"url = ? AND type = 'response' AND status IN ({wanted})", url)

    def body_of(self, revisit: IndexedRequest) -> IndexedRequest | None:
        """Find the answer that a revisit confirms: the last before it with status 200."""
        clause = (
            "url = ? AND type = 'response' AND status = 200 AND id < "
            "(SELECT max(id) FROM entries WHERE file = ? AND offset = ?)"
        )
        return self._last(clause, revisit.url, revisit.file, revisit.offset)

    def confirmed(self, url: str) -> float:
        """Return when the last revisit of an address ended; 0 where there is none."""
        sums = "SELECT coalesce(max(ended), 0) FROM entries WHERE url = ? AND type = 'revisit'"
        return float(self._rows(sums, url)[0][0])

    def hosts(self) -> dict[str, float]:
        """Map each host to the time when its last request ended."""
        return dict(self._rows("SELECT host, max(ended) FROM entries GROUP BY host"))

    def pauses(self, now: float) -> dict[str, float]:
        """Map each host to the end of the pause that it asked for, if that is after ``now``.

        An answer of the future, by a clock that was wrong, counts as one of now.
        """
        sums = (
            "SELECT host, max(min(ended, ?) + wait) FROM entries "
            "WHERE wait >= 0 AND ended + wait > ? GROUP BY host"
        )
        return dict(self._rows(sums, now, now))

    def of_session(self, session: str) -> Iterator[IndexedRequest]:
        """Yield the records of a session, in order."""
        query = f"{_SELECT} WHERE session = ? ORDER BY id"
        with self._lock, closing(self._db.execute(query, (session,))) as rows:
            yield from starmap(IndexedRequest, rows)

    def used(self, session: str, site: str) -> Used:
        """Return the pages, bytes and seconds that a site used in a session."""
        kinds = ", ".join(f"'{kind}'" for kind in PAGES)
        sums = (
            f"SELECT count(DISTINCT CASE WHEN kind IN ({kinds}) THEN url END), "  # noqa: S608
            "coalesce(sum(n_bytes), 0), coalesce(max(elapsed), 0) "
            "FROM entries WHERE session = ? AND site = ?"
        )
        return Used(*self._rows(sums, session, site)[0])


def entry_of(
    headers: Mapping[str, str], block: bytes, *, file: str, offset: int
) -> IndexedRequest | None:
    """Make the entry of a record; None for a record that is not of a request of ours.

    ``headers`` are those of the record, with names in lower case; ``block`` is the beginning of its
    block, with the headers of HTTP.
    """
    type, url = headers.get("warc-type", ""), headers.get("warc-target-uri", "").strip("<>")
    if type not in {"response", "revisit", "metadata"} or "onoma-session" not in headers:
        return None
    answer = parse_answer(block) if type != "metadata" else None
    if type != "metadata" and answer is None:
        return None
    fields = {name: headers.get(f"onoma-{name}", "") for name in _PLAIN_FIELDS}
    detail = block.partition(b"detail: ")[2].decode("utf-8", "replace").strip()
    attempt, _, tries = headers.get("onoma-attempt", "1").partition("/")
    target = parse_url(url)
    began = datetime.fromisoformat(headers["warc-date"]).timestamp()
    return IndexedRequest(
        file=file,
        offset=offset,
        type=type,
        url=target.url,
        **fields,
        host=target.authority,
        status=answer.status if answer else 0,
        detail="" if answer else detail,
        attempt=int(attempt),
        tries=int(tries or 1),
        date=headers["warc-date"],
        ended=began + float(headers.get("onoma-seconds", "0")),
        elapsed=float(headers.get("onoma-elapsed", "0")),
        n_bytes=int(headers.get("onoma-bytes", "0")),
        etag=(answer and answer.header("etag")) or "",
        modified=(answer and answer.header("last-modified")) or "",
        digest=headers.get("warc-payload-digest", ""),
        wait=float(headers.get("onoma-wait", "-1")),
    )
