"""Forms of a register are written into TEI, with references in the style of the edition."""

import re
from dataclasses import replace
from unicodedata import normalize

import pytest

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.registers.dictionary import RegisterDictionary, labels_of
from corpora.registers.references import Referrer, parse_style
from corpora.registers.register import read_registers
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.undo import undo
from corpora.tei.writer import TeiFile

REGISTER = b"""<TEI><standOff>
<listPerson>
<person xml:id="P.1" source="http://d-nb.info/gnd/119262177">
  <persName><surname>Alma</surname>,
  <forename>Peter</forename></persName></person>
<person xml:id="P.2"><persName><surname>Marc</surname>,
  <forename>Franz</forename></persName></person>
<person xml:id="P.3"><persName><surname>Marc</surname>,
  <forename>Maria</forename></persName></person>
<person xml:id="P.4"><persName><surname>Stein</surname>,
  <forename>Olga</forename></persName></person>
<person xml:id="P.5"><persName><surname>Mrs.</surname>,
  <forename>Ada</forename></persName></person>
</listPerson>
<listPlace><place xml:id="O.1"><placeName>Jena</placeName></place></listPlace>
<listBibl><bibl xml:id="W.1"><title>Herbst</title></bibl>
<bibl xml:id="W.2"><title>Herbst am Meer</title></bibl></listBibl>
</standOff></TEI>"""
MODEL = Model(
    id="onoma-abc", name="r.xml", version="1", sha256="abc", kind="dictionary"
)  # of the register
TEI = "<TEI><teiHeader/><text><body>{}</body></text></TEI>"


def register():
    return read_registers([("r.xml", REGISTER)])


def enriched(body, *, edition="tei", given=None):
    """Write names of the register into a file; returns its body as written, and the dictionary."""
    loaded = load_edition(edition_path(edition))
    data = TEI.format(body).encode()
    file = TeiFile.read(data, loaded, name="a.xml")
    style = parse_style(given, loaded) if given else None
    referrer = Referrer(loaded, given=style)
    dictionary = RegisterDictionary(register(), loaded, referrer, documents=file.documents)
    found = {d.id: d.mentions for d in dictionary.annotate_all(file.documents)}

    written = file.write(found, model=MODEL)

    assert undo(written.data, name="a.xml") == data
    body = written.data.decode().split("<body>")[1].split("</body>")[0]
    return body.replace(' resp="#onoma-abc"', ""), dictionary


@pytest.mark.parametrize(
    ("tagged", "expected"),
    [
        ('<persName ref="#P.4">Olga</persName>', 'ref="#P.1"'),
        ('<persName key="P.4">Olga</persName>', 'key="P.1"'),
        ('<persName ref="register.xml#P.4">Olga</persName>', 'ref="register.xml#P.1"'),
        ('<persName ref="https://x.org/p/P.4">Olga</persName>', 'ref="https://x.org/p/P.1"'),
    ],
)
def test_references_are_written_as_the_edition_writes_them(tagged, expected):
    body, _ = enriched(f"<p>{tagged} sah Peter Alma.</p>")

    assert f"sah <persName {expected}>Peter Alma</persName>." in body


def test_ids_of_an_authority_are_a_style_and_lack_where_an_entry_has_none():
    tagged = '<persName ref="http://d-nb.info/gnd/119262177">Alma</persName>'

    body, _ = enriched(f"<p>{tagged} und Peter Alma und Olga Stein</p>")

    assert 'und <persName ref="http://d-nb.info/gnd/119262177">Peter Alma</persName>' in body
    assert "und <persName>Olga Stein</persName>" in body


def test_no_reference_is_written_where_the_edition_writes_none_for_that_type():
    body, _ = enriched('<p><placeName ref="#O.1">Jena</placeName>, Peter Alma aus Jena</p>')

    assert "<persName>Peter Alma</persName>" in body
    assert '<placeName ref="#O.1" cert="0.5">Jena</placeName></p>' in body


def test_a_style_may_be_given():
    body, _ = enriched("<p>Peter Alma</p>", given="ref=#{}")

    assert '<persName ref="#P.1">Peter Alma</persName>' in body
    with pytest.raises(UsageError, match="ATTRIBUTE=VALUE"):
        enriched("<p>Peter Alma</p>", given="resp=#{}")


def test_forms_of_several_entries_and_words_are_not_taken():
    body, dictionary = enriched("<p>Marc, Franz Marc. Im Herbst war Stein hier.</p>")

    assert body == (
        "<p>Marc, <persName>Franz Marc</persName>. Im Herbst war <persName>Stein</persName> "
        "hier.</p>"
    )
    assert dictionary.counters["forms not taken: several entries"] == 1


