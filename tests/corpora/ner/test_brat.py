"""brat's standoff: names at their characters, whatever nests, crosses or is in pieces."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.document import Document, Mention, reading_order, without_crossing
from corpora.errors import UsageError
from corpora.ner.alignment import levels
from corpora.ner.detection import Overrides
from corpora.ner.exchange import read_annotated, write_documents
from corpora.ner.files import FilePart, describe, read_file
from corpora.ner.found import Origin
from corpora.ner.texts import read_brat
from corpora.tagging import from_iob2
from tests.corpora.ner.reading import read

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = "Ada Lovelace kam aus Bad\nBerg. North und South America 𝔊 Ada."


def rows_of(path, **said):
    _, rows, made = read(path, **said)
    return rows, made


def names_of(row, column="tags"):
    """Return the names of a row as (start, end, label), in characters of the text."""
    ends = [s + len(t) for s, t in zip(row["token_starts"], row["tokens"], strict=True)]
    spans = from_iob2(row[column] or [])
    return [(row["token_starts"][s.start], ends[s.end - 1], s.label) for s in spans]


def write(tmp_path, lines, text=TEXT):
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "a.ann").write_bytes(lines.encode())
    return tmp_path / "a.ann"


@pytest.mark.parametrize("text", [" Ada. Lovelace kam.", "\ufeffAda. Lovelace kam."])
def test_a_name_with_a_blank_before_it_is_not_cut(tmp_path, text):
    path = write(tmp_path, "T1\tPER 0 14\tAda. Lovelace\n".replace("Ada", text[:4].strip()), text)

    [row], _ = rows_of(path)

    assert names_of(row) == [(1, 14, "PER")]


@st.composite
def documents(draw):
    """Draw a text with names that nest, at most in pairs, without white space at their ends."""
    text = draw(st.text(st.sampled_from("aÄя北𝔊 .\n\r\t\u00a0-1Á"), min_size=1, max_size=60))
    places = st.integers(0, len(text))
    names = [
        Mention(start, end, label=label)
        for start, end, label in draw(
            st.lists(st.tuples(places, places, st.sampled_from(["PER", "a_b"])), max_size=6)
        )
        if start < end and text[start:end].strip() == text[start:end]
    ]
    kept, _ = without_crossing(names)
    both = levels(kept, "all")
    mentions = tuple(sorted([*both[0], *both[1]], key=reading_order))
    return Document(id="a", group="", source="a", text=text, mentions=mentions)


@same_folder
@given(document=documents())
def test_names_come_back_at_their_characters(tmp_path, document):
    folder = Path(tempfile.mkdtemp(dir=tmp_path))  # no file of another example is overwritten
    [path] = write_documents([document], "brat", folder)

    rows, made = rows_of(path, format="brat")

    found = [n for row in rows for c in ("tags", "inner_tags") for n in names_of(row, c)]
    assert sorted(found) == sorted((m.start, m.end, m.label) for m in document.mentions)
    assert not made.rejected
    places = [(s, t) for r in rows for s, t in zip(r["token_starts"], r["tokens"], strict=True)]
    assert all(document.text.startswith(token, start) for start, token in places)
    assert "".join(t for _, t in places) == "".join(document.text.split())
    assert [(m.start, m.end, m.label) for m in read_annotated(path).mentions] == [
        (m.start, m.end, m.label) for m in document.mentions
    ]


def test_names_nest_cross_and_have_pieces(tmp_path):
    path = write(
        tmp_path,
        "T1\tPerson 0 12\tAda Lovelace\nT2\tForename 0 3\tAda\n"
        "T3\tPlace 21 24;25 29\tBad Berg\n"  # the white space between is no gap
        "T4\tPlace 31 36;47 54\tNorth America\nT5\tPlace 41 54\tSouth America\n"
        "T6\tDeep 0 2\tAd\nT7\tCrossing 8 16\tlace kam\nT8\tPerson 57 60\tAda\n"
        "R1\tfrom Arg1:T1 Arg2:T3\nE1\tCome:T7 Who:T1\nA1\tSure T1\n#1\tAnnotatorNotes T1\ta\tb\n"
        "*\tEquiv T1 T8\nN1\tReference T1 wd:Q7259\tAda Lovelace\n",
    )

    rows, made = rows_of(path)

    assert [(row["id"], row["document_id"]) for row in rows] == [
        ("a.ann#1", "a.ann"),
        ("a.ann#2", "a.ann"),
    ]
    assert [names_of(row) for row in rows] == [
        [(0, 12, "Person"), (21, 29, "Place")],
        [(31, 54, "Place"), (57, 60, "Person")],
    ]
    assert [names_of(row, "inner_tags") for row in rows] == [
        [(0, 3, "Forename")],
        [(41, 54, "Place")],
    ]
    expected = {
        "crossing names not in ner: Crossing": 1,
        "discontinuous names: Place": 1,
        "nested names not in ner: Deep": 1,
        "entities/Place": 2,
        **{
            f"lines.{kind}": 1
            for kind in ("relation", "event", "attribute", "note", "equivalence", "id")
        },
    }
    assert {name: made.counters[name] for name in expected} == expected


def test_tabs_stand_for_spaces_and_a_name_of_two_lines_for_itself(tmp_path):
    lines = "T1\tPER\t0\t12\tAda Lovelace\nT2\tLOC\t21\t29\tBad\nBerg\nT3\tLOC 31 36\tNorth\n"

    rows, made = rows_of(write(tmp_path, lines))

    assert [name for row in rows for name in names_of(row)] == [
        (0, 12, "PER"),
        (21, 29, "LOC"),
        (31, 36, "LOC"),
    ]
    assert not made.rejected


def test_a_sentence_without_inner_names_has_none(tmp_path):
    path = write(tmp_path, "T1\tPer 0 3\tAda\nT2\tPer 0 1\tA\n", "Ada kam.\nSie ging.")

    assert [row["inner_tags"] is None for row in rows_of(path)[0]] == [False, True]


def test_neither_paragraphs_nor_sentences_end_in_a_name(tmp_path):
    text = "Er las Was ist?\nUnd wer? Das Buch.\nEnde."
    path = write(tmp_path, "T1\tWork 7 24\tWas ist? Und wer?\n", text)

    rows, _ = rows_of(path)

    assert [names_of(row) for row in rows] == [[(7, 24, "Work")], [], []]


def test_the_language_decides_how_a_text_is_cut():
    lines, text = "T1\tPer 0 3\tAda\n", "Ada. Sie kam am 9. Mai."

    n = {lang: len(read_brat(lines, text, lang=lang, origin=Origin("a"))) for lang in ("de", "en")}

    assert n == {"de": 2, "en": 3}


@pytest.mark.parametrize("lines", ["", "\n"])
def test_an_empty_file_is_a_text_without_names(tmp_path, lines):
    rows, _ = rows_of(write(tmp_path, lines, "Nichts."))

    assert [(row["tokens"], row["tags"]) for row in rows] == [(["Nichts", "."], ["O", "O"])]


def test_marks_of_byte_order_and_line_ends_of_windows_are_no_part_of_words(tmp_path):
    lines = "\ufeffT1\tPer 1 4\tAda\r\nT2\tPer 6 9\tSue\r\n"

    rows, made = rows_of(write(tmp_path, lines, "\ufeffAda\r\nSue"))

    assert [row["tokens"] for row in rows] == [["Ada"], ["Sue"]]
    assert [names_of(row) for row in rows] == [[(1, 4, "Per")], [(6, 9, "Per")]]
    assert made.counters["byte_order_marks"] == 1


@pytest.mark.parametrize(
    ("line", "reason", "problem"),
    [
        ("T2\tPer 0 99\tAda", "bad_span", "has 61 characters"),
        ("T2\tPer 3 3\t", "bad_span", "no place in the text"),
        ("T2\tPer 1 4\tAda", "bad_span", "'Ada' is 'da' at 1 4 in the text"),
        ("T2\tPer 3 4\t ", "bad_span", "Offsets count characters"),
        ("T2\tPer 0\tAda", "columns", "no line of standoff"),
        ("T2 Per 0 3 Ada", "columns", "no line of standoff"),
        ("T1\tPer 0 3\tAda", "columns", "T1 is there twice"),
        ("N1\tReference T1", "columns", "no line of standoff"),
        ("R1", "columns", "no line of standoff"),
        ("lace", "columns", "no line of standoff"),
        ("T2\tPer 0 " + "9" * 5000, "columns", "no line of standoff"),
    ],
)
def test_a_damaged_line_rejects_its_file_and_is_named(tmp_path, line, reason, problem):
    path = write(tmp_path, f"T1\tPer 0 3\tAda\n{line}\nT3\tPer 0 3\tAda\n")

    rows, made = rows_of(path)

    [rejected] = made.rejected
    assert (rejected.reason, rejected.position) == (reason, "line 2")
    assert rejected.message.startswith("a.ann:2: ")
    assert problem in rejected.message
    assert not rows


def test_a_text_in_another_encoding_is_named(tmp_path):
    path = write(tmp_path, "T1\tPer 0 3\tAda\n")
    path.with_suffix(".txt").write_bytes("Ada Ä".encode("latin-1"))
    layout = describe(path, name="x/a.ann", overrides=Overrides())

    [(found, _)] = read_file(
        path, layout, name="x/a.ann", part=FilePart(), text=path.with_suffix(".txt")
    )

    assert found.message == "x/a.txt: byte 4 is not utf-8. Name the right one with --encoding."


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("T1\tPer 0 3;5 8\tAda\n", "brat"),
        ("\nR1\tfrom Arg1:T1 Arg2:T3\nT1\tPer 0 3\tAda\n", "brat"),
        ("#1\tAnnotatorNotes T1\twhy\n", "brat"),
        ("T1\tPer\t0\t3\tAda\n", "brat"),
        ("T1\tO\nJena\tB-LOC\n", "conll"),
        ("R1\tB-PER\nkam\tO\n", "conll"),
        ("#\tO\nT1\tB-X\n", "conll"),
    ],
)
def test_the_first_line_tells_standoff_from_columns(tmp_path, text, form):
    (tmp_path / "file").write_text(text)

    assert describe(tmp_path / "file", name="file", overrides=Overrides()).format == form


def test_columns_are_no_standoff(tmp_path):
    (tmp_path / "file").write_text("Jena B-LOC\n")

    with pytest.raises(UsageError, match="is not laid out as brat"):
        describe(tmp_path / "file", name="file", overrides=Overrides(format="brat"))
