"""Finders of articles: the spiders of news-please, with Onoma's fetcher and some additions.

A finder is a spider of news-please, made without the HTTP requests of its constructor. Added are:
ports in addresses; Atom, and RSS with namespaces; lists of every form that ``listings.py`` reads,
packed or not; all feeds that a page declares; the right title for each item; ``nofollow``; the
patterns and dates in the site's row; and list pages, which a later session fetches again.
"""

import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from html import escape
from typing import Any
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.spidermiddlewares.httperror import HttpError

from corpora.crawl.download_handler import ARCHIVED, Downloader, ExcludedError, FetchRefusedError
from corpora.crawl.listings import ListingEntry, PageLinks, SiteListing, forbids_following
from corpora.crawl.news_please import (
    Heuristics,
    ParseCrawler,
    RecursiveCrawler,
    RecursiveSitemapCrawler,
    RssCrawler,
    SitemapCrawler,
    shipped_settings,
)
from corpora.crawl.sites import Site
from corpora.crawl.tally import SiteTally
from corpora.crawl.types import Kind, NoAnswer

USUAL_SITEMAPS = ("/sitemap.xml", "/sitemap_index.xml")
MAX_NESTED = 4
"""The most levels of sitemap indexes within each other."""
MAX_WAITING = 2
"""The most addresses that wait at once, as a multiple of ``max_pages``; further ones are only
counted."""
_LATER = -1_000
"""The priority of a sitemap, for each level of indexes above it: earlier requests come first, so
that millions of addresses need not wait in memory."""
_BOUNDS = ("bound_pages", "bound_bytes", "bound_seconds")
"""The reasons after which nothing more of a site can be fetched in this session."""
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9:_-]{0,40}")


class ArticleHeuristics(Heuristics):
    """The tests by which news-please recognizes articles.

    The tests get an outline of the page with all that they use. On the page itself they would
    serialize each heading with its content, which hostile pages can make arbitrarily slow.
    """

    def __init__(self, site: Site, crawler: type, links: Callable[[Response], PageLinks]) -> None:
        super().__init__(shipped_settings("Heuristics"), [{"url": site.url}], crawler)
        self.site, self.links = {"url": site.url}, links

    def is_article(self, response: Response, url: str) -> bool:
        """Tell whether a page is an article, as news-please decides."""
        return bool(super().is_article(self.outline(response), url))

    def is_list(self, response: Response) -> bool:
        """Tell whether a page is a list: no ``og:type`` of an article, and linked headings."""
        outline = self.outline(response)
        if self.og_type(outline, self.site):
            return False
        ratio = self.linked_headlines(outline, self.site)
        bound = float(self.cfg_heuristics["enabled_heuristics"]["linked_headlines"].lstrip("<="))
        return ratio is not True and ratio > bound

    def linked_headlines(
        self,
        response: Response,
        site_dict: dict[str, str],
        check_self: bool = False,  # noqa: FBT001, FBT002 - news-please's own
    ) -> float | bool:
        """Compute the ratio of linked headings as news-please does.

        Its method fails at a host without a dot; for such a host, every linked heading counts.
        """
        if "." not in (urlsplit(site_dict["url"]).hostname or ""):
            site_dict, check_self = {"url": "http://localhost.example/"}, False
        ratio: float | bool = super().linked_headlines(response, site_dict, check_self)
        return ratio

    def outline(self, response: Response) -> HtmlResponse:
        """Build a page from the ``meta`` elements and headings of a page, with their links."""
        links = self.links(response)
        lines = ["<html><head>"]
        for meta in links.metas:
            attributes = (f'{n}="{escape(v)}"' for n, v in meta if _ATTRIBUTE.fullmatch(n))
            lines.append(f"<meta {' '.join(attributes)}>")
        lines.append("</head><body>")
        for name, hrefs in links.headings:
            inside = "".join(f'<a href="{escape(href)}"></a>' for href in hrefs)
            lines.append(f"<{name}>{inside}</{name}>")
        body = "\n".join([*lines, "</body></html>"]).encode("utf-8", "replace")
        return HtmlResponse(response.url, body=body, encoding="utf-8")


