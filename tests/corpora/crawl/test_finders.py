"""Finders: what they take from news-please, and what they take for a list."""

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Request, XmlResponse
from scrapy.spidermiddlewares.urllength import UrlLengthMiddleware

from corpora.crawl.download_handler import ARCHIVED, SETTINGS, to_response
from corpora.crawl.listings import read_links, read_listing
from corpora.crawl.news_please import Heuristics, RssCrawler, shipped_settings
from corpora.crawl.session import crawl
from corpora.crawl.sites import read_sites
from corpora.crawl.spiders import (
    ArticleHeuristics,
    FeedFinder,
    RecursiveFinder,
    RecursiveSitemapFinder,
    SitemapFinder,
)
from corpora.crawl.tally import SiteTally
from corpora.crawl.types import Fetched
from tests.corpora.crawl.answers import HTML, serving
from tests.corpora.crawl.site_server import ARTICLES, IN_FEED, LISTS

URL = "https://www.kreisbote.example/"
SAMPLES = Path(__file__).resolve().parents[2] / "data" / "news"
LINKED = "".join(f'<h2><a href="/{n}">{n}</a></h2>' for n in range(9))
PAGES = {
    **{path.name: path.read_bytes() for path in SAMPLES.glob("*.html")},
    "article": ARTICLES[0].html.encode(),
    "front": LISTS["/"](URL)[0].encode(),
    "linked": LINKED.encode(),
    "linked elsewhere": LINKED.replace('"/', '"https://anderswo.example/').encode(),
    "linked article": f"<meta property='og:type' content='article'>{LINKED}".encode(),
    "half": LINKED.encode() + b"<h3>eins</h3>" * 9,
    "half article": b"<meta content='article' property='og:type'>"
    + LINKED.encode()
    + b"<h3>eins</h3>" * 9,
    "empty": b"",
}


def response_of(body):
    return HtmlResponse(f"{URL}seite.html", body=body, encoding="utf-8")


def ours(site=URL):
    def links(response):
        return read_links(response.body, url=response.url, content_type="text/html; charset=utf-8")

    return ArticleHeuristics(SimpleNamespace(url=site), RssCrawler, links)


@pytest.mark.parametrize("name", PAGES)
def test_an_article_is_what_news_please_takes_for_one(name):
    plain = Heuristics(shipped_settings("Heuristics"), [{"url": URL}], RssCrawler)

    response = response_of(PAGES[name])

    assert ours().is_article(response, URL) == plain.is_article(response, URL)


def test_a_list_is_a_page_whose_headings_lead_on():
    lists = {name for name, body in PAGES.items() if ours().is_list(response_of(body))}

    assert {"front", "linked", "linked elsewhere"} <= lists
    assert not lists & {
        "article",
        "linked article",
        "half",
        "half article",
        "empty",
        "bruecke.html",
    }


def finder_of(tmp_path, table, kind=RecursiveFinder):
    """Make a finder for the site of a table; its queue is always empty."""
    (tmp_path / "sites.toml").write_text(f'contact = "a@b.example"\n{table}', "utf-8")
    [site] = read_sites(tmp_path / "sites.toml")
    finder = kind(site, SiteTally(site.name), None)
    finder.crawler = SimpleNamespace(stats=SimpleNamespace(get_value=lambda *_: 0))
    return finder


def made(finder, *urls, **more):
    more = {"kind": "page", "callback": print, "steps": 1} | more
    return [r for url in urls for r in finder.ask(url, **more)]


