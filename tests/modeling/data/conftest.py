"""Small datasets of examples, whose rows are random but valid."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import (
    DataConfig,
    EncoderConfig,
    HeadsConfig,
    MaskingConfig,
    PretrainConfig,
    TrainingConfig,
)
from modeling.data.examples import Example
from modeling.data.rng import Rng
from modeling.data.texts import ExamplePart, ExampleView, SubwordIds
from tests.datasets import write_dataset

UNUSED = ("[unused0]", "[unused1]")
N_SUBWORDS = 60
N_ENTITIES = 20
FIRST = len(SPECIALS) + len(UNUSED)


def row(
    id: str, n: int, *, seed: int = 0, split: str = "train", document: str | None = None
) -> dict:
    """Make a row of ``n`` subwords with words, sentences of some words, and mentions that nest."""
    random = np.random.default_rng([seed, n, *id.encode()])
    words = sorted({0, *random.integers(0, n, n // 2).tolist()})
    sentences = sorted({0, *random.choice(words, len(words) // 4).tolist()})
    mentions = []
    for start in sorted(random.integers(0, n, random.integers(0, 2 + n // 6)).tolist()):
        end = min(n, start + int(random.integers(1, 5)))
        mentions.append((int(random.integers(1, N_ENTITIES)), start, end))
    return {
        "id": id,
        "document_id": document or id.partition("#")[0],
        "group": "g",
        "split": split,
        "input_ids": random.integers(FIRST, N_SUBWORDS, n).tolist(),
        "word_starts": words,
        "sentence_starts": sentences,
        "entity_ids": [mention[0] for mention in mentions],
        "entity_starts": [mention[1] for mention in mentions],
        "entity_ends": [mention[2] for mention in mentions],
        "entity_origins": ["link"] * len(mentions),
    }


def rows(n: int, *, longest: int = 40, seed: int = 0) -> list[dict]:
    """Make rows of documents with three examples each; every fifth document is for validation."""
    lengths = np.random.default_rng(seed).integers(1, longest, n).tolist()
    return [
        row(
            f"d{number // 3}#{number % 3}",
            length,
            seed=seed,
            split="validation" if number // 3 % 5 == 4 else "train",
        )
        for number, length in enumerate(lengths)
    ]


def as_example(row: dict) -> Example:
    """Return the example that should be read of a row."""
    names = ("input_ids", "word_starts", "sentence_starts")
    names += ("entity_ids", "entity_starts", "entity_ends")
    return Example(
        row["id"], row["document_id"], *(np.array(row[name], np.int32) for name in names)
    )


def write(path: Path, rows: Iterable[dict], *, n_shards: int = 2) -> Path:
    """Write a dataset of examples."""
    rows = list(rows)
    borders = [number * len(rows) // n_shards for number in range(n_shards + 1)]
    parts = [rows[start:end] for start, end in pairwise(borders)]
    return write_dataset(path, *parts, schema="examples")


def config(
    masking: MaskingConfig | None = None,
    *,
    encoder: dict | None = None,
    data: dict | None = None,
    training: dict | None = None,
) -> PretrainConfig:
    """Return all settings of a model that has everything, for short texts."""
    encoder = {"n_subwords": N_SUBWORDS, "n_entities": N_ENTITIES, "n_segments": 2} | (
        encoder or {}
    )
    return PretrainConfig(
        encoder=EncoderConfig(attention="whole_word", **encoder),
        heads=HeadsConfig(weights={"subwords": 1.0, "entities": 1.0, "pairs": 1.0}),
        masking=masking or MaskingConfig(),
        data=replace(DataConfig(max_length=48, n_workers=0), **(data or {})),
        training=replace(TrainingConfig(batch_size=16, micro_batch_size=4), **(training or {})),
    )


def view_of(row: dict) -> ExampleView:
    """Return the whole of an example as a view."""
    example = as_example(row)
    return ExampleView(example, (ExamplePart(example, 0, len(example.subwords)),))


def rng_of(views: list[ExampleView], *, seed: int = 1, epoch: int = 0) -> Rng:
    """Return the random numbers of these views."""
    hashes = np.array([view.example.hash for view in views], np.uint64)
    return Rng.of(hashes, seed=seed, epochs=epoch)


@dataclass(frozen=True)
class Samples:
    """The functions above, for tests."""

    row: Callable = staticmethod(row)
    rows: Callable = staticmethod(rows)
    example: Callable = staticmethod(as_example)
    view: Callable = staticmethod(view_of)
    rng: Callable = staticmethod(rng_of)
    write: Callable = staticmethod(write)
    config: Callable = staticmethod(config)
    n_subwords: int = N_SUBWORDS
    n_entities: int = N_ENTITIES
    lists = staticmethod(
        lambda **sizes: st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), **sizes).map(
            lambda drawn: [row(f"d{i}#{seed}", n, seed=seed) for i, (n, seed) in enumerate(drawn)]
        )
    )
    """A strategy: lists of rows."""


@pytest.fixture(scope="session")
def samples() -> Samples:
    """Return what makes examples."""
    return Samples()


@pytest.fixture(scope="session")
def subwords() -> SubwordIds:
    """Return the ids of a tokenizer with five special subwords, two unused ones, and others."""
    others = [f"w{number}" for number in range(N_SUBWORDS - FIRST)]
    backend = wordpiece([*SPECIALS, *UNUSED, *others], cased=False)
    return SubwordIds.of(Tokenizer(backend, name="test"))


@pytest.fixture(scope="session")
def dataset(tmp_path_factory) -> Path:
    """Write a dataset of 100 rows, in two shards."""
    return write(tmp_path_factory.mktemp("data") / "examples", rows(100))
