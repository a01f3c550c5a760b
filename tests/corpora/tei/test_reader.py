"""The golden files in tests/data/tei were written by hand from the rules, before the reader."""

import re
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from corpora.document import Span
from corpora.ner.alignment import to_sentences
from corpora.store.inspection import mark
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.marks import divide
from corpora.tei.reader import read_tei
from corpora.tei.xml import XmlError, parse_xml

DATA = Path(__file__).resolve().parents[2] / "data"
CASES = sorted(path.stem for path in (DATA / "tei").glob("*.xml"))
LETTERS = sorted((DATA / "letters").glob("*.xml"))
BAD = {
    "malformed": "malformed_xml",
    "external_entity": "external_entity",
    "billion_laughs": "entity_expansion",
    "undeclared_entity": "undeclared_entity",
    "empty": "empty_file",
    "not_tei": "not_tei",
    "zip": "not_xml",
    "bad_encoding": "malformed_xml",
}


@pytest.fixture(scope="session")
def tei():
    return load_edition(edition_path("tei"))


def read(path, edition):
    [text] = read_tei(path.read_bytes(), edition, name=path.name)
    return text.document


def with_plain_entities(document):
    mentions = (
        replace(m, entity=m.entity and m.entity.replace("tei:", "")) for m in document.mentions
    )
    return replace(document, mentions=tuple(mentions))


@pytest.mark.parametrize("case", CASES)
def test_case_matches_the_golden_file(case, tei):
    golden = (DATA / "tei" / f"{case}.txt").read_text(encoding="utf-8")

    document = read(DATA / "tei" / f"{case}.xml", tei)

    assert mark(with_plain_entities(document)).splitlines() == golden.replace("#", "").splitlines()


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_letter_matches_the_golden_file(letter, tei, golden):
    document = read(letter, tei)

    blocks = [
        f"{p.kind:<10}{mark(slice_of(document, p.start, p.end))}" for p in document.paragraphs
    ]
    golden(f"letters/{letter.stem}.txt", "\n".join(blocks) + "\n")


def slice_of(document, start, end):
    mentions = tuple(
        replace(m, start=m.start - start, end=m.end - start)
        for m in document.mentions
        if start <= m.start and m.end <= end
    )
    return replace(
        document, text=document.text[start:end], mentions=mentions, paragraphs=(), sentences=()
    )


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_mention_can_be_traced_to_the_byte_of_its_element(letter, tei):
    data = letter.read_bytes()
    encoding = {"05": "utf-16-le", "06": "iso-8859-1"}.get(letter.stem, "utf-8")

    mentions = read(letter, tei).mentions

    assert mentions
    for mention in mentions:
        start = data[int(mention.attributes["byte"]) :].decode(encoding, "replace")
        tag = re.match(r"<(?:tei:)?(\w+)|&\w+;", start)  # an entity may hold the element
        assert tag, start[:40]
        assert tag[1] in {mention.attributes["element"], None}


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_sentence_never_ends_inside_a_mention(letter, tei):
    document = read(letter, tei)

    for mention in document.mentions:
        assert any(s.start <= mention.start and mention.end <= s.end for s in document.sentences)


@pytest.mark.parametrize(("name", "reason"), BAD.items())
def test_bad_file_is_refused_with_place_and_remedy(name, reason, tei):
    path = DATA / "tei" / "bad" / f"{name}.xml"

    with pytest.raises(XmlError, match=rf"{name}\.xml") as caught:
        read_tei(path.read_bytes(), tei, name=path.name)

    assert caught.value.reason == reason
    if reason not in {"empty_file", "not_tei", "not_xml"}:
        assert re.match(r"line \d+, column \d+", caught.value.position)


def test_file_without_text_has_no_document(tei):
    path = DATA / "tei" / "bad" / "no_text.xml"

    [text] = read_tei(path.read_bytes(), tei, name=path.name)

    assert text.document is None


