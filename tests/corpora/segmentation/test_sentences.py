import re
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.document import Span
from corpora.errors import UsageError
from corpora.segmentation.sentences import Segmenter, is_unseen, segmenter
from corpora.segmentation.starts import after_dashes
from corpora.segmentation.tables import read_table

LANGUAGES = ("de", "da", "en", "fr", "es", "th", None)


def sentences(lang, text, **options):
    found = segmenter(lang).sentences(text, Span(0, len(text)), **options)
    return [text[s.start : s.end] for s in found]


def words(lang, text, **options):
    found = segmenter(lang).words(text, Span(0, len(text)), **options)
    return [text[start:end] for start, end in found]


@pytest.mark.parametrize(
    ("lang", "marked"),
    [
        ("de", "Das ist gut. | Ich komme! | Kommst Du? | Ja."),
        ("de", "Das 😀 ist gut. | 𝟙 Mal komme ich! | Ja."),
        ("de", "Ich sah Fz. Marc. | Er malt."),
        ("de", "Es ist z. B. Der Sturm, d. h. Die Aktion, vgl. Die Fackel, gemeint."),
        ("de", "Frl. Kath. Koch, Hr. Prof. Dr. Walden und Hptm. d. R. Marc kamen."),
        ("de", "Am 9. Mai und am 3. d. M. war er da. | Im 19. Jahrhundert nicht."),
        ("de", "Heute ist der 9. | Ich komme."),
        ("de", "Wilhelm II. Kaiser war er. | Das reicht."),
        ("de", "Er fiel im Jahre 1916. | Marc war tot."),
        ("de", "Die Werke von J. S. Bach in Berlin W. 9. | Ich komme."),
        ("de", "Äpfel, Birnen u. s. w. | Wir aßen usw. Wurst etc. | Dann schwieg er."),
        ("de", "Wir wohnen Potsdamerstr. 134. | Die Str. | Die andere Str. Berlins."),
        ("de", "„Nein!“ sagte er. | „Ja.“ | Sie ging (leider.) | Er blieb. –"),
        ("de", "Das war es. – | Ich komme."),
        ("de", "1. Der Anfang. | 2. Das Ende."),
        ("de", "Es war Art. 5 der Ordnung. | Er ist von dieser Art. | Marc kam."),
        ("de", "Ich liebe Dir. | Mir. | Das."),
        ("da", "D. 9. Mai kom Hr. Kierkegaard f. Eks. Han til Kbh. | Han sagde nei."),
        ("da", "Jf. Pag. 12 og Cap. 3 o. s. v. | Det er bl.a. Guds Villie."),
        ("da", "Han stod op. | Kom med. | Det er af egen Art. | Manden gik."),
        ("da", "Hos prof. Møller, dr. Hansen og hr. Jensen, tidl. Minister, kl. 12. | Han kom."),
        (
            "de",
            "Die Fam. Meier kam bspw. Montag inkl. MwSt. | Der stellv. Leiter, Dipl.-Ing. Kurz.",
        ),
        ("en", "He lived in Boston, Mass. | The rest in Pa. Dutch towns."),
        ("en", "Mr. Smith met J. S. Bach on May 9. | Bach left at 5 p.m. | He lives at No. 9."),
        ("en", "No. | I was in the U.S. Army, cf. The Book. | So am I. | Marc was."),
        ("fr", "M. Dupont est né en 1914. | Mme. Curie, p. ex. La grande, etc. | Le reste."),
        ("es", "El Sr. García llegó. | Comió."),
        ("my", "သံ၊ ရေနံ၊ ကျောက်မီးသွေး ရှိသည်။ | သူ သွားပြီ။"),
        (None, "J. S. Bach came. | Marc left."),
    ],
)
def test_sentences_end_where_a_reader_ends_them(lang, marked):
    expected = marked.split(" | ")

    assert sentences(lang, " ".join(expected)) == expected


def test_line_breaks_end_no_sentence():
    verse = "Über allen Gipfeln\nIst Ruh,\u2028In allen Wipfeln\r\nSpürest du."

    assert sentences("de", verse) == [verse]


def test_names_are_never_cut():
    text = "Er las Wer? Was! Wo? Heute. Dann kam Marc."
    title = Span(7, 26)

    assert sentences("de", text) == ["Er las Wer?", "Was!", "Wo?", "Heute.", "Dann kam Marc."]
    assert sentences("de", text, unbroken=[Span(37, 41), title]) == [
        "Er las Wer? Was! Wo? Heute.",
        "Dann kam Marc.",
    ]


