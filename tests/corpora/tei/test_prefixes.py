"""Prefixes of pointers (``prefixDef``): what names point to, and how references are written."""

import pytest

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.registers.references import Habits, Referrer, Usage
from corpora.registers.register import read_registers
from corpora.tei.card import warnings_of
from corpora.tei.census import Census
from corpora.tei.edition import load_edition
from corpora.tei.inspection import draft_edition, to_words
from corpora.tei.prefixes import Prefixes, prefix_of, read_prefixes, union
from corpora.tei.reader import read_tei
from corpora.tei.style import reference, typed_entity
from corpora.tei.undo import undo
from corpora.tei.xml import parse_xml
from tests.corpora.tei.writer.written_names import body, find, write

GND = '<prefixDef ident="gnd" matchPattern="([0-9X-]+)" replacementPattern="https://d-nb.info/gnd/$1"/>'
PMB = (
    '<prefixDef ident="pmb" matchPattern="([0-9]+)" replacementPattern="https://pmb.example/e/$1"/>'
)
PSN = '<prefixDef ident="psn" matchPattern="([A-Z]+)" replacementPattern="persons.xml#$1"/>'
OWN = '<prefixDef ident="p" matchPattern="(.+)" replacementPattern="#p$1"/>'
ALL = GND + PMB + PSN + OWN


def declared(*definitions):
    prefixes = "".join(definitions)
    return f"<encodingDesc><listPrefixDef>{prefixes}</listPrefixDef></encodingDesc>"


def tei(text, *definitions, element="TEI"):
    header = f"<teiHeader>{declared(*definitions)}</teiHeader>"
    namespace = "http://www.tei-c.org/ns/1.0"
    inside = f"<text><body>{text}</body></text>" if element == "TEI" else text
    return f'<{element} xmlns="{namespace}">{header}{inside}</{element}>'


def names(*references):
    return "<p>" + " ".join(f'<persName ref="{one}">Ida</persName>' for one in references) + "</p>"


def definition(pattern, replacement="#$1", ident="x"):
    return (
        f'<prefixDef ident="{ident}" matchPattern="{pattern}" replacementPattern="{replacement}"/>'
    )


def prefixes_of(*definitions):
    return read_prefixes(parse_xml(tei("", *definitions).encode(), name="a.xml"))


@pytest.fixture
def edition(tmp_path):
    (tmp_path / "e.toml").write_text("")
    return load_edition(tmp_path / "e.toml")


def read(data, edition):
    [text] = read_tei(data.encode(), edition, name="x.xml")
    return text


def entities(data, edition):
    return [mention.entity for mention in read(data, edition).document.mentions]


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("gnd:118540238", "https://d-nb.info/gnd/118540238"),
        ("pmb:12", "https://pmb.example/e/12"),
        ("psn:IB", "persons.xml#IB"),
        ("p:12", "#p12"),
        ("gnd:1 p:2", "https://d-nb.info/gnd/1 #p2"),
    ],
)
def test_a_prefixed_reference_means_what_the_full_one_means(written, full, edition):
    short, long = entities(tei(names(written, full), ALL), edition)

    assert short == long


def test_references_to_authority_files_have_their_spaces(edition):
    assert entities(tei(names("gnd:118540238 p:2"), ALL), edition) == ["gnd:118540238 e:p2"]


@pytest.mark.parametrize("written", ["gnd:Goethe", "other:12", "gnd", ":12", "http://a.example/1"])
def test_what_no_definition_matches_stays_as_it_is(written, edition):
    assert entities(tei(names(written), ALL), edition) == [f"e:{written}"]


def test_of_several_definitions_the_first_that_matches_decides(edition):
    several = definition("([0-9]+)", "#n$1"), definition("([0-9a-z]+)", "#l$1"), definition("(.*)")

    found = entities(tei(names("x:12", "x:1a", "x:A"), *several), edition)

    assert found == ["e:n12", "e:l1a", "e:A"]


def test_the_definitions_of_a_text_come_before_those_of_its_corpus(edition):
    first = tei(names("x:1", "gnd:1"), definition("(.+)", "#own$1"))
    second = tei(names("x:1"))
    corpus = tei(first + second, definition("(.+)", "#corpus$1"), GND, element="teiCorpus")

    texts = read_tei(corpus.encode(), edition, name="x.xml")

    found = [[mention.entity for mention in text.document.mentions] for text in texts]
    assert found == [["e:own1", "gnd:1"], ["e:corpus1"]]


