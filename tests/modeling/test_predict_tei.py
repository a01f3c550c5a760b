"""``onoma predict`` on TEI, and TEI made of text."""

import csv
import json
import re
import shutil
from dataclasses import replace

import pytest

from corpora.document import Document, Mention, reading_order
from corpora.ner.exchange import write_documents
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.review import read_candidates
from corpora.tei.undo import Undone
from modeling.link.linker import LinkerTraining
from modeling.link.records import record_of
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


def test_names_are_written_with_the_entity_of_a_linker_and_taken_out_again(
    tagger_run, letter, labels, tmp_path
):
    def seen(number):
        text = "Er war in Ulm und in Ulm ."
        places = [Mention(n, n + 3, entity="gnd:4061529-2", label="place") for n in (10, 21)]
        return Document(id=f"{number}", group="g", source="s", text=text, mentions=tuple(places))

    records = [record_of(seen(number)) for number in range(40)]
    LinkerTraining(records, {}, max_wrong=0.1).train().save(tmp_path / "linker")
    out = tmp_path / "out"
    options = (*TEI_OPTIONS, labels, "--link", tmp_path / "linker", "--output", out)
    assert predict(tagger_run, "--tei", letter, *options) == 0

    written = (out / "a.xml").read_text()
    [element] = re.findall(r"<placeName[^>]*>Ulm<", written)
    assert "4061529-2" in element
    assert "4061529-2" not in re.search(r"<placeName[^>]*>(?=<hi)", written)[0]  # Bad Berg: NIL
    assert predict("--tei", out / "a.xml", "--undo", "--output", tmp_path / "back") == 0
    assert (tmp_path / "back" / "a.xml").read_bytes() == letter.read_bytes()


def edit_list(tsv, change):
    lines = tsv.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    rows = list(csv.DictReader(lines, dialect="excel-tab"))
    for row in rows:
        change(row)
    with tsv.open("w", encoding="utf-16", newline="") as out:
        writer = csv.DictWriter(out, rows[0], dialect="excel-tab")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_a_reviewed_list_is_applied_and_what_was_decided_is_remembered(
    tagger_run, letter, labels, tmp_path
):
    def review(row):
        row["accept"] = "no" if row["name"] == "Ulm" else ""
        row["name"] = "Berg" if row["name"] == "Bad Berg" else row["name"]

    tsv, options = tmp_path / "c.tsv", ("--edition", "tei", "--decisions", tmp_path / "d.jsonl")
    listing = (tagger_run, "--tei", letter, *options, "--labels", labels, "--candidates")
    assert predict(*listing, tsv) == 0
    rows = edit_list(tsv, review)
    assert "Anna" not in [row["name"] for row in rows]  # a name is there already

    out, applying = tmp_path / "out", ("--tei", letter, *options, "--apply", tsv)
    assert predict(*applying, "--reviewer", "kb", "--output", out) == 0
    assert predict(*applying, "--reviewer", "kb", "--output", out) == 0

    written = (out / "a.xml").read_text()
    assert "Ulm</placeName>" not in written
    assert ' #kb">Berg</placeName>' in written
    decided = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert {"rejected", "corrected"} <= {one["verdict"] for one in decided}
    assert len(decided) == len(rows)  # once, though the list was applied twice
    assert predict(*listing, tmp_path / "again.tsv") == 0
    assert len((tmp_path / "again.tsv").read_text().splitlines()) == 1
    enriching = (tagger_run, "--tei", letter, *options, "--labels", labels, "--threshold", "0")
    assert predict(*enriching, "--output", tmp_path / "next") == 0
    following = (tmp_path / "next" / "a.xml").read_text()
    assert "Ulm</placeName>" not in following
    assert ' #kb">Berg</placeName>' in following
    back = ("--undo", "--reviewer", "kb", "--output", tmp_path / "back")
    assert predict("--tei", tmp_path / "next" / "a.xml", *back) == 0
    assert (tmp_path / "back" / "a.xml").read_bytes() == letter.read_bytes()


