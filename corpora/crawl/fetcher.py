"""The fetcher: every request of a crawl passes here, each hop of a redirect too.

A request is answered from the archive if the answer is there, and refused with a reason if it is
not allowed. Any other is made at the pace of its host; the answer is written to the archive, and
only then returned.
"""

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import cast
from urllib.parse import urljoin

from corpora.crawl.addresses import Resolver, literal, may_ask, parse_networks, resolve
from corpora.crawl.archive import Archive
from corpora.crawl.archive_index import TRANSIENT, IndexedRequest
from corpora.crawl.connection import Connections, ExchangeError
from corpora.crawl.cookies import Cookies
from corpora.crawl.pace import Clock, HostPace, SiteBounds
from corpora.crawl.reservations import MiningDecision, decide_by_headers, strictest
from corpora.crawl.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from corpora.crawl.robots import ROBOTS, STALE_S, HostRules, Hosts, Robots
from corpora.crawl.types import RULES, Fetched, Kind, NoAnswer, Reason, Request, SitePolicy
from corpora.crawl.urls import BadUrlError, UrlParts, parse_url
from corpora.system.web import AGENT, crawler_agent
from corpora.warc.http import Answer, BodyError, retry_after, unpack_body
from corpora.warc.writer import Asked, Response, refusal_record, response_record, revisit_record

UNRESERVED = (*RULES, "sitemap")
"""The kinds that are fetched even where mining is reserved: they are made for machines and hold no
text of the site."""
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
Noted = tuple[Fetched | NoAnswer, IndexedRequest | None]
"""An answer and the row of its record; the row is None if no request was made."""
KEPT_S = 24 * 3600.0
"""The seconds after which robots.txt and tdmrep.json are fetched again (RFC 9309, 2.4)."""
LASTING = (200, 301, 308, 410)
"""The statuses after which a page is never fetched again, in any session: it is there, or has moved
or gone for ever."""
_ABOUT_PACKING = (
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "x-archive-orig-transfer-encoding",
)


@contextmanager
def open_fetcher(
    folder: Path,
    *,
    session: str,
    clock: Clock | None = None,
    resolver: Resolver = resolve,
    tls: ssl.SSLContext | None = None,
) -> Iterator["Fetcher"]:
    """Open an archive, and a fetcher that writes into a session of it, a new or a resumed one.

    Raises ``FolderInUseError`` where another process works in the folder.
    """
    about = {"software": AGENT, "isPartOf": f"crawl-{session}", "format": "WARC File Format 1.1"}
    connections = Connections(resolver=resolver, tls=tls or ssl.create_default_context())
    with Archive(folder) as archive, closing(connections):
        archive.begin(session, about)
        yield Fetcher(archive, connections, clock or Clock())


