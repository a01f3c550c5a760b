"""A refresh with --reuse is a full rebuild, byte for byte, whatever was edited or breaks."""

import bz2
import json
import os
import re
import shutil
from dataclasses import replace
from hashlib import sha256
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import corpora.plan
import pipelines.run
import pipelines.work
from corpora.errors import CorpusError
from corpora.inspection import main as shards
from corpora.schemas import SCHEMAS
from corpora.shards import open_dataset, read_batches
from corpora.store import publish
from pipelines import wikipedia_to_documents
from pipelines.wikipedia_to_documents import main
from tests.corpora.wikipedia.small_wiki import NAMES, Page, SmallWiki, article

WIKI = SmallWiki()
N_DOCUMENTS = len(NAMES) + 1
beam = pipelines.run._work_in_beam


def in_this_process(work, _, *, folder, workers=None):  # noqa: ARG001
    """Do the tasks one after the other: what Beam does, without its second of work."""
    assert folder.is_dir()
    for tasks, merge in work:
        for task in tasks:
            pipelines.work.do_unit(task)
        if merge:
            pipelines.work.do_merge(merge)


def cut_small(patch, *, range_bytes=5000, batch=1500):
    """Cut a small dump into several units, and these into several batches."""
    patch.setattr(wikipedia_to_documents, "RANGE_BYTES", (range_bytes, range_bytes))
    patch.setattr(wikipedia_to_documents, "BATCH_CHARACTERS", batch)
    patch.setattr(pipelines.run, "_work_in_beam", in_this_process)
    patch.setattr(os, "fsync", lambda _: None)  # no power cut is tested here


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    cut_small(monkeypatch)


def run(wiki, output, *options, month=11):
    """Write the dump of a wiki, and make documents of it."""
    dump = output.parent / f"kleinwiki-2026{month}01-pages-articles.xml"
    dump.write_text(wiki if isinstance(wiki, str) else wiki.dump(), encoding="utf-8")
    return main(["--input", str(dump), "--output", str(output), *map(str, options)])


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """What the month before was made."""
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch)
        output = tmp_path_factory.mktemp("earlier") / "out"
        assert run(WIKI, output, month=10) == 0
    return output


def files_of(output):
    """The bytes of all published files; of ``run.json`` all but what was taken over."""
    paths = [p for p in output.rglob("*") if p.is_file() and ".build" not in p.parts]
    files = {p.relative_to(output).as_posix(): p.read_bytes() for p in paths if p.name != ".lock"}
    about = json.loads(files["run.json"])
    about.pop("reused", None)
    return files | {"run.json": about}


def reused(output):
    return json.loads((output / "run.json").read_text("utf-8")).get("reused", {})


def rows_of(output):
    return open_dataset(output / "documents").rows()


def texts_of(file):
    """The texts in a shard that is passed on between the stages."""
    return [
        text
        for batch in read_batches(file, SCHEMAS["wiki_pages"], columns=("text",))
        for text in batch.column("text").to_pylist()
    ]


def account(output):
    return open_dataset(output / "documents").description["accounting"]


def refresh(wiki, old, folder, *options):
    """Make documents of a wiki in both ways, which must not differ; returns what was taken over."""
    folder.mkdir(exist_ok=True)
    assert run(wiki, folder / "full", *options) == 0
    assert run(wiki, folder / "new", "--reuse", old, *options) == 0

    assert files_of(folder / "new") == files_of(folder / "full")
    return reused(folder / "new")


def renamed(wiki):
    """As MediaWiki does it: the page keeps its id, a redirect with a new one stays behind."""
    return wiki.edit("Hafen", title="Hafenbecken").plus(
        Page(70, "Hafen", "Hafenbecken", is_redirect=True)
    )