def test_a_decision_that_cannot_be_written_is_listed(tagger_run, letter, labels, tmp_path):
    tsv, options = tmp_path / "c.tsv", ("--edition", "tei", "--decisions", tmp_path / "d.jsonl")
    finding = (tagger_run, "--tei", letter, *options, "--labels", labels)
    assert predict(*finding, "--candidates", tsv) == 0
    assert predict("--tei", letter, *options, "--apply", tsv, "--output", tmp_path / "out") == 0
    letter.write_text(letter.read_text().replace("in Ulm", "<placeName>in Ulm</placeName>"))

    assert predict(*finding, "--threshold", "1", "--output", tmp_path / "next") == 0

    skipped = (tmp_path / "next" / "skipped.tsv").read_text().splitlines()
    assert "in or around a name of the same label\tUlm" in "\n".join(skipped)


def test_an_id_in_a_list_is_written_as_the_files_write_theirs(tagger_run, letter, labels, tmp_path):
    def review(row):
        row["entity"] = "#O.9"

    other = letter.with_name("b.xml")
    other.write_text(TEI.replace("<persName>Anna", '<placeName ref="#O.1">Anna'), "utf-8")
    other.write_text(other.read_text().replace("Anna</persName>", "Anna</placeName>"))
    letters, tsv = ("--tei", letter, other, "--edition", "tei"), tmp_path / "c.tsv"
    assert predict(tagger_run, *letters, "--labels", labels, "--candidates", tsv) == 0
    edit_list(tsv, review)

    assert predict(*letters, "--apply", tsv, "--output", tmp_path / "out") == 0
    given = ("--reference", "key={}", "--output", tmp_path / "given")
    assert predict(*letters, "--apply", tsv, *given) == 0

    assert '<placeName ref="#O.9" ' in (tmp_path / "out" / "a.xml").read_text()
    assert '<placeName key="O.9" ' in (tmp_path / "given" / "a.xml").read_text()


@pytest.mark.parametrize("form", ["xmi", "webanno"])
def test_what_people_corrected_in_another_tool_comes_back(
    form, tagger_run, letter, labels, tmp_path
):
    edition = load_edition(edition_path("tei"))
    options = (*TEI_OPTIONS, labels, "--threshold", "0", "--output", tmp_path / "out")
    assert predict(tagger_run, "--tei", letter, *options) == 0
    enriched = tmp_path / "out" / "a.xml"
    [text] = read_tei(enriched.read_bytes(), edition, name="a.xml")
    document, gone = text.document, "Ulm"
    start = document.text.index("viel")
    kept = [m for m in document.mentions if document.text[m.start : m.end] != gone]
    added = Mention(start, start + 4, label="person")
    corrected = replace(document, mentions=tuple(sorted([*kept, added], key=reading_order)))
    list(write_documents([corrected], form, tmp_path / "tool"))
    list(write_documents([document], form, tmp_path / "same"))
    back = ("--tei", enriched, "--edition", "tei", "--from")

    assert predict(*back, tmp_path / "same", "--output", tmp_path / "nothing") == 0
    assert predict(*back, tmp_path / "tool", "--reviewer", "kb", "--output", tmp_path / "new") == 0

    assert (tmp_path / "nothing" / "a.xml").read_bytes() == enriched.read_bytes()
    written = (tmp_path / "new" / "a.xml").read_text()
    assert 'resp="#onoma-corrected #kb">viel</persName>' in written
    assert "Ulm</placeName>" not in written
    undo = ("--undo", "--reviewer", "kb", "--output", tmp_path / "back")
    assert predict("--tei", tmp_path / "new" / "a.xml", *undo) == 0
    assert (tmp_path / "back" / "a.xml").read_bytes() == letter.read_bytes()


@pytest.mark.parametrize("form", ["xmi", "webanno"])
def test_names_of_a_letter_that_was_edited_since_are_written_nowhere(
    form, letter, tmp_path, capsys
):
    edition = load_edition(edition_path("tei"))
    [text] = read_tei(letter.read_bytes(), edition, name="a.xml")
    start = text.document.text.index("viel")
    named = replace(text.document, mentions=(Mention(start, start + 4, label="person"),))
    [made] = write_documents([named], form, tmp_path / "tool")
    letter.write_bytes(letter.read_bytes().replace(b"viel", b"sehr viel"))
    back = ("--tei", letter, "--edition", "tei", "--from", tmp_path / "tool")

    assert predict(*back, "--output", tmp_path / "new") == 0

    assert f"{made}: has another text than a.xml (edited since" in capsys.readouterr().err
    assert (tmp_path / "new" / "a.xml").read_bytes() == letter.read_bytes()


