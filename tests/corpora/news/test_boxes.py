"""Boxes of a page: what is no text of the article, and where its lead stands."""

import pytest

from corpora.news.blocks import Block, read_page
from corpora.news.boxes import keys_in_boxes, leads_in_boxes, main_area
from corpora.news.extraction import EXTRACTORS, extract, parse
from corpora.news.page_metadata import read_metadata

TITLE = "Die Brücke ist frei"
LEAD = "Nach zwei Jahren Sanierung rollt der Verkehr über die alte Steinbrücke wieder."
NOTE = "Jeden Morgen das Wichtigste in Ihrem Postfach, kostenlos und ohne Verpflichtung."
PARAGRAPHS = "".join(
    f"<p>Das ist der Absatz {n}, und er hat genug Wörter für einen Absatz.</p>" for n in range(6)
)


def read(body, *, head=""):
    tree = parse(f"<html><head>{head}</head><body>{body}</body></html>")
    return *read_page(tree), read_metadata(tree, None)


def texts_in_boxes(body):
    page, boxes, _ = read(body)
    keys = keys_in_boxes(page, boxes, found=page)
    return [block.text for block in page if block.key in keys]


def leads(before, *, head=""):
    page, boxes, metadata = read(f"<h1>{TITLE}</h1>{before}{PARAGRAPHS}", head=head)
    found = [block for block in page if block.text.startswith("Das ist der Absatz")]
    return [block.text for block in leads_in_boxes(page, boxes, found=found, metadata=metadata)]


@pytest.mark.parametrize(
    "box",
    [
        '<div class="c-newsletter-signup"><p>{}</p></div>',
        '<div class="ArticleAuthorBio">{}</div>',
        '<section id="related"><p>{}</p></section>',
        "<figure><figcaption>{}</figcaption></figure>",
    ],
)
def test_a_box_that_says_what_it_is_is_no_text(box):
    assert texts_in_boxes(PARAGRAPHS + box.format(NOTE) + PARAGRAPHS) == [NOTE]


@pytest.mark.parametrize(
    "box",
    [
        "<div class='body'><p>{}</p></div>",
        "<div class='has-caption with-author'><p>{}</p></div>",
        "<h2 id='newsletter'>{}</h2>",
        "<p id='why-every-town-needs-a-newsletter'>{}</p>",
        "<p class='authority'>{}</p>",
    ],
)
def test_a_box_that_says_something_else_is_text(box):
    assert texts_in_boxes(PARAGRAPHS + box.format(NOTE)) == []


def test_boxes_that_hold_much_of_the_text_are_text_whatever_their_name():
    around = f"<article class='author-jane'>{PARAGRAPHS}</article>"
    each = PARAGRAPHS.replace("<p>", "<p class='social'>")

    assert texts_in_boxes(around + f"<p class='author'>{NOTE}</p>") == [NOTE]
    assert texts_in_boxes(each) == []


def test_what_stands_outside_a_box_too_is_text():
    assert texts_in_boxes(f"{PARAGRAPHS}<p>{NOTE}</p><div class='banner'>{NOTE}</div>") == []


def test_a_lead_is_where_a_class_says_so_between_title_and_text():
    assert leads(f'<div class="article__lead"><p>{LEAD}</p></div>') == [LEAD]
    assert leads(f'<p class="chapo">{LEAD}</p><p class="meta">{NOTE}</p>') == [LEAD]
    assert leads(f"<p>{LEAD}</p>") == []


@pytest.mark.parametrize(
    "before",
    [
        f"<figure class='lead'><figcaption>{LEAD}</figcaption></figure>",
        f"<aside><p class='teaser'>{LEAD}</p></aside>",
        f"<p class='teaser'>{LEAD[:-1]}...</p>",
        "<p class='lead'>Kurz.</p>",
    ],
)
def test_captions_asides_and_cut_sentences_are_no_lead(before):
    assert leads(before) == []


def test_a_lead_is_what_a_description_begins_with():
    head = f'<meta name="description" content="{LEAD} {NOTE}">'

    assert leads(
        f"<p>{LEAD}</p><p>Von hier und dort, ohne dass es jemand sagt.</p>", head=head
    ) == [LEAD]


CARDS = "".join(f"<li><h3>Stuhl {n}</h3><p>Aus Holz, {n}0 Euro</p></li>" for n in range(9))


def area(body, *, n_found):
    """Return the texts of the main area, where an extractor found the last blocks of the page."""
    page, boxes, _ = read(body)
    return [block.text for block in main_area(page, boxes, found=page[len(page) - n_found :])]


@pytest.mark.parametrize(
    "body",
    [
        "<nav>Start</nav><main><form>Suche</form>{}</main><p>Bis bald</p>",
        "<header>Start</header><div id='Content'>{}<aside>Werbung</aside></div><p>Bis bald</p>",
        "<header>Start</header>{}<footer>Impressum</footer>",
    ],
)
def test_of_a_page_of_short_texts_the_main_area_is_taken(body):
    assert area(body.format(CARDS), n_found=1) == [
        text for n in range(9) for text in (f"Stuhl {n}", f"Aus Holz, {n}0 Euro")
    ]


def test_the_main_area_is_left_where_an_extractor_found_a_paragraph_or_much_or_nothing():
    cards, paragraph = f"<main>{CARDS * 9}</main>", f"<p>{NOTE * 4}</p>"

    assert area(cards + paragraph, n_found=1) == []
    assert area(cards, n_found=100) == []
    assert area(cards, n_found=0) == []


def test_a_shop_has_all_of_its_goods_but_an_article_only_what_is_found(monkeypatch):
    monkeypatch.setitem(EXTRACTORS, "trafilatura", lambda *_: [Block("Aus Holz, 10 Euro", "p")])
    html = f"<html><head>{{}}</head><body><main>{CARDS}</main></body></html>"
    says_article = '<meta property="og:type" content="article">'

    shop, article = (
        extract(html.format(head), url=None, extractor="trafilatura") for head in ("", says_article)
    )

    assert (shop.counters["blocks.area"], len(shop.blocks)) == (18, 18)
    assert article.text == "Aus Holz, 10 Euro"


def test_an_article_has_its_lead_and_no_box():
    box = f'<div class="newsletter-box"><p>{NOTE}</p></div>'
    intro = f'<header><h1>{TITLE}</h1><div class="intro"><p>{LEAD}</p></div></header>'
    html = f"<body>{intro}<article>{PARAGRAPHS}{box}{PARAGRAPHS}</article></body>"

    article = extract(html, url=None, extractor="trafilatura")

    assert article.text.startswith(f"{LEAD}\nDas ist der Absatz 0")
    assert NOTE not in article.text


def test_short_paragraphs_of_chinese_are_not_replaced_by_a_page_of_menus():
    menu = "".join(f"<li><a href='/{n}'>栏目导航第{n}频道</a></li>" for n in range(60))
    text = "".join(
        f"<p>市立图书馆周{n}重新开放，读者可以免费进馆。馆长林素秋介绍，改建工程历时两年。</p>"
        for n in "一二三四五六"
    )

    article = extract(
        f"<body><ul>{menu}</ul><div>{text}</div></body>", url=None, extractor="trafilatura"
    )

    assert len(article.blocks) == 6
    assert article.linked == 0


def test_an_area_with_more_links_than_what_was_found_is_not_taken():
    links = "".join(f"<li><a href='/{n}'>Stuhl {n}, aus Holz</a></li>" for n in range(9))

    assert area(f"<main>{links}</main><p>Bis bald</p>", n_found=1) == []
