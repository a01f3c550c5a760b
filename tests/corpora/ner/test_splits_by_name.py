import pytest

from corpora.errors import UsageError
from corpora.ner.splits_by_name import choose_splits, split_of_name


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("eng.train", "train"),
        ("eng.testa", "dev"),
        ("eng.testb", "test"),
        ("NER-de-train.tsv", "train"),
        ("ler_dev.conll", "dev"),
        ("weiboNER_2nd_conll.test", "test"),
        ("train.char.bmes", "train"),
        ("example.dev", "dev"),
        ("da_ddt-ud-test.iob2", "test"),
        ("HIPE-2022-v2.1-hipe2020-dev-de.tsv", "dev"),
        ("validation.parquet", "dev"),
        ("valid.txt", "dev"),
        ("de/train", "train"),
        ("test/part-1.conll", "test"),
        ("train/dev.conll", "dev"),
        ("GWtest.crf", "test"),
        ("nerTrain2.txt", "train"),
        ("devSet.json", "dev"),
        ("LaTest.txt", "test"),
        ("trainDev.conll", None),
        ("europeana-onb.bio", None),
        ("Latest.txt", None),
        ("ATTEST.txt", None),
        ("contest.txt", None),
        ("train-dev.conll", None),
    ],
)
def test_split_is_recognized_by_the_name(name, split):
    assert split_of_name(name) == split


def test_files_without_a_split_are_train_if_none_has_one():
    assert choose_splits(["a.bio", "b.bio"], []) == {"a.bio": "train", "b.bio": "train"}


def test_named_splits_win_and_may_be_patterns():
    splits = choose_splits(["a-1", "a-2", "dev"], ["a-*=test", "dev=train"])

    assert splits == {"a-1": "test", "a-2": "test", "dev": "train"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ([], "arendt.conll: its name says no split"),
        (["arendt.conll=all"], "expected FILE=SPLIT"),
        (["=test"], "expected FILE=SPLIT"),
        (["other=test"], "matches no input"),
        (["*=test", "arendt.conll=dev"], "two splits"),
    ],
)
def test_what_cannot_be_decided_is_refused(said, problem):
    with pytest.raises(UsageError, match=problem):
        choose_splits(["arendt.conll", "train_arendt.conll"], said)
