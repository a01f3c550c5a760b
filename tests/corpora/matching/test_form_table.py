"""The table of forms finds the forms of its groups, window by window, in few bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.matching import form_table
from corpora.matching.form_table import FormTable, SurfaceMatcher, build_form_table


def table_of(folder, *parts):
    build_form_table(folder, parts)
    return FormTable(folder)


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.sampled_from(["a", "a b", "b", "ab", "水", ""]), unique=True), max_size=4)
)
def test_a_search_finds_the_forms_of_its_group_alone(tmp_path_factory, lexicons):
    folder = tmp_path_factory.getbasetemp() / "groups"
    ends = np.cumsum([*map(len, lexicons)]).tolist()
    names = [f"g{number}" for number in range(len(lexicons))]
    forms = [form for lexicon in lexicons for form in lexicon]
    build_form_table(folder, [forms[:3], forms[3:]], groups=[*zip(names, ends, strict=True)])
    text = "a b ab 水 ba"

    for name, lexicon, end in zip([*names, "other"], [*lexicons, []], [*ends, 0], strict=True):
        found = zip(*FormTable(folder).find(text, lang=None, groups=(name,)), strict=True)

        expected = SurfaceMatcher(lexicon, lang=None).find(text)
        n_before = end - len(lexicon)
        assert [*found] == [(start, stop, n_before + n) for start, stop, n in expected]


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
