"""A small wiki, written for this project, from dump to documents."""

import bz2
import gzip
import json
import lzma
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from corpora.store.inspection import main as shards
from corpora.wikipedia.ledger import links_add_up
from pipelines import wikipedia_to_documents
from pipelines.wikipedia_to_documents import Options, main, plan
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki
from tests.pipelines.interrupting import broken_after

DATA = Path(__file__).resolve().parents[1] / "data" / "wikipedia"
SAMPLE = DATA / "kleinwiki-20261101-pages-articles.xml"
COUNTS = tomllib.loads((DATA / "kleinwiki-expected.toml").read_text("utf-8"))["counts"]
pytestmark = pytest.mark.usefixtures("without_runner")


@pytest.fixture
def small_ranges(monkeypatch):
    """Cut even a small dump into several units."""
    monkeypatch.setattr(wikipedia_to_documents, "RANGE_BYTES", (9000, 9000))


def run(output, *options, input=SAMPLE):
    return main(["--input", str(input), "--output", str(output), *map(str, options)])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Read the sample as the command does without options; for tests that only look."""
    output = tmp_path_factory.mktemp("sample") / "out"
    assert run(output) == 0
    return output


def files_of(folder):
    """Return the bytes of all published files, by name."""
    paths = [p for p in folder.rglob("*") if p.is_file() and ".build" not in p.parts]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths if p.name != ".lock"}


def documents_of(folder):
    return list(open_dataset(folder / "documents", "documents").records())


def describe(folder, dataset="documents"):
    return json.loads((folder / dataset / "dataset.json").read_text("utf-8"))


def named_counters(folder):
    """Return the counters with a name in them; ``dataset.json`` must have none of these."""
    assert not [name for name in describe(folder)["counters"] if "/" in name]
    return json.loads((folder / "counters.json").read_text("utf-8"))


def test_every_page_is_accounted_for(out):
    account = describe(out)["accounting"]
    assert account["read"] == COUNTS["pages"]
    assert account["written"] == COUNTS["articles"] + COUNTS["disambiguation"]
    assert account["filtered"] == {
        "no_text": COUNTS["without_text"],
        "other_namespace": COUNTS["pages"] - COUNTS["namespaces"]["0"],
        "redirect": COUNTS["redirects"],
    }
    assert account["rejected"] == {}


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ((Page(1, "Spezial", "Text.", namespace=4),), "everything was filtered"),
        ((), "there is no record in the input"),
    ],
)
def test_a_dump_without_articles_is_a_warning(pages, why, tmp_path, capsys):
    (tmp_path / "dump.xml").write_text(SmallWiki(pages).dump(), "utf-8")

    assert run(tmp_path / "out", input=tmp_path / "dump.xml") == 0

    assert f"WARNING nothing was written: {why}." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("in_dump", "options", "said"),
    [
        ('xml:lang="da"', {"lang": "dn"}, "--lang dn: the dump is in da"),
        ("", {"lang": "dn", "wiki": "dawiki"}, "--lang dn: the dump is in da"),
        ('xml:lang="da"', {"lang": "dan"}, ""),
        ("", {"lang": "dn"}, ""),
        ('xml:lang="da"', {}, ""),
    ],
)
def test_a_language_that_differs_from_that_of_the_dump_is_a_warning(
    in_dump, options, said, tmp_path, caplog
):
    dump = SmallWiki().dump().replace('xml:lang="de"', in_dump)
    (tmp_path / "dump.xml").write_text(dump, "utf-8")

    plan(Options(input=(str(tmp_path / "dump.xml"),), output=tmp_path / "out", **options))

    warned = [message for message in caplog.messages if "--lang" in message]
    assert [message.partition(". ")[0] for message in warned] == [said] * bool(said)


def test_a_language_that_is_no_tag_is_refused(tmp_path, capsys):
    assert run(tmp_path / "out", "--lang", "Dansk") == 2

    assert "--lang Dansk: no tag of a language" in capsys.readouterr().err


def test_every_link_in_the_wikitext_is_accounted_for(out):
    counters = describe(out)["counters"]
    assert counters["links.in_wikitext"] == sum(COUNTS["brackets"].values())
    assert counters["links.mentions"] == counters["mentions.link"]
    assert links_add_up(counters)
    assert "The ledger adds up." in (out / "report.md").read_text("utf-8")


def test_links_name_the_page_behind_redirects(tmp_path):
    run(tmp_path / "out", "--augment", "off")

    entities = Counter(m.entity for d in documents_of(tmp_path / "out") for m in d.mentions)
    assert entities["kleinwiki:Bockwindmühle"] > 0
    assert entities["kleinwiki:Deutsche Windmühle"] == entities["kleinwiki:Bockmühle"] == 0


def test_redirects_are_resolved_and_loops_are_not(out):
    rows = {row["title"]: row for row in open_dataset(out / "redirects").rows()}
    assert len(rows) == COUNTS["redirects"]
    assert rows["Deutsche Windmühle"]["target"] == "Bockmühle"
    assert rows["Deutsche Windmühle"]["resolved"] == "Bockwindmühle"
    assert rows["Windmühlenflügel"]["section"] == "Flügel"
    assert rows["Kornmüller"]["resolved"] is None
    assert describe(out)["counters"]["redirects.loops"] == 2


def test_documents_carry_what_attribution_needs(out):
    [document] = [d for d in documents_of(out) if d.title == "Jette Holm"]
    assert document.url == "https://klein.wikipedia.org/wiki/Jette_Holm"
    assert document.license == "CC-BY-SA-4.0"
    assert re.fullmatch(r"\d+", document.revision)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document.timestamp)
    assert re.fullmatch(r"kleinwiki:\d+", document.id)


def test_titles_are_matched_outside_of_links(out):
    origins = Counter()
    for document in documents_of(out):
        end = 0
        for mention in document.mentions:
            assert mention.start >= end
            end = mention.end
            origins[mention.origin] += 1
            if mention.origin == "self_title":
                assert mention.entity == f"kleinwiki:{document.title}"
    assert origins["title_match"] > 20
    assert origins["self_title"] > 20


def test_disambiguation_pages_are_flagged_or_left_out(out, tmp_path):
    run(tmp_path / "dropped", "--disambiguation", "drop")

    kept = [d.title for d in documents_of(out) if d.metadata.get("disambiguation")]
    assert kept == ["Flanne"]
    assert "Flanne" not in [d.title for d in documents_of(tmp_path / "dropped")]
    assert describe(tmp_path / "dropped")["accounting"]["filtered"]["disambiguation"] == 1


def test_no_title_of_a_page_of_meanings_is_matched_though_links_lead_there(tmp_path):
    wiki = SmallWiki().edit("Korn", text="Korn nennt man:\n* [[Mehl]]\n{{Begriffsklärung}}")
    dump = tmp_path / "kleinwiki-20261101.xml"
    dump.write_text(wiki.edit("Kahn", text="Korn").dump(), "utf-8")

    assert run(tmp_path / "out", input=dump) == 0

    mentions = [m for d in documents_of(tmp_path / "out") for m in d.mentions]
    origins = Counter(m.origin for m in mentions if m.entity == "kleinwiki:Korn")
    assert set(origins) == {"link"}
    assert origins["link"] > 2
    assert Counter(m.origin for m in mentions)["title_match"] > 20


def test_pages_without_text_are_named(out):
    assert "no_text/Mühlgraben" in named_counters(out)
    assert "Without text (tables, templates, nothing): Mühlgraben." in (
        out / "report.md"
    ).read_text("utf-8")


def test_holes_are_where_something_dropped_out(out):
    holes = {
        document.title: [int(offset) for offset in document.metadata.get("holes", "").split()]
        for document in documents_of(out)
    }
    assert sum(map(len, holes.values())) > 0
    assert len(holes["Mühlstein"]) == 1


def test_the_report_begins_with_what_is_lost_and_names_templates_with_their_words(tmp_path):
    page = "Ein Satz mit [[Netz]].\n\n{{Zitat2|sechs Wörter [[Korn]] und 12 mehr}}\n"
    wiki = SmallWiki().plus(Page(90, "Zitat", page + "{|\n| a || [[Mehl]]\n|}\n"))
    dump = tmp_path / "kleinwiki-20261101.xml"
    dump.write_text(wiki.dump(), "utf-8")

    assert run(tmp_path / "out", input=dump) == 0

    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert report.index("## What is in the text, and what is not") < report.index("## Pages")
    assert re.search(r"\| words \| [\d,]+ \([\d.]+%\) \| 26 \(", report)
    assert "| Zitat2 | 6 | 1 | 0 |" in report
    documents = {d.title: d for d in documents_of(tmp_path / "out")}
    assert documents["Korn"].metadata["hole_names"] == "Fehlt"


@pytest.mark.usefixtures("small_ranges")
def test_workers_and_ranges_change_no_document(tmp_path):
    assert run(tmp_path / "one") == 0
    assert run(tmp_path / "two", "--workers", 2) == 0

    assert len(describe(tmp_path / "one")["shards"]) > 4
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def multistream(data):
    head, *pages = re.split(rb"(?=  <page>)", data)
    return b"".join(bz2.compress(part) for part in (head, *pages))


@pytest.mark.usefixtures("small_ranges")
@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".bz2", bz2.compress), (".bz2", multistream), (".gz", gzip.compress), (".xz", lzma.compress)],
)
def test_container_changes_no_document(suffix, compress, out, tmp_path):
    file = tmp_path / f"{SAMPLE.name}{suffix}"
    file.write_bytes(compress(SAMPLE.read_bytes()))

    assert run(tmp_path / "out", input=file) == 0

    packed, plain = map(documents_of, (tmp_path / "out", out))
    assert [(d.id, d.text, d.mentions) for d in packed] == [
        (d.id, d.text, d.mentions) for d in plain
    ]


def test_dump_that_ends_too_early_is_an_error(tmp_path, capsys):
    file = tmp_path / SAMPLE.name
    file.write_bytes(SAMPLE.read_bytes()[:40_000])

    assert run(tmp_path / "out", input=file) == 1
    assert "--allow-truncated" in capsys.readouterr().err
    assert not list(tmp_path.glob("out/**/dataset.json"))

    assert run(tmp_path / "out", "--allow-truncated", input=file) == 0
    assert describe(tmp_path / "out")["accounting"]["rejected"] == {"truncated": 1}


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """Read two files that have the same pages."""
    folder = tmp_path_factory.mktemp("twice")
    (folder / "in").mkdir()
    for name in ("kleinwiki-a.xml", "kleinwiki-b.xml"):
        (folder / "in" / name).write_bytes(SAMPLE.read_bytes())
    assert run(folder / "out", "--max-reject-rate", 1, input=folder / "in") == 0
    return folder / "out"


def test_second_page_of_an_id_is_rejected(twice):
    account = describe(twice)["accounting"]

    n_written = COUNTS["articles"] + COUNTS["disambiguation"]
    assert (account["written"], account["rejected"]) == (n_written, {"duplicate_id": n_written})
    assert account["read"] == 2 * COUNTS["pages"]
    assert len(documents_of(twice)) == n_written


def test_second_page_of_an_id_is_not_counted(out, twice):
    counters = describe(twice)["counters"]
    assert counters == describe(out)["counters"]
    assert counters["links.mentions"] == counters["mentions.link"]
    once, both = (named_counters(folder) for folder in (out, twice))
    differ = {name for name in once | both if once.get(name) != both.get(name)}
    assert differ == {"no_text/Mühlgraben"}


@pytest.mark.usefixtures("small_ranges")
def test_limit_takes_the_first_pages(tmp_path):
    assert run(tmp_path / "out", "--limit", 7) == 0

    assert describe(tmp_path / "out")["accounting"]["read"] == 7


def test_template_tables_of_the_user_count(tmp_path):
    table = tmp_path / "my.toml"
    table.write_text('[render]\nEWZ = "viele"\n', encoding="utf-8")

    assert run(tmp_path / "out", "--templates", table) == 0

    assert "hole/EWZ" not in named_counters(tmp_path / "out")
    assert any("viele" in document.text for document in documents_of(tmp_path / "out"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--templates", "nowhere.toml"), "nowhere.toml"),
        (("--augment", "all"), "invalid choice"),
        (("--blocks", "tables,pictures"), "pictures"),
        (("--blocks", "math", "--reuse", "nowhere"), "nowhere"),
    ],
)
def test_wrong_options_are_errors(options, message, tmp_path, capsys):
    try:
        status = run(tmp_path / "out", *options)
    except SystemExit as error:
        status = error.code

    assert status == 2
    assert message in capsys.readouterr().err


def test_bare_page_needs_a_wiki(tmp_path, capsys):
    page = re.search(rb"<page>.*?</page>", SAMPLE.read_bytes(), re.DOTALL)[0]
    (tmp_path / "page.xml").write_bytes(page)

    assert run(tmp_path / "out", input=tmp_path / "page.xml") == 2
    assert "--wiki" in capsys.readouterr().err

    assert run(tmp_path / "out", "--wiki", "dewiki", input=tmp_path / "page.xml") == 0
    assert documents_of(tmp_path / "out")[0].lang == "de"


def test_datasets_verify_and_show(out, capsys):
    assert shards(["verify", "--rows", str(out)]) == 0
    for dataset in ("documents", "redirects"):
        assert shards(["show", str(out / dataset), "--limit", "1"]) == 0
        assert "Windm" in capsys.readouterr().out


def test_article_that_begins_with_a_numbered_line_is_no_redirect(tmp_path):
    file = tmp_path / SAMPLE.name
    xml = SAMPLE.read_text("utf-8")
    file.write_text(
        re.sub(
            "(<title>Mehl</title>.*?<text[^>]*>)", r"\1#Mahlen [[Korn]]\n\n", xml, flags=re.DOTALL
        ),
        "utf-8",
    )

    assert run(tmp_path / "out", input=file) == 0

    [document] = [d for d in documents_of(tmp_path / "out") if d.title == "Mehl"]
    assert document.text.startswith("Mahlen Korn\n")


def test_dropped_tables_are_counted(out):
    assert describe(out)["counters"]["tables.dropped"] > 0
    assert "tables were dropped whole" in (out / "report.md").read_text("utf-8")


def test_a_newline_in_a_title_costs_nothing(tmp_path):
    dump = SAMPLE.read_text("utf-8")
    title = re.search("<title>(M[^<]+)</title>", dump)[1]
    broken = dump.replace(f"<title>{title}</title>", f"<title>{title[0]}\n{title[1:]}</title>")
    (tmp_path / SAMPLE.name).write_text(broken, "utf-8")

    assert run(tmp_path / "out", input=tmp_path / SAMPLE.name) == 0

    assert describe(tmp_path / "out")["accounting"]["rejected"] == {}
    titles = [document.title for document in documents_of(tmp_path / "out")]
    assert f"{title[0]} {title[1:]}" in titles


@pytest.mark.usefixtures("small_ranges")
def test_blocks_are_a_dataset_of_their_own_and_change_no_document(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("kleinwiki-a.xml", "kleinwiki-b.xml"):  # all pages twice: the second are rejected
        (tmp_path / "in" / name).write_bytes(SAMPLE.read_bytes())
    options = ("--blocks", "tables,infoboxes,references,math", "--max-reject-rate", 1)

    assert run(tmp_path / "plain", "--max-reject-rate", 1, input=tmp_path / "in") == 0
    with broken_after(3):
        assert run(tmp_path / "out", *options, input=tmp_path / "in") == 1
    assert run(tmp_path / "out", *options, input=tmp_path / "in") == 0

    plain, both = (files_of(tmp_path / name) for name in ("plain", "out"))
    shards_of = [name for name in plain if name.startswith("documents/shard")]
    assert shards_of
    assert all(plain[name] == both[name] for name in shards_of)
    assert shards(["verify", str(tmp_path / "out")]) == 0
    texts = {document.id: document.text for document in documents_of(tmp_path / "out")}
    rows = list(open_dataset(tmp_path / "out" / "blocks", "blocks").rows())
    assert {row["kind"] for row in rows} >= {"table", "infobox", "reference"}
    ids = {row["id"] for row in rows}
    assert len(ids) == len(rows)
    for row in rows:
        assert 0 <= row["offset"] <= len(texts[row["document_id"]])
        assert row["parent"] is None or row["parent"] in ids
        ends = [cell["end"] for cell in row["cells"]]
        assert [cell["start"] for cell in row["cells"]] == [0, *(n + 1 for n in ends)][: len(ends)]
    mentions = [mention["entity"] for row in rows for mention in row["mentions"]]
    assert mentions
    assert all(entity.startswith("kleinwiki:") for entity in mentions)
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "## Blocks beside the text" in report
    assert "## Blocks beside" not in (tmp_path / "plain" / "report.md").read_text("utf-8")


TEMPLATES = (
    ("Vorlage:Fluss", "der [[{{{1}}}]]{{{2|, ein Fluss}}}<noinclude>{{Doku}}</noinclude>"),
    ("Vorlage:Doppelt", "{{{1}}}{{{1}}}"),
    ("Vorlage:Rechnung", "{{#if:{{{1|}}}|{{#expr:{{{1}}} * 2}} m}}"),
    ("Vorlage:Flüsse", "{{Fluss|{{{1}}}|}} und {{Strom|{{{2}}}}}{{Stub}}"),
    ("Vorlage:Kreis", "{{Kreis|{{{1}}}}} {{Kreis|{{{1}}}}} {{Kreis|{{{1}}}}}"),
    ("Vorlage:Reise", "von [[{{{1}}}]].\n\nSpäter\n{{Fluss\n| 1 = {{{2}}}\n| 2 =\n}}"),
)


@pytest.mark.usefixtures("small_ranges")
def test_templates_are_shown_by_their_definition_in_the_dump(tmp_path):
    nested = "{{Doppelt|" * 25 + "x" + "}}" * 25
    pages = [
        *(Page(n, title, text, namespace=10) for n, (title, text) in enumerate(TEMPLATES, 500)),
        Page(510, "Vorlage:Strom", "Vorlage:Fluss", namespace=10, is_redirect=True),
        Page(511, "Vorlage:Zusammen", "Vorlage:Nowrap", namespace=10, is_redirect=True),
        Page(
            520,
            "Orbeltal",
            "Hier fließt {{Strom|Orbel}} und {{fluss|Flanne|}} {{zusammen|5 km}} {{Rechnung|2}}.",
        ),
        Page(521, "Lang", f"Sehr {nested} lang."),
        Page(522, "Mündung", "Hier treffen sich {{Flüsse|Orbel|Flanne}}."),
        Page(523, "Rund", "Immer {{Kreis|[[Orbel]]}} im Kreis."),
        Page(524, "Fahrt", "Es geht {{Reise|Orbel|2=Flanne}} entlang."),
    ]
    wiki = SmallWiki()
    file = tmp_path / "kleinwiki-20261101-pages-articles.xml"
    file.write_text(SmallWiki((*wiki.pages, *pages)).dump(), encoding="utf-8")

    with broken_after(1):
        assert run(tmp_path / "out", "--expand-templates", input=file) == 1
    assert run(tmp_path / "out", "--expand-templates", input=file) == 0
    assert run(tmp_path / "two", "--expand-templates", input=file) == 0

    assert files_of(tmp_path / "out") == files_of(tmp_path / "two")
    texts = {document.title: document for document in documents_of(tmp_path / "out")}
    valley = texts["Orbeltal"]
    assert valley.text == "Hier fließt der Orbel, ein Fluss und der Flanne 5 km 4 m."
    assert [m.entity for m in valley.mentions] == ["kleinwiki:Orbel", "kleinwiki:Flanne"]
    assert len(texts["Lang"].text) < 200_000
    assert texts["Mündung"].text == "Hier treffen sich der Orbel und der Flanne, ein Fluss."
    assert texts["Rund"].text == "Immer im Kreis."
    trip = texts["Fahrt"]
    assert trip.text == "Es geht von Orbel.\nSpäter der Flanne entlang."
    assert [trip.text[m.start : m.end] for m in trip.mentions] == ["Orbel", "Flanne"]
    description = describe(tmp_path / "out")
    counters = description["counters"]
    assert (counters["templates.definitions"], counters["templates.redirects"]) == (7, 2)
    named = named_counters(tmp_path / "out")
    assert (named["expanded/Strom"], named["expanded/Fluss"]) == (2, 3)
    assert counters["templates.not_expanded"] > 0
    assert links_add_up(counters)
    assert description["accounting"]["read"] == len(wiki.pages) + len(pages)
    assert "Fluss (3)" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_templates_are_expanded_without_being_asked_where_there_is_no_table(tmp_path):
    pages = [
        Page(500, "Vorlage:রূপান্তর", "{{#invoke:Convert|convert}}", namespace=10),
        Page(501, "Tal", "Es ist {{রূপান্তর|5|to|6|sqmi}} groß."),
    ]
    file = tmp_path / "kleinwiki-20261101-pages-articles.xml"
    file.write_text(SmallWiki(tuple(pages)).dump(), encoding="utf-8")

    assert run(tmp_path / "out", "--lang", "bn", "--augment", "off", input=file) == 0

    [document] = documents_of(tmp_path / "out")
    assert document.text == "Es ist 5 to 6 sq mi groß."


def test_links_into_namespaces_that_are_read_are_mentions(tmp_path):
    wiki = SmallWiki(
        (
            Page(1, "Korn", "Siehe [[kategorie:alles|x]][[:kategorie:alles|alles]], [[Mehl]]."),
            Page(2, "Kategorie:Alles", "Von [[Korn]], [[:Category:neu|]].", namespace=14),
            Page(3, "Kategorie:Neu", "Kategorie:Alles", namespace=14, is_redirect=True),
            Page(4, "Mehl", "Kategorie:Neu", is_redirect=True),
        )
    )
    (tmp_path / "dump.xml").write_text(wiki.dump(), "utf-8")
    options = ("--augment", "off", "--namespaces")

    assert run(tmp_path / "both", *options, 0, 14, input=tmp_path / "dump.xml") == 0
    assert run(tmp_path / "articles", *options, 0, input=tmp_path / "dump.xml") == 0

    alles = "kleinwiki:Kategorie:Alles"
    named = {d.title: [m.entity for m in d.mentions] for d in documents_of(tmp_path / "both")}
    assert named == {"Korn": [alles, alles], "Kategorie:Alles": ["kleinwiki:Korn", alles]}
    [korn] = documents_of(tmp_path / "articles")
    assert [m.entity for m in korn.mentions] == ["kleinwiki:Kategorie:Neu"]  # where Mehl leads
    assert describe(tmp_path / "articles")["counters"]["links.namespace"] == 1


def test_a_translated_page_is_in_its_language(tmp_path):
    text = "<languages/>\nC'est p. ex. du blé. [[Special:MyLanguage/Korn|Blé]]."
    pages = (Page(1, "Korn/fr", text), Page(2, "Korn/fr-x", text), Page(3, "AC/dc", "Zum Korn."))
    (tmp_path / "dump.xml").write_text(SmallWiki(pages).dump(), "utf-8")

    assert run(tmp_path / "out", input=tmp_path / "dump.xml") == 0

    french, also_french, other = documents_of(tmp_path / "out")
    assert [french.lang, also_french.lang, other.lang] == ["fr", "fr-x", "de"]
    assert len(french.sentences) == 2


def test_links_to_other_wikis_are_kept_or_dropped_also_where_pages_are_taken_over(tmp_path):
    text = "Siehe [[:en:Grain|Grain]] und [[Mehl]]. Grain und Mehl.<ref>[[w:Rye]]</ref>"
    wiki = SmallWiki((Page(1, "Korn", text), Page(2, "Brot", "[[Mehl]] [[:en:Grain]]")))
    options = ("--wiki", "dewiki", "--blocks", "references")
    for name, changed in (("old", wiki), ("new", wiki.edit("Brot", text="Brot, [[Korn]]"))):
        (tmp_path / f"{name}.xml").write_text(changed.dump(), "utf-8")
        assert run(tmp_path / name, *options, input=tmp_path / f"{name}.xml") == 0
    reuse = ("--reuse", tmp_path / "old")
    drop = ("--interwiki", "drop")

    assert run(tmp_path / "taken", *options, *reuse, input=tmp_path / "new.xml") == 0
    assert run(tmp_path / "dropped", *options, *drop, input=tmp_path / "new.xml") == 0

    korn, _ = documents_of(tmp_path / "new")
    named = [(korn.text[m.start : m.end], m.entity, m.origin) for m in korn.mentions]
    assert named == [
        ("Grain", "enwiki:Grain", "link"),
        ("Mehl", "dewiki:Mehl", "link"),
        ("Mehl", "dewiki:Mehl", "title_match"),
    ]
    [note] = open_dataset(tmp_path / "new" / "blocks").rows()
    assert [mention["entity"] for mention in note["mentions"]] == ["enwiki:Rye"]
    assert files_of(tmp_path / "taken") | {"run.json": b""} == (
        files_of(tmp_path / "new") | {"run.json": b""}
    )
    entities = [m.entity for d in documents_of(tmp_path / "dropped") for m in d.mentions]
    assert not [entity for entity in entities if entity.startswith("en")]
    assert links_add_up(describe(tmp_path / "dropped")["counters"])