def test_only_the_paragraph_is_cut():
    text = "Davor. Ja. Nein. Danach."

    assert segmenter("de").sentences(text, Span(6, 17)) == [Span(7, 10), Span(11, 16)]
    assert segmenter("de").words(text, Span(7, 10)) == [(7, 9), (9, 10)]


@pytest.mark.parametrize(
    ("lang", "spaced"),
    [
        ("de", "Ich sah Fz. Marc , z. B. am 9. Mai ."),
        ("de", "Fz. Marc , d.h. Marc , u.s.w. ; J.S. Bach"),
        ("de", "Er fiel im Jahre 1916 ."),
        ("de", "Im 16. ( Jahrhundert ) und 1916 . ( Ende )"),
        ("de", "Heute ist der 9 ."),
        ("de", "Wilhelm II. war Kaiser nach Wilhelm I."),
        ("de", "am 9. 5."),
        ("de", "13. XI. 14 , 28.8.19. abends"),
        ("de", "Er wohnt Berlin W."),
        ("de", "Tiere usw."),
        ("de", "Leichte-Munitions-Kolonne , Berlin-Mitte , Feld-Art.-Rgt. 5"),
        ("de", "Ein- und Ausgang , 20-jährig , 10 - 12"),
        ("de", "10.000 Mk. und 3,50 Mk."),
        ("de", "Ach ... ja -- nein !! Oder ? ! ,, So '' ."),
        ("de", "Siehe http://example.org/a//b?c=1 , www.example.org und a.b@example.org ."),
        ("de", "von dieser Art . Dann Art. 5"),
        ("de", "Wie geht ’s ?"),
        ("de", "Mu\u0308nchen-Nord und Mün\u00adchen"),
        ("da", "d. 9. Mai hos Hr. Møller , f. Eks. bl.a. Pag. 12"),
        ("en", "Mr. Smith doesn't live at No. 9 , e.g. on May 9. I am in the U.S."),
        ("fr", "M. Dupont , c.-à-d. l’homme , né en 1914 , etc."),
        (None, "我们 在 柏林 - 中国 。"),
        ("th", "ภาษา ไทย"),
    ],
)
def test_words_are_cut_where_a_reader_cuts_them(lang, spaced):
    expected = spaced.split()
    glue_left = {".", ",", ";", "!", "?", ")", "''", "!!", "..."}
    text = expected[0]
    for word, following in pairwise(expected):
        is_glued = following in glue_left or word in {"(", ",,"} or lang == "th" or not lang
        text += following if is_glued or "-" in {word, following} else f" {following}"
    if lang == "en":
        expected[expected.index("9.") :] = ["9", ".", "I", "am", "in", "the", "U.S."]

    assert words(lang, text) == expected


def test_a_missing_space_is_a_word_boundary_but_not_in_an_address():
    assert words("de", "Ende.Der Rest in example.org") == [
        *("Ende", ".", "Der", "Rest", "in", "example.org")
    ]
    assert words("de", "Fz.Marc, Nr.5, W.9") == ["Fz.", "Marc", ",", "Nr.", "5", ",", "W.", "9"]


def test_words_are_cut_where_names_begin_and_end():
    text = "Marc-Biograph in Berlin-W. http://a.b//c"

    assert words("de", text, cuts=[0, 4, 23, 99]) == [
        *("Marc", "-Biograph", "in", "Berlin", "-W.", "http://a.b//c")
    ]
    assert words("de", text, cuts={35}) == [
        *("Marc-Biograph", "in", "Berlin-W.", "http://a", ".b//c")
    ]


@pytest.mark.parametrize(
    "space", ["\u00a0", "\u202f", "\u2028", "\x1c", "\x85", "\t", "\n", "\r\n"]
)
def test_no_white_space_is_inside_a_word(space):
    assert words("de", f"10{space}000 \u0308x{space}\u0308.") == [
        "10",
        "000",
        "\u0308x",
        "\u0308",
        ".",
    ]


def test_suspended_hyphens_know_the_conjunctions():
    assert {"und", "oder", "bzw"} <= segmenter("de-AT").conjunctions
    assert "og" in segmenter("da").conjunctions
    assert {"und", "og", "and", "et"} <= segmenter("xx").conjunctions
    assert {"und", "og", "and", "et"} <= segmenter(None).conjunctions


