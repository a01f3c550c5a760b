"""Sets of linked names become documents: HIPE-2022, AIDA-CoNLL, TAC-KBP."""

import pytest

from corpora.datasets.rows import document_from_row
from corpora.datasets.shards import open_dataset
from corpora.ner.linked import main
from corpora.store.inspection import main as shards

HIPE = """\
TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tNE-FINE-LIT\tNE-NESTED\tNEL-LIT\tNEL-METO\tMISC
# hipe2022:language = de
# hipe2022:document_id = a
# hipe2022:date = 1850-01-02
Der\tO\tO\tO\tO\t_\t_\t_
Graf\tB-pers\tO\tB-pers.ind\tO\tQ1\t_\t_
von\tI-pers\tO\tI-pers.ind\tO\tQ1\t_\tNoSpaceAfter|EndOfLine
Ulm\tI-pers\tO\tI-pers.ind\tB-loc\tQ1\t_\tNoSpaceAfter|EndOfSentence
,\tO\tO\tO\tO\t_\t_\tEndOfSentence
Frankreich\tB-loc\tB-org\tB-loc\tO\tQ142\tQ7\t_
#1\tO\tO\tO\tO\t_\t_\tNoSpaceAfter
.\tO\tO\tO\tO\t_\t_\tEndOfSentence

# hipe2022:language = de
# hipe2022:document_id = b
Otto\tB-pers\t_\tB-pers\tO\tNIL\t_\t_
V.\tB-scope\t_\tB-scope\tO\t_\t_\t_
3\tI-scope\t_\tI-scope\tO\t_\t_\t_
"""
AIDA = """\
-DOCSTART- (1 EU)
EU\tB\tEU\t--NME--
rejects
German\tB\tGerman\tGermany\thttp://en.wikipedia.org/wiki/Germany\t11867\t/m/0345h
call

Peter\tB\tPeter Bl\tPeter_Bl\thttp://en.wikipedia.org/wiki/Peter_Bl%C3%A9\t1\t/m/1
Bl\tI\tPeter Bl\tPeter_Bl\thttp://en.wikipedia.org/wiki/Peter_Bl%C3%A9\t1\t/m/1
Paul\tB\tPaul\tPaul\thttp://en.wikipedia.org/wiki/Paul\t2\t/m/2
-DOCSTART- (2testb CRICKET)
Jena\tB\tJena\tJena
"""
TAC = """\
KBP\tM1\tAnna Berg\td1:5-13\tE01\tPER\tNAM\t1.0
KBP\tM2\tBerg\td1:10-13\tNIL002\tPER\tNAM\t1.0
"""


def read(folder, name, text, *options):
    (folder / name).write_text(text, encoding="utf-8")
    status = main([str(folder / name), *options, "--output", str(folder / "made")])
    assert status == 0
    assert shards(["verify", str(folder / "made"), "--rows"]) == 0
    rows = open_dataset(folder / "made", "documents").rows()
    return [document_from_row(row) for row in rows]


def names(document):
    return [(document.text[m.start : m.end], m.label, m.entity) for m in document.mentions]


def test_the_first_of_several_candidates_is_the_link(tmp_path):
    [document, _] = read(tmp_path, "a.tsv", HIPE.replace("\tQ142\t", "\tQ142|Q7\t"))

    assert ("Frankreich", "loc", "wikidata:Q142") in names(document)


def test_a_table_of_hipe_becomes_documents_with_links_and_nil(tmp_path, capsys):
    a, b = read(tmp_path, "x-train-de.tsv", HIPE)

    assert (a.id, a.lang, a.metadata["date"]) == ("a", "de", "1850-01-02")
    assert a.text == "Der Graf von Ulm, Frankreich #1. "
    assert names(a) == [
        ("Graf von Ulm", "pers", "wikidata:Q1"),
        ("Frankreich", "loc", "wikidata:Q142"),
    ]
    assert [a.text[s.start : s.end] for s in a.sentences] == [
        "Der Graf von Ulm",
        ",",
        "Frankreich #1.",
    ]
    assert names(b) == [("Otto", "pers", None)]  # nobody was asked who "V. 3" is
    said = capsys.readouterr().out
    assert "names.NIL: 1" in said
    assert "names.nobody was asked to link: 1" in said


