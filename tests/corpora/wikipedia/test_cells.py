"""Tables, infoboxes, references and formulas beside the text of a page."""

import random
import tomllib
from functools import cache
from pathlib import Path

import pytest

from corpora.wikipedia.aside import KINDS, SideBlock
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract
from tests.corpora.wikipedia.test_wikitext_properties import CALLS, LINES, LINKS, QUOTES, TAGS

CASES = tomllib.loads(
    (Path(__file__).resolve().parents[2] / "data" / "wikipedia" / "wikitext.toml").read_text()
)["case"]
ALL = frozenset(KINDS.values())


templates = cache(load_templates)


def read(wikitext: str, *, lang: str = "en", blocks: frozenset[str] = ALL) -> PageText:
    wiki = wiki_of(name=f"{lang}wiki", lang=lang)
    return extract(wikitext, wiki, templates(lang), today="2026-11-01", blocks=blocks)


def cells(block: SideBlock) -> list[tuple[int, int, str]]:
    return [(cell.row, cell.column, cell.text) for cell in block.cells]


def links(block: SideBlock) -> list[tuple[str, str]]:
    return [(block.text[link.start : link.end], link.target) for link in block.links]


def before(page: PageText, block: SideBlock) -> str:
    return page.text[: block.offset].split("\n")[-1]


def is_same(page: PageText, other: PageText) -> bool:
    names = ("text", "blocks", "links", "holes", "hole_names", "dropped", "simplified")
    return all(getattr(page, name) == getattr(other, name) for name in names)


def test_the_text_is_the_same_with_and_without_blocks():
    for case in CASES:
        source, lang = case["wikitext"], case.get("lang", "en")

        assert is_same(read(source, lang=lang), read(source, lang=lang, blocks=frozenset())), case


def test_any_markup_gives_the_same_text_and_blocks_with_right_offsets():
    rng = random.Random(7)
    pieces = [*LINKS, *LINES, *QUOTES, *TAGS, *CALLS, "word ", "<math>x</math>"]
    pieces += ["<ref name=a>", "<ref name=a/>", "\n|}\n", "\n|-\n", "{{X|a=1|b=2|c=", "}}"] * 3
    for _ in range(300):
        source = "".join(rng.choices(pieces, k=rng.randint(1, 40)))

        page = read(source)

        assert is_same(page, read(source, blocks=frozenset())), source
        for block in page.aside:
            assert 0 <= block.offset <= len(page.text), source
            assert block.parent is None or block.parent_offset <= len(block.parent.text), source
            assert all(0 <= link.start < link.end <= len(block.text) for link in block.links)
            assert not any(map(block.text.__contains__, "\x00\x0e\x0f")), source


def test_cells_have_rows_and_columns_under_what_spans_them():
    page = read(
        "Before.\n"
        "{| class='wikitable'\n|+ The [[towns]]\n"
        '! rowspan=2 | Town !! colspan="2" | Size\n|-\n! 1900 !! 2000\n|-\n'
        "| [[Ulm|The town]] || {{convert|5|km|mi}} || ''six''\nand more\n|}\nAfter."
    )

    [table] = page.aside
    assert (table.kind, before(page, table)) == ("table", "Before.")
    assert cells(table) == [
        (0, 0, "The towns"),
        (1, 0, "Town"), (1, 1, "Size"),
        (2, 1, "1900"), (2, 2, "2000"),
        (3, 0, "The town"), (3, 1, "5 kilometres"), (3, 2, "six and more"),
    ]  # fmt: skip
    assert [(cell.kind, cell.rows, cell.columns) for cell in table.cells[:3]] == [
        ("caption", 1, 1), ("head", 2, 1), ("head", 1, 2),
    ]  # fmt: skip
    assert links(table) == [("towns", "Towns"), ("The town", "Ulm")]
    assert table.text.split("\n")[3] == "The town\t5 kilometres\tsix and more"


