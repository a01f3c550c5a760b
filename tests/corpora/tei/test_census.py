"""What the markup of an edition holds, before the first run."""

import re
from pathlib import Path

import pytest

from corpora.tei.census import MAX_VALUES, Census, take_census
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.inspection import draft_edition, to_html, to_words
from corpora.tei.reader import read_tei
from pipelines.tei_to_ner import main

LETTERS = Path(__file__).resolve().parents[2] / "data" / "letters"
HEAD = '<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:lang="de"><teiHeader/><text><body>'
TAIL = "</body></text></TEI>"


def census_of(*bodies, edition="tei"):
    census = Census(load_edition(edition_path(str(edition))))
    for number, body in enumerate(bodies):
        census.add((HEAD + body + TAIL).encode(), name=f"{number}.xml")
    return census


def test_each_element_is_shown_with_what_the_edition_makes_of_it():
    body = "<p>An <persName>Ida</persName><lb/> <del>den <placeName>Main</placeName></del></p>"

    census = census_of(body)

    meanings = {kind.name: dict(kind.meanings) for kind in census.kinds.values()}
    assert meanings["persName"] == {"name: person": 1}
    assert meanings["lb"] == {"word": 1}
    assert meanings["del"] == {"left out": 1}
    assert meanings["placeName"] == {"in del": 1}


IDS = "https://www.geonames.org/28/fuerth.html https://www.geonames.org/3 #ulm #bern p.xml#p1"
COUNTED = {
    "names and characters inside what is left out": (
        "<p>Ja <del>den <placeName>Main</placeName></del></p>",
        {"lost_names": {("del", "place"): 1}, "lost_characters": {"del": 7}},
    ),
    "of a choice what is not read": (
        "<p><choice><sic>Mian</sic><corr>Main</corr></choice></p>",
        {"lost_characters": {"choice/sic": 4}},
    ),
    "codes and regions of a language as one": (
        '<p xml:lang="deu">Und</p><p xml:lang="de-AT">Servus</p><p>sagt er</p>',
        {"languages": {"de": 18}, "passages": {"de": 2}},
    ),
    "words before sentence ends, passages and ids": (
        """<p>Ich las Ah. Dann kam <persName ref="https://d-nb.info/gnd/1">Ida</persName>.</p>
        <p><foreign xml:lang="la">ergo</foreign></p>""",
        {"last_words": {"Ah.": 1}, "schemes": {("ref", "https://d-nb.info/gnd/"): 1}}
        | {"passages": {"la": 1}},
    ),
    "ids that differ in what stands after the number together": (
        f"<p><placeName ref='{IDS} #x-https://a.org/1'>U</placeName></p>",
        {
            "schemes": {
                ("ref", "https://www.geonames.org/"): 2,
                ("ref", "#"): 2,
                ("ref", "p.xml#p"): 1,
                ("ref", "#x-https://a.org/"): 1,
            }
        },
    ),
}


@pytest.mark.parametrize("what", COUNTED)
def test_it_is_counted(what):
    body, expected = COUNTED[what]

    census = census_of(body)

    assert {name: getattr(census, name) for name in expected} == expected


def test_names_in_parts_that_are_not_read_are_counted():
    census = Census(load_edition(edition_path("tei")))
    header = "<teiHeader><persName>Ida</persName><persName/><date>1900</date></teiHeader>"
    pages = "<sourceDoc><line>In <placeName>Ulm</placeName></line></sourceDoc>"

    census.add(f"<TEI>{header}{pages}<text><p/></text></TEI>".encode(), name="x")

    lines = "\n".join(to_words(census))
    assert "\n  teiHeader                  2  person 1, date 1\n" in lines
    assert "\n  sourceDoc           6      1  place 1\n" in lines


def test_a_pattern_that_matches_nothing_is_named(tmp_path):
    edition = tmp_path / "mine.toml"
    edition.write_text('[labels]\nperson = ["perName"]\nplace = ["placeName"]\n')

    census = census_of(
        "<p><persName>Ida</persName> <placeName>Ulm</placeName></p>", edition=edition
    )

    assert census.unmatched() == ["person: perName"]
    assert any("person: perName" in line for line in to_words(census))


