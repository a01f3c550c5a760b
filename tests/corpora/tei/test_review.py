"""The list of candidates: written, edited, applied."""

import csv
import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.review import (
    COLUMNS,
    REVIEW,
    apply_candidates,
    by_file,
    mentions_in,
    model_file,
    model_of_list,
    read_candidates,
    write_candidates,
)
from corpora.tei.undo import undo
from corpora.tei.writer import WriteOptions, write_predictions

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
    """Write the list of all candidates; returns its path."""
    [text] = read_tei(DATA, edition, name="x.xml")
    path = tmp_path / "candidates.tsv"
    write_candidates(path, [("x.xml", text.document, FOUND)])
    return path


def edit(path, line, **cells):
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    rows = list(csv.reader(lines, dialect="excel-tab"))
    for column, value in cells.items():
        rows[line][COLUMNS.index(column)] = value
    save(path, rows)


def save(path, rows, *, delimiter="\t", encoding="utf-8"):
    with path.open("w", encoding=encoding, errors="replace", newline="") as out:
        csv.writer(out, delimiter=delimiter).writerows(rows)


def add(path, **cells):
    with path.open("a", encoding="utf-8", newline="") as out:
        csv.writer(out, dialect="excel-tab").writerow([cells.get(name, "") for name in COLUMNS])


def apply(path, edition, data=DATA, **options):
    candidates = by_file(read_candidates(path))["x.xml"]
    return apply_candidates(
        data, edition, candidates, name="x.xml", model=MODEL, options=WriteOptions(**options)
    )


def test_a_list_that_nobody_edits_applies_everything(listed, edition):
    direct = write_predictions(DATA, edition, {"x.xml": FOUND}, name="x.xml", model=MODEL)

    applied = apply(listed, edition, keep_cert=True)

    assert applied.written.data == direct.data
    assert [one.verdict for one in applied.decisions] == ["accepted"] * 3


def test_an_accepted_suggestion_loses_its_probability(listed, edition):
    applied = apply(listed, edition)

    assert b" cert=" not in applied.written.data
    assert [one.probability for one in applied.decisions] == [one.score for one in FOUND]


def test_a_line_that_stands_twice_is_one_decision(listed, edition):
    edit(listed, 3, accept="no")
    with listed.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, dialect="excel-tab"))
    once = apply(listed, edition)
    save(listed, [*rows, *rows[1:]])

    applied = apply(listed, edition)

    assert applied.written.data == once.written.data
    assert applied.written.counters["skipped: given twice"] == 3
    assert [replace(one, time="") for one in applied.decisions] == [
        replace(one, time="") for one in once.decisions
    ]


def test_two_lines_that_contradict_each_other_are_named(listed, edition):
    with listed.open(encoding="utf-8", newline="") as file:
        header, first, *rest = csv.reader(file, dialect="excel-tab")
    refused = [*first]
    refused[header.index("accept")] = "no"
    save(listed, [header, first, *rest, refused])

    with pytest.raises(UsageError, match=r"tsv:5: the name of .*tsv:2 once more, but one line acc"):
        apply(listed, edition)


def test_the_list_is_for_people(listed):
    header, first, *_ = listed.read_text(encoding="utf-8-sig").splitlines()

    assert header.split("\t") == list(COLUMNS)
    assert first.split("\t") == [
        "x.xml", "x.xml", "", "Goethe", " in Jena und Walden", "person", "gnd:118540238",
        "0.7500", "", "0", "6", "person gnd:118540238", "", "",
    ]  # fmt: skip


def test_a_no_is_counted_remembered_and_not_written(listed, edition):
    edit(listed, 2, accept="No")

    applied = apply(listed, edition)

    assert b"placeName" not in applied.written.data
    assert applied.written.counters["skipped: not accepted"] == 1
    rejected = applied.decisions[1]
    assert (rejected.verdict, rejected.name.form, rejected.probability) == ("rejected", "Jena", 0.5)


def test_another_label_is_the_one_that_is_written(listed, edition):
    edit(listed, 2, label="organization")

    applied = apply(listed, edition, reviewer="kb")

    assert b'<orgName resp="#onoma-1 #kb">Jena</orgName>' in applied.written.data
    corrected = applied.decisions[1]
    assert (corrected.verdict, corrected.reviewer) == ("corrected", "kb")
    assert (corrected.was.label, corrected.name.label) == ("place", "organization")


