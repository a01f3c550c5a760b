"""From a page to an article: body without boilerplate, links, and what the page says of itself."""

import gzip
import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from corpora.news.blocks import Block, Hyperlink
from corpora.news.bylines import names_of
from corpora.news.extraction import EXTRACTORS, ExtractionError, extract
from corpora.news.page_metadata import absolute_url, moment, read_date
from corpora.news.tidying import tidy, with_leads

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "news"
URL = "https://www.kreisbote.example/stadt/bruecke.html"
PARAGRAPHS = "".join(
    f"<p>Das ist der Absatz {n}, und er hat genug Wörter für einen Absatz.</p>" for n in range(6)
)


def sample(name):
    data = (SAMPLES / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")


def article_of(html, *, url=URL, extractor="trafilatura"):
    return extract(html, url=url, extractor=extractor)


def page(head="", body=PARAGRAPHS):
    return f"<html><head>{head}</head><body><article>{body}</article></body></html>"


def block(text, kind="p", *links):
    """Make a block; ``links``: the words of it that are links."""
    starts = ((text.index(words), len(words)) for words in links)
    return Block(text, kind, tuple(Hyperlink(start, start + n, "/a") for start, n in starts))


TITLES = ["Brücke  offen!", "Die neue Brücke wird teurer als gedacht"]
SAME = "Wir haben das nicht gewusst, und wir hätten es wissen müssen, sagte er."
QUOTE = "wir hätten es wissen müssen"
ITEMS = ["200 Gramm Mehl vom Typ 405", "Salz", "200 Gramm Mehl vom Typ 405 und etwas mehr"]
INTERVIEW = ["Was sagen Sie dazu, Herr Rat?", "Er ist falsch."]
INTERVIEW += [INTERVIEW[0], "Er ist richtig."]
LINES = [f"Der Absatz {n}." for n in range(8)]
LINKED = (
    "Der ganze Absatz führt zu einer anderen Seite, und ist doch ein Satz des Artikels.",
    "Ein anderer Absatz führt auch zu einer anderen Seite, und endet mit einem Punkt.",
)
COLON = "Was der Rat dazu sagt, wird sich noch in dieser Woche zeigen, hieß es gestern:"
HEADLINE = "Warum die Brücke erst in zwei Jahren fertig wird"
TIDIED = {
    "the title and the byline are no text": [
        (
            [
                "Brücke offen",
                "Von Anna Quandt",
                "Ein Text über Anna Quandt, die im Rathaus sprach.",
            ],
            [2],
        )
    ],
    "a block of nothing but links is no text": [
        (
            [
                block("Mehr dazu: hier", "item", "Mehr dazu", "hier"),
                block("Mehr dazu hier", "item", "dazu"),
            ],
            [1],
        )
    ],
    "what says the same again goes but not a heading": [
        ([block(QUOTE, "head"), QUOTE, SAME, SAME], [0, 2])
    ],
    "a list may say the same again": [
        ([block(ITEMS[n], "item") for n in (0, 1, 0, 2)], [0, 1, 2, 3])
    ],
    "a question that is asked again stays": [(INTERVIEW, [0, 1, 2, 3])],
    "what stands in a block that goes is no repetition": [([SAME, f"© Kreisbote. {SAME}"], [0])],
    "a heading that repeats the title goes wherever it stands": [
        ([*LINES[:7], block("Brücke offen", "head"), LINES[7]], [*range(7), 8])
    ],
    "a linked paragraph is text but not in a list of links": [
        (["Davor.", block(LINKED[0], "p", LINKED[0]), "Danach."], [0, 1, 2]),
        (["Davor.", *(block(text, "p", text) for text in LINKED), "Danach."], [0, 3]),
    ],
    "headings at the end go": [
        (["Ein Absatz.", block("Mehr", "head"), block("Noch", "head")], [0])
    ],
    "a short line with a colon at the end goes": [
        (["Ein Absatz.", "Mehr Themen:"], [0]),
        (["Mehr Themen:", "Ein Absatz."], [0, 1]),
        (["Ein Absatz.", COLON], [0, 1]),
    ],
    "an address alone is no text": [
        (["Ein Absatz.", "https://a.example/b?c=1", "Mehr auf https://a.example im Netz."], [0, 2])
    ],
    "links behind a word that says what they are and that word before them go": [
        (
            [
                "Text.",
                block(f"Lesen Sie auch: {HEADLINE}", "p", HEADLINE),
                block("Konto: @rat", "p", "@rat"),
            ],
            [0, 2],
        ),
        (["Text.", "Auch interessant", block(HEADLINE, "p", HEADLINE)], [0]),
    ],
    "a linked cell by itself is text": [
        ([block("300 g", "cell"), block("Mandarinen", "cell", "Mandarinen")], [0, 1])
    ],
    "a title with a kicker and a line that says when are no text": [
        (
            [
                f"Bau am Fluss: {TITLES[1]}",
                "22.04.2024, 06:00 Uhr",
                "17:41 JST, October 13, 2024",
                "Im Jahr 2024 begann der Rat der Stadt mit dem Bau der Brücke.",
            ],
            [3],
        )
    ],
    "a line that is by somebody is no text whoever it is": [
        (["Von Anna Sleegers, Frankfurt", "Der Rat tagt."], [1]),
        (["Von Anna ist nichts bekannt."], [0]),
    ],
}
COUNTED = {
    "the title and the byline are no text": {"blocks.title": 1, "blocks.byline": 1},
    "a block of nothing but links is no text": {"blocks.links": 1},
    "what says the same again goes but not a heading": {"blocks.repeated": 2},
    "what stands in a block that goes is no repetition": {"blocks.copyright": 1},
    "a heading that repeats the title goes wherever it stands": {"blocks.title": 1},
    "a linked paragraph is text but not in a list of links": {"blocks.links": 2},
    "headings at the end go": {"blocks.last_head": 2},
    "a short line with a colon at the end goes": {"blocks.last_head": 1},
    "an address alone is no text": {"blocks.links": 1},
    "links behind a word that says what they are and that word before them go": {"blocks.links": 3},
    "a title with a kicker and a line that says when are no text": {
        "blocks.title": 1,
        "blocks.date": 2,
    },
    "a line that is by somebody is no text whoever it is": {"blocks.byline": 1},
}


@pytest.mark.parametrize("rule", TIDIED)
def test_blocks_go_or_stay_as_the_rule_says(rule):
    counters = Counter()
    for given, kept in TIDIED[rule]:
        blocks = [text if isinstance(text, Block) else block(text) for text in given]

        tidy_blocks = tidy(blocks, titles=TITLES, authors=["Anna Quandt"], counters=counters)

        assert tidy_blocks == [blocks[n] for n in kept]
    assert counters == COUNTED.get(rule, {})


def test_an_article_is_its_body_and_what_the_page_says():
    article = article_of(sample("bruecke.html"))

    assert article.text.startswith("Nach zwei Jahren Sanierung")
    assert [kind for *_, kind in article.blocks] == ["p", "p", "p", "head", "p", "p", "p"]
    assert "Falkenhagen" not in article.text
    metadata = article.metadata
    assert metadata.titles[0] == "Steinbrücke wieder offen"
    assert (metadata.authors, metadata.section, metadata.lang) == (
        ("Jörn Falkenhagen",),
        "Stadt",
        "de",
    )
    assert metadata.published == "2026-10-05T08:30:00+02:00"
    assert (metadata.site, metadata.kind, metadata.is_free) == ("Kreisbote", "article", True)


def test_links_stand_where_they_stand_and_lead_where_they_lead():
    article = article_of(sample("bruecke.html"))

    assert [(article.text[x.start : x.end], x.target) for x in article.links] == [
        ("Kappenrode", "https://www.kappenrode.example/stadt#geschichte"),
        ("Heimatverein", "https://www.kreisbote.example/vereine/heimatverein.html"),
    ]


def test_links_with_an_image_between_them_are_words_of_their_own():
    linked = '<a href="/t">Tarifs</a><img src="t.png"><a href="/s">sind</a>'
    line = f"<p>Wie hoch {linked}, ist offen, und wird es noch lange bleiben, sagte der Rat.</p>"

    article = article_of(page(body=PARAGRAPHS + line + PARAGRAPHS))

    assert "Wie hoch Tarifs sind, ist offen, und wird" in article.text
    assert [article.text[x.start : x.end] for x in article.links] == ["Tarifs", "sind"]


def test_a_base_changes_where_links_lead():
    body = (
        PARAGRAPHS + '<p>Mehr steht in <a href="b.html">dem anderen Text</a> von gestern Abend.</p>'
    )

    article = article_of(page('<base href="https://other.example/deep/">', body))

    assert article.links[0].target == "https://other.example/deep/b.html"


def test_blocks_are_lines_of_the_text():
    for name in ("museum.html", "ticker.html", "dansk.html.gz"):
        article = article_of(sample(name))

        lines = [article.text[start:end] for start, end, _ in article.blocks]
        assert "\n".join(lines) == article.text
        assert all(line.strip() == line for line in lines)


@pytest.mark.skipif(
    not importlib.util.find_spec("newsplease"), reason="news-please is not installed"
)
@pytest.mark.filterwarnings("ignore")
def test_news_please_gives_lines_whose_links_are_found_in_the_page():
    ours, theirs = (
        article_of(sample("bruecke.html"), extractor=e) for e in ("trafilatura", "news-please")
    )

    assert theirs.links == ours.links
    assert theirs.text == ours.text


@pytest.mark.skipif(
    not importlib.util.find_spec("newsplease"), reason="news-please is not installed"
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("lang", "sentence"),
    [
        ("ja", "彼は東京で働いていて、都市の中心に住んでいます。"),
        ("ko", "그는 서울에서 일하며 도시 중심에 살고 있다."),
        ("zh", "他在北京工作，住在城市的中心，每天早上去公园散步。"),
    ],
)
def test_news_please_finds_articles_whose_words_it_cannot_cut(lang, sentence):
    texts = [f"{sentence * 6} {number}" for number in range(5)]
    body = "".join(f"<p>{text}</p>" for text in texts)
    html = f'<html lang="{lang}"><body><article><h1>T</h1>{body}</article></body></html>'

    article = article_of(html, extractor="news-please")

    assert article.text.split("\n") == texts


def test_control_characters_and_halves_of_characters_do_not_come_through():
    head = ld('{"@type":"NewsArticle","headline":"A\\ud800B\\u0000C","author":"\\udc00"}')
    body = "<p>Das &#1;ist&#x85;ein&#xD800;Absatz&#0; &#x1F;mit&#127; Zeichen.</p>" + PARAGRAPHS

    article = article_of(page(head, body))

    assert article.metadata.titles[0] == "A B C"
    assert article.metadata.authors == ()
    assert article.text.encode("utf-8")
    assert not any(ord(c) < 32 and c != "\n" for c in article.text)


def test_a_page_without_a_body_gives_no_text():
    assert article_of("").text == ""
    assert article_of("<html><head><title>Leer</title></head></html>").text == ""


def test_elements_beyond_the_depth_that_is_read_are_an_error():
    with pytest.raises(ExtractionError) as raised:
        article_of("<html><body>" + "<div>" * 300 + PARAGRAPHS)
    assert raised.value.reason == "too_deep"


def test_links_are_text_where_they_are_much_of_a_page_that_is_no_article(monkeypatch):
    links = Block("Stühle aus Holz " * 4, "p", (Hyperlink(0, 64, "/a"),))
    found = [links, Block("Ein Absatz. " * 30, "p")]
    monkeypatch.setitem(EXTRACTORS, "trafilatura", lambda *_: found)

    catalogue, article = map(article_of, (page(), page(meta("og:type", "article"))))

    assert [len(catalogue.blocks), len(article.blocks)] == [2, 1]


def test_a_description_that_is_the_title_is_no_lead():
    title = "Nach zwei Jahren ist die Brücke frei, sagt der Rat der Stadt am See"
    head = f'<title>{title} | Bote</title><meta name="description" content="{title}">'
    text = "".join(f"<p>Der Absatz {n} erzählt von der Brücke und vom Rat.</p>" for n in "abcd")
    page = f"<html><head>{head}</head><body><article><h1>{title}</h1>{text}</article></body></html>"

    assert title not in extract(page, url=None, extractor="trafilatura").text


def test_a_lead_that_is_missing_is_put_in_front_and_one_that_is_there_is_not():
    lead = Block("Nach zwei Jahren ist sie frei.", "p")

    absent, there = [Block("Ein Absatz.", "p")], [Block(f"Moor. {lead.text}", "p")]
    counters = Counter()

    assert with_leads(absent, [lead, lead], counters) == [lead, *absent]
    assert with_leads(there, [lead], counters) == there
    assert counters == {"blocks.lead": 1}


def ld(text):
    return f'<script type="application/ld+json">{text}</script>'


def meta(name, content):
    return f'<meta property="{name}" content="{content}">'


@pytest.mark.parametrize(
    "author",
    ["Kreisbote", "KREISBOTE", "Bote-Verlag", "kreisbote.example", "a@b.example", "105092"],
)
def test_a_publisher_is_no_author_nor_is_what_is_no_name(author):
    publisher = '"publisher":{"@type":"Organization","name":"Bote-Verlag"}'
    authors = f'"author":[{{"name":"{author}"}},{{"name":"Anna Quandt"}}]'
    head = ld(f'{{"@type":"NewsArticle",{publisher},{authors}}}')

    article = article_of(page(head, f"<p>Von {author}</p>" + PARAGRAPHS))

    assert article.metadata.authors == ("Anna Quandt",)
    assert article.text.startswith("Das ist der Absatz 0")  # the line that names it is no text


@pytest.mark.parametrize(
    "byline",
    [
        '<a rel="author" href="/quandt">Anna Quandt</a>',
        '<span itemprop="author">Anna Quandt</span>',
        '<b itemprop="author"><i itemprop="name">Anna Quandt</i>, Redakteurin</b>',
        '<b itemprop="author"><i>Von</i><i>Anna Quandt</i></b>',
    ],
)
def test_an_author_who_is_marked_in_the_text_alone_is_one_and_the_line_no_text(byline):
    article = article_of(page(body=f"<p>Von {byline}</p>" + PARAGRAPHS))

    assert article.metadata.authors == ("Anna Quandt",)
    assert article.text.startswith("Das ist der Absatz 0")


def test_authors_of_comments_and_related_articles_are_none_of_the_page():
    author = '<a rel="author" href="/{0}">{0}</a>'.format
    line = f"<p>Von {author('Anna Quandt')} und {author('Piet Loon')}</p>"

    article = article_of(page(body=line + PARAGRAPHS * 3 + f"<p>{author('Bo Orr')}</p>"))

    assert article.metadata.authors == ("Anna Quandt", "Piet Loon")


@pytest.mark.parametrize(
    ("written", "authors"),
    [
        (["By Anna Quandt, CNN"], ("Anna Quandt",)),
        (["Anna Quandt and Piet van Loon"], ("Anna Quandt", "Piet van Loon")),
        (["Ada Lum, Bo Orr, and Cy Fox"], ("Ada Lum", "Bo Orr", "Cy Fox")),
        (["Anna Quandt", "Alle Beiträge von Anna Quandt →"], ("Anna Quandt",)),
        (["Anna Quandt", "Anna Quandt-Meyer"], ("Anna Quandt", "Anna Quandt-Meyer")),
        (["<a href='/q'>Anna Quandt</a>"], ("Anna Quandt",)),
        (["Institut für Bildung und Forschung"], ("Institut für Bildung und Forschung",)),
        (["Quandt, A."], ("Quandt, A.",)),
    ],
)
def test_each_author_is_a_name_of_its_own(written, authors):
    head = ld(json.dumps({"@type": "NewsArticle", "author": written}))

    assert article_of(page(head)).metadata.authors == authors


@pytest.mark.parametrize(
    "head",
    [
        ld('{"@type":"NewsArticle","headline":"R&uuml;ckbau &amp; &#8222;mehr&#x201c;"}'),
        ld('{"@type":"NewsArticle","headline":"R&amp;uuml;ckbau &amp;amp; „mehr“"}'),
        meta("og:title", "R&amp;uuml;ckbau &amp;amp; „mehr“"),
        meta("og:title", "R&uuml;ckbau &amp; „mehr“"),
    ],
)
def test_an_entity_in_a_title_is_its_character(head):
    assert article_of(page(head)).metadata.titles == ("Rückbau & „mehr“",)


def test_what_is_no_entity_stays_in_metadata():
    head = meta("og:title", "AT&T &c; Fragen&Antworten")
    head += meta("og:url", "https://a.example/?b=1&amp;copy=2")

    metadata = article_of(page(head)).metadata

    assert metadata.titles == ("AT&T &c; Fragen&Antworten",)
    assert metadata.url == "https://a.example/?b=1&copy=2"


@pytest.mark.parametrize(
    "title",
    [
        "Brücke offen | Kreisbote",
        "Brücke offen - KREISBOTE",
        "Brücke offen – kreisbote.example",
        "Brücke offen — Kreisbote-Verlag",
        "Brücke offen--Kreisbote",
        "Brücke offen | Kreisbote | kreisbote.example",
        "Brücke offen｜Kreisbote",
    ],
)
def test_the_name_of_the_site_is_no_part_of_the_title(title):
    head = meta("og:title", title) + meta("og:site_name", "Kreisbote")
    head += ld('{"@type":"NewsArticle","publisher":{"name":"Kreisbote-Verlag"}}')

    metadata = article_of(page(head)).metadata

    assert metadata.titles == ("Brücke offen", title)  # a block that repeats either is no text


@pytest.mark.parametrize(
    "head",
    [
        meta("og:title", "Brücke offen | Bote"),
        meta("og:title", "Die Brücke in Lehde ist offen"),
        "<title>Bote: Brücke offen</title>",
    ],
)
def test_the_title_is_the_heading_that_is_like_a_title_of_the_page(head):
    body = "<h1>Der Bote</h1><h1>Brücke offen</h1>" + PARAGRAPHS

    assert article_of(page(head, body)).metadata.titles[0] == "Brücke offen"


def test_a_title_has_its_kicker_and_no_soft_hyphens():
    json = ld('{"@type":"NewsArticle","headline":"Lehde: Fuß\u00adgän\u00adger\u00adbrücke offen"}')

    article = article_of(page(json, "<h1>Fuß\u00adgängerbrücke offen</h1>" + PARAGRAPHS))

    assert article.metadata.titles[0] == "Lehde: Fußgängerbrücke offen"


def test_a_heading_that_is_like_no_title_of_the_page_is_not_its_title():
    body = "<h1>Aus der Region</h1>" + PARAGRAPHS

    article = article_of(page(meta("og:title", "Brücke offen"), body))

    assert article.metadata.titles[0] == "Brücke offen"


def test_an_article_of_json_ld_that_is_another_is_not_the_page():
    other = '{"@type":"NewsArticle","url":"/stau","headline":"Stau am Markt","author":"Bo Orr"}'
    own = '{"@type":"NewsArticle","headline":"Brücke wieder offen","author":"Anna Quandt"}'
    title = meta("og:title", "Brücke offen")

    both, alone = (
        article_of(page(title + ld(json))).metadata for json in (f"[{other},{own}]", other)
    )

    assert (both.titles[0], both.authors) == ("Brücke wieder offen", ("Anna Quandt",))
    assert (alone.titles, alone.authors) == (("Brücke offen",), ())


@pytest.mark.parametrize("title", ["Brücke offen - Stau", "Kreisbote", "Der neue Kreisbote"])
def test_a_title_that_does_not_end_with_the_site_stays(title):
    head = meta("og:title", title) + meta("og:site_name", "Kreisbote")

    assert article_of(page(head)).metadata.titles == (title,)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (meta("article:published_time", "2026-10-05T08:30:00Z"), "2026-10-05T08:30:00+00:00"),
        (meta("date", "2026-10-05"), "2026-10-05"),
        (meta("date", "2026-10-05T25:00 nonsense"), "2026-10-05"),
        (meta("date", "5. Oktober"), None),
        (meta("date", "20261005"), "2026-10-05"),
        (meta("date", "0000-00-00 00:00:00"), None),
        (meta("date", "2026-02-31"), None),
        (meta("date", "0001-01-01T00:00:00"), None),
        (meta("article:published_time", "0000-00-00") + meta("date", "2026-10-05"), "2026-10-05"),
        (
            ld('{"@graph":[{"@type":["X","NewsArticle"],"datePublished":"2026-10-05"}]}'),
            "2026-10-05",
        ),
        (ld('{"@type":"NewsArticle", broken'), None),
        (ld('{"@type":"WebPage","datePublished":"2026-10-05"}'), "2026-10-05"),
        (ld('{"@type":"Article","datePublished":"Oct 5, 2026"}'), "2026-10-05"),
        (meta("date", "Monday, October 5th, 2026, 07:47 PM EST"), "2026-10-05"),
        (meta("pubdate", "Mon, 05 Oct 2026 08:30:00 +0200"), "2026-10-05T08:30:00+02:00"),
        (meta("publish_date", "5 Oct 2026 08:30 GMT"), "2026-10-05T08:30:00+00:00"),
        (meta("date", "2026-10-5 8:30:00"), "2026-10-05"),
        (meta("date", "2026/10/05"), "2026-10-05"),
        (meta("date", "05.10.2026 18:00"), "2026-10-05"),
        (meta("date", "5/10/2026"), None),
        (meta("date", "Brumaire 5, 2026"), None),
        ('<abbr itemprop="datePublished" title="2026-10-05">5.10.</abbr>', "2026-10-05"),
    ],
)
def test_a_date_is_read_where_it_stands(head, expected):
    assert article_of(page(head)).metadata.published == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("//<![CDATA[\n", "\n//]]>"),
        (" // <![CDATA[\n", "\n // ]]>\n"),
        ("/* <![CDATA[ */", "/* ]]> */"),
        ("<![CDATA[", "]]>"),
        ("<!--\n", "\n//-->"),
        ("<!--", "-->"),
    ],
)
@pytest.mark.parametrize("media_type", ["application/ld+json", "Application/LD+JSON;charset=utf-8"])
def test_json_ld_is_read_as_browsers_and_old_systems_write_it(before, after, media_type):
    node = '{"@type":"NewsArticle","isAccessibleForFree":"False","headline":"a]]> -- //b"}'
    head = f'<script type="{media_type}">{before}{node}{after}</script>'

    metadata = article_of(page(head)).metadata

    assert (metadata.titles[0], metadata.is_free) == ("a]]> -- //b", False)


