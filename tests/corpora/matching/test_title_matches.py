import tracemalloc
from math import isqrt
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.matching import form_table
from corpora.matching.surface_forms import fold
from corpora.matching.title_matches import alone, match_titles, page_forms, spelled_as_linked
from tests.corpora.matching.test_surface_forms import may_end, may_start

CHARACTERS = "aAbBßİiıſ'- \n1京都のไทยี한é\u0301😀"


def naive(text, forms, occupied):
    folded, found, start = fold(text), [], 0
    several = {form for form in [*forms, *(folded[s:e] for s, e in occupied)] if " " in form}
    while start < len(text):
        ends = [
            start + len(form)
            for form in {*forms, *several}
            if form
            and folded.startswith(form, start)
            and may_start(text, start)
            and may_end(text, start + len(form), right="word", lang=None)
            and not any(s < start + len(form) and start < e for s, e in occupied)
        ]
        form = folded[start : max(ends, default=start)]
        if form in forms:
            found.append((start, max(ends), forms[form]))
        start = max(ends, default=start + 1)
    return found


def match(text, forms, occupied=(), *, lang=None):
    [found] = match_titles([text], [forms], [occupied], lang=lang)
    return found


PAGE = st.tuples(
    st.text(CHARACTERS, max_size=40),
    st.lists(st.text(CHARACTERS.replace("\n", ""), min_size=1, max_size=5), max_size=9),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=5),
)


@given(pages=st.lists(PAGE, max_size=4), window=st.sampled_from([1, 20, 1000]))
def test_finds_what_the_slow_way_finds_on_each_page(pages, window):
    texts = [text for text, _, _ in pages]
    titles = [{fold(form): form for form in forms} for _, forms, _ in pages]
    occupied = [
        sorted({(s, min(s + n, len(text))) for s, n in spans if s < len(text)})
        for text, _, spans in pages
    ]

    with patch.object(form_table, "WINDOW", window):
        found = match_titles(texts, titles, occupied)

    assert found == [naive(*page) for page in zip(texts, titles, occupied, strict=True)]


