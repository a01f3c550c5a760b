"""Documents to a lexicon: true flags, scores and ranks, and what people read of them."""

import math
from collections import Counter

import pytest

from corpora.lexicon import ranking
from pipelines import documents_to_lexicon, text_to_documents
from tests.datasets import write_dataset
from tests.pipelines.made_lexicons import STORY, build, documents, rows_of
from tests.pipelines.naive_lexicon import character_segments

pytestmark = pytest.mark.usefixtures("without_runner")
# --- scores, flags and ranks


def test_the_invented_names_of_the_story_come_first(story, tmp_path):
    rows = rows_of(build(tmp_path / "out", story))

    names = {"沈砚秋", "顾青岚", "雾泠镇", "玄穹阁", "阿篁"}
    assert {row["form"] for row in rows if row["rank"] and row["rank"] <= 10} >= names


@pytest.mark.parametrize(
    ("score", "formula"),
    [
        ("paper", lambda r: r["mi"] + r["left_entropy"] + r["right_entropy"]),
        ("frequency", lambda r: r["count"]),
        (
            "product",
            lambda r: math.sqrt(max(r["mi"], 0)) * min(r["left_entropy"], r["right_entropy"]),
        ),
    ],
)
def test_scores_follow_their_formulas_and_rank(story, tmp_path, score, formula):
    rows = rows_of(build(tmp_path / "out", story, score=score, drop=(), top=0.25))

    for row in rows:
        n_demoted = len({"compound", "function"}.intersection(row["flags"]))
        assert row["score"] == pytest.approx(formula(row) * 0.5**n_demoted)
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["id"] for row in rows] == list(range(len(rows)))
    assert [row["score"] for row in rows] == sorted((r["score"] for r in rows), reverse=True)
    n_low = sum("low" in row["flags"] for row in rows)
    assert n_low == len(rows) - math.ceil(0.25 * len(rows))
    assert all("low" in row["flags"] for row in rows[-n_low:])


def ratios_of(text):
    """Return the ratio of each string of 1 to 8 characters among all of its length."""
    counts = {n: Counter() for n in range(1, 9)}
    symbols = character_segments(text)
    for start in range(len(symbols)):
        for n, counted in counts.items():
            string = symbols[start : start + n]
            if len(string) < n or not {None, "other", "line"}.isdisjoint(string):
                break
            counted["".join(string)] += 1
    return {s: c / counted.total() for counted in counts.values() for s, c in counted.items()}


def test_compounds_are_made_of_function_words_known_ones_and_better_candidates(story, tmp_path):
    known = list_of(tmp_path, "镇上\n说道 3 v\n听说\tx\n")

    rows = rows_of(build(tmp_path / "out", story, known=known, drop=(), demote=(), min_count=2))

    functions = set(ranking.function_words().to_pylist())
    by_form = {row["form"]: row for row in rows}

    def is_part(part, row):
        if len(part) == 1:
            return part in functions
        other = by_form[part]
        return {"known", "compound"} & set(other["flags"]) or other["score"] > row["score"]

    ratios = ratios_of(STORY.read_text("utf-8"))

    def are_parts(a, b, row):
        information = math.log2(ratios[a + b] / (ratios[a] * ratios[b]))
        tie = information / -math.log2(ratios[a + b])
        if is_part(a, row) and is_part(b, row):
            return min(len(a), len(b)) == 1 or tie < ranking.FIRM
        is_loose = len(a + b) > 2 and tie < ranking.LOOSE
        return is_loose and ((len(a) == 1 and is_part(b, row)) or (len(b) == 1 and is_part(a, row)))

    for form, row in by_form.items():
        cuts = [(form[:cut], form[cut:]) for cut in range(1, len(form))]
        is_compound = any(are_parts(a, b, row) for a, b in cuts)
        assert ("compound" in row["flags"]) == is_compound
        assert ("known" in row["flags"]) == (form in {"镇上", "说道", "听说"})
        assert ("function" in row["flags"]) == (form[0] in functions or form[-1] in functions)


