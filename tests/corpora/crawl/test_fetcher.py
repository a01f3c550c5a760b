"""The downloader before a real server: what it asks for, how, and what it keeps of answers."""

from itertools import pairwise

import pytest

from corpora.crawl.types import Fetched
from corpora.news.page_metadata import PageMetadata
from corpora.news.pages import Revisit
from corpora.news.rights import decide
from corpora.system.web import crawler_agent
from tests.corpora.crawl.answers import (
    HTML,
    PAGE,
    RULES,
    FakeClock,
    crawling,
    is_refused,
    pages,
    records,
    robots,
    serving,
)


def test_the_rules_are_asked_for_first_and_each_request_names_the_contact(tmp_path):
    with serving({"/a": PAGE, "/b": PAGE}) as server, crawling(tmp_path, server) as crawl:
        answers = [crawl.get("/a"), crawl.get("/b"), crawl.get("/a#top")]

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert [answer.from_archive for answer in answers] == [False, False, True]
    assert answers[0].body == PAGE[2]
    assert server.paths == [*RULES, "/a", "/b"]
    agents = {headers["User-Agent"] for *_, headers in server.requests}
    assert agents == {crawler_agent("crawl@onoma.example")}
    assert server.most_open == 1


def test_a_page_is_fetched_once_however_its_address_is_percent_encoded(tmp_path):
    with serving({"/%C3%A4": PAGE}) as server:
        for session, path in enumerate(("/%c3%a4", "/ä", "/%C3%a4")):
            with crawling(tmp_path, server, session=f"s{session}") as crawl:
                assert crawl.get(path).status == 200

    assert server.paths == [*RULES, "/%C3%A4"]


@pytest.mark.parametrize("cookies", [True, False])
def test_a_cookie_that_a_page_needs_is_sent_back_if_the_site_says_so(tmp_path, cookies):
    wall = (302, {"Location": "/a", "Set-Cookie": "seen=1; Path=/"}, b"")
    answers = {"/a": lambda on: PAGE if on.headers["Cookie"] else wall, "/b": PAGE}
    with serving(answers) as server, crawling(tmp_path, server, cookies=cookies) as crawl:
        assert crawl.get("/a").status == (200 if cookies else 302)
        crawl.get("/b")

    sent = [headers["Cookie"] for _, path, headers in server.requests if path not in RULES]
    assert sent == ([None, "seen=1", "seen=1"] if cookies else [None, None])


def test_a_page_is_fetched_once_whatever_the_session_in_its_address(tmp_path):
    with serving({"/a?b=1": PAGE}) as server, crawling(tmp_path, server) as crawl:
        for path in ("/a;jsessionid=4F2A?b=1", "/a?PHPSESSID=9c1&b=1", "/a?b=1"):
            assert crawl.get(path).status == 200

    assert server.paths == [*RULES, "/a?b=1"]


def test_what_robots_txt_forbids_is_not_asked_for(tmp_path):
    answers = {"/robots.txt": robots("User-agent: *\nDisallow: /intern\n"), "/a": PAGE}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/intern/1"), "robots")
        assert is_refused(crawl.get("/x/../intern/1"), "robots")
        assert crawl.get("/a").status == 200

    assert server.paths == [*RULES, "/a"]


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_robots_txt_that_is_not_there_allows_all(tmp_path, status):
    answers = {"/robots.txt": (status, {}, b"Disallow: /"), "/a": PAGE}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        assert crawl.get("/a").status == 200

    assert pages(tmp_path)[0].metadata == {"robots_txt": f"allow; no robots.txt ({status})"}


