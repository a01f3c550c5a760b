"""``python -m modeling.predict`` on every kind of input."""

import io
import json
from pathlib import Path

import pytest

from corpora.document import Document, Mention, Span
from corpora.inspection import main as shards
from corpora.ner.conll import read_conll, write_conll
from corpora.rows import document_from_row, document_to_row
from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter, open_dataset
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
    folder = tmp_path / "documents"
    folder.mkdir()
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["documents"]) as writer:
        writer.write(document_to_row(document))
    shard = {name: getattr(writer.shard, name) for name in ("name", "rows", "bytes", "sha256")}
    description = {
        "schema": "documents",
        "version": SCHEMAS["documents"].version,
        "plan": {"fingerprint": "f", "inputs": [], "parameters": {}},
        "shards": [shard],
        "accounting": {"read": 1, "written": 1, "filtered": {}, "rejected": {}},
        "counters": {},
    }
    (folder / "dataset.json").write_text(json.dumps(description))
    return folder


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