def test_every_pattern_of_the_edition_languages_and_abbreviations_are_reported(tmp_path):
    edition = tmp_path / "mine.toml"
    edition.write_text('[text]\nleave_out = ["...", "foo", "note"]\n[characters]\n"c[@n]" = "-"\n')
    line = "Der Kab. Rat kam, sagte er. Da kam er, sagte der Rat."
    body = f'<p>{line}<note>N</note></p><p>{line * 3}</p><p xml:lang="tlh">qapla</p>'

    census = census_of(body, edition=edition)

    assert census.unmatched()[-2:] == ["text.leave_out: foo", "characters.c[@n]"]
    assert census.languages["tlh"] == 5
    assert [(each.written, each.n) for each in census.abbreviations] == [(("Kab.",), 4)]
    shown = "\n".join(to_words(census))
    assert "(tlh): sentences may end too early there" in shown
    assert "Kab." in draft_edition(census, name="mine").partition("[sentences]")[2]
    assert "(tlh)" in to_html(census)


def test_an_example_shows_what_stands_before_the_element():
    census = census_of("<p>Wir sahen <persName>Ida</persName> heute.</p>")

    assert "Wir sahen<persName>Ida" in census.kinds["persname"].example.replace(" <", "<")


def test_values_of_an_attribute_stand_apart_from_their_numbers():
    lines = "\n".join(to_words(census_of('<p><pb n="1"/>A<pb n="1"/><pb n="2"/></p>')))

    assert re.search(r"pb/@n +3 +2 +1 \(2\), 2 \(1\)$", lines, re.MULTILINE)


def test_values_of_an_attribute_beyond_those_that_are_kept_are_counted_as_one():
    names = "".join(f'<persName key="{n}">Ida</persName> ' for n in range(MAX_VALUES + 2))

    values = census_of(f"<p>{names}</p>").kinds["persname"].attributes["key"]

    assert (len(values), values["other"]) == (MAX_VALUES + 1, 2)


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_counted():
    census = census_of("<p>Ja</p>", "<p>Nein")

    assert census.n_files == 2
    [message] = census.unread
    assert message.startswith("1.xml:1:")
    assert any("Patterns that match nothing" in line for line in to_words(census))
    assert len([*to_words(census_of("<p>Nein"))]) == 2


def test_the_draft_is_an_edition_that_finds_the_names(tmp_path):
    letters = [(path.name, path) for path in sorted(LETTERS.glob("*.xml"))]
    census = take_census(letters, load_edition(edition_path("tei")))
    draft = tmp_path / "edition.toml"
    draft.write_text(draft_edition(census, name="letters"), "utf-8")

    [first, *_] = read_tei(letters[0][1].read_bytes(), load_edition(draft), name="01.xml")

    assert {mention.label for mention in first.document.mentions} >= {"person", "place", "work"}


def test_the_draft_of_files_without_names_has_the_labels_of_the_defaults(tmp_path):
    draft = tmp_path / "edition.toml"

    draft.write_text(draft_edition(census_of("<p>An Ida</p>"), name="letters"), "utf-8")

    assert load_edition(draft).labels == load_edition(edition_path("tei")).labels


def test_the_draft_suggests_only_labels_of_names_that_are_read():
    names = "<persName><forename>Ida</forename> <surname>Orff</surname></persName>"
    register = f"</body><back><listPerson><person>{names}</person></listPerson></back><body>"

    draft = draft_edition(
        census_of(f"<p><rs type='person'>Ida</rs></p>{register}<p/>"), name="letters"
    )

    labels = draft.partition("[labels]")[2].partition("[text]")[0]
    assert labels.split() == ["person", "=", "[", "\"rs[@type='person']\",", "#", "1", "]"]
    draft = draft_edition(census_of(f"<p>{names}</p>"), name="letters")
    assert ("persName" in draft, "forename" in draft, "surname" in draft) == (True, False, False)


def test_spellings_of_an_element_are_one_in_the_draft_as_in_the_counts():
    names = "<persName>Ida</persName> <persname>Orff</persname> <PERSNAME>Kai</PERSNAME>"
    apart = "<fw><persName>Ida</persName></fw><FW><persName>Orff</persName></FW>"

    census = census_of(f"<p>{names}</p>{apart}")

    labels = draft_edition(census, name="mine").partition("[labels]")[2].partition("[text]")[0]
    assert labels.split("\n")[1:-1] == ["person = [", '  "persName",  # 3', "]", ""]
    assert census.lost_names == {("fw", "person"): 2}


