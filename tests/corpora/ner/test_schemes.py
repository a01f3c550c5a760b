"""Tag schemes: what is legal means the same spans in each; what is not is marked, and repaired."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import TokenSpan
from corpora.ner.columns import SentenceColumns, Tags
from corpora.ner.schemes import detect_scheme, find_spans, normalise, to_scheme
from corpora.tagging import from_iob2, to_iob2
from tests.corpora.spans_of_tags import count_orphans, join_adjacent

LABELS = st.sampled_from(["PER", "LOC", "a-b_c"])
ANY = st.lists(
    st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), max_size=8), max_size=5
)
MIXED = st.lists(
    st.sampled_from([*(f"{p}-{x}" for p in "BIES" for x in ("PER", "LOC")), "O", "O"]), max_size=9
)


@st.composite
def legal(draw):
    """Draw sentences of legal IOB2 tags."""
    sentences = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(1, 8))
        ends = sorted(draw(st.sets(st.integers(0, n), max_size=n)))
        spans = [
            TokenSpan(start=start, end=end, label=draw(LABELS))
            for start, end in pairwise(ends)
            if draw(st.booleans())
        ]
        sentences.append(list(to_iob2(spans, n)))
    return sentences


def tags_of(sentences):
    """Return tags as codes, and where sentences begin."""
    flat = [tag for sentence in sentences for tag in sentence]
    begins = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    return Tags.of(pa.array(flat, pa.string())), begins


def strings(tags, begins):
    flat = tags.strings().to_pylist()
    return [flat[start:end] for start, end in pairwise(begins.tolist())]


def to_iob1(tags):
    """Turn IOB2 into IOB1 by its definition.

    B- stands only after a token of another entity of the same label.
    """
    before = ["O", *tags]
    return [
        f"I-{tag[2:]}" if tag[0] == "B" and previous[1:] != tag[1:] else tag
        for previous, tag in zip(before, tags, strict=False)
    ]


@given(legal())
def test_legal_iob2_stays_as_it_is(sentences):
    tags, begins = tags_of(sentences)

    normal = normalise(tags, begins, "iob2")

    assert strings(normal.tags, begins) == sentences
    assert not normal.is_illegal.any()
    assert not normal.problems


@given(legal())
def test_iob1_means_the_same_spans(sentences):
    tags, begins = tags_of([to_iob1(sentence) for sentence in sentences])

    normal = normalise(tags, begins, "iob1")

    assert strings(normal.tags, begins) == sentences
    assert not normal.is_illegal.any()


@pytest.mark.parametrize("letters", ["BIES", "BMES", "BILU", "BMEW"])
@given(sentences=legal())
def test_schemes_with_ends_come_back(letters, sentences):
    tags, begins = tags_of(sentences)

    there = to_scheme(tags, letters=letters)
    back = normalise(there, begins, "iobes")

    assert strings(back.tags, begins) == sentences
    assert not back.is_illegal.any()


@given(legal())
def test_iobes_equals_seqeval(sentences):
    from seqeval.metrics.sequence_labeling import get_entities

    tags, begins = tags_of(sentences)

    shown = strings(to_scheme(tags, letters="BIES"), begins)

    for ours, expected in zip(shown, sentences, strict=True):
        spans = [(s.label, s.start, s.end - 1) for s in from_iob2(expected)]
        assert get_entities(ours) == spans


@given(ANY)
def test_repair_of_iob2_is_the_lenient_reading(sentences):
    tags, begins = tags_of(sentences)

    normal = normalise(tags, begins, "iob2")

    expected = [list(to_iob2(from_iob2(s, strict=False), len(s))) for s in sentences]
    assert strings(normal.tags, begins) == expected
    assert normal.problems.get("tags.orphan", 0) == sum(map(count_orphans, sentences))


@given(st.lists(MIXED, max_size=4), st.sampled_from(["iob1", "iob2", "iobes"]))
def test_repaired_tags_are_legal_and_as_many_tokens_tagged(sentences, scheme):
    tags, begins = tags_of(sentences)

    normal = normalise(tags, begins, scheme)

    repaired = strings(normal.tags, begins)
    assert sum(map(count_orphans, repaired)) == 0
    for before, after in zip(sentences, repaired, strict=True):
        assert [tag[2:] for tag in after] == [tag[2:] for tag in before]


@given(ANY)
def test_spans_are_those_that_are_read_token_by_token(sentences):
    tags, begins = tags_of(sentences)
    columns = SentenceColumns(
        pa.array(["x"] * len(tags.codes), pa.string()), begins, tags.strings()
    )

    spans = find_spans(columns)

    found = zip(spans.starts, spans.ends, (spans.label_names[x] for x in spans.labels), strict=True)
    expected = [
        (begin + s.start, begin + s.end, s.label)
        for begin, sentence in zip(begins.tolist(), sentences, strict=False)
        for s in from_iob2(sentence)
    ]
    n_runs = sum(len(join_adjacent(from_iob2(sentence))) for sentence in sentences)
    assert list(found) == expected
    assert len(expected) - int(spans.is_adjacent.sum()) == n_runs
    assert spans.n_orphans == sum(map(count_orphans, sentences))


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("I-A O I-B I-B O", "iob1"),
        ("I-A B-A O I-B", "iob1"),
        ("B-A I-A O B-B", "iob2"),
        ("B-A B-A O I-B", "iob2"),
        ("O O", "iob2"),
        ("B-A E-A O", "iobes"),
        ("S-A O B-A M-A E-A", "iobes"),
        ("U-A O B-A I-A L-A", "iobes"),
        ("B-A I-A B-B I-B B-A E-A", "iob2"),
    ],
)
def test_scheme_is_recognized_by_what_begins_and_ends_most_entities(tags, scheme):
    assert detect_scheme(*tags_of([tags.split()])) == scheme


@pytest.mark.parametrize(
    ("tags", "scheme", "repaired", "problem"),
    [
        ("B-A I-B", "iob2", "B-A B-B", "tags.orphan"),
        ("B_A I_A", "iob2", "B-A I-A", "tags.with underscore"),
        ("B.A I-A", "iob2", "B-A I-A", "tags.misspelled"),
        ("B-A v I-A", "iob2", "B-A O B-A", "tags.unreadable"),
        ("B-A E-A", "iob2", "B-A I-A", "tags.of another scheme"),
        ("B-A M-A O", "iobes", "B-A I-A O", "tags.unclosed"),
        ("B-A E-B", "iobes", "B-A B-B", "tags.unclosed"),
        ("E-A E-A", "iobes", "B-A B-A", "tags.orphan"),
    ],
)
def test_what_a_scheme_does_not_allow_is_repaired_and_counted(tags, scheme, repaired, problem):
    encoded, begins = tags_of([tags.split()])

    normal = normalise(encoded, begins, scheme)

    assert strings(normal.tags, begins) == [repaired.split()]
    assert problem in normal.problems
    assert normal.is_illegal.any() == (problem != "tags.with underscore")


def test_openings_of_the_source_are_distinguished_from_those_of_a_repair():
    tags, begins = tags_of([["B-A", "I-B", "B_A", "B.A"]])

    normal = normalise(tags, begins, "iob2")

    assert normal.opens.tolist() == [True, True, True, True]
    assert normal.is_source_opening.tolist() == [True, False, True, False]
