"""A crawl of a real site, killed again and again, judged by what its server was asked.

All is done once, in ``crawled``; the tests look at it. What may be fetched is said here and in
``site_server.py``, and not by anything that crawls.
"""

import glob
import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import redirect_stderr
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from pipelines.news_to_documents import Options, archives_of, main
from tests.corpora.crawl.site_server import (
    ARTICLES,
    CRAWL_DELAY,
    DISALLOWED,
    FOR_NO_AI,
    IN_TDMREP,
    LISTS,
    N_ARTICLES,
    N_DOUBLES,
    N_PLAIN,
    NO_AI_HEADER,
    TROUBLE,
    Asked,
    Portal,
    serve,
)
from tests.processes import children_of, copy_of

ROOT = Path(__file__).resolve().parents[3]
CONTACT = "redaktion@bote.example"
RULES = {"/robots.txt", "/.well-known/tdmrep.json"}
TRIES = 3
EXPECTED = Counter(
    {
        **dict.fromkeys(RULES, 1),
        **dict.fromkeys(LISTS, 1),
        **{article.path: 1 for article in ARTICLES},
        **dict.fromkeys((NO_AI_HEADER, "/impressum.html", *TROUBLE.values()), 1),
        TROUBLE["broken"]: TRIES,
        TROUBLE["busy"]: 2,
    }
)
SITES = """
contact = "{contact}"
[defaults]
allow_private = ["127.0.0.1"]
delay = 0
page_seconds = 4
back_off = 0.05
tries = {tries}
[[site]]
url = "{portal}/"
hosts = ["{neighbour}"]
find = ["sitemap", "feed", "recursive"]
max_page_bytes = 300_000
exclude = ["*/bild*"]
[[site]]
url = "{plain}/"
[[site]]
url = "{bounded}/"
find = ["recursive"]
max_pages = 3
[[site]]
url = "http://127.0.0.1:{closed}/"
"""


@dataclass(frozen=True)
class Crawled:
    """What is left of the crawls."""

    folder: Path
    portals: dict[str, Portal]
    before: dict[str, list[Asked]]
    """What each server was asked in the first session."""
    second: list[Asked]
    """What the portal was asked in the second."""
    last_before: set[str]
    """What the portal was asked last, before each interruption."""
    ends: list[tuple[int, str]]
    """Exit status and standard error of each process."""

    @property
    def first(self):
        """What the portal was asked in the first session."""
        return self.before["portal"]

    @property
    def archive(self):
        return self.folder / "out-crawl"

    def report(self, number):
        """Return the report of a session, by site."""
        path = sorted(self.archive.glob("*.report.json"))[number]
        return {site["name"]: site for site in json.loads(path.read_text("utf-8"))["sites"]}


