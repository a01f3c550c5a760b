"""Smaller encoders: with only the subwords of some datasets, or with only some of the layers.

Of multilingual-e5-small's 470 MB, 384 MB are rows of 250,002 subwords. Without the subwords that no
text has, states stay the same. Without some layers they do not, and the encoder must be trained
again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches, read_tagged
from corpora.errors import UsageError
from corpora.tokenization.tokenizers import Tokenizer
from corpora.tokenization.trimming import trim
from modeling.config import ConfigError
from modeling.huggingface.importing import Pretrained

_ROWS: Final = (
    "encoder.embeddings.subwords.weight",
    "heads.subwords.matrix.weight",
    "heads.subwords.bias",
)
"""The names of weights with a row for each subword."""
_AT_ONCE: Final = 1024  # texts of a call of the tokenizer
_LAYER: Final = re.compile(r"^(encoder\.encoder\.layers\.)(\d+)(?=\.)")


def with_layers(numbers: Sequence[int], given: Pretrained) -> Pretrained:
    """Keep the given layers of an encoder (counted from 1), and all weights outside of layers.

    The student of a distillation begins so (Sanh et al. 2019, section 3). Raises ``ConfigError``
    for an encoder that transformers runs, and for numbers that are not ascending or not layers.
    """
    encoder = given.config.encoder
    _check_ours("--keep-layers", given)
    if (
        sorted(set(numbers)) != list(numbers)
        or not 1 <= numbers[0] <= numbers[-1] <= encoder.n_layers
    ):
        raise ConfigError(
            f"--keep-layers {','.join(map(str, numbers))}: must be ascending numbers from 1 to "
            f"{encoder.n_layers}, which is what the encoder has."
        )
    places = {number - 1: place for place, number in enumerate(numbers)}
    weights: dict[str, Tensor] = {}
    for name, tensor in given.weights.items():
        match = _LAYER.match(name)
        if match is None:
            weights[name] = tensor
        elif int(match[2]) in places:
            weights[f"{match[1]}{places[int(match[2])]}{name[match.end() :]}"] = tensor
    encoder = replace(encoder, n_layers=len(numbers))
    return replace(given, config=replace(given.config, encoder=encoder), weights=weights)


def with_subwords_of(
    datasets: Sequence[Path], given: Pretrained, tokenizer: Tokenizer
) -> tuple[Pretrained, Tokenizer]:
    """Remove from an encoder and its tokenizer the subwords that no text of the datasets has.

    The datasets hold documents or NER sentences. Raises ``UsageError`` for other datasets, or
    without text, ``ConfigError`` for an encoder that transformers runs, and ``CorpusError`` if
    there is no such dataset.
    """
    _check_ours("--trim-vocabulary", given)
    used: set[int] = set()
    for texts in (some for path in datasets for some in _texts(path)):
        used.update(id for cut in tokenizer.encode(texts) for id in cut.ids.tolist())
    if not used:
        paths = " ".join(map(str, datasets))
        raise UsageError(f"--trim-vocabulary {paths}: no text, so that no subword would be kept.")
    smaller, ids = trim(tokenizer, used)
    rows = torch.from_numpy(ids)
    weights = {
        name: tensor.index_select(0, rows) if name in _ROWS else tensor
        for name, tensor in given.weights.items()
    }
    encoder = replace(given.config.encoder, n_subwords=len(ids))
    return replace(given, config=replace(given.config, encoder=encoder), weights=weights), smaller


def _check_ours(option: str, given: Pretrained) -> None:
    if given.config.encoder.foreign:
        raise ConfigError(
            f"{option} is for encoders of ours (BERT, RoBERTa, ELECTRA, LUKE ...); this one is run "
            "by transformers."
        )


def _texts(path: Path) -> Iterator[list[str]]:
    """Yield the texts of a dataset, as they are cut into subwords, ``_AT_ONCE`` at a time."""
    dataset = open_dataset(path)
    schema = dataset.description["schema"]
    if schema not in {"documents", "ner"}:
        raise UsageError(
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