def test_what_is_dropped_has_no_rank_and_comes_last(story, tmp_path):
    known = list_of(tmp_path, "阿篁\n")

    rows = rows_of(build(tmp_path / "out", story, known=known, drop=("known", "function")))

    is_dropped = [bool({"known", "function"}.intersection(row["flags"])) for row in rows]
    assert is_dropped == sorted(is_dropped)
    assert {
        bool(row["rank"]) for row, dropped in zip(rows, is_dropped, strict=True) if dropped
    } == {False}
    assert "阿篁" in {row["form"] for row in rows if not row["rank"]}


def test_what_always_follows_a_number_is_a_piece(tmp_path):
    text = "".join(f"{n}月下旬，天地玄黄。" for n in range(1, 9))
    dataset = write_dataset(tmp_path / "documents", documents([("a", text)]))

    flags = {row["form"]: row["flags"] for row in rows_of(build(tmp_path / "out", dataset))}

    assert "inner" in flags["月下旬"]
    assert "inner" not in flags["天地玄黄"]


@pytest.mark.parametrize("top", [0.07, 0.1, 0.29, 0.55, 0.56, 1.0])
def test_the_ratio_of_words_is_exact(top, tmp_path):
    """0.55 * 100 is a little more than 55 as a computer reckons; the words are 55."""
    pairs = [a + b for a in "甲乙丙丁戊己庚辛壬癸" for b in "子丑寅卯辰巳午未申酉"]
    dataset = write_dataset(tmp_path / "documents", documents([("a", "。".join(pairs * 2))]))

    rows = rows_of(build(tmp_path / "out", dataset, min_count=2, drop=(), top=top))

    assert len(rows) == 100
    assert sum("low" not in row["flags"] for row in rows) == round(100 * top)


# --- what people read


def test_the_table_has_the_words_and_the_page_their_contexts(story, tmp_path):
    output = build(tmp_path / "out", story)

    rows = [row for row in rows_of(output) if row["rank"] and "low" not in row["flags"]]
    lines = (output / "lexicon.tsv").read_text("utf-8").splitlines()
    head, *table = [line.split("\t") for line in lines]
    assert [line[head.index("form")] for line in table] == [row["form"] for row in rows]
    page = (output / "report.html").read_text("utf-8")
    text = STORY.read_text("utf-8")
    before, after = page.split("<b>阿篁</b>")[0][-3:], page.split("<b>阿篁</b>")[1][:3]
    assert f"{before}阿篁{after}" in text


def test_a_group_with_a_tab_or_a_line_end_in_its_name_stays_in_its_cell(tmp_path):
    dataset = write_dataset(tmp_path / "documents", documents([("x\ty\nz", "天地。" * 5)]))

    output = build(tmp_path / "out", dataset, top=1.0)

    assert {row["group"] for row in rows_of(output)} == {"x\ty\nz"}
    [_, line] = (output / "lexicon.tsv").read_text("utf-8").splitlines()
    assert line.split("\t")[:2] == ["天地", "x y z"]


def test_each_group_has_a_lexicon_of_its_own(tmp_path):
    made = documents([("a", "天地。天地。" * 3), ("b", "天地。玄黄，玄黄。" * 2 + "玄黄")])
    dataset = write_dataset(tmp_path / "documents", made)

    rows = rows_of(build(tmp_path / "out", dataset))

    assert {(row["group"], row["form"], row["count"]) for row in rows} == {
        ("a", "天地", 6),
        ("b", "玄黄", 5),
    }


# --- names and compounds


def list_of(tmp_path, lines):
    """Write a list of known words; returns its path."""
    (tmp_path / "known.txt").write_text(lines, "utf-8")
    return str(tmp_path / "known.txt")


def varied(name, times):
    """Return sentences with a name, each with other characters at its sides."""
    others = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
    return "。".join(others[n % 22] + name + others[(7 * n + 3) % 22] for n in range(times)) + "。"


