import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.ner.conll import MalformedConllError, read_conll, write_conll
from corpora.ner.json import MalformedJsonError, read_json, write_json

TOKEN = st.text(min_size=1, max_size=6).filter(
    lambda text: text.split() == [text] and "\ufeff" not in text
)
ROWS = st.lists(
    st.tuples(TOKEN, st.sampled_from(["O", "B-PER", "I-PER", "B-a_b"])), min_size=1, max_size=6
)
PUBLISHED = [
    f"{folder}/{part}{folder.lower()}"
    for folder in ("Arendt", "Sturm")
    for part in ("", "train_", "dev_", "test_")
]
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def make_sentence(rows, number=1):
    tokens, tags = zip(*rows, strict=True) if rows else ((), ())
    return Sentence(
        id=f"file#{number}", document_id="file", split="train", tokens=tokens, tags=tags
    )


def rows_of(sentences):
    return [list(zip(s.tokens, s.tags, strict=True)) for s in sentences]


def write(tmp_path, text):
    file = tmp_path / "file.conll"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@same_folder
@given(st.lists(ROWS, max_size=4))
def test_conll_round_trip(tmp_path, samples):
    file = tmp_path / "file.conll"

    write_conll(map(make_sentence, samples), file)

    assert rows_of(read_conll(file, split="train")) == samples


@same_folder
@given(st.lists(ROWS | st.just([]), max_size=4))
def test_json_round_trip_has_the_bytes_of_json_dump(tmp_path, samples):
    file = tmp_path / "file.json"

    write_json(map(make_sentence, samples), file)

    assert file.read_text("ascii") == json.dumps(samples)
    assert rows_of(read_json(file, split="train")) == samples


@pytest.mark.realdata
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_come_back_byte_for_byte(realdata, tmp_path, name):
    published = realdata("neiss-ner") / name
    conll, as_json = published.with_suffix(".conll"), published.with_suffix(".json")

    write_conll(read_conll(conll, split="train"), tmp_path / "from.conll")
    write_json(read_json(as_json, split="train"), tmp_path / "from.json")
    write_conll(read_json(as_json, split="train"), tmp_path / "json.conll")
    write_json(read_conll(conll, split="train"), tmp_path / "conll.json")

    for copy in ("from.conll", "json.conll"):
        assert (tmp_path / copy).read_bytes() == conll.read_bytes()
    for copy in ("from.json", "conll.json"):
        assert (tmp_path / copy).read_bytes() == as_json.read_bytes()


def test_sentences_are_named_after_file_and_number(tmp_path):
    file = write(tmp_path, "Ach O\n\nJena B-place\n\n")

    sentences = list(read_conll(file, split="dev"))

    assert [(s.id, s.document_id, s.split) for s in sentences] == [
        ("file.conll#1", "file.conll", "dev"),
        ("file.conll#2", "file.conll", "dev"),
    ]


def test_missing_empty_line_at_the_end_is_forgiven(tmp_path):
    file = write(tmp_path, "Ach O\n\n\nJena B-place")

    assert rows_of(read_conll(file, split="dev")) == [[("Ach", "O")], [("Jena", "B-place")]]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Jena", "1 column "),
        ("Jena B-place x", "3 columns"),
        ("Jena  B-place", "3 columns"),
        ("Jena\tB-place", "1 column "),
        (" B-place", "is empty"),
        ("Jena place", "no IOB2 tag"),
        ("Jena B-", "no IOB2 tag"),
        ("Jena E-place", "no IOB2 tag"),
        ("Je\u00a0na B-place", "whitespace"),
        ("Jena B-place\r", "CR LF"),
        (b"J\xe4na O", "UTF-8"),
    ],
)
def test_bad_line_is_reported_with_its_number(tmp_path, line, problem):
    raw = line if isinstance(line, bytes) else line.encode()
    file = write(tmp_path, b"Ach O\n\n" + raw + b"\n\n")

    with pytest.raises(MalformedConllError, match=rf"file\.conll:3: .*{problem}"):
        list(read_conll(file, split="train"))


def test_byte_order_mark_is_reported(tmp_path):
    file = write(tmp_path, "\ufeffAch O\n\n")

    with pytest.raises(MalformedConllError, match=r"file\.conll:1: .*byte order mark"):
        list(read_conll(file, split="train"))


@pytest.mark.parametrize("rows", [[], [("two words", "O")], [("", "O")], [("x", "PER")]])
def test_what_could_not_be_read_back_is_not_written(tmp_path, rows):
    with pytest.raises(MalformedConllError, match="file#1"):
        write_conll([make_sentence(rows)], tmp_path / "file.conll")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "character 0: no JSON array"),
        ('{"a": 1}', "character 0: no JSON array"),
        ('[[["Jena", "O"]]', "character 16: neither comma"),
        ('[[["Jena", "O"]] [', "character 17: neither comma"),
        ('[[["Jena", "O"]], [["Ulm"', "character 18: not well-formed"),
        ('[[["Jena", "O"]],]', "character 17: not well-formed"),
        ("[]]", "character 2: something follows"),
        ("[1]", "sentence 1: '1' is no array"),
        ('[[], [["Jena"]]]', "sentence 2, token 1: .*Write"),
        ('[[["Jena", 1]]]', "sentence 1, token 1: .*Write"),
        ('[[["Jena", "O"], ["", "O"]]]', "sentence 1, token 2: the token is empty"),
        ('[[["Jena", "place"]]]', "sentence 1, token 1: 'place' is no IOB2 tag"),
        (r'[[["\ud800", "O"]]]', "sentence 1, token 1: .*half a character"),
        (r'[[["x", "B-\udc00"]]]', "sentence 1, token 1: .*half a character"),
        ("[" * 100_000, "character 1: too deeply nested"),
        (b'[[["J\xe4na", "O"]]]', "not UTF-8"),
    ],
)
def test_bad_json_is_reported_with_its_place(tmp_path, text, problem):
    file = write(tmp_path, text)

    with pytest.raises(MalformedJsonError, match=rf"file\.conll: {problem}"):
        list(read_json(file, split="train"))
