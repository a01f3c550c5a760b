"""Rendered pages of a small wiki, written for this project, from records to documents."""

import gzip
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from libzim.writer import Creator, Hint, Item, StringProvider

from corpora.datasets.shards import open_dataset, read_batches
from corpora.wikipedia.ledger import links_add_up
from corpora.wikipedia.reuse import TAKEN
from pipelines import wikipedia_to_documents
from pipelines.wikipedia_to_documents import main
from tests.pipelines.test_wikipedia_ids import page_props

DATA = Path(__file__).resolve().parents[1] / "data" / "wikipedia"
SAMPLE = DATA / "kleinwiki-NS0-20261101-ENTERPRISE-HTML.ndjson"
pytestmark = pytest.mark.usefixtures("without_runner")


def run(output, *options, input=SAMPLE):
    return main(["--input", str(input), "--output", str(output), *map(str, options)])


def documents_of(folder):
    return list(open_dataset(folder / "documents", "documents").records())


def describe(folder):
    return json.loads((folder / "documents" / "dataset.json").read_text("utf-8"))


def packed(path, *names):
    """Pack the sample as Wikimedia Enterprise does, in files of a tar that is in gzip."""
    data = SAMPLE.read_bytes()
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), 1.5
            tar.addfile(entry, io.BytesIO(data))
    return path


def test_rendered_pages_become_documents(tmp_path):
    assert run(tmp_path / "out", "--augment", "off") == 0

    windmill, valley, mill = documents_of(tmp_path / "out")
    assert windmill.text.split("\n") == [
        "Eine Mühle an der Orbel",
        "Eine Windmühle verwandelt die Kraft des Windes in eine Drehung. Sie steht 5 km² weit,",
        "am Deich im Tal und hat Flügel.",
        "Bau",
        "Holz aus Eichen",
        "und Kiefer",
        "Stein",
        "Die Fläche ist A. Ein Satz auf dansk.",
    ]
    assert [p.level for p in windmill.paragraphs if p.kind == "head"] == [2]
    assert [paragraph.kind for paragraph in windmill.paragraphs] == (
        ["caption", "p", "head", "item", "item", "item", "p"]
    )
    links = [(windmill.text[m.start : m.end], m.entity) for m in windmill.mentions]
    assert links[1:4] == [
        ("Windes", "kleinwiki:Wind"), ("Deich", "kleinwiki:Deich"), ("Tal", "kleinwiki:Orbeltal"),
    ]  # fmt: skip
    assert [m.entity for m in valley.mentions] == ["kleinwiki:Windmühle"]  # by a redirect
    assert (windmill.metadata["wikidata"], windmill.metadata["template_errors"]) == ("Q1", "1")
    start, end, lang = windmill.metadata["languages"].split()
    assert (windmill.text[int(start) : int(end)], lang) == ("dansk", "da")
    assert mill.metadata["disambiguation"] == "yes"
    assert (windmill.id, windmill.lang, windmill.license) == ("kleinwiki:1", "de", "CC-BY-SA-4.0")


def test_records_without_an_item_get_that_of_the_table(tmp_path):
    records = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    rest = [{k: v for k, v in each.items() if k != "main_entity"} for each in records]
    file = tmp_path / "kleinwiki.ndjson"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in rest), "utf-8")
    items = page_props(tmp_path / "kleinwiki-page_props.sql.gz", {1: "Q9"})

    assert run(tmp_path / "out", "--page-props", items, input=file) == 0

    found = [document.metadata.get("wikidata") for document in documents_of(tmp_path / "out")]
    assert found == ["Q9", None, None]


def test_every_record_and_link_is_accounted_for(tmp_path):
    assert run(tmp_path / "out") == 0

    description = describe(tmp_path / "out")
    assert description["accounting"] == {
        "read": 6,
        "written": 3,
        "filtered": {"no_text": 1, "older_revision": 1},
        "rejected": {"no_html": 1},
    }
    counters = description["counters"]
    assert links_add_up(counters)
    assert counters["html.other_revision"] == 1
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "left out of the rendered page: navigation | 1" in report
    assert "1 pages have HTML of another revision" in report


