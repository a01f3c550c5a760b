"""A concordance shows each entity with its mentions, and what does not agree."""

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import normalize

import pytest

from corpora.concordance.__main__ import main
from corpora.concordance.collect import collect
from corpora.concordance.pages import PAGE_MENTIONS, initial, make_pages, sort_key
from corpora.document import Document, Mention
from corpora.registers.lines import read_with_lines
from corpora.registers.linking import identify_text
from corpora.registers.register import open_registers, write_register
from corpora.tei.edition import load_edition
from tests.datasets import write_dataset

DATA = Path(__file__).resolve().parents[2] / "data"
REGISTER = f"{DATA}/register/*.xml"
LETTERS = DATA / "letters"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Make the folder of a run: documents with the entries of the register, and these."""
    folder = tmp_path_factory.mktemp("run") / "letters"
    edition, register = load_edition(LETTERS / "edition.toml"), open_registers([REGISTER])
    texts = [
        text
        for path in sorted(LETTERS.glob("*.xml"))
        for text in read_with_lines(path.read_bytes(), edition, name=path.name)
    ]
    write_dataset(folder / "documents", [identify_text(t, register).document for t in texts])
    (folder / "register.jsonl").write_text("".join(write_register(register)), "utf-8")
    return folder


@pytest.fixture(scope="module")
def pages(run):
    assert main([str(run)]) == 0
    return {path.name: path.read_text("utf-8") for path in (run / "concordance").glob("*.html")}


def section(page, name):
    """Return the text of the section of an entity or a form."""
    [found] = re.findall(rf"<section[^>]*><h2>{re.escape(name)}</h2>.*?</section>", page, re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", found).split())


def test_one_page_for_each_register(pages):
    assert {"index.html", "person.html", "place.html", "organization.html"} < set(pages)
    index = " ".join(re.sub("<[^>]*>", " ", pages["index.html"]).split())
    assert "8 documents" in index
    assert "Places 22 1 50" in index
    assert "ids that the register has not" in index


@pytest.mark.usefixtures("pages")
def test_a_table_has_each_entity_with_the_documents_that_name_it(run):
    lines = (run / "concordance" / "index.tsv").read_text("utf-8").splitlines()

    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    assert sum(int(row["mentions"]) for row in rows) == 144
    assert len({(row["id"], row["document"]) for row in rows}) == len(rows)
    years = [re.search(r"\d{4}", row["date"])[0] for row in rows if row["id"] == "o2"]
    assert years == sorted(years)
    assert years[0] == "1897"


def test_an_entity_has_its_mentions_by_date_with_file_and_line(pages):
    shown = section(pages["place.html"], "Leipzig")

    assert "o2 · geonames:2879139 · wikidata:Q2079 · orte.xml:" in shown
    dates = re.findall(r"\d{4}-\d\d-\d\d", shown)
    assert dates == sorted(dates)
    xml = (LETTERS / "01.xml").read_text("utf-8").splitlines()
    lines = re.findall(r"01\.xml (\d+) ", shown)
    assert lines
    assert all("o2" in xml[int(line) - 1] for line in lines)


def test_forms_that_the_register_has_not_are_marked(pages):
    shown = pages["person.html"].split("<h2>Lindenrot, Agathe</h2>")[1].split("</section>")[0]

    assert '<b class="new">unsre Freundin</b>' in shown
    assert "<b>Agathe Lindenrot</b>" in shown


def test_one_form_with_several_ids_or_labels_is_shown(pages):
    shown = section(pages["forms.html"], "Brackwehl")

    assert "Brackwehl, Theodor · person · 2" in shown
    assert "Brackwehl, Ludwig · person · 1" in shown
    shown = section(pages["forms.html"], "Naumburg")
    assert "without an id (known: Naumburg ) · place · 1" in shown


def test_entries_that_are_never_mentioned_are_listed(pages):
    text = re.sub("<[^>]*>", " ", pages["person.html"]).split("Never mentioned: 1")[1]

    assert "Wiedekamp, Johanna" in text


def test_known_forms_without_a_tag_are_shown_where_they_stand():
    register = open_registers([REGISTER])
    text = "Jena, Jena und Weimar. Das ist Jenas Art."
    tagged = (Mention(0, 4, "x:o1", "place"), Mention(14, 20, None, "place"))
    document = Document(id="a", group="x", source="a.xml", text=text, mentions=tagged)

    found = collect([document], register, vocab={})

    assert [(each.form, each.subjects, each.n_tagged) for each in found.untagged] == [
        ("Jena", ["o1"], 1)
    ]
    assert [(place.start, place.end) for place in found.untagged[0].occurrences] == [(6, 10)]


def test_words_that_are_seldom_a_name_are_counted_not_listed():
    text = "Sie kam. " + "Sie ging. " * 20
    mentions = (Mention(0, 3, "x:p1", "person"),)
    document = Document(id="a", group="x", source="a.xml", text=text, mentions=mentions)

    found = collect([document], open_registers([REGISTER]), vocab={})

    assert not found.untagged
    assert [(each.form, len(each.occurrences)) for each in found.common] == [("Sie", 20)]
    assert "<bdi>Sie</bdi> (1 of 21)" in next(make_pages(found, title="x")).html


def lines_of(text, *names):
    """Return the page of the mentions of names in a text, and the lines that show them."""
    mentions = tuple(
        Mention(text.index(name), text.index(name) + len(name), f"x:{name}", "person")
        for name in names
    )
    document = Document(id="a", group="x", source="a.xml", text=text, mentions=mentions)
    pages = {page.name: page.html for page in make_pages(collect_alone(document), title="x")}
    return pages["person.html"], re.findall(r"<p><i>.*?</p>", pages["person.html"])


def collect_alone(document):
    return collect([document], None, vocab={})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("他" * 90 + "李白" + "去" * 90, f"…{'他' * 70}<mark>李白</mark>{'去' * 70}…"),
        ("他" * 90 + " 见 李白" + "去 " + "去" * 90, f"…{'他' * 67} 见 <mark>李白</mark>去 "),
        ("Wort " * 30 + "李白" + " Wort" * 30, f"…{'Wort ' * 13}<mark>李白</mark>{' Wort' * 13}…"),
    ],
)
def test_texts_without_spaces_between_words_have_contexts(text, shown):
    _, [line] = lines_of(text, "李白")

    assert shown in line.replace(' title="person"', "")


def test_names_and_lines_from_right_to_left_stand_alone():
    page, lines = lines_of("דוד הלך אל משה.", "דוד", "משה")

    assert all(re.search(r"</i><bdi>.*\.</bdi></p>", line) for line in lines)
    assert len(lines) == 2
    assert "<bdi>דוד</bdi></a> <i>1</i>" in page
    assert "<bdi><b>דוד</b></bdi> 1" in page


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids |= {values["id"]} if "id" in values else set()
        self.links |= {values["href"]} if tag == "a" else set()


def links_of(html):
    parser = _Links()
    parser.feed(html)
    return parser


def test_every_link_leads_to_its_entry_whether_there_are_few_pages_or_many():
    register = open_registers([REGISTER])
    text = "Jena Leipzig Lindenrot Brackwehl Jena <b>&"
    names = ("o1", "o2", "p1", "p2")
    mentions = [
        Mention(match.start(), match.end(), f"x:{id}", "place")
        for match, id in zip(re.finditer(r"\w{2,}", text), names, strict=False)
    ]
    document = Document(
        id="0", group="x", source="0.xml", text=text, mentions=tuple(mentions), title="<i>&"
    )
    for n in (3, PAGE_MENTIONS * 2 // 3):
        documents = [replace(document, id=f"{i}", source=f"{i}.xml") for i in range(n)]
        found = collect(documents, register, vocab={})

        pages = {page.name: page.html for page in make_pages(found, title="x")}

        parsed = {name: links_of(html) for name, html in pages.items()}
        assert ("place-l.html" in pages) == (n > 3)
        for links in parsed.values():
            for link in links.links:
                page, _, target = link.partition("#")
                if not link.startswith("http"):
                    assert page in pages
                    assert not target or target in parsed[page].ids, link
        assert "<i>&" not in "".join(pages.values())


def test_entities_of_one_initial_are_on_one_page_wherever_it_stands_in_the_alphabet():
    names = ("7 Zwerge", "Anna", "Ida", "Zed", "ılgaz", "〇三")
    text, mentions = " | ".join(names), []
    for number, name in enumerate(names):
        start = text.index(name)
        mentions.append(Mention(start, start + len(name), f"x:{number}", "place"))
    one = Document(id="0", group="x", source="0.xml", text=text, mentions=tuple(mentions))
    documents = [replace(one, id=f"{i}") for i in range(PAGE_MENTIONS // len(names) + 1)]
    found = collect(documents, None, vocab={})

    pages = [*make_pages(found, title="x")]

    assert len({page.name for page in pages}) == len(pages)
    for name in names:
        assert any(f"<h2>{name}</h2>" in page.html for page in pages)


def test_entities_of_a_vocabulary_have_its_names():
    mentions = (Mention(0, 4, "xwiki:Q"), Mention(9, 13, "xwiki:R"))
    document = Document(
        id="a", group="x", source="a", text="Jena und Bonn, Jenа", mentions=mentions
    )

    found = collect([document], None, vocab={"xwiki:Q": ("Jena (Stadt)", ("Jene",))})

    assert {s.id: s.name for s in found.subjects.values()} == {
        "xwiki:Q": "Jena (Stadt)",
        "xwiki:R": "Bonn",
    }
    html = "".join(page.html for page in make_pages(found, title="x"))
    assert "not in the register" not in html


def test_names_without_an_id_are_counted_but_not_dates():
    mentions = (Mention(0, 3, "x:1", "person"), Mention(4, 7, None, "person"))
    mentions += (Mention(8, 12, None, "date"),)
    document = Document(id="a", group="x", source="a", text="Ida Kai 1900", mentions=mentions)

    found = collect([document], None, vocab={})

    assert found.n_without_id == 1


def test_letters_before_christ_stand_in_order():
    dates = ("-0044-03-15", "1900", "-0060", "1900-02", "about 1899", "")
    mentions = (Mention(0, 3, "x:1", "person"),)
    documents = [
        Document(
            id=f"x{d}", group="x", source="x", text="Ida", mentions=mentions, metadata={"date": d}
        )
        for d in dates
    ]

    found = collect(documents, None, vocab={})

    wanted = ["-0060", "-0044-03-15", "about 1899", "1900", "1900-02", ""]
    assert [letter.date for letter in found.letters] == wanted


def test_names_are_sorted_without_accents_and_signs():
    assert [sort_key(name) for name in ("Émile", "„Äther“", "(…)")] == ["emile", "ather“", "(...)"]
    assert [initial(name) for name in ("Émile", "„Äther“", "7. Juni", "Жук", "")] == [
        *("E", "A", "#", "Ж", "#")
    ]


def test_pages_are_written_again_but_nothing_else_is_touched(run, pages, tmp_path, capsys):
    output = run / "concordance"
    (output / "mine.txt").write_text("x", "utf-8")

    assert main([str(run)]) == 0
    assert (output / "mine.txt").read_text("utf-8") == "x"
    assert {path.name for path in output.glob("*.html")} == set(pages)

    other = tmp_path / "other"
    other.mkdir()
    (other / "a").touch()
    capsys.readouterr()
    assert main([str(run), "--output", str(other)]) == 2
    assert "holds something else" in capsys.readouterr().err
    shutil.rmtree(output)


@pytest.mark.parametrize(("written", "form"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_known_forms_are_found_however_their_letters_are_composed(written, form, monkeypatch):
    monkeypatch.setattr("corpora.concordance.collect.MIN_RATIO", 0)
    text = normalize(written, "Köln und Köln, Zürich")
    end = text.index(" ")
    koeln = normalize(form, "Köln")
    documents = [
        Document(id=id, group="g", source=id, text=text, mentions=(mention,))
        for id, text, mention in (
            ("a", text, Mention(0, end, "x:1", "place")),
            ("b", koeln, Mention(0, len(koeln), "x:2", "place")),
        )
    ]
    vocab = {"x:1": ("Köln", [koeln, normalize(form, "Zürich")])}

    found = collect(documents, None, vocab=vocab)

    assert [(each.form, each.n_tagged) for each in found.untagged] == [("Köln", 2), ("Zürich", 0)]
    assert found.ambiguous.keys() == {"Köln"}
    places = [text[at.start : at.end] for each in found.untagged for at in each.occurrences]
    assert places == [text[:end], text[-len(normalize(written, "Zürich")) :]]


def test_pages_stay_if_new_ones_cannot_be_made(run, tmp_path, monkeypatch):
    new = str(tmp_path / "new")

    def full(path, lines):
        if path.suffix == ".html":
            raise OSError(28, "No space left on device")
        path.write_text("".join(lines))

    with monkeypatch.context() as patched:
        patched.setattr("corpora.system.writing.write_text", full)
        assert main([str(run), "--output", new]) == 1
    assert main([str(run), "--output", new]) == 0

    before = sorted(path.name for path in Path(new).iterdir())
    assert main([str(run), "--output", new, "--register", "missing.xml"]) == 2
    assert sorted(path.name for path in Path(new).iterdir()) == before
