"""Wikitext against cases that were written by hand from the conventions, before the code."""

import re
import tomllib
from pathlib import Path

import pytest

from corpora.errors import UsageError
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.single_page import read_page
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract

DATA = Path(__file__).resolve().parents[2] / "data" / "wikipedia"
CASES = tomllib.loads((DATA / "wikitext.toml").read_text("utf-8"))["case"]
SAMPLE = DATA / "kleinwiki-20261101-pages-articles.xml"
EXPECTED = tomllib.loads((DATA / "kleinwiki-expected.toml").read_text("utf-8"))


def read(wikitext: str, *, lang: str = "en", title: str = "") -> PageText:
    wiki = wiki_of(name=f"{lang}wiki", lang=lang)
    return extract(wikitext, wiki, load_templates(lang), title=title, today="2026-11-01")


def shown(page: PageText, *, sections: bool = True) -> list[str]:
    return [
        f"{link.start}:{link.end} {link.target}"
        f"{f'#{link.section}' if link.section and sections else ''} "
        f"'{page.text[link.start : link.end]}'"
        for link in sorted(page.links)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_wikitext_becomes_what_was_written_by_hand(case):
    page = read(case["wikitext"], lang=case.get("lang", "en"), title=case.get("title", ""))

    assert page.text == case["text"]
    assert shown(page) == case.get("links", [])
    assert {reason: n for reason, n in page.dropped.items() if n} == case.get("dropped", {})
    for key, value in {
        "kinds": [block.kind for block in page.blocks],
        "levels": [block.level or 0 for block in page.blocks],
        "categories": page.categories,
        "holes": page.holes,
        "templates": dict(page.templates),
    }.items():
        assert value == case.get(key, value), key


def test_a_private_wiki_is_in_the_language_of_its_dump_whatever_its_name():
    assert wiki_of(name="mywiki", lang="en").codes == ("en",)
    assert wiki_of(name="mywiki", lang="en").has_subpages


@pytest.mark.parametrize(
    ("name", "link", "entity"),
    [
        ("dawiki", ":en:foo bar#x", "enwiki:Foo bar"),
        ("dawiki", "w:de:berlin", "dewiki:Berlin"),
        ("dawiki", "w:foo", "enwiki:Foo"),
        ("dawiki", ":da:mølle", "dawiki:Mølle"),
        ("dawiki", ":jp:東京", "jawiki:東京"),
        ("dawiki", ":de:wikt:haus", None),
        ("dewikisource", "w:foo", "dewiki:Foo"),
        ("dewikisource", ":simple:A", "simplewikisource:A"),
        ("dawiki", ":en:Category:X", None),
        ("dawiki", ":fr:Utilisateur:X", None),
        ("dawiki", ":en:en:en:en:A", None),
        ("dawiki", ":en:", None),
        ("dawiki", "commons:X", None),
        ("dewiktionary", ":en:house", "enwiktionary:house"),
        ("kleinwiki", ":en:A", None),
    ],
)
def test_a_link_to_another_wiki_of_wikimedia_is_a_mention_of_its_page(name, link, entity):
    page = read_page(f"a [[{link}|b]] c", wiki=name)

    assert page.text == "a b c"
    assert [mention.entity for mention in page.mentions] == [entity] * (entity is not None)


@pytest.mark.parametrize(
    ("name", "wikitext", "entities"),
    [
        ("enwiki", "A {{ill|Foo Bar|de|Bar (X)}} {{ill|X|WD=Q1}}", ["dewiki:Bar (X)"]),
        ("enwiktionary", "To {{w|walk}} or {{w|Paris|go}}", ["enwiki:Walk", "enwiki:Paris"]),
    ],
)
def test_templates_that_link_to_another_wiki_are_mentions(name, wikitext, entities):
    page = read_page(wikitext, wiki=name)

    assert [mention.entity for mention in page.mentions] == entities


@pytest.mark.parametrize("wiki", ["dewikibooks", "commonswiki"])
def test_a_slash_begins_a_subpage_outside_of_wikipedias(wiki):
    page = extract("[[/a]]", wiki_of(name=wiki, lang="de"), load_templates("de"))

    assert (page.text, page.links, page.dropped) == ("/a", [], {"subpage": 1})


@pytest.mark.parametrize(
    ("name", "wikitext", "text"),
    [
        ("enwiktionary", "# To [[move]] on the {{l|en|foot|feet}}.", "To move on the feet."),
        ("enwiki", "on the {{l|en|foot|feet}}", "on the en"),
        (
            "enwiktionary",
            "# {{lb|en|old|UK}} Go.\n* {{sense|walk}} German: {{t+|de|gehen|m}}",
            "(old, UK) Go.\n(walk): German: gehen",
        ),
        ("dewiktionary", "{{K|Astrologie}} ein {{Ü|en|house}}", "Astrologie: ein house"),
        ("enwikinews", "{{w|Angela Merkel|Merkel}} and {{w|Paris}}", "Merkel and Paris"),
        ("dewikisource", "{{Seite|7}}Der {{SperrSchrift|Anfang}}{{PRZU}}", "Der Anfang"),
        (
            "enwikivoyage",
            "* {{see|name=Tivoli|address=Vej 3|lat=55|content=A park.}}",
            "Tivoli, Vej 3. A park.",
        ),
        ("potter", "He<poll>Who?</poll> is", "He is"),
    ],
)
def test_projects_have_templates_of_their_own(name, wikitext, text):
    wiki = wiki_of(name=name, lang=name[:2])

    page = extract(wikitext, wiki, load_templates(wiki.codes))

    assert (page.text, page.holes) == (text, page.holes[:1] if "<poll>" in wikitext else [])


@pytest.mark.parametrize("article", EXPECTED["articles"], ids=lambda article: article["title"])
def test_article_of_the_sample_becomes_what_was_written_by_hand(article, tmp_path):
    dump = examine(SAMPLE, range_bytes=1 << 20, work_directory=tmp_path)
    pages = read_pages(SAMPLE, dump.ranges[0], source="sample", max_page_bytes=1 << 20)
    source = next(page.text for page in pages if page.title == article["title"])
    wiki = wiki_of(name="kleinwiki", lang="de", namespaces=dump.site.namespaces)

    page = extract(source, wiki, load_templates("de"), title=article["title"])

    assert page.text == article["text"]
    assert shown(page, sections=False) == article["links"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[rendr]", "rendr: unknown (did you mean render?)"),
        ("[render]\nA = 1", "render: A = 1: must be a string"),
        ("silent = 3", "silent = 3: must be a table"),
        ('[silent]\nname = ["A"]', "silent: name: unknown (did you mean names?)"),
        ("[dates]\nmonths = 3", "dates: months = 3: must be a list"),
        ('[footnotes]\nlong = ["A"]', "footnotes: long: unknown"),
        (
            '[authority.types]\nort = "plce"',
            "authority: types: ort = 'plce': must be one of person",
        ),
    ],
)
def test_a_mistake_in_a_table_of_templates_is_an_error(table, said, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(table, encoding="utf-8")

    with pytest.raises(UsageError, match=re.escape(f"--templates {path}: {said}")):
        load_templates("en", [path])