@pytest.mark.parametrize("status", [200, 203, 206])
def test_a_robots_txt_that_comes_with_any_success_is_obeyed(tmp_path, status):
    answers = {"/robots.txt": (status, {}, b"User-agent: *\nDisallow: /no\n"), "/a": PAGE}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/no"), "robots")
        assert crawl.get("/a").status == 200

    assert pages(tmp_path)[0].metadata == {"robots_txt": "allow"}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_robots_txt_that_cannot_be_had_forbids_all_but_not_if_one_of_today_is_there(
    tmp_path, status
):
    clock = FakeClock()
    answers = {"/robots.txt": (status, {}, b""), "/a": PAGE, "/b": PAGE, "/no": PAGE}
    with serving(answers) as server:
        with crawling(tmp_path, server, clock=clock) as crawl:
            assert is_refused(crawl.get("/a"), "robots")
            answers["/robots.txt"] = robots("User-agent: *\nDisallow: /no\n")
            assert is_refused(crawl.get("/a"), "robots")
        with crawling(tmp_path, server, clock=clock, session="s2") as crawl:
            assert crawl.get("/a").status == 200
        answers["/robots.txt"] = (status, {}, b"")
        clock.time += 23 * 3600
        with crawling(tmp_path, server, clock=clock, session="s3") as crawl:
            assert crawl.get("/b").status == 200
            assert is_refused(crawl.get("/no"), "robots")
        clock.time += 2 * 3600
        with crawling(tmp_path, server, clock=clock, session="s4") as crawl:
            assert is_refused(crawl.get("/c"), "robots")


def test_a_robots_txt_of_a_fast_clock_does_not_count_as_one_of_today(tmp_path):
    clock = FakeClock()
    clock.time += 30 * 24 * 3600
    answers = {"/robots.txt": robots("User-agent: *\nDisallow: /no\n"), "/a": PAGE, "/b": PAGE}
    with serving(answers) as server:
        with crawling(tmp_path, server, clock=clock) as crawl:
            assert crawl.get("/a").status == 200
        answers["/robots.txt"] = (503, {}, b"")
        clock.time -= 30 * 24 * 3600
        with crawling(tmp_path, server, clock=clock) as crawl:
            assert is_refused(crawl.get("/b"), "robots")


@pytest.mark.parametrize(("n_redirects", "is_followed"), [(5, True), (6, False)])
def test_five_redirects_lead_to_a_robots_txt_and_six_to_none(tmp_path, n_redirects, is_followed):
    names = ["/robots.txt", *(f"/r{number}" for number in range(n_redirects))]
    answers = {a: (301, {"Location": b}, b"") for a, b in pairwise(names)}
    answers |= {names[-1]: robots("User-agent: *\nDisallow: /a\n"), "/a": PAGE}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/a"), "robots") == is_followed


def test_a_robots_txt_may_be_longer_than_a_page(tmp_path):
    text = "User-agent: *\nDisallow: /no\n" + "# and so on\n" * 1000
    with (
        serving({"/robots.txt": robots(text), "/a": PAGE}) as server,
        crawling(tmp_path, server, max_page_bytes=1000) as crawl,
    ):
        assert crawl.get("/a").status == 200
        assert is_refused(crawl.get("/no"), "robots")
        assert crawl.get("/robots.txt", kind="robots").body == text.encode()


def test_the_sitemaps_of_robots_txt_are_known(tmp_path):
    answers = {"/robots.txt": robots("Sitemap: https://a.example/s.xml\n")}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        found = crawl.fetcher.sitemaps(server.url("/"), site=crawl.site)
        text = crawl.get("/robots.txt", kind="robots")

    assert found == ("https://a.example/s.xml",)
    assert text.body == answers["/robots.txt"][2]
    assert server.count("/robots.txt") == 1


RESERVING = {
    "robots.txt: GPTBot": {"/robots.txt": robots("User-agent: GPTBot\nDisallow: /\n")},
    "tdmrep.json: /a": {
        "/.well-known/tdmrep.json": (200, {}, b'[{"location": "/a", "tdm-reservation": 1}]')
    },
}


@pytest.mark.parametrize("because", RESERVING)
def test_what_is_reserved_is_not_asked_for_unless_it_is_wanted(tmp_path, because):
    answers = {"/a": PAGE} | RESERVING[because]
    with serving(answers) as server:
        with crawling(tmp_path, server) as crawl:
            answer = crawl.get("/a")
            assert is_refused(answer, "reserved")
            assert answer.detail == because
            assert crawl.get("/a", kind="sitemap").status == 200
        assert server.paths == [*RULES, "/a"]
        with crawling(tmp_path, server, session="s2", respect_reservations=False) as crawl:
            assert crawl.get("/a", kind="feed").status == 200

    rights = decide(pages(tmp_path)[-1], PageMetadata())
    assert (rights.mining, rights.because) == ("reserved", because)


