"""Long sentences are cut into rows of which nothing is lost."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.ner.columns import Tags
from corpora.ner.found import Origin, PartSentences
from corpora.ner.layout import FileLayout
from corpora.ner.sentence_rows import RowMaker, cut_long

ROWS = st.lists(
    st.lists(
        st.tuples(st.sampled_from("ab.。"), st.sampled_from(["O", "B-X", "I-X"])),
        min_size=1,
        max_size=30,
    ),
    max_size=4,
)


def found(rows):
    tokens = [token for row in rows for token, _ in row]
    tags = Tags.of(pa.array([tag for row in rows for _, tag in row], pa.string()))
    begins = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    places = np.arange(1, len(tokens) + 1)
    return PartSentences(
        tokens=pa.array(tokens, pa.string()), begins=begins, tags=tags, places=places
    )


@given(ROWS, st.integers(1, 12))
def test_cuts_are_outside_of_entities_and_rows_short(rows, most):
    sentences = found(rows)

    begins, shifts = cut_long(sentences, [sentences.tags], most)

    tags = sentences.tags.strings().to_pylist()
    assert set(sentences.begins.tolist()) <= set(begins.tolist())
    for begin, end, shift in zip(begins[:-1], begins[1:], shifts, strict=True):
        assert shift == 0 or not tags[begin].startswith("I-")
        inside = [tag.startswith("I-") for tag in tags[begin + 1 : end]]
        assert end - begin <= most or all(inside[:most])


def test_zero_cuts_nothing():
    sentences = found([[("a", "O")] * 9])

    assert cut_long(sentences, [sentences.tags], 0)[0].tolist() == [0, 9]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a b . c d e f", ["a b .", "c d e f"]),
        ("a b c d e f", ["a b c d", "e f"]),
        ("a . b c d/B e/I f", ["a . b c", "d/B e/I f"]),
        ("a b c/B d/I e/I f", ["a b", "c/B d/I e/I f"]),
        ("a/B b/I c/I d/I e/I f", ["a/B b/I c/I d/I e/I", "f"]),
    ],
)
def test_cut_is_after_a_full_stop_in_the_second_half_if_there_is_one(text, rows):
    pairs = [word.partition("/") for word in text.split()]
    sentences = found([[(token, f"{tag}-X" if tag else "O") for token, _, tag in pairs]])

    begins, _ = cut_long(sentences, [sentences.tags], 4)

    assert [" ".join(text.split()[i:j]) for i, j in pairwise(begins.tolist())] == rows


def test_rows_of_a_cut_sentence_say_where_they_are_from():
    maker = RowMaker(split="train", max_tokens=3)
    layout = FileLayout(format="conll")

    made = maker.make(found([[("a", "O")] * 7, [("b", "O")]]), layout, Origin("file"))

    ids = [row for batch in made.batches for row in batch.column("id").to_pylist()]
    assert ids == ["file:1", "file:1+3", "file:1+6", "file:8"]
    assert made.n_records == 2
    assert made.counters["sentences.pieces of long ones"] == 2