class PageParser(ParseCrawler):
    """A parser of pages that the fetcher has already archived."""

    def __init__(self, finder: "SiteFinder", crawler: type) -> None:
        self.finder = finder
        self.heuristics = ArticleHeuristics(finder.site, crawler, self.links)
        super().__init__(self)  # as the helper, of which only the attribute heuristics is used
        extensions = shipped_settings("Crawler")["ignore_file_extensions"]
        self.no_page = re.compile(rf"\.(?:{extensions})$", re.IGNORECASE)

    def links(self, response: Response) -> PageLinks:
        """Return the links of a page, without any if the page could not be read."""
        return response.meta.get("found") or PageLinks()

    def content_type(self, response: Response) -> bool:
        """Tell whether a response is HTML; count it if it is not."""
        if isinstance(response, HtmlResponse):
            return True
        self.finder.tally.pass_over(response.url, "no_html")
        return False

    def recursive_requests(
        self, response: Response, *_: object, **__: object
    ) -> Iterator[scrapy.Request]:
        """Follow the links of a page."""
        finder, links = self.finder, self.links(response)
        directives = b",".join(response.headers.getlist("X-Robots-Tag")).decode("latin-1")
        if forbids_following(directives):
            finder.tally.passed_over["nofollow"] += len(links.links)
            links = replace(links, links=())
        finder.tally.passed_over["nofollow"] += links.n_nofollow
        finder.tally.passed_over["beyond_links"] += links.n_beyond
        for url in links.links:
            if self.no_page.search(urlsplit(url).path):
                finder.tally.pass_over(url, "file_type")
            else:
                steps = response.meta["steps"] + 1
                yield from finder.ask(url, "page", callback=finder.parse, steps=steps)

    def pass_to_pipeline_if_article(
        self, response: Response, *arguments: object, **options: object
    ) -> None:
        """Test a page that was fetched now; an archived page was tested when it was fetched."""
        if ARCHIVED not in response.flags:
            super().pass_to_pipeline_if_article(response, *arguments, **options)

    def pass_to_pipeline(self, response: Response, *_: object, **__: object) -> None:
        """Count an article; there are no pipelines."""
        self.finder.tally.add_article(response.url)


def n_waiting(crawler: Crawler) -> int:
    """Count the requests that wait in a crawler of Scrapy."""
    statistic = crawler.stats.get_value
    return int(statistic("scheduler/enqueued", 0) - statistic("scheduler/dequeued", 0))


class SiteFinder:
    """The common base of the finders: a site, its counts, and access to the fetcher."""

    reads_old_pages = False
    """Whether the finder also reads the links of pages from the archive."""
    crawler: Crawler
    """Scrapy's crawler that runs this finder."""
    parse: Callable[..., Iterable[scrapy.Request]]

    def __init__(self, site: Site, tally: SiteTally, downloader: Downloader) -> None:
        self.site, self.tally, self.downloader = site, tally, downloader
        self.original_url = self.site.url
        self.ignored_allowed_domain = self.site.name
        self.allowed_domains = [self.site.name]
        self.ignore_regex = self.ignore_file_extensions = ""
        self.log = logging.getLogger(__name__)
        self.parse_crawler = PageParser(self, type(self))
        self.helper = self
        scrapy.Spider.__init__(self)  # type: ignore[arg-type]  # news-please's makes requests

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Yield the first requests."""
        for request in await self.first():
            yield request

    async def first(self) -> Iterable[scrapy.Request]:
        """Begin at the front page."""
        return self.ask(self.site.url, "list", callback=self.parse, steps=0)

    def ask(
        self, url: str, kind: Kind, *, callback: Callable[..., object], steps: int, nested: int = 0
    ) -> Iterator[scrapy.Request]:
        """Make a request, if the site's row lets the address through."""
        if kind == "page" and not self.site.wants(url):
            self.tally.pass_over(url, "excluded")
        elif kind == "page" and n_waiting(self.crawler) >= MAX_WAITING * self.site.policy.max_pages:
            self.tally.put_off(url)
        else:
            self.tally.ask(url)
            meta = {"kind": kind, "steps": steps, "nested": nested}
            try:
                full = urljoin(self.site.url, url)  # a sitemap in robots.txt may be a path
                request = scrapy.Request(full, callback=callback, errback=self.fail, meta=meta)
            except ValueError:
                self.tally.pass_over(url, "bad_address")
                return
            request.priority = _LATER * nested
            request.dont_filter = kind == "list"
            yield request

    def fail(self, failure: Any) -> None:  # Any: Twisted's, and Scrapy adds ``request``
        """Continue after a page that cannot be had; end where nothing more can be had."""
        error = failure.value
        if isinstance(error, FetchRefusedError):
            if error.refused.reason in _BOUNDS:
                self.tally.ended = self.tally.ended or error.refused.reason
            if error.refused.reason in (*_BOUNDS, "stopped"):
                raise CloseSpider(error.refused.reason)
        elif not isinstance(error, IgnoreRequest):  # such as a full disk or a bug
            raise CloseSpider("broken")
        elif not isinstance(error, (HttpError, ExcludedError)):
            self.tally.pass_over(failure.request.url, "redirects")

    def read(self, response: Response) -> SiteListing | None:
        """Return the list that was read of a response; None where it could not be read."""
        listing: SiteListing | None = response.meta.get("found")
        if listing:
            self.tally.passed_over["beyond_entries"] += listing.n_beyond
        return listing

    def new_enough(self, entries: Iterable[ListingEntry]) -> Iterator[ListingEntry]:
        """Yield the entries that are not dated before ``since``; count the others."""
        for entry in entries:
            if self.site.since and entry.date and entry.date < self.site.since:
                self.tally.pass_over(entry.url, "older")
            else:
                yield entry


