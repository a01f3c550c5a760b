"""Forms of a register are written into TEI, with references in the style of the edition."""

import re
from unicodedata import normalize

import pytest

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.registers.dictionary import Dictionary, labels_of
from corpora.registers.joining import join
from corpora.registers.places import FoldedView
from corpora.registers.references import Referrer, parse_style
from corpora.registers.register import read_registers
from corpora.registers.tagged_names import TaggedNames
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
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


def dictionary_of(documents, edition, *, known=None, given=None):
    """Make a dictionary that refers to entries as the documents do, or as ``given`` says."""
    known = known or register()
    referrer = Referrer(edition, given=parse_style(given, edition) if given else None)
    referrer.learn(documents, known)

    def refer(mention, entity):
        return referrer.refer(mention, known.entries[entity])

    return Dictionary(documents, known, edition, refer=refer)


def enriched(body, *, edition="tei", given=None):
    """Write names of the register into a file; returns its body as written, and the dictionary."""
    loaded = load_edition(edition_path(edition))
    data = TEI.format(body).encode()
    file = TeiFile.read(data, loaded, name="a.xml")
    dictionary = dictionary_of(file.documents, loaded, given=given)
    found = {d.id: dictionary.annotate(d).mentions for d in file.documents}

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
    assert '<placeName ref="#O.1">Jena</placeName></p>' in body


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
    assert dictionary.held_back["places held back: several entries"] == 1


def test_a_word_with_a_period_is_taken_only_if_it_is_tagged():
    body, dictionary = enriched("<p>Mrs. Orff kam.</p>")
    tagged, _ = enriched('<p><persName ref="#P.5">Mrs.</persName> und Mrs. kamen.</p>')

    assert body == "<p>Mrs. Orff kam.</p>"
    assert dictionary.held_back["places held back: not a name often enough"] == 1
    assert '<persName ref="#P.5">Mrs.</persName>' in tagged


def test_a_frequent_word_that_nobody_tags_in_a_tagged_text_is_no_name():
    tagged = '<p><persName ref="#P.2">Franz Marc</persName> und {}. Stein kam.</p>'
    often, stone = " ".join(["Stein"] * 10), ">Stein</persName>"

    body, dictionary = enriched(tagged.format(often))
    seldom, _ = enriched(tagged.format("Stein"))
    untagged, _ = enriched(f"<p>{often}</p>")

    assert stone not in body
    assert dictionary.held_back["places held back: not a name often enough"] == 11
    assert (seldom.count(stone), untagged.count(stone)) == (2, 10)


def test_a_frequent_place_is_a_name_where_only_persons_are_tagged():
    body, _ = enriched(f'<p><persName ref="#P.4">Olga</persName> in {" ".join(["Jena"] * 10)}</p>')

    assert body.count("<placeName>Jena</placeName>") == 10


def test_names_that_are_there_decide_what_a_form_means():
    name = '<persName ref="#P.2">Marc</persName>'
    stone = '<persName ref="#P.4">Stein</persName> Stein Stein Stein'

    body, dictionary = enriched(f"<p>{name} {name} Marc {stone}</p>")

    assert '<persName ref="#P.2">Marc</persName>' in body
    assert body.endswith("Stein Stein Stein</p>")
    assert dictionary.held_back["places held back: not a name often enough"] == 3


def test_labels_of_shipped_editions_name_kinds():
    assert labels_of(load_edition(edition_path("sturm"))) == {"person": "pers", "place": "place"}
    schnitzler = labels_of(load_edition(edition_path("schnitzler")))
    assert schnitzler["work"] == "work"


def test_initials_with_a_surname_are_a_form_that_may_mean_several_entries():
    two = REGISTER.replace(b"Maria</f", b"Fritz</f")
    tei, both = load_edition(edition_path("tei")), read_registers([("r.xml", two)])

    of_one, of_two = dictionary_of([], tei), dictionary_of([], tei, known=both)

    document = Document(id="a", group="a", source="a", text="Gestern kam F. Marc zu uns.")
    [found] = of_one.annotate(document).mentions
    assert (found.start, found.end, found.label) == (12, 19, "person")
    [unlinked] = of_two.annotate(document).mentions
    assert ((unlinked.start, unlinked.end), unlinked.entity) == ((12, 19), None)


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

    found = dictionary_of([document], edition, known=known).annotate(document).mentions

    initial = text.index(normalize(written, "É."))
    assert [(m.start, m.end) for m in found] == [(initial, names[1][1]), names[2]]


