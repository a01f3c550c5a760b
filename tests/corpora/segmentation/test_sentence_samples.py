"""Sentence ends of treebanks in 18 languages: what is found may become better, not worse."""

from pathlib import Path

import pytest

from benchmarks.sentences import read_paragraphs, score
from corpora.segmentation.sentences import segmenter

SAMPLES = Path(__file__).parents[2] / "data" / "sentences"
FLOORS = {  # percent: precision, recall
    "am": (98, 100),
    "da": (92, 82),
    "de": (100, 96),
    "el": (100, 92),
    "fa": (100, 100),
    "fi": (100, 87),
    "he": (100, 98),
    "hi": (98, 100),
    "hy": (100, 94),
    "ka": (100, 100),
    "kk": (100, 100),
    "ko": (100, 66),  # many have no stop
    "lv": (100, 100),
    "mr": (95, 100),
    "ru": (100, 96),
    "ta": (100, 100),
    "th": (0, 0),  # nothing but a space stands between sentences
    "tr": (94, 85),
}


def test_every_sample_has_a_floor():
    assert {path.stem for path in SAMPLES.glob("*.txt")} == FLOORS.keys()


@pytest.mark.parametrize("lang", FLOORS)
def test_ends_of_treebanks_are_found(lang):
    paragraphs = read_paragraphs(SAMPLES / f"{lang}.txt")

    result = score(segmenter(lang), paragraphs)

    precision, recall = FLOORS[lang]
    assert sum(map(len, paragraphs)) == 100
    assert result.precision * 100 >= precision
    assert result.recall * 100 >= recall


def test_thai_abbreviations_end_no_sentence():
    result = score(segmenter("th"), read_paragraphs(SAMPLES / "th.txt"))

    assert result.found == 0