def test_ranges_containers_and_tars_give_the_same_documents(tmp_path, monkeypatch):
    assert run(tmp_path / "whole") == 0
    monkeypatch.setattr(wikipedia_to_documents, "RANGE_BYTES", (700, 700))
    zipped = tmp_path / "kleinwiki_0.ndjson.gz"
    zipped.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    tar = packed(tmp_path / "kleinwiki-ENTERPRISE-HTML.json.tar.gz", "kleinwiki_0.ndjson")

    for name, input in (("cut", SAMPLE), ("gzip", zipped), ("tar", tar)):
        assert run(tmp_path / name, input=input) == 0

        texts = [(document.id, document.text) for document in documents_of(tmp_path / name)]
        assert texts == [(d.id, d.text) for d in documents_of(tmp_path / "whole")]
        assert describe(tmp_path / name)["accounting"]["read"] == 6


def test_unchanged_records_are_taken_over_whatever_else_the_next_dump_says_of_them(tmp_path):
    later = tmp_path / "kleinwiki-NS0-20261201-ENTERPRISE-HTML.ndjson"
    records = map(json.loads, SAMPLE.read_text("utf-8").splitlines())
    counts = {"watchers_count": 7, "event": {"date_published": "2026-12-01T00:00:00Z"}}
    later.write_text("".join(f"{json.dumps(record | counts)}\n" for record in records))

    assert run(tmp_path / "old") == 0
    assert run(tmp_path / "new", "--reuse", tmp_path / "old", input=later) == 0

    assert json.loads((tmp_path / "new" / "run.json").read_text())["reused"][TAKEN] == 3
    assert describe(tmp_path / "new")["accounting"] == describe(tmp_path / "old")["accounting"]
    before, after = documents_of(tmp_path / "old"), documents_of(tmp_path / "new")
    assert after == [replace(document, source=later.name) for document in before]


def test_a_file_that_is_cut_off_is_refused(tmp_path, capsys):
    file = tmp_path / "kleinwiki.ndjson"
    file.write_bytes(SAMPLE.read_bytes()[:-40])

    assert run(tmp_path / "out", input=file) == 1

    assert "it is cut off" in capsys.readouterr().err


def test_options_for_wikitext_are_errors(tmp_path):
    assert run(tmp_path / "out", "--expand-templates") == 2


def test_a_page_of_html_is_a_document(tmp_path):
    html = json.loads(SAMPLE.read_text("utf-8").splitlines()[1])["article_body"]["html"]
    file = tmp_path / "Orbeltal.html"
    file.write_text(html, encoding="utf-8")

    assert run(tmp_path / "out", "--augment", "off", input=file) == 0

    [document] = documents_of(tmp_path / "out")
    assert (document.title, document.revision) == ("Orbeltal", "20")
    assert document.text == "Im Orbeltal stehen Windräder."


def test_tables_references_and_formulas_are_kept_beside_the_text(tmp_path):
    kinds = "tables,infoboxes,references,math"

    assert run(tmp_path / "out", "--augment", "off", "--blocks", kinds) == 0

    windmill = documents_of(tmp_path / "out")[0]
    blocks = list(read_batches(tmp_path / "out" / "blocks" / "shard-00000.arrow", "blocks"))
    rows = [row for batch in blocks for row in batch.to_pylist()]
    by_kind = {row["kind"]: row for row in rows}
    assert sorted(by_kind) == ["infobox", "math", "reference", "table"]
    box, table = by_kind["infobox"], by_kind["table"]
    assert [(cell["name"], box["text"][cell["start"] : cell["end"]]) for cell in box["cells"]] == [
        ("Höhe", "20 m"), ("Ort", "Orbeltal"),
    ]  # fmt: skip
    assert [mention["entity"] for mention in box["mentions"]] == ["kleinwiki:Orbeltal"]
    assert table["text"] == "Mühlen\nName\tJahr\nBockmühle\t1750"
    reference = by_kind["reference"]
    assert reference["text"] == "Dorn, Mühlen, S. 7."
    assert windmill.text[: reference["offset"]].endswith("in eine Drehung.")
    assert by_kind["math"]["text"] == "A"


def zim(path, *pages, redirects=()):
    """Write an archive of HTML pages, by title."""

    class Article(Item):
        def __init__(self, title, html):
            super().__init__()
            self.title, self.html = title, html

        def get_path(self):
            return self.title.replace(" ", "_")

        def get_title(self):
            return self.title

        def get_mimetype(self):
            return "text/html"

        def get_contentprovider(self):
            return StringProvider(self.html)

        def get_hints(self):
            return {Hint.FRONT_ARTICLE: True}

    with Creator(str(path)) as creator:
        creator.add_metadata("Name", "wikipedia_de_klein")
        for title, html in pages:
            creator.add_item(Article(title, html))
        for title, target in redirects:
            creator.add_redirection(title, title, target, {})
    return path


