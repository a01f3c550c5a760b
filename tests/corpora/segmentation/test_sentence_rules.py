"""What ends a sentence in scripts and languages beyond those with large tables."""

import unicodedata

import pytest

from corpora.document import Span
from corpora.segmentation import starts
from corpora.segmentation.sentences import segmenter, segmenter_plus, segmenter_with


def sentences(lang, text):
    found = [(s.start, s.end) for s in segmenter(lang).sentences(text, Span(0, len(text)))]
    assert list(segmenter(lang).split(text, [(0, len(text))], unbroken=[])) == found
    return [text[start:end] for start, end in found]


def check(lang, marked):
    expected = marked.split(" | ")
    assert sentences(lang, " ".join(expected)) == expected


RULES = {
    "scripts without capitals know stops and abbreviations": [
        ("ka", "თბილისი დედაქალაქია. | ის ლამაზია! | ვინ მოვიდა? | ილია."),
        ("ka", "ძვ. წ. III საუკუნეში, ინგლ. Global, ე. წ. ოქრო, და ა. შ. | მეფე მოვიდა."),
        ("ja", "彼は『Dr.スランプ』を書いた。 | Vol. 2 は pp. 4 だ！ | 次。"),
        ("th", "ในปี ค. ศ. 1914 และ พ.ศ. 2457 ดร. ลี กล่าวว่าดี! | เขามา"),
        ("mr", "इ. स. १६७४ मध्ये डॉ. आंबेडकर व श्री. पाटील आले. | तो गेला."),
        ("mr", "तो येतो का. | ती गेली."),
        ("hi", "डॉ. सिंह और एम. के. गांधी आए। | वे गए।"),
        ("am", "በ1914 ዓ. ም. ንጉሥ ዶ. ር. ተፈሪ መጡ። | ሄዱ። | እና:: | ነው፡፡ | መጣ።"),
        ("ti", "ኣብ 1914 ዓ. ም. ዶ. ር. ተስፋይ መጺኡ፡፡ | ከይዱ። | እዩ:: | ሰላም፡፡"),
        ("hy", "Բեռլին (գերմ. Berlin, անգլ. Berlin) քաղաք է։ | Այն մեծ է: | Լ. Արամյան"),
        ("bo", "བོད་ཡིག། | སྐད་ཡིག། | ཚིག"),
        ("km", "ភ្នំពេញ ។ | ខ្មែរ។ល។ | និង។ | បាទ"),
        ("ta", "கி. மு. 300 இல் எம். ஜி. இராமச்சந்திரன் வந்தார். | அவர் சென்றார்."),
        ("ar", "في 1000 ق. م. كان د. علي هنا. | ثم ذهب."),
        ("he", "ח. נ. ביאליק כתב שיר. | הוא מת."),
        ("el", "Ο κ. Παπαδόπουλος ήρθε, π. χ. Δευτέρα. | Τι είναι; | Ναι."),
    ],
    "a number begins a sentence after a word that is no abbreviation": [
        ("az", "Müharibə başladı. | 1914-cü ildə o öldü. | 1918-ci ildə bitdi."),
        ("et", "Sõda lõppes. | 1914. aastal algas teine. | 20. mail suri ta."),
        ("kk", "Соғыс басталды. | 1941 жылы ол кетті."),
        ("hu", "A háború véget ért. | 1914-ben kezdődött. | Pl. 3 ember. | V. Károly és II. Béla."),
        ("ba", "Һуғыш башланды. | 1941 йылда ул китте. | Т. б. 5 кеше."),
        ("en", "The war ended. | 1914 was the year, on p. 12, vol. 3."),
        ("de", "Der Krieg endete. | 1914 begann er, S. 12, Bd. 3, Nr. 5, am 3. 5. hier."),
        ("xx", "Kari kordono. | 1914 tarimo, kap. 5, str. 12, nr. 7."),
    ],
    "tables without starters know abbreviations that may be final": [
        ("pl", "Przyszedł prof. Nowak, ul. Długa 5 itd. | Potem np. Kowalski wyszedł."),
        (
            "cs",
            "Přišel prof. Novák z ul. Dlouhé, např. Petr atd. | Karel IV. Lucemburský byl král.",
        ),
        ("ru", "Пришёл проф. Иванов, напр. Пётр и т. д. | Он ушёл в 1914 г. | Это всё."),
        ("pl", "Mówi nadkom. Nowak, w (proj. Jarecki) kościele paraf. Matki Boskiej."),
        ("no", "Han bor på Chr. Michelsens hjem hos Mr. Smith, kgl. Norsk, 5 pst. | Så gikk han."),
        ("ro", "Poeziile lui Al. Macedonski și Gh. Asachi. | El a plecat."),
        ("nl", "De bisschop, mgr. Vangheluwe, kwam. | Hij bleef."),
        (
            "ru",
            "Готика (см. Романский стиль) и мл. Иванов. | Рост 180 см. | Объём 50 мл. | Это всё.",
        ),
        ("tr", "Prof. Dr. Yılmaz 19. Yüzyıl vb. II. Abdülhamid. | Bu bitti. | O gitti."),
        ("nl", "Dhr. Jansen en prof. De Vries kwamen, bijv. Piet enz. | Toen ging hij."),
        ("fi", "Esim. Helsinki ja prof. Virtanen jne. | Sitten hän lähti."),
    ],
    "romance tables know titles and abbreviations before numbers": [
        ("es", "El Ing. Ruiz vive en la Avda. Colón, núm. 5, EE. UU. | La Dra. Paz vino."),
        ("es", "Compró pan, vino, etc. | Luego vio el art. 5, St. John y BMW v. Gore. | Sí."),
        (
            "it",
            "Il sig. Rossi e il dott. Bianchi, ad es. Mario, ecc. | Poi l'on. Verdi andò a pag. 5.",
        ),
        ("it", "La legge n. 270 e l'art. 5, cfr. Dante. | Nel 5 a.C. | La S.p.A. Fiat c'era."),
        (
            "pt",
            "O sr. Silva e a profa. Souza foram à Av. Paulista, etc. | Depois, no séc. XIX, não.",
        ),
        (
            "pt",
            "Nasceu em 5 a. C. | Os EUA e a Cia. Ltda. | Ele mora aqui, cf. Maria, p. ex. José.",
        ),
    ],
    "an abbreviation may follow an elided word": [
        ("it", "È presente l’Avv. Cassioni, dell'art. 5, d'A. Manzoni. | L'arte. | Resta."),
        ("fr", "Il voit l'adj. Martin et d'A. Dumas un tome. | L'homme. | Le reste."),
        ("en", "They'll. | Fig. 5 don't. | Vol. 3."),
    ],
    "an abbreviation of a unit ends a sentence only after a number": [
        ("ru", "В г. Казани жил В. Илюхин, род. 21 мая 1914 г. | Это древний род. | Мы тут."),
        ("ru", "Он пробежал 400 м. | Однако в «Вестнике» 1914 г. № 5 и 1915. № 3 его нет."),
        ("uk", "У м. Київ на р. Дніпро жив Р. Семон (мал. 8). | Він помер у 1943 р. | Усе."),
    ],
    "a letter after a degree sign is no initial": [
        ("es", "El motor alcanzó 120.5°C. | Afortunadamente era 35 °F. | Vino C. Ruiz."),
        ("de", "Es sind 5 °C. | Danach kam C. Meier. | Am 50° N. Br. lag er."),
        ("ru", "Температура 962°C. | Кипит при 5 °C. | Вода."),
    ],
    "sources of quotations and numbers belong to the sentence before": [
        (
            "en",
            "He wrote “Who is lost?” (Smith 55). | Then he left. | “No!” | (He laughed.) | Yes.",
        ),
        ("it", '"Ei fu [...]" (Manzoni). | Poi disse.'),
        ("es", "Vive en N°. 5, nº. 8. | Dijo nº. | Luego no."),
        ("en", "• 9. The first • 10 is here. | So."),
    ],
    "a sentence may begin with a small letter after an apostrophe": [
        ("nl", "Hij kwam. | 's Avonds ging hij. | ’t Is goed! | “'t Is zo.” | Hij at 's avonds."),
        ("af", "Hy sien dit. | 'n Man kom. | Hy sien 'n Man. | Hy kom in 1990. | ’n Vrou ook."),
        ("en", "He said 's and left. | So did she."),
    ],
    "the number of a note belongs to the sentence before": [
        ("en", "He left.[1] | She stayed.[2][3] | “Go.”[a] | They ran.¹ | In fact.[note 4] | So."),
        ("en", "He left.[1] and she, etc.[2] | He saw Mr.[3] Smith."),
        ("de", "Siehe Nr.[5] und Abb.(5) Seite 3. | Am 3.[1] Mai kam er.[Anm. 2] | Ja."),
        ("hi", "वह गया।[1] | वह आया।"),
        ("xx", "Kari kordono!² | Tarimo.[12] | Sumi."),
    ],
    "abbreviations in capitals are known before capitals and numbers": [
        ("en", "ST. LOUIS. | MR. DARCY AND GEN. GRANT, VOL. II. | NO. | HE LEFT, NO. 5."),
        ("en", "It was the DR. | He left. | DR. SMITH came."),
    ],
    "titles begin sentences after an abbreviation and Irish names do not": [
        ("en", "He left at 6 P.M. | Mr. Smith of Acme Corp. | Mrs. Jones came."),
        ("pt", "Foi J. O'Neill da Acme Inc. | O resto. | A ONU, S. A. Costa."),
        ("fr", "Au Ve siècle av. J.-C. | Le roi vint en déc. | J'ai lu."),
    ],
    "a quotation mark that closes after a space belongs to the sentence before": [
        ("el", "« Τι είναι ; » | Ήρθα . | « Ναι . »")
    ],
    "an ellipsis ends a sentence before a capital": [("lv", "Tas ir viss… | Ja. | Nē… bet jā.")],
}


