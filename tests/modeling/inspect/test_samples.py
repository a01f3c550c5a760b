"""Spans drawn at random."""

from collections import Counter

import numpy as np

from corpora.document import Sentence
from modeling.finetune.data import NerData
from modeling.inspect import samples
from modeling.inspect.samples import draw_spans, read_vectors
from modeling.taggers.encoder import Encoder


def sentence(number, tags):
    tokens = tuple(f"w{place}" for place in range(len(tags)))
    return Sentence(
        id=f"s{number}", document_id=f"d{number}", split="dev", tokens=tokens, tags=tuple(tags)
    )


SENTENCES = [
    sentence(0, ["B-a", "I-a", "O", "B-b"]),
    sentence(1, []),
    sentence(2, ["O", "O"]),
    sentence(3, ["B-b", "O", "O", "O", "O"]),
]


def keys(sample):
    return [(one.sentence.id, one.span.start, one.span.end, one.span.label) for one in sample.spans]


def test_names_are_the_tagged_spans():
    sample = draw_spans(SENTENCES, size=0, seed=1)

    assert keys(sample) == [("s0", 0, 2, "a"), ("s0", 3, 4, "b"), ("s3", 0, 1, "b")]
    assert sample.n == 3


def test_all_are_all_runs_of_words_that_are_not_too_long(monkeypatch):
    monkeypatch.setattr(samples, "MAX_WORDS", 3)
    sample = draw_spans(SENTENCES, which="all", size=0, seed=1)

    expected = [
        (one.id, start, end)
        for one in SENTENCES
        for start in range(len(one.tokens))
        for end in range(start + 1, min(start + 3, len(one.tokens)) + 1)
    ]
    assert [key[:3] for key in keys(sample)] == expected
    assert Counter(key[3] for key in keys(sample)) == {"O": len(expected) - 3, "a": 1, "b": 2}


def test_a_sub_sample_is_drawn_everywhere_and_again_with_its_seed():
    draws = [keys(draw_spans(SENTENCES, which="all", size=5, seed=s)) for s in range(200)]

    assert draws[3] == keys(draw_spans(SENTENCES, which="all", size=5, seed=3))
    assert all(len(set(draw)) == 5 for draw in draws)
    every = keys(draw_spans(SENTENCES, which="all", size=0, seed=1))
    counts = Counter(key for draw in draws for key in draw)
    expected = 200 * 5 / len(every)
    assert all(abs(counts[key] - expected) < 5 * expected**0.5 for key in every)


def test_vectors_are_in_the_order_of_the_spans(ner, bases):
    encoder = Encoder.load(bases / "plain")
    sample = draw_spans(NerData.open(ner).split("dev"), size=20, seed=2)

    vectors = read_vectors(encoder, sample.spans)

    for number in (0, 7, 19):
        one = sample.spans[number]
        [[expected]] = encoder.spans([one.sentence], [[one.span]])
        np.testing.assert_allclose(vectors[number], expected, atol=1e-5)