def test_the_edition_file_comes_first(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text('[entities.spaces]\n"gnd:" = "mine"\n"https://pmb.example/e/" = "pmb"\n')

    assert entities(tei(names("gnd:1", "pmb:2"), ALL), load_edition(path)) == ["mine:1", "pmb:2"]


@pytest.mark.parametrize(
    ("pattern", "rest", "full"),
    [
        (r"(\d+)", "१२", "#१२"),
        (r"([\w.]+)", "Müller.1", "#Müller.1"),
        (r"(\W)", "-", "#-"),
        (r"(\p{Lu}\D*)", "Äb", "#Äb"),
        (r"^(.+)$", "a/b", "#a/b"),
        (r"(a(?:b)*)", "abb", "#abb"),
        (r"([a-z\-_]{1,3})", "a_-", "#a_-"),
        (r"(.*)", "", "#"),
        (r"([^#]+)", "a#b", None),
        (r"([a-z]+)", "a1", None),
    ],
)
def test_patterns_are_those_of_the_w3c(pattern, rest, full):
    assert prefixes_of(definition(pattern)).resolve(f"x:{rest}") == full


@pytest.mark.parametrize(
    ("pattern", "replacement", "full"),
    [
        ("(a)(b)", "$2-$1-$0", "b-a-ab"),
        ("(a)(b)", "$12|$3|", "a2||"),
        ("(a)(b)", r"\$1\\", "$1\\"),
        ("ab", "$", "$"),
    ],
)
def test_replacements_are_those_of_xpath(pattern, replacement, full):
    assert prefixes_of(definition(pattern, replacement)).resolve("x:ab") == full


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        (r"(\d{5 - 8})", r"{ must be written as \{"),
        ("[a-z-[aeiou]]+", "a class inside a class is not known"),
        (r"(a)\1", r"\1 is not known"),
        ("[]a]", "a class is empty"),
        (r"(\p{L}{1000})", "no regular expression"),
        ("a" * 1001, "longer than 1,000 characters"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_reported_and_the_others_are_used(pattern, why, edition):
    text = read(tei(names("x:1", "gnd:1"), definition(pattern), GND), edition)

    assert [mention.entity for mention in text.document.mentions] == ["e:x:1", "gnd:1"]
    assert text.counters[f"prefixDef that cannot be read: x: {why}"] == 1
    assert any(f"x: {why} (1 references," in warning for warning in warnings_of(text.counters, []))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ('ident="x" matchPattern="a"', "no @replacementPattern"),
        (
            'ident="x" matchPattern="(.+)" replacementPattern="list.xml"',
            "no $1 in @replacementPattern, so that all references would be the same",
        ),
        ('ident="x" replacementPattern="a"', "no @matchPattern"),
        (
            'ident="x:" matchPattern="a" replacementPattern="a"',
            "@ident 'x:' is no name of a prefix",
        ),
        (f'ident="x" matchPattern="{"(a)" * 10}" replacementPattern="$10"', "more than 9 groups"),
    ],
)
def test_an_incomplete_definition_is_reported(given, why):
    assert prefixes_of(f"<prefixDef {given}/>").unread == {"x": why}


def test_a_definition_that_no_reference_needs_is_not_reported(edition):
    counters = read(tei(names("gnd:1"), definition("("), GND), edition).counters

    assert not any(name.startswith("prefixDef") for name in counters)


def test_an_edition_file_declares_prefixes_for_files_that_declare_none(tmp_path):
    file = tmp_path / "e.toml"
    file.write_text('[entities.prefixes]\npmb = "persons.xml#$1"\n')
    edition = load_edition(file)

    assert entities(tei(names("pmb:12", "gnd:1")), edition) == ["e:persons.xml#12", "e:gnd:1"]
    assert entities(tei(names("pmb:12", "gnd:1"), ALL), edition) == ["e:persons.xml#12", "gnd:1"]
    data = tei(names("pmb:12") + "<p>Eva</p>").encode()
    made = write(data, edition, find(data, edition, "Eva", entity="e:persons.xml#7"))
    assert '<persName ref="pmb:7" ' in made.data.decode()


def test_prefixes_of_one_text_are_not_those_of_the_next(edition):
    corpus = tei(tei(names("p:1"), OWN) + tei(names("p:1")), element="teiCorpus").encode()

    texts = read_tei(corpus, edition, name="x.xml")

    found = [mention.entity for text in texts for mention in text.document.mentions]
    assert found == ["e:p1", "e:p:1"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('"pmb:" = "https://pmb.example/e/$1"', "no name of a prefix"),
        ('pmb = "https://pmb.example/e/"', r"write \$1 where"),
    ],
)
def test_a_prefix_of_an_edition_file_that_cannot_be_read_is_named(line, why, tmp_path):
    (tmp_path / "e.toml").write_text(f"[entities.prefixes]\n{line}\n")

    with pytest.raises(UsageError, match=rf"e\.toml:2: \[entities\.prefixes\] pmb:?: {why}"):
        load_edition(tmp_path / "e.toml")


def test_a_pattern_that_backtracking_never_ends_is_matched_at_once():
    assert prefixes_of(definition("((a+)+)+b")).resolve("x:" + "a" * 10_000) is None


def test_references_are_counted_by_prefix(edition):
    counters = read(tei(names("gnd:1 gnd:2", "gnd:A", "p:1", "#p1"), ALL), edition).counters

    assert counters["references resolved by prefixDef: gnd"] == 2
    assert counters["references resolved by prefixDef: p"] == 1
    assert counters["references that no prefixDef of their prefix matches: gnd"] == 1


