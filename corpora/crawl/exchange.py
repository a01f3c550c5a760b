"""A request and its answer: waited for, asked, tried again, and written to the archive."""

import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from threading import Lock

from corpora.crawl.archive import Archive
from corpora.crawl.archive_index import TRANSIENT, Entry
from corpora.crawl.bounds import SiteBounds
from corpora.crawl.connection import Connections, ExchangeError
from corpora.crawl.memory import Memory, fetched, to_fetched
from corpora.crawl.pace import Clock, HostPace, retry_after
from corpora.crawl.reservations import Decision, decide_by_headers, strictest
from corpora.crawl.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from corpora.crawl.robots import Robots
from corpora.crawl.types import RULES, Fetched, Reason, Refused, Request, SitePolicy
from corpora.warc.contact import crawler_agent
from corpora.warc.http import BodyError
from corpora.warc.writer import Asked, Response, refusal_record, response_record, revisit_record

UNRESERVED = (*RULES, "sitemap")
"""Kinds that are made for those who come by themselves: no text of the site is in them."""
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
Noted = tuple[Fetched | Refused, Entry | None]
"""An answer, and its record; None where nothing was asked."""


class Exchange:
    """Makes requests, one a host at a time; safe for threads."""

    def __init__(self, archive: Archive, connections: Connections, clock: Clock) -> None:
        self._archive, self._connections, self._clock = archive, connections, clock
        self.memory = Memory(archive, clock.now)
        self._pace = _restored(archive, clock.now())
        # What was being asked for when a process was killed is not in the archive: if the session
        # goes on, every host may have been asked just now.
        self._all_asked = clock.now() if archive.is_resumed else float("-inf")
        for pace in self._pace.values():
            pace.last = max(pace.last, self._all_asked)
        self._held: dict[str, Lock] = {}
        self._bounds: dict[str, SiteBounds] = {}

    def bounds(self, site: SitePolicy) -> SiteBounds:
        """What a site has used up in this session."""
        found = self._bounds.get(site.name)
        return found or self._bounds.setdefault(
            site.name, SiteBounds(self._archive.index.used(self._archive.session, site.name))
        )

    def run(self, request: Request, robots: Robots, mining: Decision) -> Fetched | Refused:
        """Ask until there is an answer, or no more tries are left.

        ``mining``: what is known of reservations before. Answers from the archive where another
        thread has just asked.
        """
        target, site = request.target, request.site
        self._archive.describe(_about(site))
        with self._held.setdefault(target.authority, Lock()):
            answer = self.memory.recall(request)
            if answer is not None:
                return answer
            asked = Asked(
                url=target.url,
                began=0.0,
                session=self._archive.session,
                site=site.name,
                kind=request.kind,
                depth=request.depth,
                tries=site.tries,
                robots=robots.summary() if request.kind not in RULES else "",
            )
            for attempt in range(self.memory.n_tried(target) + 1, site.tries + 1):
                if refused := self._wait(request, attempt, delay=max(site.delay, robots.delay)):
                    return refused
                asked = replace(asked, attempt=attempt, began=self._clock.now())
                answer, entry = self._once(request, asked, mining)
                if entry is None or entry.is_final:
                    break
        if answer is None:
            raise AssertionError("all tries were made before: it is in the memory")
        return answer

    def _pace_of(self, request: Request) -> HostPace:
        return self._pace.setdefault(request.target.authority, HostPace(last=self._all_asked))

    def _wait(self, request: Request, attempt: int, *, delay: float) -> Refused | None:
        """Wait until the host may be asked; returns why it may not."""
        site, url, host = request.site, request.target.url, self._pace_of(request)
        if why := host.why_left(patience=site.patience, max_failures=site.max_failures):
            return Refused(url, "host_left", f"{request.target.authority}: {why}")
        now = self._clock.now()
        pause = site.back_off * 2 ** (attempt - 2) if attempt > 1 and host.not_before < now else 0.0
        seconds = max(host.seconds_left(now, delay=delay), pause)
        bounds = self.bounds(site)
        if reached := bounds.reached(site, ahead=seconds):
            return Refused(url, *reached)
        if attempt == 1 and not bounds.take_page(site, request.kind):
            return Refused(url, "bound_pages", f"{site.name}: max_pages is {site.max_pages:,}")
        if not self._clock.sleep(seconds):
            return Refused(url, "stopped", "the crawl was told to stop")
        return None

    def _once(self, request: Request, asked: Asked, mining: Decision) -> Noted:
        """Ask once; what came is in the archive then."""
        before = self.memory.before(request)
        asked = replace(asked, mining=str(mining))
        try:
            response = self._get(request, before)
            mining = strictest([mining, decide_by_headers(response.headers)])
            asked = self._ended(request, replace(asked, mining=str(mining)), len(response.body))
            return self._keep(request, asked, response, before=before)
        except ExchangeError as error:
            if error.reason == "private_address":  # nothing was asked
                return Refused(asked.url, error.reason, str(error)), None
            asked = self._ended(request, asked, error.n_bytes)
            if error.reason == "reserved":
                asked = replace(asked, mining=f"reserved; {error}")
            return self._refuse(request, error, asked=asked)

    def _ended(self, request: Request, asked: Asked, n_bytes: int) -> Asked:
        """Count what came; how long it took."""
        bounds = self.bounds(request.site)
        bounds.add_bytes(n_bytes)
        seconds = max(0.0, self._clock.now() - asked.began)
        return replace(asked, seconds=seconds, n_bytes=n_bytes, elapsed=bounds.used.seconds)

    def _get(self, request: Request, before: Entry | None) -> Response:
        """Ask over the connection that is there, or a new one; raises ``ExchangeError``.

        With ``before``, whether that has changed.
        """
        site, bounds = request.site, self.bounds(request.site)
        heeds_headers = site.respect_reservations and request.kind not in UNRESERVED
        most = _max_bytes(request)
        left = bounds.bytes_left(site, most)

        def max_bytes(head: Response) -> int:
            told = decide_by_headers(head.headers)
            if told.is_reserved and heeds_headers and 200 <= head.status < 300:
                raise ExchangeError("reserved", told.because)
            if head.status == 304 and not before:
                raise ExchangeError("bad_answer", "304 to a request without a condition.")
            return left

        seconds = min(site.page_seconds, site.max_seconds - bounds.used.seconds)
        try:
            return self._connections.get(
                request.target,
                dict(_headers(site, before)),
                allow=site.allow_private,
                deadline=time.monotonic() + max(0.001, seconds),
                max_bytes=max_bytes,
            )
        except ExchangeError as error:
            if error.reason == "too_large" and left < most:
                what = f"{error} max_bytes is {site.max_bytes:,}"
                raise ExchangeError("bound_bytes", what, n_bytes=error.n_bytes) from error
            raise

    def _keep(
        self, request: Request, asked: Asked, response: Response, *, before: Entry | None
    ) -> Noted:
        """Write an answer down, and hand it on."""
        max_bytes = _max_bytes(request)
        if response.status == 304 and before:
            record = revisit_record(asked, response, date=before.date, digest=before.digest)
            entry = self._note(request, self._archive.add(record))
            return to_fetched(self._archive.read(before), before, max_bytes=max_bytes), entry
        if response.status in TRANSIENT:
            wait = retry_after(response.headers, now=self._clock.now())
            asked = replace(asked, wait=wait)
        try:
            found = fetched(response.answer(), asked.url, max_bytes=max_bytes)
        except BodyError as error:
            reason: Reason = "too_large" if error.reason == "too_large" else "bad_answer"
            return self._refuse(request, ExchangeError(reason, str(error)), asked=asked)
        return found, self._note(request, self._archive.add(response_record(asked, response)))

    def _refuse(self, request: Request, error: ExchangeError, *, asked: Asked) -> Noted:
        """Write down that there is no answer, and why."""
        record = refusal_record(asked, reason=error.reason, detail=str(error))
        entry = self._note(request, self._archive.add(record))
        return Refused(asked.url, error.reason, str(error)), entry

    def _note(self, request: Request, entry: Entry) -> Entry:
        pace = self._pace_of(request)
        pace.note(entry)
        pace.last = max(pace.last, self._clock.now())
        return entry


