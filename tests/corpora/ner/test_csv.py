"""CSV with a header: a row is a token, a sentence, or a text."""

import re
import tracemalloc

import pytest

from corpora.errors import UsageError
from corpora.ner.csv import csv_layout, read_csv
from corpora.ner.detection import Overrides
from corpora.ner.files import describe
from corpora.ner.found import Origin
from tests.corpora.ner.reading import read, show, write

KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,Clara,NNP,B-per
,Schumann,NNP,I-per
,",",",",O
Sentence: 2,Jena,NNP,B-geo
,\"\"\"\",``,O
"""
EXPECTED = ["Clara/B-per Schumann/I-per ,", 'Jena/B-geo "']


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KAGGLE, id="the first row of a sentence has its number"),
        pytest.param(KAGGLE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(KAGGLE.replace("\n", "\r"), id="CR"),
        pytest.param("\ufeff" + KAGGLE, id="byte order mark"),
        pytest.param(
            ',sentence_idx,word,tag,\n0,1,Clara,B-per,\n1,1,Schumann,I-per,\n2,1,",",O,\n'
            '3,2,Jena,B-geo,\n4,2,"""",O,\n',
            id="each row has the number of its sentence",
        ),
        pytest.param(
            'word;ner\nClara;B-per\nSchumann;I-per\n,;O\n;\nJena;B-geo\n"""";0\n',
            id="an empty row between, and a zero for O",
        ),
        pytest.param(
            'token\ttag\nClara\tB-per\nSchumann\tI-per\n,\tO\n\nJena\tB-geo\n"\tO\n',
            id="tabs, without quotation marks around cells",
        ),
        pytest.param(
            'text,labels\n"Clara Schumann ,",B-per I-per O \n"Jena """,B-geo O\n',
            id="a sentence in a row",
        ),
        pytest.param(
            "tokens,ner_tags\n\"['Clara', 'Schumann', ',']\",\"['B-per', 'I-per', 'O']\"\n"
            '"[\'Jena\', \'""\']","[""B-geo"", ""O""]"\n',
            id="lists",
        ),
    ],
)
def test_tokens_and_tags_are_read_however_they_are_in_rows(tmp_path, text):
    layout, rows, made = read(write(tmp_path / "a.csv", text))

    assert layout.format == "csv"
    assert [show(row["tokens"], row["tags"]) for row in rows] == EXPECTED
    assert not made.rejected


def test_ids_are_the_lines_of_first_tokens(tmp_path):
    _, rows, _ = read(write(tmp_path / "a.csv", KAGGLE))

    assert [row["id"] for row in rows] == ["a.csv:2", "a.csv:5"]


def test_texts_with_names_are_cut_into_sentences(tmp_path):
    label = '"[{""start"":0,""end"":14,""text"":""Clara Schumann"",""labels"":[""PER""]}]"'
    text = f'annotator,id,label,text\n1,7,{label},"Clara Schumann\nkam."\n1,8,,Nein.\n'

    _, rows, _ = read(write(tmp_path / "a.csv", text))

    shown = [show(row["tokens"], row["tags"]) for row in rows]
    assert " ".join(shown) == "Clara/B-PER Schumann/I-PER kam . Nein ."
    assert {row["document_id"] for row in rows} == {"a.csv:2", "a.csv:4"}


def test_columns_can_be_named(tmp_path):
    text = "Word,Fine,Coarse\nJena,B-town,B-geo\n"

    _, [row], _ = read(
        write(tmp_path / "a.csv", text), format="csv", tag_column="Coarse", inner_column="2"
    )

    assert (row["tags"], row["inner_tags"]) == (["B-geo"], ["B-town"])


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1,Jena,O\n1,Ulm\n2,Ulm,O\n", 3, "2 columns .*, not 3"),
        ("1,Jena,O\n1,,O\n2,Ulm,O\n", 3, "no token"),
        ("1,Jena,O\n1,Ulm,\n2,Ulm,O\n", 3, "no tags"),
        ("2,Ulm,O\n1,Jena,O\n2,Bonn,O\n", 4, "are not beside its others"),
        ('2,Ulm,O\n1,"Jena,O\n1,Bonn,O\n', 3, "quotation mark not closed"),
    ],
)
def test_a_bad_row_rejects_its_sentence(tmp_path, text, line, problem):
    _, rows, made = read(write(tmp_path / "a.csv", "sent_id,word,tag\n" + text))

    [rejected] = made.rejected
    assert rejected.position == f"line {line}"
    assert re.search(problem, rejected.message)
    assert [row["tokens"] for row in rows if row["tokens"] != ["Jena"]] == [["Ulm"]]


def test_bytes_that_are_no_utf8_reject_their_sentence(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"word,tag\nJ\xe4na,O\n,\nUlm,O\n")

    _, rows, made = read(path)

    assert [r.reason for r in made.rejected] == ["not_utf8"]
    assert [row["tokens"] for row in rows] == [["Ulm"]]


def test_a_long_first_line_is_no_header(tmp_path):
    path = write(tmp_path / "a.csv", f'word,"{"x" * 200_000}",tag\n').rename(tmp_path / "a.json")

    with pytest.raises(UsageError, match="in no format that is known"):
        describe(path, name="a.json", overrides=Overrides())


def test_a_carriage_return_in_the_first_line_of_another_file_is_no_error(tmp_path):
    path = write(tmp_path / "a.csv", "Ada B-PER\rSá I-PER\nkam O\n")

    with pytest.raises(UsageError, match="in no format that is known"):
        describe(path, name="a.txt", overrides=Overrides())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kalimat,label\nJena,O\n", "its first line, 'kalimat,label', does not name a column"),
        ("text,label\ngood,positive\n", "its column 2 has 'positive', no tags"),
        ("word,tag\n", "its column 2 has nothing"),
    ],
)
def test_csv_without_tags_is_an_error_that_says_what_it_has(tmp_path, text, problem):
    with pytest.raises(UsageError, match=problem):
        describe(write(tmp_path / "a.csv", text), name="a.csv", overrides=Overrides())


def test_rows_become_columns_while_they_are_read(monkeypatch):
    monkeypatch.setattr("corpora.ner.found._AT_ONCE", 500)
    n = 6_000
    rows = (f"{number},Word{number},B-per\n,of,O\n" for number in range(n // 2))
    data = ("Sentence #,Word,Tag\n" + "".join(rows)).encode()
    layout, _ = csv_layout(data[:100].decode(), name="a.csv", is_said=True, tag_column=None)

    tracemalloc.start()
    found = read_csv(data, layout, Origin("a.csv"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(found.tokens) == n
    assert found.tokens[n - 2].as_py() == f"Word{n // 2 - 1}"
    assert found.places[-1] == n
    assert peak < 160 * n  # bytes; the rows as Python has them take 250
