"""Pages that attack a crawl: another process reads them, and the crawl does not wait for it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from scrapy.http import HtmlResponse, XmlResponse

from corpora.crawl import download_handler, listings
from corpora.crawl.download_handler import ARCHIVED, MAX_TOO_HARD, Downloader
from corpora.crawl.listings import (
    MAX_ATTRIBUTES,
    MAX_LINKS,
    MAX_METAS,
    read_links,
    read_links_bounded,
    read_listing,
    read_listing_bounded,
)
from corpora.crawl.tally import SiteTally
from corpora.system.sandbox import Bounds, TaskError

URL = "https://a.example/"
PAGE = b"""<html><head><meta name="robots" content="noarchive"><base href="/b/">
<link rel="alternate" type="application/rss+xml" href="/rss"></head>
<body><h2><a href="c">C</a></h2><a rel="nofollow" href="d">D</a></body></html>"""
FEED = b"""<rss><channel><item><title>A \xc3\xa4</title><link>https://a.example/1</link>
<pubDate>Mon, 02 Nov 2026 10:00:00 +0100</pubDate></item>
<item><link>https://a.example/2</link></item></channel></rss>"""


def with_attributes(n):
    """Return an element whose attributes take a parser time with the square of their number."""
    return ("<p " + " ".join(f"a{i}=1" for i in range(n)) + ">").encode()


@pytest.fixture
def short(monkeypatch):
    """Give reading half a second and little memory."""
    bounds = Bounds(seconds=0.5, megabytes=300)
    monkeypatch.setattr(listings, "PAGE_BOUNDS", bounds)
    monkeypatch.setattr(listings, "LISTING_BOUNDS", bounds)


def finder_of(**more):
    return SimpleNamespace(tally=SiteTally("a"), reads_old_pages=False, **more)


def html(body, *, name="", flags=()):
    return HtmlResponse(f"{URL}{name}", body=body, encoding="utf-8", flags=list(flags))


def read(*responses, finder, kind="page"):
    """Read responses; returns what was found, and how often the event loop had a turn meanwhile."""
    n_turns = 0

    async def turn():
        nonlocal n_turns
        while True:
            await asyncio.sleep(0.01)
            n_turns += 1

    async def read_all(threads):
        turning = asyncio.create_task(turn())
        try:
            downloader = Downloader(None, threads)
            return [await downloader.read(response, kind, finder) for response in responses]
        finally:
            turning.cancel()

    with ThreadPoolExecutor(2) as threads:
        return asyncio.run(read_all(threads)), n_turns


def test_what_is_read_elsewhere_is_what_is_read_here():
    links = read_links_bounded(PAGE, url=URL, content_type="text/html")
    feed = read_listing_bounded(FEED, url=URL)

    assert links == read_links(PAGE, url=URL, content_type="text/html")
    assert feed == read_listing(FEED, url=URL)


@pytest.mark.usefixtures("short")
def test_a_hostile_page_ends_in_bounded_time_and_the_next_is_read():
    with pytest.raises(TaskError) as slow:
        read_links_bounded(with_attributes(100_000), url=URL, content_type=None)
    with pytest.raises(TaskError) as large:
        read_links_bounded(b"<p>x" * 2_000_000, url=URL, content_type=None)

    assert slow.value.reason == "timeout"
    assert large.value.reason in {"memory", "timeout"}
    assert read_links_bounded(PAGE, url=URL, content_type=None).links


@pytest.mark.parametrize("body", [b"", b"no list", b"<html></html>"])
def test_what_is_no_list_is_said_to_be_none(body):
    with pytest.raises(TaskError) as raised:
        read_listing_bounded(body, url=URL)

    assert raised.value.reason == "broken_listing"


@pytest.mark.usefixtures("short")
def test_the_event_loop_goes_on_while_a_page_is_read():
    finder = finder_of()

    found, n_turns = read(html(with_attributes(100_000)), html(PAGE), finder=finder)

    assert found[0] is None
    assert found[1].links == ("https://a.example/b/c",)
    assert n_turns > 10
    assert finder.tally.passed_over == {"reading_timeout": 1}


@pytest.mark.usefixtures("short")
def test_of_a_site_of_such_pages_no_more_are_read():
    finder = finder_of()
    bad = [html(with_attributes(100_000), name=str(n)) for n in range(MAX_TOO_HARD)]

    found, _ = read(*bad, html(PAGE, name="x"), finder=finder)

    assert found == [None] * (MAX_TOO_HARD + 1)
    assert finder.tally.passed_over == {"reading_timeout": MAX_TOO_HARD, "not_read": 1}


def test_what_nobody_looks_into_is_not_read(monkeypatch):
    monkeypatch.setattr(download_handler, "read_links_bounded", None)
    moved = HtmlResponse(URL, status=301, body=PAGE)
    image = XmlResponse(URL, body=PAGE)

    found, _ = read(html(PAGE, flags=[ARCHIVED]), moved, image, finder=finder_of())

    assert found == [None] * 3


def test_what_judges_a_page_sees_a_bounded_part_of_it():
    attributes = " ".join(f"a{n}=1" for n in range(MAX_ATTRIBUTES + 9))
    body = f"<meta {attributes}>" * (MAX_METAS + 9) + '<h1><a href="x">x</a></h1>' * (MAX_LINKS + 9)

    found = read_links(body.encode(), url=URL, content_type=None)

    assert {len(meta) for meta in found.metas} == {MAX_ATTRIBUTES}
    assert len(found.metas) == MAX_METAS
    assert len(found.headings) == sum(len(hrefs) for _, hrefs in found.headings) == MAX_LINKS
