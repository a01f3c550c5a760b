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


def tidied(*texts, titles=(), authors=()):
    blocks = [text if isinstance(text, Block) else Block(text, "p") for text in texts]
    counters = Counter()
    kept = tidy(blocks, titles=titles, authors=authors, counters=counters)
    return [block.text for block in kept], dict(counters)


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


def test_the_title_and_the_byline_are_no_text():
    kept, counters = tidied(
        "Brücke offen", "Von Anna Quandt", "Ein Text über Anna Quandt, die im Rathaus sprach.",
        titles=["Brücke  offen!"], authors=["Anna Quandt"],
    )  # fmt: skip

    assert kept == ["Ein Text über Anna Quandt, die im Rathaus sprach."]
    assert counters == {"blocks.title": 1, "blocks.byline": 1}


def test_a_block_of_nothing_but_links_is_no_text():
    linked = Block("Mehr dazu: hier", "item", (Hyperlink(0, 9, "/a"), Hyperlink(11, 15, "/b")))
    partly = Block("Mehr dazu hier", "item", (Hyperlink(5, 9, "/a"),))

    kept, counters = tidied(linked, partly)

    assert kept == ["Mehr dazu hier"]
    assert counters == {"blocks.links": 1}


def test_links_are_text_where_they_are_much_of_a_page_that_is_no_article(monkeypatch):
    links = Block("Stühle aus Holz " * 4, "p", (Hyperlink(0, 64, "/a"),))
    found = [links, Block("Ein Absatz. " * 30, "p")]
    monkeypatch.setitem(EXTRACTORS, "trafilatura", lambda *_: found)

    catalogue, article = map(article_of, (page(), page(meta("og:type", "article"))))

    assert [len(catalogue.blocks), len(article.blocks)] == [2, 1]


def test_what_says_the_same_again_goes_but_not_a_heading():
    text = "Wir haben das nicht gewusst, und wir hätten es wissen müssen, sagte er."
    quote = "wir hätten es wissen müssen"

    kept, counters = tidied(Block(quote, "head"), quote, text, text)

    assert kept == [quote, text]
    assert counters == {"blocks.repeated": 2}


def test_a_list_may_say_the_same_again():
    texts = ["200 Gramm Mehl vom Typ 405", "Salz", "200 Gramm Mehl vom Typ 405 und etwas mehr"]
    items = [Block(text, "item") for text in (texts[0], texts[1], texts[0], texts[2])]

    assert tidied(*items) == ([item.text for item in items], {})


def test_a_question_that_is_asked_again_stays():
    interview = [
        "Was sagen Sie zu diesem Vorwurf?", "Er ist falsch.",
        "Was sagen Sie zu diesem Vorwurf?", "Er ist richtig.",
    ]  # fmt: skip

    assert tidied(*interview) == (interview, {})


def test_what_stands_in_a_block_that_goes_is_no_repetition():
    text = "Wir haben das nicht gewusst, und wir hätten es wissen müssen."
    copied = Block(f"© Kreisbote. {text}", "p")

    assert tidied(text, copied) == ([text], {"blocks.copyright": 1})


def test_a_heading_that_repeats_the_title_goes_wherever_it_stands():
    texts = [f"Der Absatz {n}." for n in range(8)]

    kept, counters = tidied(
        *texts[:7], Block("Brücke offen", "head"), texts[7], titles=["Brücke offen"]
    )

    assert (kept, counters) == (texts, {"blocks.title": 1})


def linked(text):
    return Block(text, "p", (Hyperlink(0, len(text), "/a"),))


def test_a_linked_paragraph_is_text_but_not_in_a_list_of_links():
    first = "Der ganze Absatz führt zu einer anderen Seite, und ist doch ein Satz des Artikels."
    other = "Ein anderer Absatz führt auch zu einer anderen Seite, und endet mit einem Punkt."

    assert tidied("Davor.", linked(first), "Danach.") == (["Davor.", first, "Danach."], {})
    kept, counters = tidied("Davor.", linked(first), linked(other), "Danach.")
    assert (kept, counters) == (["Davor.", "Danach."], {"blocks.links": 2})


def test_headings_at_the_end_go():
    kept, counters = tidied("Ein Absatz.", Block("Mehr", "head"), Block("Noch mehr", "head"))

    assert kept == ["Ein Absatz."]
    assert counters == {"blocks.last_head": 2}


def test_a_short_line_with_a_colon_at_the_end_goes():
    last = "Was der Rat dazu sagt, wird sich noch in dieser Woche zeigen, hieß es gestern:"

    assert tidied("Ein Absatz.", "Mehr Themen:")[0] == ["Ein Absatz."]
    assert tidied("Mehr Themen:", "Ein Absatz.")[0] == ["Mehr Themen:", "Ein Absatz."]
    assert tidied("Ein Absatz.", last)[0] == ["Ein Absatz.", last]


def test_an_address_alone_is_no_text():
    texts = ("Ein Absatz.", "https://a.example/b?c=1", "Mehr auf https://a.example im Netz.")

    assert tidied(*texts) == ([texts[0], texts[2]], {"blocks.links": 1})


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


def test_links_behind_a_word_that_says_what_they_are_and_that_word_before_them_go():
    headline = "Warum die Brücke erst in zwei Jahren fertig wird"
    start = len("Lesen Sie auch: ")
    text = f"Lesen Sie auch: {headline}"
    behind = Block(text, "p", (Hyperlink(start, len(text), "/a"),))
    handle = Block("Konto: @rat", "p", (Hyperlink(7, 11, "/rat"),))

    assert tidied("Text.", behind, handle)[0] == ["Text.", "Konto: @rat"]
    assert tidied("Text.", "Auch interessant", linked(headline))[0] == ["Text."]


def test_a_linked_cell_by_itself_is_text():
    cells = [Block("300 g", "cell"), Block("Mandarinen", "cell", (Hyperlink(0, 10, "/m"),))]

    assert tidied(*cells)[0] == ["300 g", "Mandarinen"]


def test_a_title_with_a_kicker_and_a_line_that_says_when_are_no_text():
    title = "Die neue Brücke wird teurer als gedacht"
    when = ["22.04.2024, 06:00 Uhr", "17:41 JST, October 13, 2024"]
    sentence = "Im Jahr 2024 begann der Rat der Stadt mit dem Bau der Brücke."

    assert tidied(f"Bau am Fluss: {title}", *when, sentence, titles=[title])[0] == [sentence]


def test_a_line_that_is_by_somebody_is_no_text_whoever_it_is():
    assert tidied("Von Anna Sleegers, Frankfurt", "Der Rat tagt.")[0] == ["Der Rat tagt."]
    assert tidied("Von Anna ist nichts bekannt.")[0] == ["Von Anna ist nichts bekannt."]


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
