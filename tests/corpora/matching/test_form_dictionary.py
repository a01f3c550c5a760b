import unicodedata
from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.rows import document_from_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document, Mention, without_crossing
from corpora.errors import CorpusError
from corpora.matching.form_dictionary import (
    CHOSEN,
    MEANINGS,
    FormDictionary,
    Matching,
    choose_forms,
    read_meanings,
    read_meanings_file,
)
from corpora.matching.form_table import SurfaceMatcher
from tests.datasets import document_to_row


def meanings(*rows):
    return pa.Table.from_pylist(
        [dict(zip(MEANINGS.names, row, strict=True)) for row in rows], schema=MEANINGS
    )


def choose(table, *, ignore_case=True, lang=None):
    chosen, _ = choose_forms(table, ignore_case=ignore_case, lang=lang)
    return {row["form"]: (row["entity"], row["score"]) for row in chosen.to_pylist()}


def test_a_form_means_the_entity_with_the_highest_prior():
    table = meanings(("Jena", "B", 1, 0.25, 0.5), ("Jena", "A", 3, 0.75, 0.5))

    assert choose(table) == {"jena": ("A", 0.375)}


def test_ties_are_broken_by_entity():
    table = meanings(
        ("Jena", None, 1, 0.25, None), ("Jena", "B", 1, 0.25, None), ("Jena", "A", 1, 0.25, None)
    )

    assert choose(table) == {"jena": ("A", 0.25)}


def test_each_of_very_many_forms_means_its_own_entity():
    n = 70_000  # forms times entities are more than 32 bits hold
    forms = [f"form {number}" for number in range(n)]
    nothing = pa.nulls(n, pa.float64())
    columns = [forms, [f"Q:{form}" for form in forms], [0.0] * n, nothing, nothing]

    chosen, _ = choose_forms(pa.table(columns, schema=MEANINGS), ignore_case=False, lang=None)

    assert dict(zip(*(chosen.column(c).to_pylist() for c in ("form", "entity")), strict=True)) == {
        form: f"Q:{form}" for form in forms
    }


def test_spellings_are_added_up():
    table = meanings(
        ("US", "United States", 99, 99 / 100, 0.5),
        ("US", "Us (film)", 1, 1 / 100, 0.5),
        ("us", "Us (film)", 4, 1.0, 0.01),
    )

    folded = choose(table)
    spelled = choose(table, ignore_case=False)

    assert folded == {"us": ("United States", pytest.approx(99 / (200 + 400)))}
    assert spelled["us"] == ("Us (film)", pytest.approx(0.01))
    assert spelled["US"] == ("United States", pytest.approx(0.99 * 0.5))


def test_the_counts_of_each_form_are_kept():
    table = meanings(("a", "A", 6, 0.6, 0.5), ("a", "B", 4, 0.4, 0.5), ("b", "B", 1, 1.0, None))

    _, counts = choose_forms(table, ignore_case=True, lang=None)

    assert counts.column("count").to_pylist() == [6, 1]
    assert counts.column("linked").to_pylist() == [10, 1]
    assert counts.column("places").to_pylist() == [20, None]


def test_what_is_unknown_has_no_score():
    table = meanings(("Jena", "A", 0, None, None), ("Ulm", "U", 1, 1.0, None))

    assert choose(table) == {"jena": ("A", None), "ulm": ("U", 1.0)}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "A", "b", "ab"]), st.sampled_from("XYZ"), st.integers(1, 9)
        ),
        unique_by=lambda row: row[:2],
        max_size=12,
    ),
    st.booleans(),
)
def test_choice_is_that_of_the_slow_way(counts, ignore_case):
    linked = defaultdict(int)
    for form, _, count in counts:
        linked[form] += count
    table = meanings(*((f, e, n, n / linked[f], 0.5) for f, e, n in counts))

    chosen = choose(table, ignore_case=ignore_case)

    sums = defaultdict(lambda: defaultdict(int))
    for form, entity, count in counts:
        sums[form.lower() if ignore_case else form][entity] += count
    assert chosen == {
        form: (
            best := min(by, key=lambda entity: (-by[entity], entity)),
            pytest.approx(by[best] / sum(by.values()) / 2),
        )
        for form, by in sums.items()
    }