def test_deep_nesting_is_refused(tei):
    data = b"<TEI><text>" + b"<hi>" * 5_000 + b"</hi>" * 5_000 + b"</text></TEI>"

    with pytest.raises(XmlError, match="nest more than"):
        read_tei(data, tei, name="deep.xml")


def test_elements_from_entities_are_bounded(tei):
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    data = f'<!DOCTYPE TEI [<!ENTITY e0 "<p/>">{levels}]><TEI><text>&e8;</text></TEI>'.encode()

    with pytest.raises(XmlError, match="expand to more"):
        read_tei(data, tei, name="laughs.xml")


@pytest.mark.parametrize("more", ['SYSTEM "x.ent"', "\"<!ENTITY b 'c'>\""])
def test_an_entity_that_is_declared_after_a_parameter_entity_is_declared(more, tei):
    head = f'<!DOCTYPE TEI [<!ENTITY % more {more}> %more; <!ENTITY who "Ida">]>'
    body = "<TEI><text><p n='&who;'>&who; {}</p></text></TEI>"

    [text] = read_tei((head + body.format("in Ulm")).encode(), tei, name="a.xml")

    assert text.document.text == "Ida in Ulm"
    for unknown in ("&auml;", "<hi n='&auml;'/>"):
        with pytest.raises(XmlError, match=r"does not declare \(&auml;\)"):
            read_tei((head + body.format(unknown)).encode(), tei, name="a.xml")


def test_entity_of_an_external_dtd_is_refused(tei):
    data = b'<!DOCTYPE TEI SYSTEM "tei.dtd"><TEI><text><p>W&auml;hrung</p></text></TEI>'

    with pytest.raises(XmlError, match=r"a.xml:1:.*&auml;.*Declare it") as caught:
        read_tei(data, tei, name="a.xml")

    assert caught.value.reason == "undeclared_entity"


def test_corpus_gives_a_document_for_each_text(tei):
    data = (
        b'<teiCorpus><teiHeader/><TEI xml:id="one"><text><p>Ulm</p></text></TEI>'
        b"<TEI><text><p>Ried</p></text></TEI></teiCorpus>"
    )

    texts = read_tei(data, tei, name="all.xml")

    assert [(t.document.id, t.document.text) for t in texts] == [
        ("all.xml#one", "Ulm"),
        ("all.xml#2", "Ried"),
    ]


def test_foreign_namespace_is_text_but_no_name(tei):
    data = (
        b'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><p>'
        b'<m:date xmlns:m="urn:m">1914</m:date> <date>1915</date></p></text></TEI>'
    )

    [text] = read_tei(data, tei, name="a.xml")

    assert text.document.text == "1914 1915"
    assert [text.document.text[m.start : m.end] for m in text.document.mentions] == ["1915"]


@pytest.mark.parametrize(
    ("titles", "title"),
    [
        ("<title level='s'>Letters</title><title level='a'>To Ada</title>", "To Ada"),
        ("<title level='s'>Letters</title><title>Ajax</title><title>Aias</title>", "Ajax"),
        ("<title/><title level='s'>Letters</title>", "Letters"),
        ("", None),
    ],
)
def test_the_title_is_that_of_the_text_and_not_of_its_series(tei, titles, title):
    header = f"<teiHeader><fileDesc><titleStmt>{titles}</titleStmt></fileDesc></teiHeader>"

    [text] = read_tei(f"<TEI>{header}<text><p>Ja</p></text></TEI>".encode(), tei, name="a.xml")

    assert text.document.title == title


def test_names_and_titles_of_a_header_are_read_without_notes(tei):
    header = (
        "<titleStmt><title>Brief<lb/>an Marc<note>Entwurf</note></title></titleStmt>"
        "<correspDesc><correspAction type='sent'><persName>Else<note>?</note></persName>"
        "</correspAction></correspDesc>"
    )
    data = f"<TEI><teiHeader>{header}</teiHeader><text><p>Ja</p></text></TEI>".encode()

    [text] = read_tei(data, tei, name="a.xml")

    assert text.document.title == "Brief an Marc"
    assert text.document.metadata == {"sent_by": "Else"}


