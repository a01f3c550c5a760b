"""The list of candidates: written, edited, applied."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.review import COLUMNS, apply_candidates, by_file, read_candidates, write_candidates
from corpora.tei.writer import write_predictions

MODEL = Model(id="onoma-1", name="tagger", version="3", sha256="ab12")
DATA = b"<TEI><text><body><p>Goethe in Jena\tund Walden</p></body></text></TEI>"
FOUND = [
    Mention(0, 6, label="person", score=0.75, entity="gnd:118540238", origin="prediction"),
    Mention(10, 14, label="place", score=0.5, origin="prediction"),
    Mention(19, 25, label="person", origin="prediction"),
]


@pytest.fixture(scope="module")
def edition():
    return load_edition(edition_path("tei"))


@pytest.fixture
def listed(tmp_path, edition):
    """The list of all candidates, as it is written."""
    [text] = read_tei(DATA, edition, name="x.xml")
    path = tmp_path / "candidates.tsv"
    write_candidates(path, [("x.xml", text.document, FOUND)])
    return path


def edit(path, line, column, value):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = list(csv.reader(lines, dialect="excel-tab"))
    rows[line][COLUMNS.index(column)] = value
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, dialect="excel-tab").writerows(rows)


def apply(path, edition, data=DATA):
    candidates = by_file(read_candidates(path))["x.xml"]
    return apply_candidates(data, edition, candidates, name="x.xml", model=MODEL)


def test_a_list_that_nobody_edits_applies_everything(listed, edition):
    direct = write_predictions(DATA, edition, {"x.xml": FOUND}, name="x.xml", model=MODEL)

    assert apply(listed, edition).data == direct.data


def test_the_list_is_for_people(listed):
    first = listed.read_text(encoding="utf-8").splitlines()[1]

    assert first.split("\t") == [
        "x.xml", "x.xml", "0", "6", "⟦Goethe⟧ in Jena und Walden", "person", "gnd:118540238",
        "0.75", "",
    ]  # fmt: skip


def test_a_no_is_counted_and_not_written(listed, edition):
    edit(listed, 2, "accept", "No")

    written = apply(listed, edition)

    assert b"placeName" not in written.data
    assert written.counters["skipped: not accepted"] == 1
    assert written.written + len(written.skipped) == len(FOUND)


def test_another_label_is_the_one_that_is_written(listed, edition):
    edit(listed, 2, "label", "organization")

    assert b">Jena</orgName>" in apply(listed, edition).data


def test_a_line_whose_text_has_changed_is_skipped(listed, edition):
    changed = DATA.replace(b"Jena", b"Ulm ")

    written = apply(listed, edition, changed)

    assert [skipped.mention for skipped in written.skipped] == [FOUND[1], FOUND[2]]
    assert written.counters["skipped: the text has changed since"] == 2
    assert b">Goethe</persName>" in written.data


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("accept", "perhaps", r"tsv:3: accept is 'perhaps'; write yes, no"),
        ("start", "ten", r"tsv:3: start, end or probability cannot be read"),
        ("end", "3", r"tsv:3: start, end or probability cannot be read"),
        ("text", "Jena", r"tsv:3: the text does not mark the name"),
        ("label", "", r"tsv:3: has no label"),
    ],
)
def test_a_faulty_line_is_named(column, value, message, listed):
    edit(listed, 2, column, value)

    with pytest.raises(UsageError, match=message):
        read_candidates(listed)


def test_a_label_without_an_element_is_named_with_its_line(listed, edition):
    edit(listed, 2, "label", "planet")

    with pytest.raises(UsageError, match=r"tsv:3: .* has no label 'planet'"):
        apply(listed, edition)


def test_a_list_without_its_columns_is_refused(tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text("file\tdocument\n")

    with pytest.raises(UsageError, match="has no column start, end, text"):
        read_candidates(path)


@given(
    text=st.text(st.sampled_from('ab \t\n\r\\"⟦⟧…=ä\u2028'), min_size=1, max_size=200),
    at=st.integers(0, 300),
    length=st.integers(1, 9),
    score=st.none() | st.floats(0, 1),
    entity=st.none() | st.text(st.characters(codec="utf-8"), min_size=1),
)
def test_every_text_survives_the_list(tmp_path_factory, text, at, length, score, entity):
    start = at % len(text)
    mention = Mention(
        start, min(len(text), start + length), label="x", score=score, entity=entity,
        origin="prediction",
    )  # fmt: skip
    document = Document(id='a\t"b', group="g", source="a", text=text)
    path = tmp_path_factory.mktemp("list") / "c.tsv"

    write_candidates(path, [("a\\n.xml", document, [mention])])
    [candidate] = read_candidates(path)

    assert candidate.mention == mention
    assert candidate.surface == text[mention.start : mention.end]
    assert (candidate.file, candidate.document) == ("a\\n.xml", 'a\t"b')
