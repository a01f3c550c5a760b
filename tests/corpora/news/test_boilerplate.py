"""Boilerplate: paragraphs that pages with several titles share, and rows without it."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.news.boilerplate import find_boilerplate, paragraph_hash
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
