from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.hashing.strings import hashes, long_hashes

MULTIPLIER = 0x9E3779B97F4A7C15
TEXTS = st.lists(st.text(max_size=20) | st.text("aé", min_size=120, max_size=300))


def mix(text, longest):
    """Hash a text by the definition, byte by byte."""
    state = len(text)
    for position in range(0, min(len(text), longest), 8):
        word = int.from_bytes(text[position : position + 8], "little")
        mixed = (state ^ word) * MULTIPLIER % 2**64
        state = mixed ^ (mixed >> 32)
    return state


@given(TEXTS)
def test_hash_equals_its_definition(texts):
    expected = [mix(text.encode(), 256) * MULTIPLIER % 2**64 >> 32 for text in texts]

    assert hashes(pa.array(texts, pa.string())).tolist() == expected


@given(TEXTS)
def test_long_hash_takes_in_all_of_a_string(texts):
    expected = [mix(text.encode(), 10_000) for text in texts]

    assert long_hashes(pa.array(texts, pa.large_string())).tolist() == expected


@given(TEXTS, st.integers(0, 5), st.integers(0, 5))
def test_a_slice_has_the_hashes_of_its_strings(texts, start, length):
    every = long_hashes(pa.array(texts, pa.string())).tolist()

    some = long_hashes(pa.array(texts, pa.string()).slice(min(start, len(texts)), length))

    assert some.tolist() == every[start : start + length]


@pytest.mark.parametrize(("of", "most", "bits"), [(hashes, 9, 32), (long_hashes, 0, 64)])
def test_hashes_of_different_strings_seldom_meet(of, most, bits):
    titles = [f"{first} {second}" for first in range(300) for second in range(300)]

    values = of(pa.array(titles))

    assert sum(n - 1 for n in Counter(values.tolist()).values()) <= most  # chance makes one of 32
    assert int(values.max()).bit_length() in range(bits - 8, bits + 1)