def start(python, *arguments):
    return subprocess.Popen(
        [python, "-m", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process, seconds=120):
    _, errors = process.communicate(timeout=seconds)
    return process.returncode, errors


def crawler_of(process):
    """Return the id of the process in which Scrapy runs."""
    [crawler] = [
        child
        for child in children_of(copy_of(process))
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return crawler


def interrupt(process, how):
    if how == "all":
        os.killpg(process.pid, signal.SIGKILL)
    elif how == "crawler":
        os.kill(crawler_of(process), signal.SIGKILL)
    else:
        os.kill(copy_of(process), signal.SIGINT if how == "politely" else signal.SIGKILL)


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def crawled(warm_python, tmp_path_factory):
    """Crawl with four interruptions; make documents; crawl once more."""
    folder, ends, last_before = tmp_path_factory.mktemp("crawl"), [], set()
    with serve() as portals:
        portal = portals["portal"]
        roots = {name: p.root for name, p in portals.items()} | {
            "neighbour": portals["neighbour"].host
        }
        table = SITES.format(contact=CONTACT, tries=TRIES, closed=closed_port(), **roots)
        (folder / "sites.toml").write_text(table, "utf-8")
        news = ["pipelines.news_to_documents", "--sites", folder / "sites.toml"]
        news += ["--output", folder / "out"]
        for how in ("all", "crawler", "parent", "politely"):
            most = len(portal.asked) + random.randrange(5, 25)
            process = start(sys.executable if how == "all" else warm_python, *news)
            while len(portal.asked) < most and process.poll() is None:
                time.sleep(0.002)
            interrupt(process, how)
            ends.append(end(process))
            last_before.add(last_of(portal.asked))
        ends.append(end(start(warm_python, *news)))
        with redirect_stderr(io.StringIO()) as said:
            ends.append((main([str(part) for part in news[1:]]), said.getvalue()))
        before = {name: list(p.asked) for name, p in portals.items()}
        portal.asked.clear()
        archive = ["corpora.crawl", folder / "sites.toml", "--archive", folder / "out-crawl"]
        ends.append(end(start(warm_python, *archive)))
        yield Crawled(folder, portals, before, portal.asked, last_before, ends)


def last_of(asked):
    """Return the path that was asked for last, once no more requests come."""
    n = 0
    while n < len(asked):
        n = len(asked)
        time.sleep(0.2)
    return asked[-1].path


def test_the_crawl_fetches_what_it_may_and_nothing_else(crawled):
    asked = {asked.path for asked in crawled.first}

    assert asked == set(EXPECTED)
    assert not asked & {*DISALLOWED, *FOR_NO_AI, *IN_TDMREP, "/bild.jpg"}


def test_nothing_is_fetched_twice_however_often_the_crawl_is_killed(crawled):
    more = Counter(asked.path for asked in crawled.first) - EXPECTED

    assert set(more) <= crawled.last_before  # what was on its way is in no archive
    assert more.total() <= 4


def test_the_server_sees_the_pause_that_it_asks_for_and_one_request_at_a_time(crawled):
    times = [asked.at for asked in crawled.first]

    gaps = [after - before for before, after in pairwise(times[1:])]
    assert min(gaps) >= CRAWL_DELAY - 0.001  # two clocks; the first: robots.txt was not known
    assert not any(asked.n_others for asked in crawled.first)


def test_the_server_is_asked_again_after_the_time_that_it_says(crawled):
    first, second = [asked.at for asked in crawled.first if asked.path == TROUBLE["busy"]][-2:]

    assert second - first >= 1.0


def test_every_request_says_who_asks(crawled):
    agents = {asked.agent for portal in crawled.portals.values() for asked in portal.asked}
    agents |= {asked.agent for asked in crawled.first}

    assert len(agents) == 1
    assert CONTACT in agents.pop()


def test_a_private_address_is_not_asked_though_a_page_leads_there(crawled):
    report = crawled.report(0)[crawled.portals["portal"].host]

    assert crawled.portals["neighbour"].asked == []
    assert report["refused"]["private_address"] == 1
    assert "127.0.0.2" in report["examples"]["private_address"]


def test_a_site_without_lists_is_crawled_by_its_links(crawled):
    paths = set(crawled.portals["plain"].paths())

    usual = {"/sitemap.xml", "/sitemap_index.xml"}
    assert paths == {"/", *(f"/seite/{n}" for n in range(N_PLAIN))} | RULES | usual


def test_a_bound_ends_a_site_and_what_is_left_is_counted(crawled):
    bounded = crawled.portals["bounded"]
    report = crawled.report(0)[bounded.host]

    assert len({asked.path for asked in crawled.before["bounded"]} - RULES) == 3
    assert report["ended"] == "bound_pages"
    assert report["n_pages"] == report["session_pages"] == 3
    left = report["passed_over"]["not_reached"] + report["passed_over"].get("beyond_queue", 0)
    assert left + report["refused"]["bound_pages"] == N_PLAIN - 1 - 2


def test_processes_say_how_they_ended(crawled):
    (_, _), (crawler, said), (_, _), (politely, _), (last, warned), _, (second, _) = crawled.ends

    assert (crawler, politely, last) == (1, 130, 0)
    assert "ended before its time" in said
    assert "WARNING" in warned  # the site that is not there
    assert "gave no page (refused: robots 3" in warned
    assert "robots.txt cannot be had (host_down)" in warned
    assert second == 1
    state = json.loads((crawled.archive / "session.json").read_text("utf-8"))
    assert state["finished"]


def test_a_later_session_asks_whether_lists_have_changed_and_for_no_page_that_is_there(crawled):
    asked = {asked.path: asked for asked in crawled.second}

    conditional = {path for path, asked in asked.items() if asked.is_conditional}
    assert conditional == set(LISTS)
    assert all(asked[path].status == 304 for path in conditional)
    trouble = {TROUBLE[name] for name in ("missing", "broken", "endless", "huge", "bomb")}
    assert set(asked) - conditional == RULES | trouble | {NO_AI_HEADER}  # it may have changed


def test_the_report_accounts_for_every_address(crawled):
    report = crawled.report(0)[crawled.portals["portal"].host]

    assert report["ended"] == "done"
    assert report["refused"] == {
        "foreign_host": 1,
        "private_address": 1,
        "reserved": len(FOR_NO_AI) + len(IN_TDMREP) + 1,
        "robots": len(DISALLOWED),
        "timeout": 1,
        "too_large": 2,
    }
    assert report["statuses"]["404"] == report["statuses"]["500"] == 1
    assert report["passed_over"]["broken_listing"] == 1
    n_asked_as_pages = len(ARTICLES) + len(TROUBLE) + 5  # front, archive, imprint, noai
    assert report["session_pages"] == n_asked_as_pages
    text = next(crawled.archive.glob("*.report.md")).read_text("utf-8")
    assert crawled.portals["plain"].host in text


def test_the_archive_becomes_articles_each_once(crawled):
    documents = list(open_dataset(crawled.folder / "out", "documents").records())

    root = crawled.portals["portal"].root
    assert {d.metadata["mining"] for d in documents} == {"unreserved"}
    [robots] = {d.metadata["robots_txt"] for d in documents}
    assert robots.startswith("allow")
    assert str(CRAWL_DELAY) in robots
    about = json.loads((crawled.folder / "out" / "dataset.json").read_text("utf-8"))
    assert {d.url for d in documents} == {f"{root}{a.path}" for a in ARTICLES[:N_ARTICLES]}
    assert about["accounting"]["filtered"]["near_duplicate"] == N_DOUBLES
    lines = (crawled.folder / "out" / "duplicates.tsv").read_text("utf-8").splitlines()[1:]
    assert {line.split("\t")[1] for line in lines} == {
        f"{root}{article.path}" for article in ARTICLES[N_ARTICLES:]
    }


def test_a_finished_output_is_not_crawled_again(crawled):
    status, said = crawled.ends[5]

    assert status == 0
    assert "no new crawl" in said  # and that nothing was asked again is shown above


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--warc x --sites s", "one of them"),
        ("--warc x --archive a", "is for --sites"),
        ("--sites s --urls u", "--urls is for --html"),
        ("--sites s --archive {out}/crawl", "neither in the other"),
        ("--sites s", "s: cannot be read"),
    ],
)
def test_options_that_do_not_fit_are_said(tmp_path, capsys, arguments, said):
    out = str(tmp_path / "out")

    status = main([*arguments.format(out=out).split(), "--output", out])

    assert status == 2
    assert said in capsys.readouterr().err


