"""What is dropped is counted, inline or in a block, with its words."""

import re

import pytest

from corpora.wikipedia.ledger import count_page, count_values, count_words
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract


def read(wikitext, *, lang="mr"):
    wiki = wiki_of(name=f"{lang}wiki", lang=lang)
    return extract(wikitext, wiki, load_templates(wiki.codes), title="Page")


def counters_of(wikitext, *, lang="mr"):
    counters = count_page(wikitext, read(wikitext, lang=lang))
    return {name: n for name, n in counters.items() if n}


@pytest.mark.parametrize("before", ["", "Text "])
def test_words_of_a_dropped_template_count_by_its_name_inline_and_alone(before):
    counters = counters_of(before + "{{Quotation2|eins zwei 1900 drei|[[A]] | name = vier}}\n\nEnd")

    assert counters["words/Quotation2"] == counters["words.in_templates"] == 6
    assert counters["numbers.in_templates"] == 1
    assert counters["dropped/Quotation2"] == 1
    assert counters.get("hole/Quotation2", 0) == bool(before)


def test_words_of_tables_and_of_templates_left_out_on_purpose_are_counted_apart():
    counters = counters_of(
        "Zwei Wörter {{cite web|title=drei mehr hier}}\n{|\n|-\n| a 1 || b 2\n|}\n", lang="de"
    )

    assert counters["words.text"] == 2
    assert counters["words.in_notes"] == 3
    assert counters["numbers.in_tables"] == 2
    assert counters["words.in_tables"] >= 4
    assert "words.in_templates" not in counters
    assert not [name for name in counters if name.startswith("words/")]


def test_what_a_shown_template_shows_is_no_loss():
    counters = counters_of("Der {{lang|la|rex {{Fehlt|eins zwei}}}} ist tot.", lang="de")

    assert counters["words.in_templates"] == counters["words/Fehlt"] == 2
    assert counters["words.text"] == 4


def test_names_of_parameters_and_signs_are_no_words():
    assert count_values("\n| name = Berlin\n| population = 3 700 000\n") == 4
    assert count_values("name=Berlin|x") == 1


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("ein Wort", 2),
        ("", 0),
        ("東京都は日本の首都である。" * 4, 26),
        ("https://x.org/" + "a" * 90, 1),
    ],
)
def test_words_are_counted_in_scripts_without_spaces_too(text, n):
    assert count_words(text) == n


def test_holes_have_the_names_of_what_dropped_out():
    page = read("In {{EWZ|1}}{{Jahr|2}} waren <math>x + 1</math> Leute da.", lang="fi")

    assert len(page.holes) == len(page.hole_names) == 2
    assert page.hole_names == ["EWZ|Jahr", "<math>"]


def test_a_box_before_a_paragraph_leaves_no_hole():
    box = "{{Unknown\n| a = 1\n| b = 2\n| c = 3\n}}"

    assert read(f"{box}The town lies.", lang="sw").holes == []
    assert len(read(f"The town {box} lies.", lang="sw").holes) == 1


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{Conversie|3|km}}", "3 km"),
        ("{{Fmtn|1000}}", "1000"),
        ("{{Cite quran|2|255}}", "2:255"),
        ("{{km2|367.58|m}}", "367.58 km²"),
        ("{{km to mi|590|abbr=yes}}", "590 km"),
        ("{{USS|Nautilus|SSN-571|6}}", "USS Nautilus"),
        ("{{начало цитаты}}wide{{конец цитаты|источник=p. 7}}", "wide — p. 7"),
    ],
)
def test_values_show_in_wikis_without_a_table_of_their_own(template, shown):
    assert read(f"Der {template} Ort.", lang="sw").text == f"Der {shown} Ort."


@pytest.mark.parametrize("lang", ["mr", "vi", "sw", "de", "zh"])
@pytest.mark.parametrize(
    "template",
    ["{{lang-pms|Vesuv}}", "{{Lang-zh-Hant|Vesuv}}", "{{lang|it|Vesuv}}", "{{langx|it|Vesuv}}"],
)
def test_words_of_other_languages_show_in_every_wiki(lang, template):
    assert "Vesuv" in read(f"Der {template} ist hoch.", lang=lang).text


def test_templates_that_only_begin_like_a_language_are_not_taken_for_one():
    assert read("Der {{Lang-Navigation|Vesuv}}.").text == "Der."


@pytest.mark.parametrize("times", [1, 500])
@pytest.mark.parametrize(
    "text", ["7", "a", "12 3a4", "（1）２", "é 5", "٣ 12 ٤٥", "𝟙 1", "1900–1910、"]
)
def test_numbers_are_runs_of_digits_in_any_script(text, times):
    counters = counters_of(f"{text}\n\n" * times)

    assert counters.get("numbers.in_wikitext", 0) == times * len(re.findall(r"\d+", text))
    assert "numbers.lost" not in counters
