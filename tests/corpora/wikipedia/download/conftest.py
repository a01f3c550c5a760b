"""A mirror on loopback with one run, and a download that notes its pauses and does not sleep."""

import pytest

from corpora.wikipedia.download import Order, download
from corpora.wikipedia.fetching import HttpClient
from tests.corpora.wikipedia.download.one_dump import DATA, INDEX, NAME
from tests.corpora.wikipedia.dump_server import serve


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
        client = HttpClient("a@b.org", said.append, sleep=slept.append)
        return download(Order(**order | settings), client)[0]

    return fetch
