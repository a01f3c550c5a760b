"""A refresh with --reuse is a full rebuild, byte for byte, whatever was edited."""

import bz2
import re
import shutil
from dataclasses import replace
from hashlib import sha256
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.datasets.shards import open_dataset
from corpora.errors import CorpusError
from corpora.store.inspection import main as shards
from corpora.store.versions import publish
from pipelines.wikipedia_to_documents import main
from tests.corpora.wikipedia.small_wiki import NAMES, Page, SmallWiki, article
from tests.pipelines.reuse.small_refreshes import (
    EDITS,
    N_DOCUMENTS,
    WIKI,
    account,
    cut_small,
    files_of,
    refresh,
    renamed,
    reused,
    run,
)

pytestmark = pytest.mark.usefixtures("without_runner")


@pytest.mark.parametrize("name", EDITS)
def test_refresh_after_an_edit_is_a_full_rebuild(name, earlier, tmp_path):
    edit, n_read, n_again = EDITS[name]
    wiki = edit(WIKI)

    counts = refresh(wiki, earlier, tmp_path, "--max-reject-rate", 1)

    found = account(tmp_path / "new")
    n_documents = found["written"] + found["rejected"].get("duplicate_id", 0)
    assert counts["taken over"] == n_documents - n_read
    assert counts.get("resolved again", 0) == n_again


def test_refreshes_of_refreshes_are_full_rebuilds(earlier, tmp_path):
    wiki, old = WIKI, earlier
    steps = (
        "page changed",
        "redirect to an article",
        "page renamed",
        "redirect in a chain retargeted",
    )

    for number, name in enumerate(steps):
        wiki = EDITS[name][0](wiki)
        counts = refresh(wiki, old, tmp_path / str(number))
        old = tmp_path / str(number) / "new"
        assert counts["taken over"] >= N_DOCUMENTS - 2
    back = wiki.edit("Kahn", text="Kutter", is_redirect=True).edit("Hafenbecken", title="Haf")
    counts = refresh(back, old, tmp_path / "back")

    assert counts["taken over"] == N_DOCUMENTS - 1
    assert counts["resolved again"] > 0


TITLES = st.sampled_from((*NAMES[:6], "Mühle", "Kahn", "Neu"))


@st.composite
def pages(draw, number):
    """Draw a page: article, redirect, page of meanings, of another namespace, or empty.

    Its id may be that of another page.
    """
    id = draw(st.sampled_from((number, number, number, 3)))
    page = Page(id, draw(TITLES), "", draw(st.integers(1, 3)))
    kind = draw(st.sampled_from(("article",) * 4 + ("redirect",) * 3 + ("meanings", "empty", "ns")))
    if kind == "redirect":
        return replace(page, text=draw(TITLES), is_redirect=True)
    if kind == "meanings":
        return replace(page, text=f"* [[{draw(TITLES)}]]\n{{{{Begriffsklärung}}}}")
    if kind == "empty":
        return page
    links = tuple(draw(st.lists(TITLES, max_size=3)))
    text = article(len(links), links, seed=draw(st.integers(0, 1)))
    return replace(page, text=text, namespace=10 if kind == "ns" else 0)


@st.composite
def dumps(draw):
    """Draw the dump of a few pages in any order, whose links, titles and ids meet.

    The page with the id 5 may be damaged.
    """
    numbers = draw(st.permutations(range(draw(st.integers(1, 9)))))
    some = [draw(pages(number)) for number in numbers]
    xml = SmallWiki((*some, Page(90, "Immer", article(1, ("Mühle", "Kahn", "Korn"))))).dump()
    return xml.replace("<id>5</id>", draw(st.sampled_from(("<id>5</id>", "<id>5</oops>"))))


@given(st.lists(dumps(), min_size=2, max_size=3), st.sampled_from(["article", "off"]))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_refresh_of_any_wiki_is_a_full_rebuild(tmp_path_factory, wikis, augment):
    folder = tmp_path_factory.mktemp("any")
    old = folder / "old"
    options = ("--augment", augment, "--max-reject-rate", 1)
    assert run(wikis[0], old, *options) == 0

    for number, wiki in enumerate(wikis[1:]):
        counts = refresh(wiki, old, folder / str(number), *options)
        assert counts["taken over"] >= 1
        old = folder / str(number) / "new"
    shutil.rmtree(folder)


@pytest.mark.parametrize("options", [("--disambiguation", "drop"), ("--limit", 9)])
def test_refresh_with_options_is_a_full_rebuild(options, tmp_path):
    assert run(WIKI, tmp_path / "old", *options, month=10) == 0

    counts = refresh(EDITS["page renamed"][0](WIKI), tmp_path / "old", tmp_path, *options)

    assert counts["taken over"] > 5


