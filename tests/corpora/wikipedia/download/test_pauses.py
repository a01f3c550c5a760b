"""Servers that are busy, refuse, or are not there."""

import pytest

from corpora.wikipedia.fetching import DownloadError, MissingError
from tests.corpora.wikipedia.download.one_dump import NAME, PATH
from tests.corpora.wikipedia.dump_server import Fault


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        (
            {
                "Retry-After": "Sun, 01 Nov 2026 00:00:09 GMT",
                "Date": "Sun, 01 Nov 2026 00:00:00 GMT",
            },
            9,
        ),
        ({}, 2),
        ({"Retry-After": "\u00b2"}, 2),
        ({"Retry-After": "Sun, 01 Nov 2026 00:00:09 +99999999999999999999"}, 2),
    ],
)
def test_a_busy_server_is_left_alone_as_long_as_it_asks(headers, seconds, server, fetch, slept):
    server.faults[PATH] = [Fault(503, headers)]

    fetch()

    assert slept == [seconds]
    assert server.asked_for(NAME) == [None, None]


def test_pauses_double_and_end_in_an_error(server, fetch, slept):
    server.faults[PATH] = [Fault(503)] * 20

    with pytest.raises(DownloadError, match="503"):
        fetch()

    assert slept == [2, 4, 8, 16, 32, 60]


def test_a_pause_of_hours_is_an_error_that_says_so(server, fetch, slept):
    server.faults[PATH] = [Fault(429, {"Retry-After": "86400"})]

    with pytest.raises(DownloadError, match="86,400 s"):
        fetch()

    assert slept == []


def test_a_missing_file_is_an_error_at_once(server, fetch, slept):
    del server.files[PATH]

    with pytest.raises(MissingError, match=NAME):
        fetch()

    assert slept == []


def test_a_refusal_speaks_of_the_contact(server, fetch):
    server.faults["/klwiki/"] = [Fault(403)]

    with pytest.raises(DownloadError, match=r"403.*--contact"):
        fetch()


def test_nobody_there_is_an_error(fetch):
    with pytest.raises(DownloadError, match="cannot be reached"):
        fetch(mirror="http://127.0.0.1:9")


def test_an_address_that_is_none_is_not_asked_again(fetch, slept):
    with pytest.raises(DownloadError, match="leads to no address"):
        fetch(mirror="http://127.0.0.1/a b")

    assert slept == []
