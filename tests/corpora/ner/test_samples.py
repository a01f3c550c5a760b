"""Every format by a small sample: detected by its content alone, and read as it says."""

from pathlib import Path

import pytest

from corpora.errors import UsageError
from corpora.ner.detection import Overrides
from corpora.ner.files import FilePart, describe, read_file
from tests.corpora.ner.reading import read, show

DATA = Path(__file__).resolve().parents[2] / "data" / "ner"
NONE = Overrides()


EXPECTED = {
    "eng.testa": (
        "conll",
        "iob1",
        [
            "Clara/B-PER Schumann/I-PER met Brahms/B-PER Robert/B-PER in Hamburg/B-LOC .",
            "# Hamburg/B-ORG News/I-ORG",
        ],
    ),
    "NER-de-dev.tsv": (
        "germeval",
        "iob2",
        ["Hamburger/B-ORGpart SV/I-ORGpart gewinnt", "Die Elbe/B-LOC bei Hamburg/B-LOC"],
    ),
    "da_news_test.tsv": (
        "danplus",
        "iob2",
        ["Odense/B-ORG Teater/I-ORG lukker", "Den danske/B-LOCderiv vinter"],
    ),
    "da_x-ud-dev.iob2": ("uner", "iob2", ["Mads/B-PER bor i Odense/B-LOC .", "Til Mads/B-PER"]),
    "no_x-ud-dev.conllu": (
        "conllu",
        "iob2",
        ["Ola/B-PER Nordmann/I-PER bor i Bergen/B-GPE_LOC .", "# Odda/B-GPE_LOC"],
    ),
    "hu_devel.conllup": (
        "conllup",
        "iob2",
        ["Kovács/B-PER Anna/I-PER Pécsen/B-LOC él", "# Győr/B-LOC és"],
    ),
    "HIPE-2022-v2.1-x-train-de.tsv": (
        "hipe",
        "iob2",
        [
            "Der Graf/B-pers von/I-pers Ulm/I-pers der/I-pers Jüngere/I-pers .",
            "###ch Jena/B-loc",
            "Ulm/B-loc",
        ],
    ),
    "wikiann-de-train": (
        "wikiann",
        "iob2",
        ["Clara/B-PER Schumann/I-PER spielt", "WEITERLEITUNG Jena/B-LOC"],
    ),
    "weiboNER.conll.test": (
        "weibo",
        "iob2",
        ["小/B-PER.NAM 红/I-PER.NAM 在 上/B-GPE.NAM 海/I-GPE.NAM", "# 妈/B-PER.NOM 妈/I-PER.NOM 2"],
    ),
    "novels.train.txt": (
        "titles",
        "iob2",
        ["小/B-PER 红/I-PER 来", "王/B-PER 三/I-PER 到 上/B-LOC 海/I-LOC"],
    ),
    "test.char.bmes": (
        "conll",
        "iobes",
        ["王/B-NAME 小/I-NAME 红/I-NAME ， 男", "汉/B-RACE 族 任 经/B-TITLE 理/I-TITLE"],
    ),
    "msra_train.txt": ("conll", "iob2", ["王/B-PER 三/I-PER 去 上/B-LOC 海/I-LOC", "好"]),
    "cluener-dev.json": (
        "cluener",
        "iob2",
        ["海/B-book 上/I-book 银/I-book 行/I-book 史/I-book 说 小/B-name 红/I-name", "没 有"],
    ),
    "train_letters.json": ("json", "iob2", ["Clara/B-pers grüßt", "1/B-date ./I-date Mai/I-date"]),
    "corpus_Paramopama.txt": (
        "labels",
        "iob1",
        [
            "Ana/B-PESSOA Sá/I-PESSOA vive em o Porto/B-LOCAL e canta .",
            "# é um sinal ; Ana/B-PESSOA Rui/I-PESSOA Lisboa/B-LOCAL",
        ],
    ),
    "ragged-train.txt": ("conll", "iob2", ["Clara/B-PER Schumann/I-PER geht", "Jena/B-LOC"]),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_sample_is_detected_and_read(name):
    form, scheme, sentences = EXPECTED[name]

    layout, rows, made = read(DATA / name)

    assert (layout.format, layout.scheme) == (form, scheme)
    assert [show(row["tokens"], row["tags"]) for row in rows] == sentences
    assert not made.rejected


@pytest.mark.parametrize("name", EXPECTED)
def test_naming_what_is_detected_changes_nothing(name):
    form, scheme, _ = EXPECTED[name]

    assert read(DATA / name, format=form, scheme=scheme)[:2] == read(DATA / name)[:2]


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("NER-de-dev.tsv", ["Hamburger/B-LOCderiv SV gewinnt", "Die Elbe bei Hamburg"]),
        ("da_news_test.tsv", ["Odense/B-LOC Teater lukker", "Den danske vinter"]),
        ("cluener-dev.json", ["海/B-company 上/I-company 银/I-company 行/I-company 史 说 小 红"]),
    ],
)
def test_second_level_goes_to_inner_tags(name, inner):
    _, rows, _ = read(DATA / name)

    shown = [show(row["tokens"], row["inner_tags"]) for row in rows if row["inner_tags"]]

    assert shown == inner