@pytest.mark.parametrize("form", ["webanno", "brat"])
def test_files_of_a_tool_lie_in_folders_as_the_letters_do(form, letter, tmp_path):
    edition, start = load_edition(edition_path("tei")), 0
    folders = [letter.parent / name for name in ("1914", "1915")]
    for folder in folders:
        folder.mkdir()
        name = f"{folder.name}/a.xml"
        data = letter.read_bytes().replace(b"viel", b"viel " + folder.name.encode())
        (folder / "a.xml").write_bytes(data)
        [text] = read_tei(data, edition, name=name)
        start = text.document.text.index("viel")
        named = replace(text.document, mentions=(Mention(start, start + 4, label="person"),))
        list(write_documents([named], form, tmp_path / "tool"))
    back = ("--edition", "tei", "--from", tmp_path / "tool", "--output", tmp_path / "new")

    assert predict("--tei", *folders, *back) == 0

    for name in ("1914", "1915"):
        assert ">viel</persName>" in (tmp_path / "new" / name / "a.xml").read_text()


def test_a_label_of_a_tool_that_the_edition_has_not_is_said_before_any_file_is_written(
    letter, tmp_path, capsys
):
    shutil.copy(letter, letter.with_name("b.xml"))
    [text] = read_tei(letter.read_bytes(), load_edition(edition_path("tei")), name="b.xml")
    named = replace(text.document, mentions=(Mention(0, 3, label="PER"),))
    [made] = write_documents([named], "webanno", tmp_path / "tool")
    back = ("--tei", letter.parent, "--edition", "tei", "--from", tmp_path / "tool")

    with pytest.raises(SystemExit):
        predict(*back, "--output", tmp_path / "new")

    said = capsys.readouterr().err
    assert f"{made}: edition tei has no label 'PER', only person, " in said
    assert "Rename it in the tool" in said
    assert not (tmp_path / "new").exists()


def test_of_two_annotators_none_is_taken_in_silence(letter, tmp_path, capsys):
    [text] = read_tei(letter.read_bytes(), load_edition(edition_path("tei")), name="a.xml")
    document, start = text.document, text.document.text.index("Ulm")
    more = Mention(start, start + 3, label="place")
    other = replace(document, mentions=tuple(sorted([*document.mentions, more], key=reading_order)))
    for annotator, made in {"anna": document, "otto": other, "same": document}.items():
        list(write_documents([made], "xmi", tmp_path / "cas" / annotator))
    back = ("--tei", letter, "--edition", "tei", "--from")

    assert predict(*back, tmp_path / "cas", "--output", tmp_path / "new") == 1

    said = capsys.readouterr().err
    assert "a.xml: " in said
    assert "anna/a.xml.xmi and " in said
    assert not (tmp_path / "new" / "a.xml").exists()
    own = (tmp_path / "cas" / "anna", tmp_path / "cas" / "same")
    assert predict(*back, *own, "--output", tmp_path / "new") == 0


def test_letters_with_the_same_text_get_the_names_of_their_own_files(letter, tmp_path):
    (letter.parent / "b.xml").write_bytes(letter.read_bytes())
    edition = load_edition(edition_path("tei"))
    for name, form in {"a.xml": "Ulm", "b.xml": "Bad"}.items():
        [text] = read_tei(letter.read_bytes(), edition, name=name)
        start = text.document.text.index(form)
        more = Mention(start, start + 3, label="place")
        mentions = sorted([*text.document.mentions, more], key=reading_order)
        list(write_documents([replace(text.document, mentions=tuple(mentions))], "xmi", tmp_path))
    found = ("--from", tmp_path / "a.xml.xmi", tmp_path / "b.xml.xmi", "--output", tmp_path / "new")

    assert predict("--tei", letter.parent / "*.xml", "--edition", "tei", *found) == 0

    assert ">Ulm</placeName>" in (tmp_path / "new" / "a.xml").read_text()
    assert ">Ulm</placeName>" not in (tmp_path / "new" / "b.xml").read_text()