def test_metonymic_links_are_a_set_of_their_own(tmp_path):
    a, b = read(tmp_path, "x-train-de.tsv", HIPE, "--sense", "metonymic")

    assert names(a) == [("Frankreich", "org", "wikidata:Q7")]
    assert names(b) == []


def test_aida_has_names_without_classes_and_documents_by_id(tmp_path, capsys):
    [document] = read(tmp_path, "aida.tsv", AIDA, "--ids", r"\d+ ")

    assert document.id == "1 EU"
    assert names(document) == [
        ("EU", None, None),
        ("German", None, "enwiki:Germany"),
        ("Peter Bl", None, "enwiki:Peter Blé"),
        ("Paul", None, "enwiki:Paul"),
    ]
    assert [document.text[s.start : s.end] for s in document.sentences] == [
        "EU rejects German call",
        "Peter Bl Paul",
    ]
    said = capsys.readouterr().out
    assert "read  2 documents, 1 written, 1 left out by --ids" in said
    assert "names.with an entity: 3" in said


@pytest.mark.parametrize("id", ["d1", "d[1]"])
def test_names_of_tac_are_places_in_the_files_of_its_texts(tmp_path, id):
    (tmp_path / "texts").mkdir()
    file = tmp_path / "texts" / f"{id}.xml"
    file.write_text("<p>\r\nAnna Berg</p>", encoding="utf-8", newline="")
    table = TAC.replace("d1:", f"{id}:")

    [document] = read(tmp_path, "m.tab", table, "--texts", str(tmp_path / "texts"))

    assert names(document) == [("Anna Berg", "PER", "tac:E01"), ("Berg", "PER", None)]


@pytest.mark.parametrize(
    ("text", "options", "status", "message"),
    [
        ("a b\n", (), 2, "no table of HIPE-2022"),
        (TAC, (), 2, "--texts"),
        (TAC.replace("5-13", "4-12"), ("--texts", "."), 1, "d1 has '\\nAnna Ber' there"),
        (TAC.replace("d1:", "d2:"), ("--texts", "."), 1, "has no file d2"),
        (TAC.replace("d1:", "/d1:"), ("--texts", "."), 1, "has no file /d1"),
        (TAC.replace("d1:", "../d1:"), ("--texts", "a"), 1, "has no file ../d1"),
        (TAC.replace("d1:", "latin:"), ("--texts", "."), 1, "latin.txt: not UTF-8"),
        (HIPE.replace("Graf\tB-pers", "Graf\tpers"), (), 1, "x:6: 'pers' is no IOB2 tag"),
        (HIPE.replace("\t_\tNoSpaceAfter\n", "\tNoSpaceAfter\n"), (), 1, "x:11: 7 columns, not 8"),
        (HIPE.replace("NEL-METO", "NEL-X"), ("--sense", "metonymic"), 1, "no column NEL-METO"),
        (AIDA.replace("B\tJena\tJena", "B\tJena"), (), 1, "x:11: expected token"),
        (HIPE.replace("document_id = b", "document_id = a"), (), 1, "the id 'a' is met twice"),
        (AIDA, ("--ids", "(1"), 2, "--ids (1: missing )"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path, monkeypatch, capsys, text, options, status, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d1.sgm").write_text("<p>\r\nAnna Berg</p>", encoding="utf-8", newline="")
    (tmp_path / "latin.txt").write_text("<p>\r\nJürg Berg</p>", encoding="latin-1", newline="")
    (tmp_path / "a").mkdir()
    (tmp_path / "x").write_text(text, encoding="utf-8")

    assert main(["x", *options, "--output", "made"]) == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "made" / "dataset.json").exists()
