"""Documents to a lexicon: the counts of a dictionary, the same bytes in any order, true flags."""

import math
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.build import hold
from corpora.document import Document, Span
from corpora.inspection import main as shards
from corpora.lexicon import counting, ranking, tables
from corpora.sentences import segmenter
from corpora.shards import open_dataset
from pipelines import documents_to_lexicon as pipeline
from pipelines import text_to_documents
from pipelines.run import _tasks
from pipelines.work import do_merge, do_unit
from tests.pipelines.test_entity_vocab_pipeline import write_dataset
from tests.pipelines.test_tei_to_ner import files_of

NAME = "pipelines.documents_to_lexicon"
STORY = Path(__file__).parents[1] / "data" / "text" / "wulingzhen.txt"
HAN = "天地玄黄宇宙"
TEXTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.text(HAN + "。a7\n", max_size=40)), min_size=1, max_size=6
)


def documents(texts, lang="zh"):
    """Documents of (group, text)."""
    made = []
    for number, (group, text) in enumerate(texts):
        lines = re.finditer(r"[^\n]*\S[^\n]*", text)
        sentences = tuple(Span(*line.span()) for line in lines)
        scalars = {"id": f"{group}#{number}", "group": group, "source": "test", "lang": lang}
        made.append(Document(text=text, sentences=sentences, **scalars))
    return made


def build(output, *inputs, reverse=False, **options):
    """Run it in this process; the units of each stage in the other order if ``reverse``."""
    options = {"known": "none", **options}
    plan = pipeline.plan(pipeline.Options(input=tuple(map(str, inputs)), output=output, **options))
    with hold(output, plan) as work:
        work.prepare()
        for tasks, merged in _tasks(NAME, work.pending(), build=work):
            for task in reversed(tasks) if reverse else tasks:
                do_unit(task)
            if merged:
                do_merge(merged)
        work.publish(pipeline.write_side_files)
    return output


def rows_of(output):
    return list(open_dataset(output).rows())


# --- the slow way


def character_segments(text):
    """Runs of Han characters, each with its neighbours; None is a boundary."""
    symbols = [None]
    for character in text + "\n":
        if re.match("[々〆〇ぁ-ゖァ-ヺー㐀-鿿]", character):
            symbols.append(character)
        elif character.isalnum():
            if symbols[-1] != "other":
                symbols.append("other")
        elif symbols[-1] is not None:
            symbols.append(None)
    return symbols


def thai_segments(text):
    """Thai letters, each with the vowels and tones above, below and (ำ) after it."""
    symbols = [None]
    for found in re.findall("(?:[ก-ะาเ-ๅ]|[0-9])[ัิ-ฺ็-๎ำ]*|.", text + "\n", re.DOTALL):
        if "ก" <= found[0] <= "ะ" or found[0] in "าเแโใไๅ":
            symbols.append(found)
        elif found[0].isdecimal():
            if symbols[-1] != "other":
                symbols.append("other")
        elif symbols[-1] is not None:
            symbols.append(None)
    return symbols


def word_segments(text, lang):
    cutter = segmenter(lang)
    symbols = [None]
    for line in text.split("\n"):
        if line.strip():
            for word in cutter.words(line, Span(0, len(line))):
                form = line[word.start : word.end]
                symbols.append(form if form[0].isalnum() else None)
        symbols.append(None)
    return symbols


def naive(symbols_by_scope, *, longest, min_count, separator=""):
    """Every statistic of every candidate, from dictionaries."""
    found = {}
    for scope, symbols in symbols_by_scope.items():
        counts = defaultdict(Counter)
        left, right = defaultdict(Counter), defaultdict(Counter)
        for start in range(len(symbols)):
            for length in range(1, longest + 1):
                string = tuple(symbols[start : start + length])
                if len(string) < length or None in string or "other" in string:
                    break
                counts[length][string] += 1
                before, after = symbols[start - 1], symbols[start + length]
                left[string][before or ("edge", start)] += 1
                right[string][after or ("edge", start)] += 1

        def share(string, counts=counts):
            return counts[len(string)][string] / counts[len(string)].total()

        def mi(first, second, share=share):
            return math.log2(share(first + second) / (share(first) * share(second)))

        for length in range(2, longest + 1):
            for string, count in counts[length].items():
                if count >= min_count:
                    sides = left[string], right[string]
                    found[scope, separator.join(string)] = (
                        count,
                        min(mi(string[:cut], string[cut:]) for cut in range(1, length)),
                        sum(mi((a,), (b,)) for a, b in pairwise(string)) / (length - 1),
                        *map(entropy, sides),
                        any(len(side) == 1 and type(*side) is str for side in sides),
                    )
    return found