@pytest.mark.parametrize(
    ("stated", "is_free"),
    [
        ("[false]", False),
        ('["False"]', False),
        ("[true, false]", False),
        ('"https://schema.org/False"', False),
        ("[true]", True),
        ("[]", None),
        ("[null]", None),
    ],
)
def test_what_is_not_free_may_be_said_in_a_list(stated, is_free):
    node = f'{{"@type": "NewsArticle", "isAccessibleForFree": {stated}}}'

    metadata = article_of(page(f'<script type="application/ld+json">{node}</script>')).metadata

    assert metadata.is_free is is_free


@pytest.mark.parametrize(
    ("lang", "written", "expected"),
    [
        ("fr", "5 octobre 2026", "2026-10-05"),
        ("de-AT", "Montag, 5. Okt. 2026, 18:00 Uhr", "2026-10-05"),
        ("zh-CN", "2026年10月5日", "2026-10-05"),
        ("ru", "5 октября 2026 г.", "2026-10-05"),
        ("ar", "٥ أكتوبر ٢٠٢٦", "2026-10-05"),
        ("de", "Oct 5, 2026", "2026-10-05"),
        ("xx", "5 Oct 2026", "2026-10-05"),
        ("es", "5/10/2026", "2026-10-05"),
        ("en-GB", "5/10/2026", "2026-10-05"),
        ("en_US", "10/5/2026", "2026-10-05"),
        ("en", "10/5/2026", None),
        ("en", "25/10/2026", "2026-10-25"),
        ("en", "5 months ago", None),
        ("en", "Oct 5, 26", None),
        ("de", "Oktober 2026", None),
        ("de", "5. Oktober", None),
        ("de", "20261005", "2026-10-05"),
        ("de", "1712031122", None),
        ("de", "1767012400000", None),
    ],
)
def test_a_date_is_read_as_the_language_of_the_page_writes_it(lang, written, expected):
    assert read_date(written, lang=lang) == expected


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ("<p>Anna Quandt</p><p>5. Oktober 2026, 8:30 Uhr</p>", "2026-10-05"),
        ("<time>5. Oktober 2026</time>", "2026-10-05"),
        ("<p>Am 5. Oktober 2026 wurde die Brücke geöffnet.</p>", None),
        ("<p>© 2026 Kreisbote</p>", None),
    ],
)
def test_a_date_that_no_markup_names_stands_in_a_line_near_the_title(near, expected):
    html = page("", f"<h1>Brücke offen</h1>{near}{PARAGRAPHS}")

    metadata = article_of(html.replace("<html", "<html lang='de'")).metadata

    assert metadata.published == expected


