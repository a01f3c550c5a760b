"""Transfers that are cut, damaged or led elsewhere, over real HTTP."""

import json

import pytest

from corpora.errors import CorpusError
from corpora.wikipedia.fetching import DownloadError, WrongHashError
from tests.corpora.wikipedia.download.one_dump import DATA, NAME, PATH, SHA1, names
from tests.corpora.wikipedia.dump_server import Fault
from tests.file_operations import recorded


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

    with pytest.raises(DownloadError, match=r"has 300,004 bytes, but 300,000 were promised"):
        fetch()

    assert not any(name.startswith("klwiki") for name in names(tmp_path))


@pytest.mark.parametrize("to", ["file:///etc/passwd", "http://[", "ftp://127.0.0.1/x"])
def test_redirects_lead_only_to_the_web_and_are_refused_at_once(to, server, fetch, slept):
    server.faults["/klwiki/"] = [Fault(302, {"Location": to})] * 20

    with pytest.raises(DownloadError):
        fetch()

    assert slept == []


def test_redirects_to_other_servers_are_followed(server, fetch, tmp_path):
    server.files["/elsewhere"] = DATA
    server.faults[PATH] = [Fault(302, {"Location": f"{server.url}/elsewhere"})]

    fetch()

    assert (tmp_path / NAME).read_bytes() == DATA


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


def test_a_file_is_on_the_disk_before_it_has_its_name_and_listed_after(fetch, tmp_path):
    with recorded(tmp_path) as operations:
        lock = fetch()

    steps = [(operation.name, operation.path) for operation in operations]
    named = steps.index(("rename", tmp_path / NAME))
    assert steps[named - 1] == ("fsync", operations[named].source)
    assert steps[named + 1] == ("fsync", tmp_path)
    assert steps[-2:] == [("rename", lock), ("fsync", tmp_path)]
