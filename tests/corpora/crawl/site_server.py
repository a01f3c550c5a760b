"""A small news portal on the loopback interface, with everything that real ones do to crawlers.

``PORTAL`` says which pages there are; the server answers and writes down every request. What a
crawl may ask for is said in ``test_crawl.py``, independently of the crawler.
"""

import gzip
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

N_ARTICLES, N_DOUBLES = 90, 10
CRAWL_DELAY = 0.01
N_PLAIN = 12
BEGAN = datetime(2026, 11, 1, 6, 0, tzinfo=UTC)
_WORDS = """
Rathaus Brücke Verein Gemeinde Schule Bahnhof Straße Theater Museum Halle Markt Fluss Kirche Garten
Werkstatt Feuerwehr Bibliothek Haushalt Antrag Sitzung Ausschuss Bürger Besucher Handwerker Lehrerin
Bürgermeisterin Förster Landwirt Bäckerei Mühle Hafen Wald Wiese Radweg Turm Brunnen Denkmal Chor
Orchester Ausstellung Sammlung Umbau Neubau Sanierung Eröffnung Sperrung Umleitung Ernte Wetter
Sturm Hochwasser Winter Frühjahr Sommer Herbst
Woche Monat Vormittag Abend Wochenende Jubiläum Festzug
"""
_VERBS = """
eröffnet erneuert besichtigt beschließt verschiebt begrüßt feiert plant prüft sperrt fördert sammelt
zeigt baut saniert findet verliert kauft verkauft betreut erforscht beklagt lobt bezahlt vermietet
"""
_LINKS = """
gemeinsam mit dem neben der trotz dem wegen der nach dem vor der während der anstelle der hinter dem
"""
_PAGE = """<!DOCTYPE html>
<html lang="de"><head><meta charset="utf-8"><title>{title} - Tallander Bote</title>
<meta property="og:type" content="{type}"><meta property="og:title" content="{title}">
{head}</head>
<body><nav><a href="/">Start</a> <a href="/archiv/1">Archiv</a></nav>
<{tag}><h1>{title}</h1>
{body}
</{tag}><footer><a href="/impressum.html">Impressum</a></footer></body></html>
"""


@dataclass(frozen=True)
class Article:
    """A page of the portal that is an article."""

    path: str
    title: str
    paragraphs: tuple[str, ...]
    date: datetime

    @property
    def html(self) -> str:
        """The page."""
        meta = f'<meta property="article:published_time" content="{self.date.isoformat()}">'
        body = "\n".join(f"<p>{paragraph}</p>" for paragraph in self.paragraphs)
        return _PAGE.format(title=self.title, type="article", head=meta, tag="article", body=body)


def _paragraph(rng: random.Random) -> str:
    def sentence() -> str:
        subject, object_, other = rng.sample(_WORDS.split(), 3)
        verb, link = rng.choice(_VERBS.split()), rng.choice(_LINKS.split())
        number = rng.randrange(100, 10_000)
        return f"Das {subject} {verb} {link} die {object_} {number} und {other}."

    return " ".join(sentence() for _ in range(6))


def _articles() -> list[Article]:
    rng = random.Random(8)
    articles = []
    for number in range(N_ARTICLES):
        title = f"{' '.join(rng.sample(_WORDS.split(), 3))} {number}"
        paragraphs = tuple(_paragraph(rng) for _ in range(4))
        date = BEGAN + timedelta(hours=number)
        articles.append(Article(f"/artikel/{number:03d}.html", title, paragraphs, date))
    for number in range(N_DOUBLES):  # later, with one word of about two hundred changed
        first = articles[number * 7]
        changed = first.paragraphs[0].replace(" und ", " sowie ", 1)
        paragraphs = (changed, *first.paragraphs[1:])
        date = BEGAN + timedelta(days=20, hours=number)
        articles.append(Article(f"/agentur/{number:03d}.html", first.title, paragraphs, date))
    return articles


ARTICLES = _articles()
IN_SITEMAP_A, IN_SITEMAP_B = ARTICLES[:40], ARTICLES[40:60]
IN_FEED, IN_ATOM, BY_LINK = ARTICLES[57:65], ARTICLES[65:70], ARTICLES[70:]
BY_PATH = {article.path: article for article in ARTICLES}
DISALLOWED = tuple(f"/intern/{n}.html" for n in range(3))
FOR_NO_AI = ("/ki/1.html", "/ki/2.html")
IN_TDMREP = ("/premium/1.html",)
NO_AI_HEADER = "/noai.html"
TROUBLE = {
    "missing": "/fehlt.html",
    "broken": "/kaputt.html",
    "busy": "/besetzt.html",
    "endless": "/endlos.html",
    "huge": "/riesig.html",
    "bomb": "/bombe.html",
    "moved": "/umgezogen.html",
    "private": "/zum-nachbarn.html",
    "foreign": "/fort.html",
    "loop": "/kreis.html",
}
ROBOTS = """User-agent: *
Disallow: /intern/
Crawl-delay: {delay}

User-agent: GPTBot
Disallow: /ki/

Sitemap: {root}/sitemap-index.xml.gz
"""


