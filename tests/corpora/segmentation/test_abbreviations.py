"""Abbreviations that are learned from text alone."""

import time
import tomllib

import pytest

from corpora.document import Span
from corpora.errors import UsageError
from corpora.segmentation.abbreviations import MIN_CHARACTERS, find_abbreviations, learn, to_toml
from corpora.segmentation.sentences import segmenter, segmenter_with
from corpora.segmentation.tables import make_table, read_checked

LINES = [
    "Kari plkst. 5 tarimo plkst. 7 sola, un kordono.",
    "Prof. Berzis nos Kalnis redimo prof. Ozolis. Kordono tarimo balda.",
    "Tarimo solo utt. Kordono balda nos, kordono redimo utt., balda solo utt. Balda solo tarimo.",
    "Nos balda kordono nos. Solo redimo balda. Un tarimo solo kordono un redimo.",
]
TEXT = "\n".join(LINES * (2 * MIN_CHARACTERS // len("\n".join(LINES))))


def sentences(cutter, text):
    return [text[s.start : s.end] for s in cutter.sentences(text, Span(0, len(text)))]


def test_short_words_that_always_have_a_period_are_abbreviations():
    assert learn([TEXT]) == {"never_final": ["plkst.", "prof."], "may_be_final": ["utt."]}


def test_a_learned_table_ends_no_sentence_after_an_abbreviation_but_one_that_may_be_final():
    cutter = segmenter_with("xx", learn([TEXT]))

    found = sentences(
        cutter, "Kari redimo Prof. Ozolis utt. Kordono tarimo plkst. 9 solo. Un balda."
    )

    assert found == ["Kari redimo Prof. Ozolis utt.", "Kordono tarimo plkst. 9 solo.", "Un balda."]
    assert len(sentences(segmenter("xx"), "Kari redimo Prof. Ozolis.")) == 2


@pytest.mark.parametrize(
    ("lines", "learned"),
    [
        (
            [
                "ილია (ინგლ. Ilia) წერს ინგლ. ენაზე. ის წერს კარგად.",
                "ილია მოვიდა. ის წერს ინგლ. ენაზე.",
            ],
            {"never_final": ["ინგლ."]},
        ),
        (  # words that end sentences
            ["राम गेला होता. सीता आली होती.", "तो घरी गेला होता. ती घरी आली होती. सारे घरी."],
            {},
        ),
    ],
)
def test_scripts_without_capitals_are_learned_too(lines, learned):
    text = "\n".join(lines * (2 * MIN_CHARACTERS // len("\n".join(lines))))

    assert learn([text]) == learned


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ["राम ई.पू. 300 में था, श्याम ई.पू. 200 में", "गीता कि.मी. 5 दूर है, सो कि.मी. 7 गए"],
            ["ई.पू.", "कि.मी."],
        ),
        (["เขา มิ.ย. 5 นี้ ไป มิ.ย. 7 แล้ว มา", "นี้ กับ เขา แล้ว มา ไป คน หนึ่ง"], ["มิ.ย."]),
        (["राम ५. 300 में था, श्याम ५. 200 में", "गीता दूर है, सो गए"], []),
    ],
)
def test_vowel_signs_are_letters_of_abbreviations_and_digits_are_not(lines, found):
    text = "\n".join([*lines, *["यह वह है और वह यह था तो क्या हुआ फिर सब लोग घर गए"] * 5] * 20)

    assert [each.form for each in find_abbreviations([text])] == found


def test_little_text_teaches_nothing():
    assert learn([TEXT[: MIN_CHARACTERS // 2]]) == {}
    assert learn([]) == {}


def test_how_a_text_is_divided_does_not_matter():
    assert learn(TEXT.split("\n")) == learn([TEXT])


def test_a_table_is_read_as_it_was_written(tmp_path):
    table = {"never_final": ["dr.", "ინგლ."], "full_stop": True, "stops": '"\\'}
    (tmp_path / "table.toml").write_text(to_toml(table), encoding="utf-8")

    assert read_checked(tmp_path / "table.toml") == table
    assert make_table(table, source="").stops == tomllib.loads(to_toml(table))["stops"]


@pytest.mark.parametrize("content", [b"never_final = [", b"\xff", b'never_fin = ["a."]'])
def test_a_file_that_is_no_table_is_an_error_that_names_it(content, tmp_path):
    (tmp_path / "table.toml").write_bytes(content)

    with pytest.raises(UsageError, match=r"table\.toml"):
        read_checked(tmp_path / "table.toml")


def test_learning_takes_time_as_the_text_is_long_and_stops_at_its_bound(monkeypatch):
    def seconds(texts):
        begin = time.process_time()
        learn(texts)
        return time.process_time() - begin

    short, long = (min(seconds([TEXT * n]) for _ in range(3)) for n in (2, 8))
    monkeypatch.setattr("corpora.segmentation.abbreviations.MAX_CHARACTERS", len(TEXT))

    assert long < 4 * 3 * short
    assert learn(iter([TEXT, None])) == learn([TEXT])
