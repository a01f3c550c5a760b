"""Runs of rendered pages, of which a mirror has a listing, but no status and no hashes."""

import gzip
import json
import random

import pytest

from corpora.wikipedia.dump_status import NotCompleteError
from corpora.wikipedia.fetching import WrongHashError
from tests.corpora.wikipedia.download.one_dump import names
from tests.corpora.wikipedia.dump_server import Fault

DATA = gzip.compress(random.Random(2).randbytes(200_000), mtime=0)


@pytest.fixture
def name(server):
    server.add_html_run("otherwiki", "20261120", DATA)
    return server.add_html_run("klwiki", "20261101", DATA)


def test_the_newest_run_that_has_the_wiki_is_fetched(name, fetch, tmp_path, said):
    lock = json.loads(fetch(html=True).read_text("utf-8"))

    assert names(tmp_path) == {name, "klwiki-20261101.lock.json"}
    assert (tmp_path / name).read_bytes() == DATA
    assert lock["jobs"] == {"NS0": ""}
    assert [line for line in said if "passed over" in line and "20261120" in line]


def test_a_cut_transfer_resumes_and_what_is_whole_is_not_fetched_again(name, server, fetch):
    path = f"/other/enterprise_html/runs/20261101/{name}"
    server.faults[path] = [Fault(cut_after=70_000)]

    fetch(html=True)
    server.files[f"/other/enterprise_html/runs/20261101/{name}"] = b""
    fetch(html=True, date="20261101")

    assert server.asked_for(name) == [None, "bytes=70000-"]


@pytest.mark.parametrize("wrong", [DATA[:-9] + bytes(9), b"<html>no file</html>"])
def test_an_archive_that_is_not_whole_is_an_error_and_nothing_of_it_stays(
    wrong, server, fetch, tmp_path
):
    server.add_html_run("klwiki", "20261101", wrong)

    with pytest.raises(WrongHashError, match="is no whole archive"):
        fetch(html=True)

    assert names(tmp_path) == set()


def test_other_namespaces_are_asked_for_by_name(name, server, fetch, tmp_path):
    templates = server.add_html_run("klwiki", "20261101", DATA, namespace="NS10")

    fetch(html=True, jobs=("NS0", "NS10"))

    assert {name, templates} < names(tmp_path)


@pytest.mark.usefixtures("name")
def test_no_run_with_the_wiki_is_an_error(fetch):
    with pytest.raises(NotCompleteError, match=r"none of .*20261101 is complete with NS0"):
        fetch(html=True, wiki="nosuchwiki")