@dataclass
class Asked:
    """A request that came."""

    at: float
    """Seconds of the monotonic clock."""
    path: str
    agent: str
    is_conditional: bool
    n_others: int
    """Requests that had no answer yet at the time."""
    status: int = 0


@dataclass
class Portal:
    """A server, and what it was asked."""

    root: str
    asked: list[Asked] = field(default_factory=list)
    n_active: int = 0
    neighbour: str = ""
    """Where a page redirects to: a server at an address that nobody may ask."""

    @property
    def host(self) -> str:
        """With its port."""
        return self.root.removeprefix("http://")

    def paths(self) -> Counter[str]:
        """Count the requests for each path."""
        return Counter(asked.path for asked in self.asked)


@contextmanager
def serve() -> Iterator[dict[str, Portal]]:
    """Serve the portal, two plain sites, and a neighbour at another address, at free ports."""
    sites = {"portal": _Handler, "plain": _Plain, "bounded": _Plain, "neighbour": _Plain}
    servers, portals = [], {}
    for name, handler in sites.items():
        server = _Server(("127.0.0.2" if name == "neighbour" else "127.0.0.1", 0), handler)
        host, port = server.server_address
        portals[name] = server.portal = Portal(f"http://{host}:{port}")
        servers.append(server)
    portals["portal"].neighbour = portals["neighbour"].root
    threads = [threading.Thread(target=server.serve_forever, args=(0.02,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield portals
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    portal: Portal

    def handle_error(self, *_: object) -> None:
        """Ignore clients that leave: tests kill them."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        portal = self.server.portal
        is_conditional = "If-None-Match" in self.headers or "If-Modified-Since" in self.headers
        agent = self.headers.get("User-Agent", "")
        self.asked = Asked(time.monotonic(), self.path, agent, is_conditional, portal.n_active)
        portal.asked.append(self.asked)
        portal.n_active += 1
        self._answer(portal)

    def _answer(self, portal: Portal) -> None:
        path = self.path
        if path in BY_PATH:
            self._send(BY_PATH[path].html, packed=path.endswith("0.html"))
        elif path == "/robots.txt":
            self._send(ROBOTS.format(root=portal.root, delay=CRAWL_DELAY), type="text/plain")
        elif path == "/.well-known/tdmrep.json":
            rules = [{"location": "/premium/*", "tdm-reservation": 1}]
            self._send(json.dumps(rules), type="application/json")
        elif path in LISTS:
            data, type = LISTS[path](portal.root)
            self._send(data, type=type, tag=f'"{path}"')
        elif path == NO_AI_HEADER:
            self._send(_PAGE.format(**_EXTRA), **{"X-Robots-Tag": "noai"})
        elif path in _redirects(portal):
            self._send("", status=301, Location=_redirects(portal)[path])
        elif path in (*DISALLOWED, *FOR_NO_AI, *IN_TDMREP, "/impressum.html"):
            self._send(_PAGE.format(**_EXTRA))
        else:
            self._trouble(is_first=portal.paths()[path] == 1)

    def _trouble(self, *, is_first: bool) -> None:
        trouble = {path: name for name, path in TROUBLE.items()}.get(self.path)
        if trouble == "broken":
            self._send("kaputt", status=500)
        elif trouble == "busy" and is_first:
            self._send("besetzt", status=429, **{"Retry-After": "1"})
        elif trouble == "busy":
            self._send(_PAGE.format(**_EXTRA))
        elif trouble == "endless":
            self._drip()
        elif trouble == "huge":
            self._send("<html>" + "<p>viel</p>" * 40_000 + "</html>")
        elif trouble == "bomb":
            self._send(_BOMB, **{"Content-Encoding": "gzip"})
        else:
            self._send("nichts", status=404)

    def _send(
        self,
        text: str | bytes,
        *,
        status: int = 200,
        type: str = "text/html; charset=utf-8",
        tag: str = "",
        packed: bool = False,
        **headers: str,
    ) -> None:
        if tag and self.headers.get("If-None-Match") == tag:
            status, text = 304, b""
        body = text.encode() if isinstance(text, str) else text
        if packed and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, mtime=0), "gzip"
        self.asked.status = status
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        if tag:
            self.send_header("ETag", tag)
        for name, value in headers.items():
            self.send_header(name, value)
        self.server.portal.n_active -= 1  # before: whoever has the answer may ask again
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        self.asked.status = 200
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Connection", "close")
        self.end_headers()
        self.server.portal.n_active -= 1
        for _ in range(300):
            self.wfile.write(b"<p>")
            self.wfile.flush()
            time.sleep(0.05)
        self.close_connection = True


class _Plain(_Handler):
    """A site without robots.txt, sitemaps and feeds: a front page and a ring of short ones."""

    def _answer(self, _: Portal) -> None:
        number = {"/": 0, **{f"/seite/{n}": n for n in range(N_PLAIN)}}.get(self.path)
        if number is None:
            self._send("nichts", status=404)
            return
        others = range(1, N_PLAIN) if number == 0 else (number + 1, number + 2)
        links = "".join(f'<p><a href="/seite/{n % N_PLAIN}">Seite</a></p>' for n in others)
        self._send(f"<html><title>Seite {number}</title><body>{links}</body></html>")


_EXTRA = {
    "title": "Auskunft der Redaktion",
    "type": "website",
    "head": "",
    "tag": "div",
    "body": "<p>Kurz.</p>",
}


_BOMB = gzip.compress(b"<html>" + b" " * 3_000_000, mtime=0)  # before anyone waits for it


def _redirects(portal: Portal) -> dict[str, str]:
    return {
        TROUBLE["moved"]: ARTICLES[3].path,
        TROUBLE["private"]: f"{portal.neighbour}/seite/1",
        TROUBLE["foreign"]: "http://anderswo.example/",
        TROUBLE["loop"]: TROUBLE["loop"],
    }


def _front(root: str) -> tuple[str, str]:
    head = (
        '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
        '<link rel="alternate" type="application/atom+xml" href="/atom.xml">'
    )
    links = "".join(f'<h2><a href="{a.path}">{a.title}</a></h2>' for a in ARTICLES[:8])
    links += f'<a href="/bild.jpg">Bild</a><a href="mailto:x@example.org">Post</a><a href="{root}">'
    return _PAGE.format(
        title="Tallander Bote", type="website", head=head, tag="main", body=links
    ), "text/html; charset=utf-8"


def _archive_page(articles: list[Article], after: str) -> tuple[str, str]:
    links = "".join(f'<h2><a href="{a.path}#top">{a.title}</a></h2>' for a in articles)
    links += f'<a href="{after}">weiter</a><a href="http://anderswo.example/">anderswo</a>'
    return _PAGE.format(
        title=f"Archiv bis {after}", type="website", head="", tag="main", body=links
    ), "text/html; charset=utf-8"


def _index(root: str) -> tuple[bytes, str]:
    parts = "".join(
        f"<sitemap><loc>{root}{path}</loc></sitemap>"
        for path in ("/sitemaps/a.xml", "/sitemaps/b.xml.gz", "/sitemaps/kaputt.xml")
    )
    xml = (
        f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{parts}</sitemapindex>'
    )
    return gzip.compress(xml.encode(), mtime=0), "application/gzip"


def _sitemap(root: str, articles: list[Article], more: tuple[str, ...] = ()) -> bytes:
    urls = "".join(
        f"<url><loc>{root}{a.path}</loc><news:news><news:publication_date>{a.date.isoformat()}"
        f"</news:publication_date></news:news></url>"
        for a in articles
    )
    urls += "".join(f"<url><loc>{root}{path}</loc></url>" for path in more)
    return (
        '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">{urls}</urlset>'
    ).encode()


def _feed(root: str) -> str:
    items = "".join(
        f"<item><title><![CDATA[{a.title}]]></title><link><![CDATA[{root}{a.path}?quelle=rss]]>"
        f"</link><pubDate>{format_datetime(a.date)}</pubDate></item>".replace("?quelle=rss", "")
        for a in IN_FEED
    )
    return (
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Bote</title>'
        f'<atom:link rel="self" href="{root}/feed.xml"/><link>{root}/</link>{items}</channel></rss>'
    )


def _atom() -> str:
    entries = "".join(
        f'<entry><title>{a.title}</title><link rel="self" href="/atom/{n}"/><link href="{a.path}"/>'
        f"<updated>{a.date.isoformat()}</updated></entry>"
        for n, a in enumerate(IN_ATOM)
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Bote</title>{entries}</feed>'


_MORE = (*DISALLOWED, *FOR_NO_AI, *IN_TDMREP, NO_AI_HEADER, *TROUBLE.values())
LISTS = {
    "/": _front,
    "/archiv/1": lambda _: _archive_page(BY_LINK[:15], "/archiv/2"),
    "/archiv/2": lambda _: _archive_page(BY_LINK[15:], "/archiv/1"),
    "/sitemap-index.xml.gz": _index,
    "/sitemaps/a.xml": lambda root: (_sitemap(root, IN_SITEMAP_A, _MORE), "text/xml"),
    "/sitemaps/b.xml.gz": lambda root: (
        gzip.compress(_sitemap(root, IN_SITEMAP_B), mtime=0),
        "application/octet-stream",
    ),
    "/sitemaps/kaputt.xml": lambda _: ("keine Liste", "text/xml"),
    "/feed.xml": lambda root: (_feed(root), "application/rss+xml"),
    "/atom.xml": lambda _: (_atom(), "application/atom+xml"),
}
