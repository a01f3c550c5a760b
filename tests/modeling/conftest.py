"""A small language to learn, as a dataset of examples."""

import json
import random

import pytest
import torch

from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter
from corpora.tokenizers import SPECIALS, Tokenizer, wordpiece

N_WORDS, N_ENTITIES = 40, 8
PIECES = [*SPECIALS, *(f"w{n}" for n in range(N_WORDS)), *(f"##e{n}" for n in range(N_WORDS // 2))]


def _word(n):
    """The ids of a word: an even word has two pieces."""
    first = len(SPECIALS) + n
    return [first] if n % 2 else [first, len(SPECIALS) + N_WORDS + n // 2]


def _row(number, rng, *, n_sentences=3, held_out=0, mentions=True):
    """Each word tells the next one but for a coin; words that 5 divides are mentions."""
    row = {"input_ids": [], "word_starts": [], "sentence_starts": []}
    row |= {"entity_ids": [], "entity_starts": [], "entity_ends": [], "entity_origins": []}
    n = rng.randrange(N_WORDS)
    for _ in range(n_sentences):
        row["sentence_starts"].append(len(row["input_ids"]))
        for _ in range(rng.randint(4, 7)):
            start = len(row["input_ids"])
            row["word_starts"].append(start)
            row["input_ids"] += _word(n)
            if n % 5 == 0 and mentions:
                row["entity_ids"].append(3 + n // 5)
                row["entity_starts"].append(start)
                row["entity_ends"].append(len(row["input_ids"]))
                row["entity_origins"].append("link")
            n = (n * 7 + 3 + rng.randrange(2)) % N_WORDS
    document = f"doc{number // 2}"
    split = "held_out" if number // 2 % 8 == held_out else "train"
    return {
        "id": f"{document}#{number}",
        "document_id": document,
        "group": "g",
        "split": split,
    } | row


def write_examples(folder, *, n=64, seed=1, tokenizer=None, entities=None, **settings):
    """Write ``n`` examples, an eighth of them held out, with tokenizer and entities."""
    names = entities or [f"e{id}" for id in range(3 + N_ENTITIES)]
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    rows = [_row(number, rng, **settings) for number in range(n)]
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["examples"]) as writer:
        for row in rows:
            writer.write(row)
    of_train = [id for row in rows if row["split"] == "train" for id in row["entity_ids"]]
    with ShardWriter(folder / "entities.arrow", SCHEMAS["example_entities"]) as table:
        for id, entity in enumerate(names):
            row = {"id": id, "entity": entity, "count": 5, "mentions": of_train.count(id)}
            table.write(row)
    tokenizer = tokenizer or Tokenizer(wordpiece(PIECES, cased=True), name="small")
    tokenizer.save(folder)
    parameters = {
        "tokenizer_sha256": tokenizer.sha256,
        "tokenizer_size": tokenizer.size,
        "entity_vocab_sha256": "v",
        "n_entities": len(names),
        "max_length": 64,
    }
    shard = writer.shard
    description = {
        "schema": "examples",
        "version": SCHEMAS["examples"].version,
        "plan": {"fingerprint": f"small-{n}-{seed}", "inputs": [], "parameters": parameters},
        "shards": [{name: getattr(shard, name) for name in ("name", "rows", "bytes", "sha256")}],
        "accounting": {"read": n, "written": n, "filtered": {}, "rejected": {}},
        "counters": {},
    }
    (folder / "dataset.json").write_text(json.dumps(description), encoding="utf-8")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Threads that wait for each other on a busy machine take longer than one alone."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """64 examples of a small language with entities."""
    return write_examples(tmp_path_factory.mktemp("examples") / "examples")


@pytest.fixture(scope="session")
def make_examples():
    return write_examples
