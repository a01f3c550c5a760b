"""Chinese sentences and words: stops with what closes after them, characters, whole runs."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Span
from corpora.segmentation.sentences import segmenter
from corpora.segmentation.stops import after_stops
from corpora.text.paragraphs import LINE, find_blocks, find_sentences


def sentences(text, lang="zh"):
    found = segmenter(lang).sentences(text, Span(0, len(text)))
    return [text[span.start : span.end] for span in found]


@pytest.mark.parametrize(
    "cut",
    [
        "宝玉笑道：“你好。”|说着走了．|他来了！",
        "真的吗？！”|他问。",
        "甲；|乙；|丙。",
        "他说……|然后走了。",
        "他说：「好。」|走了。|『是！』|（完。）",
        "好（真的好。）|然后。",
        "“你来！”|“我不来？”",
        '他道："去罢．"|又说："来！"|走了．|"好．"|完。',
        '他说"好！" …|他去了。',
        '「他说"好。"」|他去了。',
        "他去了。|iPhone很好。",
        "看见．．．．．．|他走。",
        "第1.5节，价格3．5元．|完了。",
        "OK.| 他说。|好",
        "见Ａ．Ｐ．Ｎｅｗｔｏｎ，ｅｄ．，和H．M．S．Volage号．|完。",
        "排行叫二姑娘……，都依她；|他说“何必？”、“来。”，走了。",
        "敌手便没用？ 」|他倒拖铜棍。 ”|走了。",
        "施法施威﹔|要披掛﹗」|好﹖|走。",
        "他走了。|　　她来了。",
        "他走了。[1]|她来了。”[2][3]|完。",
        "我们看《摔跤吧！爸爸》好吗？|好！|他读〈谁？〉这篇。|《完。|是。",
    ],
)
@pytest.mark.parametrize("lang", ["zh", "zh-TW"])
def test_chinese_sentences_end_after_stops_and_what_closes_there(cut, lang):
    text = cut.replace("|", "")

    assert sentences(text, lang) == [sentence.strip() for sentence in cut.split("|")]


def test_a_plain_quotation_mark_opens_anew_in_each_line():
    text = '他说："好。\n"好。"他说。'
    blocks = find_blocks(text, LINE)

    found = find_sentences(segmenter("zh"), text, blocks, has_heading=False)

    assert [text[start:end] for start, end in found] == ['他说："好。', '"好。"', "他说。"]


LINES = st.lists(st.text('他A1。！…；．”“"』（) ', min_size=1, max_size=25), min_size=1, max_size=4)


@given(LINES)
def test_many_paragraphs_at_once_are_cut_as_one_by_one(lines):
    text = "\n".join(lines)
    blocks = find_blocks(text, LINE)
    cutter = segmenter("zh")

    together = find_sentences(cutter, text, blocks, has_heading=False)

    alone = [cutter.sentences(text, Span(*block)) for block in blocks]
    assert together == [(span.start, span.end) for spans in alone for span in spans]


@given(LINES)
def test_no_sentence_begins_with_a_stop_that_belongs_to_the_one_before(lines):
    found = sentences("".join(lines))

    assert all(sentence[0] not in "。！…；" for sentence in found[1:])
    assert "".join("".join(found).split()) == "".join("".join(lines).split())


def test_characters_are_words_and_runs_stay_whole():
    text = "我爱北京，iPhone 15卖１９９８元，3.14。〇葛\U000e0100城"

    words = segmenter("zh").words(text, Span(0, len(text)))

    expected = "我 爱 北 京 ， iPhone 15 卖 １９９８ 元 ， 3.14 。 〇 葛\U000e0100 城"
    assert [text[start:end] for start, end in words] == expected.split()


def test_a_line_of_many_quotes_takes_time_as_it_is_long():
    """Not as its square: sixteen times the text takes less than a hundred times the time."""
    line = '他说："天地玄黄。"她说："宇宙洪荒！"'

    def seconds(n):
        begin = time.process_time()
        assert sum(1 for _ in after_stops(line * n, "。！")) == 2 * n
        return time.process_time() - begin

    short = min(seconds(1000) for _ in range(3))
    assert seconds(16_000) < 100 * short