def entropy(counts):
    return -sum(n / counts.total() * math.log2(n / counts.total()) for n in counts.values())


def by_scope(made, per, cut):
    scopes = defaultdict(list)
    for document in made:
        scope = {"document": document.id, "group": document.group, "all": None}[per]
        scopes[scope] += cut(document)
    return scopes


def assert_same(rows, expected, mi):
    assert {(row["group"], row["form"]) for row in rows} == expected.keys()
    for row in rows:
        count, weakest, adjacent, left, right, is_inner = expected[row["group"], row["form"]]
        assert row["count"] == count
        assert row["mi"] == pytest.approx(weakest if mi == "weakest" else adjacent, abs=1e-9)
        assert row["left_entropy"] == pytest.approx(left, abs=1e-9)
        assert row["right_entropy"] == pytest.approx(right, abs=1e-9)
        assert ("inner" in row["flags"]) == is_inner


# --- counts


@settings(max_examples=30, deadline=None)
@given(
    texts=TEXTS,
    per=st.sampled_from(["document", "group", "all"]),
    longest=st.integers(2, 5),
    min_count=st.integers(2, 3),
    mi=st.sampled_from(["weakest", "adjacent"]),
    n_windows=st.integers(1, 30),
)
def test_the_lexicon_is_that_of_a_dictionary(
    tmp_path_factory, texts, per, longest, min_count, mi, n_windows
):
    """For all scopes, however the documents are cut into shards, windows into ranges and chunks."""
    folder = tmp_path_factory.mktemp("lexicon")
    texts = [*texts, ("a", "天地。天地天地")]  # so that there is a candidate
    made = documents(texts)
    dataset = write_dataset(folder / "documents", made[::2], made[1::2])
    scopes = by_scope([*made[::2], *made[1::2]], per, lambda d: character_segments(d.text))
    expected = naive(scopes, longest=longest, min_count=min_count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "RANGE_WINDOWS", n_windows)
        patch.setattr(counting, "CHUNK", 7)
        patch.setattr(ranking, "CHUNK", 5)
        output = build(
            folder / "out", dataset, per=per, max_length=longest, min_count=min_count, mi=mi,
            symbols="characters",
        )  # fmt: skip

    assert_same(rows_of(output), expected, mi)