@pytest.mark.parametrize("lang", ["de-AT", "de_DE", "DE", "de-Latn-1901"])
def test_only_the_language_of_a_tag_counts(lang):
    assert segmenter(lang).table == segmenter("de").table


@pytest.mark.parametrize("lang", ["", "x-klingon", "not a tag", "../de", "qqq", "ja-JP"])
def test_languages_without_a_table_are_cut_too(lang):
    assert sentences(lang, "Marc came. Koch left.") == ["Marc came.", "Koch left."]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            'starter = ["Der"]',
            "starter: unknown \\(did you mean starters\\?\\). There are before_numbers",
        ),
        ('ordinals = "yes"', "must be true or false"),
        ('words = "I"', "must be a list, each item a non-empty string"),
        ("endings = [1]", "must be a list, each item a non-empty string"),
        ('never_final = ["Dr"]', "'Dr' does not end with a period"),
    ],
)
def test_mistakes_in_a_table_are_errors(toml, message):
    with pytest.raises(UsageError, match=message):
        read_table(toml, source="xx.toml")


@pytest.mark.parametrize("lang", ["de", "da", "en", "fr", "es", "it", "pt"])
def test_shipped_tables_repeat_and_contradict_nothing(lang):
    text = (files("corpora.segmentation") / "languages" / f"{lang}.toml").read_text("utf-8")

    table = read_table(text, source=lang)

    assert len(table.periods) > 300
    both = {word for word in table.starters & table.periods.keys() if len(word) > 1}
    assert both <= {"Mr", "Mrs", "Ms", "Al", "All", "Ed"}  # "Mr. Smith" begins sentences
    assert not table.before_numbers & table.periods.keys()


