"""Rendered pages to text and links: what a reader sees, and nothing else."""

import json
import re
import tarfile
from collections import Counter

import pytest

from corpora.document import Rejected
from corpora.errors import CorpusError, UsageError
from corpora.wikipedia.blocks import ExtractorError
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.html.text import MAX_DEPTH, extract
from corpora.wikipedia.ledger import count_page, links_add_up
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract as read_wikitext

VARIANT = json.dumps({"twoway": [{"l": "zh-hans", "t": "软件"}, {"l": "zh-hant", "t": "軟體"}]})


def read(body, *, lang="en", title="Orbel"):
    wiki = wiki_of(name=f"{lang}wiki", lang=lang, base=f"https://{lang}.wikipedia.org/wiki/")
    return extract(f"<body>{body}</body>", wiki, None, title=title)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>a\n b&nbsp;<b>c</b>&shy;d</p>\n<p> e </p>", "a b cd\ne"),
        ("<ul><li>a<ul><li>b</li></ul>c</li></ul>", "a\nb\nc"),
        ("<dl><dt>a</dt><dd>b</dd></dl>", "a\nb"),
        ("<p>x<sup>2</sup> H<sub>2</sub>O 1<sup>st</sup></p>", "x² H₂O 1st"),
        ("<p>a<br>b</p>", "a\nb"),
        ("<h1>Orbel</h1><p>a</p><h1>Other</h1>", "a\nOther"),
        ("<p>a<span style='display: none'>b</span><span class='mw-editsection'>c</span></p>", "a"),
        ("<p>4<span class='sr-only'>+</span>1<span class='sr-only'>/</span>2</p>", "4 1⁄2"),
        ("<p><ruby>漢<rt>かん</rt></ruby>字</p>", "漢（かん）字"),
        ("<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby></p>", "漢(かん)"),
        ("<p>漢字\n漢字 a\nb</p>", "漢字漢字 a b"),
        ("<p>so [<a class='external autonumber' href='//x.org'>[1]</a>]</p>", "so []"),
        ("<figure typeof='mw:File'><figcaption>a</figcaption></figure>", ""),
        ("<figure typeof='mw:File/Thumb'><figcaption>a</figcaption></figure>", "a"),
        ("<div class='poem'><p>a<br>b</p></div>", "a\nb"),
        ("<p>E = <i class='mwe-math-element'><annotation>mc^{2}</annotation></i>.</p>", "E = ."),
        ("<p>a</p><table><tr><td>b</td></tr></table><div role='note'>c</div>", "a"),
        ("<p>a</p><div style='position: absolute; left: 5px'>on a map</div><p>b</p>", "a\nb"),
        ("<ruby>漢<i class='rp'>（</i><rt>かん</rt><i class='rp'>）</i></ruby>", "漢（かん）"),
        ("<p>a<!-- b --><script>c</script><style>d</style></p>", "a"),
    ],
)  # fmt: skip
def test_the_text_is_what_a_reader_sees(body, text):
    assert read(body).text == text


def test_a_variant_of_the_language_is_shown():
    body = f"<p><span typeof='mw:LanguageVariant' data-mw-variant='{VARIANT}'></span></p>"

    assert read(body, lang="zh").text == "软件"


def test_spans_in_other_languages_are_known():
    page = read(
        "<p lang='fr'> Le <i lang='la'>nota <b>bene</b></i> dit</p><p lang='en-GB'>a</p>"
        "<p>b <a href='./C' lang='de'>Tal </a><i lang='x'>c</i><i lang='ja'>!</i></p>"
    )

    spans = [(page.text[start:end], tag) for start, end, tag in page.foreign]
    assert spans == [("Le nota bene dit", "fr"), ("nota bene", "la"), ("Tal", "de")]


