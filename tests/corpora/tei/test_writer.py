"""Names written into TEI: each case is a piece of a text before and after."""

import re
from pathlib import Path

import pytest

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.undo import undo
from corpora.tei.writer import UnprovenError, WriteOptions, write_predictions

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = sorted(
    file for folder in ("tei", "letters") for file in (ROOT / "tests/data" / folder).glob("*.xml")
)
MODEL = Model(id="onoma-1", name="tagger", version="3", sha256="ab12", desc="letters")
HEADER = "<teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"

PLACES = {
    "in plain text": (
        "<p>der alte Goethe kam</p>",
        "<p>der alte <persName>Goethe</persName> kam</p>",
    ),
    "inside the element that holds it": (
        "<p><hi>Goethe</hi> kam</p>",
        "<p><hi><persName>Goethe</persName></hi> kam</p>",
    ),
    "around an element that it ends in": (
        "<p>von Go<hi>ethe</hi> kam</p>",
        "<p>von <persName>Go<hi>ethe</hi></persName> kam</p>",
    ),
    "around elements within elements": (
        "<p><hi><add>Go</add></hi>e<hi>the</hi> kam</p>",
        "<p><persName><hi><add>Go</add></hi>e<hi>the</hi></persName> kam</p>",
    ),
    "split where an element begins with other text": (
        "<p><hi>von Go</hi>ethe kam</p>",
        (
            '<p><hi>von <persName xml:id="onoma-1.1" next="#onoma-1.2">Go</persName></hi>'
            '<persName xml:id="onoma-1.2" prev="#onoma-1.1">ethe</persName> kam</p>'
        ),
    ),
    "with all markup inside": (
        "<p>Go<!-- ' --><?x y?><pb n='1'/><lb break='no'/>ethe</p>",
        "<p><persName>Go<!-- ' --><?x y?><pb n='1'/><lb break='no'/>ethe</persName></p>",
    ),
    "with the hyphen at a line end inside": (
        "<p>Goe-<lb/>the</p>",
        "<p><persName>Goe-<lb/>the</persName></p>",
    ),
    "with a note inside, whose text stands elsewhere": (
        "<p>Go<note>Wer?</note>ethe</p>",
        "<p><persName>Go<note>Wer?</note>ethe</persName></p>",
    ),
    "inside a note": (
        "<p>Wer?<note><p>Goethe</p></note></p>",
        "<p>Wer?<note><p><persName>Goethe</persName></p></note></p>",
    ),
    "around a choice of which it needs all that is read": (
        "<p><choice><abbr>G.</abbr><expan>Goe</expan></choice>the</p>",
        "<p><persName><choice><abbr>G.</abbr><expan>Goe</expan></choice>the</persName></p>",
    ),
    "inside a choice": (
        "<p><choice><abbr>G.</abbr><expan>Goethe</expan></choice></p>",
        "<p><choice><abbr>G.</abbr><expan><persName>Goethe</persName></expan></choice></p>",
    ),
    "around a word, which may hold no name": (
        "<p><w>Goethe</w> kam</p>",
        "<p><persName><w>Goethe</w></persName> kam</p>",
    ),
    "around a CDATA section": (
        "<p>x <![CDATA[Goethe]]></p>",
        "<p>x <persName><![CDATA[Goethe]]></persName></p>",
    ),
    "with references": (
        "<p>&#71;oeth&#x65; kam</p>",
        "<p><persName>&#71;oeth&#x65;</persName> kam</p>",
    ),
    "in a name that is there": (
        "<p><placeName>Goethehaus</placeName></p>",
        "<p><placeName><persName>Goethe</persName>haus</placeName></p>",
    ),
    "in a name without a class": (
        "<p><rs>Goethe</rs></p>",
        "<p><rs><persName>Goethe</persName></rs></p>",
    ),
    "with CRLF as it is": (
        "<p>\r\n Goethe\r\n kam</p>",
        "<p>\r\n <persName>Goethe</persName>\r\n kam</p>",
    ),
    "inside each item and not in the list": (
        "<list><item>Goe</item> <item>the</item></list>",
        (
            '<list><item><persName xml:id="onoma-1.1" next="#onoma-1.2">Goe</persName></item> '
            '<item><persName xml:id="onoma-1.2" prev="#onoma-1.1">the</persName></item></list>'
        ),
    ),
}


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    path = tmp_path_factory.mktemp("editions") / "e.toml"
    path.write_text('unlabelled = ["rs"]\n[characters]\n"c[@n=\'3\']" = "..."\n', encoding="utf-8")
    return load_edition(path)


def tei(body, *, header=HEADER):
    namespace = "http://www.tei-c.org/ns/1.0"
    return f'<TEI xmlns="{namespace}">{header}<text><body>{body}</body></text></TEI>'.encode()