def test_icu_is_loaded_when_it_is_needed():
    check = (
        "import sys, corpora.segmentation.sentences as s; s.segmenter('de');"
        "print('icu4py' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


CHARACTERS = "aAzB.9–-!?'’“„)(@/:,_ \n\t\u00a0\u2028\u202f\u0308\u200d\u00ad😀中文ไท한I"
STRINGS = "🇩🇪|👩\u200d🔬|z. B. |Dr. |d.h.|II. |9. |1914. |Der |Ende. |u. s. w. |...|--| – |Str. "
ADDRESSES = "www.a.b|http://|a@b.de|Ein- |A-B"
PIECES = st.sampled_from([*CHARACTERS, *STRINGS.split("|"), *ADDRESSES.split("|")])
TEXTS = st.one_of(st.lists(PIECES, min_size=1, max_size=24).map("".join), st.text(min_size=1))


@st.composite
def cases(draw):
    """Draw a language, a text, a span of it, and spans of names in it."""
    text = draw(TEXTS)
    edges = st.integers(0, len(text))
    spans = st.tuples(edges, edges).filter(lambda e: e[0] != e[1]).map(lambda e: Span(*sorted(e)))
    return draw(st.sampled_from(LANGUAGES)), text, draw(spans), draw(st.lists(spans, max_size=3))


def check_cover(text, within, found):
    assert all(a.end <= b.start for a, b in pairwise(found))
    covered = {i for span in found for i in range(span.start, span.end)}
    not_space = {i for i in range(within.start, within.end) if not is_unseen(text[i])}
    assert not_space <= covered
    assert covered <= set(range(within.start, within.end))


def test_words_after_characters_beyond_16_bits_are_whole():
    assert words("de", "😀😀 gute 𝔘hr!") == ["😀", "😀", "gute", "𝔘hr", "!"]


@pytest.mark.parametrize("text", ["Der u. s. w.  – ", "Er ging … – ", "Ende. »– "])
def test_a_dash_at_the_end_of_a_text_begins_no_sentence(text):
    found = segmenter("de").sentences(text, Span(0, len(text)))

    assert found[-1].end == len(text.rstrip())


@settings(max_examples=150)
@given(cases())
def test_sentences_cover_the_paragraph_and_cut_no_name(case):
    lang, text, within, names = case

    found = segmenter(lang).sentences(text, within, unbroken=names)

    check_cover(text, within, found)
    for span in found:
        assert text[span.start : span.end] == text[span.start : span.end].strip()
    for name in names:
        inside = {i for i in range(name.start, name.end) if not text[i].isspace()}
        touched = [s for s in found if inside & set(range(s.start, s.end))]
        assert len(touched) <= 1


@settings(max_examples=150)
@given(cases())
def test_words_cover_the_sentence_and_respect_cuts(case):
    lang, text, within, names = case
    cuts = {edge for name in names for edge in (name.start, name.end)}

    found = segmenter(lang).words(text, within, cuts=cuts)

    check_cover(text, within, [Span(*word) for word in found])
    for start, end in found:
        assert not any(c.isspace() for c in text[start:end])
        assert not cuts & set(range(start + 1, end))
    assert found == segmenter(lang).words(text, within, cuts=list(cuts))


@settings(max_examples=100)
@given(TEXTS, st.sampled_from(LANGUAGES))
def test_what_stands_around_a_paragraph_does_not_matter_to_its_words(text, lang):
    alone = segmenter(lang).words(text, Span(0, len(text)))

    moved = segmenter(lang).words(f"Da. {text}", Span(4, len(text) + 4))

    assert [(start + 4, end + 4) for start, end in alone] == moved


SPLIT_TEXT = "Am 3. Mai kam Dr. Meyer. Er ging!\nÜberschrift\n— Nein. — Doch. Ja?\nz. B. so. Dann."


def test_split_cuts_many_paragraphs_as_sentences_cuts_each():
    blocks, start = [], 0
    for line in SPLIT_TEXT.split("\n"):
        blocks.append((start, start + len(line)))
        start += len(line) + 1
    german = segmenter("de")
    unbroken = [(SPLIT_TEXT.index("Nein"), SPLIT_TEXT.index("Ja"))]

    found = list(german.split(SPLIT_TEXT, blocks, unbroken=unbroken))

    spans = [Span(*pair) for pair in unbroken]
    assert found == [
        (sentence.start, sentence.end)
        for block in blocks
        for sentence in german.sentences(SPLIT_TEXT, Span(*block), unbroken=spans)
    ]
    assert len(found) == 7


def test_split_takes_line_breaks_inside_a_paragraph_for_spaces():
    text = "Erste Zeile\nund weiter. Ende.\nNeu."

    found = list(segmenter("de").split(text, [(0, 29), (30, 34)], unbroken=[]))

    assert [text[start:end] for start, end in found] == [
        "Erste Zeile\nund weiter.",
        "Ende.",
        "Neu.",
    ]


@given(
    st.lists(st.text(alphabet="abRSI. 19", max_size=12), max_size=12), st.sampled_from(LANGUAGES)
)
def test_what_was_read_before_changes_no_sentence(parts, lang):
    known = segmenter(lang)
    texts = ["Haus. " + " Das ".join(part + "." for part in parts), "".join(parts)]
    texts = [text for text in texts if text.strip()]
    fresh = [Segmenter(known.locale, known.table).sentences(t, Span(0, len(t))) for t in texts]

    again = [known.sentences(text, Span(0, len(text))) for text in [*texts, *texts]]

    assert again == [*fresh, *fresh]


def test_dashes_after_a_full_stop_begin_a_sentence_wherever_white_space_stands():
    text = "Sagt er. – Ja. — – Nein! -  Gut-so. -\u00a0Und .- nicht. –\nDoch .\u2029– Da."
    pattern = re.compile(r"[.!?…][\"'»)\]*–—\- \u00a0]*[^\S\n][–—-]+[^\S\n]+")

    assert sorted(end for _, end in after_dashes(text)) == [
        dash.end() for dash in pattern.finditer(text)
    ]


@pytest.mark.parametrize("lang", ["de", "fa", "zh", None])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\u200eUlm\u200f, \u202aBob\u202c.", ["\u200eUlm\u200f", ",", "\u202aBob\u202c", "."]),
        ("Ada\ufeff \u200d kam\u200b \ufe0f", ["Ada\ufeff", "kam"]),
        ("❤\ufe0f 👨\u200d👧 Wort\u00adteil", ["❤\ufe0f", "👨\u200d👧", "Wort\u00adteil"]),
        ("می\u200cخواهم \u200c رفت", ["می\u200cخواهم", "رفت"]),
        ("\u200b\u200b", []),
    ],
)
def test_what_nobody_sees_is_no_word(lang, text, words):
    found = segmenter(lang).words(text, Span(0, len(text)))

    assert [text[start:end] for start, end in found] == words


def test_what_nobody_sees_is_left_out_beside_a_name_that_excludes_it():
    text = "\u200eUlm\u200f"

    assert segmenter("de").words(text, Span(0, 5), cuts=[1, 4]) == [(1, 4)]