def flags_of(tmp_path, text, **options):
    dataset = write_dataset(tmp_path / "documents", documents([("a", text)]))
    rows = rows_of(build(tmp_path / "out", dataset, **options))
    return {row["form"]: row["flags"] for row in rows}


FLAGGED = {
    "a name and one loose character are a compound": (
        [("张小凡", 60), ("张小凡身", 12), ("身", 60)],
        {"张小凡身": "compound"},
        {"张小凡": "compound"},
    ),
    "a known word and one loose character are a compound": (
        [("记者", 60), ("记者李", 12), ("李", 60)],
        {"记者李": "compound"},
        {},
    ),
    "a name with a firm surname is no compound": (
        [("云长", 60), ("关云长", 12), ("玄德", 3000)],
        {},
        {"关云长": "compound"},
    ),
    "two known words that are tied are a name": (
        [
            *(("南海", 3), ("南海观音", 9), ("观音", 3), ("东胜神洲", 9)),
            *(("师父", 900), ("说话", 900), ("师父说话", 30), ("玄德", 9000)),
        ],
        {"师父说话": "compound"},
        {"南海观音": "compound", "东胜神洲": "compound"},
    ),
    "a name that hardly stands without its last syllable has no suffix": (
        [("田灵儿", 30), ("花", 30), ("小花", 30), ("小花儿", 6)],
        {"小花儿": "function"},
        {"田灵儿": "function"},
    ),
}


@pytest.mark.parametrize("rule", FLAGGED)
def test_names_have_flags_by_the_rule(tmp_path, rule):
    words, flagged, others = FLAGGED[rule]
    known = list_of(tmp_path, "记者\n南海\n观音\n东胜\n神洲\n师父\n说话\n" * ("known" in rule))

    flags = flags_of(tmp_path, "".join(varied(*word) for word in words), known=known)

    assert all(flag in flags[form] for form, flag in flagged.items())
    assert not any(flag in flags[form] for form, flag in others.items())


def test_names_with_dots_letters_and_eight_characters_are_words(tmp_path):
    names = ("约翰·史密斯", "约翰·史密斯德里安", "阿Q", "5G手机", "布宜诺斯艾利斯市")
    text = "".join(varied(name, 30) for name in names)

    flags = flags_of(tmp_path, text, max_length=8, top=1.0)

    assert [flags[name] for name in names if name in flags] == [[]] * 4
    assert "inner" in flags["约翰·"]
    assert "inner" in flags["·史密斯"]


def test_a_number_that_is_a_word_is_in_the_lexicon_and_an_amount_is_not(tmp_path):
    flags = flags_of(tmp_path, varied("23333", 30) + "共666元。" * 30, top=1.0)

    assert flags["23333"] == []
    assert not any("6" in form for form in flags)


def test_syllables_of_tibetan_make_words_with_tshegs_between_them(tmp_path):
    text = "".join(f"{a}་སངས་རྒྱས་{b}། " for a, b in zip("ཀཁགངཅཆཇ", "ཉཏཐདནཔཕ", strict=True))

    flags = flags_of(tmp_path, text, top=1.0)

    assert list(flags) == ["སངས་རྒྱས"]


# --- names that are known words


DICTIONARY = "宝玉 40 nr\n北京 90000 ns\n丫鬟 5 n\n天气 900 n\n笑道 5 v\n的 900000 u\n"


def test_a_known_word_is_a_name_where_its_tag_and_how_often_it_stands_there_say_so(tmp_path):
    known = list_of(tmp_path, DICTIONARY)
    text = "".join(varied(word, 60) for word in ("宝玉", "北京", "丫鬟", "天气", "笑道"))
    dataset = write_dataset(tmp_path / "documents", documents([("a", text)]))

    rows = rows_of(build(tmp_path / "out", dataset, known=known))

    by_form = {row["form"]: row for row in rows if "known" in row["flags"]}
    assert by_form.keys() == {"宝玉", "北京", "丫鬟", "天气", "笑道"}
    assert {form for form, row in by_form.items() if row["rank"]} == {"宝玉", "丫鬟"}
    assert {form for form, row in by_form.items() if "name" in row["flags"]} == {"宝玉", "丫鬟"}


