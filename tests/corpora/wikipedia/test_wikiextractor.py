"""wikiextractor behind the interface of ``wikitext.extract``; skipped where it is not installed."""

import random
from importlib.metadata import PackageNotFoundError

import pytest

from corpora.errors import UsageError
from corpora.wikipedia import wikiextractor
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of

ENGLISH = wiki_of(name="enwiki", lang="en")
SLOW = "[http://a " * 30_000  # keeps it busy for minutes of the processor


@pytest.fixture
def installed():
    pytest.importorskip("wikiextractor")  # the package alone; its modules run in their own process


def read(source: str) -> PageText:
    return wikiextractor.extract(source, ENGLISH, load_templates("en"), title="Page")


def mentions(page: PageText) -> list[tuple[str, str]]:
    return [(page.text[link.start : link.end], link.target) for link in page.links]


def test_a_link_in_another_comes_after_it():
    reader, page = wikiextractor.ExtractorReader(ENGLISH), PageText()

    reader.read('<a href="A">the <a href="B">old</a> town</a>')
    reader.fill(page)

    assert mentions(page) == [("the old town", "A"), ("old", "B")]


@pytest.mark.usefixtures("installed")
def test_a_name_in_another_language_is_no_error():
    assert read("Angela ({{lang-de|Kanzlerin}}) spoke.").text.startswith("Angela")


@pytest.mark.usefixtures("installed")
def test_what_follows_an_unmatched_brace_is_kept():
    formula = ":<math>K= {{[H]^{n} } \\over d</math>"
    table = "{|\n| a {{b\n|}"
    page = read(
        f"One.\n\n{formula}\n\nTwo {{{{c|{{{{d}}}}}}}}[[A]] {{{{ e.\n{table}\nThree {{{{f}}}}."
    )

    assert page.text == "One.\nformula_1\nTwo A e.\nThree."
    assert mentions(page) == [("A", "A")]


@pytest.mark.usefixtures("installed")
def test_link_keeps_its_text_if_its_title_has_a_colon():
    page = read("He saw [[Star Trek: Voyager|Voyager]] and [[2001: A Space Odyssey]].")

    assert page.text == "He saw Voyager and 2001: A Space Odyssey."
    assert mentions(page) == [
        ("Voyager", "Star Trek: Voyager"),
        ("2001: A Space Odyssey", "2001: A Space Odyssey"),
    ]


@pytest.mark.usefixtures("installed")
def test_items_of_lists_and_heads_are_blocks():
    page = read("Before.\n== A head ==\n* [[one]]\n** two\n; term : more\nAfter.")

    blocks = [(page.text[start:end], kind) for start, end, kind, _ in page.blocks]
    assert blocks == [
        ("Before.", "p"),
        ("A head", "head"),
        ("one", "item"),
        ("two", "item"),
        ("term: more", "item"),
        ("After.", "p"),
    ]


@pytest.mark.usefixtures("installed")
def test_trail_belongs_to_the_mention_and_section_to_the_link():
    page = read("Many [[windmill#Parts|mill]]s and [[AT&amp;T|a <b>company</b>]].")

    assert mentions(page) == [("mills", "Windmill"), ("a company", "AT&T")]
    assert [link.section for link in page.links] == ["Parts", ""]


@pytest.mark.usefixtures("installed")
def test_each_link_of_the_source_is_accounted_for():
    source = (
        "[[A]] {{T|[[B]]}} [[File:C.jpg|thumb|With a [[D]].]] [[:Category:E]] [[de:F]] [[#G|x]]\n"
        "{|\n| [[H]]\n|}\n[[I|]] <!-- [[J]] --> [[K\n[[Category:L]]"
    )

    page = read(source)

    assert mentions(page) == [("A", "A"), ("I", "I")]
    assert source.count("[[") == len(page.links) + page.dropped.total()
    assert page.dropped == {
        "file": 1, "category": 1, "interlanguage": 1, "namespace": 1, "section": 1, "not_kept": 5,
    }  # fmt: skip


@pytest.mark.usefixtures("installed")
def test_anchor_in_the_page_itself_is_text():
    page = read('An <a href="Fake">anchor</a> and &lt;a href="Other"&gt;one&lt;/a&gt;.')

    assert page.links == []
    assert page.text.startswith('An <a href="Fake">anchor</a>')


@pytest.mark.usefixtures("installed")
def test_disambiguation_and_templates_are_known():
    page = read("'''Mercury''' may be {{nope}} a planet.\n{{disambiguation}}")

    assert page.is_disambiguation
    assert page.templates["Nope"] == 1


@pytest.mark.usefixtures("installed")
def test_offsets_hold_and_links_add_up_for_any_markup():
    pieces = [
        "[[",
        "]]",
        "|",
        "{{",
        "}}",
        "''",
        "'''",
        "\n",
        "\n* ",
        "==",
        "<ref>",
        "</ref>",
        " ",
        "a",
    ]
    pieces += [
        "[[A]]",
        "[[File:x|",
        "[http://x y]",
        "{|",
        "|}",
        "<!--",
        "-->",
        "<br>",
        "&amp;",
        "B:c",
    ]
    generator = random.Random(1)
    for _ in range(200):
        source = "".join(generator.choices(pieces, k=generator.randrange(40)))

        page = read(source)

        created = page.dropped.pop("created", 0)
        assert source.count("[[") + created == len(page.links) + page.dropped.total(), source
        for start, end, _target, _section in page.links:
            assert 0 <= start < end <= len(page.text), source
            assert page.text[start:end] == page.text[start:end].strip(), source


@pytest.mark.usefixtures("installed")
def test_page_that_never_ends_is_given_up_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(wikiextractor, "PAGE_SECONDS", 1.0)

    with pytest.raises(wikiextractor.ExtractorError, match="did not finish it in 1 s"):
        read(SLOW)

    assert read("[[A]]").text == "A"


@pytest.mark.usefixtures("installed")
def test_page_it_fails_on_is_given_up_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(wikiextractor, "mask", lambda source: source or None)

    with pytest.raises(wikiextractor.ExtractorError, match="wikiextractor failed"):
        read("")

    assert read("[[A]]").text == "A"


@pytest.mark.parametrize(
    ("found", "message"),
    [("3.0.6", "evaluates the text of pages as code"), (None, "is not installed")],
)
def test_version_that_is_missing_or_unsafe_is_refused(found, message, monkeypatch):
    def version(_: str) -> str:
        if found is None:
            raise PackageNotFoundError
        return found

    monkeypatch.setattr(wikiextractor, "version", version)

    with pytest.raises(UsageError, match=message):
        wikiextractor.check_installed()


@pytest.mark.realdata
@pytest.mark.usefixtures("installed")
def test_links_of_a_dump_add_up(realdata, tmp_path):
    dump = realdata("wiki-dumps") / "dbpedia-minidumps" / "dewiki.xml.bz2"
    found = examine(dump, range_bytes=1 << 26, work_directory=tmp_path)
    wiki = wiki_of(name="dewiki", lang="de", namespaces=found.site.namespaces)
    pages = read_pages(dump, found.ranges[0], source="dewiki", max_page_bytes=1 << 26)

    for page in pages:
        assert isinstance(page, WikiPage)
        text = wikiextractor.extract(page.text, wiki, load_templates("de"), title=page.title)

        assert page.text.count("[[") == len(text.links) + text.dropped.total()
        assert len(text.links) > 0.4 * page.text.count("[[")