def test_names_that_somebody_changed_stay_and_are_named(
    tagger_run, letter, labels, tmp_path, capsys
):
    out = tmp_path / "out"
    assert predict(tagger_run, "--tei", letter, *TEI_OPTIONS, labels, "--output", out) == 0
    edited = (out / "a.xml").read_text().replace("<placeName cert", '<placeName ref="#p1" cert', 1)
    (out / "a.xml").write_text(edited)
    capsys.readouterr()

    assert predict("--tei", out / "a.xml", "--undo", "--output", tmp_path / "back") == 0

    said = capsys.readouterr().err
    assert "stay: changed since it was written: 1" in said
    assert '<placeName ref="#p1"' in said
    assert '<placeName ref="#p1"' in (tmp_path / "back" / "a.xml").read_text()
    assert "a.xml" in (tmp_path / "back" / "kept.tsv").read_text()


@pytest.mark.parametrize(
    ("chosen", "said", "n"), [(1.0, "1.000, at which 90%", 0), (None, "0.900, for this tagger", 1)]
)
def test_what_is_written_is_as_sure_as_was_chosen_on_dev(
    tagger_run, letter, labels, tmp_path, capsys, chosen, said, n
):
    run = tmp_path / "run"
    shutil.copytree(tagger_run, run)
    [manifest] = run.rglob("final/run.json")
    values = json.loads(manifest.read_text())
    values["dev"]["threshold"] = chosen
    manifest.write_text(json.dumps(values))

    assert predict(run, "--tei", letter, *TEI_OPTIONS, labels, "--output", tmp_path / "out") == 0

    assert f"threshold: {said}" in capsys.readouterr().err
    assert ("</placeName>" in (tmp_path / "out" / "a.xml").read_text()) == bool(n)
    skipped = (tmp_path / "out" / "skipped.tsv").read_text()
    assert ("\tbelow the threshold\tUlm\n" in skipped) == (not n)


def test_files_are_never_overwritten(tagger_run, letter, labels, capsys):
    options = (*TEI_OPTIONS, labels, "--output", letter.parent)
    with pytest.raises(SystemExit) as stopped:
        predict(tagger_run, "--tei", letter, *options)

    assert stopped.value.code == 2
    assert "overwrite" in capsys.readouterr().err
    assert letter.read_bytes() == TEI.encode()


def test_letters_that_are_not_there_are_named_with_their_option(tmp_path, capsys):
    with pytest.raises(SystemExit):
        predict("--tei", tmp_path / "nowhere", "--undo", "--output", tmp_path / "out")

    assert f"--tei {tmp_path}/nowhere: matches no file" in capsys.readouterr().err


def test_files_that_cannot_be_read_are_named(tagger_run, letter, labels, tmp_path, capsys):
    (letter.parent / "b.xml").write_text("<TEI><text>")
    out = tmp_path / "out"

    assert predict(tagger_run, "--tei", letter.parent, *TEI_OPTIONS, labels, "--output", out) == 0

    assert "b.xml" in capsys.readouterr().err
    [row] = (out / "rejected.jsonl").read_text().splitlines()
    rejected = json.loads(row)
    assert rejected["source"] == "b.xml"
    assert rejected["message"].endswith("Repair the file, or leave it out.")
    assert (out / "a.xml").exists()


@pytest.mark.parametrize("option", ["--output", "--candidates"])
def test_where_many_files_cannot_be_read_none_is_passed_over(
    option, tagger_run, letter, labels, tmp_path, capsys
):
    broken = [f"{n:02}.xml" for n in range(12)]
    for name in broken:
        (letter.parent / name).write_text("<TEI>")
    out = tmp_path / "out"

    files = letter.parent / "*.xml"
    assert predict(tagger_run, "--tei", files, *TEI_OPTIONS, labels, option, out) == 1

    said = capsys.readouterr().err
    if option == "--candidates":
        assert [name for name in broken if name in said] == broken
    else:
        assert f"… and 2 more, in {out}/rejected.jsonl" in said
        assert len((out / "rejected.jsonl").read_text().splitlines()) == len(broken)


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

    def broken(data, *, name, **_):
        if name == "b.xml":
            raise LookupError("what nobody has thought of")
        return Undone(data, 0, ())

    monkeypatch.setattr(predicting, "take_out", broken)

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


@pytest.fixture
def parsed(monkeypatch):
    read = []
    source = predicting.TeiFile.read.__func__.__globals__["Source"]

    def counted(data, *, name):
        read.append(data)
        return source(data, name=name)

    monkeypatch.setattr("corpora.tei.writer.Source", counted)
    return read