def test_a_template_among_the_attributes_of_a_table_makes_no_cells():
    [table] = read("{| {{Style\n|name = x\n|a}} class=b\n|-\n| one || {{X\n|two}}\n|}").aside

    assert table.text == "one\t"


def test_a_table_in_a_cell_is_a_block_in_a_block():
    page = read("A.\n{|\n| outer\n{|\n| inner\n|}\nrest\n|}\n<table><tr><td>tag</table>")

    [inner, outer, tags] = sorted(page.aside, key=lambda block: block.text)
    assert (outer.text, inner.text, tags.text) == ("outer\nrest", "inner", "tag")
    assert (inner.parent, outer.text[: inner.parent_offset]) == (outer, "outer")
    assert (inner.offset, outer.offset) == (2, 2)


def test_infobox_has_names_and_values_and_the_references_in_it():
    page = read(
        "{{Infobox person\n| name = '''A'''<ref>In ''it''.</ref>\n| born = [[Ulm]], "
        "{{birth date|1990|1|2}}\n| died =\n}}\nText {{inline|a=1|b=2|c=3}} here."
    )

    [reference, infobox] = page.aside
    assert [(cell.name, cell.text) for cell in infobox.cells] == [
        ("name", "A"), ("born", "Ulm, January 2, 1990"),
    ]  # fmt: skip
    assert (infobox.template, links(infobox)) == ("Infobox person", [("Ulm", "Ulm")])
    assert (reference.text, reference.parent, reference.parent_offset) == ("In it.", infobox, 1)


def test_reference_that_is_used_again_stands_once_with_all_its_places():
    page = read(
        'One.<ref name="a">See {{cite book|title=[[Foo]] bar|year=1999|isbn=}} p. 5</ref> '
        "Two.<ref name=a /> Three.<ref name=b /> Four.{{#tag:ref|Called|name=c}}<ref name=d />\n"
        "<references>\n<ref name=b>Listed ''z''.</ref>\n<ref name=e>Unused</ref>\n</references>"
    )

    by_name = {block.name: block for block in page.aside}
    assert by_name.keys() == {"a", "b", "c", "e"}  # d stands nowhere
    assert page.n_undefined == 1
    assert [(cell.name, cell.text) for cell in by_name["a"].cells] == [
        (None, "See p. 5"), ("title", "Foo bar"), ("year", "1999"),
    ]  # fmt: skip
    assert (by_name["a"].template, links(by_name["a"])) == ("Cite book", [("Foo", "Foo")])
    assert before(page, by_name["a"]) == "One."
    assert [page.text[:offset] for offset in by_name["a"].reused_at] == ["One. Two."]
    assert (by_name["b"].text, before(page, by_name["b"])) == ("Listed z.", "One. Two. Three.")
    assert (by_name["c"].text, by_name["e"].text) == ("Called", "Unused")


def test_places_are_right_in_lines_with_markup_around_them():
    page = read(
        "* ''One'' [[two|three]]<ref>a</ref> '''four'''<ref>b</ref>  [http://x five]<ref>c</ref>, "
        "six\n[[File:x.png|thumb|A ''caption''<ref>d</ref>]]\n== Head<ref>e</ref> =="
    )

    assert [(block.text, before(page, block)) for block in page.aside] == [
        ("a", "One three"),
        ("b", "One three four"),
        ("c", "One three four five"),
        ("d", "A caption"),
        ("e", "Head"),
    ]


def test_places_are_right_where_japanese_lines_join():
    page = read("京都。<ref>一</ref>\n<ref>二</ref>奈良は\n大阪<ref>三</ref>。")

    assert page.text == "京都。奈良は大阪。"
    assert [before(page, block) for block in page.aside] == ["京都。", "京都。", "京都。奈良は大阪"]


