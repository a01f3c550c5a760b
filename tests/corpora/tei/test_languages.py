"""The language of a text and of its passages: where sentences end, and what hyphens mean."""

import pytest

from corpora.errors import UsageError
from corpora.tei.abbreviations import as_tables, learn_abbreviations
from corpora.tei.card import warnings_of
from corpora.tei.edition import load_edition
from corpora.tei.reader import read_tei

GERMAN = "Am 26. Mai kam Dr. Ernst z. B. nach Ulm."


@pytest.fixture
def edition(tmp_path):
    def load(toml=""):
        path = tmp_path / "mine.toml"
        path.write_text(toml, "utf-8")
        return load_edition(path)

    return load


def read(xml, edition, *, lang='xml:lang="de"', header="<teiHeader/>"):
    data = f"<TEI {lang}>{header}<text><body>{xml}</body></text></TEI>".encode()
    [text] = read_tei(data, edition, name="a.xml")
    return text


def sentences(xml, edition, **options):
    document = read(xml, edition, **options).document
    return [document.text[s.start : s.end] for s in document.sentences]


def of_usage(attributes):
    usage = f"<langUsage><language {attributes}/></langUsage>"
    return f"<teiHeader><profileDesc>{usage}</profileDesc></teiHeader>"


@pytest.mark.parametrize(
    ("lang", "header"),
    [
        ('xml:lang="de"', "<teiHeader/>"),
        ('xml:lang="ger"', "<teiHeader/>"),
        ('xml:lang="deu"', "<teiHeader/>"),
        ('xml:lang="de-AT"', "<teiHeader/>"),
        ('lang="ger"', "<teiHeader/>"),  # P4
        ("", of_usage('ident="ger"')),
        ("", of_usage('id="de"')),  # P4
        ('xml:lang="und"', of_usage('ident="deu"')),
    ],
)
def test_every_way_to_say_a_language_finds_its_table(edition, lang, header):
    found = sentences(f"<p>{GERMAN} Dann ging er.</p>", edition(), lang=lang, header=header)

    assert found == [GERMAN, "Dann ging er."]


@pytest.mark.parametrize("tag", ["ger", "fre", "dut", "lat", "grc", "slo", "gmh", "frm", "ces"])
def test_no_character_of_a_language_with_a_table_is_warned_of(edition, tag):
    counters = read("<p>A <rs>B</rs></p>", edition(), lang=f'xml:lang="{tag}"').counters

    assert not [text for text in warnings_of(counters, []) if "table" in text]


def test_text_without_a_table_is_warned_of_with_its_ratio(edition):
    text = read(f'<p>{"a" * 30}</p><p xml:lang="tlh">{"b" * 9}</p>', edition())

    [warning] = [w for w in warnings_of(text.counters, []) if "table" in w]

    assert warning.startswith("9 of 40 characters (22.5%)")
    assert "(tlh)" in warning


def test_the_edition_outweighs_what_files_say(edition):
    english = 'xml:lang="en"'
    mine = edition('[languages]\nen = "de"\n')
    all_mine = edition('[languages]\n"*" = "de"\n')

    assert read("<p>a</p>", mine, lang=english).document.lang == "de"
    assert read("<p>a</p>", all_mine, lang='xml:lang="fr"').document.lang == "de"
    assert read("<p>a</p>", all_mine, lang="").document.lang == "de"
    assert sentences(f"<p>{GERMAN}</p>", mine, lang=english) == [GERMAN]


def test_a_language_is_overridden_as_the_counts_name_it(edition):
    mine = edition('[languages]\n"#ge" = "de"\nen = "fr"\n"EN-US" = "es"\n')
    xml = "".join(f'<p xml:lang="{tag}">a</p>' for tag in ("#GE", "eng", "en-us", "it"))

    found = [name for name in read(xml, mine).counters if name.startswith("language/")]

    assert found == ["language/de", "language/fr", "language/es", "language/it"]