def test_a_file_is_parsed_once_to_be_tagged_and_written(
    tagger_run, letter, labels, tmp_path, parsed
):
    options = (*TEI_OPTIONS, labels, "--output", tmp_path / "out")
    assert predict(tagger_run, "--tei", letter, *options) == 0

    assert parsed == [TEI.encode(), (tmp_path / "out" / letter.name).read_bytes()]  # the proof's


_FOUND_BY = r'<respStmt xml:id="(onoma-\w+)"><resp>names found by a (\w+) '
REGISTER = """<TEI><standOff><listPlace>
<place xml:id="O.1"><placeName>Ulm</placeName></place>
<place xml:id="O.2"><placeName>Ried</placeName></place>
</listPlace></standOff></TEI>"""


@pytest.fixture
def register(tmp_path):
    path = tmp_path / "register.xml"
    path.write_text(REGISTER)
    return path


def test_a_register_writes_names_without_a_model(letter, register, tmp_path, capsys):
    options = ("--dictionary", "--register", register, "--edition", "tei")
    assert predict(*options, "--tei", letter, "--output", tmp_path / "out") == 0
    assert "in <placeName resp=" in (tmp_path / "out" / "a.xml").read_text()
    assert "see --reference): 1\n" in capsys.readouterr().err
    given = ("--reference", "ref=#{}", "--output", tmp_path / "given")

    assert predict(*options, "--tei", letter, *given) == 0

    written = (tmp_path / "given" / "a.xml").read_text()
    assert 'in <placeName ref="#O.1" resp="#onoma-' in written
    assert "names found by a dictionary" in written
    assert "without an id" not in capsys.readouterr().err
    undoing = ("--undo", "--output", tmp_path / "back")
    assert predict("--tei", tmp_path / "given" / "a.xml", *undoing) == 0
    assert (tmp_path / "back" / "a.xml").read_bytes() == letter.read_bytes()
    assert predict(*options, "--tei", letter, "--candidates", tmp_path / "c.tsv") == 0
    assert "\tUlm\t" in (tmp_path / "c.tsv").read_text(encoding="utf-8-sig")


def test_without_a_register_the_names_tagged_elsewhere_are_known(letter, tmp_path, capsys):
    letter.write_text(TEI.replace("<persName>Anna</persName>", "Anna"))
    dictionary = ("--dictionary", "--edition", "tei", "--tei")
    with pytest.raises(SystemExit):
        predict(*dictionary, letter, "--output", tmp_path / "none")
    assert "no name is tagged in the files" in capsys.readouterr().err
    (letter.parent / "b.xml").write_text(
        '<TEI><text><p>Zu <persName ref="#P.1">Anna</persName>.</p></text></TEI>'
    )

    assert predict(*dictionary, letter.parent, "--output", tmp_path / "out") == 0

    assert 'bei <persName ref="#P.1" resp=' in (tmp_path / "out" / "a.xml").read_text()
    assert "1 × Anna (person): " in capsys.readouterr().err


@pytest.mark.parametrize("prefix", ["", "t:"])
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16"])
@pytest.mark.parametrize("changes", ["", "<list><item>made</item></list>"])
def test_the_same_command_on_a_later_day_writes_the_same_file(
    changes, encoding, prefix, letter, register, tmp_path
):
    header = f"<revisionDesc>{changes}</revisionDesc></teiHeader>"
    text = TEI.replace("</teiHeader>", header).replace("UTF-8", encoding)
    text = re.sub(r"<(/?)(?=\w)", rf"<\1{prefix}", text)
    text = text.replace("xmlns", f"xmlns:{prefix}".rstrip(":"))
    letter.write_bytes(text.encode(encoding))
    command = ("--dictionary", "--register", register, "--edition", "tei", "--tei", letter)
    made = tmp_path / "out" / "a.xml"
    assert predict(*command, "--output", made.parent) == 0
    written = made.read_bytes().decode(encoding)
    earlier = re.sub(r"20\d\d-\d\d-\d\d", "2026-01-01", written)
    assert earlier != written
    made.write_bytes(earlier.encode(encoding))

    assert predict(*command, "--output", made.parent) == 0

    assert made.read_bytes() == earlier.encode(encoding)