@pytest.mark.parametrize("name", ["Jena und Walden", "in Jena", "Jen", "ena"])
def test_a_boundary_is_corrected_by_typing_the_name(name, listed, edition):
    edit(listed, 2, name=name)
    edit(listed, 3, accept="no")

    applied = apply(listed, edition)

    assert f">{name}</placeName>".encode() in applied.written.data.replace(b"\t", b" ")
    assert applied.decisions[1].name.form == name


def test_a_name_that_is_not_there_is_said_and_the_others_are_written(listed, edition):
    edit(listed, 2, name="Weimar")

    applied = apply(listed, edition)

    [said] = applied.unplaced
    assert said == f"{listed}:3: the name is not in the text there"
    assert applied.written.written == 2


def test_a_new_line_is_a_name_that_was_missed(listed, edition):
    add(listed, file="x.xml", name="und", label="event")

    applied = apply(listed, edition, reviewer="kb")

    assert b'resp="#onoma-review #kb">und<' in applied.written.data
    assert applied.decisions[-1].verdict == "added"
    assert undo(applied.written.data, name="x.xml", reviewer="kb") == DATA


def test_a_list_of_new_lines_alone_needs_no_model(listed):
    with pytest.raises(UsageError, match="which model made the list cannot be read"):
        model_of_list(listed, read_candidates(listed))

    save(listed, [COLUMNS, ["x.xml", "", "", "und", "", "person", *[""] * 6]])

    assert model_of_list(listed, read_candidates(listed)) == REVIEW


def test_the_statement_on_a_person_who_took_a_name_over_points_to_no_model_after_undo(
    listed, edition
):
    written = apply(listed, edition, reviewer="kb").written.data
    taken_over = re.sub(rb'resp="#onoma-\w+ (#kb">Jena)', rb'resp="\1', written)

    left = undo(taken_over, name="x.xml", reviewer="kb")

    assert taken_over != written
    assert b'<respStmt xml:id="kb"><resp>names reviewed' in left
    assert b'resp="#kb">Jena</placeName>' in left
    assert b"onoma-" not in left


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"name": "e"}, "the name is there more than once"),
        ({"name": "Weimar"}, "the name is not in the text there"),
        ({"name": "e", "before": "Gu"}, "the name is not in the text there"),
        ({"name": "e", "before": "in J"}, None),
        ({"name": "n", "after": "a und"}, None),
    ],
)
def test_a_missed_name_stands_where_its_neighbours_say(cells, reason, listed, edition):
    save(listed, [COLUMNS])
    add(listed, file="x.xml", label="event", **cells)

    applied = apply(listed, edition)

    assert applied.unplaced == ([f"{listed}:2: {reason}"] if reason else [])
    assert applied.written.written == (reason is None)


def test_a_line_whose_text_has_changed_is_said(listed, edition):
    changed = DATA.replace(b"in Jena\tund", b"aus Ulm\tmit")

    applied = apply(listed, edition, changed)

    assert applied.unplaced == [f"{listed}:3: the text has changed since"]
    assert b">Goethe</persName>" in applied.written.data


def test_a_name_is_found_again_in_a_file_that_was_edited(listed, edition):
    changed = DATA.replace(b"Goethe in", b"Herr Goethe in")

    applied = apply(listed, edition, changed)

    assert applied.unplaced == []
    assert b">Walden</persName>" in applied.written.data


SPREADSHEETS = {
    "Excel, Unicode text": ("utf-16", "\t", ","),
    "Excel, German CSV": ("cp1252", ";", ","),
    "Excel, CSV UTF-8": ("utf-8-sig", ";", ","),
    "LibreOffice": ("utf-8", ",", "."),
}


@pytest.mark.parametrize("name", SPREADSHEETS)
def test_any_spreadsheet_may_save_it(name, listed, edition):
    encoding, delimiter, point = SPREADSHEETS[name]
    data = DATA.replace(b"in Jena", "in Γένα".encode())
    [text] = read_tei(data, edition, name="x.xml")
    write_candidates(listed, [("x.xml", text.document, FOUND)])
    lines = listed.read_text(encoding="utf-8-sig").splitlines()
    rows = list(csv.reader(lines, dialect="excel-tab"))
    at = COLUMNS.index("probability")
    for row in rows[1:]:
        row[at] = f"{float(row[at]):.2f}".replace(".", point) if row[at] else ""
    rows.append([""] * len(COLUMNS))
    save(listed, rows, delimiter=delimiter, encoding=encoding)

    applied = apply(listed, edition, data, keep_cert=True)

    assert applied.unplaced == []
    direct = write_predictions(data, edition, {"x.xml": FOUND}, name="x.xml", model=MODEL)
    assert applied.written.data == direct.data


