"""Dumps fetched over real HTTP, from a mirror on loopback that misbehaves."""

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError, UsageError
from corpora.wikipedia.download import Order, _hold, download, main
from corpora.wikipedia.dump_status import NotCompleteError, find_dates
from corpora.wikipedia.fetching import Client, DownloadError, MissingError, WrongHashError
from tests.corpora.wikipedia.dump_server import Fault, serve

ROOT = Path(__file__).resolve().parents[3]
NAME = "klwiki-20261101-pages-articles-multistream.xml.bz2"
PATH = f"/klwiki/20261101/{NAME}"
DATA = random.Random(1).randbytes(300_000)
SHA1 = hashlib.sha1(DATA, usedforsecurity=False).hexdigest()
INDEX = "klwiki-20261101-pages-articles-multistream-index.txt.bz2"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve() as mirror:
        mirror.add_run("klwiki", "20261101", {NAME: DATA, INDEX: b"0:1:A"})
        yield mirror


@pytest.fixture
def said():
    return []


@pytest.fixture
def slept():
    return []


@pytest.fixture
def fetch(server, tmp_path, said, slept):
    def fetch(**settings):
        order = {"wiki": "klwiki", "output": tmp_path, "mirror": server.url, "contact": "a@b.org"}
        client = Client("a@b.org", said.append, sleep=slept.append)
        return download(Order(**order | settings), client)[0]

    return fetch


def names(folder):
    return {path.name for path in folder.iterdir()} - {".lock"}


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


def test_no_complete_run_is_an_error_that_names_those_there_are(server, fetch, tmp_path):
    server.add_run("klwiki", "20261101", {}, status="waiting")

    with pytest.raises(NotCompleteError, match="none of 20261101 is complete"):
        fetch()

    assert names(tmp_path) == set()


def test_a_date_whose_run_is_not_done_is_an_error(server, fetch):
    server.add_run("klwiki", "20261120", {}, status="in-progress")

    with pytest.raises(NotCompleteError, match="in-progress"):
        fetch(date="20261120")


def test_a_cut_transfer_goes_on_where_it_was_cut(server, fetch, tmp_path):
    server.faults[PATH] = [Fault(cut_after=70_000), Fault(cut_after=1)]

    fetch()

    assert (tmp_path / NAME).read_bytes() == DATA
    assert server.asked_for(NAME) == [None, "bytes=70000-", "bytes=70001-"]
    assert server.sent[PATH] == len(DATA)


def test_a_server_that_ignores_ranges_sends_all_again(server, fetch, tmp_path):
    server.faults[PATH] = [Fault(cut_after=70_000)]
    server.ignores_ranges = True

    fetch()

    assert (tmp_path / NAME).read_bytes() == DATA
    assert server.asked_for(NAME) == [None, "bytes=70000-"]
    assert server.sent[PATH] == 70_000 + len(DATA)


def test_a_transfer_that_is_cut_at_the_same_place_again_and_again_ends_in_an_error(
    server, fetch, tmp_path
):
    server.faults[PATH] = [Fault(cut_after=70_000)] * 20
    server.ignores_ranges = True

    with pytest.raises(DownloadError, match=r"ended after 70,000 of 300,000 bytes.*in a row"):
        fetch()

    assert not any(name.startswith("klwiki") for name in names(tmp_path))


def test_wrong_bytes_are_named_and_fetched_again(server, fetch, tmp_path, said):
    server.faults[PATH] = [Fault(is_corrupt=True)]

    fetch()

    assert (tmp_path / NAME).read_bytes() == DATA
    assert [line for line in said if NAME in line and SHA1 in line]


def test_wrong_bytes_again_are_an_error_and_nothing_of_them_stays(server, fetch, tmp_path):
    server.faults[PATH] = [Fault(is_corrupt=True)] * 2

    with pytest.raises(WrongHashError, match=NAME):
        fetch()

    assert names(tmp_path) == set()


def test_another_size_than_promised_is_an_error(server, fetch, tmp_path):
    server.files[PATH] = DATA + b"more"

    with pytest.raises(DownloadError, match=r"has 300,004 bytes, but dumpstatus.json says 300,000"):
        fetch()

    assert not any(name.startswith("klwiki") for name in names(tmp_path))


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


def start(server, output, **streams):
    """The command, as a process of its own."""
    command = [sys.executable, "-m", "corpora.wikipedia.download", "klwiki", "--output"]
    command += [str(output), "--mirror", server.url, "--contact", "a@b.org"]
    return subprocess.Popen(command, cwd=ROOT, **{"stdout": subprocess.DEVNULL} | streams)


