"""Pages say who or what they are about: in templates of authority files, and by categories."""

import time

import pytest

from corpora.errors import UsageError
from corpora.wikipedia.authority import authority_table, count_ids, normalise
from corpora.wikipedia.templates import load_templates

NORMDATEN = "{{Normdaten|TYP=p|GND=118529692|LCCN=n/79/3362|NDL=00620421|VIAF= 75121530 }}"


def read(text, *codes, more=()):
    return authority_table(codes or ("de",), more).read(text)


def test_ids_and_type_of_a_template():
    found = read(f"Text.\n{NORMDATEN}\n[[Kategorie:Ort in X]]")

    assert found.ids == {
        "gnd": "118529692",
        "lccn": "n79003362",
        "ndl": "00620421",
        "viaf": "75121530",
    }
    assert found.type == "person"
    assert count_ids(found) == {
        **{f"ids.{scheme}": 1 for scheme in ("gnd", "lccn", "ndl", "viaf")},
        "ids.pages": 1,
        "types.person": 1,
    }


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "{{Authority control|GND=118529692}}"),
        ("en", "{{ authority_control\n| GND = 118529692\n| VIAF = {{x|GND=1}} }}"),
        ("en", "{{Template:Authority control|LCCN=–|GND=118529692}}"),
        ("de", "{{vorlage:Normdaten|GND=118529692}}"),
        ("da", "{{Autoritetsdata|GND=118529692}}"),
        ("sv", "{{Auktoritetsdata|GND=118529692}}"),
        ("ru", "{{Нормативный контроль|GND=118529692}}"),
        ("zh", "{{规范控制|GND=118529692}}"),
    ],
)
def test_templates_are_known_by_language(code, text):
    assert read(text, code).ids == {"gnd": "118529692"}


@pytest.mark.parametrize(
    "text",
    [
        "{{Normdatenbank|GND=118529692}}",
        "<!-- {{Normdaten|GND=118529692}} -->",
        "{{Normdaten|GND=118529692",
        "{{Normdaten|{{x|GND=118529692}}}}",
        "{{Normdaten|GND=no}}",
    ],
)
def test_what_is_no_id_of_the_page_is_not_taken(text):
    found = read(text)

    assert (found.ids, found.n_malformed) == ({}, 0)


def test_wikidata_and_malformed_ids():
    found = read("{{Authority control|VIAF=x12|QID=Q64}}{{Taxonbar|from=Q65}}", "en")

    assert (found.ids, found.n_malformed) == ({"wikidata": "Q64"}, 1)
    assert normalise("lccn", "n79021164") == "n79021164"
    assert normalise("gnd", "4005728-8") == "4005728-8"


@pytest.mark.parametrize(
    ("code", "category", "expected"),
    [
        ("en", "Category:1912 births", "person"),
        ("en", "category: Living people |Turing", "person"),
        ("en", "Category:356&nbsp;BC births", "person"),
        ("en", "Category:Cities in Germany", "place"),
        ("en", "Category:1912 films", "work"),
        ("de", "Kategorie:Frau", "person"),
        ("de", "Category:Ort in Bayern", "place"),
        ("uk", "Категорія:Народились 1912", "person"),
        ("ja", "Category:1912年生", "person"),
        ("en", "Category:People", None),
        ("ltg", "Category:1912 births", None),
    ],
)
def test_categories_say_the_type(code, category, expected):
    assert read(f"[[{category}]]", code).type == expected


def test_a_user_adds_templates_parameters_and_categories(tmp_path):
    table = tmp_path / "mine.toml"
    table.write_text(
        '[authority]\ntemplates = ["Ids"]\n[authority.parameters]\ngnd = ["nr"]\n'
        '[authority.types]\nort = "place"\n[authority.categories]\nwork = ["Bild .*"]\n'
    )
    mine = load_templates(("ltg",), [table]).authority

    assert mine.read("{{Ids|nr=118529692|typ=Ort}}").ids == {"gnd": "118529692"}
    assert mine.read("{{Ids|nr=118529692|typ=Ort}}").type == "place"
    assert mine.read("[[Category:Bild 1]]").type == "work"
    for wrong in ('parameters = {pnd = ["x"]}', "names = []", 'categories = {work = ["("]}'):
        table.write_text(f"[authority]\n{wrong}\n")
        with pytest.raises(UsageError, match=r"mine\.toml: \[?authority"):
            load_templates(("ltg",), [table])


def test_hostile_pages_are_read_in_the_time_of_others():
    table = authority_table(("de",))

    def seconds(text):
        start = time.process_time()
        table.read(text)
        return time.process_time() - start

    usual = seconds("Wort [[Link|Text]] {{Vorlage|a=b}}. " * 6_000)
    for piece in ("{{Normdaten|", "<!--", "[[Kategorie:", "{{Normdaten" + " " * 99, "{{ {{ "):
        assert seconds((piece * (2 * 10**5 // len(piece)))[: 2 * 10**5]) < 40 * usual + 0.5, piece
