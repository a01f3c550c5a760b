"""Servers that send too much, too little or nonsense, or lead to private addresses."""

import gzip
import ssl
import time
import zlib

import brotli
import pytest

from corpora.crawl.pace import Clock
from tests.corpora.crawl.answers import (
    HTML,
    PAGE,
    RULES,
    crawling,
    is_refused,
    pages,
    records,
    robots,
    serving,
)


def test_the_robots_txt_of_a_host_may_not_lead_into_the_private_net(tmp_path):
    with serving({"/robots.txt": robots("User-agent: *\nAllow: /\n")}) as inner:
        away = {"Location": f"http://127.0.0.2:{inner.server_port}/robots.txt"}
        answers = {"/robots.txt": (302, away, b""), "/a": PAGE}
        with serving(answers) as server, crawling(tmp_path, server) as crawl:
            assert is_refused(crawl.get("/a"), "private_address")

        assert not inner.requests


PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "identity": lambda body: body,
}


@pytest.mark.parametrize("coding", PACKERS)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_is_handed_on_unpacked_and_kept_as_it_came(tmp_path, coding, is_chunked):
    body = b"<html>" + b"Wort und noch ein Wort. " * 200
    packed = PACKERS[coding](body)
    headers = HTML | {"Content-Encoding": coding, "ETag": '"1"'}
    sent = packed
    if is_chunked:
        headers |= {"Transfer-Encoding": "chunked"}
        sent = b"5;x=y\r\n" + packed[:5] + f"\r\n{len(packed) - 5:X}\r\n".encode() + packed[5:]
        sent += b"\r\n0\r\nTrailer: x\r\n\r\n"
    with serving({"/a": (200, headers, sent)}) as server, crawling(tmp_path, server) as crawl:
        first, again = crawl.get("/a"), crawl.get("/a")

    assert first.body == again.body == body
    assert first.headers == again.headers
    assert first.header("content-encoding") is None
    assert records(tmp_path)[-1].block.endswith(b"\r\n\r\n" + packed)
    assert pages(tmp_path)[0].body == body


def endless(handler):
    handler.send_response_only(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"<p>weiter</p>")
        handler.wfile.flush()
        time.sleep(0.02)


def endless_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X: y\r\n"[: 1 + int(time.time() * 50) % 6])
        handler.wfile.flush()
        time.sleep(0.02)


def silent(handler):
    handler.rfile.read()  # until the client closes the connection


@pytest.mark.parametrize("trick", [endless, endless_headers, silent])
def test_a_page_that_never_ends_is_ended_once_and_for_all(tmp_path, trick):
    with serving({"/a": trick, "/b": PAGE}) as server:
        with crawling(tmp_path, server, page_seconds=1, clock=Clock()) as crawl:
            answer = crawl.get("/a")  # all tricks go on until it is given up
            assert answer.reason in {"timeout", "bad_answer"}
            assert crawl.get("/b").status == 200
        with crawling(tmp_path, server) as crawl:
            again = crawl.get("/a")
        assert (again.reason, again.from_archive) == (answer.reason, True)

    assert server.count("/a") == 1
    assert [page.url[-2:] for page in pages(tmp_path)] == ["/b"]


def more_than_announced(handler):
    handler.send_response_only(200)
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b"x" * 1000)


TOO_LARGE = {
    "announced": (200, HTML, b"x" * 60_001),
    "unannounced": more_than_announced,
    "unpacked": (200, HTML | {"Content-Encoding": "gzip"}, gzip.compress(bytes(60_001))),
}


@pytest.mark.parametrize("how", TOO_LARGE)
def test_a_page_that_is_too_large_is_refused_and_not_kept(tmp_path, how):
    with serving({"/a": TOO_LARGE[how]}) as server:
        for _ in range(2):
            with crawling(tmp_path, server, max_page_bytes=60_000) as crawl:
                assert is_refused(crawl.get("/a"), "too_large")

    assert server.count("/a") == 1
    assert not pages(tmp_path)


def test_a_bomb_is_no_page(tmp_path):
    bomb = gzip.compress(bytes(3 << 20))
    answers = {"/a": (200, HTML | {"Content-Encoding": "gzip"}, bomb)}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/a"), "too_large")


