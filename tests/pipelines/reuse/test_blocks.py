"""A refresh with --reuse of a wiki whose tables, infoboxes, references and formulas are kept."""

import json
import shutil
from dataclasses import replace

import pytest

from corpora.datasets.forgetting import UNREAD, hash_of
from corpora.datasets.shards import open_dataset
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki
from tests.pipelines.reuse.small_refreshes import EDITS, N_DOCUMENTS, WIKI, cut_small, refresh, run

pytestmark = pytest.mark.usefixtures("without_runner")
ALL = ("--blocks", "tables,infoboxes,references,math", "--max-reject-rate", 1)
BESIDE = """{{Ort
| Name = [[Mühle]]
| Lage = [[Kahn#Heck|am Kahn]]<ref name="a">Im [[Netz]], {{Werk|Titel=Rot|Autor=[[Kahn]]}}.</ref>
| Zahl = <math>x_1</math>
}}
{| class="wikitext"
! Ort !! Mehl
|-
| [[Rotlink]] || [[Windrad]]
|-
| {| class="inner"
| [[Mühlen]]
|} || <ref name="a"/>
|}
"""


def with_blocks(wiki):
    """Give blocks to the articles with odd ids."""
    return replace(
        wiki,
        pages=tuple(
            replace(page, text=BESIDE + page.text)
            if page.id % 2 and not page.is_redirect and page.namespace == 0 and page.text
            else page
            for page in wiki.pages
        ),
    )


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch)
        output = tmp_path_factory.mktemp("earlier") / "out"
        assert run(with_blocks(WIKI), output, *ALL, month=10) == 0
    return output


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "page changed",
        "page renamed",
        "page twice, the first another",
        "pages in another order",
        "redirect new",
        "redirect in a chain retargeted",
        "redirect to an article",
        "loop closed",
    ],
)
def test_refresh_with_blocks_is_a_full_rebuild(name, earlier, tmp_path):
    edit, n_read, _ = EDITS[name]

    counts = refresh(edit(with_blocks(WIKI)), earlier, tmp_path, *ALL)

    assert counts["taken over"] >= N_DOCUMENTS - 1 - n_read
    links = {
        mention["entity"].partition(":")[2]
        for block in open_dataset(tmp_path / "new" / "blocks").rows()
        for mention in block["mentions"]
    }
    assert {"Windrad", "Netz"} < links
    assert ("Torf" in links) == (name == "redirect new")  # to which Rotlink leads then


def test_refreshes_of_refreshes_with_blocks_are_full_rebuilds(earlier, tmp_path):
    wiki, old = with_blocks(WIKI), earlier

    for number, name in enumerate(("redirect in a chain retargeted", "redirect new", "nothing")):
        wiki = EDITS[name][0](wiki)
        assert refresh(wiki, old, tmp_path / str(number), *ALL)["taken over"] == N_DOCUMENTS
        old = tmp_path / str(number) / "new"


@pytest.mark.parametrize("range_bytes", [2500, 100_000])
def test_units_and_batches_may_be_cut_elsewhere(range_bytes, earlier, tmp_path, monkeypatch):
    cut_small(monkeypatch, range_bytes=range_bytes, batch=range_bytes)

    counts = refresh(with_blocks(WIKI), earlier, tmp_path, *ALL)

    assert counts["taken over"] == N_DOCUMENTS


def test_other_kinds_of_blocks_are_read_again(earlier, tmp_path, caplog):
    assert refresh(with_blocks(WIKI), earlier, tmp_path, "--blocks", "tables") == {}

    assert "Others than then are: parameters (blocks)." in caplog.text


@pytest.mark.parametrize("damage", ["flipped", "gone"])
def test_damaged_shard_of_blocks_is_not_used(damage, earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / "blocks" / "shard-00001.arrow"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    if damage == "gone":
        file.unlink()
    lost = open_dataset(earlier / "documents").shards[1].rows

    counts = refresh(with_blocks(WIKI), tmp_path / "old", tmp_path, *ALL)

    assert counts["taken over"] == N_DOCUMENTS - lost > 0
    said = capsys.readouterr().out
    assert "not used because they are damaged: blocks/shard-00001.arrow;" in said


def test_blocks_of_another_run_are_an_error(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / "blocks" / "dataset.json"
    file.write_text(file.read_text("utf-8").replace("kleinwiki", "grosswiki", 1), "utf-8")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old", *ALL) == 2

    assert "blocks/dataset.json: is damaged, or not of one run" in capsys.readouterr().err


def test_page_of_which_a_block_named_what_is_forgotten_is_read_again(tmp_path):
    row = {"sha256": hash_of("entity", "kleinwiki:Bockmühle")}
    listed = tmp_path / "forgotten.json"
    listed.write_text(json.dumps({"forgotten": [row]}), "utf-8")
    options = (*ALL, "--forgotten", listed)
    pages = (
        Page(90, "Watt", "[[Korn]]\n{|\n| [[Mühle]] || [[Kahn]]\n|}"),
        Page(91, "Priel", "[[Korn]]\n{|\n| [[Kahn]]\n|}"),
    )
    wiki = SmallWiki((*pages, WIKI.page("Mühle"), WIKI.page("Kahn")))
    assert run(wiki, tmp_path / "old", *options, month=10) == 0

    counts = refresh(wiki, tmp_path / "old", tmp_path, *options)

    watt, priel = open_dataset(tmp_path / "old" / "reuse").rows()
    assert (watt["xml"], watt["blocks_led_on"]) == (UNREAD, None)
    assert [led["title"] for led in priel["blocks_led_on"]] == ["Kahn"]
    assert counts["taken over"] == 1
    entities = [
        [mention["entity"] for mention in block["mentions"]]
        for block in open_dataset(tmp_path / "new" / "blocks").rows()
    ]
    assert entities == [["kleinwiki:Kutter"]] * 2
