from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from modeling.evaluate.errors import (
    COLUMNS,
    KINDS,
    align,
    confuse,
    count_kinds,
    find_errors,
    list_errors,
)
from modeling.taggers.counts import GOLD, PREDICTED, count_strict, gold_keys, predicted_keys
from tests.modeling.evaluate.samples import LABELS, make_tagged, tagged_sentences, written


def kinds_of(tagged):
    return Counter(found.kind for found in find_errors(tagged))


@given(tagged_sentences())
def test_every_gold_and_every_predicted_span_is_one_finding(tagged):
    findings = find_errors(tagged)

    for number, one in enumerate(tagged):
        of_one = [found for found in findings if found.index == number]
        gold = [found.gold for found in of_one if found.gold]
        predicted = [found.predicted for found in of_one if found.predicted]
        keys = sorted((span.start, span.end, span.label) for span in gold)
        assert keys == gold_keys(one)
        assert sorted(predicted, key=lambda span: span.start) == list(one.spans)


@given(tagged_sentences())
def test_kinds_add_up_to_the_strict_counts(tagged):
    kinds = kinds_of(tagged)
    paired = sum(kinds[kind] for kind in ("correct", "type", "boundary", "both"))

    counts = count_strict(tagged).micro().sum(axis=0)

    assert counts.tolist() == [
        kinds["correct"],
        paired + kinds["spurious"],
        paired + kinds["missing"],
    ]


@given(tagged_sentences())
def test_kinds_of_labels_add_up_to_their_gold(tagged):
    counts = count_strict(tagged, LABELS)
    by_label = count_kinds(find_errors(tagged))

    for place, label in enumerate(LABELS):
        kinds = by_label.get(label, dict.fromkeys(KINDS, 0))
        assert sum(kinds.values()) - kinds["spurious"] == counts.rows[:, place, GOLD].sum()
        assert kinds["correct"] + kinds["spurious"] <= counts.rows[:, place, PREDICTED].sum()


@given(tagged_sentences())
def test_exchanging_gold_and_predicted_exchanges_missing_and_spurious(tagged):
    other = kinds_of([make_tagged(one.tags, one.sentence.tags) for one in tagged])

    kinds = kinds_of(tagged)

    names = {"missing": "spurious", "spurious": "missing"}
    assert {names.get(kind, kind): n for kind, n in kinds.items()} == dict(other)


@given(tagged_sentences())
def test_no_two_spans_that_are_left_share_a_word(tagged):
    for one in tagged:
        gold, predicted = gold_keys(one), predicted_keys(one)
        pairs = align(gold, predicted)

        left = [gold[g] for g, p in pairs if p is None]
        others = [predicted[p] for g, p in pairs if g is None]
        assert not any(a[0] < b[1] and b[0] < a[1] for a in left for b in others)


@pytest.mark.parametrize(
    ("gold", "predicted", "kinds"),
    [
        ("B-PER I-PER", "B-PER I-PER", ["correct"]),
        ("B-PER I-PER", "B-LOC I-LOC", ["type"]),
        ("B-PER I-PER", "B-PER O", ["boundary"]),
        ("B-PER I-PER", "B-LOC O", ["both"]),
        ("B-PER O", "O O", ["missing"]),
        ("O O", "B-PER O", ["spurious"]),
        ("B-PER O", "O B-PER", ["missing", "spurious"]),
        ("B-PER I-PER", "B-LOC B-PER", ["boundary", "spurious"]),  # same label before left
        ("B-PER I-PER I-PER", "B-LOC I-LOC B-PER", ["both", "spurious"]),  # more words first
        ("B-PER B-PER", "B-PER I-PER", ["boundary", "missing"]),
    ],
)
def test_kinds_are_what_they_are_called(gold, predicted, kinds):
    found = find_errors([written(gold, predicted)])

    assert [one.kind for one in found] == kinds


@given(tagged_sentences())
def test_confusion_counts_every_word(tagged):
    confusion = confuse(tagged, LABELS)

    words = Counter(
        (g[2:] or "O", p[2:] or "O")
        for one in tagged
        for g, p in zip(one.sentence.tags, one.tags, strict=True)
    )
    names = confusion.labels
    assert names == ("O", *LABELS)
    assert confusion.counts.tolist() == [[words[g, p] for p in names] for g in names]
    assert np.sum(confusion.counts) == sum(len(one.tags) for one in tagged)


@given(tagged_sentences())
def test_the_list_has_a_line_for_each_error(tagged):
    findings = find_errors(tagged)

    lines = list(list_errors({"1": (tagged, findings), "2": (tagged, findings)}))

    n_wrong = sum(found.kind != "correct" for found in findings)
    assert len(lines) == 1 + 2 * n_wrong


def test_an_error_is_one_line_whatever_its_words_hold():
    one = written("B-PER O", "O O", tokens=["tab\tand\nline", "back\\slash"], id="s 1")

    head, line = list_errors({"1": ([one], find_errors([one]))})

    cells = dict(zip(COLUMNS, line.rstrip("\n").split("\t"), strict=True))
    assert head.rstrip("\n").split("\t") == list(COLUMNS)
    assert (cells["sentence"], cells["error"]) == ("s 1", "missing")
    assert cells["gold_text"] == "tab\\tand\\nline"
    assert cells["text"] == "tab\\tand\\nline back\\\\slash"
