from pathlib import Path

import pytest

from corpora.errors import UsageError
from corpora.matching.form_dictionary import read_meanings_file
from corpora.ner.entity_dictionary import Work, forms, read_dictionary

DATA = Path(__file__).resolve().parents[2] / "data" / "ner"


def test_blocks_of_14_lines_join_their_six_groups():
    assert read_dictionary(DATA / "entities-14.txt") == [
        Work("山中记", ("小红", "王三", "山中", "大侠", "剑", "轻功", "剑法")),
        Work("海上行", ("王三", "上海", "船行")),
    ]


def test_blocks_of_3_lines_are_distinguished():
    assert read_dictionary(DATA / "entities-3.txt") == [
        Work("A股新闻", ("海上银行", "上海")),
        Work("体育", ("小红",)),
    ]


def test_forms_are_read_by_augment_mentions(tmp_path):
    works = read_dictionary(DATA / "entities-14.txt")
    (tmp_path / "forms.tsv").write_text("".join(forms(works)), encoding="utf-8")

    table = read_meanings_file(tmp_path / "forms.tsv").to_pylist()

    pairs = [(row["form"], row["entity"]) for row in table]
    assert ("王三", "山中记:王三") in pairs
    assert ("王三", "海上行:王三") in pairs
    assert len(pairs) == sum(len(work.names) for work in works)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "neither"),
        ("标题\n名字\n又名\n", "neither"),
        ("标题\n名字\n\n\n名字\n\n", "neither"),
        ("标题\n名字\n\n标题\n名字\n\n", ":4: 标题 is a title for the second time"),
    ],
)
def test_wrong_dictionary_is_refused(tmp_path, text, problem):
    (tmp_path / "entities.txt").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=problem):
        read_dictionary(tmp_path / "entities.txt")
