"""A request and its answer: waited for, asked, tried again, and written to the archive."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from corpora.crawl.archive import Archive
from corpora.crawl.archive_index import TRANSIENT, Entry
from corpora.crawl.bounds import SiteBounds
from corpora.crawl.connection import Answer, ExchangeError
from corpora.crawl.lines import Lines
from corpora.crawl.memory import fetched, parsed, to_fetched
from corpora.crawl.pace import Clock, Pace, retry_after
from corpora.crawl.reservations import Decision, decide_by_headers, strictest
from corpora.crawl.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from corpora.crawl.types import Fetched, Kind, Reason, Refused, SitePolicy
from corpora.crawl.urls import Target
from corpora.warc.contact import crawler_agent
from corpora.warc.http import BodyError
from corpora.warc.writer import Asked, Response, refusal_record, response_record, revisit_record

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_UNSAID = frozenset({"private_address"})
"""Reasons for which nothing was asked, and nothing is written."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for, and what is known before."""

    target: Target
    kind: Kind
    depth: int
    site: SitePolicy
    bounds: SiteBounds
    delay: float
    """Seconds since the last answer of the host."""
    robots: str
    """What robots.txt says, as it is written down."""
    mining: Decision
    """What is known of reservations before it is fetched."""
    heeds_headers: bool
    """Whether an answer that reserves mining is not read."""
    attempt: int = 1
    """The first that is made now."""
    before: Entry | None = None
    """An answer of before: ask whether it has changed."""

    @property
    def max_bytes(self) -> int:
        """Of the body; a robots.txt may be as long as RFC 9309 says at least."""
        least = MAX_ROBOTS_BYTES if self.kind == "robots" else 0
        return max(self.site.max_page_bytes, least)

    def headers(self) -> Iterable[tuple[str, str]]:
        """The headers that are sent, after ``Host``."""
        yield "User-Agent", crawler_agent(self.site.contact)
        yield "Accept", _ACCEPT
        yield "Accept-Encoding", _codings()
        if self.before:
            if self.before.etag:
                yield "If-None-Match", self.before.etag
            if self.before.modified:
                yield "If-Modified-Since", self.before.modified


def _codings() -> str:
    try:
        import brotli  # noqa: F401
    except ImportError:
        return "gzip"
    return "gzip, br"