def _max_bytes(request: Request) -> int:
    """Of a body; a robots.txt may be as long as RFC 9309 says at least."""
    return max(request.site.max_page_bytes, MAX_ROBOTS_BYTES if request.kind == "robots" else 0)


def _headers(site: SitePolicy, before: Entry | None) -> Iterator[tuple[str, str]]:
    """The headers that are sent, after ``Host``."""
    yield "User-Agent", crawler_agent(site.contact)
    yield "Accept", _ACCEPT
    yield "Accept-Encoding", "gzip, br" if find_spec("brotli") else "gzip"
    if before and before.etag:
        yield "If-None-Match", before.etag
    if before and before.modified:
        yield "If-Modified-Since", before.modified


def _about(site: SitePolicy) -> dict[str, str]:
    """What the files of the archive say of themselves."""
    return {
        "operator": site.contact,
        "http-header-user-agent": crawler_agent(site.contact),
        "robots": "classic",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    }


def _restored(archive: Archive, now: float) -> dict[str, HostPace]:
    """The pace of the hosts, as a process before this one left it."""
    pace = {host: HostPace(last=ended) for host, ended in archive.index.hosts().items()}
    for entry in archive.index.of_session(archive.session):
        pace[entry.host].note(entry)
    for host, until in archive.index.pauses(now).items():
        pace[host].not_before = max(pace[host].not_before, until)
        pace[host].longest = max(pace[host].longest, until - now)
    return pace
