"""How fast a host is asked, how often, and when it is left alone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from corpora.crawl.pace import Clock
from corpora.crawl.types import Fetched
from tests.corpora.crawl.answers import (
    PAGE,
    RULES,
    FakeClock,
    crawling,
    is_refused,
    records,
    robots,
    serving,
)


def test_pauses_are_at_least_those_of_site_and_robots_txt_as_the_server_sees_it(tmp_path):
    answers = {"/robots.txt": robots("User-agent: *\nCrawl-delay: 0.08\n")}
    answers |= {f"/{number}": PAGE for number in range(4)}
    with serving(answers) as server, crawling(tmp_path, server, clock=Clock(), delay=0.04) as crawl:
        for number in range(4):
            crawl.get(f"/{number}")

    times = [when for when, *_ in server.requests]
    gaps = [then - before for before, then in pairwise(times)]
    assert gaps[0] >= 0.04
    assert min(gaps[1:]) >= 0.08


def test_a_site_that_asks_for_too_long_pauses_is_left_alone(tmp_path):
    answers = {"/robots.txt": robots("User-agent: *\nCrawl-delay: 120\n"), "/a": PAGE}
    with serving(answers) as server, crawling(tmp_path, server) as crawl:
        assert is_refused(crawl.get("/a"), "crawl_delay")

    assert server.paths == ["/robots.txt"]


def test_a_server_that_closes_idle_connections_is_asked_again_at_once(tmp_path):
    def closing(handler):
        handler.send(*PAGE)  # and nothing says that the connection ends
        handler.close_connection = True

    with serving({"/a": closing, "/b": closing}) as server, crawling(tmp_path, server) as crawl:
        assert crawl.get("/a").status == 200
        time.sleep(0.05)  # its end must travel
        assert crawl.get("/b").status == 200

    assert server.count("/b") == 1
    assert [record.headers.get("onoma-attempt") for record in records(tmp_path)[1:]] == ["1/3"] * 4


def test_an_error_is_tried_again_with_longer_pauses_and_then_kept(tmp_path):
    clock = FakeClock()
    with serving({"/a": (500, {}, b"oh"), "/b": [(502, {}, b""), PAGE]}) as server:
        with crawling(tmp_path, server, clock=clock, back_off=2.0) as crawl:
            first = crawl.get("/a")
            assert [wait for wait in clock.waits if wait] == [2.0, 4.0]
            assert crawl.get("/b").status == 200
        with crawling(tmp_path, server, clock=clock) as crawl:
            again = crawl.get("/a")

    assert (first.status, again.status, again.from_archive) == (500, 500, True)
    assert (server.count("/a"), server.count("/b")) == (3, 2)


def test_tries_are_counted_on_after_a_kill(tmp_path):
    """Processes that end before the last try make no more tries together than one alone."""
    clock = FakeClock()
    with serving({"/a": (503, {}, b"")}) as server:
        for _ in range(5):
            with crawling(tmp_path, server, clock=clock, back_off=9.0) as crawl:
                crawl.fetcher._clock.wait = lambda seconds, crawl=crawl: (
                    seconds > 5 and crawl.fetcher.stop()
                )
                crawl.get("/a")
                crawl.fetcher._clock.stop.clear()
        assert server.count("/a") == 1  # stopped while it waited for the second try
        with crawling(tmp_path, server, clock=clock, tries=1) as crawl:
            assert crawl.get("/a").status == 503
        assert server.count("/a") == 1
        with crawling(tmp_path, server, clock=FakeClock(clock.time)) as crawl:
            assert crawl.get("/a").status == 503

    assert server.count("/a") == 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_a_pause_gets_it_also_from_the_next_process(tmp_path, status):
    clock = FakeClock()
    slow = (status, {"Retry-After": "100"}, b"")
    with serving({"/a": [slow, PAGE], "/b": slow, "/c": PAGE}) as server:
        with crawling(tmp_path, server, clock=clock) as crawl:
            assert crawl.get("/a").status == 200
            assert max(clock.waits) == pytest.approx(100, abs=1)
        with crawling(tmp_path, server, clock=clock, tries=1) as crawl:
            assert crawl.get("/b").status == status
        clock.waits.clear()
        with crawling(tmp_path, server, clock=clock) as crawl:
            assert crawl.get("/c").status == 200
        assert max(clock.waits) == pytest.approx(100, abs=1)


def test_a_host_that_asks_for_too_long_a_pause_is_left_for_the_session(tmp_path):
    slow = (429, {"Retry-After": "1000"}, b"")
    clock = FakeClock()
    with serving({"/a": slow, "/b": PAGE}) as server:
        for _ in range(2):
            with crawling(tmp_path, server, clock=clock) as crawl:
                assert is_refused(crawl.get("/a"), "host_left")
                assert is_refused(crawl.get("/b"), "host_left")
        assert server.paths == [*RULES, "/a"]
        clock.time += 2000
        with crawling(tmp_path, server, clock=clock, session="s2") as crawl:
            assert crawl.get("/b").status == 200


def test_a_host_that_fails_again_and_again_is_left(tmp_path):
    broken = {f"/{number}": (500, {}, b"") for number in range(9)}
    with serving(broken | {"/a": PAGE}) as server:
        with crawling(tmp_path, server, max_failures=3, tries=1) as crawl:
            found = [crawl.get(f"/{number}") for number in range(2)]
            found += [crawl.get("/a")]  # it is not all of it
            found += [crawl.get(f"/{number}") for number in range(2, 7)]
        with crawling(tmp_path, server, max_failures=3, tries=1) as crawl:
            found += [crawl.get("/8")]

    outcomes = [answer.status if isinstance(answer, Fetched) else answer.reason for answer in found]
    assert outcomes == [500, 500, 200, 500, 500, 500, "host_left", "host_left", "host_left"]


def test_a_host_that_is_not_there_is_down(tmp_path):
    with serving({}) as server:
        pass
    with crawling(tmp_path, server, tries=2) as crawl:
        assert is_refused(crawl.get("/a"), "robots")
        assert crawl.get("/robots.txt", kind="robots").reason == "host_down"


def test_many_threads_use_one_connection_and_ask_for_nothing_twice(tmp_path):
    answers = {f"/{number}": PAGE for number in range(20)}
    with (
        serving(answers) as server,
        crawling(tmp_path, server, clock=Clock()) as crawl,
        ThreadPoolExecutor(8) as threads,
    ):
        found = list(threads.map(crawl.get, [f"/{number % 20}" for number in range(60)]))

    assert {answer.status for answer in found} == {200}
    assert sorted(server.paths) == sorted([*RULES, *answers])
    assert server.most_open == 1


def test_to_stop_ends_a_wait(tmp_path):
    with (
        serving({"/a": PAGE}) as server,
        crawling(tmp_path, server, clock=Clock(), delay=60.0) as crawl,
    ):
        threading.Timer(0.2, crawl.fetcher.stop).start()

        assert is_refused(crawl.get("/a"), "stopped")

    assert server.paths == ["/robots.txt"]


def test_a_pause_that_a_host_asked_for_holds_in_the_next_session_too(tmp_path):
    clock = FakeClock()
    answers = {"/a": (503, {"Retry-After": "100"}, b""), "/b": PAGE}
    answers |= {path: (404, {}, b"") for path in RULES}
    with serving(answers) as server:
        with crawling(tmp_path, server, clock=clock, tries=1) as crawl:
            crawl.get("/a")
        asked = clock.time
        with crawling(tmp_path, server, clock=clock, session="s2", patience=50) as crawl:
            assert is_refused(crawl.get("/b"), "host_left")
        with crawling(tmp_path, server, clock=clock, session="s3") as crawl:
            assert crawl.get("/b").status == 200

    assert clock.time - asked >= 100


def test_no_pause_is_longer_than_a_host_asked_for_even_if_the_clock_was_wrong(tmp_path):
    clock = FakeClock()
    answers = {"/a": [(503, {"Retry-After": "100"}, b""), PAGE], "/b": PAGE}
    answers |= {path: (404, {}, b"") for path in RULES}
    with serving(answers) as server:
        with crawling(tmp_path, server, clock=clock, tries=1) as crawl:
            crawl.get("/a")
            clock.time -= 30 * 86_400  # it was a month fast
            assert crawl.get("/b").status == 200
            assert 0 < sum(clock.waits) <= 200
        with crawling(tmp_path, server, clock=clock, session="s2") as crawl:
            assert crawl.get("/a").status == 200

    assert sum(clock.waits) <= 400


def test_rules_are_asked_for_again_after_a_day_also_in_a_session_that_goes_on(tmp_path):
    clock = FakeClock()
    with serving({"/a": PAGE, "/b": PAGE, "/c": PAGE}) as server:
        with crawling(tmp_path, server, clock=clock, max_seconds=1e6) as crawl:
            assert crawl.get("/a").status == 200
            clock.time += 23 * 3600
            assert crawl.get("/b").status == 200
        assert server.count("/robots.txt") == 1
        server.answers["/robots.txt"] = robots("User-agent: *\nDisallow: /\n")
        with crawling(tmp_path, server, clock=clock, max_seconds=1e6) as crawl:
            assert crawl.get("/d").status == 404
            clock.time += 2 * 3600
            assert is_refused(crawl.get("/c"), "robots")
            server.answers["/robots.txt"] = (404, {}, b"")
            clock.time += 25 * 3600
            assert crawl.get("/c").status == 200

    assert server.count("/robots.txt") == 3