def test_moments_are_compared_across_zones_and_what_has_none_is_last():
    days = [
        "2026-10-05T08:30:00+02:00",
        "2026-10-05T07:00:00Z",
        "2026-10-05T09:00:00",
        None,
        "2026-10-05",
    ]

    assert sorted(days, key=moment) == [days[4], days[0], days[1], days[2], None]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/a b", "https://x.example/a%20b"),
        ("mailto:a@b.example", None),
        ("javascript:void(0)", None),
        ("http://[broken", None),
        ("//y.example/z", "https://y.example/z"),
        ("", None),
    ],
)
def test_only_addresses_of_the_web_are_links(target, expected):
    assert absolute_url("https://x.example/c/d", target) == expected


@pytest.mark.realdata
def test_paragraphs_of_real_pages_are_found(realdata):
    """A floor that may rise: paragraphs that are exactly those expected."""
    from benchmarks.news import Score, expected_paragraphs, keys, read_pages

    score = Score()
    for _, data, url, expected in read_pages(realdata("news-html")):
        article = article_of(data.decode("utf-8", "replace"), url=url)
        blocks = [article.text[start:end] for start, end, _ in article.blocks]
        score.add(keys(blocks), keys(expected_paragraphs(expected)))

    assert score.right >= 0.98 * score.expected
    assert score.right >= 0.85 * score.found