# name: (edit, documents that are read, documents whose links lead elsewhere)
EDITS = {
    "nothing": (lambda w: w, 0, 0),
    "page changed": (lambda w: w.edit("Korn", text=article(3, ("Mehl", "Kahn"))), 1, 0),
    "text changed, revision kept": (
        lambda w: w.edit("Korn", text=article(3, ("Mehl",)), revision=w.page("Korn").revision),
        1,
        0,
    ),
    "revision changed, text kept": (lambda w: w.edit("Korn"), 1, 0),
    "page renamed": (renamed, 1, 3),
    "page deleted": (lambda w: w.without("Deich"), 0, 0),
    "page new": (lambda w: w.plus(Page(80, "Schleuse", article(9, ("Mühlen", "Netz")))), 1, 0),
    "page in the middle new": (
        lambda w: replace(w, pages=(*w.pages[:7], Page(80, "Watt", "[[Kahn]]"), *w.pages[7:])),
        1,
        0,
    ),
    "pages in another order": (lambda w: replace(w, pages=w.pages[::-1]), 0, 0),
    "redirect new": (lambda w: w.plus(Page(81, "Rotlink", "Torf", is_redirect=True)), 0, 4),
    "redirect new, for nobody": (lambda w: w.plus(Page(81, "X", "Torf", is_redirect=True)), 0, 0),
    "redirect removed": (lambda w: w.without("Kahn"), 0, 4),
    "redirect retargeted": (lambda w: w.edit("Kahn", text="Netz"), 0, 4),
    "redirect in a chain retargeted": (lambda w: w.edit("Mühle", text="Windrad"), 0, 8),
    "redirect to a section": (lambda w: w.edit("Kahn", text="Kutter#Liste"), 0, 0),
    "redirect to another wiki": (lambda w: w.edit("Kahn", text="en:Boat"), 0, 4),
    "loop closed": (lambda w: w.edit("Mühle", text="Mühlen"), 0, 8),
    "loop opened": (lambda w: w.edit("Schlaufe", text="Netz"), 0, 4),
    "redirect to an article": (
        lambda w: w.edit("Kahn", text=article(8, ("Kutter",)), is_redirect=False),
        1,
        4,
    ),
    "article to a redirect": (lambda w: w.edit("Netz", text="Reuse", is_redirect=True), 0, 2),
    "page of meanings": (
        lambda w: w.edit("Korn", text="* [[Mehl]]\n{{Begriffsklärung}}"),
        1,
        0,
    ),
    "page emptied": (lambda w: w.edit("Korn", text=""), 0, 0),
    "page to another namespace": (
        lambda w: w.edit("Korn", title="Vorlage:Korn", namespace=10),
        0,
        0,
    ),
    "page twice": (lambda w: w.plus(w.page("Moor")), 0, 0),
    "page twice, the first another": (
        lambda w: replace(w, pages=(replace(w.page("Moor"), text="Anders."), *w.pages)),
        1,
        0,
    ),
}


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
    """A page: article, redirect, of another namespace, empty, rejected; perhaps with a used id."""
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
    """The dump of a few pages in any order, whose links, titles and ids meet; some are damaged."""
    numbers = draw(st.permutations(range(draw(st.integers(1, 9)))))
    some = [draw(pages(number)) for number in numbers]
    xml = SmallWiki((*some, Page(90, "Immer", article(1, ("Mühle", "Kahn", "Korn"))))).dump()
    return xml.replace("<id>5</id>", draw(st.sampled_from(("<id>5</id>", "<id>5</oops>"))))


@given(st.lists(dumps(), min_size=2, max_size=3), st.sampled_from(["article", "off"]))
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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


@pytest.mark.parametrize(
    "options", [("--anchors", "on"), ("--disambiguation", "drop"), ("--limit", 9)]
)
def test_refresh_with_options_is_a_full_rebuild(options, tmp_path):
    assert run(WIKI, tmp_path / "old", *options, month=10) == 0

    counts = refresh(EDITS["page renamed"][0](WIKI), tmp_path / "old", tmp_path, *options)

    assert counts["taken over"] > 5


@pytest.mark.parametrize("range_bytes", [2500, 9000, 100_000])
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


