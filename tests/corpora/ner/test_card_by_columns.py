"""The card by arrays says what counting token by token says."""

import time
import tracemalloc
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.hashing.tokens import Runs, hash_strings
from corpora.matching.arrays import first_disjoint
from corpora.ner import gazetteer
from corpora.ner.columns import SentenceColumns, ahead, to_columns
from corpora.ner.gazetteer import learn, score
from corpora.ner.tally import Labels, tally
from corpora.tagging import from_iob2
from tests.corpora.ner.slow_gazetteer import Match, learn_names, score_names
from tests.corpora.ner.slow_gazetteer import leftmost_longest as leftmost_longest_of
from tests.ner_files import examine

TOKENS = st.sampled_from(["a", "b", "c", "ab", "", "日", "日本"])
TAGS = st.sampled_from(["O", "O", "B-X", "I-X", "B-Y", "I-Y"])


@st.composite
def sentences(draw):
    rows = draw(st.lists(st.lists(st.tuples(TOKENS, TAGS), max_size=6), max_size=12))
    return [
        Sentence(
            id=str(n),
            document_id="d",
            split="train",
            tokens=tuple(token for token, _ in row),
            tags=tuple(tag for _, tag in row),
        )
        for n, row in enumerate(rows)
    ]


def forms_of(rows):
    forms = defaultdict(Counter)
    for row in rows:
        for span in from_iob2(row.tags):
            forms[row.tokens[span.start : span.end]][span.label] += 1
    return forms


@given(sentences(), sentences(), st.sampled_from([1, 3, gazetteer.AT_ONCE]))
def test_gazetteer_equals_matching_token_by_token(train, other, at_once):
    forms = forms_of(train)
    expected = score_names(learn_names(forms, train), other)

    labels = Labels()
    counted = tally(to_columns(train), labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gazetteer, "AT_ONCE", at_once)
        names = learn(counted.forms.table(), to_columns(train), labels)
        found = score(names, to_columns(other), labels)

    assert found == expected
    assert len(names) == len(forms)


def nested_names(n_tokens, n_names):
    """Return names that repeat one word, and a long sentence of that word without a name."""
    tags = [("B-X", *["I-X"] * length) for length in range(n_names)]
    rows = [(("x",) * len(some), some) for some in tags] + [(("x",) * n_tokens, ("O",) * n_tokens)]
    return [
        Sentence(id=str(n), document_id="d", split="train", tokens=tokens, tags=tags)
        for n, (tokens, tags) in enumerate(rows)
    ]


def score_of_names(sentences):
    labels = Labels()
    counted = tally(to_columns(sentences), labels)
    names = learn(counted.forms.table(), to_columns(sentences), labels)
    return score(names, to_columns(sentences), labels)


def test_a_long_sentence_of_nested_names_takes_no_memory_for_each_match(monkeypatch):
    monkeypatch.setattr(gazetteer, "AT_ONCE", 10_000)
    peaks = []
    for n_tokens in (2_000, 22_000):
        sentences = nested_names(n_tokens, 100)
        tracemalloc.start()
        score_of_names(sentences)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] - peaks[0] < 20_000 * 400  # bytes for a token, where 100 matches begin


def test_matches_that_hang_together_take_linear_time():
    times = []
    for n_matches in (100_000, 400_000):
        starts = np.arange(n_matches)
        begin = time.process_time()
        kept = first_disjoint(starts, starts + 2)
        times.append(time.process_time() - begin)
        assert len(kept) == n_matches // 2

    assert times[1] < 12 * times[0] + 0.1


@given(sentences(), sentences(), sentences())
def test_leaks_conflicts_and_forms_equal_sets_of_tuples(train, dev, test):
    splits = {"train": train, "dev": dev, "test": test}

    health = examine({name: rows.__iter__ for name, rows in splits.items()})

    texts = {row.tokens for row in train}
    tagged = {(row.tokens, row.tags) for row in train}
    for leak in health.leaks:
        rows = [row for row in splits[leak.split] if len(row.tokens) >= leak.min_tokens]
        assert leak.sentences == len(rows)
        assert leak.leaked == sum(row.tokens in texts for row in rows)
        assert leak.leaked_with_tags == sum((row.tokens, row.tags) in tagged for row in rows)
    every = [*train, *dev, *test]
    ways = defaultdict(set)
    for row in every:
        ways[row.tokens].add(row.tags)
    several = {tokens for tokens, tags in ways.items() if len(tags) > 1}
    assert health.conflicts.sentences == len(several)
    assert health.conflicts.copies == sum(row.tokens in several for row in every)
    known, found = forms_of(train), forms_of(test)
    seen = next(row for row in health.seen if row.split == "test")
    assert seen.mentions == sum(labels.total() for labels in found.values())
    assert seen.seen == sum(labels.total() for form, labels in found.items() if form in known)
    ambiguous = {" ".join(f): dict(n) for f, n in forms_of(every).items() if len(n) > 1}
    assert {form.form: dict(form.labels) for form in health.ambiguous} == ambiguous


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 4)), max_size=12))
def test_leftmost_longest_equals_walking_from_left_to_right(spans):
    ordered = sorted({(start, start + n) for start, n in spans}, key=lambda s: (s[0], -s[1]))
    expected = leftmost_longest_of(Match(start, end, None) for start, end in ordered)

    starts, ends = (np.array([s[i] for s in ordered], np.int64) for i in (0, 1))
    kept = first_disjoint(starts, ends)

    assert [(starts[i], ends[i]) for i in kept] == [(m.start, m.end) for m in expected]


@example(["", "\x01", "\x02\0"])
@given(st.lists(st.text(max_size=4), max_size=30))
def test_strings_have_one_hash_if_and_only_if_they_are_equal(strings):
    hashes = hash_strings(pa.array(strings, pa.string())).tolist()

    assert len(set(hashes)) == len(set(strings))
    assert hash_strings(pa.array(["x", *strings], pa.string())[1:]).tolist() == hashes


@given(st.lists(st.sampled_from("ab"), max_size=12))
def test_runs_have_one_hash_if_and_only_if_they_are_equal(strings):
    n = len(strings)
    pairs = [(start, end) for start in range(n + 1) for end in range(start, n + 1)]
    starts, ends = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))

    hashes = Runs(hash_strings(pa.array(strings, pa.string()))).hash(starts, ends).tolist()

    runs = [tuple(strings[start:end]) for start, end in pairs]
    assert len(set(zip(runs, hashes, strict=True))) == len(set(runs)) == len(set(hashes))


def test_batches_do_not_change_the_card():
    rows = [
        Sentence(
            id=str(n),
            document_id="d",
            split="train",
            tokens=(f"w{n % 7}", f"w{n % 11}", "x"),
            tags=("B-X" if n % 3 else "B-Y", "I-X" if n % 5 else "O", "O"),
        )
        for n in range(200)
    ]
    labels, again = Labels(), Labels()

    one = tally([SentenceColumns.of_sentences(rows)], labels)
    many = tally(map(SentenceColumns.of_sentences, ([row] for row in rows)), again)

    assert one.count() == many.count()
    for name in ("hashes", "labels", "counts", "heads", "lengths"):
        assert (
            getattr(one.forms.table(), name).tolist() == getattr(many.forms.table(), name).tolist()
        )
    assert one.forms.table().texts == many.forms.table().texts


def test_reading_ahead_keeps_order_and_raises_what_is_raised():
    def numbers():
        yield from range(1, 5)
        raise ValueError("end of the disk")

    read = ahead(numbers())

    assert [next(read) for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="end of the disk"):
        next(read)
