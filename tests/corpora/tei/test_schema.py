"""Validation against RelaxNG."""

import sys

import pytest

from corpora.errors import UsageError
from corpora.tei.schema import new_errors
from corpora.tei.xml import XmlError

SCHEMA = """<grammar xmlns="http://relaxng.org/ns/structure/1.0">
<start><element name="p"><zeroOrMore><choice><text/>
<element name="persName"><optional><attribute name="cert"/></optional><text/></element>
</choice></zeroOrMore></element></start></grammar>"""


def validate(data, schema):
    """What is wrong with a file; nothing is with the one before."""
    return new_errors(b"<p/>", data, schema)


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "letters.rng"
    path.write_text(SCHEMA)
    return path


def test_a_valid_file_has_no_errors(schema):
    assert validate(b"<p>a <persName cert='1'>b</persName></p>", schema) == []


def test_an_error_has_its_line(schema):
    [error] = validate(b"<p>a\n<name>b</name></p>", schema)

    assert error.startswith("line 2: ")
    assert "name" in error


def test_only_what_was_not_wrong_before_is_new(schema):
    before = b"<p><x/></p>"

    assert new_errors(before, b"<p>\n\n<x/></p>", schema) == []
    assert len(new_errors(b"<p/>", before, schema)) == len(validate(before, schema)) > 0


def test_a_malformed_file_is_no_invalid_one(schema):
    with pytest.raises(XmlError, match="not well-formed"):
        validate(b"<p>", schema)


def test_the_compact_syntax_is_to_be_converted(tmp_path):
    with pytest.raises(UsageError, match=r"trang a\.rnc a\.rng"):
        validate(b"<p/>", tmp_path / "a.rnc")


@pytest.mark.parametrize("content", [None, "<p", "<p/>"])
def test_what_is_no_schema_is_an_error(content, tmp_path):
    path = tmp_path / "a.rng"
    if content:
        path.write_text(content)

    with pytest.raises(UsageError, match=r"a\.rng: is no RelaxNG schema"):
        validate(b"<p/>", path)


def test_without_lxml_the_error_says_what_to_install(schema, monkeypatch):
    monkeypatch.setitem(sys.modules, "lxml", None)

    with pytest.raises(UsageError, match=r"pip install 'onoma\[tei\]'"):
        validate(b"<p/>", schema)