@settings(max_examples=20, deadline=None)
@given(texts=st.lists(st.text("กนใาั้ำ๋ 。1", max_size=40), min_size=1, max_size=4))
def test_marks_stay_with_their_letter_and_counts_are_exact(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("thai")
    made = documents([("a", text) for text in [*texts, "น้ำใจ น้ำใจ"]], lang="th")
    dataset = write_dataset(folder / "documents", made)
    scopes = by_scope(made, "all", lambda d: thai_segments(d.text))

    output = build(folder / "out", dataset, per="all", min_count=2, symbols="characters")

    assert_same(rows_of(output), naive(scopes, longest=4, min_count=2), "adjacent")


def test_names_of_a_script_with_marks_and_spaces_are_whole_words(tmp_path):
    text = "नई दिल्ली में बारिश हुई। नई दिल्ली बड़ी है। वह नई दिल्ली गया।\n"
    dataset = write_dataset(tmp_path / "documents", documents([("a", text)], lang="hi"))

    rows = rows_of(build(tmp_path / "out", dataset, per="all", min_count=3))

    assert [(row["form"], row["count"]) for row in rows] == [("नई दिल्ली", 3)]


def test_multi_word_names_are_found_in_german(tmp_path):
    text = (
        "Herr von Treuenfels kam aus Bad Doberan. Dort sah ihn Herr von Treuenfels der Ältere.\n"
        "In Bad Doberan, sagte Frau Kunze, wohnt Herr von Treuenfels; Bad Doberan ist klein.\n"
    )
    made = documents([("a", text), ("a", text)], lang="de")
    dataset = write_dataset(tmp_path / "documents", made)

    rows = rows_of(build(tmp_path / "out", dataset, min_count=3, per="all", mi="weakest"))

    scopes = by_scope(made, "all", lambda d: word_segments(d.text, "de"))
    assert_same(rows, naive(scopes, longest=4, min_count=3, separator=" "), "weakest")
    assert rows[0]["form"] in {"Bad Doberan", "Herr von Treuenfels"}


def test_slices_ranges_and_the_order_of_units_change_no_byte(tmp_path, monkeypatch):
    made = documents([("a" if n % 2 else "b", line) for n, line in enumerate(story_lines())])
    whole = write_dataset(tmp_path / "whole", made)
    parts = write_dataset(tmp_path / "parts", made[:7], made[7:11], made[11:])

    once = build(tmp_path / "once", whole, min_count=2)
    monkeypatch.setattr(tables, "RANGE_WINDOWS", 40)
    monkeypatch.setattr(pipeline, "PART_BYTES", 2000)
    monkeypatch.setattr(pipeline, "SLICE_BATCHES", 1)
    again = build(tmp_path / "again", parts, min_count=2, reverse=True)

    assert len(open_dataset(again).shards) > 1
    assert rows_of(once) == rows_of(again)
    assert (once / "lexicon.tsv").read_bytes() == (again / "lexicon.tsv").read_bytes()


def story_lines():
    return STORY.read_text("utf-8").split("\n")


def test_large_alphabets_are_counted_as_small_ones(tmp_path):
    """Windows have 32 bits a symbol where 16 do not suffice."""
    few, rare = "天地玄。天地玄。" * 3, "".join(map(chr, range(0x20000, 0x2A6D0)))
    rare += "".join(map(chr, [*range(0x3400, 0x4DC0), *range(0x4E00, 0x9FA0)]))
    dataset = write_dataset(tmp_path / "few", documents([("a", few)]))
    large = write_dataset(tmp_path / "many", documents([("a", f"{rare}。{few}")]))

    forms = [
        {(row["form"], row["count"]) for row in rows_of(build(tmp_path / name, path))}
        for name, path in (("of few", dataset), ("of many", large))
    ]

    assert forms[0] == forms[1] == {("天地", 6), ("地玄", 6), ("天地玄", 6)}


@pytest.mark.parametrize("is_cut", [False, True])
def test_two_documents_with_one_id_have_no_lexicon_of_their_own(tmp_path, capsys, is_cut):
    """Neither in one slice nor in two: some of their symbols would be too rare in each."""
    twice = documents([("a", "天地玄黄。天地")]) * 2
    shards_of = [twice[:1], twice[1:]] if is_cut else [twice]
    dataset = write_dataset(tmp_path / "documents", *shards_of)
    arguments = ["--input", str(dataset), "--known", "none", "--min-count", "3"]

    of_each = pipeline.main([*arguments, "--output", str(tmp_path / "each"), "--per", "document"])
    of_all = pipeline.main([*arguments, "--output", str(tmp_path / "all"), "--per", "all"])

    assert (of_each, of_all) == (1, 0)
    assert "more than one document has the id 'a#0'" in capsys.readouterr().err


@given(st.lists(st.sampled_from(["ab", "b", "²", "1", "天", " ", "  ", "\n", "\u00a0", "."])))
@settings(max_examples=20, deadline=None)
def test_a_form_of_words_stands_in_the_text_as_often_as_it_is_counted(tmp_path_factory, pieces):
    folder = tmp_path_factory.mktemp("words")
    text = f"ein b. {''.join(pieces)}. " * 2
    made = Document(id="a", group="a", source="test", lang="de", text=text)
    dataset = write_dataset(folder / "documents", [made])

    rows = rows_of(build(folder / "out", dataset, symbols="words", min_count=2))

    for row in rows:
        assert len(re.findall(f"(?={re.escape(row['form'])})", text)) >= row["count"]


# --- scores, flags and ranks


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """The sample story, made into documents by its chapters."""
    folder = tmp_path_factory.mktemp("story")
    arguments = ["--input", str(STORY), "--lang", "zh", "--split-pattern", "^第.{1,3}回"]
    assert text_to_documents.main([*arguments, "--output", str(folder)]) == 0
    return folder


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


def test_compounds_are_made_of_function_words_known_ones_and_better_candidates(story, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("镇上\n说道 3 v\n听说\tx\n", "utf-8")

    rows = rows_of(
        build(tmp_path / "out", story, known=str(known), drop=(), demote=(), min_count=2)
    )

    functions = set(ranking.function_words().to_pylist())
    by_form = {row["form"]: row for row in rows}

    def is_part(part, row):
        if len(part) == 1:
            return part in functions
        other = by_form[part]
        return {"known", "compound"} & set(other["flags"]) or other["score"] > row["score"]

    for form, row in by_form.items():
        cuts = [(form[:cut], form[cut:]) for cut in range(1, len(form))]
        is_compound = any(is_part(a, row) and is_part(b, row) for a, b in cuts)
        assert ("compound" in row["flags"]) == is_compound
        assert ("known" in row["flags"]) == (form in {"镇上", "说道", "听说"})
        assert ("function" in row["flags"]) == (form[0] in functions or form[-1] in functions)


def test_what_is_dropped_has_no_rank_and_comes_last(story, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("阿篁\n", "utf-8")

    rows = rows_of(build(tmp_path / "out", story, known=str(known), drop=("known", "function")))

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
def test_the_share_of_words_is_exact(top, tmp_path):
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


# --- the command


def test_the_command_makes_a_dataset_that_verifies_and_is_mended(story, tmp_path, capsys):
    arguments = ["--input", str(story), "--output", str(tmp_path / "out"), "--known", "none"]

    status = pipeline.main(arguments)

    before = files_of(tmp_path / "out")
    assert (status, pipeline.main(arguments)) == (0, 0)
    assert "already complete" in capsys.readouterr().out
    assert shards(["verify", str(tmp_path / "out")]) == 0
    (tmp_path / "out" / "shard-00000.arrow").write_bytes(b"damaged")
    assert pipeline.main(arguments) == 0
    assert files_of(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--max-length", "1"], 2, "must be at least 2"),
        (["--min-count", "1"], 2, "must be at least 2"),
        (["--top", "nan"], 2, "must be above 0"),
        (["--known", "nowhere.txt"], 2, "no such file"),
        (["--known", "none", "--min-count", "1000"], 1, "occurs 1000 times"),
    ],
)
def test_what_makes_no_sense_is_refused(story, tmp_path, capsys, options, status, message):
    arguments = ["--input", str(story), "--output", str(tmp_path / "out")]

    assert pipeline.main([*arguments, *options]) == status

    assert message in capsys.readouterr().err


def test_documents_without_text_are_refused(tmp_path, capsys):
    dataset = write_dataset(tmp_path / "documents", documents([("a", " ")]))

    status = pipeline.main(["--input", str(dataset), "--output", str(tmp_path / "out")])

    assert status == 1
    assert "no text" in capsys.readouterr().err


def test_without_jieba_chinese_documents_ask_for_it(story, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("corpora.lexicon.known.find_spec", lambda _: None)

    status = pipeline.main(["--input", str(story), "--output", str(tmp_path / "out")])

    assert status == 2
    assert "pip install jieba" in capsys.readouterr().err


@pytest.mark.realdata
def test_the_lexicon_of_real_text_is_that_of_a_dictionary(realdata, tmp_path):
    novel = (realdata("zh-novels") / "红楼梦.txt").read_text("utf-8")[:80_000]
    news = (realdata("zh-news") / "clue-corpus-small-sampled.txt").read_text("utf-8")[:40_000]
    made = documents([("novel", novel), ("news", news)])
    dataset = write_dataset(tmp_path / "documents", made)

    rows = rows_of(build(tmp_path / "out", dataset))

    scopes = by_scope(made, "group", lambda d: character_segments(d.text))
    assert_same(rows, naive(scopes, longest=4, min_count=5), "adjacent")


@pytest.mark.realdata
def test_names_of_a_novel_are_words_and_many_of_them_come_first(realdata, tmp_path):
    """Of the 28 names that occur ten times and are in no dictionary, as docs/lexicon.md has it."""
    pytest.importorskip("jieba")
    novel = realdata("zh-novels") / "三国演义.txt"
    arguments = ["--input", str(novel), "--lang", "zh", "--output", str(tmp_path / "documents")]
    assert text_to_documents.main([*arguments, "--split-pattern", "^第.{1,9}回"]) == 0
    table = (realdata("zh-novels") / "names-sanguo.tsv").read_text("utf-8").splitlines()[1:]
    text = novel.read_text("utf-8")

    rows = rows_of(build(tmp_path / "out", tmp_path / "documents", known="jieba"))

    known = {row["form"] for row in rows if "known" in row["flags"]}
    frequent = {name for name in (line.split("\t")[0] for line in table) if text.count(name) >= 10}
    words = [row["form"] for row in rows if row["rank"] and "low" not in row["flags"]]
    names = frequent - known
    assert len(names) == 28
    assert names <= set(words)
    assert len(names.intersection(words[:500])) >= 18
    assert len(names.intersection(words[:1000])) >= 23
