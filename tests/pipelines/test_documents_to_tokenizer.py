"""Documents to a tokenizer: the naive algorithm, the same bytes in any order, true reports."""

import re
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, open_dataset
from corpora.document import Document
from corpora.entities.counts import Sums
from corpora.store.inspection import main as shards
from corpora.tokenization import learning
from corpora.tokenization.learning import VocabularyLimits, learn, limited, size_for
from corpora.tokenization.tokenizers import SPECIALS, UNK, Tokenizer, wordpiece
from corpora.tokenization.word_counts import CharacterCounts, WordCounter, WordTable, total_batches
from pipelines import documents_to_tokenizer as pipeline
from tests.corpora.small_bert import CHARACTERS
from tests.datasets import write_dataset
from tests.killing import files_of
from tests.pipelines.graph_runs import run_here

pytestmark = pytest.mark.usefixtures("without_runner")
TEXTS = [
    "Über allen Gipfeln ist Ruh, in allen Wipfeln spürest du kaum einen Hauch.",
    "Der Zauberlehrling: Hat der alte Hexenmeister sich doch einmal wegbegeben!",
    "中文維基百科,自由的百科全書。中文!\nÆØÅ æøå — Smørrebrød på dansk",
    "Walle! walle\u3000manche Strecke, daß, zum Zwecke, Wasser fließe 😀 x" + "y" * 120,
] * 3
COUNTS = st.dictionaries(st.text("abcde", min_size=1, max_size=6), st.integers(1, 20), min_size=1)


def documents(texts):
    return [
        Document(id=f"t:{number}", group="t", source="test", text=text)
        for number, text in enumerate(texts)
    ]


def build(output, *inputs, reverse=False, **options):
    """Run it in this process; the units of each stage in the other order if ``reverse``."""
    return run_here(pipeline, output, inputs, reverse=reverse, **{"size": 300, **options})


def without_plan(output):
    """Return the hashes of the files, without those that name the inputs."""
    names = {"dataset.json", "run.json"}
    return {name: data for name, data in files_of(output).items() if name not in names}


def counted(texts, *, cased):
    """Count words as the library does, one text after the other."""
    backend = wordpiece(SPECIALS, cased=cased)
    words = Counter()
    for text in texts:
        cut = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        words.update(word for word, _ in cut)
    return words


@settings(max_examples=60)
@given(texts=st.lists(st.text(CHARACTERS, max_size=40), max_size=5), cased=st.booleans())
def test_words_are_counted_as_the_library_cuts_them(texts, cased):
    counter = WordCounter(cased=cased)

    counter.add(texts)

    rows = counter.table().to_pylist()
    assert {row["word"]: row["count"] for row in rows} == counted(texts, cased=cased)


SETTINGS = {
    "cased": False, "characters": False, "min_count": 1, "size": 120,
}  # fmt: skip


def table_of(folder, counts):
    """Write the merged counts of words to disk, and open them."""
    import pyarrow as pa

    words = {"word": list(counts), "count": list(counts.values())}
    path = Path(folder) / "words.arrow"
    totals = Sums(("word",))
    totals.add(pa.table(words))
    with ShardWriter(path, SCHEMAS["word_totals"]) as writer:
        for batch in total_batches(totals):
            writer.write_batch(batch)
    return WordTable([path])


def learned(counts, **rules):
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(folder, counts)
        chosen = limited(VocabularyLimits(**SETTINGS | rules), table)
        return learn(table, CharacterCounts.of(table), chosen)


def slowly_learned(counts, size):
    """Merge the most frequent pair, and of several the one whose subwords came first."""
    letters = sorted("0123456789abcdefghijklmnopqrstuvwxyz")
    subwords = [*SPECIALS, *(f"##{letter}" for letter in letters), *letters]
    words = {word: [word[0], *(f"##{c}" for c in word[1:])] for word in counts}
    while len(subwords) < size:
        pairs = Counter()
        for word, cut in words.items():
            for pair in pairwise(cut):
                pairs[pair] += counts[word]
        if not pairs:
            break
        numbers = {subword: number for number, subword in enumerate(subwords)}
        left, right = min(pairs, key=lambda p: (-pairs[p], numbers[p[0]], numbers[p[1]]))
        merged = left + right.removeprefix("##")
        if merged not in numbers:
            subwords.append(merged)
        words = {word: joined(cut, (left, right), merged) for word, cut in words.items()}
    return subwords


def joined(cut, pair, merged):
    result, at = [], 0
    while at < len(cut):
        if tuple(cut[at : at + 2]) == pair:
            result.append(merged)
            at += 2
        else:
            result.append(cut[at])
            at += 1
    return result


@settings(max_examples=50)
@given(counts=COUNTS)
def test_subwords_are_those_of_the_naive_algorithm(counts):
    assert learned(counts) == slowly_learned(counts, 120)


@settings(max_examples=15)
@given(counts=COUNTS, order=st.randoms(use_true_random=False))
def test_subwords_do_not_depend_on_order(counts, order):
    words = list(counts)
    order.shuffle(words)

    assert learned({word: counts[word] for word in words}) == learned(counts)


