"""Decoders of tags against all paths one by one."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tagging import from_iob2, to_iob2
from modeling.config import EncoderConfig
from modeling.data.batch import Layout
from modeling.data.tagset import TagSet
from modeling.decoding.tags import decode
from modeling.layers.crf import Crf, score, viterbi
from modeling.models.tagging_model import build_head
from modeling.tagging_config import HEADS, HeadConfig, TaggerConfig
from tests.corpora.spans_of_tags import count_orphans

TAGSET = TagSet(("LOC", "PER"))
KINDS = [kind for kind, head in HEADS.items() if head.scores != "spans"]
PAIRS = [(kind, decoder) for kind in KINDS for decoder in HEADS[kind].decoders]
LENGTHS = [3, 0, 4, 1, 4, 4]


def spans_of(*args, **options):
    """Decode, and return the spans of each sentence."""
    return [found.spans for found in decode(*args, **options)]


def build(kind):
    torch.manual_seed(0)
    config = TaggerConfig(
        labels=TAGSET.labels, encoder=EncoderConfig(width=3), head=HeadConfig(kind=kind)
    )
    head = build_head(config)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return head


def draw_scores(head, lengths, *, seed=1, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    shape = (sum(lengths), head.linear.out_features)
    return torch.randn(shape, generator=generator) * scale


def valid_paths(head, scores, *, temperature=1.0):
    """Return all valid tags of one sentence, and the probability of each among these."""
    length = len(scores)
    crf = head.crf(scores.double(), Layout.of([length]), temperature)
    every = itertools.product(range(len(TAGSET)), repeat=length)
    paths = [path for path in every if not count_orphans(TAGSET.decode(path))]
    paths = [path for path in paths if not path or TAGSET.begins[path[0]]]
    emissions = crf.emissions.expand(len(paths), -1, -1)
    lengths = torch.full((len(paths),), length)
    repeated = Crf(emissions, lengths, crf.transitions, crf.starts)
    found = score(repeated, torch.tensor(paths, dtype=torch.int64).view(len(paths), length))
    return [TAGSET.decode(path) for path in paths], found.softmax(0)


@settings(max_examples=60)
@given(
    st.sampled_from(PAIRS),
    st.lists(st.integers(0, 12), max_size=5),
    st.integers(0, 2**16),
    st.sampled_from([0.0, 1.0, 10.0, 1e4]),
)
def test_whatever_the_scores_spans_are_disjoint_and_have_probabilities(pair, lengths, seed, scale):
    kind, decoder = pair
    head = build(kind)
    scores = draw_scores(head, lengths, seed=seed, scale=scale)

    found = spans_of(head, scores, Layout.of(lengths), decoder=decoder)

    assert len(found) == len(lengths)
    for spans, length in zip(found, lengths, strict=True):
        tags = to_iob2(spans, length)  # raises for what overlaps, or leaves the sentence
        again = from_iob2(tags)
        assert [(s.start, s.end, s.label) for s in spans] == [
            (s.start, s.end, s.label) for s in again
        ]
        assert all(0 <= span.probability <= 1 for span in spans)


@pytest.mark.parametrize("temperature", [1.0, 0.3, 4.0])
@pytest.mark.parametrize(("kind", "decoder"), PAIRS)
def test_a_probability_is_that_of_all_valid_paths_with_the_span(kind, decoder, temperature):
    head = build(kind)
    scores = draw_scores(head, LENGTHS)

    found = spans_of(head, scores, Layout.of(LENGTHS), decoder=decoder, temperature=temperature)

    assert sum(map(len, found)) > 2
    for spans, part in zip(found, scores.split(LENGTHS), strict=True):
        paths, probabilities = valid_paths(head, part, temperature=temperature)
        for span in spans:
            key = (span.start, span.end, span.label)
            has = [key in {(s.start, s.end, s.label) for s in from_iob2(path)} for path in paths]
            expected = probabilities[torch.tensor(has)].sum().item()
            assert span.probability == pytest.approx(expected, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_viterbi_gives_the_most_probable_valid_path(kind):
    head = build(kind)
    scores = draw_scores(head, LENGTHS)

    found = spans_of(head, scores, Layout.of(LENGTHS), decoder="viterbi")

    for spans, part in zip(found, scores.split(LENGTHS), strict=True):
        paths, probabilities = valid_paths(head, part)
        assert to_iob2(spans, len(part)) == paths[int(probabilities.argmax())]


@pytest.mark.parametrize("kind", KINDS)
def test_free_reads_strict_spans_off_the_best_path_valid_or_not(kind):
    head, lengths = build(kind), [12] * 20
    scores = draw_scores(head, lengths)

    found = spans_of(head, scores, Layout.of(lengths), decoder="free")

    best = [TAGSET.decode(path) for path in viterbi(head.crf(scores, Layout.of(lengths)))]
    assert sum(map(count_orphans, best)) > 0
    for spans, tags in zip(found, best, strict=True):
        assert [(s.start, s.end, s.label) for s in spans] == [
            (s.start, s.end, s.label) for s in from_iob2(tags)
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_fix_repairs_the_free_path(kind):
    """I- after another label continues the name before, which free reads as ended."""
    head, lengths = build(kind), [12] * 20
    scores = draw_scores(head, lengths)

    free, fixed = (
        spans_of(head, scores, Layout.of(lengths), decoder=decoder) for decoder in ("free", "fix")
    )

    assert free != fixed
    for before, after in zip(free, fixed, strict=True):
        longer = {(span.start, span.label): span.end for span in after}
        assert all(longer[span.start, span.label] >= span.end for span in before)


@pytest.mark.parametrize(("kind", "decoder"), PAIRS)
def test_a_temperature_changes_probabilities_and_no_span(kind, decoder):
    head, lengths = build(kind), [12] * 20
    scores, words = draw_scores(head, lengths), Layout.of(lengths)

    cold, warm = (
        spans_of(head, scores, words, decoder=decoder, temperature=temperature)
        for temperature in (0.5, 20.0)
    )

    places = [[[(s.start, s.end, s.label) for s in row] for row in found] for found in (cold, warm)]
    assert places[0] == places[1]
    assert cold != warm


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_words_have_the_label_of_most_valid_paths(kind, temperature):
    head = build(kind)
    scores = draw_scores(head, LENGTHS)

    options = {"decoder": "viterbi", "temperature": temperature}
    found = [one.words for one in decode(head, scores, Layout.of(LENGTHS), **options)]

    assert [len(row) for row in found] == LENGTHS
    for row, part in zip(found, scores.split(LENGTHS), strict=True):
        paths, probabilities = valid_paths(head, part, temperature=temperature)
        for word, (label, probability) in enumerate(row):
            sums = dict.fromkeys(("O", *TAGSET.labels), 0.0)
            for path, weight in zip(paths, probabilities.tolist(), strict=True):
                sums[path[word].removeprefix("B-").removeprefix("I-")] += weight
            assert label == max(sums, key=sums.get)
            assert probability == pytest.approx(sums[label], rel=1e-4)


@pytest.mark.parametrize(("decoder", "last"), [("cse", "B-PER"), ("cse_published", "O")])
def test_cse_rules_read_the_probabilities_of_the_head(decoder, last):
    head = build("cse")
    sure = torch.tensor(
        [  # O, LOC, PER, start, end
            [0, 9, 0, 9, -9],
            [0, 9, 0, -9, 9],
            [9, 0, 0, -9, -9],
            [0, 0, 9, 9, 9],
            [0, 0, 9, 9, -9],
        ],
        dtype=torch.float32,
    )

    found = spans_of(head, sure, Layout.of([4, 1]), decoder=decoder)

    tags = [to_iob2(spans, length) for spans, length in zip(found, [4, 1], strict=True)]
    assert tags == [("B-LOC", "I-LOC", "O", "B-PER"), (last,)]


@pytest.mark.parametrize("decoder", ["cse", "greedy", "beam"])
def test_a_decoder_that_does_not_go_with_the_head_is_an_error(decoder):
    head = build("softmax")

    with pytest.raises(ValueError, match="take viterbi"):
        spans_of(head, draw_scores(head, [2]), Layout.of([2]), decoder=decoder)


@pytest.mark.parametrize(("kind", "decoder"), PAIRS)
@pytest.mark.parametrize("lengths", [[], [0, 0]])
def test_no_word_has_no_span(kind, decoder, lengths):
    head, words = build(kind), Layout.of(lengths)
    scores = draw_scores(head, lengths)

    found = decode(head, scores, words, decoder=decoder)

    assert found == [((), [], ())] * len(lengths)
