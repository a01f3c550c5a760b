"""Files that others include."""

import json

import pytest

from corpora.datasets.shards import open_dataset
from corpora.runs.plan import describe_files
from corpora.tei.census import take_census
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.include import find_included, target_of
from corpora.tei.reader import read_tei
from corpora.tei.xml import Element, XmlError
from pipelines.tei_to_ner import main

XI = 'xmlns:xi="http://www.w3.org/2001/XInclude"'


def include(href, *, more="", inside=""):
    return f'<xi:include {XI} href="{href}" {more}>{inside}</xi:include>'


def read(files, *, name="main.xml", **settings):
    data = {key: value.encode() for key, value in files.items()}
    edition = load_edition(edition_path("tei"))
    included = {key: Held(value) for key, value in data.items()}
    return read_tei(data[name], edition, name=name, included=included, **settings)


class Held:
    """A file in memory that is read as those of a plan are."""

    def __init__(self, data):
        self.data, self.size = data, len(data)

    def read(self):
        return self.data


def whole(body):
    return f"<TEI><text><body>{body}</body></text></TEI>"


def test_an_included_file_is_read_in_its_place_and_its_names_tell_the_file():
    main_file = whole(f"<p><persName>Ida</persName></p>{include('parts/a.xml')}<p>Ende</p>")
    part = f"<div><p>In <placeName>Ulm</placeName></p>{include('b.xml')}</div>"

    [text] = read({"main.xml": main_file, "parts/a.xml": part, "parts/b.xml": "<p>Ja</p>"})

    assert text.document.text == "Ida\nIn Ulm\nJa\nEnde"
    assert text.counters["included files"] == 2
    first, second = text.document.mentions
    assert "file" not in first.attributes
    assert second.attributes["file"] == "parts/a.xml"
    assert part.encode()[int(second.attributes["byte"]) :].startswith(b"<placeName>")


def test_a_part_by_its_id_plain_text_and_a_fallback():
    as_text = include("a.txt", more='parse="text"')
    body = (
        include("a.xml", more='xpointer="x"')
        + f"<p>{as_text}</p>"
        + include("none.xml", inside="<xi:fallback><p>statt dessen</p></xi:fallback>")
    )
    files = {"a.xml": '<div><p>Nein</p><p xml:id="x">Ja</p></div>', "a.txt": "Text & mehr"}

    [text] = read({"main.xml": whole(body), **files})

    assert text.document.text == "Ja\nText & mehr\nstatt dessen"
    assert text.counters["not read: xi:include"] == 1


@pytest.mark.parametrize(
    ("pointer", "text"),
    [("x", "Ja"), ("element(x)", "Ja"), ("element(/1/3)", "Ja"), ("element(y/1)", "Doch"),
     ("xpointer(id('x'))", "Ja"), (" x ", "Ja")],
)  # fmt: skip
def test_pointers_to_an_element(pointer, text):
    part = '<div><p>Nein</p><div xml:id="y"><p>Doch</p></div><p xml:id="x">Ja</p></div>'
    body = include("a.xml", more=f'xpointer="{pointer}"')

    [read_text] = read({"main.xml": whole(body), "a.xml": part})

    assert read_text.document.text == text
    assert read_text.counters["included parts of files"] == 1


@pytest.mark.parametrize("attribute", ["xpointer", "fragid"])
@pytest.mark.parametrize(
    "pointer",
    ["xpointer(//p[1])", "xpath(//p)", "string-range(x,0,2)", "element()", "element(/2)", "x)",
     "element(/1/9/1)", "none", "xmlns(t=http://a/b)xpointer(//t:p)"],
)  # fmt: skip
def test_a_pointer_that_is_not_read_or_finds_nothing_includes_the_fallback(attribute, pointer):
    more, inside = f'{attribute}="{pointer}"', "<xi:fallback><p>statt dessen</p></xi:fallback>"
    body = include("a.xml", more=more, inside=inside) + include("a.xml", more=more)

    [text] = read({"main.xml": whole(body), "a.xml": '<div><p xml:id="x">Ja</p></div>'})

    assert text.document.text == "statt dessen"
    assert text.counters["not read: xi:include"] == 2


def test_a_part_of_a_plain_text_is_not_read():
    part = include("a.txt", more='parse="text" xpointer="char=0,4"')

    [text] = read({"main.xml": whole(f"<p>Nur dies{part}</p>"), "a.txt": "Text & mehr"})

    assert text.document.text == "Nur dies"
    assert text.counters["not read: xi:include"] == 1


