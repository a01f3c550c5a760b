import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.data.rng import RandomUse, Rng, as_below, as_uniform, key_of, mix, permuted

GAMMA = 0x9E3779B97F4A7C15
WORDS = st.integers(0, (1 << 64) - 1)


def test_mix_gives_the_published_outputs_of_splitmix64():
    states = [(1234567 + number * GAMMA) % (1 << 64) for number in range(5)]

    outputs = mix(np.array(states, np.uint64))

    assert outputs.tolist() == [  # Rosetta Code, "Pseudo-random numbers/Splitmix64"
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(seed=WORDS, hashes=st.lists(WORDS, min_size=2, max_size=5, unique=True))
def test_numbers_of_an_example_do_not_depend_on_the_others(seed, hashes):
    together = Rng.of(np.array(hashes, np.uint64), seed=seed, epochs=3)
    alone = Rng.of(np.array(hashes[1:2], np.uint64), seed=seed, epochs=3)
    counters = np.arange(4)

    numbers = together.bits(RandomUse.UNIT, np.full(4, 1), counters)

    assert numbers.tolist() == alone.bits(RandomUse.UNIT, np.zeros(4, int), counters).tolist()
    assert numbers.tolist() == together.one(1).table(RandomUse.UNIT, 4)[0].tolist()


def test_a_table_has_the_numbers_of_each_example():
    rng = Rng.of(np.array([7, 2**63, 0], np.uint64), seed=1, epochs=2)

    table = rng.table(RandomUse.PAIR, 5)

    rows = [rng.one(number).table(RandomUse.PAIR, 5)[0].tolist() for number in range(3)]
    assert table.tolist() == rows
    assert rng.table(RandomUse.PAIR, 0).shape == (3, 0)


def test_seed_epoch_example_stream_and_counter_give_different_numbers():
    numbers = [
        int(
            Rng.of(np.array([name], np.uint64), seed=seed, epochs=epoch).table(stream, 2)[0][
                counter
            ]
        )
        for name in (7, 8)
        for seed in (1, 2)
        for epoch in (0, 1)
        for stream in (RandomUse.UNIT, RandomUse.SUBWORD)
        for counter in (0, 1)
    ]

    assert len(set(numbers)) == 32


def test_uniform_numbers_fill_the_unit_interval_evenly():
    numbers = as_uniform(key_of(1, np.arange(100_000)))

    counts = np.bincount((numbers * 100).astype(int), minlength=100)

    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert ((counts - 1000) ** 2 / 1000).sum() < 99 + 5 * np.sqrt(2 * 99)  # chi-square, 5 sigma


@pytest.mark.parametrize("n", [1, 2, 7, 1 << 31])
def test_numbers_below_n_are_below_n_for_the_largest_word_too(n):
    words = np.array([0, 1 << 63, (1 << 64) - 1], np.uint64)

    assert as_below(words, n).tolist() == [0, n // 2, n - 1]


@given(n=st.integers(1, 300), key=WORDS)
def test_permuted_is_a_permutation(n, key):
    images = permuted(np.arange(n), n, np.array([key], np.uint64))

    assert sorted(images.tolist()) == list(range(n))


@given(n=st.integers(1, 10**9), key=WORDS, places=st.lists(st.integers(0, 10**9), min_size=1))
def test_the_image_of_a_place_does_not_depend_on_the_other_places(n, key, places):
    places = np.array(places) % n
    key = np.array([key], np.uint64)

    images = permuted(places, n, key)

    assert images.tolist() == [
        int(permuted(places[i : i + 1], n, key)[0]) for i in range(len(places))
    ]
    assert images.max() < n


def test_permutations_leave_no_trace_of_the_order():
    n = 1000

    images = np.stack([permuted(np.arange(n), n, key_of(seed)) for seed in range(50)])

    centred = images - (n - 1) / 2
    correlations = centred @ (np.arange(n) - (n - 1) / 2) / (n * (n**2 - 1) / 12)
    neighbours = (centred[:, 1:] * centred[:, :-1]).sum(1) / (n * (n**2 - 1) / 12)
    assert abs(correlations.mean()) < 5 / np.sqrt(50 * n)
    assert abs(neighbours.mean()) < 5 / np.sqrt(50 * n)