def test_aliases_of_a_vocabulary_are_meanings(tmp_path):
    alias = {"form": "Jena", "count": 2, "prior": 0.5, "link_probability": 0.25}
    row = {"title": None, "page_id": None, "count": 2, "counts": []}
    with ShardWriter(tmp_path / "shard", SCHEMAS["entities"]) as writer:
        writer.write({**row, "id": 0, "entity": "[PAD]", "aliases": None, "retired": False})
        writer.write({**row, "id": 1, "entity": "x:Jena", "aliases": [alias], "retired": False})
        writer.write({**row, "id": 2, "entity": "x:Old", "aliases": [alias], "retired": True})

    assert read_meanings([tmp_path / "shard"]).to_pylist() == [{**alias, "entity": "x:Jena"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_table_of_forms_is_read(encoding, tmp_path):
    file = tmp_path / "forms.tsv"
    file.write_text("Jena\tx:Jena\t0.5\t0.25\nUlm\tx:Ulm\t1\n\nNeu\t\n", encoding=encoding)

    rows = read_meanings_file(file).to_pylist()

    assert [tuple(row.values()) for row in rows] == [
        ("Jena", "x:Jena", 500, 0.5, 0.25),
        ("Ulm", "x:Ulm", 1000, 1.0, None),
        ("Neu", None, 0.0, None, None),
    ]


@pytest.mark.parametrize(
    "line", ["Jena", "Jena\tA\t2", "Jena\tA\t0.5\tx", "Jena\tA\tnan", "a\tb\t1\t1\t1"]
)
def test_a_wrong_line_is_named(tmp_path, line):
    file = tmp_path / "forms.tsv"
    file.write_text(f"Ulm\tU\n{line}\n", encoding="utf-8")

    with pytest.raises(CorpusError, match=r"forms\.tsv:2: "):
        read_meanings_file(file)


@st.composite
def documents(draw):
    text = draw(st.text("abAİ \n一é\u0301😀", max_size=30))
    spans = st.tuples(st.integers(0, 29), st.integers(1, 9))
    mentions = [
        Mention(s, s + n, entity=f"{s}", label="X", attributes={"k": "v"}, score=0.5)
        for s, n in draw(st.lists(spans, max_size=4))
        if s + n <= len(text)
    ]
    return Document(
        id=draw(st.uuids()).hex,
        group="g",
        source="s",
        text=text,
        mentions=tuple(without_crossing(mentions)[0]),
        metadata={"a": "b"},
    )


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
@pytest.mark.parametrize("ignore_case", [True, False])
def test_forms_are_found_however_their_letters_are_composed(form, other, ignore_case):
    text = "😀 Ọ̀yọ́ và Việt\u00a0Nam, বাড়ি 한국 Müllers Müller; Müller"
    names = ["Ọ̀yọ́", "Việt Nam", "বাড়ি", "한국", "Müller"]
    text, linked = unicodedata.normalize(other, text), unicodedata.normalize(other, "Müller")
    at = text.rindex(linked)
    document = Document(
        id="1", group="g", source="s", text=text, mentions=(Mention(at, at + len(linked), "L"),)
    )
    batch = pa.RecordBatch.from_pylist(
        [document_to_row(document)] * 2, schema=SCHEMAS["documents"].columns
    )
    rows = [(unicodedata.normalize(form, name), name, 1, None, None) for name in names]
    chosen, _ = choose_forms(meanings(*rows), ignore_case=ignore_case, lang=None)

    dictionary = FormDictionary(chosen, Matching(lang=None, ignore_case=ignore_case))
    augmented, n_added = dictionary.add_to(batch, origin="lexicon")

    assert n_added == 2 * len(names)
    for row in augmented.to_pylist():
        found = document_from_row(row).mentions
        surfaces = [text[m.start : m.end].replace("\u00a0", " ") for m in found]
        assert surfaces == [unicodedata.normalize(other, name) for name in [*names, "Müller"]]
        assert [m.entity for m in found] == [*names, "L"]


def test_spellings_of_the_same_letters_are_one_form():
    rows = [(unicodedata.normalize(form, "é"), "A", 1, 0.5, 0.5) for form in ("NFC", "NFD")]

    chosen = choose(meanings(*rows), ignore_case=False)

    assert chosen == {"é": ("A", 0.25)}


FORMS = ["a", "ab", "a b", "一", "é", "İ", "b\nb"]


@given(st.lists(documents(), max_size=5), st.sampled_from(["word", "prefix"]))
def test_mentions_are_added_as_the_slow_way_adds_them(given_documents, right):
    columns = SCHEMAS["documents"].columns
    batch = pa.RecordBatch.from_pylist(
        [document_to_row(document) for document in given_documents], schema=columns
    )
    chosen = pa.Table.from_pylist(
        [{"form": f, "entity": f"e:{f}", "score": n / 10} for n, f in enumerate(FORMS)],
        schema=CHOSEN,
    )

    dictionary = FormDictionary(chosen, Matching(lang=None, right=right))
    augmented, n_added = dictionary.add_to(batch, origin="lexicon")

    matcher = SurfaceMatcher(FORMS, lang=None, right=right)
    rows = augmented.to_pylist()
    for row, document in zip(rows, given_documents, strict=True):
        found = matcher.find(document.text, [(m.start, m.end) for m in document.mentions])
        added = [(s, e, f"e:{FORMS[f]}", pytest.approx(f / 10)) for s, e, f in found]
        result = document_from_row(row)  # raises where mentions cross or are out of order
        new = [m for m in result.mentions if m.origin == "lexicon"]
        assert [(m.start, m.end, m.entity, m.score) for m in new] == added
        assert tuple(m for m in result.mentions if m.origin != "lexicon") == document.mentions
        n_added -= len(found)
    assert n_added == 0
    for name in columns.names:
        if name != "mentions":
            assert augmented.column(name).equals(batch.column(name))
