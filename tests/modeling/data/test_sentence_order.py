import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import ConfigError
from modeling.data.sentence_batches import (
    SentenceBatches,
    SentenceCollator,
    batches_by_length,
    first_by_hash,
)
from modeling.data.sentences import SentenceEncoder
from modeling.tagging_config import SentencesConfig

TOKENIZER = Tokenizer(wordpiece([*SPECIALS, "a", "##a"], cased=True), name="t")
LENGTHS = st.lists(st.integers(0, 60), min_size=1, max_size=25)


def sentences(lengths):
    return [
        Sentence(id=str(n), document_id="d", split="train", tokens=("a",) * k, tags=("O",) * k)
        for n, k in enumerate(lengths)
    ]


def collator(lengths, *, length=20):
    encoder = SentenceEncoder(TOKENIZER, SentencesConfig(max_length=length, overlap=4))
    return SentenceCollator(encoder.encode(sentences(lengths)))


def ids(batches):
    return [tuple(id for micro_batch in step for id in micro_batch.ids) for step in batches]


@given(LENGTHS, st.integers(1, 9), st.integers(0, 5))
def test_an_epoch_has_each_sentence_once_and_keeps_the_short_last_batch(lengths, size, epoch):
    batches = SentenceBatches(collator(lengths), batch_size=size, seed=1)

    read = ids(batches.epoch(epoch))

    assert sorted(id for batch in read for id in batch) == sorted(map(str, range(len(lengths))))
    assert len(read) == batches.steps_per_epoch
    assert all(len(batch) == size for batch in read[:-1])


@given(LENGTHS, st.integers(0, 9), st.integers(0, 3))
def test_an_epoch_goes_on_at_any_step(lengths, first, epoch):
    made = collator(lengths)

    whole = ids(SentenceBatches(made, batch_size=4, seed=7).epoch(epoch))

    assert ids(SentenceBatches(made, batch_size=4, seed=7).epoch(epoch, first)) == whole[first:]
    parts = SentenceBatches(made, batch_size=4, micro_batch_size=3, seed=7)
    assert ids(parts.epoch(epoch)) == whole


def test_epochs_and_seeds_have_orders_of_their_own():
    made = collator([3] * 50)

    orders = [
        SentenceBatches(made, batch_size=4, seed=s).numbers(e) for s in (1, 2) for e in (0, 1)
    ]

    assert len({tuple(order.tolist()) for order in orders}) == 4


@given(st.integers(1, 20), st.integers(1, 50))
def test_samples_go_through_all_sentences_before_one_comes_again(n, samples):
    batches = SentenceBatches(collator([1] * n), batch_size=3, seed=1, samples=samples)

    drawn = np.concatenate([batches.numbers(epoch) for epoch in range(4)])

    assert len(drawn) == 4 * samples
    for lap in range(0, len(drawn) - n + 1, n):
        assert sorted(drawn[lap : lap + n]) == list(range(n))


def test_nothing_to_learn_from_is_an_error():
    with pytest.raises(ConfigError, match=r"training set is empty"):
        SentenceBatches(collator([]), batch_size=2, seed=1)


@given(LENGTHS, st.integers(1, 9), st.integers(20, 90))
def test_batches_by_length_have_each_sentence_once_within_their_limits(lengths, size, most):
    made = collator(lengths)

    batches = list(batches_by_length(made, batch_size=size, max_subwords=most))

    numbers = [n for batch in batches for n in batch.numbers.tolist()]
    assert sorted(numbers) == list(range(len(lengths)))
    for numbers, batch in batches:
        layout = batch.inputs.rows.subwords
        assert batch.ids == tuple(map(str, numbers.tolist()))
        assert len(numbers) <= size
        assert layout.n_sequences * layout.longest <= most or len(numbers) == 1


def test_batches_by_length_pad_nothing_where_lengths_are_few():
    made = collator([3, 9, 3, 9, 3, 9])

    batches = list(batches_by_length(made, batch_size=3))

    assert [batch.inputs.rows.subwords.attend for _, batch in batches] == [None, None]


def test_no_sentence_has_no_batch():
    assert list(batches_by_length(collator([]))) == []


@given(st.integers(0, 30), st.integers(0, 30))
def test_fewer_sentences_are_among_more(one, other):
    rows = sentences([1] * 30)
    fewer, more = sorted([one or 30, other or 30])

    assert set(first_by_hash(rows, fewer)) <= set(first_by_hash(rows, more))
    assert len(first_by_hash(rows, fewer)) == fewer
