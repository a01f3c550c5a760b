"""``python -m modeling.predict`` on TEI, and TEI made of text."""

import json

import pytest

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from modeling.predict import tei as predicting
from tests.modeling.test_predict import predict

TEI = """<?xml version='1.0'  encoding="UTF-8"?>
<!-- kept --><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>A</title>
</titleStmt><publicationStmt><p/></publicationStmt><sourceDesc><p/></sourceDesc></fileDesc></teiHeader>
<text><body><p  n='1'>ich war in Ulm und sah bei <persName>Anna</persName> viel.</p><p>dann
war ich in <hi rend="i">Bad</hi> Berg.</p></body></text></TEI>
"""


@pytest.fixture
def letter(tmp_path):
    path = tmp_path / "letters" / "a.xml"
    path.parent.mkdir()
    path.write_bytes(TEI.encode())
    return path


TEI_OPTIONS = ("--edition", "tei", "--labels")


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.toml"
    path.write_text('[labels]\npers = "person"\n')
    return path


def test_names_are_written_into_tei_and_nothing_else_changes(tagger_run, letter, labels, tmp_path):
    out = tmp_path / "out"
    options = (*TEI_OPTIONS, labels, "--output", out)
    assert predict(tagger_run, "--tei", letter, *options) == 0

    written = (out / "a.xml").read_text()
    assert ">Ulm</placeName>" in written
    assert '<hi rend="i">Bad</hi> Berg</placeName>' in written
    assert written.count("<persName>Anna</persName>") == 1
    assert "<?xml version='1.0'  encoding=\"UTF-8\"?>\n<!-- kept -->" in written
    assert predict("--tei", out / "a.xml", "--undo", "--output", tmp_path / "back") == 0
    assert (tmp_path / "back" / "a.xml").read_bytes() == letter.read_bytes()


def test_a_reviewed_list_is_applied(tagger_run, letter, labels, tmp_path):
    tsv = tmp_path / "c.tsv"
    options = (*TEI_OPTIONS, labels, "--candidates", tsv)
    assert predict(tagger_run, "--tei", letter, *options) == 0
    head, *rows = tsv.read_text().splitlines()
    kept = [row + ("no" if "Ulm" in row.split("⟦")[1] else "") for row in rows]
    tsv.write_text("\n".join([head, *kept]) + "\n")

    out = tmp_path / "out"
    assert predict("--tei", letter, "--edition", "tei", "--apply", tsv, "--output", out) == 0

    written = (out / "a.xml").read_text()
    assert "Ulm</placeName>" not in written
    assert "Berg</placeName>" in written


def test_files_are_never_overwritten(tagger_run, letter, labels, capsys):
    options = (*TEI_OPTIONS, labels, "--output", letter.parent)
    with pytest.raises(SystemExit) as stopped:
        predict(tagger_run, "--tei", letter, *options)

    assert stopped.value.code == 2
    assert "overwrite" in capsys.readouterr().err
    assert letter.read_bytes() == TEI.encode()


def test_files_that_cannot_be_read_are_named(tagger_run, letter, labels, tmp_path, capsys):
    (letter.parent / "b.xml").write_text("<TEI><text>")
    out = tmp_path / "out"

    assert predict(tagger_run, "--tei", letter.parent, *TEI_OPTIONS, labels, "--output", out) == 0

    assert "b.xml" in capsys.readouterr().err
    [row] = (out / "rejected.jsonl").read_text().splitlines()
    assert json.loads(row)["source"] == "b.xml"
    assert (out / "a.xml").exists()


def test_labels_that_the_edition_has_not_are_said_before_any_file_is_written(
    tagger_run, letter, tmp_path, capsys
):
    with pytest.raises(SystemExit):
        predict(tagger_run, "--tei", letter, "--edition", "tei", "--output", tmp_path / "out")

    message = capsys.readouterr().err
    assert "has no label 'pers'" in message
    assert "--labels MAP" in message
    assert not (tmp_path / "out").exists()


def test_a_text_becomes_a_tei_file_with_its_names(tagger_run, tmp_path, labels, capsys):
    text = "ich war in Ulm & sah <viel>.\n\n  dann  bei Ida Berg.\n"
    (tmp_path / "letter.txt").write_text(text)

    command = ("--text", tmp_path / "letter.txt", "--format", "tei", "--labels", labels)
    assert predict(tagger_run, *command, "--lang", "de") == 0

    written = capsys.readouterr().out
    [found] = read_tei(written.encode(), load_edition(edition_path("tei")), name="a.xml")
    names = [(found.document.text[m.start : m.end], m.label) for m in found.document.mentions]
    assert {("Ulm", "place"), ("Ida Berg", "person")} <= set(names)
    assert found.document.text == "ich war in Ulm & sah <viel>.\ndann  bei Ida Berg."
    assert "&lt;viel" in written


def test_a_character_that_xml_cannot_hold_is_named(tagger_run, tmp_path, labels, capsys):
    (tmp_path / "letter.txt").write_text("in Ulm\ufffe .")

    command = ("--text", tmp_path / "letter.txt", "--format", "tei", "--labels", labels)
    assert predict(tagger_run, *command) == 1
    assert "character 6 of the text (U+FFFE)" in capsys.readouterr().err


def test_an_error_of_ours_in_one_file_rejects_it_and_no_other(letter, monkeypatch, tmp_path):
    letter.with_name("b.xml").write_bytes(TEI.encode())

    def broken(data, *, name):
        if name == "b.xml":
            raise LookupError("what nobody has thought of")
        return data

    monkeypatch.setattr(predicting, "undo", broken)

    assert predict("--tei", letter.parent, "--undo", "--output", tmp_path / "out") == 0

    [row] = (tmp_path / "out" / "rejected.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["reason"] == "internal_error"
    assert (tmp_path / "out" / "a.xml").exists()


def test_what_a_person_has_worked_on_is_never_overwritten(
    tagger_run, letter, labels, tmp_path, capsys
):
    out = tmp_path / "out"
    command = (tagger_run, "--tei", letter, *TEI_OPTIONS, labels, "--output", out)
    assert predict(*command) == 0
    assert predict(*command) == 0  # the same bytes are no work of a person
    edited = (out / "a.xml").read_bytes().replace(b"viel", b"sehr viel")
    (out / "a.xml").write_bytes(edited)

    with pytest.raises(SystemExit):
        predict(*command)

    assert "somebody may have worked on it" in capsys.readouterr().err
    assert (out / "a.xml").read_bytes() == edited


def test_a_reviewed_list_is_never_overwritten(tagger_run, letter, labels, tmp_path, capsys):
    tsv = tmp_path / "c.tsv"
    command = (tagger_run, "--tei", letter, *TEI_OPTIONS, labels, "--candidates", tsv)
    assert predict(*command) == 0
    reviewed = tsv.read_text() + "\n"
    tsv.write_text(reviewed)

    with pytest.raises(SystemExit):
        predict(*command)

    assert "somebody may have worked on it" in capsys.readouterr().err
    assert tsv.read_text() == reviewed


def test_a_file_is_parsed_once_to_be_tagged_and_written(
    tagger_run, letter, labels, tmp_path, monkeypatch
):
    read = []
    source = predicting.TeiFile.read.__func__.__globals__["Source"]

    def counted(data, *, name):
        read.append(data)
        return source(data, name=name)

    monkeypatch.setattr("corpora.tei.writer.Source", counted)

    options = (*TEI_OPTIONS, labels, "--output", tmp_path / "out")
    assert predict(tagger_run, "--tei", letter, *options) == 0

    assert read == [TEI.encode()]