def test_a_crawl_that_gives_nothing_says_why(tmp_path, capsys):
    table = f'contact = "{CONTACT}"\n[[site]]\nurl = "http://127.0.0.1:{closed_port()}/"\n'
    (tmp_path / "sites.toml").write_text(table, "utf-8")

    status = main(["--sites", str(tmp_path / "sites.toml"), "--output", str(tmp_path / "out")])

    assert status == 1
    said = capsys.readouterr().err
    assert "no site gave a page" in said
    assert "private_address" in said
    assert not (tmp_path / "out").exists()


def test_the_folder_of_an_archive_may_look_like_a_pattern(tmp_path):
    (tmp_path / "sites.toml").write_text(
        f'contact = "{CONTACT}"\n[[site]]\nurl = "http://bote.example/"\n', "utf-8"
    )
    archive, out = tmp_path / "a[1]", tmp_path / "out"
    for folder in (archive, out):
        folder.mkdir()
    (archive / "session.json").write_text('{"session": "s", "finished": true}', "utf-8")
    (archive / "crawl-s-00001.warc.gz").touch()
    (out / "run.json").touch()

    [pattern] = archives_of(Options(sites=tmp_path / "sites.toml", output=out, archive=archive))

    assert glob.glob(pattern) == [str(archive / "crawl-s-00001.warc.gz")]  # noqa: PTH207