def test_another_article_on_the_page_is_no_part_of_it():
    own, other = (f"<article><h1>{h}</h1>{PARAGRAPHS}</article>" for h in ("Der Bau", "Das Fest"))
    form = "<html><head><title>{}</title></head><body>{}</body></html>"

    article = article_of(form.format("Der Bau - Bote", own + other.replace("Absatz", "Satz")))
    both = article_of(form.format("Bote", own + other))

    assert "Satz" not in article.text
    assert article.counters["articles.further"] == 1
    assert both.counters["articles.further"] == 0  # which is the page's, it does not say


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("By Jane Doe and John A. Smith | May 3, 2024", ("Jane Doe", "John A. Smith")),
        ("Von Nina van der Magoley", ("Nina van der Magoley",)),
        ("Par : Élise Dupont-Roche, à Paris", ("Élise Dupont-Roche",)),
        ("ByAmy Roeder", ("Amy Roeder",)),
        ("By the river", ()),
        ("Byron Keats", ()),
        ("Von Montag an", ()),
        ("Jane Doe", ()),
    ],
)
def test_names_stand_behind_the_word_of_a_byline(line, names):
    assert names_of(line) == names


@pytest.mark.parametrize(
    ("line", "authors"),
    [
        ("<p>Von Nina Magoley</p>", ("Nina Magoley",)),
        ('<div class="article-byline">Nina Magoley - 3. Mai</div>', ("Nina Magoley",)),
        ('<div class="author-box">Mehr Texte Von Hier</div>', ()),
        ('<div class="byline">Der Stadtbote</div>', ()),
    ],
)
def test_an_author_is_seen_where_none_is_marked(line, authors):
    head = "<title>Der Bau</title>" + meta("og:site_name", "Der Stadtbote")

    article = article_of(page(head, f"<h1>Der Bau</h1>{line}{PARAGRAPHS}"))

    assert article.metadata.authors == authors
    assert "Magoley" not in article.text


CONSENT = (
    "We and our 600 partners store and/or access information on a device, with your consent.",
    "Wir verwenden Cookies für Werbung. Ihre Einwilligung können Sie jederzeit widerrufen.",
    "Nous et nos partenaires utilisons des cookies avec votre consentement pour ce site.",
)


@pytest.mark.parametrize("request_", CONSENT)
def test_a_request_for_consent_is_no_text_and_a_page_of_it_alone_has_none(request_):
    among, alone = (
        article_of(page(body=f"<h1>Brücke offen</h1><p>{request_}</p>{rest}"))
        for rest in (PARAGRAPHS, "")
    )

    assert request_ not in among.text
    assert among.text.startswith("Das ist der Absatz 0")
    assert alone.text == ""


def test_an_article_about_cookies_keeps_what_it_says_of_consent():
    body = f"<h1>Gericht verbietet Cookies</h1><p>{CONSENT[1]}</p>{PARAGRAPHS}"

    assert CONSENT[1] in article_of(page(body=body)).text
