"""Documents to a lexicon: the counts of a dictionary, the same bytes in any order."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.shards import open_dataset
from corpora.document import Document
from corpora.lexicon import counting, ranking, tables
from pipelines import documents_to_lexicon as pipeline
from tests.datasets import write_dataset
from tests.pipelines.made_lexicons import STORY, build, documents, rows_of
from tests.pipelines.naive_lexicon import (
    by_scope,
    character_segments,
    naive,
    thai_segments,
    word_segments,
)

pytestmark = pytest.mark.usefixtures("without_runner")
HAN = "天地玄黄宇宙"
# Of the digits only 0, for the dictionaries know no numbers that are words (666).
TEXTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.text(HAN + "。a0\n", max_size=40)), min_size=1, max_size=6
)


def assert_same(rows, expected):
    assert {(row["group"], row["form"]) for row in rows} == expected.keys()
    for row in rows:
        count, adjacent, left, right, is_inner = expected[row["group"], row["form"]]
        assert row["count"] == count
        assert row["mi"] == pytest.approx(adjacent, abs=1e-9)
        assert row["left_entropy"] == pytest.approx(left, abs=1e-9)
        assert row["right_entropy"] == pytest.approx(right, abs=1e-9)
        assert ("inner" in row["flags"]) == is_inner


@settings(max_examples=30)
@given(
    texts=TEXTS,
    per=st.sampled_from(["document", "group", "all"]),
    longest=st.integers(2, 5),
    min_count=st.integers(2, 3),
    n_windows=st.integers(1, 30),
)
def test_the_lexicon_is_that_of_a_dictionary(
    tmp_path_factory, texts, per, longest, min_count, n_windows
):
    """For all scopes, however the documents are cut into shards, windows into ranges and chunks."""
    folder = tmp_path_factory.mktemp("lexicon")
    texts = [("a", "天地。天地天地"), *texts]  # the first decides; and there is a candidate
    made = documents(texts)
    dataset = write_dataset(folder / "documents", made[::2], made[1::2])
    scopes = by_scope([*made[::2], *made[1::2]], per, lambda d: character_segments(d.text))
    expected = naive(scopes, longest=longest, min_count=min_count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "RANGE_WINDOWS", n_windows)
        patch.setattr(counting, "CHUNK", 7)
        patch.setattr(ranking, "CHUNK", 5)
        output = build(folder / "out", dataset, per=per, max_length=longest, min_count=min_count)

    assert_same(rows_of(output), expected)


@settings(max_examples=10)
@given(texts=st.lists(st.text("กนใาั้ำ๋ 。", max_size=40), min_size=1, max_size=8))
def test_marks_stay_with_their_letter_and_counts_are_exact(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("thai")
    made = documents([("a", text) for text in ["น้ำใจ น้ำใจ", *texts]], lang="th")
    dataset = write_dataset(folder / "documents", made)
    scopes = by_scope(made, "all", lambda d: thai_segments(d.text))

    output = build(folder / "out", dataset, per="all", min_count=2)

    assert_same(rows_of(output), naive(scopes, longest=8, min_count=2))


def test_names_of_a_script_with_marks_and_spaces_are_whole_words(tmp_path):
    text = "नई दिल्ली में बारिश हुई। नई दिल्ली बड़ी है। वह नई दिल्ली गया।\n"
    dataset = write_dataset(tmp_path / "documents", documents([("a", text)], lang="hi"))

    rows = rows_of(build(tmp_path / "out", dataset, per="all", min_count=3))

    assert [(row["form"], row["count"]) for row in rows] == [("नई दिल्ली", 3)]


def test_multi_word_names_are_found_in_german(tmp_path):
    text = (
        "Herr von Treuenfels kam aus Bad Doberan. Dort sah ihn Herr von Treuenfels der Ältere.\n"
        "In Bad Doberan, sagte Frau Kunze, wohnt Herr von Treuenfels; Bad Doberan ist klein.\n"
    )
    made = documents([("a", text), ("a", text)], lang="de")
    dataset = write_dataset(tmp_path / "documents", made)

    rows = rows_of(build(tmp_path / "out", dataset, min_count=3, per="all"))

    scopes = by_scope(made, "all", lambda d: word_segments(d.text, "de"))
    assert_same(rows, naive(scopes, longest=8, min_count=3, separator=" "))
    assert rows[0]["form"] in {"Bad Doberan", "Herr von Treuenfels"}


def test_slices_ranges_and_the_order_of_units_change_no_byte(tmp_path, monkeypatch):
    made = documents([("a" if n % 2 else "b", line) for n, line in enumerate(story_lines())])
    whole = write_dataset(tmp_path / "whole", made)
    monkeypatch.setattr("corpora.datasets.shards.CHARACTERS_PER_BATCH", 200)
    parts = write_dataset(tmp_path / "parts", made[:7], made[7:11], made[11:])

    once = build(tmp_path / "once", whole, min_count=2)
    monkeypatch.setattr(tables, "RANGE_WINDOWS", 40)
    monkeypatch.setattr(pipeline, "PART_BYTES", 2000)
    monkeypatch.setattr(pipeline, "SLICE_BATCHES", 1)
    monkeypatch.setattr("corpora.entities.counts.FOLD_ROWS", 3)
    again = build(tmp_path / "again", parts, min_count=2, reverse=True)

    assert len(open_dataset(again).shards) > 1
    assert rows_of(once) == rows_of(again)
    assert (once / "lexicon.tsv").read_bytes() == (again / "lexicon.tsv").read_bytes()


def story_lines():
    return STORY.read_text("utf-8").split("\n")


def test_large_alphabets_are_counted_as_small_ones(tmp_path):
    """Windows have 32 bits a symbol where 16 do not suffice."""
    few, rare = "天地玄。天地玄。" * 3, "".join(map(chr, range(0x20000, 0x2A6D0)))
    rare += "".join(map(chr, [*range(0x3400, 0x4DC0), *range(0x4E00, 0x9FA0)]))
    dataset = write_dataset(tmp_path / "few", documents([("a", few)]))
    large = write_dataset(tmp_path / "many", documents([("a", f"{rare}。{few}")]))

    forms = [
        {(row["form"], row["count"]) for row in rows_of(build(tmp_path / name, path))}
        for name, path in (("of few", dataset), ("of many", large))
    ]

    assert forms[0] == forms[1] == {("天地", 6), ("地玄", 6), ("天地玄", 6)}


@pytest.mark.parametrize("is_cut", [False, True])
def test_two_documents_with_one_id_have_no_lexicon_of_their_own(tmp_path, capsys, is_cut):
    """Neither in one slice nor in two: some of their symbols would be too rare in each."""
    twice = documents([("a", "天地玄黄。天地")]) * 2
    shards_of = [twice[:1], twice[1:]] if is_cut else [twice]
    dataset = write_dataset(tmp_path / "documents", *shards_of)
    arguments = ["--input", str(dataset), "--known", "none", "--min-count", "3"]

    of_each = pipeline.main([*arguments, "--output", str(tmp_path / "each"), "--per", "document"])
    of_all = pipeline.main([*arguments, "--output", str(tmp_path / "all"), "--per", "all"])

    assert (of_each, of_all) == (1, 0)
    assert "more than one document has the id 'a#0'" in capsys.readouterr().err


PIECES = st.lists(st.sampled_from(["ab", "b", "²", "1", "天", " ", "  ", "\n", "\u00a0", "."]))


@given(st.lists(PIECES, min_size=1, max_size=4))
@settings(max_examples=8)
def test_a_form_of_words_stands_in_the_text_as_often_as_it_is_counted(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("words")
    made = [
        Document(id=f"{n}", group=f"{n}", source="test", lang="de", text=text)
        for n, text in enumerate(
            ["ein b. ein b.", *(f"ein b. {''.join(pieces)}. " * 2 for pieces in texts)]
        )
    ]
    dataset = write_dataset(folder / "documents", made)

    rows = rows_of(build(folder / "out", dataset, min_count=2))

    for row in rows:
        text = made[int(row["group"])].text
        assert len(re.findall(f"(?={re.escape(row['form'])})", text)) >= row["count"]


@pytest.mark.realdata
def test_the_lexicon_of_real_text_is_that_of_a_dictionary(realdata, tmp_path):
    novel = (realdata("zh-novels") / "红楼梦.txt").read_text("utf-8")[:80_000]
    news = (realdata("zh-news") / "clue-corpus-small-sampled.txt").read_text("utf-8")[:40_000]
    made = documents([("novel", novel), ("news", news)])
    dataset = write_dataset(tmp_path / "documents", made)

    rows = rows_of(build(tmp_path / "out", dataset))

    scopes = by_scope(made, "group", lambda d: character_segments(d.text))
    assert_same(rows, naive(scopes, longest=8, min_count=5))
