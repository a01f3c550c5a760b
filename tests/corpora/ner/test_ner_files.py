import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.ner.conll import MalformedConllError, write_conll
from corpora.ner.json import write_json
from tests.ner_files import read_conll, read_json

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


@pytest.mark.parametrize("rows", [[], [("two words", "O")], [("", "O")], [("x", "PER")]])
def test_what_could_not_be_read_back_is_not_written(tmp_path, rows):
    with pytest.raises(MalformedConllError, match="file#1"):
        write_conll([make_sentence(rows)], tmp_path / "file.conll")
