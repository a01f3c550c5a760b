"""Sizes at which code takes another path, crossed at their true values: results stay the same.

Tests beside the code set these sizes low, and look closer.
"""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from corpora.datasets import redirect_table as redirects
from corpora.datasets import repeated_ids, shards
from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.datasets.repeated_ids import find_repeated
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_batches
from corpora.entities.counts import BATCH_ROWS, batches_of, by_partition
from corpora.entities.pages import OF_PAGES
from corpora.examples import maker as examples
from corpora.hashing.tokens import Runs, hash_strings, mix
from corpora.lexicon import counting
from corpora.matching import form_dictionary, form_table
from corpora.matching import title_matches as matches
from corpora.matching.form_dictionary import MEANINGS, choose_forms
from corpora.matching.form_table import FormTable, SurfaceMatcher, build_form_table
from corpora.ner import tally as ner_forms
from corpora.ner.columns import SentenceColumns
from corpora.segmentation import sentences
from corpora.segmentation.sentences import segmenter
from corpora.tokenization.learning import _LINE, _REPEATS, _lines
from corpora.tokenization.word_counts import _GROUP, N_CODES, WordCounter, WordCounts
from corpora.wikipedia import templates, titles
from modeling.data.examples import _smallest


def strings(numbers, prefix=""):
    """Return many strings that differ; numpy makes them faster than a loop."""
    return pa.array(np.char.add(prefix, np.asarray(numbers).astype("U8")).tolist(), pa.string())


@pytest.mark.parametrize("extra", [0, 1])
def test_a_part_beyond_the_rows_of_a_batch_keeps_all_of_them(extra):
    n = BATCH_ROWS + extra
    rows = [strings(range(n)), strings(range(n)), np.zeros(n, np.int8)]
    table = pa.table(rows, names=["entity", "page_id", "rank"])
    for name in OF_PAGES:
        column = SCHEMAS["entity_pages"].columns.field(name)
        table = table.append_column(column, pa.nulls(n, column.type))

    batches = list(by_partition(table, np.full(n, 3), schema="entity_pages"))

    assert [len(batch) for batch in batches] == [BATCH_ROWS] + [1] * extra
    assert pa.concat_arrays([b.column("entity") for b in batches]) == rows[0]
    assert all(set(batch.column("part").unique().to_pylist()) == {3} for batch in batches)
    table = pa.table([np.zeros(n, np.int32), np.ones(n, np.int64)], names=["number", "unlinked"])
    assert sum(len(batch) for batch in batches_of(table, "form_occurrences")) == n