def find(data, edition, name, **fields):
    """The first place of a name in the text; line ends do not count."""
    [text] = read_tei(data, edition, name="x.xml")
    found = re.search(r"\n?".join(map(re.escape, name)), text.document.text)
    return Mention(*found.span(), **({"label": "person"} | fields))


def write(data, edition, *mentions, **options):
    return write_predictions(
        data,
        edition,
        {"x.xml": mentions},
        name="x.xml",
        model=MODEL,
        options=WriteOptions(**options),
    )


def body(written):
    """The body without what every name has."""
    found = re.search("<body>(.*)</body>", written.data.decode(), re.DOTALL)
    return found[1].replace(' resp="#onoma-1"', "")


def reasons(written):
    return [skipped.reason for skipped in written.skipped]


@pytest.mark.parametrize("case", PLACES)
def test_a_name_is_written(case, edition):
    before, after = PLACES[case]
    data = tei(before)

    written = write(data, edition, find(data, edition, "Goethe"))

    assert reasons(written) == []
    assert body(written) == after
    assert undo(written.data, name="x.xml") == data


@pytest.mark.parametrize(
    ("text", "start", "end", "reason"),
    [
        ("<p>a <persName>Goethe</persName></p>", 2, 8, "a name is there already"),
        ("<p>a <persName>Goethe</persName></p>", 0, 4, "crosses a name that is there"),
        ("<p>Goethe</p>", 4, 9, "leaves the text"),
        ("<p>a Goethe</p>", 1, 8, "begins or ends with white space"),
        ("<p><w>Goethe</w></p>", 0, 3, "no name may stand inside w"),
        ("<p><![CDATA[Goethe]]></p>", 0, 3, "no name may stand inside a CDATA section"),
        ("<p>a<c n='3'/></p>", 0, 2, "cuts what one entity reference or element stands for"),
        (
            "<p>a<note>b</note> c</p>",
            2,
            5,
            "goes on in a part that stands elsewhere in the file",
        ),
    ],
)
def test_a_name_without_a_place_is_skipped_with_a_reason(text, start, end, reason, edition):
    data = tei(text)

    written = write(data, edition, Mention(start, end, label="person"))

    assert reasons(written) == [reason]
    assert written.data == data


def test_an_entity_is_never_parted(edition):
    data = b"<!DOCTYPE TEI [<!ENTITY who 'von Goethe'>]>" + tei("<p>Herr &who; kam</p>")

    part = write(data, edition, find(data, edition, "Goethe"))
    whole = write(data, edition, find(data, edition, "Herr von Goethe"))

    assert reasons(part) == ["cuts what one entity reference or element stands for"]
    assert body(whole) == "<p><persName>Herr &who;</persName> kam</p>"


def test_only_new_leaves_every_touched_name_alone(edition):
    data = tei("<p><placeName>Goethehaus</placeName> Walden</p>")
    nested, free = find(data, edition, "Goethe"), find(data, edition, "Walden")

    written = write(data, edition, nested, free, existing="only-new")

    assert reasons(written) == ["touches a name that is there"]
    assert body(written) == "<p><placeName>Goethehaus</placeName> <persName>Walden</persName></p>"


def test_replace_predicted_writes_what_is_written_into_the_original(edition):
    data = tei("<p>Goethe und <persName>Walden</persName></p>")
    first = write(data, edition, find(data, edition, "und"))
    name = find(data, edition, "Goethe")

    again = write(first.data, edition, name, existing="replace-predicted")

    assert again.data == write(data, edition, name).data


def test_a_second_run_of_the_same_model_adds_nothing(edition):
    data = tei("<p><hi>von Go</hi>ethe und Walden</p>")
    names = [find(data, edition, "Goethe"), find(data, edition, "Walden")]
    once = write(data, edition, *names)

    twice = write(once.data, edition, *names)

    assert twice.data == once.data
    assert reasons(twice) == ["a name is there already"] * 2


def test_a_second_run_that_finds_more_says_once_who_found_it(edition):
    data = tei("<p><hi>von Go</hi>ethe und <hi>von Wal</hi>den</p>")
    once = write(data, edition, find(data, edition, "Goethe"))

    twice = write(once.data, edition, find(data, edition, "Walden"))

    assert (
        twice.data
        == write(data, edition, *(find(data, edition, n) for n in ("Goethe", "Walden"))).data
    )


def test_what_is_known_of_a_name_stands_in_its_attributes(edition):
    data = tei("<p>Goethe</p>")
    name = find(data, edition, "Goethe", entity="gnd:118540238", score=0.98765)

    written = write(data, edition, name)

    reference = 'ref="http://d-nb.info/gnd/118540238"'
    assert body(written) == f'<p><persName {reference} cert="0.988">Goethe</persName></p>'