FRANKFURT = b"""<TEI><listPlace><place xml:id="o1"><placeName>Frankfurt am Main</placeName></place>
<place xml:id="o2"><placeName>Frankfurt am Main</placeName></place>
<place xml:id="o3"><placeName>Frankfurt</placeName></place></listPlace></TEI>"""


def names_in(text, *, register, tagged=(), lang="de"):
    """Find names in a text with one of another file, and return their forms and entities."""
    edition = load_edition(edition_path("tei"))
    there = tuple(Mention(*each) for each in tagged)
    other = Document(id="b", group="tei", source="b.xml", text=" ".join(text.split()), lang=lang)
    other = Document(**{**fields(other), "mentions": there})
    document = Document(id="a", group="tei", source="a.xml", text=text, lang=lang)
    known = read_registers([("r.xml", register)])
    dictionary = dictionary_of([document, other], edition, known=known, given="ref=#{}")
    found = dictionary.annotate(document).mentions
    return [(text[m.start : m.end], m.entity) for m in found], dictionary.held_back


def fields(document):
    return {name: getattr(document, name) for name in ("id", "group", "source", "text", "lang")}


def test_a_form_of_several_entries_is_a_name_without_an_id_and_is_not_cut():
    found, counts = names_in("Er zog von Frankfurt am Main nach Frankfurt.", register=FRANKFURT)

    assert found == [("Frankfurt am Main", None), ("Frankfurt", "tei:o3")]
    assert counts["names without an id: several entries"] == 1


def test_names_that_editors_tagged_without_an_id_show_that_a_form_is_a_name():
    text = "Gestern reiste Olga Stein ab."

    found, _ = names_in(text, register=REGISTER, tagged=[(15, 25, None, "person")])

    assert found == [("Olga Stein", "tei:P.4")]


def test_a_tagged_name_with_an_unknown_id_is_known_whole_and_written_without_an_id():
    text = "Gestern reiste Lisa Stein ab."

    found, counts = names_in(text, register=REGISTER, tagged=[(15, 25, "tei:P.99", "person")])

    assert found == [("Lisa Stein", None)]
    assert counts["names without an id: unknown id"] == 1


def test_a_part_of_a_longer_name_that_nobody_listed_is_no_name():
    text = "yesterday I saw Lisa Stein and her dog, but never old Stein or his cat in the garden."

    found, counts = names_in(text, register=REGISTER, lang="en")

    assert found == [("Stein", "tei:P.4")]
    assert counts["places held back: inside a longer name"] == 1


def test_a_form_that_is_known_to_be_longer_is_not_cut_in_scripts_without_spaces():
    person = "<person xml:id='{}'><persName>{}</persName></person>"
    two = person.format("p1", "鳩摩羅什") + person.format("p2", "鳩摩羅什")
    data = f"<TEI><listPerson>{two}{person.format('p3', '羅什')}</listPerson></TEI>".encode()
    text = "昔鳩摩羅什至長安"

    found, _ = names_in(text, register=data, tagged=[(1, 5, None, "person")], lang="lzh")

    assert found == [("鳩摩羅什", None)]


def letters(n, *, lines):
    """Make letters of lines with names between brackets; a line may be in every second letter."""
    for number in range(n):
        text, names = "", []
        for line, kind, step in lines:
            before, _, rest = line.partition("[")
            name, _, after = rest.partition("]")
            start = len(text) + len(before)
            if number % step == 0:
                entity = kind[1] and f"tei:{kind[1]}"
                names.append(Mention(start, start + len(name), entity, kind[0]))
            text += f"{before}{name}{after}\n"
        source = f"{number}.xml"
        yield Document(id=source, group="tei", source=source, text=text, mentions=tuple(names))


@pytest.mark.parametrize(
    ("text", "is_alone"),
    [("Gestern sang Stein laut.", 1.0), ("Olga Stein kam, und gestern sang Stein laut.", 0.0)],
)
def test_a_surname_says_less_where_the_letter_says_nothing_else_of_the_person(text, is_alone):
    edition = load_edition(edition_path("tei"))
    document = Document(id="a", group="tei", source="a.xml", text=text)
    view = FoldedView(TaggedNames([document], register(), edition))

    meanings = view.places(document)[-1].of_meanings

    assert meanings["P.4"]["a person by one word alone"] == is_alone