def test_the_counts_of_all_code_points_are_added_up_once(tmp_path):
    counts = CharacterCounts.of(table_of(tmp_path, {"aba": 5}))

    assert counts.all is counts.all  # it is asked for at each character
    assert counts.all.sum() == 15


def test_rare_words_teach_nothing():
    counts = {"haus": 5, "quark": 1}

    assert learned(counts, min_count=2) == learned({"haus": 5, "q": 1, "u": 1})


@pytest.mark.parametrize(("max_words", "least"), [(1, 5), (2, 5), (3, 3), (4, 3), (6, 1), (100, 1)])
def test_no_more_than_the_most_frequent_words_are_learned_from(
    tmp_path, monkeypatch, max_words, least
):
    monkeypatch.setattr(learning, "MAX_WORDS", max_words)
    table = table_of(tmp_path, {"a": 5, "b": 5, "c": 3, "d": 1, "e": 1, "f": 1})

    rules = limited(VocabularyLimits(**SETTINGS), table)

    assert rules.min_count == least


def test_the_report_says_from_how_many_times_on_words_are_learned_from(tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "MAX_WORDS", 1)
    texts = write_dataset(tmp_path / "in", documents(["haus haus quark"]))

    output = build(tmp_path / "out", texts)

    report = (output / "report.md").read_text("utf-8")
    assert "distinct words seen less than 2 times: not learned from | 1 |" in report


def test_words_with_an_uncovered_character_teach_nothing(monkeypatch):
    monkeypatch.setattr(learning, "COVERAGE", 0.99)
    subwords = learned({"hau": 1000, "hβu": 1})

    assert {"β", "##β", "hu"}.isdisjoint(subwords)
    assert "hau" in subwords


@pytest.mark.parametrize("size", [82, 83, 84, 90])
def test_characters_fill_half_of_the_vocabulary_at_most(size):
    counts = {chr(code) * 2: 2000 - code for code in range(0x3B1, 0x3C0)}
    base = 5 + 2 * 36

    subwords = learned(counts, size=2 * size)

    greek = [
        subword
        for subword in subwords
        if len(subword.removeprefix("##")) == 1 and subword[-1] >= "α"
    ]
    n_greek = min(15, (2 * size - 5) // 4 - 36)
    assert greek[:n_greek] == [f"##{chr(0x3B1 + number)}" for number in range(n_greek)]
    assert len(greek) == 2 * n_greek
    assert len(subwords) == min(2 * size, base + 3 * n_greek)


@pytest.mark.parametrize("cased", [True, False])
@pytest.mark.parametrize("characters", [True, False])
def test_counts_and_report_are_what_the_tokenizer_makes_of_the_documents(
    tmp_path, cased, characters
):
    dataset = write_dataset(tmp_path / "documents", documents(TEXTS))

    output = build(tmp_path / "out", dataset, cased=cased, characters=characters)

    tokenizer = Tokenizer.open(output)
    encoded = tokenizer.encode(TEXTS)
    ids = np.concatenate([subwords.ids for subwords in encoded])
    rows = list(open_dataset(output, "subwords").rows())
    counters = open_dataset(output).description["counters"]
    assert [row["subword"] for row in rows] == (output / "vocab.txt").read_text().splitlines()
    assert [row["count"] for row in rows] == np.bincount(ids, minlength=len(rows)).tolist()
    n_words = sum(len(subwords.word_starts) for subwords in encoded)
    assert (counters["words"], counters["words.subwords"]) == (n_words, len(ids))
    assert counters["words.unknown"] == int((ids == tokenizer.special.unk).sum()) > 0
    report = (output / "report.md").read_text(encoding="utf-8")
    assert f"| subwords per word | {len(ids) / n_words:.4f} |" in report
    assert counters["words"] == sum(counted(TEXTS, cased=cased).values())


@pytest.mark.parametrize("options", [{}, {"cased": True}, {"characters": True}])
def test_transformers_gives_the_same_ids(tmp_path, options):
    from transformers import AutoTokenizer, BertTokenizer

    dataset = write_dataset(tmp_path / "documents", documents(TEXTS))

    output = build(tmp_path / "out", dataset, **options)

    ids = [subwords.ids.tolist() for subwords in Tokenizer.open(output).encode(TEXTS)]
    for kind in (AutoTokenizer, BertTokenizer):
        assert kind.from_pretrained(output)(TEXTS, add_special_tokens=False)["input_ids"] == ids


@pytest.mark.parametrize("options", [{}, {"cased": True}, {"characters": True}])
def test_shards_and_their_order_change_no_byte(tmp_path, options, monkeypatch):
    monkeypatch.setattr(pipeline, "PART_BYTES", 2000)  # several parts
    monkeypatch.setattr("corpora.entities.counts.FOLD_ROWS", 3)
    each = documents(TEXTS)
    one = write_dataset(tmp_path / "one", each)
    many = write_dataset(tmp_path / "many", each[7:], each[:2], each[2:7])

    outputs = [
        build(tmp_path / "a", one, **options),
        build(tmp_path / "b", many, **options),
        build(tmp_path / "c", many, reverse=True, **options),
    ]

    first, *others = map(without_plan, outputs)
    assert [*first]
    assert all(first == other for other in others)
    assert files_of(outputs[1]) == files_of(outputs[2])


def test_special_subwords_come_first_and_umlauts_stay(tmp_path):
    dataset = write_dataset(tmp_path / "documents", documents(TEXTS))

    subwords = (build(tmp_path / "out", dataset) / "vocab.txt").read_text().splitlines()

    assert subwords[:5] == [*SPECIALS]
    assert {"ü", "ø", "æ", "ß"} <= set(subwords)
    assert not {"Ü", "Ø", "H"} & set(subwords)


def test_characters_are_subwords_by_count(tmp_path):
    dataset = write_dataset(tmp_path / "documents", documents(TEXTS))

    output = build(tmp_path / "out", dataset, characters=True)

    rows = list(open_dataset(output).rows())[5:]
    assert all(len(row["subword"].removeprefix("##")) == 1 for row in rows)
    counts = [row["count"] for row in rows]
    assert counts == sorted(counts, reverse=True)
    [subwords] = Tokenizer.open(output).encode(["中文 du"])
    assert [rows[id - 5]["subword"] for id in subwords.ids.tolist()] == ["中", "文", "d", "##u"]


def test_letters_and_digits_have_subwords_whether_they_occur_or_not(tmp_path):
    dataset = write_dataset(tmp_path / "documents", documents(["中文", "中"]))

    for options in ({}, {"cased": True}, {"characters": True}):
        output = build(tmp_path / "out", dataset, **options)

        ids = Tokenizer.open(output).encode(["zebra 0815 QX-9"])[0].ids.tolist()
        subwords = [row["subword"] for row in open_dataset(output).rows()]
        assert [subwords[id] for id in ids].count(UNK) == 1  # the hyphen


def test_unknown_characters_are_named_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "COVERAGE", 0.9)
    texts = [*TEXTS, "Ω| Ωx"]
    dataset = write_dataset(tmp_path / "documents", documents(texts))

    output = build(tmp_path / "out", dataset, size=256, cased=True)

    counts = Counter("".join(counted(texts, cased=True).elements()))
    report = (output / "report.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| .? \| U\+(\w+) \| .* \| ([\d,]+) \|$", report, re.MULTILINE)
    assert listed
    for code, times in listed:
        assert counts[chr(int(code, 16))] == int(times.replace(",", ""))
    assert "GREEK CAPITAL LETTER OMEGA | 2 |" in report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "error: The documents have no words."),
        ("x" * 101, "error: All words of the documents are longer than 100 characters"),
    ],
)
def test_documents_without_words_are_refused(tmp_path, capsys, text, message):
    dataset = write_dataset(tmp_path / "documents", documents(["", text]))

    status = pipeline.main(["--input", str(dataset), "--output", str(tmp_path / "out")])

    assert status == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out" / "run.json").exists()