def test_what_a_list_calls_a_name_is_kept_with_no_other_flag(tmp_path):
    known, names = tmp_path / "known.txt", tmp_path / "names.txt"
    known.write_text("入画\n笑道\n", "utf-8")
    names.write_text("入画\n画道\n", "utf-8")
    text = varied("入画", 60) + varied("笑道", 60) + "入画道。" * 6
    dataset = write_dataset(tmp_path / "documents", documents([("a", text)]))

    rows = rows_of(build(tmp_path / "out", dataset, known=known, names=names, top=1.0))

    flags = {row["form"]: row["flags"] for row in rows if row["rank"]}
    assert flags["入画"] == flags["画道"] == ["name"]
    assert "笑道" not in flags


# --- traditional script


def traditional(tmp_path):
    text = "遊戲開始。進行遊戲，開始進行！裡面阿篁，阿篁裡面。台灣阿篁說。臺灣阿篁去；軟體？"
    return write_dataset(tmp_path / "documents", documents([("a", text * 5)]))


def test_words_of_a_simplified_list_are_known_in_traditional_text(tmp_path):
    known = list_of(tmp_path, "游戏\n开始\n进行\n里面\n台湾\n软件\n")

    rows = rows_of(build(tmp_path / "out", traditional(tmp_path), known=known))

    known = {row["form"] for row in rows if "known" in row["flags"]}
    assert known >= {"遊戲", "開始", "進行", "裡面", "台灣", "臺灣", "軟體"}
    assert "阿篁" in {row["form"] for row in rows if row["rank"]}


@pytest.mark.parametrize("is_traditional", [False, True])
def test_empty_lists_are_no_error(is_traditional, story, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n", "utf-8")
    documents = traditional(tmp_path) if is_traditional else story

    rows = rows_of(build(tmp_path / "out", documents, known=str(empty), names=empty))

    assert "阿篁" in {row["form"] for row in rows if row["rank"]}
    assert not any({"known", "name"} & {*row["flags"]} for row in rows)


def test_only_a_text_in_traditional_script_needs_opencc(story, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("corpora.lexicon.known.find_spec", lambda _: None)
    known = list_of(tmp_path, "阿篁\n")
    arguments = ["--output", str(tmp_path / "out"), "--known", str(known), "--input"]

    status = documents_to_lexicon.main([*arguments, str(traditional(tmp_path))])

    assert status == 2
    assert "pip install 'onoma[chinese]'" in capsys.readouterr().err
    assert documents_to_lexicon.main([*arguments, str(story)]) == 0


# --- a real novel


@pytest.mark.realdata
def test_more_names_of_a_novel_come_first_than_by_the_plain_sum_of_scores(realdata, tmp_path):
    """Of the 34 listed names that occur ten times, of which jieba's dictionary has six."""
    pytest.importorskip("jieba")
    novel = realdata("zh-novels") / "三国演义.txt"
    arguments = ["--input", str(novel), "--lang", "zh", "--output", str(tmp_path / "documents")]
    assert text_to_documents.main([*arguments, "--split-pattern", "^第.{1,9}回"]) == 0
    table = (realdata("zh-novels") / "names-sanguo.tsv").read_text("utf-8").splitlines()[1:]
    text = novel.read_text("utf-8")

    rows = rows_of(build(tmp_path / "out", tmp_path / "documents", known="jieba"))

    names = {name for name in (line.split("\t")[0] for line in table) if text.count(name) >= 10}
    words = [row["form"] for row in rows if row["rank"] and "low" not in row["flags"]]
    rows.sort(key=lambda row: -(row["mi"] + row["left_entropy"] + row["right_entropy"]))
    assert len(names) == 34
    assert names <= set(words)
    for depth in (500, 1000, 2000):
        first = {row["form"] for row in rows[:depth]}
        assert len(names.intersection(words[:depth])) >= 1.2 * len(names & first)
