"""Pages that only list meanings are known in every wiki that a table knows, and by common signs."""

import pyarrow as pa
import pytest

from corpora.wikipedia.readers import missing_tables
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import codes_of, language_of, wiki_of
from corpora.wikipedia.unmatched import Unmatched, build_unmatched
from corpora.wikipedia.wikitext import extract


def read(wikitext, *, wiki="enwiki", lang=None, title="Page"):
    known = wiki_of(name=wiki, lang=lang or language_of(wiki))
    return extract(wikitext, known, load_templates(known.codes), title=title)


@pytest.mark.parametrize(
    ("wiki", "wikitext"),
    [
        ("elwiki", "{{αποσαφήνιση}}"),
        ("viwiki", "{{Trang định hướng}}"),
        ("viwiki", "{{định hướng}}"),
        ("mrwiki", "{{नि:संदिग्धीकरण}}"),
        ("ruwiki", "{{Неоднозначность}}"),
        ("alswiki", "{{Begriffsklärig}}"),
        ("nowiki", "{{Peker}}"),
        ("simplewiki", "{{disambig}}"),
        ("be_x_oldwiki", "{{Неадназначнасьць}}"),
        ("zh_min_nanwiki", "{{KhPI}}"),
    ],
)
def test_templates_of_disambiguation_are_known_by_the_wiki(wiki, wikitext):
    assert read(f"* [[A]]\n{wikitext}", wiki=wiki).is_disambiguation


@pytest.mark.parametrize(
    "word", ["__DISAMBIG__", "__ĐỊNH_HƯỚNG__", "__निःसंदिग्ध__", "__曖昧さ回避__"]
)
def test_the_word_for_disambiguation_counts_in_every_wiki_and_is_no_text(word):
    page = read(f"{word}\nText.", wiki="gawiki")

    assert page.is_disambiguation
    assert page.text == "Text."


def test_a_word_of_disambiguation_that_is_quoted_does_not_count():
    assert not read("Write <nowiki>__DISAMBIG__</nowiki>.").is_disambiguation


@pytest.mark.parametrize(
    ("wiki", "title"),
    [
        ("elwiki", "Άρης (αποσαφήνιση)"),
        ("plwiki", "Mars (ujednoznacznienie)"),
        ("aawiki", "Mars (disambiguation)"),
    ],
)
def test_the_brackets_of_a_title_say_that_it_lists_meanings(wiki, title):
    assert read("* [[A]]", wiki=wiki, title=title).is_disambiguation


@pytest.mark.parametrize("title", ["Democraten (DP)", "Mars (planet)", "Disambiguation"])
def test_other_brackets_do_not(title):
    assert not read("Text.", wiki="nlwiki", title=title).is_disambiguation


def test_the_category_of_disambiguation_counts_where_the_page_has_it():
    assert read("* [[A]]\n[[Kategori:Flertydig]]", wiki="dawiki").is_disambiguation
    assert not read("En [[Flertydig|flertydig]] side.", wiki="dawiki").is_disambiguation


def test_tables_are_found_by_the_name_of_the_wiki_and_by_its_language():
    assert codes_of("alswiki", "gsw") == ("als", "gsw")
    assert codes_of("nowiki", "nb") == ("no", "nb")
    assert codes_of("kleinwiki", "gsw") == ("gsw", "als")
    assert codes_of("simplewiki", "en") == ("simple", "en")
    assert codes_of("kleinwiki", "de-CH") == ("de-CH", "de")
    assert codes_of("dewikisource", "de") == ("wikisource", "de")
    assert language_of("simplewiki") == "en"
    assert language_of("enwikinews") == language_of("enwiktionary") == "en"
    assert language_of("be_x_oldwiki") == "be-tarask"


def test_what_no_table_knows_is_reported():
    assert missing_tables("dewiki", "de") == []
    message = " ".join(missing_tables("zuwiki", "zu"))
    assert all(
        what in message for what in ("templates", "disambiguation", "images", "abbreviations")
    )
    assert "disambiguation" not in " ".join(missing_tables("elwiki", "el"))


@pytest.mark.parametrize(
    ("wiki", "wikitext"),
    [
        ("elwiki", "[[Αρχείο:A.jpg|μικρογραφία|εναλλ.=ένα δέντρο|Το δέντρο]]"),
        ("hywiki", "[[File:A.jpg|մինի|աջից|200փքս|Το δέντρο]]"),
        ("mrwiki", "[[चित्र:A.jpg|इवलेसे|उजवे|अल्ट=झाड|२००px|Το δέντρο]]"),
        ("euwiki", "[[File:A.jpg|ezkerrera|erdian|Το δέντρο]]"),
        ("jvwiki", "[[Gambar:A.jpg|jmpl|ka|Το δέντρο]]"),
        ("mnwiki", "[[Зураг:A.jpg|thumb|Το δέντρο]]"),
        ("mswiki", "[[Imej:A.jpg|thumb|Το δέντρο]]"),
        ("frwiki", "[[Fichier:A.jpg|sans cadre|redresse 1.2|Το δέντρο]]"),
        ("alswiki", "[[Datei:A.jpg|miniatur|hochkant=1.3|Το δέντρο]]"),
    ],
)
def test_options_of_images_are_no_captions_in_any_language(wiki, wikitext):
    page = read(wikitext, wiki=wiki)

    assert page.text == "Το δέντρο"
    assert [block.kind for block in page.blocks] == ["caption"]


def test_an_image_with_options_alone_has_no_caption():
    assert read("[[Αρχείο:A.jpg|μικρογραφία|εναλλ.=δέντρο]]", wiki="elwiki").text == ""
    assert read("[[Attēls:A.jpg|sīktēls|pa labi|250px]]", wiki="lvwiki").text == ""


def test_titles_with_such_brackets_are_never_matched_though_no_page_has_them(tmp_path):
    build_unmatched(tmp_path, [pa.record_batch([pa.array(["Anker"])], ["meaning"])])
    table = Unmatched(tmp_path, ("pl",))
    titles = ["Anker", "Mars (disambiguation)", "Mars (ujednoznacznienie)", "Mars (planet)", "Mars"]

    flags = table.has(pa.array([*titles, "Anker"]))

    assert flags.tolist() == [True, True, True, False, False, True]