def cut_short(handler, header=("Content-Length", "100"), begin=b""):
    handler.send_response_only(200)
    handler.send_header(*header)
    handler.end_headers()
    handler.wfile.write(begin + b"<html>half")
    handler.close_connection = True


def cut_in_a_chunk(handler):
    cut_short(handler, ("Transfer-Encoding", "chunked"), b"64\r\n")


def hung_up(handler):
    handler.close_connection = True


@pytest.mark.parametrize("trick", [cut_short, cut_in_a_chunk, hung_up])
def test_half_a_page_is_none_and_is_tried_again(tmp_path, trick):
    with serving({"/a": [trick, trick, PAGE], "/b": trick}) as server:
        with crawling(tmp_path, server) as crawl:
            assert crawl.get("/a").body == PAGE[2]
            assert is_refused(crawl.get("/b"), "host_down")
        assert (server.count("/a"), server.count("/b")) == (3, 3)
        with crawling(tmp_path, server) as crawl:
            assert is_refused(crawl.get("/b"), "host_down")
        assert server.count("/b") == 3

    assert len(pages(tmp_path)) == 1


def half_packed(_):
    return 200, HTML | {"Content-Encoding": "gzip"}, gzip.compress(b"<html>x" * 999)[:-20]


def no_http(handler):
    handler.wfile.write(b"\x00\x01\x02 what is this\r\n\r\n")
    handler.close_connection = True


def strange_coding(_):
    return 200, HTML | {"Transfer-Encoding": "gzip, chunked"}, b"0\r\n\r\n"


def unasked(_):
    return 304, {}, b""


@pytest.mark.parametrize("trick", [half_packed, no_http, strange_coding, unasked])
def test_what_cannot_be_read_is_refused(tmp_path, trick):
    with serving({"/a": trick}) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/a"), "bad_answer")

    assert not pages(tmp_path)


def test_redirects_are_answers_and_their_targets_are_judged_like_any_address(tmp_path):
    targets = ["http://127.0.0.2:{port}/x", "http://169.254.169.254/", "http://[::1]:{port}/x"]
    with serving({}) as server, crawling(tmp_path, server) as crawl:
        for number, target in enumerate(targets):
            location = target.format(port=server.server_port)
            server.answers[f"/{number}"] = (302, {"Location": location}, b"")
            answer = crawl.get(f"/{number}")
            assert answer.status == 302
            assert is_refused(crawl.get(answer.header("location")), "private_address")
        assert is_refused(crawl.get("http://other.example/"), "foreign_host")
        assert is_refused(crawl.get("http://user@127.0.0.1/"), "bad_url")

    assert not server.count("/x")


@pytest.mark.parametrize("found", [["127.0.0.2"], ["127.0.0.1", "10.0.0.1"], ["::ffff:127.0.0.2"]])
def test_a_name_of_the_site_that_leads_to_a_private_address_is_refused(tmp_path, found):
    with serving({"/a": PAGE}) as server:
        name = f"inner.example:{server.server_port}"
        with crawling(tmp_path, server, hosts=(name,), resolver=lambda *_: found) as crawl:
            assert is_refused(crawl.get(f"http://{name}/a"), "private_address")

    assert not server.requests


def test_a_name_is_resolved_once_a_connection_so_that_it_cannot_change_in_between(tmp_path):
    asked = []

    def rebinding(host, _):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with serving({"/a": PAGE, "/b": hung_up, "/c": PAGE}) as server:
        name = f"rebind.example:{server.server_port}"
        with crawling(tmp_path, server, hosts=(name,), resolver=rebinding, tries=1) as crawl:
            assert crawl.get(f"http://{name}/a").status == 200
            assert asked == ["rebind.example"]
            assert is_refused(crawl.get(f"http://{name}/b"), "host_down")
            assert is_refused(crawl.get(f"http://{name}/c"), "private_address")

    assert not server.count("/c")
    assert {headers["Host"] for *_, headers in server.requests} == {name}
    assert len(asked) == 2


def make_certificate(path, name):
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(encoding, form, serialization.NoEncryption())
    path.write_bytes(secret + certificate.public_bytes(encoding))