def test_the_word_before_a_form_tells_which_of_its_entities_it_means():
    edition = load_edition(edition_path("tei"))
    lines = [
        ("Da kam Herr [Marc] zu uns.", ("person", "P.2"), 1),
        ("Da kam Frau [Marc] zu uns.", ("person", "P.3"), 1),
    ]
    tagged = list(letters(80, lines=lines))
    bare = Document(**{**fields(tagged[0]), "id": "new", "source": "new.xml"})
    dictionary = dictionary_of([*tagged, bare], edition, given="ref=#{}")

    assert [each.entity for each in dictionary.annotate(bare).mentions] == ["tei:P.2", "tei:P.3"]


def test_a_form_without_an_id_does_not_mean_a_longer_name():
    edition = load_edition(edition_path("tei"))
    lines = [("[Stein] kam.", ("person", None), 1), ("[Emil Stein] kam.", ("person", "p1"), 1)]

    view = FoldedView(TaggedNames(list(letters(9, lines=lines)), None, edition))

    assert view.facts("Stein").meanings == {}
    assert view.facts("Emil Stein").meaning == "tei:p1"


def test_a_name_of_a_model_beside_one_of_people_is_none_of_theirs():
    names = TaggedNames([], None, load_edition(edition_path("tei")))
    by_people = {"label": "person", "entity": "tei:p1"}
    by_model = {"@resp": "#onoma-abc"}
    for first, second, known in (({}, by_model, "Franz"), (by_model, {}, "Marc")):
        mentions = (
            Mention(start=0, end=5, origin="annotation", attributes=first, **by_people),
            Mention(start=6, end=10, origin="annotation", attributes=second, **by_people),
        )
        letter = Document(id="a", group="tei", source="a.xml", text="Franz Marc", mentions=mentions)

        assert [name.form for name in names.names_of(letter).values()] == [known]


def test_a_name_that_is_tagged_on_both_sides_of_a_lines_end_is_known_as_one():
    parts = [(12, 15, "tei:o3", "place"), (15, 19, "tei:o3", "place")]

    found, _ = names_in("Er zog nach Hamburg.", register=FRANKFURT, tagged=parts)

    assert found == [("Hamburg", "tei:o3")]


def test_how_sure_a_name_must_be_is_learned_from_the_tagged_letters():
    edition = load_edition(edition_path("tei"))
    lines = [
        ("Wir fuhren gestern nach [Jena] und blieben.", ("place", "O.1"), 1),
        ("Da liegt ein [Stein] auf dem Weg.", ("person", "P.4"), 2),
    ]
    tagged = list(letters(80, lines=lines))
    [bare] = letters(1, lines=[(line, kind, 1) for line, kind, _ in lines])
    bare = Document(id="new", group="tei", source="new.xml", text=bare.text)
    dictionary = dictionary_of([*tagged, bare], edition, given="ref=#{}")

    [name] = dictionary.annotate(bare).mentions

    assert (bare.text[name.start : name.end], name.entity) == ("Jena", "tei:O.1")
    assert name.score > 0.9
    assert dictionary.held_back["places held back: not a name often enough"] == 1
    assert any("expected precision 100.0%" in line for line in dictionary.report())


def test_places_that_editors_passed_over_are_hardly_names_in_a_letter_that_they_tagged():
    edition = load_edition(edition_path("tei"))
    lines = [(f"Nach [{'Jena'}] und zurück.", ("place", "O.1"), 1)] * 4
    tagged = list(letters(80, lines=lines))
    partly = tagged[0]
    partly = Document(**{**fields(partly), "mentions": partly.mentions[:3]})
    dictionary = dictionary_of([partly, *tagged[1:]], edition)

    [judged] = dictionary.judge(partly)

    [untagged, *_] = dictionary.judge(Document(**fields(partly)))
    assert judged.probability < untagged.probability


def test_an_initial_belongs_to_the_name_though_editors_tagged_some_names_without_theirs():
    edition = load_edition(edition_path("tei"))
    lines = [("Da kam Herr P. [Sperber] zu uns.", ("person", "P.1"), 1)]
    new = Document(id="new", group="tei", source="new.xml", text="Da kam Herr P. Sperber zu uns.")
    dictionary = dictionary_of([*letters(80, lines=lines), new], edition)

    assert [judged.is_name for judged in dictionary.judge(new)] == [False]