def wait_for_bytes(process, output, n_bytes):
    """Wait until so much of a file has come."""
    while process.poll() is None and not any(
        path.stat().st_size == n_bytes for path in output.glob(".*.partial")
    ):
        time.sleep(0.01)


def test_a_killed_download_fetches_only_the_rest(server, tmp_path):
    server.faults[PATH] = [Fault(wait_after=200_000)]
    process = start(server, tmp_path, stderr=subprocess.DEVNULL)
    wait_for_bytes(process, tmp_path, 200_000)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not any(name.startswith("klwiki") for name in names(tmp_path))

    again = start(server, tmp_path, stdout=subprocess.PIPE)
    said, _ = again.communicate()

    assert (again.returncode, (tmp_path / NAME).read_bytes()) == (0, DATA)
    assert server.asked_for(NAME) == [None, "bytes=200000-"]
    assert names(tmp_path) == {NAME, "klwiki-20261101.lock.json"}
    assert str(tmp_path / NAME).encode() in said


def test_an_interrupted_download_says_so_and_goes_on(server, tmp_path):
    server.faults[PATH] = [Fault(wait_after=200_000)]
    process = start(server, tmp_path, stderr=subprocess.PIPE)
    wait_for_bytes(process, tmp_path, 200_000)

    process.send_signal(signal.SIGINT)
    server.release.set()
    _, errors = process.communicate()

    assert process.returncode == 130
    assert errors.splitlines()[-1] == b"error: interrupted. The same command goes on from here."
    assert start(server, tmp_path, stderr=subprocess.DEVNULL).wait() == 0
    assert server.asked_for(NAME) == [None, "bytes=200000-"]


def test_an_unknown_wiki_is_an_error_that_says_so(fetch):
    with pytest.raises(CorpusError, match="Check the name of the wiki"):
        fetch(wiki="nosuchwiki")


def test_several_parts_are_fetched_by_two_connections_and_no_more(server, fetch, tmp_path):
    parts = {f"klwiki-20261101-p{n}.xml.bz2": bytes([n]) * 99_000 for n in range(9)}
    server.add_run("klwiki", "20261101", parts)

    fetch()

    assert all((tmp_path / name).read_bytes() == data for name, data in parts.items())
    assert 1 <= server.most_open <= 2


def test_a_file_that_fails_ends_the_others_and_keeps_what_has_come(server, fetch, tmp_path):
    parts = {f"klwiki-20261101-p{n}.xml.bz2": bytes([n]) * 99_000 for n in range(9)}
    server.add_run("klwiki", "20261101", parts)
    del server.files["/klwiki/20261101/klwiki-20261101-p4.xml.bz2"]

    with pytest.raises(MissingError, match="p4"):
        fetch()

    assert "klwiki-20261101.lock.json" not in names(tmp_path)
    assert all(parts[n] == (tmp_path / n).read_bytes() for n in names(tmp_path) if n in parts)


def test_whole_files_are_kept_and_damaged_ones_fetched_anew(server, fetch, tmp_path):
    parts = {f"klwiki-20261101-p{n}.xml.bz2": bytes([n]) * 999 for n in range(3)}
    server.add_run("klwiki", "20261101", parts)
    before = fetch().read_bytes()
    damaged = "klwiki-20261101-p1.xml.bz2"
    (tmp_path / damaged).write_bytes(b"?" * 999)
    server.asked.clear()

    after = fetch().read_bytes()

    assert after == before
    assert [path for path, _ in server.asked if path.endswith(".bz2")] == [
        f"/klwiki/20261101/{damaged}"
    ]
    assert (tmp_path / damaged).read_bytes() == parts[damaged]


def test_what_is_whole_by_its_lock_needs_no_server(server, fetch):
    fetch()
    server.files.clear()
    server.asked.clear()

    fetch(date="20261101")

    assert server.asked == []


def test_a_lock_of_other_files_does_not_count(fetch, tmp_path):
    fetch()

    fetch(date="20261101", exclude=())

    assert (tmp_path / INDEX).read_bytes() == b"0:1:A"


def test_a_damaged_lock_is_an_error(fetch, tmp_path):
    (tmp_path / "klwiki-20261101.lock.json").write_text("{", "utf-8")

    with pytest.raises(DamagedDatasetError, match="lock"):
        fetch(date="20261101")


