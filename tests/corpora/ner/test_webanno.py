"""WebAnno TSV 3: names of several tokens, of parts of tokens, stacked, and escaped."""

import re

import pytest

from corpora.errors import UsageError
from corpora.ner.detection import Overrides
from corpora.ner.files import describe
from tests.corpora.ner.reading import read, show, write

HEAD = (
    "#FORMAT=WebAnno TSV 3.3\n"
    "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n"
    "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value\n"
    "#T_RL=webanno.custom.Relation|label|BT_webanno.custom.Span\n\n\n"
)
BODY = (
    "#Text=Ada \U0001f600 Sá kam .\n"
    "1-1\t0-3\tAda\tNE\t*[1]\tPER[1]\t_\t_\t\n"
    "1-2\t4-6\t\U0001f600\tXY\t*[1]\tPER[1]\t_\t_\t\n"
    "1-3\t7-9\tSá\tNE\t*[1]\tPER[1]\t_\t_\t\n"
    "1-4\t10-13\tkam\tVV\t_\t_\t_\t_\t\n"
    "1-5\t14-15\t.\t$.\t_\t_\t_\t_\t\n"
    "\n"
    "#Text=Bad Ulmer \\[!\n"
    "2-1\t16-19\tBad\tNE\t*[2]|*[3]\tORG[2]|LOC \\| a[3]\t_\t_\t\n"
    "2-2\t20-25\tUlmer\tNE\t*[2]\tORG[2]\t_\t_\t\n"
    "2-2.1\t20-23\tUlm\tNE\t*[3]\tLOC \\| a[3]\t_\t_\t\n"
    "2-3\t26-28\t\\[!\t$.\t_\t_\t_\t_\t\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_names_are_read_with_their_parts_and_levels(tmp_path, end):
    layout, rows, made = read(write(tmp_path / "a.tsv", (HEAD + BODY).replace("\n", end)))

    assert layout.format == "webanno"
    assert [show(row["tokens"], row["tags"]) for row in rows] == [
        "Ada/B-PER \U0001f600/I-PER Sá/I-PER kam .",
        "Bad/B-ORG Ulm/I-ORG er/I-ORG [!",
    ]
    assert show(rows[1]["tokens"], rows[1]["inner_tags"]) == "Bad/B-LOC_|_a Ulm/I-LOC_|_a er [!"
    assert [row["id"] for row in rows] == ["a.tsv:8", "a.tsv:15"]
    assert not made.rejected


def test_another_column_can_be_named(tmp_path):
    _, rows, _ = read(write(tmp_path / "a.tsv", HEAD + BODY), tag_column="PosValue")

    assert rows[0]["tags"] == ["B-NE", "B-XY", "B-NE", "B-VV", "B-$."]


def test_a_name_over_two_sentences_is_one_in_each(tmp_path):
    body = BODY.replace("14-15\t.\t$.\t_\t_", "14-15\t.\t$.\t*[2]\tORG[2]")

    _, rows, made = read(write(tmp_path / "a.tsv", HEAD + body))

    assert (rows[0]["tags"][-1], rows[1]["tags"][0]) == ("B-ORG", "B-ORG")
    assert made.counters["names over sentences: ORG"] == 1


def test_a_name_without_value_or_characters_is_kept_or_counted(tmp_path):
    body = "1-1\t0-3\tAda\tNE\t*\t*\t_\t_\t\n1-1.1\t0-0\t\tNE\t*[4]\tX[4]\t_\t_\t\n"

    _, [row], made = read(write(tmp_path / "a.tsv", HEAD + body))

    assert row["tags"] == ["B-*"]
    assert made.counters["empty names not in ner: X"] == 1


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("1-1\tAda\tNE\n", "is no row with a number, offsets and a token"),
        ("1-1\t0-4\tAda\tNE\t*\tX\t_\t_\t\n", "'Ada' has not the 4 characters of 0–4"),
        ("1-1\t0-3\tAda\tNE\t*\tX[1\t_\t_\t\n", "is no value with a number"),
    ],
)
def test_a_bad_row_rejects_its_sentence(tmp_path, row, problem):
    _, rows, made = read(write(tmp_path / "a.tsv", HEAD + row + "\n" + BODY.partition("\n\n")[2]))

    [rejected] = made.rejected
    assert (rejected.position, len(rows)) == ("line 7", 1)
    assert re.search(re.escape(problem), rejected.message)


def test_unclear_layers_are_a_question(tmp_path):
    text = "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.A|x\n#T_SP=webanno.custom.B|y|z\n\n\n"

    with pytest.raises(UsageError, match=r"--tag-column \(4: A x; 5: B y; 6: B z\)"):
        describe(write(tmp_path / "a.tsv", text), name="a.tsv", overrides=Overrides())
