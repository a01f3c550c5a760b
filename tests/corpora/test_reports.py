import re

from corpora.reports import html_list, html_page, html_table, markdown_table


def test_a_page_has_a_language_a_width_one_main_part_and_one_title():
    page = html_page("a <b>", html_list(["c"]))

    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in page
    assert re.findall(r"</?(?:main|h1)>", page) == ["<main>", "<h1>", "</h1>", "</main>"]
    assert page.count("a &lt;b&gt;") == 2


def test_a_table_is_scrolled_by_keys_and_has_no_empty_headings():
    table = html_table(("", "n"), [("a & b", 1234)])

    assert table.startswith('<div class="wide" tabindex="0"><table>')
    assert "<tr><td></td>" in table
    assert '<td>a &amp; b</td><td class="n">1,234</td>' in table
    assert "class" not in html_table(("a", "b"), [("c", 1)], n_texts=2).partition("<table>")[2]


def test_emoji_and_persian_words_keep_their_joiners():
    family, books = "👩\u200d👧", "کتاب\u200cها"

    [*_, line] = markdown_table(("", ""), [(family, f"{books}\u202e\x07x")])

    assert line == f"| {family} | {books} x |"
