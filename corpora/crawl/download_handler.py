"""Scrapy's download handler for http and https, which passes all requests to Onoma's fetcher.

Nothing else of Scrapy opens a connection: handlers of other schemes are off, and so are its own
robots.txt, retries, cookies, proxies, caches and consoles. Redirects are left to Scrapy: it makes a
new request for each hop, so that each one passes the fetcher.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Request, Response
from scrapy.responsetypes import responsetypes

from corpora.crawl.listings import PageLinks, SiteListing, read_links_bounded, read_listing_bounded
from corpora.crawl.tally import SiteTally
from corpora.crawl.types import PAGES, Fetched, Kind, NoAnswer, SitePolicy
from corpora.system.sandbox import TaskError

if TYPE_CHECKING:
    from corpora.crawl.fetcher import Fetcher
    from corpora.crawl.spiders import SiteFinder

T = TypeVar("T")
log = logging.getLogger(__name__)
ARCHIVED = "archived"
"""The flag of a response that was not fetched now but is from the archive."""
MAX_REDIRECTS = 5
_TOO_HARD = {name: f"reading_{name}" for name in ("timeout", "memory", "failed")}
MAX_TOO_HARD = 3
"""The number of pages and lists of a site that may fail to be read within the bounds of time and
memory; after that, no more of the site are read."""
SETTINGS: Mapping[str, object] = {
    "BOT_NAME": "onoma",
    "TWISTED_REACTOR_ENABLED": False,  # asyncio is enough; the console would need a reactor, too
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "DOWNLOAD_HANDLERS": {
        "http": "corpora.crawl.download_handler.DownloadHandler",
        "https": "corpora.crawl.download_handler.DownloadHandler",
        **dict.fromkeys(("data", "file", "ftp", "s3")),
    },
    "DOWNLOADER_MIDDLEWARES": {
        f"scrapy.downloadermiddlewares.{name}": None
        for name in (
            "offsite.OffsiteMiddleware",
            "robotstxt.RobotsTxtMiddleware",
            "httpauth.HttpAuthMiddleware",
            "downloadtimeout.DownloadTimeoutMiddleware",
            "defaultheaders.DefaultHeadersMiddleware",
            "useragent.UserAgentMiddleware",
            "retry.RetryMiddleware",
            "redirect.MetaRefreshMiddleware",
            "httpcompression.HttpCompressionMiddleware",
            "cookies.CookiesMiddleware",
            "httpproxy.HttpProxyMiddleware",
            "httpcache.HttpCacheMiddleware",
        )
    },
    "REDIRECT_MAX_TIMES": MAX_REDIRECTS,
    "CONCURRENT_REQUESTS": 2,  # of a site, whose hosts may all be one machine
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "URLLENGTH_LIMIT": 0,  # the fetcher has a limit, and counts what it refuses
    "DOWNLOAD_DELAY": 0,  # the fetcher keeps the pace: it knows the delays of robots.txt
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",  # in the order of the lists
    "DEPTH_PRIORITY": 1,
    "CONCURRENT_ITEMS": 1,  # so that finders see how many requests wait already
    "LOG_ENABLED": False,
    "STATS_DUMP": False,
    "MEMUSAGE_ENABLED": False,
    "WARN_ON_GENERATOR_RETURN_VALUE": False,
}


class FetchRefusedError(IgnoreRequest):
    """The error for a request that the fetcher refused."""

    def __init__(self, refused: NoAnswer) -> None:
        super().__init__(f"{refused.reason}: {refused.detail}")
        self.refused = refused


class ExcludedError(IgnoreRequest):
    """The error for a page that a redirect leads to and the site's row excludes."""


class Downloader:
    """An asynchronous interface of the fetcher, which blocks and so runs in threads."""

    def __init__(self, fetcher: "Fetcher", threads: Executor) -> None:
        self.fetcher, self.threads = fetcher, threads
        self.broken: Exception | None = None
        """The error after which nothing more can be fetched or kept, such as a full disk or a bug;
        None if there was none."""

    async def fetch(self, request: Request, site: SitePolicy, tally: SiteTally) -> Fetched:
        """Fetch what a finder asks for, and count the answer; raise ``FetchRefusedError``."""
        kind, steps = request.meta["kind"], request.meta["steps"]
        fetch = partial(self.fetcher.fetch, request.url, kind=kind, depth=steps, site=site)
        answer = await self._in_thread(fetch)
        tally.count(answer, kind)
        if isinstance(answer, NoAnswer):
            raise FetchRefusedError(answer)
        return answer

    async def sitemaps(self, site: SitePolicy, url: str) -> tuple[str, ...] | NoAnswer:
        """Return the sitemaps that the robots.txt of a site names, or why it is refused."""
        return await self._in_thread(partial(self.fetcher.sitemaps, url, site=site))

    async def read(
        self, response: Response, kind: Kind, finder: "SiteFinder"
    ) -> PageLinks | SiteListing | None:
        """Read the links of a page, or the entries of a list, for a finder.

        Returns None where there is nothing to read, and where reading fails; failures are counted.
        """
        is_page, url, body = kind in PAGES, response.url, response.body
        is_old_page = kind == "page" and ARCHIVED in response.flags
        is_looked_into = finder.reads_old_pages or not is_old_page
        is_html = isinstance(response, HtmlResponse) or not is_page
        if not 200 <= response.status < 300 or not is_looked_into or not is_html:
            return None
        passed_over = finder.tally.passed_over
        if sum(passed_over[reason] for reason in _TOO_HARD.values()) >= MAX_TOO_HARD:
            finder.tally.pass_over(url, "not_read")
            return None
        type = (response.headers.get("Content-Type") or b"").decode("latin-1") or None
        try:
            if is_page:
                links = partial(read_links_bounded, body, url=url, content_type=type)
                return await self._in_thread(links)
            return await self._in_thread(partial(read_listing_bounded, body, url=url))
        except TaskError as error:
            log.warning("%s: %s", url, error)
            finder.tally.pass_over(url, _TOO_HARD.get(error.reason, error.reason))
            return None

    async def _in_thread(self, do: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self.threads, do)
        except TaskError:  # the fault of the page or list that was read
            raise
        except Exception as error:
            self.broken = self.broken or error
            raise


class DownloadHandler(BaseDownloadHandler):
    """Download handler of Scrapy, called for each request."""

    async def download_request(self, request: Request) -> Response:
        """Fetch a request with the fetcher, and read what the finder will look at."""
        finder: SiteFinder = self.crawler.spider  # type: ignore[assignment]
        is_redirect, kind = "redirect_times" in request.meta, request.meta["kind"]
        if is_redirect and kind == "page" and finder.site.excludes(request.url):
            finder.tally.pass_over(request.url, "excluded")
            raise ExcludedError(request.url)
        answer = await finder.downloader.fetch(request, finder.site.policy, finder.tally)
        response = to_response(request, answer)
        request.meta["found"] = await finder.downloader.read(response, kind, finder)
        return response


def to_response(request: Request, answer: Fetched) -> Response:
    """Convert an answer to a response of Scrapy."""
    headers = Headers()
    for name, value in answer.headers:
        headers.appendlist(name, value.encode("latin-1", "replace"))  # the original bytes
    kind = responsetypes.from_args(headers=headers, url=request.url, body=answer.body[:5000])
    flags = [ARCHIVED] if answer.from_archive else []
    return kind(request.url, answer.status, headers, body=answer.body, flags=flags)