def test_rows_are_checked_and_told_of(earlier, tmp_path, capsys):
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
    assert run(dump, tmp_path / "old", month=10) == 0
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

    counts = refresh(removed, tmp_path / "old", tmp_path)

    assert counts["taken over"] > 0.9 * account(tmp_path / "old")["written"]
    assert counts["resolved again"] > 0


# --- what must not be taken over


def check_nothing_is_taken(wiki, old, folder, *options):
    assert refresh(wiki, old, folder, *options) == {}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--augment", "off"), "parameters (augment)"),
        (("--license", "CC0-1.0"), "parameters (license)"),
        (("--templates", "my.toml"), "auxiliary (templates 0); parameters (n_tables)"),
    ],
)
def test_nothing_is_taken_over_with_other_options(
    options, what, earlier, tmp_path, caplog, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text('[render]\nFehlt = "{1}"\n', encoding="utf-8")

    check_nothing_is_taken(WIKI, earlier, tmp_path, *options)

    assert f"every page is read anew. Others than then are: {what}." in caplog.text


def test_nothing_is_taken_over_from_a_wiki_with_another_head(earlier, tmp_path, caplog):
    wiki = replace(WIKI, base="https://anders.wikipedia.org/wiki/Hauptseite")

    check_nothing_is_taken(wiki, earlier, tmp_path)

    assert "Others than then are: parameters (site)." in caplog.text


def test_nothing_is_taken_over_from_other_code(tmp_path, caplog, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(corpora.plan, "code_hash", lambda: "0" * 64)
        assert run(WIKI, tmp_path / "old", month=10) == 0

    check_nothing_is_taken(WIKI, tmp_path / "old", tmp_path)

    assert "Others than then are: code." in caplog.text


def test_run_without_hashes_is_an_error(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "reuse")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert "Build once without --reuse" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("old", ["nowhere", "new"])
def test_what_is_no_earlier_run_is_an_error(old, tmp_path, capsys):
    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / old) == 2

    assert f"--reuse {tmp_path / old}: " in capsys.readouterr().err


def test_datasets_of_two_runs_are_an_error(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    assert run(WIKI.without("Moor"), tmp_path / "other") == 0
    shutil.rmtree(tmp_path / "old" / "reuse")
    shutil.copytree(tmp_path / "other" / "reuse", tmp_path / "old" / "reuse")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert "not of one run" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["documents", "reuse"])
@pytest.mark.parametrize(
    "damage", [{"plan": None}, {"plan": "?"}, {"shards": []}, {"shards": [1, 2]}, {"version": None}]
)
def test_earlier_run_with_a_damaged_description_is_an_error(
    name, damage, earlier, tmp_path, capsys
):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / name / "dataset.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | damage), "utf-8")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert f"--reuse {file}: is damaged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "content", [None, "", "{}", '{"files": []}', '{"pipeline": "news_to_documents", "files": {}}']
)
def test_earlier_run_whose_list_of_files_is_damaged_is_an_error(content, earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / "run.json"
    file.unlink()
    if content is not None:
        file.write_text(content, "utf-8")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert "no complete run of wikipedia_to_documents is there" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["documents/shard-00001.arrow", "reuse/shard-00001.arrow"])
@pytest.mark.parametrize("damage", ["flipped", "cut off", "gone"])
def test_damaged_shard_is_not_used(name, damage, earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data if damage == "flipped" else data[:999])
    if damage == "gone":
        file.unlink()
    lost = open_dataset(earlier / "documents").shards[1].rows

    counts = refresh(WIKI, tmp_path / "old", tmp_path)

    assert 0 < lost < 10
    assert counts["taken over"] == N_DOCUMENTS - lost
    assert f"WARNING of the earlier run, not used because they are damaged: {name};" in (
        capsys.readouterr().out
    )


# --- kills


def dies_after(n_units, work):
    """A stage that does some units, and then breaks."""
    left = iter(range(n_units))

    def die(unit, scratch):
        if next(left, None) is None:
            raise OSError(5, "the machine stops")
        return work(unit, scratch)

    return die