class _Sitemaps(SiteFinder):
    """A finder that begins at sitemaps."""

    async def first(self) -> Iterable[scrapy.Request]:
        """Ask for the sitemaps of the row, those of robots.txt, or the usual ones."""
        found = self.site.sitemaps or await self.downloader.sitemaps(
            self.site.policy, self.site.url
        )
        if isinstance(found, NoAnswer):
            self.tally.count(found, "robots")
            found = ()
        usual = [urljoin(self.site.url, path) for path in USUAL_SITEMAPS]
        return self._ask_sitemaps(dict.fromkeys(found or usual))

    def _ask_sitemaps(self, urls: Iterable[str], nested: int = 0) -> Iterator[scrapy.Request]:
        for url in urls:
            yield from self.ask(
                url, "sitemap", callback=self._parse_sitemap, steps=0, nested=nested
            )

    def _parse_sitemap(self, response: Response) -> Iterator[scrapy.Request]:
        listing = self.read(response)
        entries = self.new_enough(listing.entries if listing else ())
        nested = response.meta["nested"] + 1
        if listing and listing.kind == "index":
            if nested > MAX_NESTED:
                self.tally.pass_over(response.url, "nested_sitemaps")
                return
            yield from self._ask_sitemaps((entry.url for entry in entries), nested)
            return
        for entry in entries:
            self.tally.add_named(entry.url)
            yield from self.ask(entry.url, "page", callback=self.parse, steps=1)


class _Links(SiteFinder):
    """A finder that follows links."""

    reads_old_pages = True

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        """Parse a page as news-please does; ask again for a list page of an earlier session."""
        is_old_page = ARCHIVED in response.flags and response.meta["kind"] == "page"
        is_html = isinstance(response, HtmlResponse)
        if is_old_page and is_html and self.parse_crawler.heuristics.is_list(response):
            steps = response.meta["steps"]
            yield from self.ask(response.url, "list", callback=self.parse, steps=steps)
            return
        yield from super().parse(response)


class SitemapFinder(_Sitemaps, SitemapCrawler):
    """A finder of the pages that sitemaps name."""

    name = "sitemap"


class RecursiveFinder(_Links, RecursiveCrawler):
    """A finder that follows links from the front page."""

    name = "recursive"


class RecursiveSitemapFinder(_Sitemaps, _Links, RecursiveSitemapCrawler):
    """A finder of the pages that sitemaps name, which follows links from there."""

    name = "recursive_sitemap"


class FeedFinder(SiteFinder, RssCrawler):
    """A finder of the pages that feeds name."""

    name = "feed"

    async def first(self) -> Iterable[scrapy.Request]:
        """Ask for the feeds of the row, or for the front page, which may declare some."""
        return self._ask_feeds(self.site.feeds) if self.site.feeds else await super().first()

    def _ask_feeds(self, urls: Iterable[str]) -> Iterator[scrapy.Request]:
        for url in urls:
            yield from self.ask(url, "feed", callback=self.rss_parse, steps=0)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        """Ask for all feeds that a page declares."""
        if self.parse_crawler.content_type(response):
            yield from self._ask_feeds(self.parse_crawler.links(response).feeds)

    def rss_parse(self, response: Response) -> Iterator[scrapy.Request]:
        """Ask for the articles of a feed, each with its own title."""
        listing = self.read(response)
        for entry in self.new_enough(listing.entries if listing else ()):
            self.tally.add_named(entry.url)
            for request in self.ask(entry.url, "page", callback=self.article_parse, steps=1):
                request.cb_kwargs["rss_title"] = entry.title
                yield request


FINDERS: dict[str, type[SiteFinder]] = {
    finder.name: finder
    for finder in (SitemapFinder, FeedFinder, RecursiveFinder, RecursiveSitemapFinder)
}