@pytest.mark.parametrize("range_bytes", [2500, 5000, 100_000])
def test_units_and_batches_may_be_cut_elsewhere(range_bytes, earlier, tmp_path, monkeypatch):
    cut_small(monkeypatch, range_bytes=range_bytes, batch=range_bytes)

    counts = refresh(EDITS["page in the middle new"][0](WIKI), earlier, tmp_path)

    assert counts["taken over"] == N_DOCUMENTS


def test_dump_may_be_compressed_and_lie_in_several_files(earlier, tmp_path):
    head, *pages = renamed(WIKI).dump().replace("</mediawiki>\n", "").split("  <page>")
    (tmp_path / "in").mkdir()
    for number in range(2):
        some = "".join(f"  <page>{page}" for page in pages[number::2])
        file = tmp_path / "in" / f"kleinwiki-{number}.xml.bz2"
        file.write_bytes(bz2.compress(f"{head}{some}</mediawiki>\n".encode()))
    command = ["--input", str(tmp_path / "in"), "--output"]

    assert main([*command, str(tmp_path / "full")]) == 0
    assert main([*command, str(tmp_path / "new"), "--reuse", str(earlier)]) == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new")["taken over"] == N_DOCUMENTS - 1


def test_page_that_cannot_be_read_is_rejected_as_ever(earlier, tmp_path):
    xml = WIKI.dump().replace("<id>17</id>", "<id>17</oops>")

    counts = refresh(xml, earlier, tmp_path, "--max-reject-rate", 1)

    assert counts["taken over"] == N_DOCUMENTS - 1
    assert account(tmp_path / "new")["rejected"] == {"malformed_xml": 1}


def test_rows_are_checked_and_reported(earlier, tmp_path, capsys):
    refresh(EDITS["redirect removed"][0](WIKI), earlier, tmp_path)
    said = capsys.readouterr().out

    assert "21 documents taken over; in 4 of them links lead elsewhere now" in said
    assert shards(["verify", "--rows", str(tmp_path / "new")]) == 0
    n_led = open_dataset(tmp_path / "new" / "documents").description["counters"]["redirects.links"]
    report = (tmp_path / "new" / "report.md").read_text("utf-8")
    assert f"{n_led} links were led on by a redirect." in report


def test_notes_stand_beside_the_documents_they_are_of(earlier):
    xml = {page.id: page.xml().strip().encode() for page in WIKI.pages}

    documents = open_dataset(earlier / "documents", "documents")
    notes = open_dataset(earlier / "reuse", "reuse")

    assert [shard.rows for shard in notes.shards] == [shard.rows for shard in documents.shards]
    for row, note in zip(documents.rows(), notes.rows(), strict=True):
        assert note["id"] == row["id"]
        assert note["xml"] == sha256(xml[int(row["id"].partition(":")[2])]).hexdigest()[:32]
        assert note["characters"] == len(row["text"])
        counters = {pair["key"]: pair["value"] for pair in note["counters"]}
        links = [m["entity"] for m in row["mentions"] if m["origin"] == "link"]
        assert counters["links.mentions"] == len(links)
        for led in note["led_on"]:
            assert led["title"] in {"Mühle", "Mühlen", "Kahn"}
            assert links[led["link"]] in {"kleinwiki:Bockmühle", "kleinwiki:Kutter"}


def test_refresh_and_full_rebuild_are_one_version_in_a_store(earlier, tmp_path):
    refresh(renamed(WIKI), earlier, tmp_path)
    shelf = tmp_path / "store" / "kleinwiki"

    published = publish(tmp_path / "new", shelf)

    assert publish(tmp_path / "full", shelf) == published
    with pytest.raises(CorpusError, match="a version never changes"):
        publish(earlier, shelf, version=published.name)


@pytest.mark.realdata
def test_refresh_of_a_complete_wiki_is_a_full_rebuild(realdata, tmp_path, monkeypatch):
    cut_small(monkeypatch, range_bytes=500_000, batch=200_000)
    dump = bz2.decompress(
        (realdata("wiki-dumps") / "ltgwiki-latest-pages-articles.xml.bz2").read_bytes()
    ).decode()
    options = ("--blocks", "tables,infoboxes,references,math", "--expand-templates")
    assert run(dump, tmp_path / "old", *options, month=10) == 0
    numbers = count()
    edited = re.sub(
        "</text>", lambda m: f" [[Reiga]] {m[0]}" if not next(numbers) % 40 else m[0], dump
    )
    removed = re.sub(
        r"  <page>\n    <title>[^<]*a</title>.{,200}?<redirect.*?</page>\n",
        "",
        edited,
        flags=re.DOTALL,
    )

    counts = refresh(removed, tmp_path / "old", tmp_path, *options)

    assert counts["taken over"] > 0.9 * account(tmp_path / "old")["written"]
    assert counts["resolved again"] > 0