def test_header_becomes_columns(tei):
    document = read(DATA / "letters" / "05.xml", tei)

    assert document.lang == "de"
    assert document.title == "Ottilie Ahlensteg an Agathe Lindenrot, 9. Mai 1907"
    assert document.license == "https://creativecommons.org/publicdomain/zero/1.0/"
    assert document.metadata["sent_by"] == "Ottilie Ahlensteg"
    assert document.metadata["sent_date"] == "1907-05-09"


def test_what_a_statement_of_responsibility_holds_are_words_of_their_own():
    statement = "<respStmt>\n<resp>Herausgegeben von</resp>\n<name>Ada Moor</name>\n</respStmt>"

    document = read_text(f"<p>Briefe</p>{statement}", load_edition(edition_path("tei")))

    assert "Herausgegeben von Ada Moor" in document.text


def test_types_of_corpora_of_novels_and_parliaments_have_labels():
    kinds = {
        "rs": ("PERS", "LOC", "ORG", "WORK", "EVENT"),  # ELTeC
        "name": ("PER", "LOC", "ORG"),  # ParlaMint
    }
    names = (f'<{tag} type="{kind}">X</{tag}>' for tag in kinds for kind in kinds[tag])

    document = read_text(f"<p>{' '.join(names)}</p>", load_edition(edition_path("tei")))

    assert [m.label for m in document.mentions] == [
        *("person", "place", "organization", "work", "event"),
        *("person", "place", "organization"),
    ]


def test_arendt_markup_reads_as_the_published_set():
    edition = load_edition(edition_path("arendt"))

    document = read(DATA / "arendt" / "essay.xml", edition)

    labels = {m.attributes["@type"]: m.label for m in document.mentions}
    assert "ship" not in labels
    assert {labels[kind] for kind in ("person", "deity", "biblicalFigure")} == {"person"}
    assert {labels[kind] for kind in ("place", "country")} == {"place"}
    assert {"ethnicity", "organization", "event", "language"} <= set(labels.values())


def read_text(xml, edition, *, head=""):
    data = f"{head}<TEI><text><body>{xml}</body></text></TEI>".encode()
    [text] = read_tei(data, edition, name="a.xml")
    return text.document


PIECES = "<persName xml:id='a' next='#c'>A</persName> <persName xml:id='b' next='#c'>B</persName>"
TEXTS = {
    "an external entity that is not used does no harm": [
        ('<!DOCTYPE TEI [<!ENTITY x SYSTEM "x.xml">]>', "Wien", "Wien")
    ],
    "entities named in comments need no declaration": [
        ("<!DOCTYPE TEI SYSTEM 'tei.dtd'><!-- \"it's &uuml; -->", "a<!-- 'b &auml; --></p><p>", "a")
    ],
    "a byte order mark outweighs a wrong declaration": [
        ("\ufeff<?xml version='1.0' encoding='iso-8859-1'?>", "Fräulein", "Fräulein")
    ],
    "an empty name inside a name does no harm": [
        ("", "<persName><placeName/>Berlin</persName>", "[Berlin|person]")
    ],
    "two pieces that point to one do not double it": [
        ("", f"{PIECES} <persName xml:id='c'>C</persName>", "[A|person] [B|person] [C|person]")
    ],
    "pieces in different names stay two": [
        (
            "",
            (
                "<rs type='person' xml:id='a' next='#b'>A</rs> "
                "<orgName><rs type='person' xml:id='b'>B</rs> C</orgName>"
            ),
            "[A|person] [[B|person] C|organization]",
        )
    ],
    "a reference without a letter or a digit is no id": [
        ("", f"<persName {given}>Ernst</persName>", "[Ernst|person]")
        for given in ("ref='#'", "key='?'", "ref='# ?'", "ref='https://d-nb.info/gnd/'")
    ],
    "a second attribute has the id where the first has none": [
        ("", "<persName key='?' ref='#p1'>Ernst</persName>", "[Ernst|person|p1]")
    ],
    "line ends may mean other things": [
        ("", "US-<lb/>amerikanisch", "US- amerikanisch"),
        ("", "E=<lb/>mc", "E= mc"),
        ("", "seien-<lb/> Es hat", "seien- Es hat"),
        ("", "Sturm-<lb/>Buch, Ein-<lb/>und Ausgang", "Sturm-Buch, Ein- und Ausgang"),
        ("", "Donners-\n <lb/> tag", "Donnerstag"),
        ("", "a<choice>\u00a0<abbr>b</abbr><expan>c</expan></choice>", "a\u00a0c"),
    ],
    "the end of a line between Han or kana is no space": [
        ("", "雒<lb ed='T'/>邑", "雒邑"),
        ("", "雒\n  <lb/>\n邑，\n講", "雒邑，講"),
        ("", "タン<pb/><lb/>ザク", "タンザク"),
        ("", "雒 邑", "雒 邑"),  # a space that somebody wrote
        ("", "한국<lb/>사람", "한국 사람"),
        ("", "雒<lb/>Ulm<lb/>邑", "雒 Ulm 邑"),
    ],
    "index terms and other text about the text are left out": [
        ("", "Ulm<index><term>U</term></index> <span>Stadt</span>liegt da.", "Ulm liegt da.")
    ],
    "a deletion that was cancelled is read": [
        (
            "",
            "In <restore><del><placeName>Ulm</placeName> <del>und</del></del></restore> war er.",
            "In [Ulm|place] war er.",
        )
    ],
}


