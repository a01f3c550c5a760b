"""Tags and columns that are written in other ways than ``Jena B-LOC``."""

import numpy as np
import pytest

from corpora.ner.columns import Tags
from corpora.ner.schemes import respelled
from tests.corpora.ner.reading import read, show

EXPECTED = ["Ada/B-PER Sá/I-PER kam", "Bad/B-LOC Berg/I-LOC lag da"]
KOREAN = """; Ada Sá kam
$<Ada Sá:PER> kam
1\tAda\tNNP\tB_PER
1\tSá\tNNP\tI
2\tkam\tVV\tO

; Bad Berg lag da
$<Bad Berg:LOC> lag da
1\tBad\tNNP\tB_LOC
2\tBerg\tNNP\tI
2\tlag\tVV\tO
3\tda\tMM\tO

"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KOREAN, id="I without label, numbers of words, comments"),
        pytest.param(
            "Ada NNP B_PER\nSá NNP I\nkam VV O\n\nBad NNP B_LOC\nBerg NNP I\nlag VV O\nda MM O\n",
            id="I without label",
        ),
        pytest.param(
            "1\tAda\tPER_B\n2\tSá\tPER_I\n3\tkam\t-\n\n"
            "1\tBad\tLOC_B\n2\tBerg\tLOC_I\n3\tlag\t-\n4\tda\t-\n\n",
            id="the letter last, a hyphen for O, numbers of tokens",
        ),
        pytest.param(
            "Ada PER-B\nSá PER-E\nkam O\n\nBad LOC-B\nBerg LOC-E\nlag O\nda O\n",
            id="the letter last, in IOBES",
        ),
        pytest.param(
            "B-PER\tAda\nI-PER\tSá\nO\tkam\n\nB-LOC\tBad\nI-LOC\tBerg\nO\tlag\nO\tda\n",
            id="the tag first",
        ),
        pytest.param(
            "PER-B\tAda\nPER-I\tSá\n0\tkam\n\nLOC-B\tBad\nLOC-I\tBerg\n0\tlag\n0\tda\n",
            id="the tag first, its letter last, a zero for O",
        ),
        pytest.param(
            "1 Ada NNP B-PER\n1 Sá NNP I-PER\n1 kam VV O\n\n"
            "2 Bad NNP B-LOC\n2 Berg NNP I-LOC\n2 lag VV O\n2 da MM O\n",
            id="numbers of sentences",
        ),
    ],
)
def test_tags_are_read_however_they_are_spelled(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")

    _, rows, made = read(path)

    assert [show(row["tokens"], row["tags"]) for row in rows] == EXPECTED
    assert not made.rejected


def test_tags_without_labels_are_names(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ada\tB\nSá\tI\nkam\tO\nund\tO\n")

    layout, [row], made = read(path)

    assert (layout.spelling, show(row["tokens"], row["tags"])) == (
        "B",
        "Ada/B-NAME Sá/I-NAME kam und",
    )
    assert made.counters["tags.without label"] == 2


def test_marks_of_segmentation_are_not_taken_for_names(tmp_path):
    from corpora.errors import UsageError
    from corpora.ner.detection import Overrides
    from corpora.ner.files import describe

    path = tmp_path / "a.txt"
    path.write_text("上 B\n海 E\n在 S\n")  # no token is outside

    with pytest.raises(UsageError, match="in no format that is known"):
        describe(path, name="a.txt", overrides=Overrides())


def test_a_letter_alone_after_o_is_left_as_it_is(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ada B-PER\nSá I\n\n" * 9 + "kam O\nda I\nso I\n\n")

    _, rows, made = read(path)

    assert {tuple(row["tags"]) for row in rows} == {("B-PER", "I-PER")}
    assert [r.reason for r in made.rejected] == ["bad_tag"]


@pytest.mark.parametrize(
    "line", ["; O\n", ";\n", "$ B-X\n"], ids=["a token", "first in a sentence", "in a sentence"]
)
def test_semicolons_among_tokens_are_not_comments(tmp_path, line):
    path = tmp_path / "a.txt"
    path.write_text(f"Ada B-PER\n{line}kam O\n\n" * 5 + "Ada B-PER\n\n" * 50)

    _, rows, made = read(path)

    assert len(rows) + len(made.rejected) == 55
    assert "lines.comment" not in made.counters


def test_labels_of_letters_come_from_the_tag_before():
    names = ("B-X", "I", "E", "O", "S_Y")
    tags = Tags(np.array([0, 1, 1, 2, 3, 1, 4, 1], np.int32), names)

    found = respelled(tags, "B-PER").strings().to_pylist()

    assert found == ["B-X", "I-X", "I-X", "E-X", "O", "I", "S_Y", "I-Y"]
