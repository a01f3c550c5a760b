"""JSON and TOML that cannot be read: one clear error, whatever is wrong."""

import pytest

from corpora.datasets.shards import read_description
from corpora.errors import CorpusError, UsageError
from corpora.runs.journal import read_journal, read_run
from corpora.runs.receipts import read_receipt
from corpora.system.parsing import ParseError, parse_json, parse_toml, read_json, read_toml

DEEP = "[" * 100_000
LONG = "1" * 100_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DEEP, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
        (LONG, "too many digits"),
        ("[1,", "Expecting value"),
        (b"\xff\xfe\xff", "can't decode"),
    ],
    ids=["arrays", "objects", "digits", "cut", "bytes"],
)
def test_json_that_is_not_read_says_why(text, problem):
    with pytest.raises(ParseError, match=problem):
        parse_json(text)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(DEEP, encoding="utf-8")

    with pytest.raises(ParseError, match=r"a\.json: damaged \(nested too deep\)"):
        read_json(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"a = {LONG}", r"a\.toml: cannot be read \(a number of too many digits\)"),
        (f"a = {DEEP}", r"a\.toml: cannot be read \(nested too deep\)"),
        ("a = 1\nb = ", r"a\.toml:2: not valid TOML"),
        ("a = 1\n" + "b." * 2_000 + "c = 1", r"a\.toml:2: more than 1,000 dots"),
        ("'\u2028'." * 2_000 + "c = 1", r"a\.toml:1: more than 1,000 dots"),
        ("'\x85'." * 500_000 + "c = 1", r"a\.toml:1: more than 1,000 dots"),
        (f"a = {'{a=' * 500_000}1{'}' * 500_000}", r"a\.toml: cannot be read \(nested too deep\)"),
    ],
    ids=["digits", "arrays", "no value", "dots", "line separators", "next lines", "tables"],
)
def test_toml_that_is_not_read_says_where_and_why(text, problem):
    with pytest.raises(UsageError, match=problem):
        parse_toml(text, where="a.toml")


def test_a_toml_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.toml").write_text("a = 1\n", encoding="utf-8-sig")

    assert read_toml(tmp_path / "a.toml") == {"a": 1}


def test_a_toml_file_that_is_not_read_is_named(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"a = '\xff'")

    with pytest.raises(UsageError, match=r"/a\.toml: cannot be read \(.*can't decode"):
        read_toml(tmp_path / "a.toml")
    with pytest.raises(UsageError, match=r"^--labels b\.toml: cannot be read \(.*No such file"):
        read_toml(tmp_path / "b.toml", where="--labels b.toml")


@pytest.mark.parametrize("text", [DEEP, LONG, "[]", "null", '{"files": 1}', "\0"])
def test_damaged_notes_of_a_run_are_as_good_as_none(text, tmp_path):
    for name in ("run.json", "published.json", "receipt.json"):
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert read_run(tmp_path) == {}
    assert read_receipt(tmp_path / "receipt.json") is None
    assert all(isinstance(name, str) for name in read_journal(tmp_path / "published.json"))


@pytest.mark.parametrize("text", [DEEP, LONG, "null"])
def test_a_damaged_description_is_a_clear_error(text, tmp_path):
    (tmp_path / "dataset.json").write_text(text, encoding="utf-8")

    with pytest.raises(CorpusError, match=r"dataset\.json: damaged"):
        read_description(tmp_path)