def test_plain_text_is_decoded_as_the_inclusion_says():
    as_text = include("a.txt", more='parse="text" encoding="utf-16-be"')

    [text] = read({"main.xml": whole(f"<p>{as_text}</p>"), "a.txt": "\0J\0a"})

    assert text.document.text == "Ja"


@pytest.mark.parametrize("encoding", ["ascii", "utf-37", "hex"])
def test_plain_text_in_another_encoding_is_refused(encoding):
    as_text = include("a.txt", more=f'parse="text" encoding="{encoding}"')

    with pytest.raises(XmlError, match=r"^a\.txt: is no text in .* Give its encoding"):
        read({"main.xml": whole(f"<p>{as_text}</p>"), "a.txt": "Mühe"})


def test_members_of_a_corpus_may_be_included():
    corpus = f"<teiCorpus>{include('a.xml')}{include('b.xml')}</teiCorpus>"

    texts = read({"main.xml": corpus, "a.xml": whole("<p>A</p>"), "b.xml": whole("<p>B</p>")})

    assert [text.document.text for text in texts] == ["A", "B"]


@pytest.mark.parametrize(
    "href",
    ["../a.xml", "x/../../a.xml", "/etc/passwd", "file:///etc/passwd", "http://a/b", "..%2Fa.xml",
     "main.xml", "", "C:\\a.xml"],
)  # fmt: skip
def test_nothing_outside_the_folder_is_included(href):
    assert target_of(Element("include", {"href": href}, 0), "main.xml") is None


def test_files_that_include_each_other_end():
    files = {"main.xml": whole(include("a.xml")), "a.xml": f"<div>{include('main.xml')}</div>"}

    [text] = read({**files, "a.xml": f"<div><p>A</p>{include('main.xml')}{include('a.xml')}</div>"})

    assert text.document.text == "A"


def test_inclusions_that_multiply_are_refused():
    files = {f"{n}.xml": f"<div>{include(f'{n + 1}.xml') * 10}</div>" for n in range(12)}

    with pytest.raises(XmlError, match=r"^main\.xml: too large with all that it includes"):
        read({"main.xml": whole(include("0.xml")), **files}, max_bytes=10_000)


def test_the_largest_file_that_is_read_has_room_for_what_it_includes():
    files = {"main.xml": whole(include("a.xml")), "a.xml": "<p>" + "A" * 1000 + "</p>"}
    size = sum(map(len, files.values()))

    [text] = read(files, max_bytes=size)

    assert len(text.document.text) == 1000
    with pytest.raises(XmlError, match="too large"):
        read(files, max_bytes=size - 1)


def test_a_run_rejects_a_file_that_includes_more_than_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.tei_to_ner.MAX_BYTES", 2000)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "large.xml").write_text(whole(include("part.xml")))
    (folder / "part.xml").write_text(f"<p>{'A' * 2000}</p>")
    (folder / "small.xml").write_text(whole("<p>Ja</p>"))
    command = ["--input", str(folder), "--max-reject-rate", "1"]

    assert main([*command, "--output", str(tmp_path / "out")]) == 0

    [rejected] = (tmp_path / "out/documents/rejected.jsonl").read_text("utf-8").splitlines()
    assert json.loads(rejected)["source"] == "large.xml"
    assert json.loads(rejected)["reason"] == "too_large"


def test_a_run_reads_what_is_included_once_and_never_through_a_link_outside(tmp_path):
    folder = tmp_path / "in"
    (folder / "parts").mkdir(parents=True)
    (tmp_path / "secret.xml").write_text("<p>geheim</p>")
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    body = f"<p>Anfang</p>{include('parts/a.xml')}{include('link.xml')}"
    (folder / "main.xml").write_text(whole(body))
    (folder / "parts" / "a.xml").write_text("<p>In <placeName>Ulm</placeName></p>")
    command = ["--input", str(folder), "--exclude", "link.xml", "--output"]

    assert main([*command, str(tmp_path / "out")]) == 0

    [document] = open_dataset(tmp_path / "out" / "documents").records()
    assert document.text == "Anfang\nIn Ulm"
    assert "parts/a.xml" in (tmp_path / "out" / "card.md").read_text("utf-8")


@pytest.mark.parametrize("pointer", ["xpointer(//p[1])", "none"])
def test_files_of_which_nothing_is_included_are_read_by_themselves(tmp_path, pointer):
    body = include("a.xml", more=f'xpointer="{pointer}"') + include("b.xml", more='xpointer="x"')
    (tmp_path / "main.xml").write_text(whole(f"<p>Anfang</p>{body}"))
    (tmp_path / "a.xml").write_text(whole("<p>In Ulm</p>"))
    (tmp_path / "b.xml").write_text(whole('<p>Nein</p><p xml:id="x">Ja</p>'))
    files = describe_files({path.name: path for path in sorted(tmp_path.iterdir())})

    included = find_included(files, max_bytes=1_000)

    assert list(included) == ["b.xml"]


