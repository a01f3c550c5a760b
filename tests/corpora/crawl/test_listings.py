"""Sitemaps, feeds and links of pages, compared with what Scrapy and feedparser read."""

import gzip
import time
from datetime import UTC, datetime

import feedparser
import pytest
from scrapy.utils.sitemap import Sitemap

from corpora.crawl.listings import MAX_ENTRIES, ListingError, read_links, read_listing
from tests.corpora.crawl.site_server import LISTS

ROOT = "https://bote.example"
NEWS = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><image:image><image:loc>https://bote.example/bild.jpg</image:loc></image:image>
 <loc> https://bote.example/alt.html </loc><lastmod>2026-11-20</lastmod>
 <news:news><news:publication_date>2026-11-01T08:00:00+01:00</news:publication_date>
 <news:title>Alt</news:title></news:news></url>
<url><loc>https://bote.example/ohne.html#oben</loc></url>
<url><loc>https://bote.example/neu.html?a=1&amp;b=2</loc><lastmod>2026-11-02</lastmod></url>
<url><lastmod>2026-11-02</lastmod></url>
</urlset>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>Bote</title><link>https://bote.example/</link></channel>
<item rdf:about="https://bote.example/1"><title>Eins</title><link>https://bote.example/1</link>
<dc:date>2026-11-03T10:00:00Z</dc:date></item></rdf:RDF>"""
RSS = """<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>
<item><title>A &amp; B</title><link>/1?x=1&amp;y=2</link>
<pubDate>Tue, 03 Nov 2026 10:00:00 +0100</pubDate>
<media:title>Bild</media:title></item>
<item><title>Zwei</title><guid>https://bote.example/2</guid></item>
<item><title>Drei</title><guid isPermaLink="false">tag:3</guid></item>
<item><title><![CDATA[Vier]]></title><link><![CDATA[ https://bote.example/4 ]]></link></item>
</channel></rss>"""


def urls(text, url=f"{ROOT}/liste.xml"):
    body = text if isinstance(text, bytes) else text.encode()
    return [entry.url for entry in read_listing(body, url=url).entries]


def test_a_news_sitemap_gives_pages_the_newest_first_and_those_without_a_date_last():
    listing = read_listing(NEWS.encode(), url=ROOT)

    assert [entry.url for entry in listing.entries] == [
        f"{ROOT}/neu.html?a=1&b=2",
        f"{ROOT}/alt.html",
        f"{ROOT}/ohne.html",
    ]
    assert listing.entries[1].date == datetime(2026, 11, 1, 7, tzinfo=UTC)
    assert (listing.kind, listing.entries[1].title) == ("sitemap", "Alt")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_lists_in_utf_16_are_read(encoding):
    sitemap = NEWS.replace("UTF-8", "UTF-16").replace("alt.html", "ält.html")

    assert f"{ROOT}/ält.html" in urls(f"\ufeff{sitemap}".encode(encoding))
    assert urls(f"\ufeff{ROOT}/1\r\n{ROOT}/2".encode(encoding)) == [f"{ROOT}/1", f"{ROOT}/2"]
    packed = gzip.compress(f"\ufeff{sitemap}".encode(encoding))
    assert len(urls(packed)) == 3


@pytest.mark.parametrize("path", ["/sitemaps/a.xml", "/sitemaps/b.xml.gz", "/sitemap-index.xml.gz"])
def test_sitemaps_name_what_scrapy_reads_in_them(path):
    body, _ = LISTS[path](ROOT)
    plain = gzip.decompress(body) if path.endswith(".gz") else body

    assert set(urls(body)) == {entry["loc"] for entry in Sitemap(plain)}


@pytest.mark.parametrize(
    "text", [RSS, RDF, LISTS["/feed.xml"](ROOT)[0], LISTS["/atom.xml"](ROOT)[0]]
)
def test_feeds_name_what_feedparser_reads_in_them(text):
    expected = feedparser.parse(text.encode(), response_headers={"content-location": f"{ROOT}/"})

    links = [entry.link.strip() for entry in expected.entries if "link" in entry]
    listing = read_listing(text.encode(), url=f"{ROOT}/")
    assert len(listing.entries) == len(links) > 0
    assert {entry.url for entry in listing.entries} == set(links)
    assert {e.title for e in listing.entries} <= {e.title for e in expected.entries}
    dates = {e.date.utctimetuple()[:6] for e in listing.entries if e.date}
    assert dates == {e.updated_parsed[:6] for e in expected.entries if "updated" in e} | {
        e.published_parsed[:6] for e in expected.entries if "published" in e
    }


def test_an_ampersand_that_is_not_written_as_one_is_one():
    """Not well-formed, and common; what is said to be text stays as it stands."""
    items = "<item><link>/1?x=1&y=2&amp;z=&#51;</link></item>"
    items += (
        "<item><link><![CDATA[/2?x=1&y=2&amp;z]]></link></item><item><link>/3?a&b</link></item>"
    )

    found = urls(f"<rss><channel>{items}</channel></rss>")

    assert found == [f"{ROOT}/1?x=1&y=2&z=3", f"{ROOT}/2?x=1&y=2&amp;z", f"{ROOT}/3?a&b"]


def test_texts_that_never_end_take_no_long_time():
    start = time.process_time()

    urls("<rss><channel><item><link>/1</link></item>" + "<![CDATA[&" * 300_000)

    assert time.process_time() - start < 5


def test_a_list_of_lines_is_a_sitemap():
    assert urls(f"\ufeff{ROOT}/1\n{ROOT}/2\r\n") == [f"{ROOT}/1", f"{ROOT}/2"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing here",
        b"<html><body>404</body></html>",
        b"<",
        b"\x1f\x8b broken",
        gzip.compress(bytes(60 << 20), mtime=0),
        b'<!DOCTYPE html><p>a</p><urlset xmlns="x"><url><loc>http://a/</loc></url></urlset>',
    ],
)
def test_what_is_no_list_is_an_error(body):
    with pytest.raises(ListingError):
        read_listing(body, url=ROOT)


def test_entities_of_a_list_are_not_resolved():
    bomb = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    text = f'<!DOCTYPE urlset [<!ENTITY f SYSTEM "file:///etc/passwd">{bomb}]>'
    text += f"<urlset><url><loc>{ROOT}/&f;&i;</loc></url><url><loc>{ROOT}/2</loc></url></urlset>"

    assert all(len(url) < 100 and "root" not in url for url in urls(text))


def test_a_cut_list_gives_what_came():
    assert urls(NEWS[: NEWS.index("ohne.html")]) == [f"{ROOT}/alt.html"]


@pytest.mark.parametrize(
    "behind", ["", "\n", "\n<!-- made in 0.1 s -->", "\nmade in 0.1 s", "\0<br"]
)
def test_what_a_server_writes_behind_a_list_takes_no_entry_from_it(behind):
    entries = f"<x:url><x:loc>{ROOT}/1</x:loc></x:url><x:url><x:loc>{ROOT}/2</x:loc></x:url>"

    assert urls(f'<x:urlset xmlns:x="x">{entries}</x:urlset >{behind}') == [
        f"{ROOT}/1",
        f"{ROOT}/2",
    ]


@pytest.mark.parametrize(("cut", "behind"), [(-999, b""), (-1, b""), (None, b"made in 0.1 s")])
def test_a_packed_list_gives_what_came_before_it_is_no_gzip(cut, behind):
    named = [f"{ROOT}/{number}" for number in range(50_000)]
    packed = gzip.compress("\n".join(named).encode(), mtime=0)

    found = [entry.url for entry in read_listing(packed[:cut] + behind, url=ROOT).entries]

    assert len(found) > 45_000
    assert found == named[: len(found)]


def test_entries_beyond_the_bound_are_counted():
    text = f"<urlset>{f'<url><loc>{ROOT}/a</loc></url>' * (MAX_ENTRIES + 3)}</urlset>"

    listing = read_listing(text.encode(), url=ROOT)

    assert (len(listing.entries), listing.n_beyond) == (MAX_ENTRIES, 3)


def page(text):
    return read_links(text.encode(), url=f"{ROOT}/a/b.html", content_type="text/html")


def test_links_are_absolute_once_and_of_the_web():
    found = page(
        '<a href="c.html#x">1</a><a href="/a/c.html">2</a><a href="mailto:a@b">3</a><a>4</a>'
        '<a href="http://[/">5</a><a href="javascript:x()">6</a><a href="//neu.example/ü">7</a>'
    )

    assert found.links == (f"{ROOT}/a/c.html", "https://neu.example/ü")


def test_a_base_element_moves_links():
    assert page('<base href="/neu/"><a href="c.html">1</a>').links == (f"{ROOT}/neu/c.html",)


def test_a_base_element_without_an_address_hides_none():
    html = b'<base target="_blank"><base href="/b/"><base href="/c/"><a href="1">Eins</a>'

    found = read_links(html, url="https://a.example/a/", content_type="text/html")

    assert found.links == ("https://a.example/b/1",)


def test_links_that_must_not_be_followed_are_counted():
    one = page('<a rel="nofollow noopener" href="1">1</a><a href="2">2</a>')
    all_ = page(
        '<meta name="Robots" content="noindex, nofollow"><a href="1">1</a><a href="2">2</a>'
    )

    assert (one.links, one.n_nofollow) == ((f"{ROOT}/a/2",), 1)
    assert (all_.links, all_.n_nofollow) == ((), 2)


def test_feeds_that_a_page_declares():
    found = page(
        '<link rel="alternate" type="application/rss+xml" href="/rss"><link rel="stylesheet" '
        'href="x.css"><link rel="alternate" type="application/atom+xml" href="/atom">'
    )

    assert found.feeds == (f"{ROOT}/rss", f"{ROOT}/atom")


def test_headings_know_their_links():
    found = page(
        '<h1>A</h1><h2>B <a href="b">b</a></h2><a href="c">c</a><a href="d"><h3>D</h3></a>'
    )

    assert found.headings == (("h1", ()), ("h2", ("b",)), ("h3", ()))


@pytest.mark.parametrize("tag", ["h1", "a", "div", "p"])
def test_a_deep_page_takes_no_long_time(tag):
    start = time.process_time()

    page(f'<{tag} href="x">' * 100_000)

    assert time.process_time() - start < 5


def test_a_page_that_is_no_text_is_an_error():
    with pytest.raises(ListingError):
        read_links(bytes(range(256)) * 40, url=ROOT, content_type="text/html")


@pytest.mark.parametrize("name", ["punycode", "idna", "rot13"])
def test_links_are_read_whatever_a_page_says_of_its_encoding(name):
    body = f'<meta charset="{name}"><a href="/b">Gr'.encode() + b"\xfc\xdfe</a>"

    found = read_links(body, url=f"{ROOT}/a", content_type=f"text/html; charset={name}")

    assert found.links == (f"{ROOT}/b",)
