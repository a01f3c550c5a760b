"""Validation against RelaxNG."""

import hashlib
import sys
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler

import pytest

from corpora.errors import UsageError
from corpora.tei import schema as module
from corpora.tei.schema import default_schema, main, new_errors, new_errors_together
from corpora.tei.xml import XmlError

SCHEMA = """<grammar xmlns="http://relaxng.org/ns/structure/1.0">
<start><element name="p"><zeroOrMore><choice><text/>
<element name="persName"><optional><attribute name="cert"/></optional><text/></element>
</choice></zeroOrMore></element></start></grammar>"""


def validate(data, schema):
    """Return the errors of a file; the file before it has none."""
    return new_errors(b"<p/>", data, schema)


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "letters.rng"
    path.write_text(SCHEMA)
    return path


def test_a_valid_file_has_no_errors(schema):
    assert validate(b"<p>a <persName cert='1'>b</persName></p>", schema) == []


def test_a_file_is_validated_with_those_that_it_includes(tmp_path, schema):
    texts = {
        "all.xml": '<p><include xmlns="http://www.w3.org/2001/XInclude" href="parts/a.xml"/></p>',
        "parts/a.xml": "<persName>b</persName>",
        "parts/b.xml": "<persName xml:id='x'>b<name xml:id='x'/></persName>",
    }
    (tmp_path / "parts").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    before = {name: tmp_path / name for name in texts}

    same = new_errors_together("all.xml", before, before, schema=schema)
    after = before | {"parts/a.xml": tmp_path / "parts" / "b.xml"}
    errors = new_errors_together("all.xml", before, after, schema=schema)

    assert same == []
    assert errors[-1] == "the id x occurs 2 times"
    assert len(errors) > 1


def test_an_error_has_its_line(schema):
    [error] = validate(b"<p>a\n<name>b</name></p>", schema)

    assert error.startswith("line 2: ")
    assert "name" in error


def test_only_what_was_not_wrong_before_is_new(schema):
    before = b"<p><x/></p>"

    assert new_errors(before, b"<p>\n\n<x/></p>", schema) == []
    assert len(new_errors(b"<p/>", before, schema)) == len(validate(before, schema)) > 0


def test_a_name_around_text_that_was_wrong_there_is_no_new_error(schema):
    before = b"<p><persName><b/>Ida</persName></p>"
    after = b"<p><persName><b/><persName>Ida</persName></persName></p>"

    assert new_errors(before, after, schema) == []
    before = b"<p><persName><b>Ida</b></persName> Ulm</p>"
    after = b"<p><persName><b>Ida</b></persName> <persName><b>Ulm</b></persName></p>"
    assert len(new_errors(before, after, schema)) > 0


def test_text_in_an_empty_element_may_become_a_name(tmp_path):
    path = tmp_path / "empty.rng"
    empty = '<element name="anchor"><empty/></element>'
    path.write_text(SCHEMA.replace("<text/>", f"<text/>{empty}", 1))

    before, after = (
        f"<p><anchor>{text}</anchor></p>".encode() for text in ("Ulm", "<persName>Ulm</persName>")
    )

    assert validate(before, path)
    assert new_errors(before, after, path) == []


@pytest.mark.parametrize("is_expected", [True, False])
def test_elements_that_no_file_has_are_not_compiled_and_errors_are_the_same(
    is_expected, tmp_path, monkeypatch
):
    names = "abcdefgh"
    elements = "".join(
        f'<define name="{n}"><element name="t:{n}"><ref name="any"/></element></define>'
        for n in names
    )
    refs = "".join(f'<ref name="{n}"/>' for n in names)
    path = tmp_path / "many.rng"
    path.write_text(
        '<grammar xmlns="http://relaxng.org/ns/structure/1.0" xmlns:t="urn:t"><start>'
        f'<ref name="a"/></start>{elements}<define name="any"><zeroOrMore><choice>{refs}'
        "</choice></zeroOrMore></define></grammar>"
    )
    files = [f"<a xmlns='urn:t'><{n}><x/></{n}></a>".encode() for n in names]
    empty = b"<a xmlns='urn:t'/>"
    compiled = []
    compile_ = module._compile
    monkeypatch.setattr(
        module, "_compile", lambda *given: compiled.append(given[2]) or compile_(*given)
    )
    if is_expected:
        for n, file in enumerate(files):
            (tmp_path / f"{n}.xml").write_bytes(file)
        module.expect(path, sorted(tmp_path.glob("*.xml")))

    found = [new_errors(empty, file, path) for file in files]

    if is_expected:
        assert len(compiled) == 1
    else:
        parts = ["".join(sorted(part & set(names))) for part in compiled]
        assert parts == [names[:n] for n in range(1, 9)]
    whole = module._Schema(path)
    whole.expected |= set(names)
    monkeypatch.setattr(module, "_schema", lambda _: whole)
    module._known.cache_clear()
    assert found == [new_errors(empty, file, path) for file in files]
    assert all(found)
    module._known.cache_clear()


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


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and says nothing."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def served(tmp_path):
    """Serve a schema that names its version; yields its address and its bytes."""
    folder = tmp_path / "served"
    folder.mkdir()
    data = f"<!-- TEI Edition: P5 Version\u00a0{module.VERSION}. -->{SCHEMA}".encode()
    (folder / "tei_all.rng").write_bytes(data)
    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/tei_all.rng", data
        server.shutdown()
        thread.join()


def test_the_schema_is_fetched_verified_and_found(served, tmp_path, monkeypatch, capsys):
    url, data = served
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    digest = hashlib.sha256(data).hexdigest()

    assert main(["--url", url, "--sha256", digest]) == 0

    assert digest in capsys.readouterr().out
    assert default_schema().read_bytes() == data
    assert validate(b"<p>a</p>", default_schema()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--version", "1.0.0"], "is no schema of TEI P5 1.0.0 (the version that it names is 4"),
        (["--sha256", "ab"], "not ab"),
        (["--url", "http://127.0.0.1:1/x.rng"], "cannot be fetched"),
        (["--url", "http://no host/x.rng"], "cannot be fetched (URL can't contain"),
    ],
)
def test_another_file_than_was_asked_for_is_not_taken(served, tmp_path, capsys, options, message):
    output = tmp_path / "tei_all.rng"

    url = [] if "--url" in options else ["--url", served[0]]

    assert main([*url, "--output", str(output), *options]) == 1

    assert message in capsys.readouterr().err
    assert not output.exists()
