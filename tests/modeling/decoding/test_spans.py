"""Disjoint names from scores of spans."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corpora.tagging import to_iob2
from modeling.data.batch import SpanBatch
from modeling.decoding.spans import decode_spans

LABELS = ("LOC", "PER")


def make_spans(*spans):
    """Make candidates of (sentence, start, end), sorted by sentence."""
    sentences, starts, ends = torch.tensor(spans, dtype=torch.int64).reshape(-1, 3).T
    nowhere = torch.zeros_like(sentences)
    return SpanBatch(sentences, starts, ends, nowhere, nowhere, nowhere)


def log_table(rows):
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, 1 + len(LABELS)).log_softmax(1)


def decode(table, spans, *, decoder, n_sentences=1):
    return decode_spans(table, spans, n_sentences, decoder=decoder, labels=LABELS)


def triples(prediction):
    return [(span.start, span.end, span.label) for span in prediction]


@st.composite
def problems(draw, max_sentences=3):
    """Draw candidates of short sentences, and logits with many ties."""
    spans = []
    for sentence in range(draw(st.integers(1, max_sentences))):
        n_words = draw(st.integers(0, 4))
        every = [(sentence, i, j) for i in range(n_words) for j in range(i + 1, n_words + 1)]
        spans += [span for span in every if draw(st.booleans())]
    logit = st.integers(-2, 2) | st.floats(-3, 3, width=32)
    rows = draw(st.lists(st.tuples(logit, logit, logit), min_size=len(spans), max_size=len(spans)))
    return make_spans(*spans), log_table(rows), max_sentences


def slow_greedy(spans, table):
    """Choose spans by the published pseudo-code, word by word.

    The most probable comes first, then the earlier, then the longer.
    """
    rows = torch.stack([spans.sentences, spans.starts, spans.ends], dim=1).tolist()
    best = table[:, 1:].argmax(1) + 1
    candidates = [
        (-table[n, best[n]].item(), start, start - end, sentence, end, LABELS[best[n] - 1])
        for n, (sentence, start, end) in enumerate(rows)
        if table[n, best[n]] > table[n, 0]
    ]
    taken, chosen = set(), []
    for _, start, _, sentence, end, label in sorted(candidates):
        words = {(sentence, word) for word in range(start, end)}
        if not words & taken:
            taken |= words
            chosen.append((sentence, start, end, label))
    return sorted(chosen)


def best_log_probability(spans, table, sentence):
    """Return the highest log-probability of a disjoint set of spans; the others are O.

    All sets and all their labels are tried.
    """
    numbers = [n for n, s in enumerate(spans.sentences.tolist()) if s == sentence]
    highest = -math.inf
    for classes in itertools.product(range(1 + len(LABELS)), repeat=len(numbers)):
        words = [
            word
            for n, c in zip(numbers, classes, strict=True)
            if c
            for word in range(int(spans.starts[n]), int(spans.ends[n]))
        ]
        if len(words) == len(set(words)):
            highest = max(
                highest, sum(table[n, c].item() for n, c in zip(numbers, classes, strict=True))
            )
    return highest


@given(problems())
def test_greedy_is_the_published_rule(problem):
    spans, table, n_sentences = problem

    found = decode(table, spans, decoder="greedy", n_sentences=n_sentences)

    assert [(s, *t) for s in range(n_sentences) for t in triples(found[s])] == slow_greedy(
        spans, table
    )


@given(problems(max_sentences=1).filter(lambda problem: len(problem[0].starts) <= 8))
def test_schedule_finds_the_most_probable_disjoint_spans(problem):
    spans, table, _ = problem

    [found] = decode(table, spans, decoder="schedule")

    rows = list(zip(spans.starts.tolist(), spans.ends.tolist(), strict=True))
    chosen = {rows.index((s, e)): LABELS.index(label) + 1 for s, e, label in triples(found)}
    total = sum(table[n, chosen.get(n, 0)].item() for n in range(len(rows)))
    assert total == pytest.approx(best_log_probability(spans, table, 0))


@given(problems(), st.sampled_from(["greedy", "schedule"]))
def test_names_are_disjoint_and_in_order(problem, decoder):
    spans, table, n_sentences = problem

    found = decode(table, spans, decoder=decoder, n_sentences=n_sentences)

    for prediction in found:
        to_iob2(prediction, 10)  # raises if they overlap
        assert list(prediction) == sorted(prediction, key=lambda span: span.start)


def is_joined(start, end, names):
    """Tell whether a span begins with one of the names and ends with another."""
    return any(a == start and d == end and b <= c for a, b in names for c, d in names)


@given(problems())
def test_nested_names_cross_none_and_are_all_that_do_not(problem):
    spans, table, n_sentences = problem

    found = decode(table, spans, decoder="nest", n_sentences=n_sentences)

    columns = (spans.sentences, spans.starts, spans.ends)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    names = [span for span, row in zip(rows, table, strict=True) if row[1:].max() > row[0]]
    for row, (sentence, start, end) in zip(table, rows, strict=True):
        probability = row[1:].exp().max().item()
        taken = {(span.start, span.end): span.probability for span in found[sentence]}
        crossed = [taken[a, b] for a, b in taken if a < start < b < end or start < a < end < b]
        met = [p for (a, b), p in taken.items() if a < end and start < b and (a, b) != (start, end)]
        if (start, end) in taken:
            assert not crossed
            assert not met or probability > 0.5 or max(met) <= probability + 1e-6
            assert not is_joined(start, end, taken)
        elif (sentence, start, end) in names:
            within = [(a, b) for number, a, b in names if number == sentence]
            assert (
                is_joined(start, end, within)
                or max(crossed, default=0) >= probability - 1e-6
                or (probability <= 0.5 + 1e-6 and max(met) >= probability - 1e-6)
            )


def test_a_span_from_one_name_to_another_is_none():
    spans = make_spans((0, 0, 2), (0, 0, 5), (0, 1, 2), (0, 3, 5))
    table = log_table([(0, 0, 3), (0, 0, 4), (0, 2, 0), (0, 0, 3)])

    [found] = decode(table, spans, decoder="nest")

    assert triples(found) == [(0, 2, "PER"), (1, 2, "LOC"), (3, 5, "PER")]


@given(problems(), st.sampled_from(["greedy", "schedule"]))
def test_a_sentence_alone_is_decoded_as_in_a_batch(problem, decoder):
    spans, table, n_sentences = problem

    found = decode(table, spans, decoder=decoder, n_sentences=n_sentences)

    for sentence in range(n_sentences):
        own = (spans.sentences == sentence).nonzero()[:, 0]
        alone = make_spans(*((0, int(spans.starts[n]), int(spans.ends[n])) for n in own))
        assert decode(table[own], alone, decoder=decoder) == [found[sentence]]


def test_a_tie_is_decided_as_in_a_batch_whose_sums_are_rounded():
    other = [(0, 1, 4), (0, 3, 4)]
    own = [(1, 0, 1), (1, 0, 2), (1, 1, 2)]  # one name with the gain 2, or two with 1 each
    spans = make_spans(*other, *own)
    table = log_table([(0, 0, 1e-3), (-1, -1, 0), (0, -1, 1), (-2, 0, 0), (0, -1, 1)])

    _, found = decode(table, spans, decoder="schedule", n_sentences=2)

    alone = make_spans(*((0, start, end) for _, start, end in own))
    assert decode(table[2:], alone, decoder="schedule") == [found]


@given(problems(), st.sampled_from(["greedy", "schedule"]), st.randoms())
def test_the_order_of_candidates_does_not_matter(problem, decoder, rng):
    spans, table, n_sentences = problem
    order = list(range(len(table)))
    rng.shuffle(order)
    order = torch.tensor(sorted(order, key=lambda n: spans.sentences[n]), dtype=torch.int64)

    found = decode(table, spans, decoder=decoder, n_sentences=n_sentences)

    shuffled = spans.map(lambda column: column[order])
    assert decode(table[order], shuffled, decoder=decoder, n_sentences=n_sentences) == found


def test_two_good_names_beat_a_better_one_that_covers_both_only_in_a_schedule():
    spans = make_spans((0, 0, 1), (0, 0, 3), (0, 2, 3))
    table = torch.tensor([[0.2, 0.8, 0.0], [0.1, 0.0, 0.9], [0.2, 0.8, 0.0]]).log()

    assert triples(decode(table, spans, decoder="greedy")[0]) == [(0, 3, "PER")]
    assert triples(decode(table, spans, decoder="schedule")[0]) == [(0, 1, "LOC"), (2, 3, "LOC")]


def test_a_tie_is_won_by_the_earlier_start_and_then_by_the_longer_span():
    spans = make_spans((0, 0, 1), (0, 0, 2), (0, 1, 3))

    [found] = decode(log_table([[0, 2, 0]] * 3), spans, decoder="greedy")

    assert triples(found) == [(0, 2, "LOC")]


def test_the_probability_is_that_of_the_label():
    [[found]] = decode(
        torch.tensor([[0.25, 0.75, 0.0]]).log(), make_spans((0, 1, 2)), decoder="schedule"
    )

    assert found.probability == pytest.approx(0.75)


@pytest.mark.parametrize("decoder", ["greedy", "schedule"])
def test_sentences_without_candidates_have_no_names(decoder):
    assert decode(log_table([]), make_spans(), decoder=decoder, n_sentences=2) == [(), ()]


def test_an_unknown_decoder_is_an_error():
    with pytest.raises(ValueError, match="greedy, schedule"):
        decode(log_table([]), make_spans(), decoder="viterbi")