@pytest.mark.parametrize("rule", RULES)
def test_sentences_end_as_the_rule_says(rule):
    for lang, marked in RULES[rule]:
        check(lang, marked)


@pytest.mark.parametrize("lang", ["pl", "da", "lt", "xx"])
def test_a_dash_that_opens_speech_begins_a_sentence_unless_the_table_says_otherwise(lang):
    found = sentences(lang, "Ende. – Nein! – Doch.")

    ends = {"da": ["Ende. –", "Nein! –", "Doch."]}
    assert found == ends.get(lang, ["Ende.", "– Nein!", "– Doch."])


@pytest.mark.parametrize(
    ("lang", "marked"),
    [
        ("cs", "Přišel např. Novák z nám. Míru, příp. Petr."),
        ("de", "Er wohnt in königl. Schlössern usw. | Über uns, Fr. Müller, Hochwürd. Vater."),
        ("fr", "Il cite Fréd. Chopin, etc. | Néanmoins il part, spéc. Paris."),
        ("tr", "Doç. Yılmaz ve Öğr. Gör. Çelik vb. | Bütün gün."),
        ("yo", "Ó kú lọ̀lọ̀lọ̀. | 1914 ni ọ̀gá dé."),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_letters_may_be_composed_or_not(lang, marked, form):
    check(lang, unicodedata.normalize(form, marked))


@pytest.mark.parametrize("sign", "'’ʼ")
@pytest.mark.parametrize("quote", ["", *'"“„‘«'])
def test_texts_that_are_not_searched_for_such_beginnings_have_none(quote, sign):
    text = f"Ja. {quote}{sign}t is goed."

    assert starts._BEFORE_CLITIC.search(text)
    assert any(pattern.search(text) for pattern in starts._MAY_BE_CLITICS)


@pytest.mark.parametrize("mark", ["\u200f", "\u202c", "\u2069", "\u00ad", "\u2060"])
def test_an_invisible_mark_after_an_abbreviation_changes_nothing(mark):
    for lang, marked in (
        ("he", "ח.# נ.# ביאליק כתב שיר.# | הוא מת."),
        ("de", "Herr Dr.# Müller kam z.# B.# am 3.# Mai.# | Er ging."),
    ):
        check(lang, marked.replace("#", mark))
    check("ar", "وقال د\u202a.\u202c ديفيد. | ثم ذهب.")


def test_abbreviations_of_a_user_may_be_composed_or_not():
    text = "Wón je přikł. Nowak."
    table = {"never_final": ["přikł."]}

    for form, other in (("NFC", "NFD"), ("NFD", "NFC")):
        declared = {"never_final": [unicodedata.normalize(form, "přikł.")]}
        plus = segmenter_plus("hsb", declared=declared, learned={})
        given = unicodedata.normalize(other, text)
        assert len(plus.sentences(given, Span(0, len(given)))) == 1
        assert len(segmenter_with("hsb", table).sentences(given, Span(0, len(given)))) == 1


@pytest.mark.parametrize("note", ["[1]", *"¹²³⁰⁴⁵⁶⁷⁸⁹"])
def test_a_note_may_have_any_digit(note):
    check("xx", f"Kari kordono!{note} | Tarimo.")


@pytest.mark.parametrize("lang", ["ja", "de", "xx"])
def test_a_bracket_that_opens_right_after_a_stop_begins_the_next_sentence(lang):
    assert sentences(lang, "彼は行った。「なぜ？」（注）次。") == [
        "彼は行った。",
        "「なぜ？」",
        "（注）次。",
    ]
    assert sentences(lang, "Ende.(Anfang.) Mitte.") == ["Ende.", "(Anfang.)", "Mitte."]
    assert sentences(lang, "Ende.(") == ["Ende.("]


@pytest.mark.parametrize("lang", ["xx", "ka", "he", "am", None])
def test_an_initial_ends_no_sentence_in_any_script(lang):
    letter = {"ka": "ი", "he": "ח", "am": "ዓ"}.get(lang, "Ж")
    word = {"ka": "წერეთელი", "he": "ביאליק", "am": "ተፈሪ"}.get(lang, "Петров")

    assert len(sentences(lang, f"{word} {letter}. {word} {word}. {word}")) == 2