@pytest.mark.parametrize(
    ("name", "documents"),
    [
        ("eng.testa", ["eng.testa:1", "eng.testa:12"]),
        ("NER-de-dev.tsv", ["http://example.org/hamburg", "blatt.de vom 1.5.2011"]),
        ("da_x-ud-dev.iob2", ["brev-1", "brev-2"]),
        ("no_x-ud-dev.conllu", ["brev-1", "brev-2"]),
        ("hu_devel.conllup", ["hir-1"] * 2),
        ("HIPE-2022-v2.1-x-train-de.tsv", ["blatt-1850-p1", "blatt-1850-p1", "blatt-1850-p2"]),
        ("novels.train.txt", ["山中记", "海上行"]),
        ("wikiann-de-train", ["wikiann-de-train", "wikiann-de-train"]),
    ],
)
def test_documents_are_named_as_the_file_names_them(name, documents):
    _, rows, _ = read(DATA / name)

    assert [row["document_id"] for row in rows] == documents


@pytest.mark.parametrize(
    ("name", "column"), [("no_x-ud-dev.conllu", "name"), ("hu_devel.conllup", "CONLL:NER")]
)
def test_the_column_of_names_can_be_named(name, column):
    assert read(DATA / name, tag_column=column)[:2] == read(DATA / name)[:2]


def test_a_file_of_conllu_without_any_name_is_read(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\tvon\t_\tADP\t_\t_\t0\troot\t_\tname=O|SpaceAfter=No\n")

    layout, [row], _ = read(path)

    assert (layout.format, row["tags"]) == ("conllu", ["O"])


def test_a_header_without_a_column_of_names_is_an_error_with_what_there_is(tmp_path):
    path = tmp_path / "a.conllup"
    path.write_text("# global.columns = ID FORM UPOS\n1\tJena\tPROPN\n")

    with pytest.raises(UsageError, match="no columns FORM and NER among ID, FORM, UPOS"):
        read(path)


def test_ids_are_the_lines_of_first_tokens():
    _, rows, _ = read(DATA / "eng.testa")

    assert [row["id"] for row in rows] == ["eng.testa:3", "eng.testa:14"]


def test_ids_of_an_array_are_numbers():
    _, rows, _ = read(DATA / "train_letters.json")

    assert [row["id"] for row in rows] == ["train_letters.json#1", "train_letters.json#2"]


def test_another_column_can_be_named():
    _, rows, _ = read(DATA / "HIPE-2022-v2.1-x-train-de.tsv", tag_column="NE-NESTED")

    assert show(rows[0]["tokens"], rows[0]["tags"]).startswith("Der Graf von Ulm/B-loc.adm.town")


def test_second_level_can_be_left_out():
    _, rows, _ = read(DATA / "NER-de-dev.tsv", inner_column="none")

    assert [row["inner_tags"] for row in rows] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        "Bad B-LOC O O O\nBerg I-LOC B-PER O O\nda O O O O\n",  # the last two are empty here
        "Bad\tB-LOC\tO\tO\t\nBerg\tI-LOC\tB-PER\tO\t\n",  # a tab at the end
        "Bad B-LOC O B-A\nBerg I-LOC B-PER O\n",
        "1\tBad\tbad\tADJ\t_\tB-LOC\tO\n2\tBerg\tberg\tNOUN\t_\tI-LOC\tB-X\n",
    ],
)
def test_more_columns_of_names_than_are_read_are_a_question(tmp_path, text):
    (tmp_path / "file").write_text(text)

    with pytest.raises(UsageError, match=r"tags of names are in column .*Name what to read"):
        describe(tmp_path / "file", name="file", overrides=NONE)


def test_columns_that_are_named_are_read_among_others_with_names(tmp_path):
    (tmp_path / "file").write_text("Bad B-LOC O O\nBerg I-LOC B-PER B-X\n")

    _, [row], _ = read(tmp_path / "file", tag_column="2", inner_column="3")

    assert (row["tags"], row["inner_tags"]) == (["B-LOC", "I-LOC"], ["O", "B-PER"])


FEW = "Ada PERSON\n" + "geht O\n" * 30 + "\n"


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        (FEW, ["B-PERSON"] + ["O"] * 30),  # nine in ten are O, which is a tag
        ("Ada NNP PERSON\ngeht VBZ O\n. . O\n", ["B-PERSON", "O", "O"]),
        ("EU NNP B-NP ORG\nrejects VBZ B-VP O\n. . O O\n", ["B-ORG", "O", "O"]),
        ("1\tAda\tPERSON\n2\tgeht\tO\n3\t.\tO\n\n", ["B-PERSON", "O", "O"]),
        ("Ada\tPERSON\n#\tPERSON\ngeht\tO\n,\tO\n", ["B-PERSON", "I-PERSON", "O", "O"]),
        ("Ada   PERSON\nSá   PERSON\ngeht   0\n,   0\n", ["B-PERSON", "I-PERSON", "O", "O"]),
        ("# a comment of ours\nAda PERSON\n# comment\ngeht O\n", ["B-PERSON", "O"]),
    ],
)
def test_labels_without_letters_are_recognized_by_the_tokens_outside(tmp_path, text, tags):
    (tmp_path / "file").write_text(text)

    layout, [row], made = read(tmp_path / "file")

    assert (layout.format, layout.scheme, row["tags"]) == ("labels", "iob1", tags)
    assert not made.rejected


