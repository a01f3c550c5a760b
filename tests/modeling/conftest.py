"""A small language to learn, as a dataset of examples."""

import random

import pytest
import torch

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Sentence
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.models.pretraining_model import PretrainingModel
from tests.datasets import write_dataset

if not torch.cuda.is_available():  # else it writes down who asks, at each step of a training
    torch.manual_seed = torch.default_generator.manual_seed
N_WORDS, N_ENTITIES = 40, 8
SUBWORDS = [
    *SPECIALS,
    *(f"w{n}" for n in range(N_WORDS)),
    *(f"##e{n}" for n in range(N_WORDS // 2)),
]


@pytest.fixture(autouse=True)
def the_same_numbers():
    """Let a test draw the same random numbers, whichever tests ran before it in its process."""
    torch.manual_seed(0)


def _word(n):
    """Return the ids of a word: an even word has two subwords."""
    first = len(SPECIALS) + n
    return [first] if n % 2 else [first, len(SPECIALS) + N_WORDS + n // 2]


def _row(number, rng, *, n_sentences=3, validation=0, mentions=True):
    """Return a row of sentences in a small language.

    Each word determines the next one but for a coin. Words that 5 divides are mentions.
    """
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
    split = "validation" if number // 2 % 8 == validation else "train"
    return {
        "id": f"{document}#{number}",
        "document_id": document,
        "group": "g",
        "split": split,
    } | row


def write_examples(folder, *, n=64, seed=1, tokenizer=None, entities=None, **settings):
    """Write ``n`` examples, an eighth of them for validation, with tokenizer and entities."""
    names = entities or [f"e{id}" for id in range(3 + N_ENTITIES)]
    tokenizer = tokenizer or Tokenizer(wordpiece(SUBWORDS, cased=True), name="small")
    rng = random.Random(seed)
    rows = [_row(number, rng, **settings) for number in range(n)]
    parameters = {
        "tokenizer_sha256": tokenizer.sha256,
        "tokenizer_size": tokenizer.size,
        "entity_vocab_sha256": "v",
        "n_entities": len(names),
        "max_length": 64,
    }
    plan = {"fingerprint": f"small-{n}-{seed}", "inputs": [], "parameters": parameters}
    write_dataset(folder, rows, schema="examples", plan=plan)
    of_train = [id for row in rows if row["split"] == "train" for id in row["entity_ids"]]
    with ShardWriter(folder / "_entities.ipc", SCHEMAS["example_entities"]) as table:
        for id, entity in enumerate(names):
            row = {"id": id, "entity": entity, "count": 5, "mentions": of_train.count(id)}
            table.write(row)
    tokenizer.save(folder)
    return folder


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """Write 64 examples of a small language with entities."""
    return write_examples(tmp_path_factory.mktemp("examples") / "examples")


@pytest.fixture(scope="session")
def make_examples():
    return write_examples


PERSONS = ("Anna", "Otto", "Ida Berg", "Karl Neu mann")
PLACES = ("Ulm", "Jena", "Bad Berg", "Neu stadt")
_FILL = ("ich", "war", "gestern", "und", "sah", "viel", "dann")
_TAGGED_SUBWORDS = [
    *SPECIALS,
    *sorted({word for name in (*PERSONS, *PLACES) for word in name.split()}),
    *_FILL,
    *("in", "bei", "."),
    *("##s", "Th", "##eo"),
]


def tagged_sentence(number, rng, *, split):
    """Return a sentence: after ``bei`` stands a person, after ``in`` a place.

    Some names have several words.
    """
    tokens, tags = [], []
    for _ in range(rng.randint(1, 3)):
        fill = rng.sample(_FILL, rng.randint(1, 3))
        before, label, names = rng.choice([("bei", "pers", PERSONS), ("in", "place", PLACES)])
        name = rng.choice(names).split()
        tokens += [*fill, before, *name]
        tags += ["O"] * (len(fill) + 1) + [f"B-{label}", *[f"I-{label}"] * (len(name) - 1)]
    return Sentence(
        id=f"letter{number // 4}#{number}",
        document_id=f"letter{number // 4}",
        split=split,
        tokens=(*tokens, "."),
        tags=(*tags, "O"),
    )


def write_ner(folder, sentences):
    """Write a ``ner`` dataset of these sentences."""
    return write_dataset(folder, sentences, schema="ner")


@pytest.fixture(scope="session")
def make_ner():
    return write_ner


@pytest.fixture(scope="session")
def ner(tmp_path_factory):
    """Write 120 tagged sentences for training, 40 for dev and 40 for testing."""
    rng = random.Random(7)
    splits = ["train"] * 120 + ["dev"] * 40 + ["test"] * 40
    sentences = [tagged_sentence(n, rng, split=split) for n, split in enumerate(splits)]
    return write_ner(tmp_path_factory.mktemp("ner") / "ner", sentences)


@pytest.fixture(scope="session")
def bases(tmp_path_factory):
    """Save small encoders with random weights, in folders ``plain`` and ``entities``."""
    folder = tmp_path_factory.mktemp("bases")
    tokenizer = Tokenizer(wordpiece(_TAGGED_SUBWORDS, cased=True), name="small")
    small = {"width": 32, "n_layers": 1, "n_heads": 2, "inner_width": 64, "max_positions": 48}
    attentions = {"plain": "plain", "entities": "entity_aware"}
    for name, attention in attentions.items():
        torch.manual_seed(1)
        n_entities = 8 if name == "entities" else 0
        encoder = EncoderConfig(
            n_subwords=tokenizer.size,
            attention=attention,
            n_entities=n_entities,
            entity_width=16,
            dropout=0.0,
            embedding_dropout=0.0,
            **small,
        )
        PretrainingModel.from_config(
            PretrainConfig(encoder=encoder, heads=HeadsConfig(weights={"subwords": 1.0}))
        ).save(folder / name)
        tokenizer.save(folder / name)
    return folder


def finetuned(output, ner, model, recipe="softmax_small", *, epochs=4, settings=(), **options):
    """Run ``modeling.finetune`` on one thread; returns its exit status."""
    from modeling.finetune.__main__ import main

    values = ["optimizer.lr=5e-3", f"training.epochs={epochs}", *settings]
    command = [recipe, "--ner", ner, "--model", model, "--output", output, "--set", *values]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", value]
    return main([str(part) for part in command])


@pytest.fixture(scope="session")
def finetune():
    return finetuned


@pytest.fixture(scope="session")
def tagger_run(tmp_path_factory, ner, bases):
    """Train a tagger on the small language; returns the folder of the run."""
    output = tmp_path_factory.mktemp("tagger") / "run"
    assert finetuned(output, ner, bases / "plain", "crf_small", epochs=6) == 0
    return output