class Exchange:
    """Makes requests, one a host at a time: the caller holds the host."""

    def __init__(self, archive: Archive, lines: Lines, *, clock: Clock, pace: Pace) -> None:
        self._archive, self._lines = archive, lines
        self._clock, self._pace = clock, pace

    def run(self, request: Request) -> Fetched | Refused:
        """Ask until there is an answer, or no more tries are left."""
        answer: Fetched | Refused | None = None
        for attempt in range(request.attempt, request.site.tries + 1):
            if refused := self._wait(request, attempt):
                return refused
            answer, entry = self._once(request, attempt)
            if entry is None or entry.is_final:
                break
        if answer is None:
            raise AssertionError("all tries were made before: it is in the memory")
        return answer

    def _wait(self, request: Request, attempt: int) -> Refused | None:
        """Wait until the host may be asked; returns why it may not."""
        site, url = request.site, request.target.url
        host = self._pace.of(request.target.authority)
        why = host.why_left(patience=site.patience, max_failures=site.max_failures)
        if why:
            return Refused(url, "host_left", f"{request.target.authority}: {why}")
        now = self._clock.now()
        pause = site.back_off * 2 ** (attempt - 2) if attempt > 1 and host.not_before < now else 0.0
        seconds = max(host.seconds_left(now, delay=request.delay), pause)
        request.bounds.begin()
        if reached := request.bounds.reached(site, ahead=seconds):
            return Refused(url, *reached)
        if attempt == 1 and not request.bounds.take_page(site, request.kind):
            return Refused(url, "bound_pages", f"{site.name}: max_pages is {site.max_pages:,}")
        if not self._clock.sleep(seconds):
            return Refused(url, "stopped", "the crawl was told to stop")
        return None

    def _once(self, request: Request, attempt: int) -> tuple[Fetched | Refused, Entry | None]:
        """Ask once; what came is in the archive then."""
        site = request.site
        asked = Asked(
            url=request.target.url,
            began=self._clock.now(),
            session=self._archive.session,
            site=site.name,
            kind=request.kind,
            depth=request.depth,
            attempt=attempt,
            tries=site.tries,
            robots=request.robots,
            mining=str(request.mining),
        )
        left = site.max_seconds - request.bounds.used.seconds
        deadline = time.monotonic() + max(0.001, min(site.page_seconds, left))
        try:
            response, mining = self._ask(request, deadline)
            asked = self._ended(request, replace(asked, mining=str(mining)), len(response.body))
            return self._keep(request, asked, response)
        except ExchangeError as error:
            if error.reason in _UNSAID:
                return Refused(asked.url, error.reason, str(error)), None
            asked = self._ended(request, asked, error.n_bytes)
            if error.reason == "reserved":
                asked = replace(asked, mining=f"reserved; {error}")
            return self._refuse(request, error, asked=asked)

    def _ended(self, request: Request, asked: Asked, n_bytes: int) -> Asked:
        """Note that an answer ended, well or not."""
        request.bounds.add_bytes(n_bytes)
        seconds = max(0.0, self._clock.now() - asked.began)
        elapsed = request.bounds.used.seconds
        return replace(asked, seconds=seconds, elapsed=elapsed, n_bytes=n_bytes)

    def _keep(
        self, request: Request, asked: Asked, response: Response
    ) -> tuple[Fetched | Refused, Entry]:
        """Write an answer down, and hand it on."""
        if response.status == 304 and request.before:
            before = request.before
            record = revisit_record(asked, response, date=before.date, digest=before.digest)
            entry = self._note(request, self._archive.add(record))
            return to_fetched(
                self._archive.read(before), before, max_bytes=request.max_bytes
            ), entry
        if response.status in TRANSIENT:
            wait = retry_after(response.headers, now=self._clock.now())
            asked = replace(asked, wait=wait)
        answer = parsed(response)
        try:
            found = fetched(answer, asked.url, max_bytes=request.max_bytes)
        except BodyError as error:
            reason: Reason = "too_large" if error.reason == "too_large" else "bad_answer"
            return self._refuse(request, ExchangeError(reason, str(error)), asked=asked)
        return found, self._note(request, self._archive.add(response_record(asked, response)))

    def _refuse(
        self, request: Request, error: ExchangeError, *, asked: Asked
    ) -> tuple[Refused, Entry]:
        """Write down that there is no answer, and why."""
        record = refusal_record(asked, reason=error.reason, detail=str(error))
        entry = self._note(request, self._archive.add(record))
        return Refused(asked.url, error.reason, str(error)), entry

    def _note(self, request: Request, entry: Entry) -> Entry:
        host = self._pace.of(request.target.authority)
        host.note(entry)
        host.last = max(host.last, self._clock.now())
        return entry

    def _ask(self, request: Request, deadline: float) -> tuple[Response, Decision]:
        """Ask over the connection that is there, or a new one; raises ``ExchangeError``."""
        connection = self._lines.take(request.target) or self._lines.open(
            request.target, allow=request.site.allow_private, deadline=deadline
        )
        try:
            answer = connection.ask(request.target, request.headers(), deadline=deadline)
            mining = strictest([request.mining, decide_by_headers(answer.headers)])
            response = self._read(answer, request, connection.address)
        except BaseException:
            connection.close()
            raise
        self._lines.put(request.target, connection)
        return response, mining

    def _read(self, answer: Answer, request: Request, address: str) -> Response:
        """Read the body, if it may be read."""
        told = decide_by_headers(answer.headers)
        if told.is_reserved and request.heeds_headers and 200 <= answer.status < 300:
            raise ExchangeError("reserved", told.because)
        if answer.status == 304 and not request.before:
            raise ExchangeError("bad_answer", "304 to a request without a condition.")
        most = request.max_bytes
        left = request.bounds.bytes_left(request.site, most)
        try:
            body = answer.read(left)
        except ExchangeError as error:
            if error.reason == "too_large" and left < most:
                what = f"{error} max_bytes is {request.site.max_bytes:,}"
                raise ExchangeError("bound_bytes", what, n_bytes=error.n_bytes) from error
            raise
        return Response(
            status=answer.status,
            reason=answer.reason,
            version=answer.version,
            headers=answer.headers,
            body=body,
            address=address,
        )