def test_what_waits_is_bounded_and_what_is_beyond_is_counted(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"\nmax_pages = 4')
    values = {"scheduler/enqueued": 10, "scheduler/dequeued": 3}
    finder.crawler.stats.get_value = lambda name, _: values[name]

    before = made(finder, f"{URL}1")
    values["scheduler/enqueued"] = 11
    after = made(finder, f"{URL}2")

    assert (len(before), len(after)) == (1, 0)
    assert finder.tally.passed_over == {"beyond_queue": 1}


def test_what_found_no_room_counts_once_and_no_more_once_it_is_asked_for(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"\nmax_pages = 4')
    values = {"scheduler/enqueued": 1, "scheduler/dequeued": 0}
    finder.crawler.stats.get_value = lambda name, _: values[name]

    made(finder, f"{URL}1")
    values["scheduler/enqueued"] = 8
    made(finder, f"{URL}1", f"{URL}2", f"{URL}3", f"{URL}2")
    full = dict(finder.tally.passed_over)
    values["scheduler/dequeued"] = 8
    made(finder, f"{URL}2", f"{URL}3")

    assert full == {"beyond_queue": 2}
    assert finder.tally.passed_over == {}


def test_pages_that_are_not_wanted_are_counted_but_lists_are_asked_for(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"\ninclude = ["*/politik/*"]')

    pages = made(finder, f"{URL}politik/1", f"{URL}sport/1", f"{URL}sport/1")

    assert [page.url for page in pages] == [f"{URL}politik/1"]
    assert finder.tally.passed_over == {"excluded": 1}
    assert len(made(finder, URL, kind="list")) == 1


def test_what_a_sitemap_dates_too_early_is_passed_over_and_indexes_wait_for_pages(tmp_path):
    table = f'[[site]]\nurl = "{URL}"\nsince = 2026-11-02'
    finder = finder_of(tmp_path, table, kind=SitemapFinder)

    def parse(root, entry, days):
        entries = (
            f"<{entry}><loc>{URL}{d}</loc><lastmod>2026-11-{d}</lastmod></{entry}>" for d in days
        )
        body = f"<{root}>{''.join(entries)}</{root}>".encode()
        url = f"{URL}sitemap.xml"
        meta = {"nested": 0, "found": read_listing(body, url=url)}
        response = XmlResponse(url, body=body, request=Request(URL, meta=meta))
        return list(finder._parse_sitemap(response))

    pages = parse("urlset", "url", ["01", "02", "03"])
    parts = parse("sitemapindex", "sitemap", ["01", "05", "04"])

    assert [(r.url, r.meta["kind"]) for r in pages] == [(f"{URL}{d}", "page") for d in ("03", "02")]
    assert [(r.url, r.meta["kind"]) for r in parts] == [
        (f"{URL}{d}", "sitemap") for d in ("05", "04")
    ]
    assert max(r.priority for r in parts) < min(r.priority for r in pages)
    assert finder.tally.passed_over["older"] == 1


def test_indexes_in_indexes_end(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"', kind=SitemapFinder)
    body = f"<sitemapindex><sitemap><loc>{URL}a.xml</loc></sitemap></sitemapindex>".encode()

    def ask(nested):
        request = Request(URL, meta={"nested": nested, "found": read_listing(body, url=URL)})
        return list(finder._parse_sitemap(XmlResponse(URL, body=body, request=request)))

    assert [len(ask(nested)) for nested in range(6)] == [1, 1, 1, 1, 0, 0]
    assert finder.tally.passed_over["nested_sitemaps"] == 1


def test_each_article_of_a_feed_has_its_own_title(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"', kind=FeedFinder)
    body = LISTS["/feed.xml"](URL.rstrip("/"))[0].encode()

    meta = {"found": read_listing(body, url=f"{URL}feed.xml")}
    response = XmlResponse(f"{URL}feed.xml", body=body, request=Request(URL, meta=meta))
    requests = list(finder.rss_parse(response))

    titles = {request.url.removeprefix(URL): request.cb_kwargs["rss_title"] for request in requests}
    assert titles == {article.path.lstrip("/"): article.title for article in IN_FEED}


def answer(body, *, flags=(), kind="page", **headers):
    found = read_links(body, url=f"{URL}a/", content_type=None)
    request = Request(f"{URL}a/", meta={"kind": kind, "steps": 1, "found": found})
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return HtmlResponse(
        request.url,
        body=body,
        headers=headers,
        flags=list(flags),
        request=request,
        encoding="utf-8",
    )


def asked(finder, response):
    return [
        (r.url.removeprefix(URL), r.meta["kind"], r.meta["steps"])
        for r in finder.parse(response)
        if r
    ]


@pytest.mark.parametrize("kind", [RecursiveFinder, RecursiveSitemapFinder])
def test_links_of_pages_are_followed_but_not_those_to_files(tmp_path, kind):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"', kind=kind)

    requests = asked(
        finder, answer(b'<a href="1.html">1</a><a href="2.PDF">2</a><a href="3?x=4.css">3</a>')
    )

    assert requests == [("a/1.html", "page", 2), ("a/3?x=4.css", "page", 2)]
    assert finder.tally.passed_over["file_type"] == 1


def test_a_server_can_say_that_links_must_not_be_followed(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"')

    assert asked(finder, answer(b'<a href="1.html">1</a>', X_Robots_Tag="noindex, nofollow")) == []
    assert finder.tally.passed_over["nofollow"] == 1


@pytest.mark.parametrize("where", ["header", "meta"])
def test_what_is_said_of_previews_forbids_no_links(tmp_path, where):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"')
    directives = "index, max-image-preview:none, max-snippet:-1"
    header = {"X_Robots_Tag": directives} if where == "header" else {}
    meta = f'<meta name="robots" content="{directives}">' if where == "meta" else ""

    found = asked(finder, answer(f'{meta}<a href="1.html">1</a>'.encode(), **header))

    assert found == [("a/1.html", "page", 2)]


@pytest.mark.parametrize("directives", ["none", "otherbot: nofollow", "noindex,NOFOLLOW"])
def test_whoever_it_is_said_to_links_are_not_followed(tmp_path, directives):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"')

    assert asked(finder, answer(b'<a href="1.html">1</a>', X_Robots_Tag=directives)) == []


def test_sitemaps_that_robots_txt_names_by_their_path_are_asked_for(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"', kind=SitemapFinder)

    urls = [request.url for request in finder._ask_sitemaps(["/news.xml", "http://[/"])]

    assert urls == [f"{URL}news.xml"]
    assert finder.tally.passed_over["bad_address"] == 1


def test_an_address_in_a_header_is_the_bytes_that_were_sent():
    sent = "/grün".encode()
    answer = Fetched(URL, 302, (("location", sent.decode("latin-1")),), b"", from_archive=False)

    assert to_response(Request(URL), answer).headers["Location"] == sent


def test_a_page_of_links_from_the_archive_is_asked_for_again_and_an_article_is_not(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"')
    body = PAGES["linked"]

    again = asked(finder, answer(body, flags=[ARCHIVED]))

    assert again == [("a/", "list", 1)]
    for other in (
        answer(body),
        answer(body, flags=[ARCHIVED], kind="list"),
        answer(PAGES["linked article"], flags=[ARCHIVED]),
    ):
        assert [kind for _, kind, _ in asked(finder, other)] == ["page"] * 9


def test_what_was_fetched_now_is_judged_and_what_is_archived_was(tmp_path):
    finder = finder_of(tmp_path, f'[[site]]\nurl = "{URL}"', kind=SitemapFinder)

    counts = []
    for flags in ([ARCHIVED], [], []):
        list(finder.parse(answer(PAGES["article"], flags=flags)))
        counts.append(finder.tally.n_articles)

    assert counts == [0, 1, 1]


def test_a_host_without_a_dot_can_be_judged():
    site = "http://localhost:8080/"

    assert ours(site).is_article(response_of(PAGES["article"]), site)


def test_headings_in_headings_take_no_long_time():
    body = b"<meta property='og:type' content='article'>" + b"<h1><a href='/x'>" * 100_000
    start = time.process_time()

    ours().is_article(response_of(body), URL)

    assert time.process_time() - start < 5


def test_neither_databases_nor_clouds_are_loaded_and_news_please_stays_whole():
    code = (
        "import sys; import corpora.crawl.spiders\n"
        "wrong = {'psycopg2', 'pymysql', 'redis', 'elasticsearch', 'boto3', 'newsplease'}\n"
        "wrong |= {'scrapy.extensions.telnet', 'twisted.internet.reactor'}\n"
        "assert not wrong & set(sys.modules), wrong & set(sys.modules)\n"
        "from newsplease import NewsPlease\n"
        "assert NewsPlease.from_html('<title>Brücke</title>', fetch_images=False).title\n"
    )

    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_a_site_with_many_hosts_is_not_asked_at_all_of_them_at_once(tmp_path):
    """A name server may invent hosts without end, and all of them may be one machine."""

    at_once, seen = [], []

    def slow(handler):
        at_once.append(handler)
        seen.append(len(at_once))
        time.sleep(0.05)
        at_once.remove(handler)
        return 200, HTML, b"<p>"

    hosts = [f"127.0.0.{number}" for number in range(10, 22)]
    with serving({"/b": slow}, host="") as server:
        urls = [f"http://{host}:{server.server_port}/b" for host in hosts]
        links = "".join(f'<a href="{url}">b</a>' for url in urls)
        server.answers["/"] = (200, HTML, links.encode())
        table = f'contact = "a@b.example"\n[[site]]\nurl = "{server.url("/")}"\ndelay = 0\n'
        table += (
            f'allow_private = true\nfind = ["recursive"]\nhosts = {[url[7:-2] for url in urls]}\n'
        )
        (tmp_path / "sites.toml").write_text(table, "utf-8")
        sites = read_sites(tmp_path / "sites.toml")
        [tally] = crawl(sites, tmp_path / "archive", say=print).tallies

    assert tally.n_pages == 1 + len(hosts)
    assert max(seen) <= 2


def test_a_redirect_to_a_page_that_is_excluded_is_not_followed(tmp_path):
    links = b'<a href="/1">1</a><a href="/2">2</a>'
    moved = {f"/{n}": (302, {"Location": to}, b"") for n, to in ((1, "/abo/1"), (2, "/neu/2"))}
    pages = dict.fromkeys(("/abo/1", "/neu/2"), (200, HTML, b"<p>"))
    with serving({"/": (200, HTML, links)} | moved | pages) as server:
        table = f'contact = "a@b.example"\n[[site]]\nurl = "{server.url("/")}"\ndelay = 0\n'
        table += 'allow_private = true\nfind = ["recursive"]\nexclude = ["*/abo/*"]\n'
        (tmp_path / "sites.toml").write_text(table, "utf-8")
        sites = read_sites(tmp_path / "sites.toml")
        [tally] = crawl(sites, tmp_path / "archive", say=print).tallies

    assert (server.count("/1"), server.count("/neu/2"), server.count("/abo/1")) == (1, 1, 0)
    assert +tally.passed_over == {"excluded": 1}


def test_a_redirect_to_ftp_or_to_a_password_is_followed_and_shown_by_nobody(tmp_path):
    to = ("ftp://127.0.0.1:9/", "http://ada:key@127.0.0.1:9/")
    moved = {f"/{n}": (302, {"Location": to[n]}, b"") for n in (0, 1)}
    links = b'<a href="/0">0</a><a href="/1">1</a>'
    with serving({"/": (200, HTML, links)} | moved) as server:
        table = f'contact = "a@b.example"\n[[site]]\nurl = "{server.url("/")}"\ndelay = 0\n'
        (tmp_path / "sites.toml").write_text(
            f'{table}allow_private = true\nfind = ["recursive"]\n', "utf-8"
        )
        sites = read_sites(tmp_path / "sites.toml")
        [tally] = crawl(sites, tmp_path / "archive", say=print).tallies

    assert tally.refused == {"bad_url": 1}
    assert "…@127.0.0.1:9/" in tally.examples["bad_url"]
    assert tally.ended == "done"


@pytest.mark.parametrize(
    ("headers", "body", "n_pages"),
    [
        ((), b"<!doctype html><p>a", 1),
        ((("content-type", "text/html, text/html"),), b"a", 1),
        ((), b"a", 0),
        ((("content-type", "text/x-nohtml"),), b"<html>", 0),
    ],
)
def test_pages_are_counted_that_will_be_read_as_such(headers, body, n_pages):
    tally = SiteTally("a")

    tally.count(Fetched(f"{URL}1", 200, headers, body, from_archive=False), "page")

    assert tally.n_pages == n_pages


def test_no_address_is_too_long_for_scrapy_that_is_not_for_the_door():
    with pytest.raises(NotConfigured):
        UrlLengthMiddleware.from_crawler(Crawler(SitemapFinder, dict(SETTINGS)))