@pytest.mark.parametrize(
    "header", [{"X-Robots-Tag": "noai"}, {"tdm-reservation": "1"}, {"Content-Usage": "train-ai=n"}]
)
def test_a_page_that_reserves_itself_is_not_kept(tmp_path, header):
    answers = {"/a": (200, HTML | header, b"secret " * 100)}
    with serving(answers) as server:
        for _ in range(2):
            with crawling(tmp_path, server) as crawl:
                assert is_refused(crawl.get("/a"), "reserved")
        assert server.count("/a") == 1
        with crawling(tmp_path, server, session="s2", respect_reservations=False) as crawl:
            assert crawl.get("/a").status == 200

    [name] = header
    assert b"secret" not in b"".join(record.block for record in records(tmp_path)[:-1])
    assert records(tmp_path)[3].headers["onoma-mining"].startswith("reserved; header")
    [page] = pages(tmp_path)
    assert decide(page, PageMetadata()).mining == "reserved"
    assert decide(page, PageMetadata()).because == f"header {name.lower()}: {header[name]}"


def test_what_allows_mining_is_written_down(tmp_path):
    rules = (200, {}, b'[{"location": "/", "tdm-reservation": 0}]')
    with (
        serving({"/a": PAGE, "/.well-known/tdmrep.json": rules}) as server,
        crawling(tmp_path, server) as crawl,
    ):
        crawl.get("/a")

    rights = decide(pages(tmp_path)[0], PageMetadata())
    assert (rights.mining, rights.because) == ("allowed", "tdmrep.json: /")


def test_in_a_later_session_pages_are_not_asked_for_and_lists_only_whether_they_changed(tmp_path):
    def front(handler):
        condition = (handler.headers["If-None-Match"], handler.headers["If-Modified-Since"])
        seen.append(condition)
        return (304, {}, b"") if condition == ('"v1"', "Sun, 01 Nov 2026 00:00:00 GMT") else fresh

    seen = []
    fresh = (200, HTML | {"ETag": '"v1"', "Last-Modified": "Sun, 01 Nov 2026 00:00:00 GMT"}, b"<p>")
    answers = {"/": front, "/a": PAGE, "/gone": (410, {}, b""), "/no": (404, {}, b"")}
    bodies = []
    with serving(answers) as server:
        for session in ("s1", "s2", "s2", "s3"):
            with crawling(tmp_path, server, session=session) as crawl:
                bodies.append(crawl.get("/", kind="list"))
                for path in ("/a", "/gone", "/no"):
                    crawl.get(path)
                bodies.append(crawl.get("/", kind="list"))

    assert len(seen) == 3
    assert {(answer.status, answer.body) for answer in bodies} == {(200, b"<p>")}
    assert [answer.from_archive for answer in bodies] == [False, *[True] * 7]
    assert (server.count("/a"), server.count("/gone"), server.count("/no")) == (1, 1, 3)
    revisits = [page for page in pages(tmp_path) if isinstance(page, Revisit)]
    assert [revisit.digest for revisit in revisits] == [pages(tmp_path)[0].digest] * 2


@pytest.mark.parametrize(
    ("bound", "reason", "n_pages"),
    [
        ({"max_pages": 2}, "bound_pages", 2),
        ({"max_bytes": 100}, "bound_bytes", 2),
        ({"max_seconds": 2.5, "delay": 0.5}, "bound_seconds", 3),
    ],
)
def test_bounds_hold_for_all_parts_of_a_session(tmp_path, bound, reason, n_pages):
    answers = {f"/{number}": (200, HTML, b"x" * 40) for number in range(6)}
    answers |= {path: (404, {}, b"") for path in RULES}
    clock = FakeClock()
    with serving(answers) as server:
        found = []
        for number in range(6):
            with crawling(tmp_path, server, clock=clock, **bound) as crawl:
                bounds = crawl.fetcher.bounds(crawl.site)
                bounds._clock = clock.now
                answer = crawl.get(f"/{number}")
                found.append(answer.status if isinstance(answer, Fetched) else answer.reason)
                assert crawl.get("/0").from_archive

    assert found == [200] * n_pages + [reason] * (6 - n_pages)


def test_a_page_may_not_lie_too_deep(tmp_path):
    with serving({"/a": PAGE}) as server, crawling(tmp_path, server, max_depth=2) as crawl:
        assert is_refused(crawl.get("/a", depth=3), "bound_depth")
        assert crawl.get("/a", depth=2).status == 200