def test_the_draft_takes_labels_and_types_from_the_defaults():
    types = ("LOC", "geo", "Pers", "old org", "Amt")
    names = "".join(f"<name type='{each}'>A</name>" for each in types)

    draft = draft_edition(census_of(f"<p>{names}<country>B</country></p>"), name="mine")

    labels = draft.partition("[labels]")[2].partition("[text]")[0]
    assert [line for line in labels.split("\n") if line] == [
        "place = [", "  \"name[@type='LOC']\",  # 1", "  \"name[@type='geo']\",  # 1",
        '  "country",  # 1', "]",
        "person = [", "  \"name[@type='Pers']\",  # 1", "]",
        "organization = [", "  \"name[@type='old org']\",  # 1", "]",
        "Amt = [", "  \"name[@type='Amt']\",  # 1", "]",
    ]  # fmt: skip


def test_names_without_a_type_are_drafted_and_counted_by_a_run(tmp_path):
    body = "<p><rs>Er</rs> und <rs type='person'>Ida</rs> in <name>Ulm</name></p>"
    draft = draft_edition(census_of(body), name="mine")
    path = tmp_path / "mine.toml"

    path.write_text(draft, "utf-8")
    [counted] = read_tei((HEAD + body + TAIL).encode(), load_edition(path), name="x")
    path.write_text(draft.replace("# unlabelled", "unlabelled"), "utf-8")
    [read] = read_tei((HEAD + body + TAIL).encode(), load_edition(path), name="x")

    line = '# unlabelled = ["rs", "name"]  # not read now, without @type: rs 1, name 1'
    assert line in draft.split("\n")
    found = {name: n for name, n in counted.counters.items() if name.startswith("without")}
    assert found == {"without a label: rs": 1, "without a label: name": 1}
    assert [mention.label for mention in read.document.mentions] == [None, "person", None]


def test_the_draft_says_that_elements_keep_their_white_space():
    census = census_of("<p xml:space='preserve'>Ja</p><p>Nein</p>")

    assert '\n[breaks]\n# xml_space = "ignore"  # xml:space="preserve", 1 time:' in draft_edition(
        census, name="mine"
    )
    assert "[breaks]" not in draft_edition(census_of("<p>Ja</p>"), name="mine")


def test_empty_elements_that_stand_for_characters_are_reported_and_drafted(tmp_path):
    signs = "<c rendition='#dots' n='2'/> ja<g ref='#and' n='5'/> (<ref target='a'/>) <c>x</c>"
    body = f"<p>So{signs}</p>"
    edition = tmp_path / "mine.toml"
    edition.write_text("[characters]\n\"c[@rendition='#dots']\" = '..'\n")

    census, said = census_of(body), census_of(body, edition=edition)

    assert dict(census.kinds["c"].meanings) == {"empty": 1, "text": 1}
    assert dict(census.kinds["ref"].meanings) == {"empty": 1}
    draft = draft_edition(census, name="mine").partition("[characters]")[2]
    assert "# \"c[@rendition='#dots'][@n='2']\" = \"?\"  # 1\n" in draft
    assert '# "g[@ref=\'#and\']" = "?"  # 1\n' in draft  # @n says only which one it is
    assert "ref[@target" not in draft
    assert any("2 empty <c> or <g> are not in the text" in line for line in to_words(census))
    assert dict(said.kinds["c"].meanings) == {"text": 2}
    assert any("1 empty <c> or <g> are not in the text" in line for line in to_words(said))


def test_words_that_touch_are_reported_with_the_element_between_them():
    body = (
        "<p><seg><hi>Deutsche Zeitung</hi></seg><seg><hi>Wien</hi></seg><seg/><seg>IX</seg>"
        "<pb/><note>Nein</note><lb/>Ja</p><p>So<hi>fi</hi>e<del>X</del> <hi>A</hi>nna</p>"
        "<p>Mc<choice><orig>d</orig><reg>D</reg></choice></p>"
    )

    census = census_of(body)

    assert census.touching.found == {"seg": 2, "choice": 1}
    assert any("seg Zeitung|Wien" in " ".join(line.split()[::2]) for line in to_words(census))