def interrupt(stage, n_units, *, wiki, output, options):
    with pytest.MonkeyPatch.context() as patch:
        work = getattr(wikipedia_to_documents, stage)
        patch.setattr(wikipedia_to_documents, stage, dies_after(n_units, work))
        assert run(wiki, output, *options) == 1


@pytest.mark.parametrize("stage", ["extract", "write"])
@pytest.mark.parametrize("then", ["the same", "without", "another"])
def test_interrupted_refresh_goes_on(stage, then, earlier, tmp_path):
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    assert run(EDITS["page changed"][0](WIKI), tmp_path / "another") == 0
    options = {"the same": earlier, "another": tmp_path / "another"}
    interrupt(stage, 3, wiki=wiki, output=tmp_path / "new", options=("--reuse", earlier))

    old = options.get(then)
    assert run(wiki, tmp_path / "new", *(("--reuse", old) if old else ())) == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new")["taken over"] > 2


def test_earlier_run_may_go_while_the_refresh_is_interrupted(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    options = ("--reuse", tmp_path / "old")
    interrupt("extract", 2, wiki=wiki, output=tmp_path / "new", options=options)
    shutil.rmtree(tmp_path / "old")

    assert run(wiki, tmp_path / "new", *options) == 2
    assert "Leave --reuse out" in capsys.readouterr().err
    assert run(wiki, tmp_path / "new") == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert 0 < reused(tmp_path / "new")["taken over"] < N_DOCUMENTS - 1


def test_earlier_run_may_go_between_the_stages(earlier, tmp_path):
    shutil.copytree(earlier, tmp_path / "old")
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    options = ("--reuse", tmp_path / "old")
    interrupt("write", 2, wiki=wiki, output=tmp_path / "new", options=options)
    between = [*(tmp_path / "new" / ".build").rglob("shards/pages/*.arrow")]
    n_characters = sum(len(t or "") for file in between for t in texts_of(file))
    shutil.rmtree(tmp_path / "old")

    assert run(wiki, tmp_path / "new") == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new")["taken over"] == N_DOCUMENTS - 1
    [read] = [row for row in rows_of(tmp_path / "new") if row["title"] == "Hafenbecken"]
    assert n_characters == len(read["text"])


def test_earlier_run_that_goes_during_the_refresh_is_not_used(earlier, tmp_path, monkeypatch):
    shutil.copytree(earlier, tmp_path / "old")
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    monkeypatch.setattr(
        pipelines.run,
        "_work_in_beam",
        lambda *work, **more: [shutil.rmtree(tmp_path / "old"), in_this_process(*work, **more)],
    )

    assert run(wiki, tmp_path / "new", "--reuse", tmp_path / "old") == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new").keys() == {"damaged: dataset.json", "taken over"}
    assert reused(tmp_path / "new")["taken over"] == 0


def test_damage_to_a_refresh_is_mended_in_any_way(earlier, tmp_path):
    wiki = renamed(WIKI)
    refresh(wiki, earlier, tmp_path)
    for options in ((), ("--reuse", earlier)):
        (tmp_path / "new" / "reuse" / "shard-00002.arrow").write_bytes(b"")

        assert run(wiki, tmp_path / "new", *options) == 0

        assert files_of(tmp_path / "new") == files_of(tmp_path / "full")


def test_refresh_by_two_workers_is_a_full_rebuild_by_one(earlier, tmp_path, monkeypatch):
    monkeypatch.setattr(pipelines.run, "_work_in_beam", beam)
    monkeypatch.setattr(wikipedia_to_documents, "BATCH_CHARACTERS", 1 << 20)  # as in the workers
    wiki = renamed(WIKI)

    assert run(wiki, tmp_path / "full") == 0
    assert run(wiki, tmp_path / "new", "--reuse", earlier, "--workers", 2) == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new") == {"resolved again": 3, "taken over": N_DOCUMENTS - 1}