def test_abbreviations_that_the_edition_declares_end_no_sentence(edition):
    mine = edition('[sentences]\nabbreviations = ["Ah.", "Kab."]\nmay_end = ["usf."]\n')
    xml = "<p>Im Ah. Thal lag das Kab. Blatt usf. Es war da. Ende.</p>"

    assert sentences(xml, mine) == ["Im Ah. Thal lag das Kab. Blatt usf.", "Es war da.", "Ende."]
    assert len(sentences(xml, edition())) > 3


def test_an_abbreviation_without_its_period_is_an_error_with_its_line(edition):
    with pytest.raises(UsageError, match=r"mine.toml:2: .*'Ah' does not end with a period"):
        edition('[sentences]\nabbreviations = ["Ah"]\n')


def test_what_the_file_marks_as_abbreviation_ends_no_sentence(edition):
    xml = (
        "<p>Die <abbr>Xab.</abbr> Sitzung, <abbr>Yab.</abbr>) Thal, <abbr>etc.</abbr> Es kam "
        "<persName>Herr <abbr>Zab.</abbr></persName> Meier. Xab. Ende.</p>"
    )

    assert sentences(xml, edition()) == [
        "Die Xab. Sitzung, Yab.) Thal, etc.",
        "Es kam Herr Zab. Meier.",
        "Xab.",
        "Ende.",
    ]


@pytest.mark.parametrize("element", ["p", "div", "quote", "foreign"])
def test_a_passage_is_cut_by_its_own_language(edition, element):
    passage = f'<{element} xml:lang="ger">{GERMAN}</{element}>'
    xml = f"<div><p>Det er d. 9. Marts. Ja.</p>{passage}</div>"
    xml = f"<p>Ja. {passage} Nei.</p>" if element == "foreign" else xml

    assert GERMAN in sentences(xml, edition(), lang='xml:lang="en"')


def test_a_note_keeps_the_language_of_its_place(edition):
    xml = f'<div xml:lang="de"><p>Ja<note>{GERMAN}</note>.</p></div>'

    assert GERMAN in sentences(xml, edition(), lang='xml:lang="en"')


@pytest.mark.parametrize(
    ("lang", "text"), [("de", "Kulturkampf"), ("la", "Kulturkampf"), ("tlh", "Kultur-kampf")]
)
def test_a_hyphen_stays_in_a_passage_whose_language_has_no_rule(edition, lang, text):
    xml = f'<p>Ja. <foreign xml:lang="{lang}">Kultur-<lb/>kampf</foreign></p>'

    assert read(xml, edition()).document.text == f"Ja. {text}"


def test_learned_abbreviations_are_those_that_no_table_has_and_can_be_taken(edition):
    line = "Der Kab. Rat kam, sagte Ah. Meier. Da kam Dr. Meier, sagte er. Er kam, sagte der Rat."
    learned = learn_abbreviations([("ger", line)] * 60, edition())

    taken = edition().with_learned(as_tables(learned))

    assert {each.written[0]: each.n for each in learned["de"]} == {"Ah.": 60, "Kab.": 60}
    assert {each.written[0]: each.may_be_final for each in learned["de"]} == dict.fromkeys(
        ["Ah.", "Kab."], False
    )
    assert len(sentences(f"<p>{line}</p>", edition())) == 5
    assert len(sentences(f"<p>{line}</p>", taken)) == 3


@pytest.mark.parametrize(("lang", "n_warnings"), [("ko", 1), ("zh", 0)])
def test_line_ends_that_are_no_spaces_are_warned_of_where_words_have_spaces(
    lang, n_warnings, edition
):
    text = read("<p>大<lb/>韓 民<lb/>國</p>", edition(), lang=f'xml:lang="{lang}"')

    warnings = [each for each in warnings_of(text.counters, []) if "2 line ends" in each]

    assert len(warnings) == n_warnings
