"""``python -m modeling.predict`` on every kind of input."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from corpora.document import Document, Mention, Span
from corpora.inspection import main as shards
from corpora.ner.conll import read_conll, write_conll
from corpora.rows import document_from_row, document_to_row
from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter, open_dataset
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from modeling.finetuning.data import NerData
from modeling.predict import main
from modeling.predicting.masked import Guesser
from modeling.tagger import Tagger

LETTERS = Path(__file__).resolve().parents[1] / "data" / "letters"
TEI = """<?xml version='1.0'  encoding="UTF-8"?>
<!-- kept --><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>A</title>
</titleStmt><publicationStmt><p/></publicationStmt><sourceDesc><p/></sourceDesc></fileDesc></teiHeader>
<text><body><p  n='1'>ich war in Ulm und sah bei <persName>Anna</persName> viel.</p><p>dann
war ich in <hi rend="i">Bad</hi> Berg.</p></body></text></TEI>
"""


def predict(*options):
    return main([str(option) for option in options])


def test_text_becomes_a_table(tagger_run, tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("ich war in Ulm.", encoding="utf-16")

    assert predict(tagger_run, "--text", tmp_path / "letter.txt", "--lang", "de") == 0

    header, row = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["start", "end", "label", "probability", "text"]
    assert row.split("\t")[:3] + row.split("\t")[4:] == ["11", "14", "place", "Ulm"]


def test_standard_input_is_read(tagger_run, monkeypatch, capsys):
    source = io.TextIOWrapper(io.BytesIO(b"in Ulm"))
    monkeypatch.setattr("sys.stdin", source)

    assert predict(tagger_run, "--text", "-", "--format", "jsonl") == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["start"], found["end"], found["text"]) == (3, 6, "Ulm")


def test_conll_comes_back_with_other_tags_alone(tagger_run, ner, tmp_path):
    sentences = NerData.open(ner).split("test")
    write_conll(sentences, tmp_path / "in.conll")

    out = tmp_path / "out.conll"
    assert predict(tagger_run, "--conll", tmp_path / "in.conll", "--output", out) == 0

    found = list(read_conll(out, split="test"))
    assert [s.tokens for s in found] == [s.tokens for s in sentences]
    n_right = sum(a.tags == b.tags for a, b in zip(found, sentences, strict=True))
    assert n_right > 0.8 * len(sentences)


def test_words_without_tags_are_read_too(tagger_run, tmp_path, capsys):
    (tmp_path / "words.txt").write_text("in\nUlm\n\n\nbei\nAnna\n")

    assert predict(tagger_run, "--conll", tmp_path / "words.txt", "--format", "json") == 0

    assert json.loads(capsys.readouterr().out) == [
        [["in", "O"], ["Ulm", "B-place"]],
        [["bei", "O"], ["Anna", "B-pers"]],
    ]


def write_documents(folder, documents):
    folder.mkdir()
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["documents"]) as writer:
        for document in documents:
            writer.write(document_to_row(document))
    shard = {name: getattr(writer.shard, name) for name in ("name", "rows", "bytes", "sha256")}
    n = len(documents)
    description = {
        "schema": "documents",
        "version": SCHEMAS["documents"].version,
        "plan": {"fingerprint": "f", "inputs": [], "parameters": {}},
        "shards": [shard],
        "accounting": {"read": n, "written": n, "filtered": {}, "rejected": {}},
        "counters": {},
    }
    (folder / "dataset.json").write_text(json.dumps(description))
    return folder


@pytest.fixture
def documents(tmp_path):
    text = "ich war in Ulm . und bei Ida Berg ."
    document = Document(
        id="d",
        group="g",
        source="s",
        text=text,
        sentences=(Span(0, 16), Span(17, len(text))),
        mentions=(
            Mention(0, 3, label="x", origin="prediction"),
            Mention(21, 28, entity="w:Ida", origin="link"),
        ),
    )
    return write_documents(tmp_path / "documents", [document])


def test_documents_get_predictions_beside_what_is_there(tagger_run, documents, tmp_path):
    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", documents, "--output", out) == 0

    assert shards(["verify", str(out), "--rows"]) == 0
    [document] = [document_from_row(row) for row in open_dataset(out, "documents").rows()]
    found = [(document.text[m.start : m.end], m.origin) for m in document.mentions]
    assert found == [("Ulm", "prediction"), ("bei Ida", "link")]  # "Ida Berg" would cross it
    counters = json.loads((out / "dataset.json").read_text())["counters"]
    assert counters["predictions.crossing"] == 1
    assert counters["predictions.replaced"] == 1


def test_the_same_command_makes_nothing_anew(tagger_run, documents, tmp_path, monkeypatch):
    out = tmp_path / "out"
    predict(tagger_run, "--documents", documents, "--output", out)
    monkeypatch.setattr(Tagger, "annotate_all", None)

    assert predict(tagger_run, "--documents", documents, "--output", out) == 0


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


def test_a_masked_word_and_a_masked_entity_are_guessed(tmp_path, examples, capsys):
    from modeling.pretrain import main as pretrain

    small = ["training.max_steps=2", "training.batch_size=8", "training.micro_batch_size=8"]
    command = ["daluke_small", "--examples", str(examples), "--output", str(tmp_path / "run")]
    assert pretrain([*command, "--set", *small]) == 0

    text = "w1 w3 [MASK] w5"
    assert predict(tmp_path / "run", "--masked", text, "--entities", "0:5", "--top", 3) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == ["6:12 [MASK]", "0:5 w1 w3"]
    assert len(lines) == 8
    [guess] = Guesser.load(tmp_path / "run").pieces(text, top=1000)
    probabilities = [probability for _, probability in guess.best]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1.0 + 1e-5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text", "x.txt"], "name a run"),
        (["run", "--text", "x.txt", "--edition", "tei"], "--edition is for --tei"),
        (["run", "--tei", "x.xml", "--output", "o"], "--tei needs --edition"),
        (["run", "--tei", "x.xml", "--edition", "tei"], "--tei needs --output"),
        (["run", "--documents", "d"], "--documents needs --output"),
        (["run", "--text", "x", "--threshold", "2"], "a probability"),
    ],
)
def test_commands_that_cannot_be_are_explained(options, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        predict(*options)

    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_other_labels_make_the_dataset_anew(tagger_run, documents, tmp_path):
    names = tmp_path / "map.toml"
    out = tmp_path / "out"
    predict(tagger_run, "--documents", documents, "--output", out)
    for target in ("PLACE", "LOC"):
        names.write_text(f'[labels]\nplace = "{target}"\n')

        assert (
            predict(tagger_run, "--documents", documents, "--output", out, "--labels", names) == 0
        )

        [row] = open_dataset(out, "documents").rows()
        labels = {m.label for m in document_from_row(row).mentions if m.origin == "prediction"}
        assert labels == {target}


def test_documents_that_are_not_cut_into_sentences_are_counted(tagger_run, documents, tmp_path):
    [row] = open_dataset(documents, "documents").rows()
    bare = [replace(document_from_row(row), id=id, sentences=()) for id in ("a", "b")]
    write_documents(tmp_path / "bare", bare)

    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", tmp_path / "bare", "--output", out) == 0

    counters = json.loads((out / "dataset.json").read_text())["counters"]
    assert counters["documents.without_sentences"] == 2


def test_a_dataset_without_documents_gives_one(tagger_run, tmp_path):
    write_documents(tmp_path / "none", [])

    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", tmp_path / "none", "--output", out) == 0

    assert list(open_dataset(out, "documents").rows()) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_standard_input_may_be_in_any_usual_encoding(tagger_run, monkeypatch, capsys, encoding):
    data = "süß schön in Ulm, Grüße bei Anna über alles und viel dann".encode(encoding)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    assert predict(tagger_run, "--text", "-", "--format", "jsonl") == 0

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ("Ulm", 13) in [(one["text"], one["start"]) for one in found]


def test_empty_input_has_no_names(tagger_run, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))

    assert predict(tagger_run, "--text", "-", "--format", "json") == 0

    assert json.loads(capsys.readouterr().out) == []


def test_what_is_no_text_is_said_without_options_that_there_are_not(tagger_run, tmp_path, capsys):
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 20)

    assert predict(tagger_run, "--text", tmp_path / "a.bin") == 1

    message = capsys.readouterr().err
    assert "Save it as UTF-8" in message
    assert "--encoding" not in message


def test_offsets_count_characters_whatever_they_are(tagger_run, tmp_path, capsys):
    text = "𝔄𐐷 in Ulm.\r\n\r\nMu\u0308de\u3000in\u00a0Jena,\u200b dann\u2028bei Ida Berg"
    text += "\x0b👩\u200d👩\u200d👧 in Ulm"
    (tmp_path / "a.txt").write_bytes(text.encode())

    assert predict(tagger_run, "--text", tmp_path / "a.txt", "--format", "jsonl") == 0

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"Ulm", "Jena", "Ida Berg"} <= {one["text"] for one in found}
    assert all(text[one["start"] : one["end"]] == one["text"] for one in found)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_word_of_a_list_is_a_line_whatever_is_in_it(tagger_run, tmp_path, capsys, line_end):
    lines = ["in", "Ulm", "", "10\u00a0000", "x\u2028y", "\u200b", " \t", "bei"]
    (tmp_path / "w.txt").write_bytes(line_end.join(lines).encode())

    assert predict(tagger_run, "--conll", tmp_path / "w.txt", "--format", "json") == 0

    words = [[word for word, _ in sentence] for sentence in json.loads(capsys.readouterr().out)]
    assert words == [["in", "Ulm"], ["10\u00a0000", "x\u2028y", "\u200b"], ["bei"]]


def test_what_cannot_be_written_leaves_no_half_of_it(tagger_run, tmp_path, capsys):
    (tmp_path / "w.txt").write_text("in\nUlm\n\n10\u00a0000\n")

    assert predict(tagger_run, "--conll", tmp_path / "w.txt", "--output", tmp_path / "out") == 1
    assert predict(tagger_run, "--conll", tmp_path / "w.txt") == 1

    out, err = capsys.readouterr()
    assert "whitespace" in err
    assert out == ""
    assert {path.name for path in tmp_path.iterdir()} == {"w.txt"}


def test_labels_that_the_edition_has_not_are_said_before_any_file_is_written(
    tagger_run, letter, tmp_path, capsys
):
    with pytest.raises(SystemExit):
        predict(tagger_run, "--tei", letter, "--edition", "tei", "--output", tmp_path / "out")

    message = capsys.readouterr().err
    assert "has no label 'pers'" in message
    assert "--labels MAP" in message
    assert not (tmp_path / "out").exists()


def test_a_decoder_of_another_head_is_refused(tagger_run, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("in Ulm")
    with pytest.raises(SystemExit):
        predict(tagger_run, "--text", tmp_path / "a.txt", "--decoder", "greedy")

    assert "--decoder greedy: does not go with head.kind=crf" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--text", "x", "--existing", "only-new"],
        ["--text", "x", "--crossing", "standOff"],
        ["--text", "x", "--undo"],
        ["--text", "x", "--top", "3"],
        ["--conll", "x", "--entities", "0:3"],
        ["--conll", "x", "--lang", "de"],
        ["--documents", "x", "--output", "o", "--format", "json"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--format", "json"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--candidates", "c"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--apply", "c", "--undo"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--apply", "c", "--labels", "plain"],
        ["--masked", "x", "--threshold", "0.5"],
        ["--text", "x", "--batch-size", "0"],
    ],
)
def test_no_option_does_nothing(options, capsys):
    with pytest.raises(SystemExit) as stopped:
        predict("run", *options)

    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("--") > 0


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