FOOTER = (
    '<div style="clear:both; background-image:linear-gradient(180deg, #E8E8E8, white); '
    'border-top: dashed 2px #AAAAAA;">This article is issued from Wikipedia.</div>'
)


def test_pages_of_a_zim_archive_are_documents(tmp_path):
    body = '<body><div id="mw-content-text"><h1>Orbel</h1><p>{}</p></div>{}</body>'
    file = zim(
        tmp_path / "wikipedia_de_klein.zim",
        ("Orbel", body.format('Ein Fluss im <a href="Das_Tal#Lage">Tal</a>.', FOOTER)),
        ("Das Tal", body.format('Hier fließt die <a href="./Orbl">Orbel</a>.', FOOTER)),
        redirects=[("Orbl", "Orbel")],
    )

    assert run(tmp_path / "out", "--augment", "off", input=file) == 0

    valley, river = documents_of(tmp_path / "out")
    assert (river.id, river.lang, river.text) == ("dewiki:Orbel", "de", "Ein Fluss im Tal.")
    assert [mention.entity for mention in river.mentions] == ["dewiki:Das Tal"]
    assert [mention.entity for mention in valley.mentions] == ["dewiki:Orbel"]
    accounting = describe(tmp_path / "out")["accounting"]
    assert (accounting["read"], accounting["filtered"]) == (3, {"redirect": 1})


def test_a_damaged_zim_archive_is_refused(tmp_path, capsys):
    file = zim(tmp_path / "wikipedia_de_klein.zim", ("Orbel", "<p>Ein Fluss.</p>"))
    data = bytearray(file.read_bytes())
    data[-40] ^= 1
    file.write_bytes(bytes(data))

    assert run(tmp_path / "out", input=file) == 1

    assert "is a damaged ZIM archive" in capsys.readouterr().err


def test_all_parts_of_a_split_archive_are_inputs(tmp_path, capsys):
    whole = zim(tmp_path / "wikipedia_de_klein.zim", ("Orbel", "<body><p>Ein Fluss.</p></body>"))
    data = whole.read_bytes()
    for suffix, part in (("aa", data[: 1 << 10]), ("ab", data[1 << 10 :])):
        whole.with_name(f"{whole.name}{suffix}").write_bytes(part)
    whole.unlink()

    assert run(tmp_path / "out", input=tmp_path / "wikipedia_de_klein.zimaa") == 0

    inputs = describe(tmp_path / "out")["plan"]["inputs"]
    assert [file["name"][-5:] for file in inputs] == ["zimaa", "zimab"]
    assert run(tmp_path / "late", input=tmp_path / "wikipedia_de_klein.zimab") == 2
    assert "Give the first part" in capsys.readouterr().err


def test_html_files_in_a_tar_are_documents(tmp_path):
    pages = {"b/Das_Tal.html": "<p>Hier.</p>", "b/Orbel.html": "<p>Ein Fluss.</p>"}
    for name, html in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<!DOCTYPE html><html lang='de'><body>{html}</body></html>")
    file = tmp_path / "kleinwiki.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(tmp_path / "b", "b")

    assert run(tmp_path / "out", "--wiki", "kleinwiki", input=file) == 0

    found = {document.title: document.text for document in documents_of(tmp_path / "out")}
    assert found == {"Das Tal": "Hier.", "Orbel": "Ein Fluss."}


def test_a_tar_that_is_cut_off_is_refused(tmp_path, capsys):
    page = tmp_path / "Orbel.html"
    page.write_text(f"<html><body>{'<p>Ein Fluss.</p>' * 99}</body></html>")
    with tarfile.open(tmp_path / "kleinwiki.tar", "w") as archive:
        archive.add(page, page.name)
    file = tmp_path / "kleinwiki.tar"
    file.write_bytes(file.read_bytes()[:2500])

    assert run(tmp_path / "out", "--wiki", "kleinwiki", input=file) == 1
    assert "it is cut off" in capsys.readouterr().err