def test_a_file_that_was_tagged_is_not_parsed_again_for_the_register(
    tagger_run, letter, labels, register, tmp_path, parsed
):
    options = (*TEI_OPTIONS, labels, "--register", register, "--output", tmp_path / "out")
    assert predict(tagger_run, "--tei", letter, *options) == 0

    assert parsed[0] == TEI.encode()
    assert parsed[-1] == (tmp_path / "out" / letter.name).read_bytes()
    assert len(parsed) == len(set(parsed)) <= 3  # the input, and what each step wrote


def test_ids_are_written_with_the_prefix_that_the_files_declare(letter, register, tmp_path):
    prefix = '<prefixDef ident="o" matchPattern="([0-9]+)" replacementPattern="r.xml#O.$1"/>'
    header = f"<teiHeader><encodingDesc>{prefix}</encodingDesc></teiHeader>"
    text = '<text><body><p>In Ulm. In <placeName ref="o:2">Ried</placeName>.</p></body></text>'
    letter.write_text(f"<TEI>{header}{text}</TEI>")
    (letter.parent / "b.xml").write_text(f"<TEI>{header}<text><p>In Ulm.</p></text></TEI>")
    (letter.parent / "c.xml").write_text("<TEI><text><p>In Ulm.</p></text></TEI>")
    options = ("--dictionary", "--register", register, "--edition", "tei")

    assert predict(*options, "--tei", letter.parent, "--output", tmp_path / "out") == 0

    written = [(tmp_path / "out" / f"{name}.xml").read_text() for name in "abc"]
    assert 'In <placeName ref="o:1" resp' in written[0]
    assert 'In <placeName ref="o:1" resp' in written[1]
    assert 'In <placeName key="r.xml#O.1" resp' in written[2]


def test_headers_show_how_ids_are_written_where_the_text_has_none(
    letter, register, tmp_path, capsys
):
    sent = '<correspAction type="sent"><placeName key="#O.2">Ried</placeName></correspAction>'
    header = f"<teiHeader><profileDesc><correspDesc>{sent}</correspDesc></profileDesc></teiHeader>"
    letter.write_text(f"<TEI>{header}<text><body><p>In Ulm.</p></body></text></TEI>")
    options = ("--edition", "tei", "--tei", letter)
    dictionary = ("--dictionary", "--register", register, *options)

    assert predict(*dictionary, "--output", tmp_path / "out") == 0
    assert predict(*dictionary, "--candidates", tmp_path / "c.tsv") == 0
    assert "shows how ids are written" not in capsys.readouterr().err
    assert predict(*options, "--apply", tmp_path / "c.tsv", "--output", tmp_path / "applied") == 0

    for folder in ("out", "applied"):
        assert 'In <placeName key="#O.1" resp' in (tmp_path / folder / "a.xml").read_text()


def test_a_list_has_ids_though_no_name_shows_how_they_are_written(
    letter, register, tmp_path, capsys
):
    path = tmp_path / "c.tsv"
    options = ("--register", register, "--edition", "tei", "--tei", letter)
    assert predict("--dictionary", *options, "--candidates", path) == 0
    said = capsys.readouterr().err
    assert 'shows how ids are written. --apply writes key="O.1" and so on; --reference' in said
    [line] = read_candidates(path)
    assert (line.name, line.entity) == ("Ulm", "tei:O.1")

    applying = ("--apply", path, "--edition", "tei", "--tei", letter)
    assert predict(*applying, "--output", tmp_path / "own") == 0
    other = ("--reference", "ref=#{}", "--output", tmp_path / "other")
    assert predict(*applying, *other) == 0

    assert 'in <placeName key="O.1" resp="#onoma-' in (tmp_path / "own" / "a.xml").read_text()
    assert 'in <placeName ref="#O.1" resp="#onoma-' in (tmp_path / "other" / "a.xml").read_text()


