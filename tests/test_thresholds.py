"""Sizes at which code takes another path, crossed at their true values: results stay the same.

Tests beside the code set these sizes low, and look closer.
"""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from corpora.datasets import shards
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_batches
from corpora.hashing.tokens import Runs, hash_strings
from corpora.lexicon import counting
from corpora.ner import tally as ner_forms
from corpora.ner.columns import SentenceColumns
from corpora.segmentation import sentences
from corpora.segmentation.sentences import segmenter
from corpora.tokenization.learning import _LINE, _REPEATS, _lines
from corpora.tokenization.word_counts import _GROUP, N_CODES, WordCounter, Words
from corpora.wikipedia import templates, titles
from modeling.data.examples import _smallest


def strings(numbers, prefix=""):
    """Return many strings that differ; numpy makes them faster than a loop."""
    return pa.array(np.char.add(prefix, np.asarray(numbers).astype("U8")).tolist(), pa.string())


@pytest.mark.parametrize("n_symbols", [1 << 16, (1 << 16) + 1])
def test_symbols_beyond_two_bytes_are_dealt_out_to_ranges_beyond_two_bytes(n_symbols):
    last = n_symbols - 1
    ids = np.array([2, last, last, 3], np.uint32)
    keys = np.array([2, 3, last])
    firsts = counting.Firsts(keys, np.ones(3, np.int64), n_symbols)

    [windows] = counting.windows_of(ids, np.zeros(4, np.int64), firsts, longest=2)

    assert windows.around.dtype == (np.uint16 if n_symbols == 1 << 16 else np.uint32)
    assert windows.around[1].tolist() == [last, last, 3]
    edges = np.arange(1, n_symbols + 1)  # the last window is in the last range
    ranges = [number for number, _ in counting.by_range(windows, edges, n_symbols=n_symbols)]
    assert ranges == [last, n_symbols]


@pytest.mark.parametrize("pending", [1, ner_forms._PENDING])
def test_names_beyond_those_that_wait_are_counted_once(pending, monkeypatch):
    monkeypatch.setattr(ner_forms, "_PENDING", pending)
    n = pending + 1
    tokens = strings(range(n))
    columns = SentenceColumns(tokens, np.array([0, n]), pa.nulls(n, pa.string()))
    labels = np.zeros(n, np.int32)
    spans = SimpleNamespace(starts=np.arange(n), ends=np.arange(1, n + 1), labels=labels)
    table = ner_forms._forms(columns, spans, Runs(hash_strings(tokens)))
    forms = ner_forms.Forms()

    for n_waiting in (0, n):  # the first are folded, the others wait
        forms.add(table)
        assert forms._n_pending in (n_waiting, 0)

    table = forms.table()
    assert set(table.counts.tolist()) == {2}
    assert sorted(table.texts.to_pylist()) == sorted(tokens.to_pylist())


@pytest.mark.parametrize(("n_rows", "n_characters"), [(shards.ROWS_PER_BATCH, 1), (2, 1 << 20)])
def test_a_shard_begins_a_batch_at_so_many_rows_or_characters(tmp_path, n_rows, n_characters):
    schema = SCHEMAS["documents"]
    row = dict.fromkeys(schema.columns.names) | {
        "group": "g", "source": "s", "text": "x" * n_characters, "mentions": [],
    }  # fmt: skip
    with ShardWriter(tmp_path / "shard.arrow", schema) as writer:
        for number in range(n_rows + 1):
            writer.write(row | {"id": str(number)})

    batches = list(read_batches(tmp_path / "shard.arrow", schema))

    assert len(batches) == (2 if n_characters == 1 else 3)
    assert sum(len(batch) for batch in batches) == writer.shard.rows == n_rows + 1


def test_words_beyond_what_is_cut_at_once_are_counted():
    counter = WordCounter(cased=True)
    words = strings(range(2 * _GROUP + 1)).to_pylist()

    counter.add([" ".join(words), "0 1"])

    table = counter.table()
    counts = dict(zip(*(table.column(n).to_pylist() for n in ("word", "count")), strict=True))
    assert counts == dict.fromkeys(words, 1) | {"0": 2, "1": 2}


def test_words_are_handed_on_as_often_as_counted_beyond_repeats_and_lines():
    counts = {"rare": 1, "often": _REPEATS, "more": _REPEATS + 1, "most": _LINE}
    table = SimpleNamespace(batches=lambda: [Words(list(counts), np.array([*counts.values()]))])

    lines = list(_lines(table, np.ones(N_CODES, np.bool_), min_count=1))

    assert len(lines) > 4
    given = "".join(lines).split()
    assert {word: given.count(word) for word in counts} == counts
    assert len(given) == sum(counts.values())


def test_titles_are_read_as_before_when_those_remembered_are_forgotten():
    wiki = titles.Wiki("dewiki", "de")
    before = wiki.target("berlin#Mitte")

    for number in range(titles._MAX_TITLES):
        wiki.target(f"T{number}")

    assert len(wiki._targets) == 1
    assert wiki.target("berlin#Mitte") == before


def test_templates_are_read_as_before_when_those_remembered_are_forgotten():
    table = templates.load_templates("de")
    before = table.action("lang|fr")

    for number in range(templates._MAX_ACTIONS + 1):
        table.action(f"T{number}")

    assert len(table._actions) == 1
    assert table.action("lang|fr") == before


def test_sentences_end_as_before_when_the_words_remembered_are_forgotten():
    of, text = segmenter("en"), "He saw a house. She went there. It was dr. Brown."
    span = sentences.Span(0, len(text))
    before = of.sentences(text, span)
    letters = np.array(list("abcdefghij"))
    digits = np.arange(sentences._MAX_PLAIN + 1)[:, None] // 10 ** np.arange(5, -1, -1) % 10

    for word in map("".join, letters[digits]):
        of._remember(word)

    assert 0 < len(of._plain) < sentences._MAX_PLAIN
    assert of.sentences(text, span) == before
    of._plain.clear()


def test_numbers_of_examples_beyond_31_bits_take_eight_bytes():
    assert [_smallest(n) for n in ((1 << 31) - 1, 1 << 31)] == [np.int32, np.int64]
    assert np.iinfo(_smallest((1 << 31) - 1)).max >= (1 << 31) - 2
