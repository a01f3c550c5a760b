"""robots.txt, reservations of mining, and pauses, without a network."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from corpora.crawl.pace import HostPace
from corpora.crawl.reservations import (
    MiningDecision,
    ai_agents,
    decide_by_headers,
    forbids_training,
    matches,
    parse_tdmrep,
    strictest,
)
from corpora.crawl.robots import MAX_BYTES, Robots, parse_robots
from corpora.warc.http import retry_after

HOST = "https://a.example"


def robots(text):
    return parse_robots(text.encode(), source="200")


def decide(text, path):
    return robots(text).decide(HOST + path, path)


@pytest.mark.parametrize("name", ["on", "o", "On", "ono/1.0", "onomat"])
def test_a_group_whose_name_is_only_like_ours_is_not_ours(name):
    rules = robots(
        f"User-agent: {name}\nDisallow: /\nCrawl-delay: 9\n\nUser-agent: *\nDisallow: /intern/\n"
    )

    assert rules.allows(f"{HOST}/news/1")
    assert not rules.allows(f"{HOST}/intern/1")
    assert rules.delay == 0
    ours = robots(f"User-agent: {name}\nAllow: /\n\nUser-agent: ONOMA\nDisallow: /\n")
    assert not ours.allows(f"{HOST}/news/1")


def test_the_group_of_our_name_counts_before_that_for_all():
    rules = robots(
        "User-agent: *\nDisallow: /\n\nUser-agent: onoma\nDisallow: /intern/\nCrawl-delay: 2\n"
        "Sitemap: https://a.example/sitemap.xml\n"
    )

    assert rules.allows(f"{HOST}/news/1")
    assert not rules.allows(f"{HOST}/intern/1")
    assert rules.delay == 2
    assert rules.sitemaps == ("https://a.example/sitemap.xml",)
    assert rules.summary() == "allow; crawl-delay=2"
    of_archive = replace(rules, source="robots.txt of the day before (503)")
    assert of_archive.summary() == "allow; crawl-delay=2; robots.txt of the day before (503)"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_rules_are_read_in_the_encoding_of_their_byte_order_mark(encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    body = f"{mark}User-agent: *\r\nDisallow: /straße\r\n".encode(encoding)

    rules = parse_robots(body, source="200")

    assert not rules.allows(f"{HOST}/straße/1")
    assert rules.allows(f"{HOST}/a")


def test_a_rate_of_requests_is_a_delay():
    assert robots("User-agent: *\nRequest-rate: 3/1m\n").delay == 20
    assert robots("User-agent: *\nCrawl-delay: 30\nRequest-rate: 3/1m\n").delay == 30


def test_a_robots_txt_that_cannot_be_had_forbids_all():
    assert not Robots("", "503", is_closed=True).allows(f"{HOST}/")


def test_what_stands_behind_the_first_500_kib_is_not_read():
    head = "User-agent: *\nDisallow: /a\n"
    filler = "#" * (MAX_BYTES - len(head) - 1) + "\n"

    assert robots(head + filler + "Disallow: /b\n").allows(f"{HOST}/b")
    assert not robots(head + filler + "Disallow: /b\n").allows(f"{HOST}/a")


lines = st.builds(
    "{}{}{}".format,
    st.sampled_from(["User-agent", "Disallow", "Allow", "Crawl-delay", "Request-rate", "Sitemap"])
    | st.sampled_from(["Content-Signal", "Content-Usage", "Visit-time", "#", "x"]),
    st.sampled_from([":", " : ", " ", ""]),
    st.sampled_from(["*", "GPTBot", "onoma", "/", "1e400", "1/" + "9" * 400, "-1", "0/0", "1/1m a"])
    | st.text(max_size=9),
)


@given(st.lists(lines, max_size=12).map("\n".join))
def test_whatever_stands_there_something_is_decided(text):
    rules = robots(text)

    assert rules.allows(f"{HOST}/a/") in {True, False}
    assert rules.delay >= 0
    assert rules.decide(f"{HOST}/a/", "/a/").mining in {"reserved", "unreserved"}
    assert rules.summary()
    assert rules.sitemaps is not None


@pytest.mark.parametrize("agent", ["GPTBot", "CCBot", "Google-Extended", "anthropic-ai"])
def test_a_group_for_an_agent_that_learns_reserves_what_it_disallows(agent):
    text = f"User-agent: *\nAllow: /\n\nUser-agent: {agent.upper()}\nDisallow: /news/\n"

    assert decide(text, "/news/1") == MiningDecision("reserved", f"robots.txt: {agent}")
    assert not decide(text, "/impressum").is_reserved
    assert robots(text).allows(f"{HOST}/news/1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "User-agent: *\nDisallow: /\n",
        "User-agent: Googlebot\nDisallow: /\n",
        "User-agent: ChatGPT-User\nDisallow: /\n",
        "User-agent: GPTBot\nAllow: /\n",
        "# User-agent: GPTBot\n# Disallow: /\n",
    ],
)
def test_what_speaks_of_no_agent_that_learns_reserves_nothing(text):
    assert decide(text, "/news/1") == MiningDecision()


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n", "/a", True),
        ("Content-Signal: ai-train=no\n", "/a", True),
        ("User-agent: *\nContent-Signal: search=yes, ai-train=yes\n", "/a", False),
        ("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a/ train-ai=y\n", "/b", True),
        ("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a/ train-ai=y\n", "/a/", False),
        ("Content-Usage: /%c3%a4/ train-ai=n\n", "/%C3%A4/1", True),
        ("Content-Usage: /ä/ train-ai=n\n", "/%C3%A4/1", True),
        ("User-agent: Bingbot\nContent-Signal: ai-train=no\n", "/a", False),
        ("User-agent: Bingbot\nUser-agent: *\nContent-Signal: ai-train=no\n", "/a", True),
        ("User-agent: Bingbot\nDisallow:\nUser-agent: *\nContent-Signal: ai-train=no\n", "/", True),
    ],
)
def test_lines_on_the_use_of_pages_reserve(text, path, expected):
    assert decide(text, path).is_reserved == expected


def test_agents_are_listed_once():
    names = [agent.lower() for agent in ai_agents()["agents"]]

    assert len(names) == len(set(names))


patterns = st.text(alphabet="ab/*$", max_size=8).map(lambda text: f"/{text}")
paths = st.text(alphabet="ab/", max_size=10).map(lambda text: f"/{text}")


@given(patterns.filter(lambda pattern: "$" not in pattern[:-1]), paths)
def test_patterns_match_as_those_of_robots_txt(pattern, path):
    rules = Protego.parse(f"User-agent: *\nDisallow: {pattern}\n")

    assert matches(pattern, path) == (not rules.can_fetch(HOST + path, "x"))


def test_many_wildcards_take_no_time():
    assert not matches("/" + "*a" * 500 + "b", "/" + "a" * 5000)


def tdm(*rules):
    names = ("location", "tdm-reservation", "tdm-policy")
    return parse_tdmrep(
        json.dumps([dict(zip(names, rule, strict=False)) for rule in rules]).encode()
    )


def test_the_first_rule_of_tdmrep_that_matches_counts():
    rules = tdm(("/free/*", 0), ("/*.pdf$", "1"), ("/", 1, "https://a.example/policy"))

    assert rules.decide("/free/x").mining == "allowed"
    assert rules.decide("/x.pdf").because == "tdmrep.json: /*.pdf$"
    assert rules.decide("/x").because == "tdmrep.json: / (policy https://a.example/policy)"


def test_tdmrep_compares_what_percent_signs_mean():
    assert tdm(("/stra%C3%9Fe", 1)).decide("/straße").is_reserved
    assert tdm(("/straße", 1)).decide("/stra%C3%9Fe").is_reserved


@pytest.mark.parametrize(
    "body",
    [
        b'[{"location": "/", "tdm-reservation": true}]',
        b'[{"location": "/", "tdm-reservation": 1.0}]',
        b'{"location": "/", "tdm-reservation": 1}',
    ],
)
def test_a_reservation_that_is_not_written_to_the_letter_is_one(body):
    assert parse_tdmrep(body).decide("/a").is_reserved


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"<html>",
        b"{}",
        b"[1, null, []]",
        b"[" * 100_000,
        b'[{"location": 1}]',
        b'[{"location": "/", "tdm-reservation": 2}]',
    ],
)
def test_what_is_no_tdmrep_reserves_nothing(body):
    assert parse_tdmrep(body).decide("/") == MiningDecision()


@pytest.mark.parametrize(
    ("headers", "mining"),
    [
        ([("TDM-Reservation", "1")], "reserved"),
        ([("tdm-reservation", " 0 ")], "allowed"),
        ([("tdm-reservation", "0, 0")], "allowed"),
        ([("tdm-reservation", "1, 1")], "reserved"),
        ([("tdm-reservation", "0,1")], "reserved"),
        ([("tdm-reservation", "0"), ("x-robots-tag", "noai")], "reserved"),
        ([("X-Robots-Tag", "noindex"), ("X-Robots-Tag", "otherbot: NoAI, noimageai")], "reserved"),
        ([("x-robots-tag", "noindex, noimageai")], "unreserved"),
        ([("content-usage", "train-ai=n")], "reserved"),
        ([("content-signal", "search=yes")], "unreserved"),
        ([("tdm-reservation", "yes")], "unreserved"),
    ],
)
def test_headers_reserve(headers, mining):
    assert decide_by_headers(headers).mining == mining


def test_a_reservation_is_stronger_than_what_allows():
    allowed, reserved = MiningDecision("allowed", "a"), MiningDecision("reserved", "b")

    assert strictest([allowed, reserved, MiningDecision()]) == reserved
    assert strictest([MiningDecision(), allowed]) == allowed
    assert strictest([]) == MiningDecision()


def test_only_no_is_no():
    assert forbids_training("AI-Train = NO")
    assert not forbids_training("ai-train=notyet, search=no")


def test_a_pause_is_given_in_seconds_or_as_a_date_of_the_servers_clock():
    date = {"date": "Sun, 22 Nov 2026 10:00:00 GMT"}
    later = {"retry-after": "Sun, 22 Nov 2026 10:01:30 GMT"}

    assert retry_after([("Retry-After", "7")], now=0) == 7
    assert retry_after((date | later).items(), now=0) == 90
    assert retry_after(later.items(), now=1795341600.0) == 90
    assert retry_after(later.items(), now=2e9) == 0
    assert retry_after([("retry-after", "soon")], now=0) is None
    assert retry_after([], now=0) is None


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 100))
def test_no_pause_is_longer_than_the_delay_even_if_the_clock_was_wrong(last, now, delay):
    left = HostPace(last=last).seconds_left(now, delay=delay)

    assert 0 <= left <= delay
    assert now + left >= min(last + delay, now + delay) - 1e-6  # sums are rounded


@pytest.mark.parametrize("name", ["Onoma/0.1", "onoma/1.0 # the crawler"])
def test_a_version_behind_a_name_changes_nothing(name):
    assert not robots(f"User-agent: {name}\nDisallow: /\n").allows(f"{HOST}/a")
    assert decide("User-agent: GPTBot/1.2\nDisallow: /\n", "/a").is_reserved


def test_a_line_that_the_bound_cuts_is_not_read():
    head = "User-agent: *\nDisallow: /a\n"
    last = "\nAllow: /a/public"
    filler = "#" * (MAX_BYTES - len(head) - len(last) + len("public"))

    assert not robots(head + filler + last).allows(f"{HOST}/a/x")


def test_an_agent_without_a_name_takes_nothing_from_the_next_line():
    text = "User-agent: *\nUser-agent:\nDisallow:/a\n"

    assert robots(text).text == text
