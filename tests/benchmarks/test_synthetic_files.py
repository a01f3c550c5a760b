"""Synthetic files: no two are alike, each run writes the same, and our readers read them."""

import gzip
import hashlib

import pytest

from benchmarks import synthetic_files
from benchmarks.synthetic_words import vocabulary
from corpora.datasets.shards import open_dataset
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from modeling.training.sources import open_sources, read_entities


def hashes(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(("kind", "size"), [("tei", 9), ("chinese", 1)])
def test_files_are_the_same_at_each_run(tmp_path, kind, size):
    for name in ("a", "b"):
        vocabulary.cache_clear()
        synthetic_files.KINDS[kind](tmp_path / name, size)

    assert hashes(tmp_path / "a") == hashes(tmp_path / "b")


def test_letters_are_tei_with_names_and_no_two_are_alike(tmp_path):
    synthetic_files.write_letters(tmp_path, 16)

    edition = load_edition(edition_path("tei"))
    files = sorted(tmp_path.rglob("*.xml"))
    texts = [read_tei(path.read_bytes(), edition, name=path.name)[0].document for path in files]
    assert all(document.mentions for document in texts)
    assert len({document.text for document in texts}) == len(files) == 16


def test_archives_hold_pages_with_other_addresses(tmp_path):
    synthetic_files.write_archives(tmp_path / "archive", 0.1)

    [path] = (tmp_path / "archive").iterdir()
    text = gzip.decompress(path.read_bytes()).decode()
    addresses = [line for line in text.split("\r\n") if line.startswith("WARC-Target-URI")]
    assert len(set(addresses)) == len(addresses) > 5


def test_examples_are_one_shard_under_many_names(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic_files, "EXAMPLES_IN_SHARD", 200)

    synthetic_files.write_examples(tmp_path / "examples", 5)

    dataset = open_dataset(tmp_path / "examples", "examples")
    assert len(dataset.shards) > 3
    assert dataset.n_rows == 200 * len(dataset.shards)
    first, *others = (tmp_path / "examples").glob("*.arrow")
    assert all(other.samefile(first) for other in others)
    sources = open_sources([tmp_path / "examples"])
    assert (sources.n_entities, sources.tokenizer.size) == (16, 1_000)
    assert sources.entities_file
    assert len(read_entities(sources.entities_file)) == 16