def joined_with(score, *, form):
    """Join a tagger's name of a letter about Jena and a stone with the dictionary's names."""
    edition = load_edition(edition_path("tei"))
    lines = [
        ("Wir fuhren gestern nach [Bad Jena] und blieben.", ("place", "O.1"), 1),
        ("Da liegt ein [Stein] auf dem Weg.", ("person", "P.4"), 2),
    ]
    tagged = list(letters(80, lines=lines))
    text = "Wir fuhren gestern nach Bad Jena und blieben.\nDa liegt ein Stein auf dem Weg. Oha"
    new = Document(id="new", group="tei", source="new.xml", text=text)
    dictionary = dictionary_of([*tagged, new], edition, given="ref=#{}")
    start, label = text.index(form), {"Stein": "person"}.get(form, "place")
    mention = Mention(start, start + len(form), None, label, "prediction", score)
    joined = join([mention], dictionary.judge(new), dictionary, threshold=0.8)
    written = [m for m in joined.tagged if m.score >= 0.8]
    known = [dictionary.mention(each) for each in joined.known if each.is_name]
    return [text[m.start : m.end] for m in written], [text[m.start : m.end] for m in known]


@pytest.mark.parametrize(
    ("form", "score", "expected"),
    [
        ("Stein", 0.97, ["Stein"]),  # a stone as often as a person: the tagger decides
        ("Stein", 0.6, []),
        ("Oha", 0.96, ["Oha"]),  # the dictionary does not know it
        ("Oha", 0.9, []),
        ("Jena", 0.99, []),  # a part of a longer known form
    ],
)
def test_a_tagger_and_a_dictionary_decide_together(form, score, expected):
    tagged, known = joined_with(score, form=form)

    assert (tagged, known) == (expected, ["Bad Jena"])


def words(*pairs):
    return " ".join(f'<w lemma="{lemma}">{form}</w>' for form, lemma in pairs)


@pytest.mark.parametrize(
    "pairs",
    [
        [("Petri", "Petrus"), ("Almae", "Alma")],
        [("PETRI", "petrus"), ("Almam", "alma")],  # all lemmas small
    ],
)
def test_declined_names_are_found_by_their_lemmas(pairs):
    known = REGISTER.replace(b"Peter</forename>", b"Petrus</forename>")
    loaded = load_edition(edition_path("tei"))
    body = f"<p>{words(('librum', 'liber'), *pairs, ('video', 'video'))}</p><p>Petri Almae</p>"
    file = TeiFile.read(TEI.format(body).encode(), loaded, name="a.xml")
    dictionary = dictionary_of(
        file.documents, loaded, known=read_registers([("r.xml", known)]), given="ref=#{}"
    )

    found = {d.id: dictionary.annotate(d).mentions for d in file.documents}

    [mention] = found["a.xml"]  # without lemmas, the declined form is another
    assert file.documents[0].text[mention.start : mention.end] == " ".join(f for f, _ in pairs)
    assert mention.attributes["@ref"] == "#P.1"
    written = file.write(found, model=MODEL).data.decode()
    assert f'<persName ref="#P.1" resp="#onoma-abc">{words(*pairs)}</persName>' in written


def test_a_declined_name_that_is_tagged_counts_for_its_lemma():
    loaded = load_edition(edition_path("tei"))
    tagged = f'<p><placeName ref="#O.1">{words(("Jenae", "Jena"))}</placeName></p>'
    file = TeiFile.read(TEI.format(tagged).encode(), loaded, name="a.xml")

    names = TaggedNames(file.documents, register(), loaded)

    assert names.names.get(("Jena", "place"), None) == 1
    [place] = names.finder(None).find(file.documents[0])
    assert (place.form, place.start, place.end) == ("Jena", 0, 5)


def test_lemmas_are_read_only_where_names_are_looked_for():
    loaded, data = load_edition(edition_path("tei")), TEI.format(f"<p>{words(('a', 'ab'))}</p>")

    [plain], [full] = (
        read_tei(data.encode(), loaded, name="a.xml", with_lemmas=has) for has in (False, True)
    )

    assert "lemmas" not in plain.document.metadata
    assert full.document.metadata["lemmas"] == "0 1 ab"
    assert full.document.text == plain.document.text == "a"
