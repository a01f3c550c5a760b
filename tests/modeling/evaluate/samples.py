"""Sentences with gold tags and predictions: strategies, and a way to write them down."""

import random

from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.tagging import from_iob2
from modeling.data.predictions import PredictedSpan, Tagged

LABELS = ("LOC", "PER", "a-b")
TAGS = ("O", "O", "O", *(f"{letter}-{label}" for label in LABELS for letter in "BI"))


def make_tagged(
    gold, predicted, *, tokens=None, id="s", document_id="d", probabilities=(), words=()
):
    """Make a sentence with tags of both sides, valid or not; spans are their strict reading."""
    spans = from_iob2(predicted)
    probabilities = probabilities or [0.5] * len(spans)
    return Tagged(
        sentence=Sentence(
            id=id,
            document_id=document_id,
            split="test",
            tokens=tuple(tokens or ("w",) * len(gold)),
            tags=tuple(gold),
        ),
        spans=tuple(
            PredictedSpan(start=span.start, end=span.end, label=span.label, probability=p)
            for span, p in zip(spans, probabilities, strict=True)
        ),
        tags=tuple(predicted),
        words=words,
    )


def written(gold, predicted, **settings):
    """Make a sentence of tags as text: ``written("B-PER I-PER O", "B-PER O O")``."""
    return make_tagged(gold.split(), predicted.split(), **settings)


def tagged_sentences(max_sentences=6, max_words=8):
    """Return a strategy for runs of short sentences.

    There are few kinds of words, so that forms and sentences come again.
    """
    word = st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS), st.sampled_from("xyz"))
    sentence = st.lists(word, max_size=max_words)
    return st.builds(
        _make_run, st.lists(sentence, min_size=1, max_size=max_sentences), st.integers(0, 99)
    )


def _make_run(sentences, seed):
    rng = random.Random(seed)
    made = []
    for number, words in enumerate(sentences):
        gold, predicted, tokens = zip(*words, strict=True) if words else ((), (), ())
        made.append(
            make_tagged(
                gold,
                predicted,
                tokens=tokens,
                id=str(number),
                document_id=f"d{number // 2}",
                probabilities=[rng.random() for _ in from_iob2(predicted)],
            )
        )
    return made


def random_run(rng, n, *, right=0.8, n_documents=None, tokens=None):
    """Make a run that has most sentences right; ``rng`` makes the gold tags first."""
    made = []
    for number in range(n):
        length = rng.randint(1, 12)
        gold, other = ([rng.choice(TAGS) for _ in range(length)] for _ in range(2))
        made.append(
            make_tagged(
                gold,
                gold if rng.random() < right else other,
                tokens=[rng.choice(tokens or "uvwxyz") for _ in range(length)],
                id=str(number),
                document_id=f"d{number % n_documents}" if n_documents else "d",
            )
        )
    return made