@pytest.mark.parametrize("rule", TEXTS)
def test_text_and_names_are_as_the_rule_says(rule, tei):
    for head, xml, expected in TEXTS[rule]:
        document = read_text(f"<p>{xml}</p>", tei, head=head)

        assert mark(with_plain_entities(document)) == expected


@pytest.mark.parametrize(
    ("lang", "text"),
    [("de", "Kulturkampf"), ("fr", "Kultur-kampf"), ("da", "Kulturkampf"), ("en", "Kultur-kampf")],
)
def test_hyphen_at_a_plain_line_end_stays_where_the_language_keeps_it(lang, text, tei):
    xml = f'<div><p xml:lang="{lang}">Kultur-<lb/>kampf</p></div>'
    data = f'<TEI xml:lang="{lang}"><text>{xml}</text></TEI>'.encode()

    [read] = read_tei(data, tei, name="a.xml")

    assert read.document.text == text


def test_ruby_is_no_text_but_the_reading_of_a_name(tei):
    names = "".join(
        f"<ruby><rb>{base}</rb><rt>{reading}</rt></ruby>"
        for base, reading in [("東", "とう"), ("京", "きょう")]
    )

    document = read_text(f"<p><placeName>{names}</placeName>へ</p>", tei)

    assert document.text == "東京へ"
    assert document.mentions[0].attributes["reading"] == "とうきょう"


def test_text_of_a_corpus_outside_its_members_is_read(tei):
    data = b"<teiCorpus><text><p>Vorwort</p></text><TEI><text><p>Ulm</p></text></TEI></teiCorpus>"

    texts = read_tei(data, tei, name="all.xml")

    assert [t.document.text for t in texts] == ["Vorwort", "Ulm"]


def test_members_of_a_corpus_with_one_xml_id_get_ids_of_their_own(tei):
    member = '<TEI xml:id="a"><text><p>Ulm</p></text></TEI>'

    texts = read_tei(f"<teiCorpus>{member * 2}</teiCorpus>".encode(), tei, name="all.xml")

    assert [t.document.id for t in texts] == ["all.xml#1", "all.xml#2"]


def test_a_number_that_is_the_xml_id_of_one_member_is_no_id_of_another(tei):
    members = [
        f"<TEI{id}><text><p>Ulm</p></text></TEI>" for id in ("", "", " xml:id='1'", " xml:id='5'")
    ]

    texts = read_tei(f"<teiCorpus>{''.join(members)}</teiCorpus>".encode(), tei, name="all.xml")

    assert [t.document.id for t in texts] == [f"all.xml#{id}" for id in ("9", "2", "1", "5")]


