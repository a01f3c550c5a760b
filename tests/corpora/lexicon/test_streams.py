"""Texts as streams: which symbols, which boundaries, in whose scope."""

from unicodedata import category

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.lexicon.counting import Firsts
from corpora.lexicon.streams import (
    ScopedText,
    character_stream,
    is_chinese,
    kind_of,
    n_grams_by_length,
    word_stream,
)


def shown(stream):
    """Show each scope with its symbols; ``|`` is a boundary, ``#`` a number."""
    names = ["|", "#", "|", *stream.symbols[2:]]
    symbols = [names[number] for number in stream.ids.tolist()]
    edges = [0, *stream.ends.tolist()]
    parts = zip(stream.scopes, edges, edges[1:], strict=False)
    return [(scope, " ".join(symbols[start:end])) for scope, start, end in parts]


SYMBOLS = {
    "marks stay with their character": [
        ("น้ำใจ", "น้ำ ใ จ |"),  # tone mark, and a vowel that is a letter but no symbol of its own
        ("กรุง ุเทพ", "ก รุ ง | เ ท พ |"),  # a mark without a base
        ("ព្រះ", "ព្រះ |"),  # a stack of consonants
        ("か\u3099き", "か\u3099 き |"),
        ("諸葛\U000e0100亮，諸葛亮", "諸 葛\U000e0100 亮 | 諸 葛 亮 |"),  # a variant of a character
        ("nã\u0303o 天é地", "nã\u0303o | 天 é 地 |"),
        ("क्षत्रिय天", "क्षत्रिय 天 |"),
    ],
    "runs of other letters are symbols and marks one boundary": [
        ("１９９８年，——ABC股！？ 丙", "# 年 | ABC 股 | 丙 |")
    ],
    "dots between letters are symbols and long runs and numbers none": [
        (f"约翰·R·金，·天·。3D地7玄{'a' * 17}黄", "约 翰 · R · 金 | 天 | 3D 地 # 玄 # 黄 |")
    ],
    "a space between runs is none and a number behind it is part of a name": [
        ("用iPhone 12和Windows 10 系统，12 台", "用 iPhone 12 和 Windows 10 | 系 统 | # | 台 |")
    ],
    "numbers that are words are two symbols and amounts are none": [
        (
            "哈哈23333 主播666啊，共666元、 3.333、1999年、13888号，555555",
            "哈 哈 2 3333 | 主 播 6 66 啊 | 共 # 元 | # | # | # 年 | # 号 | 5 55555 |",
        )
    ],
}


@pytest.mark.parametrize("rule", SYMBOLS)
def test_symbols_are_those_of_the_rule(rule):
    for text, expected in SYMBOLS[rule]:
        assert shown(character_stream([ScopedText("a", text)])) == [("a", expected)]


@given(st.lists(st.text("กนใ้ำ์ ุ天地a1·。\n\u0301\u200d\U000e0100", max_size=12), min_size=1))
def test_a_stream_does_not_depend_on_the_texts_beside_it(texts):
    [(_, together)] = shown(character_stream([ScopedText("a", text) for text in texts]))
    alone = [shown(character_stream([ScopedText("a", text)]))[0][1] for text in texts]

    assert _without_duplicates(together) == _without_duplicates(" ".join(alone))


def _without_duplicates(symbols):
    kept = []
    for symbol in symbols.split(" "):
        if symbol and (symbol != "|" or kept[-1:] not in ([], ["|"])):
            kept.append(symbol)
    return kept


@given(st.text("กนใ้ำ์ ุ天地a1。\n\u3099\U000e0100", max_size=30))
def test_no_symbol_begins_with_a_mark(text):
    for symbol in character_stream([ScopedText("a", text)]).symbols[1:]:
        assert category(symbol[0])[0] != "M"


def test_neighbours_of_one_scope_are_one_part():
    texts = [
        ScopedText("a", "天"),
        ScopedText("a", "地"),
        ScopedText("b", "。"),
        ScopedText("b", "玄"),
        ScopedText("a", "黄"),
    ]

    assert shown(character_stream(texts)) == [("a", "天 | 地 |"), ("b", "玄 |"), ("a", "黄 |")]


def test_words_are_those_of_the_language_and_end_with_their_sentence():
    text = "Dr. Anna Kranz lebt (seit 1900) in Bad Ems. Sie malt"
    sentences = [(0, 44), (44, 52)]

    [(_, symbols)] = shown(word_stream([ScopedText("a", text, "de", sentences)]))

    assert symbols == "Dr. Anna Kranz lebt | seit 1900 | in Bad Ems | Sie malt |"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bad Ems", "Bad Ems |"),
        ("Bad\nEms", "Bad | Ems |"),
        ("Bad  Ems", "Bad | Ems |"),
        ("12\u00a0km", "12 | km |"),
        ("12 km²", "12 km | ² |"),
        ("①②", "① | ② |"),
        ("སངས་རྒྱས་ལ། དགེ་\nསློང Bad", "སངས རྒྱས ལ | དགེ | སློང Bad |"),
        ("mein iPhone手机", "mein iPhone 手机 |"),
        ("mein iPhone 手机", "mein iPhone | 手机 |"),
    ],
)
def test_words_are_neighbours_where_they_stand_as_a_form_is_spelled(text, expected):
    [(_, symbols)] = shown(word_stream([ScopedText("a", text, "de", [(0, len(text))])]))

    assert symbols == expected


@pytest.mark.parametrize(
    ("text", "lang", "kind", "chinese"),
    [
        ("天地玄黄 ABC", None, "characters", True),
        ("天地", "ja", "characters", False),
        ("これは京都です", None, "characters", False),
        ("Berlin 天地", "de", "words", False),
        ("กรุงเทพ", None, "characters", False),
    ],
)
def test_the_text_tells_what_its_symbols_are(text, lang, kind, chinese):
    assert kind_of(text) == kind
    assert is_chinese(text, lang) == chinese


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(1, 5))
def test_strings_of_segments_are_counted_by_length(lengths, longest):
    expected = [
        sum(1 for length in lengths for start in range(length) if start + n <= length)
        for n in range(1, longest + 1)
    ]

    assert n_grams_by_length(np.array(lengths), longest) == expected


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 40)), min_size=1, unique_by=lambda x: x[0]
    ),
    st.integers(1, 50),
)
def test_ranges_are_ordered_and_only_one_symbol_fills_more_than_its_size(pairs, size):
    keys, counts = np.array(sorted(pairs)).T
    firsts = Firsts(keys, counts, 20)

    edges = firsts.edges(size)

    assert (np.diff(edges) > 0).all()
    of_symbol = np.searchsorted(edges, np.arange(len(keys)) * 20, side="right")
    for number in np.unique(of_symbol):
        inside = of_symbol == number
        assert inside.sum() == 1 or counts[inside].sum() <= size