@pytest.mark.parametrize(
    "before", ['"', '"Weimar" sagte', '"Weimar', '""Weimar" in ', '"Wei""mar" ']
)
def test_cells_may_begin_with_a_quotation_mark_that_no_other_closes(before, listed):
    cells = [line.split("\t") for line in listed.read_text(encoding="utf-8-sig").splitlines()]
    cells[2][COLUMNS.index("before")] = before
    listed.write_text("".join("\t".join(row) + "\r\n" for row in cells), newline="")

    candidates = read_candidates(listed)

    assert [one.name for one in candidates] == [row[COLUMNS.index("name")] for row in cells[1:]]
    assert candidates[1].before == before


def test_cell_in_quotation_marks_may_have_lines_and_quotation_marks(listed):
    remark = 'see\n"Weimar" and\n"'
    edit(listed, 1, remark=remark, before='"Weimar" sagte')

    first, *_ = read_candidates(listed)

    assert (first.remark, first.before) == (remark, '"Weimar" sagte')


def test_a_tab_in_a_cell_is_no_border_that_nobody_sees(listed):
    lines = listed.read_text(encoding="utf-8-sig").splitlines()
    cells = lines[1].split("\t")
    cells[COLUMNS.index("before")] = '"und ging\tnach "'
    listed.write_text("\n".join([lines[0], "\t".join(cells)]) + "\n")

    with pytest.raises(UsageError, match=r":2: has 15 cells, but there are 14 columns"):
        read_candidates(listed)


@pytest.mark.parametrize("separator", ["\t", ";", ","])
def test_first_line_may_name_the_separator(separator, listed):
    candidates = read_candidates(listed)
    with listed.open(encoding="utf-8-sig", newline="") as file:
        save(listed, [*csv.reader(file, dialect="excel-tab")], delimiter=separator)
    listed.write_text(f"sep={separator}\r\n{listed.read_text()}", encoding="utf-8-sig")

    after = read_candidates(listed)

    assert [replace(one, where="") for one in after] == [
        replace(one, where="") for one in candidates
    ]
    assert after[0].where == f"{listed}:3"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'x.xml,"Weimar" sagte,place',
            r"tsv:2: cannot be read .* after '\"'\). Save the list again",
        ),
        (
            'x.xml,"Weimar,place',
            r"tsv:2: cannot be read as a table \(unexpected end of data\). Save",
        ),
        ("x.xml,Weimar,place,sagte", r"tsv:2: has 4 cells, but there are 3 columns"),
    ],
)
def test_line_that_is_no_row_is_named(line, message, tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text(f"file,name,label\n{line}\n")

    with pytest.raises(UsageError, match=message):
        read_candidates(path)


def test_probabilities_may_be_in_per_cent(listed):
    edit(listed, 1, probability="75 %")

    assert read_candidates(listed)[0].score == 0.75


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"accept": "perhaps"}, r"tsv:3: accept is 'perhaps'; write yes, no"),
        ({"start": "ten"}, r"tsv:3: start or end cannot be read"),
        ({"end": "3"}, r"tsv:3: start 10 and end 3 are no place"),
        ({"name": ""}, r"tsv:3: has no file or no name"),
        ({"label": ""}, r"tsv:3: has no label"),
        ({"probability": "high"}, r"tsv:3: probability 'high' cannot be read"),
        ({"probability": "7"}, r"tsv:3: probability '7' is none"),
    ],
)
def test_a_faulty_line_is_named(cells, message, listed):
    edit(listed, 2, **cells)

    with pytest.raises(UsageError, match=message):
        read_candidates(listed)


def test_a_label_without_an_element_is_named_with_its_line(listed, edition):
    edit(listed, 2, label="planet")

    with pytest.raises(UsageError, match=r"tsv:3: .* has no label 'planet'"):
        apply(listed, edition)


