"""Documents to examples: what holds for any text and any tokenizer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

from corpora.document import Span
from corpora.examples.maker import ExampleMaker, in_chunks
from corpora.tokenization.tokenizers import Tokenizer
from tests.corpora.examples.small_examples import batch_of, document, rules, tokenizer


@settings(max_examples=80)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5),
    st.integers(1, 9),
    st.booleans(),
)
def test_no_subword_is_lost_and_none_is_added(texts, length, cased):
    ends = np.cumsum([len(text) for text in texts]).tolist()
    of = document(
        "".join(texts),
        sentences=[Span(end - len(text), end) for text, end in zip(texts, ends, strict=True)],
    )

    made = ExampleMaker(tokenizer(cased=cased), None, rules(length)).make(batch_of(of))

    encodings = tokenizer(cased=cased).backend.encode_batch(texts, add_special_tokens=False)
    ids = made.examples.column("input_ids").to_pylist()
    assert [id for row in ids for id in row] == [id for of in encodings for id in of.ids]
    assert all(0 < len(row) <= length for row in ids)
    for name in ("word_starts", "sentence_starts"):
        for row, starts in zip(ids, made.examples.column(name).to_pylist(), strict=True):
            assert starts[0] == 0
            assert starts == sorted(set(starts))
            assert starts[-1] < len(row)


@pytest.mark.parametrize("kind", ["bytes", "unigram"])
def test_mentions_have_their_subwords_whatever_the_tokenizer(vocab, kind):
    maker = ExampleMaker(trained(kind), vocab, rules())
    text = document(
        "ab 😀café Jena, Jena\nGlas 中 ab", ("Jena", "x:Jena"), ("Glas", "x:Glas"), ("中", "x:Ab")
    )

    made = maker.make(batch_of(text))

    [row] = made.examples.to_pylist()
    assert made.counters["mentions.widened"] == 0
    spans = zip(row["entity_starts"], row["entity_ends"], strict=True)
    decoded = [maker.tokenizer.backend.decode(row["input_ids"][a:b]) for a, b in spans]
    assert [surface.strip() for surface in decoded] == ["Jena", "Glas", "中"]


def trained(kind):
    """Train a tokenizer that takes spaces into its subwords."""
    text = ["ab Jena Glas café 中 😀, Jena"] * 3
    specials = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    if kind == "bytes":
        backend = Backend(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(special_tokens=specials, show_progress=False)
    else:
        backend = Backend(models.Unigram())
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=60, special_tokens=specials, unk_token=specials[1], show_progress=False
        )
    backend.train_from_iterator(text, trainer)
    return Tokenizer(backend, name=kind)


def test_chunks_are_the_batch(monkeypatch):
    monkeypatch.setattr("corpora.examples.maker.BATCH_BYTES", 10)
    batch = batch_of(*(document("é" * n, id=str(n)) for n in (2, 3, 1, 9, 0, 0, 5, 1)))

    chunks = list(in_chunks(batch))

    assert [chunk.column("id").to_pylist() for chunk in chunks] == [
        ["2", "3"],
        ["1"],
        ["9"],
        ["0", "0", "5"],
        ["1"],
    ]
