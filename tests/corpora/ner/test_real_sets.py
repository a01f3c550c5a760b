"""Every file of the real sets, detected by its content alone, has the counts that are documented.

The oracle is the table beside the data. Its entities are ``B-`` (and ``S-``) tags as the files have
them; those that a repair opens come on top, and are counted apart. It counts no line that begins
with ``#``, which in three files are tokens, too; and of HIPE it counts documents for sentences.
"""

import re
from collections import Counter

import pytest

from corpora.ner.detection import Overrides
from corpora.ner.files import FilePart, describe, read_file
from corpora.ner.sentence_rows import RowMaker

FORMATS = {
    "ner-de": {
        "germeval2014-dev.tsv": "germeval",
        "wikiann-de-train.bio": "wikiann",
        "wikiann-de-dev.bio": "wikiann",
        "ler-dev.conll": "conll",
        "europeana-sbb.bio": "europeana",
        "europeana-onb.bio": "europeana",
        "hipe2020-de-train.tsv": "hipe",
        "hipe2020-de-dev.tsv": "hipe",
        "newseye-de-dev.tsv": "hipe",
        "ajmc-de-train.tsv": "hipe",
    },
    "ner-da": {
        "uner-ddt-train.iob2": "uner",
        "danplus-news-train.tsv": "danplus",
        "uner-ddt-dev.iob2": "uner",
        "danplus-news-dev.tsv": "danplus",
    },
    "ner-zh": {
        "cluener-train.json": "cluener",
        "weibo-2nd-train.conll": "weibo",
        "weibo-2nd-dev.conll": "weibo",
        "resume-train.char.bmes": "conll",
        "resume-dev.char.bmes": "conll",
        "peoples-daily-dev.txt": "conll",
        "uner-gsdsimp-train.iob2": "uner",
        "uner-gsdsimp-dev.iob2": "uner",
    },
}
FILES = [(folder, name) for folder, names in FORMATS.items() for name in names]
BOTH_LEVELS = {"cluener"}  # whose documented entities are those of both
NEISS = [
    (folder, f"{part}{folder.lower()}.{form}")
    for folder in ("Arendt", "Sturm")
    for part in ("", "train_", "dev_", "test_")
    for form in ("conll", "json")
]
REPAIRED = {
    "danplus-news-train.tsv": 8,
    "uner-ddt-train.iob2": 6,
    "weibo-2nd-train.conll": 10,
    "resume-train.char.bmes": 2,
    "europeana-onb.bio": 41,
    "europeana-sbb.bio": 10,
    "hipe2020-de-train.tsv": 1,
    "newseye-de-dev.tsv": 3,
    "ajmc-de-train.tsv": 1,
}
"""Entities of both levels that a repair opens."""


def documented(folder):
    """Read sentences, tokens and entities of each file from the table beside the data."""
    counts = {}
    for line in (folder / "README.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) > 5 and cells[0].startswith("`"):
            entities = Counter(
                {label: int(n) for label, n in re.findall(r"(\S+) (\d+)(?:,|$)", cells[4])}
            )
            counts[cells[0].strip("`")] = (int(cells[2]), int(cells[3]), entities)
    return counts


def make(path):
    layout = describe(path, name=path.name, overrides=Overrides())
    [(found, origin)] = read_file(path, layout, name=path.name, part=FilePart())
    return layout, RowMaker(split="train").make(found, layout, origin)


def entities_of(counters, level="entities"):
    return Counter(
        {name.split("/")[1]: n for name, n in counters.items() if name.startswith(f"{level}/")}
    )


@pytest.mark.realdata
@pytest.mark.parametrize(("folder", "name"), FILES)
def test_file_is_detected_and_has_the_documented_counts_and_rows(realdata, folder, name):
    sentences, tokens, entities = documented(realdata(folder))[name]

    layout, made = make(realdata(folder) / name)

    counters = made.counters
    n_sentences = counters["documents" if layout.format == "hipe" else "sentences"]
    found = entities_of(counters)
    if layout.format in BOTH_LEVELS:
        found += entities_of(counters, "inner entities")
    assert layout.format == FORMATS[folder][name]
    assert n_sentences == sentences
    assert counters["tokens"] - counters["tokens.with # first"] == tokens
    assert found == entities

    rows = [row for batch in made.batches for row in batch.to_pylist()]
    levels = [row[level] or () for row in rows for level in ("tags", "inner_tags")]
    opened = sum(tag.startswith("B-") for tags in levels for tag in tags)
    repaired = counters["entities by repair"] + counters["inner entities by repair"]
    assert repaired == REPAIRED.get(name, 0)
    assert opened == counters["entities"] + counters["inner entities"] + repaired
    assert sum(len(row["tokens"]) for row in rows) == counters["tokens"]
    assert len(made.rejected) == (31 if name == "europeana-sbb.bio" else 0)


@pytest.mark.realdata
@pytest.mark.parametrize(("folder", "name"), NEISS)
def test_file_of_neiss_has_the_published_counts(realdata, folder, name):
    text = (realdata("neiss-ner") / "README.md").read_text("utf-8")
    [table] = re.findall(rf"\| {folder} \| all .*?\n\n", text, re.DOTALL)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    column = rows[0].index(name.partition("_")[0] if "_" in name else "all")
    expected = {row[0]: int(row[column]) for row in rows[2:] if len(row) > column}

    layout, made = make(realdata("neiss-ner") / folder / name)

    counters = made.counters
    found = dict(entities_of(counters))
    found |= {"sentences": counters["sentences"], "tokens": counters["tokens"]}
    outside = sum(row["tags"].count("O") for b in made.batches for row in b.to_pylist())
    assert found | {"not tagged": outside} == {name: n for name, n in expected.items() if n}
    assert layout.format == ("json" if name.endswith("json") else "conll")
    assert not made.rejected


@pytest.mark.realdata
def test_one_set_annotated_twice_has_the_same_words(realdata):
    rows = {}
    for name in ("uner-ddt-dev.iob2", "danplus-news-dev.tsv"):
        _, made = make(realdata("ner-da") / name)
        rows[name] = [row["tokens"] for batch in made.batches for row in batch.to_pylist()]

    assert rows["uner-ddt-dev.iob2"] == rows["danplus-news-dev.tsv"]
