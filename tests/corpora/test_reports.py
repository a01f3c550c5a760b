import re

import pytest

from corpora.concordance.collect import collect
from corpora.concordance.pages import make_pages
from corpora.document import Document, Mention
from corpora.reports import counted, folded, markdown_table
from corpora.reports.pages import Details, Heading, Items, Preformatted, Prose, Table, to_html

LONG = "x" * 300


@pytest.mark.parametrize(
    ("n", "noun", "shown"),
    [
        (1, "file", "1 file"),
        (0, "file", "0 files"),
        (2000, "entity", "2,000 entities"),
        (2, "day", "2 days"),
    ],
)
def test_a_count_has_its_noun_in_the_right_number(n, noun, shown):
    assert counted(n, noun) == shown


def test_a_long_list_is_folded_and_a_short_one_is_not():
    lines = [f"- {n}" for n in range(13)]

    assert folded(lines[:12], n_items=12, what="names") == lines[:12]
    assert folded(lines, n_items=13, what="names")[:4] == [
        "<details>",
        "<summary>13 names</summary>",
        "",
        "- 0",
    ]


def test_a_page_has_a_language_a_width_one_main_part_and_one_title():
    page = to_html([Heading("a <b>", 1), Items(["c"])])

    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in page
    assert re.findall(r"</?(?:main|h1)>", page) == ["<main>", "<h1>", "</h1>", "</main>"]
    assert page.count("a &lt;b&gt;") == 2


def test_a_table_is_scrolled_by_keys_and_has_no_empty_headings():
    page = to_html([Heading("t", 1), Table([("", "n"), ("a & b", 1234)])])

    assert '<div class="wide" tabindex="0"><table>' in page
    assert "<tr><td></td>" in page
    assert '<td>a &amp; b</td><td class="n">1,234</td>' in page
    both = to_html([Heading("t", 1), Table([("a", "b"), ("c", 1)], n_texts=2)])
    assert "class" not in both.partition("<table>")[2]


@pytest.mark.parametrize(
    "block",
    [Prose("<i>"), Items(["<i>"]), Preformatted("<i>"), Heading("<i>"), Table([("<i>", "<i>")])],
)
def test_no_text_is_markup(block):
    page = to_html([Heading("<i>", 1), block, Details("<i>", [block])])

    assert "<i>" not in page
    assert page.count("&lt;i&gt;") >= 5


def test_emoji_and_persian_words_keep_their_joiners():
    family, books = "👩\u200d👧", "کتاب\u200cها"

    [*_, line] = markdown_table(("", ""), [(family, f"{books}\u202e\x07x")])

    assert line == f"| {family} | {books} x |"


def concordance_pages():
    of = {"id": LONG, "group": "g", "source": f"{LONG}.xml", "text": f"{LONG} שלום", "title": LONG}
    document = Document(**of, mentions=(Mention(0, 300, f"g:{LONG}", "person"),))
    pages = make_pages(collect([document], None, vocab={}), title=LONG)
    return [page.html for page in pages]


def evaluation_page():
    rows = [["", LONG, "F1"], [LONG, LONG, "0.5"], ["b", "c", "1"]]
    return to_html(
        [Heading(LONG, 1), Prose(LONG), Items([LONG]), Table(rows), Table(rows, n_texts=2)]
    )


@pytest.mark.parametrize("width", [320, 1280])
def test_names_of_any_length_fit_the_window(browser, width):
    table = to_html([Heading(LONG, 1), Table([(LONG, "n"), (LONG, 1), ("b", LONG)])])
    window = browser.new_page(viewport={"width": width, "height": 800})

    shown = [table, evaluation_page(), *concordance_pages()]
    widths = []
    for page in shown:
        window.set_content(page)
        widths.append(window.evaluate("document.documentElement.scrollWidth"))

    assert widths == [width] * 4