def test_a_word_with_a_period_is_taken_only_if_it_is_tagged():
    body, dictionary = enriched("<p>Mrs. Orff kam.</p>")
    tagged, _ = enriched('<p><persName ref="#P.5">Mrs.</persName> und Mrs. kamen.</p>')

    assert body == "<p>Mrs. Orff kam.</p>"
    assert dictionary.counters["forms not taken: one word, tagged nowhere"] == 2  # and Herbst
    assert '<persName ref="#P.5" cert="0.5">Mrs.</persName>' in tagged


def test_a_frequent_word_that_nobody_tags_in_a_tagged_text_is_no_name():
    tagged = '<p><persName ref="#P.2">Franz Marc</persName> und {}. Stein kam.</p>'
    often, stone = " ".join(["Stein"] * 10), ">Stein</persName>"

    body, dictionary = enriched(tagged.format(often))
    seldom, _ = enriched(tagged.format("Stein"))
    untagged, _ = enriched(f"<p>{often}</p>")

    assert stone not in body
    assert dictionary.counters["forms not taken: a word that is never tagged"] == 1
    assert (seldom.count(stone), untagged.count(stone)) == (2, 10)


def test_a_frequent_place_is_a_name_where_only_persons_are_tagged():
    body, _ = enriched(f'<p><persName ref="#P.4">Olga</persName> in {" ".join(["Jena"] * 10)}</p>')

    assert body.count("<placeName>Jena</placeName>") == 10


def test_names_that_are_there_decide_what_a_form_means():
    name = '<persName ref="#P.2">Marc</persName>'
    stone = '<persName ref="#P.4">Stein</persName> Stein Stein Stein'

    body, dictionary = enriched(f"<p>{name} {name} Marc {stone}</p>")

    assert '<persName ref="#P.2" cert="0.667">Marc</persName>' in body
    assert body.endswith("Stein Stein Stein</p>")
    assert dictionary.counters["forms not taken: a word that is seldom tagged"] == 1


def test_predictions_get_the_entry_that_their_form_means():
    edition = load_edition(edition_path("tei"))
    tagged = Mention(0, 4, "tei:P.4", "person", attributes={"@ref": "#P.4"})
    document = Document(
        id="a", group="tei", source="a", text="Olga, Stein, Marc, Jena", mentions=(tagged,)
    )
    dictionary = RegisterDictionary(register(), edition, Referrer(edition), documents=[document])
    predicted = Document(
        id="a",
        group="tei",
        source="a",
        text=document.text,
        mentions=tuple(
            Mention(start, end, None, "person", "prediction", 0.8)
            for start, end in ((6, 11), (13, 17), (19, 23))
        ),
    )

    found = dictionary.identify(predicted)

    assert [mention.entity for mention in found.mentions] == ["tei:P.4", None, None]
    assert [mention.score for mention in found.mentions] == [0.8] * 3


def test_labels_of_shipped_editions_name_kinds():
    assert labels_of(load_edition(edition_path("sturm"))) == {"person": "pers", "place": "place"}
    schnitzler = labels_of(load_edition(edition_path("schnitzler")))
    assert schnitzler["work"] == "work"


def test_initials_with_a_surname_are_a_form_unless_several_have_them():
    two = REGISTER.replace(b"Maria</f", b"Fritz</f")
    tei = load_edition(edition_path("tei"))

    of_one = RegisterDictionary(register(), tei, Referrer(tei), documents=[])
    of_two = RegisterDictionary(read_registers([("r.xml", two)]), tei, Referrer(tei), documents=[])

    document = Document(id="a", group="a", source="a", text="Gestern kam F. Marc zu uns.")
    [found] = of_one.annotate(document).mentions
    assert (found.start, found.end, found.label) == (12, 19, "person")
    assert of_two.annotate(document).mentions == ()


@pytest.mark.parametrize(("written", "form"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_forms_are_found_however_their_letters_are_composed(written, form):
    person = "<persName><surname>Köster</surname>, <forename>Ésther</forename></persName>"
    data = f'<TEI><listPerson><person xml:id="P.1">{person}</person></listPerson></TEI>'
    known = read_registers([("r.xml", normalize(form, data).encode())])
    edition = load_edition(edition_path("tei"))
    text = normalize(written, "Ä: Köster, É. Köster; und Köster.")
    names = [match.span() for match in re.finditer(normalize(written, "Köster"), text)]
    tagged = Mention(*names[0], "tei:P.1", "person", attributes={"@ref": "#P.1"})
    document = Document(id="a", group="g", source="a.xml", text=text, mentions=(tagged,), lang="de")
    dictionary = RegisterDictionary(known, edition, Referrer(edition), documents=[document])

    found = dictionary.annotate(document).mentions

    initial = text.index(normalize(written, "É."))
    assert [(m.start, m.end) for m in found] == [(initial, names[1][1]), names[2]]
    predicted = replace(document, mentions=(Mention(*names[2], None, "person"),))
    assert dictionary.identify(predicted).mentions[0].attributes["@ref"] == "#P.1"