def test_what_a_tagger_finds_gets_the_ids_of_a_register_and_the_rest_is_added(
    tagger_run, letter, register, labels, tmp_path
):
    there = letter.read_text().replace(
        "bei <persName>Anna</persName>", 'bei <placeName ref="#O.2">Ried</placeName> Ried'
    )
    letter.write_text(there)
    options = (*TEI_OPTIONS, labels, "--register", register, "--threshold")

    assert predict(tagger_run, "--tei", letter, *options, "0", "--output", tmp_path / "out") == 0
    assert predict(tagger_run, "--tei", letter, *options, "1", "--output", tmp_path / "sure") == 0

    for folder, kind in (("out", "model"), ("sure", "dictionary")):
        written = (tmp_path / folder / "a.xml").read_text()
        [(id, found)] = re.findall(_FOUND_BY, written)
        assert found == kind
        assert re.search(rf'<placeName ref="#O.1"( cert="[^"]*")? resp="#{id}">Ulm<', written)
        back = ("--undo", "--output", tmp_path / "back")
        assert predict("--tei", tmp_path / folder / "a.xml", *back) == 0
        assert (tmp_path / "back" / "a.xml").read_text() == there


def test_ids_in_files_that_another_includes_stay_unique(tmp_path):
    head = "<teiHeader><fileDesc><titleStmt><title>A</title></titleStmt></fileDesc></teiHeader>"
    text = "<text><body><p>an <hi>die Lina</hi> Moser</p></body></text>"
    for name in ("l1.xml", "l2.xml"):
        (tmp_path / name).write_text(f"<TEI>{head}{text}</TEI>")
    include = "http://www.w3.org/2001/XInclude"
    both = '<xi:include href="l1.xml"/><xi:include href="l2.xml"/>'
    (tmp_path / "all.xml").write_text(f'<teiCorpus xmlns:xi="{include}">{head}{both}</teiCorpus>')
    names = [f"l{n}.xml\tLina Moser\tperson" for n in (1, 2)]
    (tmp_path / "list.tsv").write_text("\n".join(["file\tname\tlabel", *names, ""]))

    apply = ("--apply", tmp_path / "list.tsv", "--edition", "tei", "--output", tmp_path / "out")
    assert predict("--tei", tmp_path / "l1.xml", tmp_path / "l2.xml", *apply) == 0

    written = [(tmp_path / "out" / name).read_text() for name in ("l1.xml", "l2.xml")]
    ids = [re.findall(r'xml:id="([^"]*)"', each) for each in written]
    assert len({*ids[0], *ids[1]}) == len(ids[0]) + len(ids[1]) == 6


ALL_BUT_PLACES = """<element name="TEI" xmlns="http://relaxng.org/ns/structure/1.0">
<grammar><start><zeroOrMore><choice><text/><ref name="any"/></choice></zeroOrMore></start>
<define name="any"><element><anyName><except><name>placeName</name></except></anyName>
<zeroOrMore><attribute><anyName/></attribute></zeroOrMore>
<zeroOrMore><choice><text/><ref name="any"/></choice></zeroOrMore></element></define></grammar>
</element>"""


def test_parts_without_a_header_are_written_and_valid_where_they_are_included(tmp_path, capsys):
    head = "<teiHeader><fileDesc><titleStmt><title>A</title></titleStmt></fileDesc></teiHeader>"
    include = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
    both = '<xi:include href="l1.xml"/><xi:include href="l2.xml"/>'
    master = f"<TEI {include}>{head}<text><body>{both}</body></text></TEI>"
    part = "<div><p>an <hi>die Lina</hi> Moser in Ulm</p></div>"
    for name, text in (("all.xml", master), ("l1.xml", part), ("l2.xml", part)):
        (tmp_path / name).write_text(text)
    (tmp_path / "s.rng").write_text(ALL_BUT_PLACES)
    rows = [f"l{n}.xml\tLina Moser\tperson" for n in (1, 2)]
    rows = ["file\tname\tlabel", *rows, "l1.xml\tUlm\tplace", ""]
    (tmp_path / "list.tsv").write_text("\n".join(rows))
    out = tmp_path / "out"
    given = ("--edition", "tei", "--schema", tmp_path / "s.rng", "--output", out)

    assert predict("--tei", tmp_path / "*.xml", "--apply", tmp_path / "list.tsv", *given) == 0

    said = capsys.readouterr().err
    assert "written: 2" in said
    assert "skipped: would not be valid: 1" in said
    assert "with the files that it includes" not in said
    assert all((out / name).read_text().count("<persName") == 2 for name in ("l1.xml", "l2.xml"))
    assert predict("--tei", out / "*.xml", "--undo", "--output", tmp_path / "back") == 0
    for name in ("all.xml", "l1.xml", "l2.xml"):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / name).read_bytes()