class Fetcher:
    """A client that answers requests from the archive, or else asks the host.

    Safe for threads; each host gets one request at a time.
    """

    def __init__(self, archive: Archive, connections: Connections, clock: Clock) -> None:
        self._archive, self._connections, self._clock = archive, connections, clock
        self._memory = ArchivedAnswers(archive, clock.now)
        self._hosts = Hosts(self._ask_for_rules, self._memory.stale, clock.now)
        self._held: dict[str, Lock] = {}
        self._cookies = Cookies()
        self._bounds: dict[str, SiteBounds] = {}
        self.repaired = archive.repaired
        # Requests that were running when a process was killed are not in the archive. So in a
        # resumed session, any host may have been asked just now.
        self._all_asked = clock.now() if archive.is_resumed else float("-inf")
        self._pace = _restored(archive, clock.now(), all_asked=self._all_asked)

    def stop(self) -> None:
        """Stop asking; requests that wait are refused (``stopped``)."""
        self._clock.stop.set()

    def sitemaps(self, url: str, *, site: SitePolicy) -> tuple[str, ...] | NoAnswer:
        """Return the sitemaps that the robots.txt of an address names, or why it is refused."""
        target = _check(url, site)
        if isinstance(target, NoAnswer):
            return target
        rules = self._hosts.rules(target, site)
        return rules.refused or rules.robots.sitemaps

    def fetch(self, url: str, *, kind: Kind, depth: int, site: SitePolicy) -> Fetched | NoAnswer:
        """Answer from the archive, or ask the server.

        Redirects are answers, and not followed. Raises ``OSError`` where the archive cannot be
        written, ``DamagedDatasetError`` where it cannot be read.
        """
        target = _check(url, site)
        if isinstance(target, NoAnswer):
            return target
        request = Request(target, "robots" if target.path == ROBOTS else kind, depth, site)
        known = self._memory.recall(request)
        if known is not None:
            return known
        if depth > site.max_depth:
            detail = f"{site.name}: max_depth is {site.max_depth}"
            return NoAnswer(target.url, "bound_depth", detail)
        rules = self._hosts.rules(target, site)
        mining = rules.decide(target)
        refused = _forbidden(request, rules, mining)
        return refused or self._run(request, rules.robots, mining)

    def _ask_for_rules(self, request: Request, robots: Robots) -> Fetched | NoAnswer:
        """Fetch robots.txt or tdmrep.json, from this host or the one that a redirect leads to."""
        refused = _private(request.target, request.site) or _of_another_port(request)
        known = refused or self._memory.recall(request)
        return known or self._run(request, robots, MiningDecision())

    def bounds(self, site: SitePolicy) -> SiteBounds:
        """Return the counter of what a site has used in this session."""
        found = self._bounds.get(site.name)
        return found or self._bounds.setdefault(
            site.name, SiteBounds(self._archive.index.used(self._archive.session, site.name))
        )

    def _run(self, request: Request, robots: Robots, mining: MiningDecision) -> Fetched | NoAnswer:
        """Ask until there is an answer, or no more tries are left.

        ``mining`` is what is known of reservations before the request. If another thread has just
        asked, the answer comes from the archive.
        """
        target, site = request.target, request.site
        self._archive.describe(_about(site))
        with self._held.setdefault(target.authority, Lock()):
            answer = self._memory.recall(request)
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
            for attempt in range(self._memory.n_tried(target) + 1, site.tries + 1):
                if refused := self._wait(request, attempt, delay=max(site.delay, robots.delay)):
                    return refused
                asked = replace(asked, attempt=attempt, began=self._clock.now())
                answer, entry = self._once(request, asked, mining)
                if entry is None or (entry.is_final and not _asks_for_cookie(request, answer)):
                    break
        if answer is None:
            raise AssertionError("all tries were made before: it is in the memory")
        return answer

    def _pace_of(self, request: Request) -> HostPace:
        return self._pace.setdefault(request.target.authority, HostPace(last=self._all_asked))

    def _wait(self, request: Request, attempt: int, *, delay: float) -> NoAnswer | None:
        """Wait until the host may be asked; return why it may not be asked, or None."""
        site, url, host = request.site, request.target.url, self._pace_of(request)
        if why := host.why_left(patience=site.patience, max_failures=site.max_failures):
            return NoAnswer(url, "host_left", f"{request.target.authority}: {why}")
        now = self._clock.now()
        pause = site.back_off * 2 ** (attempt - 2) if attempt > 1 and host.not_before < now else 0.0
        seconds = max(host.seconds_left(now, delay=delay), pause)
        bounds = self.bounds(site)
        if reached := bounds.reached(site, ahead=seconds):
            return NoAnswer(url, *reached)
        if attempt == 1 and not bounds.take_page(site, request.kind):
            return NoAnswer(url, "bound_pages", f"{site.name}: max_pages is {site.max_pages:,}")
        if not self._clock.sleep(seconds):
            return NoAnswer(url, "stopped", "the crawl was asked to stop")
        return None

    def _once(self, request: Request, asked: Asked, mining: MiningDecision) -> Noted:
        """Ask once, and write the outcome to the archive, unless the address may not be asked."""
        before = self._memory.before(request)
        asked = replace(asked, mining=str(mining))
        try:
            response = self._get(request, before)
            mining = strictest([mining, decide_by_headers(response.headers)])
            asked = self._ended(request, replace(asked, mining=str(mining)), len(response.body))
            return self._keep(request, asked, response, before=before)
        except ExchangeError as error:
            if error.reason == "private_address":  # no request was made
                return NoAnswer(asked.url, error.reason, str(error)), None
            asked = self._ended(request, asked, error.n_bytes)
            if error.reason == "reserved":
                asked = replace(asked, mining=f"reserved; {error}")
            return self._refuse(request, error, asked=asked)

    def _ended(self, request: Request, asked: Asked, n_bytes: int) -> Asked:
        """Count the bytes that came; add them and the time that the request took to ``asked``."""
        bounds = self.bounds(request.site)
        bounds.add_bytes(n_bytes)
        seconds = max(0.0, self._clock.now() - asked.began)
        return replace(asked, seconds=seconds, n_bytes=n_bytes, elapsed=bounds.used.seconds)

    def _get(self, request: Request, before: IndexedRequest | None) -> Response:
        """Ask over an open connection, or a new one; raise ``ExchangeError``.

        With ``before``, an earlier answer, ask whether it has changed.
        """
        site, bounds = request.site, self.bounds(request.site)
        heeds_headers = site.respect_reservations and request.kind not in UNRESERVED
        most = _max_bytes(request)
        left = bounds.bytes_left(site, most)

        def max_bytes(head: Response) -> int:
            decision = decide_by_headers(head.headers)
            if decision.is_reserved and heeds_headers and 200 <= head.status < 300:
                raise ExchangeError("reserved", decision.because)
            if head.status == 304 and not before:
                raise ExchangeError("bad_answer", "304 to a request without a condition.")
            return left

        seconds = min(site.page_seconds, site.max_seconds - bounds.used.seconds)
        try:
            return self._connections.get(
                request.target,
                dict(_headers(site, before)) | self._cookie(request),
                allow=site.allow_private,
                deadline=time.monotonic() + max(0.001, seconds),
                max_bytes=max_bytes,
            )
        except ExchangeError as error:
            if error.reason == "too_large" and left < most:
                what = f"{error} max_bytes is {site.max_bytes:,}"
                raise ExchangeError("bound_bytes", what, n_bytes=error.n_bytes) from error
            raise

    def _cookie(self, request: Request) -> dict[str, str]:
        site, url = request.site, request.target.url
        cookie = self._cookies.header(site.name, url) if site.cookies else ""
        return {"Cookie": cookie} if cookie else {}

    def _keep(
        self, request: Request, asked: Asked, response: Response, *, before: IndexedRequest | None
    ) -> Noted:
        """Write an answer to the archive, and return it with its record."""
        max_bytes = _max_bytes(request)
        if request.site.cookies:
            self._cookies.keep(request.site.name, asked.url, response.headers)
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
        """Write to the archive why there is no answer, and return the refusal with its record."""
        record = refusal_record(asked, reason=error.reason, detail=str(error))
        entry = self._note(request, self._archive.add(record))
        return NoAnswer(asked.url, error.reason, str(error)), entry

    def _note(self, request: Request, entry: IndexedRequest) -> IndexedRequest:
        pace = self._pace_of(request)
        pace.note(entry)
        pace.last = max(pace.last, self._clock.now())
        return entry