@pytest.mark.parametrize(
    "text",
    [
        "Ada PROPN\ngeht VERB\n. PUNCT\n",  # parts of speech: no O
        "Ada NP\ngeht VP\n. O\n, O\n",  # chunks
        "Ada B.PERSON\ngeht O\n",
        "Ada B-\ngeht O\n",
        "Ada O^O\ngeht O\n",  # tags of the parts of a word
    ],
)
def test_columns_of_other_things_are_not_taken_for_labels(tmp_path, text):
    (tmp_path / "file").write_text(text)

    with pytest.raises(UsageError, match="in no format that is known"):
        describe(tmp_path / "file", name="file", overrides=NONE)


@pytest.mark.parametrize("text", ["Ada B-PER\ngeht O\n", FEW.replace("PERSON", "B-PER"), "Ada O\n"])
def test_tags_are_not_taken_for_labels(tmp_path, text):
    (tmp_path / "file").write_text(text)

    assert describe(tmp_path / "file", name="file", overrides=NONE).format == "conll"


def test_labels_that_few_tokens_are_outside_of_can_be_named(tmp_path):
    (tmp_path / "file").write_text("Ada PER NNP\nSá PER NNP\ngeht O VBZ\nPorto LOC NNP\n")

    _, [row], _ = read(tmp_path / "file", format="labels", tag_column="2")

    assert row["tags"] == ["B-PER", "I-PER", "O", "B-LOC"]


@pytest.mark.parametrize(
    ("text", "said", "problem"),
    [
        ("Only prose.\nNothing else here.\n", {}, "in no format that is known"),
        ("", {}, "in no format that is known"),
        ("O " * 1_000 + "O\n", {}, "in no format that is known"),
        ('{"id": 1, "ners": [[0, 2, "PER"]]}\n', {}, "first object has 'id', 'ners'. Write texts"),
        ("{settings}\n", {}, "The likeliest are spans: JSON Lines .*; tokens: "),
        ("Jena NNP\nUlm NNP\n", {}, "The likeliest are conll: .*; labels: "),
        ("Jena B-LOC\nUlm B-LOC\n", {"format": "labels"}, "is not laid out as labels"),
        (FEW, {"scheme": "iob2"}, "labels, which has no use for --scheme. Leave it out"),
        ("Jena B-LOC\n", {"format": "parquet"}, "is no Parquet file"),
        ("Jena B-LOC\n", {"tag_column": "3"}, "no such column. There are 1 to 2"),
        ("version https://git-lfs.github.com/spec/v1\noid 1\n", {}, "is a pointer of Git LFS"),
        ("#FORMAT=WebAnno TSV 3.2\n\n1-1\t0-1\t@\t_\t_\t\n", {}, "which layer of WebAnno"),
        ("<http://a.b/c> <http://a.b/d> <http://a.b/e> .\n", {}, "in no format that is known"),
        ("<DOC>\n<ENAMEX TYPE='PERSON'>Ada</ENAMEX>\n", {}, "is XML or SGML"),
        ("TOKEN\tNE-FINE\nUlm\tB-LOC\n", {}, "has no NE-COARSE-LIT"),
    ],
)
def test_what_is_in_no_format_is_refused(tmp_path, text, said, problem):
    (tmp_path / "file").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=problem):
        describe(tmp_path / "file", name="file", overrides=Overrides(**said))


@pytest.mark.parametrize(("encoding", "said"), [("utf-16", None), ("gb18030", "gb18030")])
def test_other_encodings_are_recognized_by_their_mark_or_named(tmp_path, encoding, said):
    path = tmp_path / "file"
    path.write_bytes("北 B-LOC\n京 I-LOC\n\n".encode(encoding))

    layout = describe(path, name="file", overrides=NONE, encoding=said)
    [(found, _)] = read_file(path, layout, name="file", part=FilePart())

    assert found.tokens.to_pylist() == ["北", "京"]


def test_encoding_that_cannot_be_recognized_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_bytes("北 B-LOC\n京 I-LOC\n是 O\n大 O\n城 O\n\n".encode("gb18030") * 5)

    with pytest.raises(UsageError, match="--encoding"):
        describe(path, name="file", overrides=NONE)


def test_archives_are_read(tmp_path):
    import gzip

    path = tmp_path / "dev.conll.gz"
    path.write_bytes(gzip.compress(b"Jena B-LOC\n"))

    _, rows, _ = read(path)

    assert [row["tokens"] for row in rows] == [["Jena"]]
