"""Pages that attack: each ends its own process at most, and the next page is read."""

import os
import time
from multiprocessing import connection

import pytest

from corpora.errors import UsageError
from corpora.news import reading
from corpora.news.extraction import ExtractionError, extract
from corpora.news.reading import check_installed, extract_bounded, task_of
from corpora.system import sandbox
from corpora.system.sandbox import Bounds

PARAGRAPH = "<p>Das ist ein ganz gewöhnlicher Absatz mit genug Wörtern, um einer zu sein.</p>"
PAGE = f"<html><body><article>{PARAGRAPH}<p>Und <a href='/x'>noch einer</a> mit Link.</p></article>"
BOUNDS = Bounds(seconds=0.5, megabytes=600)


def read(html, bounds=BOUNDS):
    return extract_bounded(html, url="https://a.example/", extractor="trafilatura", bounds=bounds)


def reason_of(html, bounds=BOUNDS):
    with pytest.raises(ExtractionError) as raised:
        read(html, bounds)
    return raised.value.reason


def test_an_article_comes_back_as_it_was_made():
    assert read(PAGE) == extract(PAGE, url="https://a.example/", extractor="trafilatura")


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<div>" * 200_000 + PARAGRAPH, "too_deep"),
        ("<p>" + "x" * 20_000_000, "too_large"),
        ("<html><body><article>" + PARAGRAPH * 60_000, "extraction_timeout"),
        ("<html><body>" + "<a href=x>" * 100_000 + PARAGRAPH, "extraction_timeout"),
    ],
)
def test_a_hostile_page_has_a_reason_in_bounded_time_and_the_next_is_read(html, reason):
    begin = time.process_time() + os.times().children_user

    assert reason_of(html) == reason

    assert time.process_time() + os.times().children_user - begin < 10
    assert read(PAGE).text


def test_a_page_that_fills_the_memory_has_a_reason_and_the_next_is_read():
    bounds = Bounds(seconds=20.0, megabytes=250)

    assert reason_of("<html><body>" + "<p>x" * 2_000_000, bounds) == "extraction_memory"
    assert read(PAGE, bounds).text


def test_scripts_are_no_text():
    html = "<html><body><script>" + 'var x = "</p>";' * 100_000 + "</script>" + PARAGRAPH * 3

    assert "var x" not in read(html).text


def test_a_process_that_is_killed_is_started_again():
    read(PAGE)
    engine = sandbox._engine(os.getpid(), task_of("trafilatura"), BOUNDS)
    engine.process.kill()

    killed = r"was killed.*memory is full.*fewer workers"
    with pytest.raises(ExtractionError, match=killed) as raised:
        read(PAGE)
    assert raised.value.reason == "extraction_memory"
    assert read(PAGE).text


def test_a_process_that_keeps_waiting_is_killed_by_the_clock(monkeypatch):
    monkeypatch.setattr(sandbox, "_START_SECONDS", 0.5)
    bounds = Bounds(seconds=0.02)  # of the processor, of which one that waits takes none
    waits = sandbox.Task(connection.wait, {"object_list": (), "timeout": 0})

    with pytest.raises(sandbox.TaskError) as raised:
        sandbox.call(waits, {"object_list": (), "timeout": 60}, bounds=bounds)

    assert raised.value.reason == "timeout"


def test_an_extractor_that_is_not_installed_says_how_to_install_it(monkeypatch):
    def missing(_):
        raise reading.PackageNotFoundError

    monkeypatch.setattr(reading, "version", missing)

    with pytest.raises(UsageError, match="pip install 'onoma"):
        check_installed("news-please")