def test_text_that_two_files_include_is_read_once_and_a_header_in_both(tmp_path, caplog):
    folder = tmp_path / "in"
    folder.mkdir()
    header = f"<teiHeader>{include('head.xml')}</teiHeader>"
    for name, more in (("a", ""), ("b", f"<p>Und</p>{include('part.xml')}")):
        text = f"<text><body><p>{name}</p>{include('letter.xml')}{more}</body></text>"
        (folder / f"{name}.xml").write_text(f"<TEI>{header}{text}</TEI>")
    title = "<fileDesc><titleStmt><title>Briefe</title></titleStmt></fileDesc>"
    for name, xml in (
        ("head", title),
        ("letter", f"<div><p>In Ulm</p>{include('part.xml')}</div>"),
        ("part", "<p>Teil</p>"),
    ):
        (folder / f"{name}.xml").write_text(xml)

    assert main(["--input", str(folder), "--output", str(tmp_path / "out")]) == 0

    documents = list(open_dataset(tmp_path / "out" / "documents").records())
    assert [(d.text, d.title) for d in documents] == [
        ("a\nIn Ulm\nTeil", "Briefe"), ("b\nUnd", "Briefe")
    ]  # fmt: skip
    assert [record.getMessage()[:58] for record in caplog.records if "read once" in record.msg] == [
        "b.xml: its text in letter.xml is read once, as a part of a",
        "b.xml: its text in part.xml is read once, as a part of a.x",
    ]


@pytest.mark.parametrize("option", ["--lines", "--register"])
def test_files_that_others_include_are_read_by_themselves_where_inclusions_are_not_followed(
    tmp_path, option
):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "main.xml").write_text(whole(f"<p>Anfang</p>{include('a.xml')}"))
    (folder / "a.xml").write_text(whole("<p>In <placeName>Ulm</placeName></p>"))
    register = tmp_path / "places.xml"
    register.write_text(
        "<TEI><listPlace><place xml:id='p1'><placeName>Ulm</placeName></place></listPlace></TEI>"
    )
    more = [option] if option == "--lines" else [option, str(register)]

    assert main(["--input", str(folder), *more, "--output", str(tmp_path / "out")]) == 0

    documents = open_dataset(tmp_path / "out" / "documents").records()
    assert sorted(document.text for document in documents) == ["Anfang", "In Ulm"]


def folder_with_a_part(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    line = "Der Kab. Rat kam, sagte er. Da kam er, sagte der Rat."
    part = f"<div><p>In <placeName>Ulm</placeName></p><p>{line * 4}</p></div>"
    (folder / "main.xml").write_text(whole(f"<p>Ein Brief.</p>{include('part.xml')}"))
    (folder / "part.xml").write_text(part)
    return folder


def test_a_census_counts_what_is_included_in_the_file_that_includes_it(tmp_path):
    folder = folder_with_a_part(tmp_path)
    found = {path.name: path for path in sorted(folder.iterdir())}

    census = take_census(found.items(), load_edition(edition_path("tei")))

    assert (census.n_files, census.unread) == (1, [])
    assert census.kinds["placename"].meanings == {"name: place": 1}
    assert census.kinds["placename"].example.startswith("<div><p>In <placeName>Ulm")


def test_a_census_counts_each_file_by_itself_if_the_included_are_large(tmp_path, monkeypatch):
    monkeypatch.setattr("corpora.tei.census.MAX_INCLUDED", 300)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "main.xml").write_text(f"<teiCorpus>{include('a.xml')}</teiCorpus>")
    (folder / "a.xml").write_text(whole("<p><persName>Ida</persName></p>" + "<p>Ja</p>" * 30))
    found = {path.name: path for path in sorted(folder.iterdir())}

    census = take_census(found.items(), load_edition(edition_path("tei")))

    assert (census.n_files, census.unread) == (2, [])
    assert census.kinds["persname"].meanings == {"name: person": 1}


def test_abbreviations_are_learned_from_what_is_included(tmp_path):
    folder = folder_with_a_part(tmp_path)
    command = ["--input", str(folder), "--abbreviations", "learned", "--output"]

    assert main([*command, str(tmp_path / "out")]) == 0

    [document] = open_dataset(tmp_path / "out" / "documents").records()
    assert "Der Kab. Rat kam, sagte er." in {
        document.text[sentence.start : sentence.end] for sentence in document.sentences
    }