@pytest.mark.parametrize(
    ("anchor", "target"),
    [
        ("<a rel='mw:WikiLink' href='./Ulm_(Donau)#Bau'> Ulm </a>", ("Ulm", "Ulm (Donau)", "Bau")),
        ("<a href='/wiki/100%25'>all</a>", ("all", "100%", "")),
        ("<a href='//en.wikipedia.org/wiki/Ulm'>Ulm</a>", ("Ulm", "Ulm", "")),
        ("<a class='new' href='/w/index.php?title=Ulm&amp;redlink=1'>U</a>", ("U", "Ulm", "")),
        ("<a class='mw-selflink selflink'>it</a>", ("it", "Orbel", "")),
        ("<a href='../A/Ulm.html'>Ulm</a>", ("Ulm", "Ulm", "")),
        (
            "<a rel='mw:WikiLink/Interwiki' href='//de.wikipedia.org/wiki/%C3%84_b#c'>a</a>",
            ("a", ":dewiki:Ä b", "c"),
        ),
        (
            "<a class='extiw' href='https://fr.wikisource.org/wiki/Auteur'>a</a>",
            ("a", ":frwikisource:Auteur", ""),
        ),
        ("<a class='extiw' href='https://en.wikipedia.org/wiki/ulm'>a</a>", ("a", "Ulm", "")),
        ("<a class='extiw' href='//de.wikipedia.org/wiki/pt:A'>a</a>", ("a", ":ptwiki:A", "")),
    ],
)
def test_a_link_to_an_article_is_a_mention(anchor, target):
    page = read(f"<p>a {anchor} b</p>")

    [link] = page.links
    assert (page.text[link.start : link.end], link.target, link.section) == target


@pytest.mark.parametrize(
    ("anchor", "reason"),
    [
        ("<a rel='mw:WikiLink' href='./File:A.jpg'><img></a>", "file"),
        ("<a rel='mw:WikiLink' href='./Help:A'>a</a>", "namespace"),
        ("<a class='extiw' href='https://en.wiktionary.org/wiki/a'>a</a>", "interwiki"),
        ("<a class='extiw' href='https://de.wikipedia.org/wiki/Datei:A.jpg'>a</a>", "interwiki"),
        ("<a class='extiw' href='https://de.wikipedia.org/wiki/A'>de</a>", "interwiki"),
        ("<a class='extiw' href='https://example.org/wiki/A'>a</a>", "interwiki"),
        ("<a href='#Bau'>a</a>", "section"),
        ("<a rel='mw:WikiLink' href='./A'></a>", "empty"),
        ("<table><tr><td><a rel='mw:WikiLink' href='./A'>a</a></td></tr></table>", "in_table"),
        ("<div class='navbox'><a rel='mw:WikiLink' href='./A'>a</a></div>", "in_navigation"),
    ],
)
def test_another_link_is_counted_with_its_reason(anchor, reason):
    page = read(f"<p>x</p>{anchor}")

    assert +page.dropped == {reason: 1}
    assert page.links == []


def test_headings_have_levels():
    page = read("<h2>a</h2><p>b</p><div class='mw-heading'><h3>c</h3></div><ul><li>d</li></ul>")

    assert [block.level for block in page.blocks] == [2, None, 3, None]


def test_categories_are_those_of_the_page():
    page = read(
        "<p>a</p><link rel='mw:PageProp/Category' href='./Category:Rivers_(Ulm)#Orbel'/>"
        "<link rel='mw:PageProp/Category' href='./Category:Rivers_(Ulm)'/>"
        "<div class='catlinks'><ul><li><a href='/wiki/Category:Water'>Water</a></li></ul></div>"
    )

    assert page.categories == ["Rivers (Ulm)", "Water"]


def test_links_to_other_sites_are_text():
    page = read("<p><a class='external text' href='https://en.wikipedia.org/wiki/A'>a</a></p>")

    assert (page.text, page.links, page.n_links) == ("a", [], 0)


def test_elements_that_nest_too_deep_are_an_error():
    with pytest.raises(ExtractorError, match="nest more than"):
        read("<div>" * (MAX_DEPTH + 5))


