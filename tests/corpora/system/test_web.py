"""Addresses that are asked: http and https alone, no passwords, redirects too."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.error import HTTPError

import pytest

from corpora.errors import UsageError
from corpora.system.arguments import fail
from corpora.system.web import check_address, check_contact, opener


@pytest.fixture
def redirecting(monkeypatch):
    """Start a server that leads from ``/?ADDRESS`` to the address; returns its own."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/?"))
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "target", ["ftp://127.0.0.1:9/", "file:///etc/passwd", "http://ada:key@127.0.0.1:9/"]
)
def test_a_redirect_to_what_is_not_asked_is_refused_at_once(target, redirecting):
    with pytest.raises(HTTPError, match=r"302: (?!Found)|not allowed") as refused:
        opener().open(f"{redirecting}/?{target}", timeout=10)

    refused.value.close()
    assert "key" not in str(refused.value)


@pytest.mark.parametrize(
    "address", ["http://ada:key@a.example", "ftp://ada:key@a.example", "http://ada:key@a.example:x"]
)
def test_an_address_with_a_password_is_refused_without_showing_it(address):
    with pytest.raises(UsageError, match=r"^--mirror [a-z]+://…@") as refused:
        check_address(address, option="mirror")

    assert "key" not in str(refused.value)


def test_no_error_message_shows_a_password(capsys):
    assert fail("HEAD http://ada:k@y@a.example/b@c: refused", status=1) == 1

    assert "HEAD http://…@a.example/b@c: refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    "contact", ["ada", "ada@", "ftp://ada.example", "a b@c", "", "é@a.example"]
)
def test_who_cannot_be_reached_sends_no_request(contact):
    with pytest.raises(UsageError, match=r"--contact .* must be your address"):
        check_contact(contact, name="--contact")


@pytest.mark.parametrize("contact", ["ada@a.example", "https://a.example/bot"])
def test_who_can_be_reached_may_ask(contact):
    check_contact(contact, name="--contact")
