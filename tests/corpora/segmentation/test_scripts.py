"""Properties of letters."""

import pytest

from corpora.segmentation.scripts import n_letters


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("Brücke, 12", 10),
        ("图书馆", 9),
        ("とうきょう", 10),
        ("東京タワー", 12),
        ("서울", 4),
        ("", 0),
    ],
)
def test_a_han_character_counts_as_three_letters_kana_and_hangul_as_two(text, n):
    assert n_letters(text) == n