def _check(url: str, site: SitePolicy) -> UrlParts | NoAnswer:
    """Parse an address, and refuse it unless it is one of the site."""
    try:
        target = parse_url(url)
    except BadUrlError as error:
        return NoAnswer(url, "bad_url", str(error))
    if refused := _private(target, site):
        return refused
    if not target.is_of(site.hosts):
        return NoAnswer(target.url, "foreign_host", f"{target.authority}, not of {site.name}")
    return target


def _private(target: UrlParts, site: SitePolicy) -> NoAnswer | None:
    """Refuse a host written as an IP address that may not be asked, before any request."""
    address = literal(target.host)
    if address and not may_ask(address, parse_networks(site.allow_private)):
        return NoAnswer(target.url, "private_address", f"{address} is not of the public internet")
    return None


def _of_another_port(request: Request) -> NoAnswer | None:
    """Refuse rules at a host that is not of the site, unless the port is 80 or 443."""
    target = request.target
    if target.port in (80, 443) or target.is_of(request.site.hosts):
        return None
    return NoAnswer(target.url, "foreign_host", f"{target.authority}: a port of another host")


def _forbidden(request: Request, rules: HostRules, mining: MiningDecision) -> NoAnswer | None:
    """Return why robots.txt or reservations forbid a request; None if they allow it."""
    url, site, robots = request.target.url, request.site, rules.robots
    if rules.refused:
        return replace(rules.refused, url=url)
    if request.kind == "robots":
        return None
    if not robots.allows(url):
        return NoAnswer(
            url, "robots", robots.source if robots.is_closed else "robots.txt: Disallow"
        )
    if robots.delay > site.max_delay:
        detail = f"robots.txt asks for {robots.delay:g} s, max_delay is {site.max_delay:g}"
        return NoAnswer(url, "crawl_delay", detail)
    if mining.is_reserved and site.respect_reservations and request.kind not in UNRESERVED:
        return NoAnswer(url, "reserved", mining.because)
    return None


def _max_bytes(request: Request) -> int:
    """Return the bound of a body, in bytes; for a robots.txt at least that of RFC 9309."""
    return max(request.site.max_page_bytes, MAX_ROBOTS_BYTES if request.kind == "robots" else 0)


def _asks_for_cookie(request: Request, answer: Fetched | NoAnswer) -> bool:
    """Tell whether an answer sets a cookie and leads to the address that was asked for."""
    if not request.site.cookies or isinstance(answer, NoAnswer) or not answer.header("set-cookie"):
        return False
    location = answer.header("location") if 300 <= answer.status < 400 else None
    try:
        target = parse_url(urljoin(request.target.url, location)) if location else None
    except (BadUrlError, ValueError):
        return False
    return target == request.target


