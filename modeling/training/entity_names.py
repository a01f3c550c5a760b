"""Entity embeddings that start from the names of the entities.

If they start from random values, nothing connects an entity with the words that name it, and each
entity must be seen often before it is predicted. Here an encoder reads a mention at first as it
reads words: an entity is the mean of the subwords of its name, [MASK] is the mask token, and
positions, segment and norm of mentions are those of subwords.

Shapes: N entities, D width of the encoder, F width of entity embeddings.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from corpora.entities.vocabulary import MASK, SPECIAL
from corpora.tokenization.tokenizers import Tokenizer
from modeling.layers.embeddings import EntityEmbeddings, SubwordEmbeddings
from modeling.models.text_encoder import TextEncoder

log = logging.getLogger(__name__)
_PREFIX: Final = "encoder.entity_embeddings."
_N_MEASURED: Final = 1 << 17
"""The most names from which the main axes are computed; of more, evenly spaced ones."""
_N_AT_ONCE: Final = 1 << 13
"""The number of names whose subwords are held in memory at once."""


@torch.no_grad()
def start_from_names(
    encoder: TextEncoder,
    names: Sequence[str],
    tokenizer: Tokenizer,
    *,
    new: Tensor,
    transferred: Collection[str],
) -> list[str]:
    """Set the embeddings of new entities to those of their names.

    ``names``: the N ids of the entities, as ``dewiki:Berlin``; what follows the first colon is the
    name. ``new``: bool, shape (N,). ``transferred``: names of parameters that stay as they are,
    because another model gave them. If the projection from F to D is new, its columns become the F
    main axes of the names. Returns the names of the parameters that were set. Raises ``TypeError``
    if the encoder reads no mentions.
    """
    mentions, words = encoder.entity_embeddings, encoder.embeddings
    if not isinstance(mentions, EntityEmbeddings):
        raise TypeError("The encoder reads no mentions.")
    table, project = mentions.entities.weight, mentions.project
    given = dict(_of_subwords(words, len(mentions.positions.weight)))
    if project is not None:
        some = names[:: -(-len(names) // _N_MEASURED)]
        given["project.weight"] = _main_axes(_vectors(some, tokenizer, words), table.shape[1])
    given = {n: value for n, value in given.items() if f"{_PREFIX}{n}" not in transferred}
    mentions.load_state_dict(given, strict=False)
    n_named = 0
    for ids in torch.split(new.nonzero().flatten(), _N_AT_ONCE):
        vectors = _vectors([names[id] for id in ids.tolist()], tokenizer, words)
        is_named = vectors.any(1)
        rows = vectors if project is None else _unprojected(vectors, project)
        table[ids[is_named]] = rows[is_named]
        n_named += int(is_named.sum())
    log.info("%d of %d entities start from their names.", n_named, len(names))
    return [f"{_PREFIX}{name}" for name in (*given, "entities.weight")]


def _of_subwords(words: SubwordEmbeddings, n_positions: int) -> Iterator[tuple[str, Tensor]]:
    """Yield positions, segments and the norm of subwords, by their names among mentions'."""
    if words.positions is not None:
        table = words.positions.table
        vectors = table.weight if isinstance(table, nn.Embedding) else table
        yield "positions.weight", vectors[:n_positions]
    if words.segments is not None:
        yield "types.weight", words.segments.weight
    if words.norm is not None:
        yield "norm.weight", words.norm.weight
        yield "norm.bias", words.norm.bias


def _vectors(names: Sequence[str], tokenizer: Tokenizer, words: SubwordEmbeddings) -> Tensor:
    """Compute the mean vector of the known subwords of each name, (N, D).

    It is 0 for [PAD], for [UNK], and for a name without a known subword.
    """
    texts = [name[name.find(":") + 1 :] for name in names]
    encodings = tokenizer.backend.encode_batch(texts, add_special_tokens=False)
    unknown = tokenizer.special.unk
    special: dict[str, list[int]] = {name: [] for name in SPECIAL}
    special[SPECIAL[MASK]] = [tokenizer.special.mask]
    ids = [
        special.get(name, [id for id in encoding.ids if id != unknown])
        for name, encoding in zip(names, encodings, strict=True)
    ]
    offsets = [0, *accumulate(map(len, ids))][:-1]
    table = words.subwords.weight
    flat = torch.tensor([id for of_name in ids for id in of_name], dtype=torch.int64)
    means = functional.embedding_bag(flat, table, torch.tensor(offsets), mode="mean")
    return means if words.factor is None else means * words.factor


def _unprojected(vectors: Tensor, project: nn.Linear) -> Tensor:
    """Find the rows (N, F) whose projections come nearest to vectors (N, D)."""
    shifted = vectors if project.bias is None else vectors - project.bias
    inverse: Tensor = torch.linalg.pinv(project.weight)  # (F, D)
    return shifted @ inverse.T


def _main_axes(vectors: Tensor, n: int) -> Tensor:
    """Compute the n main axes of vectors (N, D), the largest first: (D, n), 0 beyond D."""
    exact = vectors.double()
    axes = torch.linalg.eigh(exact.T @ exact).eigenvectors.flip(1)[:, :n]
    return functional.pad(axes, (0, n - axes.shape[1])).to(vectors)
