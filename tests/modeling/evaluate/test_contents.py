"""What stands in the tables of a page about two runs, by their cells."""

import random

import pytest

from corpora.reports.pages import Heading, Table
from modeling.evaluate.errors import KINDS, find_errors
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.report import describe, show
from tests.modeling.evaluate.samples import LABELS, make_tagged, random_run


@pytest.fixture(scope="module")
def runs():
    """Evaluate two seeds on the same gold tags, with other probabilities; the second is worse."""
    made = {}
    for name, right in (("1", 0.9), ("2", 0.5)):
        rng, tagged = random.Random(8), []
        for one in random_run(random.Random(7), 50, right=0):
            tags = one.sentence.tags if rng.random() < right else one.tags
            probabilities = [rng.random() for _ in make_tagged(one.sentence.tags, tags).spans]
            tagged.append(make_tagged(one.sentence.tags, tags, probabilities=probabilities))
        made[name] = evaluate(tagged, labels=LABELS, train=None, dev=None, replicates=40)
    return made


def tables(runs, title):
    """Return the tables of a section."""
    found, section = [], ""
    for block in describe(runs, title="page"):
        section = block.text if isinstance(block, Heading) else section
        if isinstance(block, Table) and section == title:
            found.append(block)
    return found


def points(number):
    return f"{100 * number:.2f}"


def test_an_interval_of_runs_goes_from_the_lowest_to_the_highest_end(runs):
    [main] = tables(runs, "Scores")

    intervals = [one.strict.micro.interval for one in runs.values()]
    low, high = min(one.low for one in intervals), max(one.high for one in intervals)
    shown = [f"{points(one.low)} to {points(one.high)}" for one in intervals]
    assert [row[2] for row in main.rows[1:]] == [*shown, f"{points(low)} to {points(high)}"]


def test_labels_have_their_mean_counts(runs):
    [by_label] = tables(runs, "By label")

    scores = [one.strict.by_label["PER"] for one in runs.values()]
    row = next(row for row in by_label.rows if row[0] == "PER")
    assert row[1] == f"{scores[0].gold}"
    assert float(row[2]) == pytest.approx(sum(score.predicted for score in scores) / 2)


def test_errors_are_those_of_all_runs(runs):
    counted, _ = tables(runs, "Errors")

    findings = [found for one in runs.values() for found in one.findings]
    *_, everything = counted.rows
    n_kinds = [sum(found.kind == kind for found in findings) for kind in KINDS]
    n_gold = sum(found.gold is not None for found in findings)
    n_predicted = sum(found.predicted is not None for found in findings)
    assert list(everything) == ["all", *map(str, n_kinds), str(n_gold), str(n_predicted)]


def test_words_are_those_of_all_runs_and_dark_where_a_row_has_most(runs):
    [confusion] = tables(runs, "Words: gold down, predicted across")

    head, *rows = confusion.rows
    sums = sum(one.confusion.counts for one in runs.values())
    assert list(head) == ["", *runs["1"].confusion.labels]
    assert [[int(cell) for cell in row[1:]] for row in rows] == sums.tolist()
    assert [sum(shades) for shades in confusion.shades] == pytest.approx([1] * len(rows))


def test_probabilities_are_those_of_all_runs(runs):
    _, bins = tables(runs, "Calibration")

    spans = [
        (span.predicted.probability, span.kind == "correct")
        for one in runs.values()
        for span in one.findings
        if span.predicted
    ]
    for number, (name, n, mean, ratio) in enumerate(bins.rows[1:]):
        inside = [(p, right) for p, right in spans if number / 10 < p <= (number + 1) / 10]
        assert (name, int(n)) == (f"{number / 10:.1f} to {(number + 1) / 10:.1f}", len(inside))
        assert float(mean) == pytest.approx(sum(p for p, _ in inside) / len(inside), abs=6e-4)
        assert float(ratio) == pytest.approx(sum(r for _, r in inside) / len(inside), abs=6e-4)


def test_an_example_has_words_around_and_marks_both_spans():
    words = [str(number) for number in range(30)]
    gold, predicted = ["O"] * 30, ["O"] * 30
    gold[12:15] = ["B-PER", "I-PER", "I-PER"]
    predicted[14:16] = ["B-LOC", "I-LOC"]
    [found] = find_errors([make_tagged(gold, predicted, tokens=words)])

    text = show(words, found)

    assert text == "… 4 5 6 7 8 9 10 11 [12 13 {14] 15} 16 17 18 19 20 21 22 23 …"


def test_an_example_of_a_short_sentence_is_the_sentence():
    [found] = find_errors([make_tagged(["B-PER", "O"], ["O", "O"], tokens=["Jena", "!"])])

    assert show(["Jena", "!"], found) == "[Jena] !"