def test_a_list_without_its_columns_is_refused(tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text("file\tdocument\n")

    with pytest.raises(UsageError, match="has no column name, label"):
        read_candidates(path)
    model_file(path).write_text("{}")
    with pytest.raises(UsageError, match="has no column before, name, after"):
        read_candidates(path)


@given(
    text=st.text(st.sampled_from('ab \t\n\r\\"…=ä\u2028'), min_size=1, max_size=200),
    at=st.integers(0, 300),
    length=st.integers(1, 9),
    entity=st.none() | st.text(st.characters(codec="ascii", categories=["L"]), min_size=1),
)
def test_every_text_survives_the_list(tmp_path_factory, text, at, length, entity):
    start = at % len(text)
    mention = Mention(
        start, min(len(text), start + length), label="x", score=0.5, entity=entity,
        origin="prediction",
    )  # fmt: skip
    assume(text[mention.start : mention.end].strip())
    document = Document(id='a\t"b', group="g", source="a", text=text)
    path = tmp_path_factory.mktemp("list") / "c.tsv"

    write_candidates(path, [("a\\n.xml", document, [mention])])
    candidates = read_candidates(path)

    assert mentions_in(candidates, document) == [mention]
    assert candidates[0].file == "a\\n.xml"


def test_a_line_that_a_program_cut_short_or_filled_with_infinity_is_said(tmp_path):
    path = tmp_path / "c.tsv"
    head = "\t".join(COLUMNS)
    whole = dict.fromkeys(COLUMNS, "") | {"file": "a.xml", "name": "Ida", "label": "person"}
    path.write_text(f"{head}\n" + "\t".join(whole.values()).rstrip("\t") + "\n", "utf-8")
    assert [one.label for one in read_candidates(path)] == ["person"]
    path.write_text(
        f"{head}\n" + "\t".join((whole | {"start": "1e999", "end": "2"}).values()), "utf-8"
    )
    with pytest.raises(UsageError, match=":2: start or end"):
        read_candidates(path)


@pytest.mark.parametrize(
    ("typed", "entity"),
    [
        ("gnd:118540238", "gnd:118540238"),
        ("mine:p1", "mine:p1"),
        ("#p1", "mine:p1"),
        ("#p1 #p2", "mine:p1 mine:p2"),
        ("https://d-nb.info/gnd/118540238", "gnd:118540238"),
        ("Ulm (Stadt)", "mine:Ulm (Stadt)"),
        ("psn:P.2", "mine:psn:P.2"),
    ],
)
def test_an_entity_may_be_typed_as_the_files_have_it(typed, entity, listed, edition):
    edit(listed, 2, entity=typed)

    [_, decision, _] = apply(listed, replace(edition, name="mine")).decisions

    assert (decision.verdict, decision.name.entity) == ("corrected", entity)


def test_a_name_that_a_spreadsheet_would_run_is_text_and_comes_back(tmp_path):
    text = "=1+2 und -Ada, '=x"
    mentions = [Mention(0, 4, label="=A", entity="@x:1"), Mention(9, 13, label="person")]
    path = tmp_path / "candidates.tsv"

    write_candidates(
        path, [("+a.xml", Document(id="-1", group="", source="", text=text), mentions)]
    )

    rows = csv.reader(path.read_text("utf-8-sig").splitlines(), dialect="excel-tab")
    assert not any(cell[:1] in {*"=+-@"} and cell[:1] for row in rows for cell in row)
    read = [(c.file, c.document, c.name, c.label, c.entity) for c in read_candidates(path)]
    assert read == [
        ("+a.xml", "-1", "=1+2", "=A", "@x:1"),
        ("+a.xml", "-1", "-Ada", "person", None),
    ]


def test_lines_on_names_of_the_edition_correct_them_or_take_them_out(listed, edition):
    data = DATA.replace(b"Goethe", b"<persName>Goethe</persName>")
    data = data.replace(b"Walden", b'<persName ref="#p1">Walden</persName>')
    line = {"file": "x.xml", "there": "yes", "name": "Goethe"}
    save(listed, [COLUMNS])
    add(listed, **line, label="place")
    add(listed, **line | {"name": "Walden"}, accept="no", remark="a gallery")

    applied = apply(listed, edition, data, reviewer="kb")

    text = re.sub(rb"<\?onoma-was [^?]*\?>| resp=\"[^\"]*\"", b"", applied.written.data)
    assert b"<p><placeName>Goethe</placeName> in Jena\tund Walden</p>" in text
    assert [(one.verdict, one.there) for one in applied.decisions] == [
        ("corrected", True),
        ("rejected", True),
    ]
    assert applied.decisions[1].remark == "a gallery"
    assert undo(applied.written.data, name="x.xml", reviewer="kb") == data


def test_a_line_on_a_name_that_the_edition_has_not_is_named(listed, edition):
    save(listed, [COLUMNS])
    add(listed, file="x.xml", there="yes", name="Goethe", label="place")

    applied = apply(listed, edition)

    assert applied.unplaced == [f"{listed}:2: the edition has no such name there"]