def test_the_draft_says_what_is_not_read_of_a_choice():
    census = census_of("<p><choice><abbr>Hr.</abbr><expan>Herr</expan></choice></p>")

    draft = draft_edition(census, name="mine")

    assert '# not read now: choice/abbr, 3 characters\n# choice = ["abbr", ' in draft
    assert "[choose]" not in draft_edition(census_of("<p>Herr</p>"), name="mine")


def test_ids_and_names_are_not_listed_one_by_one():
    body = "".join(f"<p xml:id='i{n}'><name key='Ulm' n='7'>U</name></p>" for n in range(3))

    census = census_of(body)

    shown = [line.split() for line in to_words(census)]
    assert ["p/@xml:id", "3", "3", "each", "once,", "as", "i0"] in shown
    assert ["name/@key", "3", "1", "Ulm", "(3)"] in shown
    assert census.schemes == {("key", "text"): 3}


def spaces_of(census):
    lines = draft_edition(census, name="mine").partition("[entities.spaces]\n")[2].splitlines()
    return [line.partition("  #")[0] for line in lines]


def test_the_draft_has_spaces_of_names_that_the_defaults_lack():
    ids = "https://d-nb.info/gnd/1 https://a.org/reg/1 http://a.org/reg/2 https://b.org/reg/1"
    ids += " https://books.b.com/7 wd:7"
    body = f"<p><rs type='law' ref='{ids}'>A</rs><ref target='#a' corresp='https://c.org/d/1'/></p>"

    assert spaces_of(census_of(body)) == [
        '"https://a.org/reg/" = "reg"',
        '"http://a.org/reg/" = "reg"',
        '"https://b.org/reg/" = "b"',
        '"https://books.b.com/" = "books"',
        '"wd:" = "wd"',
    ]


def test_a_draft_of_any_types_can_be_read(tmp_path):
    types = ("örtlich", "лицо", "a&#10;b", 'a"b\\c', "a]b")
    names = "".join(f"<rs type='{each}' ref='{each}:1'>A</rs>" for each in types)
    path = tmp_path / "mine.toml"

    path.write_text(draft_edition(census_of(f"<p>{names}</p>"), name="mine"), encoding="utf-8")

    labels = load_edition(path).labels
    assert list(labels) == ["örtlich", "лицо", "a_b", "a_b_c"]
    assert labels["a_b"][0].last.predicates[0].values == ("a\nb",)


def test_a_second_draft_keeps_the_spaces_of_the_first(tmp_path):
    edition = tmp_path / "mine.toml"
    edition.write_text('[entities.spaces]\n"https://a.org/reg/" = "laws"\n')

    census = census_of("<p><persName ref='https://a.org/reg/1'>A</persName></p>", edition=edition)

    assert spaces_of(census) == ['"https://a.org/reg/" = "laws"']


def test_the_draft_names_an_abbreviation_of_two_languages_once():
    line = "Der Kab. Rat kam, sagte er. Da kam er, sagte der Rat."
    body = f"<p>{line * 4}</p>"

    census = census_of(body)
    klingon = HEAD.replace('"de"', '"tlh"') + body + TAIL
    census.add(klingon.encode(), name="klingon.xml")

    assert [each.written for each in census.abbreviations] == [("Kab.",), ("Kab.",)]
    assert draft_edition(census, name="mine").count('"Kab.",  # 8') == 1


def test_the_page_shows_markup_as_text():
    page = to_html(census_of("<p>A &lt;b&gt; <persName key='&quot;&lt;i>'>Ida</persName></p>"))

    assert "&lt;persName" in page
    assert "<persName" not in page
    assert "<i>" not in page


def test_the_command_needs_no_output_and_replaces_no_file(tmp_path, capsys):
    assert main(["--inspect", str(LETTERS)]) == 0
    assert "persName" in capsys.readouterr().out

    assert main(["--inspect", str(LETTERS), "--output", str(tmp_path)]) == 0
    (tmp_path / "census.html").unlink()
    (tmp_path / "edition.toml").write_text("# mine")

    assert main(["--inspect", str(LETTERS), "--output", str(tmp_path)]) == 2
    assert (tmp_path / "edition.toml").read_text() == "# mine"


@pytest.mark.parametrize("what", ["nowhere/*.xml", "empty"])
def test_nothing_to_inspect_is_an_error(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()

    assert main(["--inspect", what]) == 2
    assert capsys.readouterr().err.startswith(f"error: --inspect {what}: matches no file")