def nested(size):
    """Return a text, and titles that may all begin at each of its words."""
    return "Aaa " * (size // 8), [" ".join(["Aaa"] * n) for n in range(1, isqrt(size // 4))]


def suffixes(size):
    """Return a text, and titles each of which ends as the one before."""
    words = [f"W{n:05}" for n in range(isqrt(size // 8))]
    text = " ".join(words) + " "
    return text * (size // 2 // len(text)), [" ".join(words[n:]) for n in range(len(words))]


def one_line(size):
    return "aaa" * (size // 3), ["aaa"]


@pytest.mark.parametrize("made", [nested, suffixes, one_line])
def test_memory_grows_with_the_page_and_no_more(made):
    match("a" * 400_000, {"a": "a"})  # fills tables that stay
    peaks = []
    for size in (100_000, 400_000):
        text, titles = made(size)
        tracemalloc.start()
        try:
            match(text, page_forms("B", titles))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()

    assert peaks[1] < 200 * 400_000
    assert peaks[1] < 6 * peaks[0]


def test_forms_are_the_titles_with_and_without_a_qualifier():
    forms = page_forms("Java (Sprache)", ["Sun Microsystems", "Eiche (Informatik)"])

    assert forms == {
        "java (sprache)": "Java (Sprache)",
        "java": "Java (Sprache)",
        "sun microsystems": "Sun Microsystems",
        "eiche (informatik)": "Eiche (Informatik)",
        "eiche": "Eiche (Informatik)",
    }


def test_a_form_of_several_titles_means_the_plain_one_if_it_is_linked_far_more_often():
    assert "merkur" not in page_forms("Rom", ["Merkur (Gott)"] * 9 + ["Merkur (Planet)"])
    assert page_forms("Rom", ["Merkur"] * 3 + ["Merkur (Gott)"])["merkur"] == "Merkur"
    assert "merkur" not in page_forms("Rom", ["Merkur"] * 5 + ["Merkur (Gott)"] * 2)


def test_a_page_speaks_of_its_subject():
    assert page_forms("Merkur (Gott)", ["Merkur (Planet)"] * 2)["merkur"] == "Merkur (Gott)"


def test_short_forms_and_forms_without_a_letter_are_left_out():
    targets = ["Ur", "1984", "9/11", "C++", "A* (Algorithmus)", "東京", "東京都"]

    assert set(page_forms("Ei", targets)) == {"c++", "a* (algorithmus)", "東京都"}
    assert "東京" in page_forms("Ei", targets, min_characters=2)


def test_forms_fold_by_language():
    forms = page_forms("IŞIK", [], lang="tr")

    assert forms == {"ışık": "IŞIK"}
    assert match("Işık yok", forms, lang="tr") == [(0, 4, "IŞIK")]


@pytest.mark.parametrize(
    ("text", "title", "link", "kept"),
    [
        ("A mill. The bill.", "Bill", "Bill", []),
        ("A mill. The bill.", "Bill", "bill", ["bill"]),
        ("A mill. The bill.", "Bill", "invoice", ["bill"]),  # which shows that it is a noun
        ("A mill. Bill came.", "Bill", "bill", ["Bill"]),
        ("The united states of mind.", "United States", "United States", []),
        ("In RUSSIA.", "Russia", "Russia", []),
        ("In RUSSIA.", "Russia", "RUSSIA", ["RUSSIA"]),
        ("A planet, Mercury.", "Mercury (planet)", "Mercury", ["Mercury"]),
        ("A planet, Mercury.", "Mercury (planet)", "the planet", []),
        ("The mercury falls.", "Mercury (planet)", "mercury", []),
        ("これは東京です", "東京", "東京", ["東京"]),
    ],
)
def test_matches_are_spelled_as_the_title_or_as_the_page_spells_its_links(text, title, link, kept):
    text = f"{link} {text}"
    forms = page_forms(None, [title], min_characters=2)
    occupied = [(0, len(link))]
    matches = match(text, forms, occupied, lang="ja" if "東" in text else None)

    found = spelled_as_linked(text, matches, [(occupied[0], title)], own=None)

    assert [text[start:end] for start, end, _ in found] == kept


def test_nothing_is_found_inside_the_text_of_a_link():
    titles = ["Zvartnots", "Airport"]
    text = "From the Zvartnots Airport: Zvartnots Airport, and Zvartnots"

    found = match(text, page_forms(None, titles), [(9, 26)])

    assert [start for start, _, _ in found] == [text.rfind("Zvartnots")]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("He saw «The Moscow Metro» and the Metro.", ["Metro"]),
        ("In the house «Bank», a Bank.", ["Bank"]),
        ('"What? Is it so?" and a Bank, or "none".', ["Bank"]),  # it stands between quotations
        ('The song "Linked". Then "Linked" again.', ["Linked", "Linked"]),
    ],
)
def test_quotation_marks_show_a_longer_name(text, kept):
    titles = ["Metro", "Bank", "Linked"]
    links = [((place := text.find("Linked"), place + 6), "Linked")]

    matches = match(text, page_forms(None, titles))

    assert [text[start:end] for start, end, _ in alone(text, matches, links)] == kept


def test_a_small_syllable_of_vietnamese_is_no_word():
    text = "Trong gia đình. Đình ở Hà Nội."
    matches = match(text, page_forms(None, ["Đình", "Hà Nội"]), lang="vi")

    found = spelled_as_linked(text, matches, [((10, 14), "Đình")], own=None, lang="vi")

    assert [text[start:end] for start, end, _ in found] == ["Đình", "Hà Nội"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("He ran the National Bank, a bank.", ["bank"]),
        ("He went to York City, then to York.", ["York"]),
        ("There J. Smith met Dr Smith, and then Smith.", ["Smith"]),
        ("National Bank\nBank: it opened. President Bank Smith", ["Bank", "Bank"]),
        ("He met Sir Adam Smith, and Queen Adam Smith.", ["Adam Smith", "Adam Smith"]),
        ("Der Dichter Smith kam in die Stadt York.", ["Smith", "York"]),  # nouns have a capital
    ],
)
def test_a_word_with_a_capital_beside_a_match_makes_it_a_part_of_a_longer_name(text, kept):
    matches = match(text, page_forms(None, ["Bank", "York", "Smith", "Adam Smith"]))

    lang = "de" if "Der" in text else "en"
    assert [text[start:end] for start, end, _ in alone(text, matches, lang=lang)] == kept


def test_the_page_may_write_its_own_title_small_where_its_opening_does():
    mill, will = (
        "A windmill is a mill. Each windmill",
        "Will Smith, called Will." + " " * 300 + "will",
    )
    for text, title, n in ((mill, "Windmill", 2), (will, "Will", 2)):
        matches = match(text, page_forms(title, []))
        assert len(spelled_as_linked(text, matches, [], own=title)) == n


@pytest.mark.parametrize(
    ("title", "more"), [("Abraham Lincoln", []), ("Civil War", ["Abraham Lincoln"])]
)
def test_a_word_of_the_title_or_of_another_linked_one_is_no_qualified_title(title, more):
    forms = page_forms(title, ["Lincoln (film)", "Kobzar (book)", *more])

    assert "lincoln" not in forms
    assert forms["kobzar"] == "Kobzar (book)"
    assert forms["lincoln (film)"] == "Lincoln (film)"
