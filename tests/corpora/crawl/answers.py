"""A server on the loopback interface that answers as a test says, and writes down every request."""

import ssl
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from corpora.crawl.fetcher import open_fetcher
from corpora.crawl.pace import Clock
from corpora.crawl.types import NoAnswer, SitePolicy
from corpora.news.pages import FetchedPage, Revisit, read_pages
from corpora.warc.archives import read_archive

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = (200, HTML, b"<html><body>Ein Artikel</body></html>")
RULES = ["/robots.txt", "/.well-known/tdmrep.json"]


class Server(ThreadingHTTPServer):
    """``answers``: path to (status, headers, body), to a list of these, or to what makes one."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, answers, host):
        super().__init__((host, 0), _Handler)
        self.answers = answers
        self.requests = []
        self.n_open = self.most_open = 0
        self.lock = threading.Lock()

    @property
    def paths(self):
        return [path for _, path, _ in self.requests]

    @property
    def authority(self):
        return f"127.0.0.1:{self.server_port}"

    def url(self, path):
        return f"http://{self.authority}{path}"

    def count(self, path):
        return self.paths.count(path)

    def handle_error(self, request, client_address):
        """Ignore clients that leave."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else headers and body come 40 ms apart
    timeout = 5

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.n_open += 1
            self.server.most_open = max(self.server.most_open, self.server.n_open)

    def finish(self):
        with self.server.lock:
            self.server.n_open -= 1
        super().finish()

    def do_GET(self):
        self.server.requests.append((time.monotonic(), self.path, self.headers))
        answer = self.server.answers.get(self.path, (404, {}, b"not here"))
        if isinstance(answer, list):
            answer = answer[min(self.server.count(self.path), len(answer)) - 1]
        if callable(answer):
            answer = answer(self)
        if answer is not None:
            self.send(*answer)

    def send(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304 and "Transfer-Encoding" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def serving(answers, *, certificate=None, host="127.0.0.1"):
    server = Server(answers, host)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class FakeClock(Clock):
    """Waits in no time, and remembers how long it would have been."""

    def __init__(self, start=1_795_000_000.0):
        self.time = start
        self.waits = []
        super().__init__(now=lambda: self.time, wait=self._wait)

    def _wait(self, seconds):
        self.waits.append(seconds)
        self.time += seconds


def policy(server, **changed):
    """Return the policy of a site that may be asked quickly."""
    values = {
        "name": "test",
        "hosts": (server.authority,),
        "contact": "crawl@onoma.example",
        "delay": 0.0,
        "back_off": 0.0,
        "page_seconds": 5.0,
        "allow_private": ("127.0.0.1",),
    }
    return SitePolicy(**values | changed)


class Crawl:
    """A fetcher, a server and a site."""

    def __init__(self, fetcher, server, site):
        self.fetcher, self.server, self.site = fetcher, server, site

    def get(self, path, *, kind="page", depth=1):
        url = path if "://" in path else self.server.url(path)
        return self.fetcher.fetch(url, kind=kind, depth=depth, site=self.site)


@contextmanager
def crawling(folder, server, *, session="s1", clock=None, resolver=None, tls=None, **changed):
    more = {name: value for name, value in (("resolver", resolver), ("tls", tls)) if value}
    with open_fetcher(folder, session=session, clock=clock or FakeClock(), **more) as fetcher:
        yield Crawl(fetcher, server, policy(server, **changed))


def robots(text):
    return (200, {"Content-Type": "text/plain"}, text.encode())


def records(folder):
    return [
        record
        for path in sorted(folder.glob("*.warc.gz"))
        for record in read_archive(path, max_block=1 << 20)
    ]


def pages(folder):
    return [
        page
        for path in sorted(folder.glob("*.warc.gz"))
        for page in read_pages(path, source=path.name, max_bytes=1 << 20)
        if isinstance(page, FetchedPage | Revisit)
    ]


def is_refused(answer, reason):
    return isinstance(answer, NoAnswer) and answer.reason == reason
