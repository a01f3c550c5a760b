"""What a model added is taken out; what a person wrote, or made their own, stays."""

import pytest

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.undo import undo
from corpora.tei.writer import WriteOptions, write_predictions

FIRST = Model(id="onoma-first", name="first", version="1", sha256="aa")
SECOND = Model(id="onoma-second", name="second", version="1", sha256="bb")
HEADER = "<teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"
FILE = (
    f"<TEI>{HEADER}<text><body><p>Goethe <persName resp='#me'>und</persName> Schiller</p>"
    "</body></text></TEI>"
).encode()
LONE = b"<TEI><text><body><p>Goethe und Schiller</p></body></text></TEI>"
SCHILLER = Mention(11, 19, label="person")
GOETHE = Mention(0, 6, label="person")


def write(data, model, *mentions, **options):
    edition = load_edition(edition_path("tei"))
    return write_predictions(
        data, edition, {"x": mentions}, name="x", model=model, options=WriteOptions(**options)
    ).data


def test_a_file_that_no_model_touched_is_itself():
    assert undo(FILE, name="x") is FILE


@pytest.mark.parametrize("data", [FILE, LONE])
def test_one_of_two_models_can_be_taken_out_and_then_the_other(data):
    one = write(data, FIRST, GOETHE)
    both = write(one, SECOND, SCHILLER)

    assert undo(both, name="x", resp="onoma-second") == one
    assert undo(undo(both, name="x", resp="onoma-first"), name="x", resp="onoma-second") == data
    assert undo(both, name="x") == data


def test_a_name_that_a_person_answers_for_stays_with_the_statement_on_the_model():
    data = write(FILE, FIRST, GOETHE, SCHILLER)
    confirmed = data.replace(b'resp="#onoma-first">Goethe', b'resp="#onoma-first #me">Goethe')

    left = undo(confirmed, name="x")

    assert b'<persName resp="#onoma-first #me">Goethe</persName>' in left
    assert b'<respStmt xml:id="onoma-first">' in left
    assert b"Schiller</p>" in left


def test_what_a_person_put_into_a_header_that_was_added_stays():
    data = write(LONE, FIRST, GOETHE)
    edited = data.replace(b"<respStmt", b"<title>Letters</title><respStmt")

    header = (
        b"<teiHeader><fileDesc><titleStmt><title></title><title>Letters</title></titleStmt>"
        b"<publicationStmt><p/></publicationStmt><sourceDesc><p/></sourceDesc></fileDesc></teiHeader>"
    )
    assert undo(edited, name="x") == LONE.replace(b"<text>", header + b"<text>")


def test_stand_off_goes_whole():
    crossing = Mention(7, 13, label="event")
    data = write(FILE.replace(b"und<", b"<hi>un</hi>d<"), FIRST, GOETHE, crossing)
    beside = write(FILE, FIRST, Mention(0, 10, label="event"), crossing="standOff")

    assert undo(data, name="x") == FILE.replace(b"und<", b"<hi>un</hi>d<")
    assert undo(beside, name="x") == FILE


def test_a_model_needs_an_id_that_undo_knows():
    with pytest.raises(UsageError, match="must begin with 'onoma-'"):
        Model(id="tagger", name="tagger", version="1", sha256="aa")


LINKER = Model(id="onoma-linker", name="linker", version="1", sha256="cc", kind="linker")
NAMED = FILE.replace(b" resp='#me'", b"")
UND = Mention(7, 10, label="person", entity="tei:p1", score=0.9)


def test_a_name_that_is_there_gets_a_reference_which_can_be_taken_out():
    with_other = write(NAMED, FIRST, GOETHE)
    data = write(with_other, LINKER, UND, references=True)

    expected = b'<persName key="p1" cert="0.9" resp="#onoma-linker">und</persName>'
    assert expected in data
    assert undo(data, name="x", resp="onoma-linker") == with_other
    assert undo(data, name="x") == NAMED


def test_of_two_names_with_the_same_characters_only_one_gets_a_reference():
    outer, inner = b"<rs type='person'>", b"<persName key='p1'>"
    twice = NAMED.replace(b"<persName>und</persName>", outer + b"<persName>und</persName></rs>")

    data = write(twice, LINKER, UND, UND, references=True)

    assert b"<rs type='person'><persName key=\"p1\" cert=" in data
    assert undo(data, name="x") == twice
    linked = twice.replace(b"<persName>", inner)
    assert write(linked, LINKER, UND, references=True) == linked


def test_a_reference_that_a_person_changed_stays_with_the_statement_on_the_linker():
    data = write(NAMED, LINKER, UND, references=True).replace(b'"p1"', b'"p2"')

    left = undo(data, name="x")

    assert b'key="p2"' in left
    assert b'<respStmt xml:id="onoma-linker">' in left


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (NAMED, {}),
        (FILE, {"references": True}),
        (NAMED.replace(b"<persName", b"<persName ref='#p3'"), {"references": True}),
    ],
)
def test_a_reference_is_added_where_it_is_asked_for_and_nothing_is_in_its_place(data, options):
    assert write(data, LINKER, UND, **options) == data


def test_names_of_a_header_that_is_the_text_are_taken_out(tmp_path):
    path = tmp_path / "catalogue.toml"
    path.write_text(
        'content = ["teiHeader"]\n[text]\n'
        'leave_out = ["titleStmt", "encodingDesc", "revisionDesc"]\n'
    )
    described = "<sourceDesc><msDesc><summary>Goethe und Schiller</summary></msDesc></sourceDesc>"
    data = f"<TEI>{HEADER.replace('</fileDesc>', described + '</fileDesc>')}</TEI>".encode()
    edition = load_edition(path)

    written = write_predictions(
        data, edition, {"x": [GOETHE, SCHILLER]}, name="x", model=FIRST
    ).data
    edited = written.replace(b">Goethe<", b">Goethes<")

    assert written.count(b"<persName ") == 2
    assert undo(written, name="x") == data
    assert b">Goethes</persName> und Schiller</summary>" in undo(edited, name="x")
    assert b'<respStmt xml:id="onoma-first">' in undo(edited, name="x")
