"""Pieces of sentences are told from names and terms by a dictionary with tags."""

import numpy as np
import pytest

from corpora.lexicon.known import read_known
from corpora.lexicon.phrases import Phrases

WORDS = """金融 90 n
危机 50 n
总理 80 n
记者 90 n
了解 60 v
诸葛 5 nr
诸葛亮 9 nr
本报讯 9 nz
本报 40 n
副 200 b
据 300 p
刘 300 nr
两 500 m
国 600 n
亮 100 v
讯 5 v
"""


@pytest.fixture
def phrases(tmp_path):
    (tmp_path / "known.txt").write_text(WORDS, "utf-8")
    return Phrases(read_known(tmp_path / "known.txt"))


@pytest.mark.parametrize(
    ("form", "tie", "is_phrase"),
    [
        ("金融危机", 0.3, False),
        ("副总理", 0.3, False),
        ("据了解", 0.9, True),
        ("记者刘", 0.9, True),
        ("两国", 0.4, True),
        ("叶利钦", 0.6, False),
        ("张角", 0.36, False),
        ("张国两刘", 0.36, True),
        ("诸葛亮", 0.8, False),
        ("本报讯", 0.6, True),
    ],
)
def test_nouns_and_tied_symbols_are_names_and_all_else_is_a_phrase(phrases, form, tie, is_phrase):
    assert phrases.among([form], np.array([tie])).tolist() == [is_phrase]


def test_without_tags_nothing_is_a_phrase(tmp_path):
    (tmp_path / "known.txt").write_text("据\n了解\n", "utf-8")

    among = Phrases(read_known(tmp_path / "known.txt")).among(["据了解"], np.array([0.1]))

    assert among.tolist() == [False]