def test_attribute_values_from_entities_are_bounded(tei):
    head = (
        f'<!DOCTYPE TEI [<!ENTITY a "{"v" * 10_000}"><!ENTITY b "{"&a;" * 100}">'
        '<!ATTLIST p k CDATA "&b;">]>'
    )

    with pytest.raises(XmlError, match="expand to more"):
        read_text("<p>a</p>" * 5_000, tei, head=head)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "latin-1"])
@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE p [<!ENTITY ä "{long}">]><p n="{references}"/>',
        '<!DOCTYPE p [<!ENTITY ä "{long}">]><p n="{references}',
        '<!DOCTYPE p [<!ENTITY ä "{long}">]><p m=">" n=\'{references}\'/>',
        '<!DOCTYPE p [<!ENTITY ä "{long}"><!ATTLIST p n CDATA "{references}">]><p/>',
        '<!DOCTYPE p [<!ENTITY ä "{long}"><!ATTLIST p n CDATA "{references}<">]><p/>',
        '<!DOCTYPE p [<!ENTITY b "<p n=\'{references}\'/>"><!ENTITY ä "{long}">]><p>&b;</p>',
        '<!DOCTYPE p [<!ENTITY b "&#60;p n=\'{references}\'/>"><!ENTITY ä "{long}">]><p>&b;</p>',
        '<!DOCTYPE p [<!ENTITY b "&#38;ä;&#x26;&#228;;"><!ENTITY ä "{long}">]><p n="{outer}"/>',
        '<!DOCTYPE p [<!-- <!ENTITY ä "--><!ENTITY ä "{long}">]><p n="{references}"/>',
    ],
)
def test_entities_of_one_attribute_are_counted_before_they_are_expanded(xml, encoding):
    whole = f"<?xml version='1.0' encoding='{encoding[:6]}'?>" + xml.format(
        long="x" * 1000, references="&ä;" * 20_000, outer="&b;" * 20_000
    )
    data = whole.encode(encoding)

    tracemalloc.start()
    with pytest.raises(XmlError, match="expand to more"):
        parse_xml(data, name="a.xml")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 10 * len(data)  # it was a hundred times, which is where expat stops


def test_entity_that_is_declared_by_itself_is_refused():
    xml = b'<!DOCTYPE p [<!ENTITY a "&b;"><!ENTITY b "&a;">]><p n="&a;"/>'

    with pytest.raises(XmlError, match="declared by itself"):
        parse_xml(xml, name="a.xml")


def test_many_short_entities_of_an_attribute_are_read():
    xml = '<!DOCTYPE p [<!ENTITY a "Ulm"><!ENTITY b "&a; &a;">]><p n="%s">&b;</p>' % ("&b;" * 9000)

    element = parse_xml(xml.encode(), name="a.xml")

    assert element.attributes["n"] == "Ulm Ulm" * 9000
    assert element.text() == "Ulm Ulm"


def test_undeclared_entity_in_an_attribute_is_refused(tei):
    with pytest.raises(XmlError, match=r"&uuml;.*Declare it"):
        read_text('<p n=">" key="M&uuml;ller">a</p>', tei, head='<!DOCTYPE TEI SYSTEM "tei.dtd">')


def test_inclusions_are_counted(tei):
    xml = '<p>a<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="b.xml"/></p>'
    data = f"<TEI><text>{xml}</text></TEI>".encode()

    [text] = read_tei(data, tei, name="a.xml")

    assert text.counters["not read: xi:include"] == 1


def test_text_outside_the_content_is_counted(tei):
    data = b"<TEI><teiHeader/><sourceDoc><line>Ulm</line></sourceDoc><text><p>Ried</p></text></TEI>"

    [text] = read_tei(data, tei, name="a.xml")

    assert text.document.text == "Ried"
    assert text.counters["not read: sourceDoc"] == 1