REFUSED = {
    "commonswiki": "no_html",
    "1984_United": "no_html",
    "Poetry": "malformed_html",
    "invalid-nons": "is a damaged ZIM archive",
    "split": "is a part of a ZIM archive",
}


@pytest.mark.realdata
def test_every_real_file_is_read_or_refused_with_the_reason(realdata, tmp_path):
    folder = realdata("wiki-html")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")

    outcomes = {file.relative_to(folder).as_posix(): outcome(file, tmp_path) for file in files}

    refused = {name: why for name, why in outcomes.items() if why}
    assert len(refused) == 2 + 1 + 16 + 14
    for name, why in refused.items():
        assert any(part in name and reason in why for part, reason in REFUSED.items()), name


def outcome(file, work_directory):
    """Return why a file is refused; empty if all of its pages are read."""
    try:
        dump = examine(file, range_bytes=1 << 26, work_directory=work_directory)
    except (CorpusError, UsageError) as error:
        return str(error)
    site = dump.site
    wiki = wiki_of(name=site.wiki or "enwiki", lang=site.lang or "en", base=site.base)
    for part in dump.ranges:
        pages = read_pages(
            file, part, source=file.name, max_page_bytes=10**8, work_directory=work_directory
        )
        for page in pages:
            if isinstance(page, Rejected):
                return page.reason
            text = extract(page.text, wiki, None, title=page.title)
            assert links_add_up(count_page(page.text, text)), (file, page.title)
    return ""


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["pl-big", "wrappers2", "ar-no-paragraph", "fr-unsigned"])
def test_parsoid_and_the_old_parser_give_the_same_text_and_links(name, realdata):
    folder = realdata("wiki-html")
    lang = "en" if name == "wrappers2" else name[:2]

    new, old = (
        read(
            (folder / kind / "DiscussionTools" / f"{name}-{parser}.html").read_text("utf-8"),
            lang=lang,
        )
        for kind, parser in (("parsoid", "parsoid"), ("render", "oldparser"))
    )

    assert new.text == old.text
    assert new.links == old.links


def records(folder):
    """Yield the records of a folder that have HTML and wikitext."""
    for path in sorted((folder / "enterprise").rglob("*")):
        lines = []
        if path.suffix == ".json":
            lines = [path.read_bytes()]
        elif path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                lines = [line for member in archive for line in archive.extractfile(member)]
        for record in map(json.loads, lines):
            body = record.get("article_body", {}) if isinstance(record, dict) else {}
            if body.get("html") and body.get("wikitext"):
                yield record, body["html"], body["wikitext"]


def context(words):
    return r"\W+".join(map(re.escape, words))


@pytest.mark.realdata
def test_where_wikitext_has_a_hole_the_rendered_page_has_something(realdata):
    outcomes, n_pages = Counter(), 0
    for record, html, source in records(realdata("wiki-html")):
        lang, title = record["in_language"]["identifier"], record["name"]
        wiki = wiki_of(name=record["is_part_of"]["identifier"], lang=lang)
        rendered = extract(html, wiki, None, title=title).text
        given = {"title": title, "today": record["date_modified"][:10]}
        page = read_wikitext(source, wiki, load_templates(lang), **given)
        n_pages += 1
        for hole, name in zip(page.holes, page.hole_names, strict=True):
            before = re.findall(r"\w+", page.text[max(0, hole - 80) : hole])[-3:]
            after = re.findall(r"\w+", page.text[hole : hole + 80])[:3]
            there = re.search(
                rf"{context(before)}(.{{,400}}?)\b{context(after)}", rendered, re.DOTALL
            )
            is_value = bool(there and re.search(r"\w", there[1]))
            outcomes[name if there and not is_value else is_value] += 1

    assert n_pages == 129
    assert outcomes == {True: 19, False: 1, "<math>": 2}  # formulas are holes of both