def test_the_census_shows_prefixes_and_drafts_spaces_of_what_they_stand_for(edition):
    census = Census(edition)
    census.add(tei(names("gnd:1", "pmb:2", "pmb:X"), ALL).encode(), name="x.xml")

    lines = [" ".join(line.split()) for line in to_words(census)]
    drafted = draft_edition(census, name="e")

    assert "gnd 1 0" in lines
    assert "pmb 1 1" in lines
    assert '"https://pmb.example/e/" = ' in drafted
    assert '"gnd:"' not in drafted


def test_a_reference_is_written_with_the_prefix_that_others_have(edition):
    data = tei("<p>Eva</p>" + names("gnd:1", "pmb:1", "psn:A", "p:1"), ALL).encode()

    for entity, written in (
        ("e:p77", "p:77"),
        ("gnd:118540238", "gnd:118540238"),
        ("e:https://pmb.example/e/7", "pmb:7"),
        ("e:persons.xml#IB", "psn:IB"),
        ("gnd:1 e:persons.xml#IB", "gnd:1 psn:IB"),
    ):
        made = write(data, edition, find(data, edition, "Eva", entity=entity))

        assert body(made).startswith(f'<p><persName ref="{written}">Eva</persName></p>')
        assert undo(made.data, name="x.xml") == data


@pytest.mark.parametrize(
    ("definitions", "attributes"), [(ALL, {}), ("", {}), ("", {"@ref": "gnd:1"})]
)
def test_a_prefix_that_no_reference_of_a_file_has_or_that_it_does_not_declare_is_not_written(
    definitions, attributes, edition
):
    data = tei("<p>Eva</p>", definitions).encode()
    name = find(data, edition, "Eva", entity="gnd:1", attributes=attributes)

    written = write(data, edition, name)

    assert body(written) == '<p><persName ref="http://d-nb.info/gnd/1">Eva</persName></p>'


def test_names_are_referred_to_by_prefix_as_others_are(edition):
    text = read(tei(names("gnd:1", "pmb:1", "p:1"), ALL), edition)
    referring = edition.with_prefixes(text.prefixes)
    habits = Habits(referring)
    habits.learn([text.document])

    def referred(entity):
        made = habits.refer_to_same(Mention(0, 1, label="person", entity=entity))
        return reference(made, referring)

    assert referred("gnd:7") == ("ref", "gnd:7")
    assert referred("e:https://pmb.example/e/7") == ("ref", "pmb:7")
    assert referred("e:p7") == ("ref", "p:7")
    assert referred("e:p7 gnd:7") == ("ref", "p:7 gnd:7")


def test_a_prefix_of_another_edition_is_not_written(edition):
    habits = Habits(edition, elsewhere=[Usage("person", "gnd", "ref", "gnd:{}")])
    name = Mention(0, 1, label="person", entity="gnd:7")

    assert habits.refer(name) == name


def test_entries_are_found_and_referred_to_by_prefixed_ids(edition):
    entry = '<person xml:id="p1" sameAs="gnd:7"><persName>Ida</persName></person>'
    register = tei(f"<listPerson>{entry}</listPerson>", GND).encode()
    found = read_registers([("persons.xml", register)])
    text = read(tei(names("gnd:7"), GND), edition)
    referrer = Referrer(edition.with_prefixes(text.prefixes))
    referrer.learn([text.document], found)

    made = referrer.refer(Mention(0, 1, label="person"), found.entries["p1"])

    assert (made.entity, made.attributes["@ref"]) == ("gnd:7", "gnd:7")


def test_an_id_that_a_person_types_may_have_a_prefix(edition):
    own = edition.with_prefixes(prefixes_of(ALL))

    assert typed_entity("psn:IB", own) == "e:persons.xml#IB"
    assert typed_entity("gnd:1", own) == "gnd:1"


def test_the_prefixes_of_several_files_are_one(edition):
    one, other = (read(tei(names(ref), *some), edition).prefixes for ref, some in (
        ("gnd:1", [GND, definition("a")]), ("p:1", [OWN, GND, definition("(")])
    ))  # fmt: skip

    both = union([one, other])

    assert both.resolve("gnd:5") == "https://d-nb.info/gnd/5"
    assert {shape.prefix for shape in both.shapes} == {"gnd", "p"}
    assert both.unread == {"x": "no regular expression"}
    assert union([]) == Prefixes()
    assert prefix_of("gnd:1:2") == "gnd"


class Seen(list):
    """The children of an element; keeps how many were looked at."""

    n = 0

    def __iter__(self):
        for child in super().__iter__():
            self.n += 1
            yield child


def test_of_a_corpus_only_what_stands_before_its_texts_is_searched():
    text = tei(tei("a") * 50, GND, element="teiCorpus")
    corpus = parse_xml(text.encode(), name="a.xml")
    text = corpus.elements()[7]
    corpus.children = Seen(corpus.children)

    assert read_prefixes(text).definitions.keys() == {"gnd"}
    assert corpus.children.n == 2  # the header, and the first text