@pytest.mark.parametrize(("name", "is_good"), [("good.example", True), ("other.example", False)])
def test_tls_is_spoken_with_the_name_and_not_with_the_address(tmp_path, name, is_good):
    make_certificate(tmp_path / "server.pem", "good.example")
    context = ssl.create_default_context(cafile=tmp_path / "server.pem")
    with serving({"/a": PAGE}, certificate=tmp_path / "server.pem") as server:
        there = f"{name}:{server.server_port}"
        with crawling(
            tmp_path, server, hosts=(there,), resolver=lambda *_: ["127.0.0.1"], tls=context
        ) as crawl:
            answer = crawl.get(f"https://{there}/a")

    assert answer.status == 200 if is_good else is_refused(answer, "certificate")


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_tls_stream_without_a_length_is_whole_only_if_tls_ends_it(tmp_path, is_cut):
    def answer(handler):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Teil")
        handler.close_connection = True
        if not is_cut:
            handler.connection.unwrap()

    make_certificate(tmp_path / "server.pem", "good.example")
    context = ssl.create_default_context(cafile=tmp_path / "server.pem")
    with serving({"/a": answer}, certificate=tmp_path / "server.pem") as server:
        there = f"good.example:{server.server_port}"
        found = {"hosts": (there,), "resolver": lambda *_: ["127.0.0.1"], "tls": context}
        with crawling(tmp_path, server, **found) as crawl:
            got = crawl.get(f"https://{there}/a")

    assert is_refused(got, "host_down") if is_cut else got.body == b"<html>Teil"
    assert len(pages(tmp_path)) == (not is_cut)


def test_proxies_of_the_environment_are_not_used(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving({"/a": PAGE}) as server, crawling(tmp_path, server) as crawl:
        assert crawl.get("/a").status == 200


def raw(text):
    """Return a handler that sends these bytes and closes the connection."""

    def answer(handler):
        handler.wfile.write(text)
        handler.close_connection = True

    return answer


def test_a_flood_of_headers_is_no_answer_and_ends_no_crawl(tmp_path):
    flood = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 10_000) for number in range(50))
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + flood + b"\r\n<html>"
    with serving({"/a": raw(answer), "/b": PAGE}) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/a"), "bad_answer")
        assert crawl.get("/b").status == 200

    assert len(pages(tmp_path)) == 1


def test_a_line_that_is_no_header_hides_no_reservation(tmp_path):
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nthis is no header\r\n"
    answer += b"X-Robots-Tag: noai\r\n\r\n<html>secret"
    with serving({"/a": raw(answer)}) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/a"), "bad_answer")

    assert not pages(tmp_path)


def test_hints_that_come_before_an_answer_are_passed_over(tmp_path):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" * 2
    answer = hints + b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>it"
    with serving({"/a": raw(answer)}) as server, crawling(tmp_path, server) as crawl:
        found = crawl.get("/a")

    assert (found.status, found.body) == (200, b"<html>it")
    assert found.header("link") is None


def test_what_is_said_of_reservations_may_not_lead_against_robots_txt_or_to_other_ports(tmp_path):
    with serving({}) as other, serving({"/intern/x": PAGE}) as server:
        server.answers["/robots.txt"] = robots("User-agent: *\nDisallow: /intern\n")
        server.answers[RULES[1]] = (302, {"Location": "/intern/x"}, b"")
        server.answers["/a"] = PAGE
        with crawling(tmp_path / "1", server) as crawl:
            assert crawl.get("/a").status == 200
        assert server.paths == [*RULES, "/a"]

        server.answers["/robots.txt"] = (302, {"Location": other.url("/robots.txt")}, b"")
        with crawling(tmp_path / "2", server) as crawl:
            assert is_refused(crawl.get("/a"), "robots")
        assert not other.paths


def test_what_stands_in_place_of_rules_is_no_article(tmp_path):
    answers = {path: (302, {"Location": "/welcome"}, b"") for path in RULES}
    with (
        serving(answers | {"/welcome": PAGE, "/a": PAGE}) as server,
        crawling(tmp_path, server) as crawl,
    ):
        crawl.get("/a")

    assert [page.url for page in pages(tmp_path)] == [server.url("/a")]
