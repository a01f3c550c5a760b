"""An encoder with the subwords of some datasets alone: the same states there, and much smaller.

Of multilingual-e5-small's 470 MB, 384 are rows of 250,002 subwords.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches, read_tagged
from corpora.tokenization.tokenizers import Tokenizer
from corpora.tokenization.trimming import trim
from modeling.config import ConfigError
from modeling.huggingface.importing import Pretrained

_ROWS: Final = (
    "encoder.embeddings.subwords.weight",
    "heads.subwords.matrix.weight",
    "heads.subwords.bias",
)
"""Weights with a row for each subword."""
_AT_ONCE: Final = 1024  # texts


def with_subwords_of(
    datasets: Sequence[Path], given: Pretrained, tokenizer: Tokenizer
) -> tuple[Pretrained, Tokenizer]:
    """The encoder and its tokenizer without the subwords that no text of the datasets has.

    Datasets are of documents or of NER sentences. Raises ``ConfigError`` for an encoder that
    transformers runs, and ``CorpusError`` where there is no such dataset.
    """
    if given.config.encoder.foreign:
        raise ConfigError(
            "--trim-vocabulary is for encoders of ours (BERT, RoBERTa, ELECTRA, LUKE ...); this "
            "one is run by transformers."
        )
    used: set[int] = set()
    for texts in (some for path in datasets for some in _texts(path)):
        used.update(id for cut in tokenizer.encode(texts) for id in cut.ids.tolist())
    smaller, ids = trim(tokenizer, used)
    rows = torch.from_numpy(ids)
    weights = {
        name: tensor.index_select(0, rows) if name in _ROWS else tensor
        for name, tensor in given.weights.items()
    }
    encoder = replace(given.config.encoder, n_subwords=len(ids))
    return replace(given, config=replace(given.config, encoder=encoder), weights=weights), smaller


def _texts(path: Path) -> Iterator[list[str]]:
    """The texts of a dataset as they are cut into subwords, some at a time."""
    dataset = open_dataset(path)
    schema = dataset.description["schema"]
    if schema not in {"documents", "ner"}:
        raise ConfigError(
            f"--trim-vocabulary {path}: a dataset of {schema}. Name one of documents or of NER "
            "sentences."
        )
    for file in (path / shard.name for shard in dataset.shards):
        if schema == "documents":
            for batch in read_batches(file, SCHEMAS[schema], columns=["text"]):
                for start in range(0, len(batch), _AT_ONCE):
                    yield batch.column("text").slice(start, _AT_ONCE).to_pylist()
            continue
        sentences = [" ".join(sentence.tokens) for sentence in read_tagged(file)]
        for start in range(0, len(sentences), _AT_ONCE):
            yield sentences[start : start + _AT_ONCE]