def test_forms_beyond_what_is_indexed_at_once_are_found_beyond_a_window(tmp_path):
    forms = strings(range(form_table._FORMS_AT_ONCE + 2), "x").to_pylist()
    asked = [0, form_table._FORMS_AT_ONCE - 1, len(forms) - 2, len(forms) - 1]
    line = "no form of these " * (form_table.WINDOW // 16)  # longer than a window
    lines = [f"{line}{forms[number]}" for number in asked]
    build_form_table(tmp_path, [forms])

    starts, ends, numbers = FormTable(tmp_path).find("\n".join(lines), lang="en")

    assert numbers.tolist() == asked
    text = "\n".join(lines)
    found = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert found == [forms[number] for number in asked]


def test_surface_forms_are_found_and_kept_free_beyond_a_window():
    line = "nothing at all\n" * (form_table.WINDOW // 10)
    text = f"{line}Ulm and Ulm\n{line}Jena"
    [first, second, third] = (text.index("Ulm"), text.rindex("Ulm"), text.index("Jena"))

    found = SurfaceMatcher(["Jena", "Ulm"], lang="en").find(text, [(second, second + 3)])

    assert found == [(first, first + 3, 1), (third, third + 4, 0)]


def test_titles_are_found_beyond_a_window():
    nested = {" ".join(["aaa"] * n): f"Aaa {n}" for n in range(1, 41)}
    line = " ".join(["aaa"] * (form_table.WINDOW // 4 + 1)) + "\n"

    found = matches.match_titles([line, line], [nested, nested], [[], []])

    whole, rest = divmod(len(line.split()), 40)
    expected = ["Aaa 40"] * whole + [f"Aaa {rest}"] * (rest > 0)
    assert [[title for _, _, title in page] for page in found] == [expected, expected]


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


def test_windows_beyond_a_chunk_of_a_stream_are_those_of_the_whole(monkeypatch):
    rng = np.random.default_rng(1)
    ids = rng.integers(2, 30, counting.CHUNK + 5).astype(np.uint32)
    ids[counting.CHUNK - 1 : counting.CHUNK + 1] = 4  # frequent on both sides of the border
    keys = np.arange(2, 20)
    firsts = counting.Firsts(keys, np.ones(len(keys), np.int64), 30)

    parts = list(counting.windows_of(ids, np.zeros(len(ids), np.int64), firsts, longest=3))
    monkeypatch.setattr(counting, "CHUNK", len(ids))
    [whole] = counting.windows_of(ids, np.zeros(len(ids), np.int64), firsts, longest=3)

    assert len(parts) == 2
    found = counting.joined(parts)
    np.testing.assert_array_equal(found.firsts, whole.firsts)
    np.testing.assert_array_equal(found.around, whole.around)


@pytest.mark.parametrize("pending", [1, ner_forms._PENDING])
def test_names_beyond_those_that_wait_are_counted_once(pending, monkeypatch):
    monkeypatch.setattr(ner_forms, "_PENDING", pending)
    n = pending + 1
    tokens = strings(range(n))
    columns = SentenceColumns(tokens, np.array([0, n]), pa.nulls(n, pa.string()))
    labels = np.zeros(n, np.int32)
    spans = SimpleNamespace(starts=np.arange(n), ends=np.arange(1, n + 1), labels=labels)
    table = ner_forms._forms(columns, spans, Runs(hash_strings(tokens)))
    forms = ner_forms.FormCounter()

    for n_waiting in (0, n):  # the first are folded, the others wait
        forms.add(table)
        assert forms._n_pending in (n_waiting, 0)

    table = forms.table()
    assert set(table.counts.tolist()) == {2}
    assert sorted(table.texts.to_pylist()) == sorted(tokens.to_pylist())


def test_redirects_beyond_a_chunk_lead_on_into_the_next(tmp_path):
    n = redirects.ROWS_PER_CHUNK + 2
    targets = np.arange(1, n + 1)
    targets[1:-2] = n  # the first and the last two go on, over the border; the others end at once
    columns = [strings(range(n)), strings(targets)]

    summary = build_table(tmp_path, [pa.record_batch(columns, names=["title", "target"])])

    finals = RedirectTable(tmp_path).finals(pa.array(["0", "1", str(n - 2), str(n - 1), str(n)]))
    assert finals.to_pylist() == [str(n)] * 4 + [None]
    assert (summary.n_redirects, summary.n_chains) == (n, 2)


def test_ids_beyond_those_that_are_hashed_at_once_are_found_again(tmp_path):
    n = repeated_ids._ROWS + 1
    schema, paths = SCHEMAS["subwords"], [tmp_path / f"{number}.arrow" for number in range(2)]
    for path, first in zip(paths, (0, n - 1), strict=True):
        ids = np.arange(first, first + n, dtype=np.int32)
        columns = [pa.array(ids), strings(ids), pa.array(np.ones(n, np.int64))]
        with ShardWriter(path, schema) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema.columns))

    assert find_repeated(paths, schema) == (n - 1, paths[1])


def test_forms_beyond_the_names_that_are_taken_at_once_keep_their_entities():
    n = form_dictionary._ROWS + 1
    columns = [strings(range(n)), strings(range(n), "e:"), *[np.ones(n)] * 3]

    chosen, _ = choose_forms(pa.table(columns, schema=MEANINGS), ignore_case=False, lang=None)

    assert chosen.column("form").combine_chunks() == columns[0]
    assert chosen.column("entity").combine_chunks() == columns[1]


def test_documents_beyond_the_text_of_a_batch_are_made_into_examples_apart():
    half = "x" * (examples.BATCH_BYTES // 2)
    batch = pa.record_batch([[half, half, "y", half * 3, "z"]], names=["text"])

    parts = [[len(text.as_py()) for text in b.column("text")] for b in examples.in_chunks(batch)]

    assert parts == [[len(half)] * 2, [1], [3 * len(half)], [1]]


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
    table = SimpleNamespace(
        batches=lambda: [WordCounts(list(counts), np.array([*counts.values()]))]
    )

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


def test_hashes_beyond_those_that_are_held_are_compared_on_disk():
    n = repeated_ids.HELD + 2
    hashes = mix(np.arange(n, dtype=np.uint64))
    hashes[-1] = hashes[0]  # held, and put aside before

    found = repeated_ids.equal_among([hashes[: n - 1], hashes[n - 1 :]])

    assert found.tolist() == [hashes[0]]
