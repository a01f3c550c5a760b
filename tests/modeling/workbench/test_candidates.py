"""Candidates for linking: of a vocabulary, and of a reconciliation service that is asked for."""

import asyncio
import io
from types import SimpleNamespace
from urllib.error import URLError

import httpx
import pytest
from fastapi import FastAPI

from corpora.errors import UsageError
from corpora.tei.edition import edition_path, load_edition
from modeling.serve.entries import EntryIndex
from modeling.serve.reconciliation import routes
from modeling.workbench import candidates, finding
from modeling.workbench.__main__ import Options
from modeling.workbench.candidates import DatasetVocabulary, Reconciled
from tests.modeling.serve.test_reconciliation import write_vocabulary
from tests.modeling.workbench.sample import DATA

ADDRESS = "http://127.0.0.1:8001/reconcile"


@pytest.fixture
def asked(monkeypatch):
    """Let the standard library ask our own service over the sample's registers.

    Returns the list of the bodies that were sent.
    """
    app, bodies = FastAPI(), []
    entries = EntryIndex.open([str(DATA / "register" / "*.xml")])
    app.include_router(routes(entries, space="https://d-nb.info/gnd"))

    def urlopen(request, timeout):
        assert timeout < 60
        bodies.append(request.data)

        async def ask():
            transport = httpx.ASGITransport(app=app)
            headers = dict(request.header_items())
            async with httpx.AsyncClient(transport=transport) as client:
                method, url = request.get_method(), request.full_url
                return await client.request(method, url, content=request.data, headers=headers)

        return io.BytesIO(asyncio.run(ask()).raise_for_status().content)

    monkeypatch.setattr(candidates, "opener", lambda: SimpleNamespace(open=urlopen))
    return bodies


@pytest.fixture
def edition():
    return load_edition(edition_path("tei"))


def test_a_service_proposes_ids_as_the_edition_reads_them_and_is_asked_once(asked, edition):
    service = Reconciled(ADDRESS, edition)

    [first, *_] = service.find("Theodor Brackwehl", label="person")
    again = service.find("Theodor Brackwehl ", label="person")

    assert (first["entity"], first["name"]) == ("gnd:p2", "Brackwehl, Theodor")
    assert "person" in first["about"]
    assert again[0] == first
    assert service.about("gnd:p2") == first
    assert len(asked) == 2  # the manifest, and the words
    assert b"Brackwehl" in asked[1]


def test_a_service_that_is_away_leaves_the_others_be(desk, edition, monkeypatch):
    def urlopen(*_, **__):
        raise URLError("Connection refused")

    monkeypatch.setattr(candidates, "opener", lambda: SimpleNamespace(open=urlopen))
    desk.sources = (*desk.sources, Reconciled(ADDRESS, edition))

    found = finding.entries(desk, "", form="Fräulein Lindenrot", label="person", source="0")
    away = finding.entries(desk, "", form="Fräulein Lindenrot", label="person", source="1")

    assert found["entries"][0]["entity"] == "letters:p1"
    assert away["entries"] == []
    assert away["error"] == "127.0.0.1: does not answer (Connection refused)."
    assert finding.entries(desk, "", form="x", label="", source="../2") == {"entries": []}


@pytest.mark.parametrize(
    "answer",
    [b"<html>", b"[]", b'{"q": {"result": [{"name": 1}]}}', b"{}", b"[" * 100_000, b"9" * 5000],
    ids=["page", "list", "no id", "nothing", "deep", "digits"],
)
def test_what_is_no_reconciliation_service_is_reported(answer, edition, monkeypatch):
    opened = SimpleNamespace(open=lambda *_, **__: io.BytesIO(answer))
    monkeypatch.setattr(candidates, "opener", lambda: opened)

    with pytest.raises(candidates.CorpusError, match="as a reconciliation service does"):
        Reconciled(ADDRESS, edition).find("Ulm", label="place")


def test_a_vocabulary_proposes_entities_by_form(tmp_path):
    vocabulary = DatasetVocabulary(write_vocabulary(tmp_path))

    found = vocabulary.find("Berlin", label="place")

    assert [one["entity"] for one in found] == ["dawiki:Berlin_(by)", "dawiki:Berlin_(Ohio)"]
    assert vocabulary.about(found[0]["entity"]) == found[0]
    assert vocabulary.about("letters:p1") is None


def test_only_an_address_of_the_web_is_asked(edition):
    for address in ("file:///etc/passwd", "ftp://example.org", "lobid.org", "https://"):
        with pytest.raises(UsageError, match="must begin with"):
            Reconciled(address, edition)
    with pytest.raises(UsageError, match="--reconcile"):
        Options(tei=("a.xml",), edition="tei", page="review.html", reconcile=(ADDRESS,))