def test_formula_is_tex():
    page = read(r"With <math>\frac{a}{b} < 1</math> and <ref>in <math>c^2</math></ref>.")

    [formula, reference, inner] = page.aside
    assert (formula.text, before(page, formula)) == (r"\frac{a}{b} < 1", "With ")
    assert (inner.text, inner.parent) == ("c^2", reference)


def test_only_the_kinds_that_are_asked_for_are_kept():
    page = read("A <math>b</math><ref>c</ref>\n{|\n| d<ref>e</ref>\n|}", blocks=frozenset({"math"}))

    assert [(block.kind, block.text) for block in page.aside] == [("math", "b")]


def test_footnotes_of_templates_are_references():
    page = read(
        "One.{{sfn|Klee|Marc|1912|p=3}} "
        "Two.{{efn|name=n|A ''note'' on [[Ulm]].<ref name=r>In it</ref>}} "
        "Three.{{Sfn|Klee|Marc|1912|p=3}}{{sfnp|Kant|1781|pp=1–2|loc=n. 4}} "
        "Four.{{r|r|z}}{{efn|name=n}}{{refn|group=b|Last}}\n"
        "<references><ref name=z>Listed</ref></references>"
    )

    assert page.text == "One. Two. Three. Four."
    assert [(block.text, block.name) for block in page.aside] == [
        ("Klee & Marc 1912, p. 3", None),
        ("In it", "r"),
        ("A note on Ulm.", "n"),
        ("Kant 1781, pp. 1–2, n. 4", None),
        ("Listed", "z"),
        ("Last", None),
    ]
    first, inner, note, *_ = page.aside
    assert (before(page, first), links(note)) == ("One.", [("Ulm", "Ulm")])
    assert [page.text[:place] for place in first.reused_at] == ["One. Two. Three."]
    assert [page.text[:place] for place in note.reused_at] == ["One. Two. Three. Four."]
    assert (inner.parent, inner.reused_at) == (note, note.reused_at)
    assert page.n_undefined == 0


@pytest.mark.parametrize(
    ("footnote", "text"),
    [
        ("sfnm|1a1=Klee|1a2=Marc|1y=1912|1p=3|2a1=Kant|2y=1781|2pp=1–2|2loc=n. 4",
         "Klee & Marc 1912, p. 3; Kant 1781, pp. 1–2, n. 4"),
        ("Sfnm|高橋|1974|1p=23|高橋|1969|2pp=49-50", "高橋 1974, p. 23; 高橋 1969, pp. 49-50"),
        ("sfnm|Kant|1781|2a1=Klee|2y=1912|Marc", "Kant 1781; Klee 1912; Marc"),
        ("sfnm|1a1=Klee|1y=1912|1ps=: ''so''|2a1=Kant|2ps=.|ps=, [[Ulm]].",
         "Klee 1912: so; Kant, Ulm."),
        ("sfnm|1a1=Klee|1a2=|1a3=Marc|1y=1912|3a1=Kant|ps=none", "Klee 1912"),
        ("sfn|Klee|1912|p=3|ps=: “so”.", "Klee 1912, p. 3: “so”."),
        ("sfn|Klee|1912|postscript=.", "Klee 1912"),
    ],
)  # fmt: skip
def test_short_footnotes_name_all_their_sources(footnote, text):
    page = read(f"One.{{{{{footnote}}}}} Two.")

    assert page.text == "One. Two."
    assert [(block.text, block.name) for block in page.aside] == [(text, None)]


def test_footnotes_are_silent_without_references():
    page = read("One.{{sfn|Klee|1912}} {{efn|A note}}", blocks=frozenset({"table"}))

    assert (page.text, page.aside) == ("One.", [])


def test_references_that_use_each_other_and_deep_tables_end():
    circle = read("{{#tag:ref|x <ref name=b/>|name=a}} {{#tag:ref|y <ref name=a/>|name=b}}")
    deep = read("\n{|\n|" * 200 + "x" + "\n|}" * 200)

    assert {block.text for block in circle.aside} == {"x", "y"}
    assert len(deep.aside) == 21
