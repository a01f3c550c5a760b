"""What need not be asked: answers and failures that lie in the archive."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from corpora.crawl.archive import Archive
from corpora.crawl.archive_index import Entry
from corpora.crawl.types import RULES, Fetched, Kind, Reason, Refused, Request
from corpora.crawl.urls import Target
from corpora.warc.http import Answer, BodyError, unpack_body

KEPT_S = 24 * 3600.0
"""Seconds that rules hold (RFC 9309, 2.4); then they are asked for again."""
LASTING = (200, 301, 308, 410)
"""Statuses after which a page is asked for in no session again: it is there, moved or gone for
ever."""
_ABOUT_PACKING = (
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "x-archive-orig-transfer-encoding",
)


class Memory:
    """Answers from an archive.

    What was asked for as rules is no page, whatever stands there: a redirect may have led to it
    before anybody knew whether it may be asked for.
    """

    def __init__(self, archive: Archive, now: Callable[[], float]) -> None:
        self._archive, self._now = archive, now

    def recall(self, request: Request) -> Fetched | Refused | None:
        """What came of an address: in this session, or, of a page, in any; None to ask."""
        kind, site = request.kind, request.site
        entry = self._newest(request.target)
        if entry is not None and _serves(entry, kind):
            is_over = kind in RULES and self._now() - entry.ended > KEPT_S
            if is_over or not (entry.is_final or entry.attempt >= site.tries):
                return None
        else:
            entry = self._answer_of(request, LASTING) if kind == "page" else None
        if entry is None:
            return None
        if entry.type == "metadata":
            reason = cast("Reason", entry.refused)  # we wrote it
            return Refused(entry.url, reason, entry.detail, from_archive=True)
        found = self._archive.find_body(entry)
        max_bytes = max(site.max_page_bytes, found.n_bytes)
        return to_fetched(self._archive.read(found), found, max_bytes=max_bytes)

    def _newest(self, target: Target) -> Entry | None:
        return self._archive.index.newest(target.url, session=self._archive.session)

    def _answer_of(self, request: Request, statuses: tuple[int, ...]) -> Entry | None:
        entry = self._archive.index.newest_answer(request.target.url, statuses)
        return entry if entry and _serves(entry, request.kind) else None

    def n_tried(self, target: Target) -> int:
        """How often an address was tried in vain in this session, that may be tried again."""
        entry = self._newest(target)
        return entry.attempt if entry is not None and not entry.is_final else 0

    def before(self, request: Request) -> Entry | None:
        """The answer of before that a conditional request can be made for."""
        entry = self._answer_of(request, (200,))
        return entry if entry and entry.can_be_asked_whether_changed else None

    def stale(self, url: str, *, since: float) -> bytes | None:
        """The body of the last answer with status 200, if it was true after a time."""
        entry = self._archive.index.newest_answer(url, (200,))
        if entry is None or max(entry.ended, self._archive.index.confirmed(url)) < since:
            return None
        try:
            return unpack_body(self._archive.read(entry), max_bytes=1 << 24)
        except BodyError:
            return None


def _serves(entry: Entry, kind: Kind) -> bool:
    return kind in RULES or entry.kind not in RULES


def to_fetched(answer: Answer, entry: Entry, *, max_bytes: int) -> Fetched | Refused:
    """An answer of the archive, as it is handed on."""
    try:
        return replace(fetched(answer, entry.url, max_bytes=max_bytes), from_archive=True)
    except BodyError as error:
        return Refused(entry.url, "too_large", str(error), from_archive=True)


def fetched(answer: Answer, url: str, *, max_bytes: int) -> Fetched:
    """Unpack an answer; raises ``BodyError``."""
    body = unpack_body(answer, max_bytes=max_bytes)
    headers = tuple(pair for pair in answer.headers if pair[0] not in _ABOUT_PACKING)
    return Fetched(url, answer.status, headers, body, from_archive=False)
