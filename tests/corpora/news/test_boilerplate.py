"""Boilerplate: paragraphs that pages with several titles share, and rows without it."""

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets import shards
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.news.boilerplate import (
    batches_of,
    count_partition,
    entries_of,
    find_boilerplate,
    in_partitions,
    paragraph_hash,
    read_boilerplate,
)
from corpora.news.rows import RowCleaner, with_sentences

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6)), max_size=30)
APPEAL = "Unterstützen Sie uns mit einem Abonnement, damit wir weiter berichten."


def table(pairs):
    return tuple(np.array([pair[i] for pair in pairs], np.uint64) for i in (0, 1))


@given(st.lists(PAIRS, max_size=4), st.integers(1, 4))
def test_boilerplate_is_what_stands_under_so_many_titles(tables, min_pages):
    titles = defaultdict(set)
    for paragraph, title in (pair for pairs in tables for pair in pairs):
        titles[paragraph].add(title)

    found = find_boilerplate(map(table, tables), min_pages=min_pages)

    assert found.tolist() == sorted(p for p, seen in titles.items() if len(seen) >= min_pages)


def write(path, schema, batches):
    with ShardWriter(path, SCHEMAS[schema]) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


@given(st.lists(PAIRS, max_size=6), st.integers(1, 4), st.integers(1, 3))
def test_a_unit_reads_the_boilerplate_of_its_own_pages(tables, min_pages, n_partitions):
    with tempfile.TemporaryDirectory() as folder:
        columns = SCHEMAS["news_paragraphs"].columns
        paths = [
            write(
                Path(folder, f"{unit}.arrow"),
                "news_paragraphs",
                [pa.record_batch(list(map(pa.array, table(pairs))), columns)],
            )
            for unit, pairs in enumerate(tables)
        ]

        parts = defaultdict(list)
        for unit, path in enumerate(paths):
            entries = entries_of(path, unit)
            for number, part in in_partitions(entries, by="paragraph", n_partitions=n_partitions):
                parts[number].append(part)
        counted = [count_partition(part, min_pages=min_pages) for part in parts.values()]
        batches = batches_of(entries for _, entries in counted)
        shard = write(Path(folder, "found.arrow"), "news_boilerplate", batches)

        found = set(find_boilerplate(map(table, tables), min_pages=min_pages).tolist())
        assert sum(n for n, _ in counted) == len(found)
        for unit, pairs in enumerate(tables):
            own = found & {paragraph for paragraph, _ in pairs}
            assert read_boilerplate(shard, unit) == own


def test_a_unit_of_many_reads_one_batch_and_looks_at_few(tmp_path, monkeypatch):
    columns = SCHEMAS["news_boilerplate"].columns
    batches = [
        pa.RecordBatch.from_pylist([{"unit": unit, "paragraph": 1}] * 9, columns)
        for unit in range(0, 1000, 2)
    ]
    path, read = write(tmp_path / "found.arrow", "news_boilerplate", batches), []
    read_batch = shards.read_batch
    monkeypatch.setattr(shards, "read_batch", lambda *of: read.append(of) or read_batch(*of))

    rows = [shards.read_batch_of(path, SCHEMAS["news_boilerplate"], unit) for unit in (500, 501)]

    assert [batch.column("unit").to_pylist() for batch in rows] == [[500] * 9, []]
    assert Counter(len(reader.schema) for reader, _ in read)[2] == 1
    assert len(read) <= 2 * 11


def test_headings_and_short_paragraphs_are_never_boilerplate():
    assert paragraph_hash("a.example", APPEAL, "head") is None
    assert paragraph_hash("a.example", "Anzeige", "p") is None
    assert RowCleaner({0}, 0).add(row((APPEAL, "head"), ("Anzeige", "p"))) is not None


def test_a_paragraph_is_boilerplate_of_one_site():
    assert paragraph_hash("a.example", APPEAL, "p") == paragraph_hash(
        "a.example", APPEAL.upper(), "p"
    )
    assert paragraph_hash("a.example", APPEAL, "p") != paragraph_hash("b.example", APPEAL, "p")


def row(*blocks, links=()):
    text, paragraphs = "", []
    for block, kind in blocks:
        paragraphs.append({"start": len(text), "end": len(text) + len(block), "kind": kind})
        text += block + "\n"
    text = text[:-1]
    mentions = [
        {
            "start": text.index(name),
            "end": text.index(name) + len(name),
            "entity": f"url:{name}",
            "attributes": [],
        }
        for name in links
    ]
    columns = dict.fromkeys(("title", "url", "revision", "timestamp", "license"))
    return columns | {
        "id": "a", "group": "a.example", "source": "a", "lang": "de", "text": text,
        "paragraphs": paragraphs, "mentions": mentions, "metadata": [],
    }  # fmt: skip


def test_a_row_without_its_boilerplate_keeps_its_links_in_place():
    boilerplate = {paragraph_hash("a.example", APPEAL, "p")}
    cleaner = RowCleaner(boilerplate, 10)
    blocks = [
        ("Erster Satz mit Jena darin.", "p"),
        (APPEAL, "p"),
        ("Dann kam Ulm.", "p"),
        ("Mehr", "head"),
    ]

    text = cleaner.add(row(*blocks, (APPEAL, "p"), links=("Jena", "Abonnement", "Ulm")))

    assert text == "Erster Satz mit Jena darin.\nDann kam Ulm."
    [found] = with_sentences(cleaner.batch())[0].to_pylist()
    assert [text[m["start"] : m["end"]] for m in found["mentions"]] == ["Jena", "Ulm"]
    assert [text[p["start"] : p["end"]] for p in found["paragraphs"]] == text.split("\n")
    assert [text[s["start"] : s["end"]] for s in found["sentences"]] == text.split("\n")
    assert cleaner.counters["blocks.boilerplate"] == 2
    assert cleaner.counters["blocks.last_head"] == 1


def test_a_row_of_which_too_little_is_left_goes():
    boilerplate = {paragraph_hash("a.example", APPEAL, "p")}

    assert RowCleaner(boilerplate, 30).add(row(("Kurz.", "p"), (APPEAL, "p"))) is None
