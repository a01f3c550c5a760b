import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InvalidDocumentError
from corpora.tagging import to_iob2
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.taggers.counts import (
    count_lenient,
    count_strict,
    count_words,
    f1_of,
    score,
    strict_f1,
    threshold_for,
)
from tests.modeling.evaluate.samples import LABELS, make_tagged, tagged_sentences, written


def seqeval_report(tagged, **mode):
    from seqeval.metrics import classification_report

    gold = [list(one.sentence.tags) for one in tagged]
    predicted = [list(one.tags) for one in tagged]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where a label is never predicted
        return classification_report(gold, predicted, output_dict=True, zero_division=0, **mode)


def numbers(found):
    return pytest.approx((found.precision, found.recall, found.f1))


def assert_equals(counts, report):
    micro = report.get("micro avg", {"precision": 0, "recall": 0, "f1-score": 0})
    of_labels = counts.rows.sum(axis=0)
    found = {label: score(row) for label, row in zip(counts.labels, of_labels, strict=True)}
    assert score(of_labels.sum(axis=0)).f1 == pytest.approx(micro["f1-score"])
    for label in LABELS:
        row = report.get(label, {"precision": 0, "recall": 0, "f1-score": 0, "support": 0})
        expected = (row["precision"], row["recall"], row["f1-score"])
        assert expected == numbers(found[label])
        assert found[label].gold == row["support"]


def has_mention(tags):
    return any(tag[0] == "B" for row in tags for tag in row)


@given(tagged_sentences())
def test_strict_counts_equal_seqeval_with_the_scheme_iob2(tagged):
    from seqeval.scheme import IOB2

    gold, predicted = [one.sentence.tags for one in tagged], [one.tags for one in tagged]
    if not has_mention(gold) and not has_mention(predicted):
        return  # seqeval cannot make a report of nothing

    counts = count_strict(tagged, LABELS)

    assert_equals(counts, seqeval_report(tagged, mode="strict", scheme=IOB2))


@given(tagged_sentences())
def test_lenient_counts_equal_seqeval_by_default(tagged):
    if all(tag == "O" for one in tagged for tag in (*one.sentence.tags, *one.tags)):
        return  # seqeval cannot make a report of nothing

    counts = count_lenient(tagged, LABELS)

    assert_equals(counts, seqeval_report(tagged))


@given(tagged_sentences())
def test_word_counts_equal_looking_at_every_word(tagged):
    counts = count_words(tagged, LABELS)

    for number, one in enumerate(tagged):
        pairs = [(g[2:], p[2:]) for g, p in zip(one.sentence.tags, one.tags, strict=True)]
        for place, label in enumerate(LABELS):
            correct = sum(gold == predicted == label for gold, predicted in pairs)
            expected = [correct, *(sum(pair[side] == label for pair in pairs) for side in (1, 0))]
            assert counts.rows[number, place].tolist() == expected


@given(tagged_sentences())
def test_the_quick_f1_is_that_of_the_counts(tagged):
    assert strict_f1(tagged) == score(count_strict(tagged, LABELS).micro().sum(axis=0)).f1


def test_lenient_and_strict_differ_where_a_span_begins_with_i():
    tagged = [written("O B-PER I-PER", "O I-PER I-PER")]

    assert strict_f1(tagged) == 0
    assert score(count_lenient(tagged).micro()[0]).f1 == 1


@given(tagged_sentences())
def test_without_tags_lenient_scores_read_those_of_the_spans(tagged):
    bare = [Tagged(sentence=one.sentence, spans=one.spans) for one in tagged]
    same = [make_tagged(o.sentence.tags, to_iob2(o.spans, len(o.tags))) for o in tagged]

    assert np.array_equal(count_lenient(bare, LABELS).rows, count_lenient(same, LABELS).rows)


def test_labels_that_nobody_asked_for_count_as_well():
    tagged = [written("B-PER O B-date", "B-PER B-tool O")]

    counts = count_strict(tagged, ("PER",))

    assert counts.labels == ("PER", "date", "tool")
    assert counts.micro().tolist() == [[1, 2, 2]]
    assert counts.rows[:, 0].tolist() == [[1, 1, 1]]


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_f1_is_the_harmonic_mean_or_0(row):
    correct, *ends = row
    counts = np.array([correct, *(correct + more for more in ends)])
    precision, recall = (correct / end if end else 0 for end in counts[1:])
    both = precision + recall

    assert float(f1_of(counts)) == pytest.approx(2 * precision * recall / both if both else 0)


def test_predicted_spans_that_overlap_are_refused():
    one = written("O O O", "B-PER I-PER O")
    spans = (*one.spans, PredictedSpan(start=1, end=3, label="LOC", probability=0.5))
    overlapping = Tagged(sentence=replace(one.sentence, id="letter 3"), spans=spans)

    with pytest.raises(InvalidDocumentError, match=r"letter 3: the predicted span 1:3 \(LOC\)"):
        count_strict([overlapping])


def test_a_tag_for_each_word_is_needed():
    one = written("O O", "O O")
    short = Tagged(sentence=one.sentence, spans=(), tags=("O",))

    with pytest.raises(InvalidDocumentError, match="1 predicted tags for 2 words"):
        count_lenient([short])


def test_the_threshold_is_the_lowest_at_which_so_many_are_right():
    def spans(n, n_right, probability):
        pairs = [("B-PER", "B-PER")] * n_right + [("B-LOC", "B-PER")] * (n - n_right)
        return [written(*pair, probabilities=[probability]) for pair in pairs]

    tagged = [*spans(30, 30, 0.9), *spans(10, 6, 0.8), *spans(10, 0, 0.7)]

    assert threshold_for(tagged, 0.9) == 0.8  # 36 of 40
    assert threshold_for(tagged, 0.91) == 0.9
    assert threshold_for(tagged, 0.5) == 0.7
    assert threshold_for(spans(30, 15, 0.9), 0.9) is None
    assert threshold_for(spans(10, 10, 0.9), 0.9) is None  # too few
