import tracemalloc
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.matching import form_table
from corpora.matching.form_table import SurfaceMatcher
from corpora.matching.surface_forms import fold

CHARACTERS = "aAbBß İiIıςσΣſ'.-\n1_京都のーไทยัเ한국é\u0301\u200d\u00ad\u093f\ufe0f😀👍\u0130א"
UNSPACED = set("京都のーไทยเ")
HANGUL = set("한국")


def base_before(text, index):
    """Return the last character before an index that is no combining mark or joiner."""
    while index and extends(text[index - 1]):
        index -= 1
    return text[index - 1] if index else " "


def extends(character):
    return unicodedata.category(character)[0] == "M" or character in "\u200d\u00ad"


def may_start(text, index):
    before, after = base_before(text, index), text[index]
    return not extends(after) and (not before.isalnum() or bool({before, after} & UNSPACED))


def may_end(text, index, *, right, lang):
    if index == len(text):
        return True
    before, after = base_before(text, index), text[index]
    if extends(after):
        return False
    if right == "prefix" or not after.isalnum() or {before, after} & UNSPACED:
        return True
    return lang == "ko" and before in HANGUL


def naive(forms, text, occupied, *, lang, ignore_case, right):
    fold_or_not = (lambda t: fold(t, lang=lang)) if ignore_case else (lambda t: t)
    folded = fold_or_not(text)
    found, start = [], 0
    while start < len(text):
        matches = [
            (start + len(form), -index)
            for index, form in enumerate(forms)
            if form
            and "\n" not in form
            and folded.startswith(fold_or_not(form), start)
            and may_start(text, start)
            and may_end(text, start + len(form), right=right, lang=lang)
            and not any(s < start + len(form) and start < e for s, e in occupied)
        ]
        if matches:
            end, index = max(matches)
            found.append((start, end, -index))
            start = end
        else:
            start += 1
    return found


@given(
    forms=st.lists(st.text(CHARACTERS, max_size=5), max_size=12),
    text=st.text(CHARACTERS, max_size=40),
    spans=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=4),
    lang=st.sampled_from([None, "de", "ko", "tr"]),
    ignore_case=st.booleans(),
    right=st.sampled_from(["word", "prefix"]),
    window=st.sampled_from([1, 10, 1000]),
)
def test_finds_what_the_slow_way_finds(forms, text, spans, lang, ignore_case, right, window):
    occupied = [(start, start + length) for start, length in spans]
    options = {"lang": lang, "ignore_case": ignore_case, "right": right}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form_table, "WINDOW", window)

        found = SurfaceMatcher(forms, **options).find(text, occupied)

    assert found == naive(forms, text, occupied, **options)


@given(
    forms=st.lists(st.text("京都の", min_size=1, max_size=4), max_size=6),
    text=st.text("京都のa \u0301\n", max_size=40),
    spans=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=3),
    right=st.sampled_from(["word", "prefix"]),
)
def test_forms_without_spaces_are_found_as_all_others(forms, text, spans, right):
    occupied = [(start, start + length) for start, length in spans]

    found = SurfaceMatcher(forms, lang="zh", right=right).find(text, occupied)

    assert found == naive(forms, text, occupied, lang="zh", ignore_case=True, right=right)


@given(st.text(), st.sampled_from([None, "tr"]))
def test_folding_goes_character_by_character(text, lang):
    folded = fold(text, lang=lang)

    assert len(folded) == len(text)
    assert folded == "".join(fold(character, lang=lang) for character in text)
    assert fold(folded, lang=lang) == folded


def test_every_character_folds_to_one_character():
    every = "".join(map(chr, range(0x110000)))

    assert len(fold(every)) == len(every)


@pytest.mark.parametrize(
    ("one", "other"),
    [("ΟΔΟΣ", "οδος"), ("ΟΔΟΣ", "οδοσ"), ("İstanbul", "istanbul"), ("Weiſs", "weiss"), ("ẞ", "ß")],
)
def test_spellings_fold_to_the_same(one, other):
    assert fold(one) == fold(other)


def test_turkish_keeps_its_two_letters_apart():
    assert fold("IŞIK", lang="tr") == "ışık"
    assert fold("İZMİR", lang="tr-TR") == "izmir"


SURFACES = {
    "the longest form wins, and a shorter one where it would cut a word": [
        ("New York City", ["New", "New York", "York City"], {}, ["New York"]),
        ("New Yorkers", ["New", "New York", "Yorkers"], {}, ["New", "Yorkers"]),
    ],
    "no match begins or ends inside a word": [
        ("Berliner in Altberlin, Nord-Berlin (Berlin)", ["berlin"], {}, ["Berlin"] * 2)
    ],
    "a prefix covers only the form": [
        ("Windmills, a windmill", ["Windmill"], {"right": "prefix"}, ["Windmill", "windmill"])
    ],
    "scripts without spaces have boundaries everywhere": [
        ("我住在东京都和北京。", ["东京", "北京"], {}, ["东京", "北京"]),
        ("東京タワーはTokyoにある", ["東京タワー", "Tokyo"], {}, ["東京タワー", "Tokyo"]),
        ("ผมอยู่กรุงเทพครับ", ["กรุงเทพ"], {}, ["กรุงเทพ"]),
    ],
    "a combining mark belongs to its letter": [
        ("cafe\u0301 हिन्दी", ["cafe", "हिन्द", "ह"], {}, []),
        ("cafe\u0301s", ["cafe"], {"right": "prefix"}, []),
        ("น้ำใจ", ["น้", "ำใจ"], {}, []),
    ],
    "a variation selector is no letter": [("❤\ufe0fBerlin", ["Berlin"], {}, ["Berlin"])],
    "Korean particles follow a form": [
        ("나는 베를린에서 왔다", ["베를린"], {"lang": "ko"}, ["베를린"]),
        ("나는 베를린에서 왔다", ["베를린"], {}, []),
    ],
    "case can count": [("us and US", ["US"], {"ignore_case": False}, ["US"])],
    "control characters are harmless": [
        ("a\x02b\x03 Berlin\x04 x\x02", ["berlin", "x", "b"], {}, ["b", "Berlin", "x"])
    ],
}


@pytest.mark.parametrize("rule", SURFACES)
def test_forms_are_found_by_the_rule(rule):
    for text, forms, options, expected in SURFACES[rule]:
        matches = SurfaceMatcher(forms, **{"lang": None, **options}).find(text)

        assert [text[start:end] for start, end, _ in matches] == expected


def test_a_long_line_of_nested_forms_takes_no_memory_for_each_match():
    peaks = []
    for longest in (10, 40):
        matcher = SurfaceMatcher(["天" * length for length in range(1, longest + 1)], lang="zh")
        tracemalloc.start()
        matcher.find("天" * 8_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.1 * peaks[0]