@pytest.mark.parametrize(
    ("entity", "attribute"),
    [
        ("e:P.1", ' key="P.1"'),
        ("gnd:1 wikidata:Q2", ' ref="http://d-nb.info/gnd/1 http://www.wikidata.org/entity/Q2"'),
        ('e:a"<b>&', ' key="a&quot;&lt;b&gt;&amp;"'),
        ("dawiki:Goethe", ""),
        ("e:\x00", ""),
        (None, ""),
    ],
)
def test_an_entity_is_written_as_it_is_read_or_counted(entity, attribute, edition):
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe", entity=entity))

    assert body(written) == f"<p><persName{attribute}>Goethe</persName></p>"
    lost = bool(entity) and not attribute
    assert written.counters["entities without an attribute"] == lost


@pytest.mark.parametrize(
    ("score", "cert"), [(None, ""), (0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.12349, "0.123")]
)
def test_a_probability_has_at_most_three_decimals(score, cert, edition):
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe", score=score))

    attribute = f' cert="{cert}"' if cert else ""
    assert body(written) == f"<p><persName{attribute}>Goethe</persName></p>"


def test_predictions_that_are_doubtful_double_or_crossing_are_skipped(edition):
    data = tei("<p>Johann Wolfgang Goethe</p>")
    name = find(data, edition, "Johann Wolfgang", score=0.9)
    crossing = find(data, edition, "Wolfgang Goethe", score=0.9)
    doubtful = find(data, edition, "Goethe", score=0.4)

    written = write(data, edition, name, name, crossing, doubtful, threshold=0.5)

    assert sorted(reasons(written)) == [
        "below the threshold",
        "crosses another prediction",
        "given twice",
    ]
    assert written.written == 1


def test_nested_predictions_are_nested_even_in_fragments(edition):
    data = tei("<p><hi>von Goe</hi>the <hi>in</hi> Jena</p>")
    inner = find(data, edition, "Goethe")
    outer = find(data, edition, "Goethe in Jena", label="event", entity=None)

    written = write(data, edition, inner, outer)

    [text] = read_tei(written.data, edition, name="x.xml")
    assert reasons(written) == []
    assert [(m.start, m.end, m.label) for m in text.document.mentions] == [
        (outer.start, outer.end, "event"),
        (inner.start, inner.end, "person"),
    ]


def test_the_statement_on_the_model_stands_in_the_style_of_the_header(edition):
    header = HEADER.replace("<title>", "\n    <title>").replace("</titleStmt>", "\n  </titleStmt>")
    data = tei("<p>Goethe</p>", header=header)

    written = write(data, edition, find(data, edition, "Goethe"))

    assert (
        "    <title>T</title>\n"
        '    <respStmt xml:id="onoma-1"><resp>names found by a model (SHA-256 ab12)</resp>'
        '<name type="model">tagger 3: letters</name></respStmt>\n'
        "  </titleStmt>" in written.data.decode()
    )
    assert undo(written.data, name="x.xml") == data


@pytest.mark.parametrize(
    "header",
    [
        "",
        "<teiHeader/>",
        "<teiHeader></teiHeader>",
        "<teiHeader><fileDesc><titleStmt/></fileDesc></teiHeader>",
    ],
)
def test_a_header_that_lacks_its_parts_gets_them_and_loses_them_again(header, edition):
    data = tei("<p>Goethe</p>", header=header)

    written = write(data, edition, find(data, edition, "Goethe"))

    assert b'<titleStmt resp="#onoma-1"><respStmt xml:id="onoma-1">' in written.data
    assert undo(written.data, name="x.xml") == data


def test_elements_have_the_prefix_of_the_file(edition):
    data = (
        b'<t:TEI xmlns:t="http://www.tei-c.org/ns/1.0"><t:text><t:body><t:p>Goethe</t:p></t:body>'
        b"</t:text></t:TEI>"
    )

    written = write(data, edition, find(data, edition, "Goethe"))

    assert b'<t:p><t:persName resp="#onoma-1">Goethe</t:persName></t:p>' in written.data
    assert b'<t:respStmt xml:id="onoma-1">' in written.data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_what_is_added_is_in_the_encoding_of_the_file(encoding, edition):
    declaration = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    data = (declaration + tei("<p>Müller</p>").decode()).encode(encoding)
    name = find(data, edition, "Müller", entity="e:Mü€")

    written = write(data, edition, name)

    expected = '<persName key="Mü€" resp="#onoma-1">Müller</persName>'
    latin = expected.replace("€", "&#8364;") if encoding == "iso-8859-1" else expected
    assert latin in written.data.decode(encoding)