def test_the_command_makes_a_dataset_that_verifies_and_is_made_once(tmp_path, capsys):
    dataset = write_dataset(tmp_path / "documents", documents(TEXTS))
    arguments = ["--input", str(dataset), "--output", str(tmp_path / "out"), "--size", "300"]

    status = pipeline.main(arguments)

    before = files_of(tmp_path / "out")
    assert (status, pipeline.main(arguments)) == (0, 0)
    assert "already complete" in capsys.readouterr().out
    assert shards(["verify", str(tmp_path / "out")]) == 0
    assert files_of(tmp_path / "out") == before
    assert without_plan(build(tmp_path / "here", dataset)) == without_plan(tmp_path / "out")


@pytest.mark.parametrize(
    ("option", "message"),
    [(["--size", "255"], "must be at least 256"), (["--min-count", "0"], "must be at least 1")],
)
def test_options_that_make_no_sense_are_refused(tmp_path, capsys, option, message):
    dataset = write_dataset(tmp_path / "documents", documents(TEXTS))

    status = pipeline.main(["--input", str(dataset), "--output", str(tmp_path / "out"), *option])

    assert status == 2
    assert message in capsys.readouterr().err


@pytest.mark.realdata
def test_real_german_words_are_mostly_whole(realdata, tmp_path, monkeypatch):
    """With 8000 subwords, half of the words of a text are one subword, none is unknown."""
    monkeypatch.setattr(learning, "COVERAGE", 1.0)
    text = (realdata("wiki-text-de") / "wiki_00").read_text("utf-8")
    dataset = write_dataset(tmp_path / "documents", documents(text.split("</doc>")))

    output = build(tmp_path / "out", dataset, size=8000)

    counters = open_dataset(output).description["counters"]
    too_long = sum(n for word, n in counted([text], cased=False).items() if len(word) > 100)
    assert counters["words.unknown"] == counters["words.too_long"] == too_long
    assert counters["words.whole"] > 0.5 * counters["words"]


@pytest.mark.parametrize(("n_words", "size"), [(10, 1_000), (40_000, 10_000), (10**7, 30_000)])
def test_the_size_is_a_quarter_of_the_words_within_limits(n_words, size):
    assert size_for(n_words) == size
