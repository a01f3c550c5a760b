"""Words that are almost alike are those that rapidfuzz finds among all, and few are compared."""

import random
import sys

import pytest
from rapidfuzz import fuzz, process

from corpora.system.extras import MissingExtraError
from modeling.link.spelling import Spellings


def words(n, letters, *, seed):
    draw = random.Random(seed)
    return list(
        dict.fromkeys("".join(draw.choices(letters, k=draw.randint(1, 9))) for _ in range(n))
    )


def garbled(word, letters, *, seed):
    draw = random.Random(seed)
    place = draw.randrange(len(word))
    return word[:place] + draw.choice(letters) + word[place + draw.randrange(2) :]


ALPHABETS = {
    "few letters, many of them twice": "aeinrst",
    "latin": "abcdefghijklmnopqrstuvwxyzäöüß",
    "kana and kanji": "アイウエオカキクケコ東京大学校日本人山川田中村上下",
}


@pytest.mark.parametrize("letters", ALPHABETS.values(), ids=ALPHABETS)
def test_the_same_words_are_found_as_by_comparing_all(letters):
    known = words(800, letters, seed=1)
    spellings = Spellings(known)
    asked = [*words(100, letters, seed=2), *(garbled(w, letters, seed=3) for w in known[:200])]

    for word in asked:
        by_all = process.extract(word, known, scorer=fuzz.ratio, score_cutoff=75, limit=8)
        assert list(spellings.alike(word)) == [(other, score) for other, score, _ in by_all], word


def test_few_of_many_words_are_compared():
    known = words(20_000, ALPHABETS["latin"], seed=1)
    spellings = Spellings(known)

    n = [len(spellings.near(garbled(word, "xyz", seed=3))) for word in known[:200]]

    assert sum(n) / len(n) < 0.02 * len(known)


def test_among_no_words_none_is_alike():
    assert Spellings([]).alike("Marc") == ()
    assert Spellings(["Anna"]).alike("Marc") == ()


def test_a_missing_library_names_its_extra_and_ends_as_other_missing_ones(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'onoma\[linking\]'") as caught:
        Spellings(["Anna", "Hanna"]).alike("Anne")

    assert caught.value.exit_status == 2