def test_time_grows_with_the_text_and_not_with_its_square(tei):
    def seconds(n):
        start = time.process_time()
        document = read_text("<p><persName>Ulm</persName> und Ried.</p>" * n, tei)
        list(to_sentences(document, lambda _: "train"))
        return time.process_time() - start

    seconds(100)

    assert seconds(8_000) < 40 * seconds(800)  # ten times as much; a square would be a hundred


def test_pieces_of_a_name_inside_pieces_of_another_are_one_name(tei):
    first = (
        "<rs type='event' xml:id='a' next='#b'><persName xml:id='c' next='#d'>Go</persName></rs>"
    )
    second = "<rs type='event' xml:id='b'><persName xml:id='d'>ethe</persName> in Ulm</rs>"
    xml = f"<TEI><text><p><hi>{first}</hi>{second}</p></text></TEI>"

    [text] = read_tei(xml.encode(), tei, name="x")

    found = [(m.start, m.end, m.label) for m in text.document.mentions]
    assert found == [(0, 13, "event"), (0, 6, "person")]


def test_long_chains_of_entities_are_refused():
    # expat before 2.7 calls itself for each of a chain; 100,000 of them ended the process
    chain = "".join(f'<!ENTITY e{n} "&e{n - 1};">' for n in range(1, 2000))
    xml = f'<!DOCTYPE TEI [<!ENTITY e0 "x">{chain}]><TEI>&e1999;</TEI>'

    with pytest.raises(XmlError, match="declared by other entities") as error:
        parse_xml(xml.encode(), name="chain")

    assert error.value.reason == "entity_expansion"


def test_mentions_know_their_origin_page_facsimile_and_speaker(tei):
    xml = (
        '<div><head><rs>Ulm</rs></head><pb n="7" facs="a.jpg"/><p><rs>Rom</rs>'
        '<note><rs>Jena</rs></note></p><sp who="#ida"><speaker>Ida</speaker><p><pb n="8"/>'
        "<rs>Köln</rs></p></sp><u who='#max'><rs>Ems</rs></u><p><rs>Bern</rs></p></div>"
    )

    document = read_text(xml.replace("rs>", "placeName>"), tei)

    kept = {
        document.text[m.start : m.end]: {
            name: m.attributes[name]
            for name in ("in", "page", "facs", "who")
            if name in m.attributes
        }
        for m in document.mentions
    }
    assert kept == {
        "Ulm": {"in": "heading"},
        "Rom": {"in": "text", "page": "7", "facs": "a.jpg"},
        "Jena": {"in": "note", "page": "7", "facs": "a.jpg"},
        "Köln": {"in": "text", "page": "8", "who": "#ida"},
        "Ems": {"in": "text", "page": "8", "who": "#max"},
        "Bern": {"in": "text", "page": "8"},
    }
    origins = [s.origin for s in to_sentences(document, lambda _: "train")]
    assert origins == ["heading", *["text"] * 5, "note"]


def test_each_name_of_a_part_that_is_left_out_is_counted(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('[labels]\nperson = ["persName"]\n')
    own = load_edition(path)
    names = "<persName>Ada</persName><persName ref='#b'/><name>Rom</name>"
    data = f"<TEI><text><p>Ja <del>{names}</del><persName/></p></text></TEI>".encode()

    [text] = read_tei(data, own, name="a.xml")

    counted = {key: n for key, n in text.counters.items() if "name" in key.lower()}
    assert counted == {
        "left out: del (names)": 1,
        "names without text: persName": 2,
        "pattern/labels.person: persName": 3,
        "without a label: name": 1,
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("sourceDoc", "I am\nhere\nmargin\nnext page"),
        ("teiHeader", "Ulm Library\nA letter\nby Ida\npaper"),
    ],
)
def test_pages_of_a_source_and_descriptions_of_manuscripts_can_be_the_text(
    content, expected, tmp_path
):
    edition = tmp_path / "mine.toml"
    edition.write_text(f"content = ['{content}']\n")
    pages = (
        "<surface><zone><line>I <del>was</del> am</line>\n<line>here</line></zone>"
        "<zone><line>margin</line></zone></surface><surface><line>next page</line></surface>"
    )
    described = (
        "<msDesc><msIdentifier><settlement>Ulm</settlement>\n<repository>Library</repository>"
        "</msIdentifier><msContents><msItem><title>A letter</title></msItem><msItem>by "
        "<persName>Ida</persName></msItem></msContents><physDesc>paper</physDesc></msDesc>"
    )
    xml = f"<TEI><teiHeader>{described}</teiHeader><sourceDoc>{pages}</sourceDoc></TEI>"

    [text] = read_tei(xml.encode(), load_edition(edition), name="x")

    assert text.document.text == expected