def _headers(site: SitePolicy, before: IndexedRequest | None) -> Iterator[tuple[str, str]]:
    """Yield the headers that are sent after ``Host``."""
    yield "User-Agent", crawler_agent(site.contact)
    yield "Accept", _ACCEPT
    yield "Accept-Encoding", "gzip, br" if find_spec("brotli") else "gzip"
    if before and before.etag:
        yield "If-None-Match", before.etag
    if before and before.modified:
        yield "If-Modified-Since", before.modified


def _about(site: SitePolicy) -> dict[str, str]:
    """Return the fields on a site for the first record of archive files."""
    return {
        "operator": site.contact,
        "http-header-user-agent": crawler_agent(site.contact),
        "robots": "classic",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    }


def _restored(archive: Archive, now: float, *, all_asked: float) -> dict[str, HostPace]:
    """Restore the pace of the hosts from the archive, as the process before this one left it."""
    hosts = archive.index.hosts().items()
    pace = {host: HostPace(last=max(all_asked, ended)) for host, ended in hosts}
    for entry in archive.index.of_session(archive.session):
        pace[entry.host].note(entry)
    for host, until in archive.index.pauses(now).items():
        pace[host].not_before = max(pace[host].not_before, until)
        pace[host].longest = max(pace[host].longest, until - now)
    return pace


class ArchivedAnswers:
    """The answers of an archive.

    An answer to a request for rules never serves as a page: a redirect may have led to its URL
    before it was known whether robots.txt allows it.
    """

    def __init__(self, archive: Archive, now: Callable[[], float]) -> None:
        self._archive, self._now = archive, now

    def recall(self, request: Request) -> Fetched | NoAnswer | None:
        """Find the answer to a request; None if the host must be asked.

        Records of this session count; for a page, lasting answers of other sessions too.
        """
        kind, site = request.kind, request.site
        entry = self._newest(request.target)
        if entry is not None and _serves(entry, kind):
            is_over = kind in RULES and abs(self._now() - entry.ended) > KEPT_S
            if is_over or not (entry.is_final or entry.attempt >= site.tries):
                return None
        else:
            entry = self._answer_of(request, LASTING) if kind == "page" else None
        if entry is None:
            return None
        if entry.type == "metadata":
            reason = cast("Reason", entry.refused)  # as the fetcher wrote it
            return NoAnswer(entry.url, reason, entry.detail, from_archive=True)
        body = self._archive.find_body(entry)
        max_bytes = max(site.max_page_bytes, body.n_bytes)
        return to_fetched(self._archive.read(body), body, max_bytes=max_bytes)

    def _newest(self, target: UrlParts) -> IndexedRequest | None:
        return self._archive.index.newest(target.url, session=self._archive.session)

    def _answer_of(self, request: Request, statuses: tuple[int, ...]) -> IndexedRequest | None:
        entry = self._archive.index.newest_answer(request.target.url, statuses)
        return entry if entry and _serves(entry, request.kind) else None

    def n_tried(self, target: UrlParts) -> int:
        """Count the tries of an address in this session; 0 if it is not to be tried again."""
        entry = self._newest(target)
        return entry.attempt if entry is not None and not entry.is_final else 0

    def before(self, request: Request) -> IndexedRequest | None:
        """Find an earlier answer that a conditional request can be made for."""
        entry = self._answer_of(request, (200,))
        return entry if entry and entry.can_be_asked_whether_changed else None

    def stale(self, url: str) -> bytes | None:
        """Return the last body with status 200, if fetched or confirmed within ``STALE_S``.

        The age of a body that is dated in the future, by a clock that was fast, is not known.
        """
        entry = self._archive.index.newest_answer(url, (200,))
        if entry is None:
            return None
        last = max(entry.ended, self._archive.index.confirmed(url))
        if abs(self._now() - last) > STALE_S:
            return None
        try:
            return unpack_body(self._archive.read(entry), max_bytes=1 << 24)
        except BodyError:
            return None


def _serves(entry: IndexedRequest, kind: Kind) -> bool:
    return kind in RULES or entry.kind not in RULES


def to_fetched(answer: Answer, entry: IndexedRequest, *, max_bytes: int) -> Fetched | NoAnswer:
    """Convert an answer of the archive to what the fetcher returns."""
    try:
        return replace(fetched(answer, entry.url, max_bytes=max_bytes), from_archive=True)
    except BodyError as error:
        return NoAnswer(entry.url, "too_large", str(error), from_archive=True)


def fetched(answer: Answer, url: str, *, max_bytes: int) -> Fetched:
    """Unpack an answer; raise ``BodyError``."""
    body = unpack_body(answer, max_bytes=max_bytes)
    headers = tuple(pair for pair in answer.headers if pair[0] not in _ABOUT_PACKING)
    return Fetched(url, answer.status, headers, body, from_archive=False)
