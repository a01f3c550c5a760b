"""Which run of a wiki is fetched, and options that make no sense."""

import hashlib
import json

import pytest

from corpora.errors import CorpusError, UsageError
from corpora.wikipedia.download import Order, main
from corpora.wikipedia.dump_status import NotCompleteError, find_dates
from tests.corpora.wikipedia.download.one_dump import DATA, INDEX, NAME, PATH, SHA1, names


def test_a_complete_run_is_fetched_with_a_lock_that_says_what_it_is(server, fetch, tmp_path):
    lock = fetch()

    assert names(tmp_path) == {NAME, "klwiki-20261101.lock.json"}
    assert (tmp_path / NAME).read_bytes() == DATA
    assert json.loads(lock.read_text("utf-8")) == {
        "wiki": "klwiki",
        "date": "20261101",
        "mirror": server.url,
        "jobs": {"articlesmultistreamdump": "20261101 01:02:03"},
        "files": [
            {
                "name": NAME,
                "job": "articlesmultistreamdump",
                "url": server.url + PATH,
                "size": len(DATA),
                "sha1": SHA1,
                "sha256": hashlib.sha256(DATA).hexdigest(),
            }
        ],
        "excluded": [INDEX],
    }


def test_the_server_learns_who_asks(server, fetch):
    fetch(contact="a@b.org")

    [agent] = server.agents
    assert agent.startswith("Onoma/")
    assert "(a@b.org)" in agent


def test_latest_is_never_asked_for(server, fetch):
    fetch()

    assert not any("latest" in path for path, _ in server.asked)


def test_a_run_in_progress_is_passed_over_for_the_newest_that_is_done(server, fetch, said):
    server.add_run("klwiki", "20261120", {}, status="in-progress")
    server.add_run("klwiki", "20261020", {"klwiki-20261020-pages.xml.bz2": b"old"})

    assert fetch().name == "klwiki-20261101.lock.json"
    assert [line for line in said if "20261120" in line and "in-progress" in line]


@pytest.mark.parametrize("missing", ["sha1", "size"])
def test_a_run_whose_files_have_no_hash_yet_is_passed_over(missing, server, fetch):
    name = "klwiki-20261120-pages-articles-multistream.xml.bz2"
    server.add_run("klwiki", "20261120", {name: b"new"})
    status = json.loads(server.files["/klwiki/20261120/dumpstatus.json"])
    del status["jobs"]["articlesmultistreamdump"]["files"][name][missing]
    server.files["/klwiki/20261120/dumpstatus.json"] = json.dumps(status).encode()

    assert fetch().name == "klwiki-20261101.lock.json"


def test_a_run_without_a_status_is_passed_over(server, fetch):
    server.add_run("klwiki", "20261120", {})
    del server.files["/klwiki/20261120/dumpstatus.json"]

    assert fetch().name == "klwiki-20261101.lock.json"


def test_a_mirror_that_has_only_older_runs_is_an_error(server, fetch, tmp_path):
    server.add_run("klwiki", "20261120", {}, status="in-progress")

    with pytest.raises(NotCompleteError, match="is 20261101, older than --not-before 20261102"):
        fetch(not_before="20261102")

    assert names(tmp_path) == set()
    assert fetch(not_before="20261101").name == "klwiki-20261101.lock.json"


def test_no_complete_run_is_an_error_that_names_those_there_are(server, fetch, tmp_path):
    server.add_run("klwiki", "20261101", {}, status="waiting")

    with pytest.raises(NotCompleteError, match="none of 20261101 is complete"):
        fetch()

    assert names(tmp_path) == set()


def test_a_date_whose_run_is_not_done_is_an_error(server, fetch):
    server.add_run("klwiki", "20261120", {}, status="in-progress")

    with pytest.raises(NotCompleteError, match="in-progress"):
        fetch(date="20261120")


def test_an_unknown_wiki_is_an_error_that_says_so(fetch):
    with pytest.raises(CorpusError, match="Check the name of the wiki"):
        fetch(wiki="nosuchwiki")


def test_names_that_lead_out_of_the_folder_are_refused(server, fetch, tmp_path):
    for name in ("../klwiki-20261101-x", "/etc/klwiki", "other-20261101-x"):
        server.add_run("klwiki", "20261101", {name: b"x"})

        with pytest.raises(CorpusError, match="name"):
            fetch()

    assert names(tmp_path) == set()


def test_an_unknown_job_is_an_error_that_lists_them(fetch):
    with pytest.raises(UsageError, match=r"no job nosuch.*articlesmultistreamdump"):
        fetch(jobs=("nosuch",))


@pytest.mark.parametrize("status", [b"<html>", b"[]", b'{"jobs": 3}', b'{"jobs": {"a": 1}}'])
def test_a_status_that_is_none_is_an_error(status, server, fetch):
    server.files["/klwiki/20261101/dumpstatus.json"] = status

    with pytest.raises(CorpusError, match="is not a status of a run"):
        fetch()


@pytest.mark.parametrize(
    "wrong",
    [
        {"wiki": "../x"},
        {"date": "latest"},
        {"mirror": "file:///etc"},
        {"contact": "me"},
        {"contact": "a@b.org\r\nX: y"},
    ],
)
def test_orders_that_make_no_sense_are_refused(wrong, tmp_path):
    right = {"wiki": "klwiki", "output": tmp_path, "contact": "a@b.org"}

    with pytest.raises(UsageError):
        Order(**right | wrong)


def test_contact_is_required(capsys):
    with pytest.raises(SystemExit) as end:
        main(["klwiki", "--output", "x"])

    assert end.value.code == 2
    assert "--contact" in capsys.readouterr().err


def test_dates_are_read_from_the_listings_of_servers():
    nginx = '<a href="../">../</a>\n<a href="20261101/">20261101/</a> 01-Nov-2026 -'
    wikimedia = '<li><a href="20261020/">20261020/</a></li> <a HREF="/dawiki/20261001">x</a>'
    other = '<a href="latest/">latest/</a> 20250101 <a href="20260101-x/">'

    assert find_dates(nginx + wikimedia + other) == ["20261101", "20261020", "20261001"]
