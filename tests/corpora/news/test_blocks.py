"""Trees to blocks: text with single spaces, and links that stand where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring, fragment_fromstring

from corpora.news.blocks import (
    PAGE,
    Block,
    Hyperlink,
    key_of,
    read_blocks,
    with_lost_parts,
    with_places,
)

WORDS = st.text("abcäß雨 \n\t", max_size=8)
INLINE = st.deferred(
    lambda: st.lists(
        st.one_of(
            WORDS,
            st.builds("<b>{}</b>".format, WORDS),
            st.builds('<a href="https://x.example/{}">{}</a>'.format, st.integers(0, 9), WORDS),
        ),
        max_size=6,
    ).map("".join)
)


@given(inlines=st.lists(INLINE, min_size=1, max_size=4))
def test_blocks_hold_all_text_and_each_link_its_own(inlines):
    tree = fragment_fromstring(
        "".join(f"<p>{inline}</p>" for inline in inlines), create_parent="div"
    )

    blocks = read_blocks(tree, PAGE)

    texts = [" ".join(p.text_content().split()) for p in tree.iter("p")]
    anchors = [
        (" ".join(a.text_content().split()), a.get("href"))
        for a in tree.iter("a")
        if a.text_content().strip()
    ]
    found = [(b.text[x.start : x.end], x.target) for b in blocks for x in b.links]
    assert [block.text for block in blocks] == [text for text in texts if text]
    assert [(text.strip(), target) for text, target in found] == anchors
    assert all(text == text.strip() for text, _ in found)


def test_kinds_are_those_of_the_innermost_element():
    tree = document_fromstring(
        "<h2>Eins</h2><div>Zwei<p>Drei</p>Vier<ul><li>Fünf<li>Sechs</ul></div><blockquote><p>Sieben"
    )

    blocks = read_blocks(tree, PAGE)

    assert [(b.text, b.kind) for b in blocks] == [
        ("Eins", "head"),
        ("Zwei", "p"),
        ("Drei", "p"),
        ("Vier", "p"),
        ("Fünf", "item"),
        ("Sechs", "item"),
        ("Sieben", "p"),
    ]


def test_vowel_signs_are_part_of_a_key_and_other_marks_are_not():
    assert key_of("कमल") != key_of("कोमल")
    assert key_of("𑄇𑄨!") == "𑄇𑄨" != key_of("𑄇𑄪")
    assert key_of("ไทย – แลนด์, १९_9!") == "ไทยแลนด์१९9"
    assert key_of("Cafe\u0301, STRASSE") == key_of("cafe straße") == "cafestrasse"


def test_what_no_reader_sees_is_no_text():
    tree = document_fromstring(
        "<p>Da<script>var x</script><style>p{}</style><!-- nein --> ist es</p>"
    )

    [block] = read_blocks(tree, PAGE)

    assert block.text == "Da ist es"


def test_two_line_breaks_end_a_paragraph_and_one_does_not():
    tree = document_fromstring(
        "<p>Eins<br>eins<br> <br/>Zwei<br><br><br>Drei</p><h2>A<br><br>B</h2>"
    )

    blocks = read_blocks(tree, PAGE)

    assert [block.text for block in blocks] == ["Eins eins", "Zwei", "Drei", "A B"]


def test_a_link_around_blocks_is_a_link_in_each():
    tree = fragment_fromstring('<div><a href="/x"><p>Eins</p><p>Zwei</p></a>Drei</div>')

    blocks = read_blocks(tree, PAGE)

    assert [(b.text, [x.target for x in b.links]) for b in blocks] == [
        ("Eins", ["/x"]),
        ("Zwei", ["/x"]),
        ("Drei", []),
    ]


def test_mere_text_gets_kind_and_links_of_the_block_that_reads_the_same():
    page = [Block("Über das  Moor", "item", (Hyperlink(9, 14, "/moor"),)), Block("Anderes", "p")]

    placed, n_unknown = with_places([Block("über das Moor", "p"), Block("Nirgends", "p")], page)

    assert placed == [page[0], Block("Nirgends", "p")]
    assert n_unknown == 1


def test_a_paragraph_that_an_extractor_cut_at_code_is_whole_again():
    page = [
        Block("Run make, then wait for it.", "p", (Hyperlink(4, 8, "/make"),)),
        Block("End", "p"),
    ]
    cut = [Block("Run", "p"), Block("make", "code"), Block(", then wait for it.", "p")]

    placed, n_unknown = with_places([*cut, Block("End", "p"), *cut[:2]], page)

    assert placed == [*page, *cut[:2]]
    assert n_unknown == 2


@pytest.mark.parametrize(("n", "is_joined"), [(20, True), (21, False)])
def test_at_most_twenty_blocks_become_one(n, is_joined):
    parts = [Block(f"word{number}", "code" if number % 2 else "p") for number in range(n)]
    page = [Block(" ".join(part.text for part in parts), "p", (Hyperlink(0, 4, "/"),))]

    placed, _ = with_places(parts, page)

    assert placed == (page if is_joined else parts)


def test_blocks_without_letters_are_not_taken_for_each_other():
    page = [Block("|", "item", (Hyperlink(0, 1, "/"),)), Block("* * *", "quote"), Block("…", "p")]

    placed, n_unknown = with_places([Block("* * *", "p"), Block("…", "p"), Block("—", "p")], page)

    assert placed == [page[1], page[2], Block("—", "p")]
    assert n_unknown == 1


def test_words_that_an_extractor_glued_or_split_are_those_of_the_page():
    page = [Block("Die Tarifs sind hoch", "p", (Hyperlink(4, 10, "/t"), Hyperlink(11, 15, "/s")))]
    glued = Block("Die Tarifssind hoch", "item", (Hyperlink(4, 10, "/t"), Hyperlink(10, 14, "/s")))
    split = Block("Die Tarif s sind hoch", "p", (Hyperlink(4, 11, "/t"),))

    placed, _ = with_places([glued, split], page)

    assert placed == [Block(page[0].text, "item", page[0].links), page[0]]


def test_what_an_extractor_lost_of_the_body_that_a_page_names_is_added_in_order():
    page = [Block(f"Der Absatz mit der Nummer {n} ist lang genug.", "p") for n in range(6)]
    page.insert(3, Block("Ein Hinweis der Redaktion, der nicht zum Text gehört.", "p"))
    body = "".join(block.key for block in page if "Absatz" in block.text)

    added = with_lost_parts([page[1], page[4]], page, body)

    assert added == [page[0], page[1], page[2], page[4], page[5], page[6]]


def test_little_that_is_missing_of_a_body_is_not_added():
    page = [Block(f"Der Absatz mit der Nummer {n} ist lang genug.", "p") for n in range(9)]
    body = "".join(block.key for block in page)

    assert with_lost_parts(page[1:], page, body) == page[1:]
    assert with_lost_parts([], [], body) == []
