"""``onoma predict`` on text and words, and options that it refuses."""

import io
import json

import pytest

from corpora.ner.exports import lines_of
from modeling.finetune.data import NerData
from modeling.predict.__main__ import main
from modeling.predict.masked import Guesser
from tests.ner_files import read_conll


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


def test_a_sentence_in_the_place_of_a_file_is_explained(capsys):
    assert predict("run", "--text", "Ich war in Ulm. " * 99) == 1

    assert "no such file. Text itself is given by --text -" in capsys.readouterr().err


def test_conll_comes_back_with_other_tags_alone(tagger_run, ner, tmp_path):
    sentences = NerData.open(ner).split("test")
    lines = [lines_of((s.tokens, s.tags), s.id) for s in sentences]
    (tmp_path / "in.conll").write_text("".join(lines), "utf-8")

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


def test_a_masked_word_and_a_masked_entity_are_guessed(tmp_path, examples, capsys):
    from modeling.pretrain.__main__ import main as pretrain

    small = ["training.max_steps=2", "training.batch_size=8", "training.micro_batch_size=8"]
    command = ["daluke_small", "--examples", str(examples), "--output", str(tmp_path / "run")]
    assert pretrain([*command, "--set", *small]) == 0

    text = "w1 w3 [MASK] w5"
    assert predict(tmp_path / "run", "--masked", text, "--entities", "0:5") == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == ["6:12 [MASK]", "0:5 w1 w3"]
    assert len(lines) == 12
    [guess] = Guesser.load(tmp_path / "run").subwords(text, top=1000)
    probabilities = [probability for _, probability in guess.best]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1.0 + 1e-5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text", "x.txt"], "name a run"),
        (["run", "--text", "x.txt", "--edition", "tei"], "--edition is for --tei"),
        (["run", "--tei", "x.xml", "--edition", "tei"], "--tei needs --output"),
        (["run", "--documents", "d"], "--documents needs --output"),
        (["run", "--text", "x", "--threshold", "2"], "from 0 to 1"),
    ],
)
def test_commands_that_cannot_be_are_explained(options, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        predict(*options)

    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("option", "data", "advice"),
    [
        ("--text", bytes(range(256)) * 20, "Save it as UTF-8."),
        ("--conll", bytes(range(256)) * 20, "Save it as UTF-8."),
        ("--text", b"\x1f\x8b\x08damaged", "leave it out."),
    ],
)
def test_what_is_not_read_is_said_without_options_that_there_are_not(
    tagger_run, tmp_path, capsys, option, data, advice
):
    (tmp_path / "a.bin").write_bytes(data)

    assert predict(tagger_run, option, tmp_path / "a.bin") == 1

    message = capsys.readouterr().err
    assert advice in message
    assert "--" not in message


def test_words_in_an_unknown_layout_are_said_without_options_that_there_are_not(
    tagger_run, tmp_path, capsys
):
    (tmp_path / "words").write_text("a b c\nd e\n")

    with pytest.raises(SystemExit) as stopped:
        predict(tagger_run, "--conll", tmp_path / "words")

    assert stopped.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "Give words alone" in message
    assert "--" not in message


def test_offsets_count_characters_whatever_they_are(tagger_run, tmp_path, capsys):
    text = "𝔄𐐷 in Ulm.\r\n\r\nMu\u0308de\u3000in\u00a0Jena,\u200b dann\u2028bei Ida Berg"
    text += "\x0b👩\u200d👩\u200d👧 in Ulm"
    (tmp_path / "a.txt").write_bytes(text.encode())

    assert predict(tagger_run, "--text", tmp_path / "a.txt", "--format", "jsonl") == 0

    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"Ulm", "Jena", "Berg"} <= {word for one in found for word in one["text"].split()}
    assert [one["text"] for one in found].count("Ulm") == 2
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
    assert "white space" in err
    assert out == ""
    assert {path.name for path in tmp_path.iterdir()} == {"w.txt"}


@pytest.mark.parametrize("option", ["--text", "--conll"])
def test_the_file_that_is_read_is_not_overwritten(option, tagger_run, tmp_path, capsys):
    letter = tmp_path / "letter.txt"
    letter.write_bytes(b"in\r\nUlm")

    with pytest.raises(SystemExit):
        predict(tagger_run, option, letter, "--output", letter)

    assert "is the file that is read" in capsys.readouterr().err
    assert letter.read_bytes() == b"in\r\nUlm"


def test_files_of_an_annotation_tool_are_not_overwritten(tagger_run, tmp_path, capsys):
    letter, annotations = tmp_path / "letter.txt", tmp_path / "letter.ann"
    command = (tagger_run, "--text", letter, "--format", "brat", "--output", annotations)
    letter.write_bytes("in Ulm, öfter".encode("latin-1"))
    with pytest.raises(SystemExit):  # brat has the text beside, in UTF-8
        predict(*command)
    assert letter.read_bytes() == "in Ulm, öfter".encode("latin-1")
    letter.write_text("in Ulm, öfter")
    assert predict(*command) == predict(*command) == 0
    corrected = annotations.read_text().replace("place", "pers")
    annotations.write_text(corrected)

    with pytest.raises(SystemExit):
        predict(*command)

    assert f"{annotations}: is there already" in capsys.readouterr().err
    assert annotations.read_text() == corrected


@pytest.mark.parametrize(
    "options",
    [
        ["--text", "x", "--existing", "only-new"],
        ["--text", "x", "--crossing", "standOff"],
        ["--text", "x", "--undo"],
        ["--conll", "x", "--entities", "0:3"],
        ["--conll", "x", "--lang", "de"],
        ["--documents", "x", "--output", "o", "--format", "json"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--format", "json"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--candidates", "c"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--apply", "c", "--undo"],
        ["--tei", "x", "--edition", "tei", "--output", "o", "--apply", "c", "--labels", "plain"],
        ["--masked", "x", "--threshold", "0.5"],
    ],
)
def test_no_option_does_nothing(options, capsys):
    with pytest.raises(SystemExit) as stopped:
        predict("run", *options)

    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("--") > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["run", "--undo"], "a run finds names: leave it out with"),
        (["run", "--apply", "c"], "a run finds names: leave it out with"),
        (["--apply", "c", "--threshold", ".9"], "--threshold is for names that are found"),
        (["--undo", "--existing", "only-new"], "--existing is for names that are written"),
        (["--undo", "--labels", "plain"], "--labels is for a tagger: name a run"),
    ],
)
def test_options_of_finding_and_writing_are_refused_where_neither_is_done(options, said, capsys):
    with pytest.raises(SystemExit):
        predict(*options, "--tei", "x", "--edition", "tei", "--output", "o")

    assert said in capsys.readouterr().err