SPACED = (
    "<TEI{root}><text{text}>\n <body>\n\t<div>\n\t\t<p>In Wa\n\t<lb break='no'/>ren</p>\n\n"
    "\t\t<lg>\n <l>an der  Müritz</l>\n</lg></div>\n</body></text></TEI>"
)


@pytest.mark.parametrize("at", ["root", "text"])
def test_white_space_between_blocks_is_no_text_even_if_the_file_keeps_it(at, tei):
    where = {"root": "", "text": "", at: " xml:space='preserve'"}

    [text] = read_tei(SPACED.format(**where).encode(), tei, name="x")

    assert text.document.text == "In Wa\n\tren\nan der  Müritz"


@pytest.mark.parametrize("at", ["root", "text"])
def test_an_edition_can_ignore_that_files_keep_white_space(at, tmp_path):
    where = {"root": "", "text": "", at: " xml:space='preserve'"}
    edition = tmp_path / "mine.toml"
    edition.write_text('[breaks]\nxml_space = "ignore"\n')

    [text] = read_tei(SPACED.format(**where).encode(), load_edition(edition), name="x")

    assert text.document.text == "In Waren\nan der Müritz"


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        ("<p><s>Am 3. Mai. Ja</s> <s>im Haus</s> <s>da</s></p>", "Am 3. Mai. Ja|im Haus|da"),
        ("<p>Er kam. Gut. <s>Da. So</s> war er. Ja.</p>", "Er kam.|Gut.|Da. So|war er.|Ja."),
        ("<p><s>Er sah <s>das. So</s> war es. Ja.</s></p>", "Er sah das. So war es. Ja."),
        ("<p><s/>Er kam. <s> </s>Sie ging.</p>", "Er kam.|Sie ging."),
        ("<p><s>Er kam. Und<note>So. Ja.</note> blieb.</s></p>", "Er kam. Und blieb.|So.|Ja."),
        ("<div><s>Er kam.<p>Sie ging.</p></s></div>", "Er kam.|Sie ging."),
    ],
)
def test_sentences_are_those_that_the_file_marks(xml, expected, tei):
    document = read_text(xml, tei)

    found = [document.text[sentence.start : sentence.end] for sentence in document.sentences]
    assert "|".join(found) == expected


def test_each_name_of_a_paragraph_is_compared_with_the_sentences_around_it_only():
    asked = []

    class Name:
        def __init__(self, start):
            self.at = start
            self.end = start + 6

        @property
        def start(self):
            asked.append(self.at)
            return self.at

    sentences = [Span(start, start + 9) for start in range(0, 1000, 10)]
    names = [Name(start + 2) for start in range(0, 1000, 10)]

    assert len(list(divide(Span(0, 1000), sentences, names))) == 200
    assert len(asked) == len(names)


def test_a_name_in_two_marked_sentences_joins_them(tei):
    name = "<persName part='{}'>{}</persName>"
    parts = f"<s>Da war {name.format('I', 'Dr. A.')}</s> <s>{name.format('F', 'Boll')}.</s>"

    document = read_text(f"<p>{parts} <s>So. Ja.</s></p>", tei)

    found = [document.text[sentence.start : sentence.end] for sentence in document.sentences]
    assert found == ["Da war Dr. A. Boll.", "So. Ja."]
