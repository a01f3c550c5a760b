"""The table of forms finds what the automaton finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.matching import form_table
from corpora.matching.form_table import FormTable, build_form_table
from corpora.matching.surface_forms import SurfaceMatcher

# Letters, digits, scripts without spaces, Hangul, combining marks, joiners, what looks like a mark.
LETTERS = "aAbÄß1 .-(\n한글水中ก\u0e33\u0301\u200d\x02\x03"
FORMS = st.lists(st.text(LETTERS, max_size=6), max_size=12, unique=True)


def table_of(folder, *parts):
    build_form_table(folder, parts)
    return FormTable(folder)


@settings(max_examples=400)
@given(
    FORMS, st.lists(st.text(LETTERS, max_size=40), max_size=4), st.sampled_from(["de", "ko", None])
)
def test_finds_what_the_automaton_finds(tmp_path_factory, forms, texts, lang):
    folder = tmp_path_factory.getbasetemp() / "table"
    forms = list({form.replace("\x03", "\x02"): form for form in forms}.values())
    text = "\n".join([*texts, *forms, " ".join(forms), "".join(forms)])

    found = zip(*table_of(folder, forms[:5], forms[5:]).find(text, lang=lang), strict=True)

    expected = SurfaceMatcher(forms, lang=lang, ignore_case=False).find(text)
    assert [tuple(map(int, match)) for match in found] == expected


def test_windows_end_between_lines_and_forms_are_found_in_all(tmp_path, monkeypatch):
    monkeypatch.setattr(form_table, "WINDOW", 10)
    monkeypatch.setattr(form_table, "_FORMS_AT_ONCE", 2)
    forms = ["New York", "York", "New", "Ulm", "a long form of words"]
    text = "In New York, a long form of words.\nUlm\n\nNew\nYork, of words: a long form of words\n"

    starts, ends, numbers = table_of(tmp_path, forms).find(text * 3, lang="en")

    found = [(text * 3)[start:end] for start, end in zip(starts, ends, strict=True)]
    assert found == 3 * ["New York", forms[4], "Ulm", "New", "York", forms[4]]
    assert [forms[number] for number in numbers] == found


@pytest.mark.parametrize("forms", [[], [""], ["\u0301"]])
def test_a_table_without_forms_finds_nothing(tmp_path, forms):
    starts, _, _ = table_of(tmp_path, forms).find("Jena and ́ Ulm", lang="de")

    assert not len(starts)


def test_a_form_takes_a_few_bytes_on_disk(tmp_path):
    rng = np.random.default_rng(1)
    forms = [f"Word{a} name{b}" for a, b in rng.integers(0, 5_000, (20_000, 2))]

    table_of(tmp_path, forms)

    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 40 * len(forms)
