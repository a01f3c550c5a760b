"""``benchmarks.conditions``: noisy text, other sets, speed."""

from dataclasses import replace

import pytest

from benchmarks.conditions import Scorer, noisy, speed
from modeling.finetune.data import NerData
from modeling.taggers.tagger import Tagger


@pytest.fixture(scope="module")
def data(ner):
    return NerData.open(ner)


def test_of_noisy_text_so_many_characters_are_others_and_the_tags_stay(data):
    words = tuple("abcdefghij" * 4000 for _ in range(2))
    sentence = replace(data.split("test")[0], tokens=words, tags=("B-x", "O"))

    [noise] = noisy([sentence], 10)

    assert noise.tags == sentence.tags
    for word in noise.tokens:
        assert len(word) == pytest.approx(40_000, abs=400)  # as many are dropped as are added
        assert word.count("abcdefghij") == pytest.approx(4000 * 0.9**10, abs=150)
    assert [noise] == noisy([sentence], 10)
    assert [noise] != noisy([sentence], 10, seed=2)
    assert noisy([sentence], 0) == [sentence]


def test_a_word_of_one_character_is_never_lost(data):
    sentence = replace(data.split("test")[0], tokens=("科", "学"), tags=("O", "O"))

    assert all(
        len(word) >= 1 for n in range(50) for word in noisy([sentence], 90, seed=n)[0].tokens
    )


def test_a_tagger_is_scored_on_noise_on_other_sets_and_without_derived_names(
    tagger_run, data, make_ner, tmp_path
):
    others = [replace(s, tags=tuple(t.replace("pers", "PER") for t in s.tags))
              for s in data.split("test")]  # fmt: skip
    other = NerData.open(make_ner(tmp_path / "other", others))
    scorer = Scorer(Tagger.load(tagger_run), data)

    made = scorer.conditions([other])

    clean = scorer.score(scorer.tagger.tag(data.split("test")))
    low, high = clean["interval"]
    assert low <= clean["f1"] <= high
    assert clean["f1"] > made["noise"]["5"]["f1"] > made["noise"]["10"]["f1"]
    assert list(made["others"]) == [data.name, "other"]
    assert len({str(score) for score in made["others"].values()}) == 1  # once labels are the same
    assert made["others"]["other"] == clean
    assert speed(scorer.tagger, data.split("test")) > 0
    assert "without" not in made
    scorer.tagger.labels = ("pers", "placederiv")
    derived = scorer.conditions([])["without"]
    assert derived["names"] == clean["names"]  # no gold name is derived here