def test_one_name_that_would_change_the_text_does_not_keep_the_others_out(edition):
    # A tag after "und" makes it look like a conjunction: the hyphen would be read as suspended.
    data = tei("<p xml:lang='de'>Kultur-<lb/>undine und Goethe</p>").replace(
        b"<TEI ", b"<TEI xml:lang='de' "
    )
    bad, good = find(data, edition, "Kulturund"), find(data, edition, "Goethe")

    written = write(data, edition, bad, good)

    assert reasons(written) == ["the text would be read differently"]
    assert b">Goethe</persName>" in written.data


def test_a_file_whose_header_hides_in_an_entity_is_refused(edition):
    subset = f"<!DOCTYPE TEI [<!ENTITY header '{HEADER}'>]>"
    data = subset.encode() + tei("<p>Goethe</p>", header="&header;")

    with pytest.raises(UnprovenError, match=r"x\.xml: nothing can be added"):
        write(data, edition, find(data, edition, "Goethe"))


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_word_of_every_sample_is_written_or_explained(file):
    data, edition = file.read_bytes(), load_edition(edition_path("tei"))
    [text] = read_tei(data, edition, name="x.xml")
    words = re.finditer(r"\w+", text.document.text)
    names = [Mention(*word.span(), label="person") for word in words]

    written = write(data, edition, *names)

    explained = {
        "a name is there already",
        "crosses a name that is there",
        "cuts what one entity reference or element stands for",
        "no name may stand inside a CDATA section",
        "other names would be read differently",  # around two of the three pieces of a name
    }
    assert set(reasons(written)) <= explained
    assert undo(written.data, name="x.xml") == data


def test_the_example_in_the_docs_is_what_is_written():
    docs = (ROOT / "docs" / "enriching.md").read_text(encoding="utf-8")
    before, after, _ = (
        block.encode() for block in re.findall(r"```xml\n(.*?)```", docs, re.DOTALL)
    )
    edition = load_edition(edition_path("tei"))
    model = Model(id="onoma-3f2a9c1b", name="letters", version="1", sha256="3f2a9c1b")
    names = [
        find(before, edition, "Konrad Ahlensteg", score=0.98),
        find(before, edition, "Jena", score=1.0, label="place", entity="geonames:2895044"),
        find(before, edition, "Brackwehl", score=0.7),
    ]

    written = write_predictions(before, edition, {"x.xml": names}, name="x.xml", model=model)

    assert written.data.decode() == after.decode()


def test_an_unknown_label_is_an_error_that_lists_the_known(edition):
    data = tei("<p>Goethe</p>")

    with pytest.raises(UsageError, match="has no label 'PER', only person, place"):
        write(data, edition, find(data, edition, "Goethe", label="PER"))


def test_an_unknown_document_is_an_error(edition):
    with pytest.raises(UsageError, match=r"has no document y\.xml, but x\.xml"):
        write_predictions(tei("<p>a</p>"), edition, {"y.xml": []}, name="x.xml", model=MODEL)


@pytest.mark.parametrize("name", ["sturm", "arendt", "schnitzler", "escher", "sks", "tei"])
def test_every_label_of_every_shipped_edition_can_be_written(name):
    edition = load_edition(edition_path(name))
    data = tei("<p>Goethe</p>")
    names = [find(data, edition, "Goethe", label=label) for label in edition.labels]

    written = [write(data, edition, one) for one in names]

    back = [read_tei(one.data, edition, name="x.xml")[0].document.mentions for one in written]
    assert [[m.label for m in mentions] for mentions in back] == [[x] for x in edition.labels]


def test_the_edition_says_how_a_name_is_written(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        "[labels]\nperson = [\"persName\", \"rs[@type='person'|'god']\"]\n"
        "[write]\nperson = \"rs[@type='person']\"\n"
    )
    edition = load_edition(path)
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe"))

    assert body(written) == '<p><rs type="person">Goethe</rs></p>'


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("placeName", "the element is read as no name"),
        ("persName[@type]", "does not say what to write"),
        ("p/persName", "does not say what to write"),
        ("*", "does not say what to write"),
    ],
)
def test_a_template_that_cannot_be_read_back_is_refused(template, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f'[labels]\nperson = ["persName"]\n[write]\nperson = "{template}"\n')

    with pytest.raises(UsageError, match=message):
        load_edition(path)


def test_a_label_that_no_pattern_says_how_to_write_asks_for_a_template(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[labels]\nperson = ["p/persName"]\n')
    edition = load_edition(path)

    with pytest.raises(UsageError, match=r"Add it to the edition file: \[write\] person"):
        write(tei("<p>a</p>"), edition, Mention(0, 1, label="person"))