def test_what_came_of_a_run_that_was_made_again_is_thrown_away(server, fetch, tmp_path):
    server.faults[PATH] = [Fault(cut_after=70_000), Fault(404)]
    with pytest.raises(MissingError):
        fetch()
    assert len(list(tmp_path.glob(".*.partial"))) == 1
    server.add_run("klwiki", "20261101", {NAME: b"other bytes"})
    server.asked.clear()

    fetch()

    assert (tmp_path / NAME).read_bytes() == b"other bytes"
    assert server.asked_for(NAME) == [None]
    assert not list(tmp_path.glob(".*.partial"))


def test_two_downloads_into_one_folder_are_refused(fetch, tmp_path):
    with _hold(tmp_path), pytest.raises(FolderInUseError):
        fetch()


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
        {"connections": 3},
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


def test_too_little_room_is_an_error_before_anything_is_fetched(
    server, fetch, tmp_path, monkeypatch
):
    free = os.statvfs(tmp_path)
    full = type("Usage", (), {"free": free.f_frsize})
    monkeypatch.setattr("corpora.wikipedia.download.shutil.disk_usage", lambda _: full)

    with pytest.raises(CorpusError, match="MB are free"):
        fetch()

    assert server.asked_for(NAME) == []


def test_a_full_disk_is_a_clear_error_and_the_next_download_goes_on(server, tmp_path):
    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = start(server, tmp_path, stderr=subprocess.PIPE, preexec_fn=limit_file_size)
    _, errors = process.communicate()

    assert process.returncode == 1
    assert b"File too large" in errors.splitlines()[-1]
    assert not any(name.startswith("klwiki") for name in names(tmp_path))
    assert start(server, tmp_path, stderr=subprocess.DEVNULL).wait() == 0
    assert (tmp_path / NAME).read_bytes() == DATA


@pytest.mark.parametrize("to", ["file:///etc/passwd", "http://[", "ftp://127.0.0.1/x"])
def test_redirects_lead_to_no_files_of_this_machine(to, server, fetch):
    server.faults["/klwiki/"] = [Fault(302, {"Location": to})] * 20

    with pytest.raises(DownloadError):
        fetch()


def test_redirects_to_other_servers_are_followed(server, fetch, tmp_path):
    server.files["/elsewhere"] = DATA
    server.faults[PATH] = [Fault(302, {"Location": f"{server.url}/elsewhere"})]

    fetch()

    assert (tmp_path / NAME).read_bytes() == DATA


def test_dates_are_read_from_the_listings_of_servers():
    nginx = '<a href="../">../</a>\n<a href="20261101/">20261101/</a> 01-Nov-2026 -'
    wikimedia = '<li><a href="20261020/">20261020/</a></li> <a HREF="/dawiki/20261001">x</a>'
    other = '<a href="latest/">latest/</a> 20250101 <a href="20260101-x/">'

    assert find_dates(nginx + wikimedia + other) == ["20261101", "20261020", "20261001"]


@pytest.mark.parametrize("size", [0, -5, 1.5, True, "9", None, 2**63, 10**400])
def test_sizes_that_no_file_has_are_errors(size, server, fetch, tmp_path):
    status = "/klwiki/20261101/dumpstatus.json"
    about = json.loads(server.files[status])
    about["jobs"]["articlesmultistreamdump"]["files"][NAME]["size"] = size
    server.files[status] = json.dumps(about).encode()

    with pytest.raises(CorpusError):
        fetch()

    assert names(tmp_path) == set()


def test_a_page_instead_of_the_file_takes_nothing_away_that_has_come(server, fetch, tmp_path):
    partial = tmp_path / f".{NAME}.{SHA1[:16]}.partial"
    partial.write_bytes(DATA[:250_000])
    server.files["/login"] = b"Please pay for the network."
    server.faults[PATH] = [Fault(302, {"Location": f"{server.url}/login"})] * 20
    server.ignores_ranges = True

    with pytest.raises(DownloadError, match="has 27 bytes"):
        fetch()

    assert partial.read_bytes() == DATA[:250_000]


@pytest.mark.parametrize("mirror", ["http://127.0.0.1:port", "http://127.0.0.1/a b"])
def test_an_address_that_is_none_is_not_asked_again(mirror, fetch, slept):
    with pytest.raises(DownloadError, match="leads to no address"):
        fetch(mirror=mirror)

    assert slept == []


def test_half_a_lock_that_a_kill_left_goes_with_the_next_run(fetch, tmp_path):
    (tmp_path / ".tmp-1-klwiki-20261101.lock.json").touch()

    lock = fetch()

    assert names(tmp_path) == {lock.name, NAME}
