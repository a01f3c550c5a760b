from datetime import date

from corpora.system.parsing import typed
from modeling.link.records import LinkRecord, day_of, normalise, record_of, words_of
from tests.modeling.link.samples import letter


def test_case_diacritics_long_s_hyphens_and_apostrophes_make_no_difference():
    forms = ["Großmann", "GROSSMANN", "großmann", "Groſsmann", "Großmann'"]

    assert {normalise(form) for form in forms} == {"grossmann"}
    assert normalise("D’Audretsch") == normalise("d'Audretſch") == "daudretsch"
    assert normalise("St.\xa0Gilgen") == normalise("St. Gilgen") == "st gilgen"
    assert normalise("Kälin-Müller") == "kalin muller"


def test_vowel_signs_are_part_of_a_word_and_points_are_not():
    assert normalise("कमल") != normalise("कोमल")
    assert normalise("हिन्दी ไทยแลนด์") == "हिन्दी ไทยแลนด์"
    assert normalise("שָׁלוֹם") == normalise("שלום") == "שלום"
    assert normalise("مُحَمَّد") == normalise("محمد") == "محمد"


def test_words_with_a_full_stop_may_be_cut_short():
    assert words_of("F. Marc") == (("f", True), ("marc", False))


def test_dates_of_a_day_a_month_and_a_year_are_days():
    assert day_of("1914-01-15") == date(1914, 1, 15).toordinal()
    assert day_of("1914") == day_of("1914-01") == date(1914, 1, 1).toordinal()
    assert day_of("um 1914") is None
    assert day_of("1914-02-31") is None


def test_a_record_has_the_words_around_and_the_facts_of_a_letter():
    document = letter("1", "Gestern kam Marc zu uns.", ("Marc", None), by="Walden, Herwarth")

    record = record_of(document)

    [case] = record.cases
    assert case.around == ("gestern", "kam", "zu", "uns", "<kam", ">zu")
    assert record.facts == ("sent_by=walden herwarth",)
    assert typed(LinkRecord, record.as_json()) == record


def test_equal_words_of_all_records_are_kept_once():
    one, other = (
        record_of(letter(id, "Gestern kam Marc zu uns.", ("Marc", "s:Marc"), by="Walden"))
        for id in "12"
    )
    read = typed(LinkRecord, one.as_json()).shared()

    [[a], [b], [c]] = one.cases, other.cases, read.cases
    for x, y, z in zip(a.around, b.around, c.around, strict=True):
        assert x is y is z
    assert a.form is b.form is c.form
    assert a.entity is b.entity is c.entity
