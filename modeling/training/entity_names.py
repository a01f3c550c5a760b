"""Entity embeddings that start from the names of the entities.

If they start from random values, nothing connects an entity with the words that name it, and each
entity must be seen often before it is predicted. Here an encoder reads a mention at first as it
reads words: an entity is the mean of the subwords of its name, [MASK] is the mask token, and
positions, segment and norm of mentions are those of subwords.

In a Char-Entity Transformer a subword gives up λ of its key and of its value for those of its
entity. If these are random, as published, the encoder loses at first much of what it has learned
about all subwords that are part of a known word. Here the entity's are those that the subwords of
its name have where the encoder reads the name alone, in each layer, as far as a linear map finds
them.

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
from modeling.data.batch import Batch, LayerRows, Layout
from modeling.layers.attention import CharEntityAttention, EntityTable
from modeling.layers.embeddings import SubwordEmbeddings
from modeling.models.text_encoder import TextEncoder

log = logging.getLogger(__name__)
_PREFIX: Final = "encoder.entity_embeddings."
_N_MEASURED: Final = 1 << 17
"""The most names from which the main axes are computed; of more, evenly spaced ones."""
_N_AT_ONCE: Final = 1 << 13
"""The number of names whose subwords are held in memory at once."""
_N_READ: Final = 1 << 11
"""The most names that are encoded, to fit the keys and values of entities to them."""
_N_ENCODED: Final = 1 << 8
"""The number of names that are encoded at once."""
_LONGEST: Final = 30
"""Subwords; a longer name may have more than there are positions: its first ones are encoded."""


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
    if the encoder has no entities.
    """
    mentions, words = encoder.entity_embeddings, encoder.embeddings
    if isinstance(mentions, EntityTable):
        return _start_in_layers(encoder, names, tokenizer, new=new, transferred=transferred)
    if mentions is None:
        raise TypeError("The encoder has no entities.")
    table, project = mentions.entities.weight, mentions.project
    given = dict(_of_subwords(words, len(mentions.positions.weight)))
    if project is not None:
        some = _vectors(_evenly(names, _N_MEASURED), tokenizer, words)
        given["project.weight"] = _main_axes(some, table.shape[1])
    given = {n: value for n, value in given.items() if f"{_PREFIX}{n}" not in transferred}
    mentions.load_state_dict(given, strict=False)
    for ids, vectors in _named(names, tokenizer, words, new=new):
        table[ids] = vectors if project is None else _unprojected(vectors, project)
    return [f"{_PREFIX}{name}" for name in (*given, "entities.weight")]


def _start_in_layers(
    encoder: TextEncoder,
    names: Sequence[str],
    tokenizer: Tokenizer,
    *,
    new: Tensor,
    transferred: Collection[str],
) -> list[str]:
    """Set the vectors of entities that subwords know, and in each layer their keys and values.

    The vector of an entity is that of its name on the F main axes of all names, scaled so that the
    axes are equally long, and a vector is about as long as 1. From the vectors of some names, the
    mean key and value of their subwords are fitted by least squares. Nothing is set if no name has
    a known subword, or if another model gave the maps to keys, as they are for its own vectors.
    """
    assert isinstance(encoder.entity_embeddings, EntityTable)  # noqa: S101 - the caller looked
    table, words = encoder.entity_embeddings.entities.weight, encoder.embeddings
    attentions = {
        f"encoder.encoder.layers.{index}.attention": layer.attention
        for index, layer in enumerate(encoder.encoder.layers)
        if isinstance(layer.attention, CharEntityAttention)
    }
    maps = [f"{of}.entity_{part}.weight" for of in attentions for part in ("key", "value")]
    if not set(transferred).isdisjoint(maps):
        return []
    read = [name for name in _evenly(names, _N_READ) if name not in SPECIAL]
    is_known = _vectors(read, tokenizer, words).any(1).tolist()
    read = [name for name, is_one in zip(read, is_known, strict=True) if is_one]
    if not read:
        return []
    measured = _vectors(_evenly(names, _N_MEASURED), tokenizer, words)
    axes = _main_axes(measured, table.shape[1])
    lengths = (measured @ axes).square().mean(0).sqrt()
    axes /= lengths.clamp(min=1e-3 * float(lengths.max())) * table.shape[1] ** 0.5
    for ids, vectors in _named(names, tokenizer, words, new=new):
        table[ids] = vectors @ axes
    given = _vectors(read, tokenizer, words) @ axes
    states = _means(encoder, read, tokenizer, attentions=list(attentions.values()))
    for attention, x in zip(attentions.values(), states, strict=True):
        for of_entity, own in (
            (attention.entity_key, attention.key),
            (attention.entity_value, attention.value),
        ):
            of_entity.weight.copy_(torch.linalg.lstsq(given, own(x)).solution.T)
    return [f"{_PREFIX}entities.weight", *maps]


def _named(
    names: Sequence[str], tokenizer: Tokenizer, words: SubwordEmbeddings, *, new: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the indexes of new entities whose names have known subwords, and their vectors.

    Indexes are (n,), vectors (n, D). Logs how many there are.
    """
    n_named = 0
    for ids in torch.split(new.nonzero().flatten(), _N_AT_ONCE):
        vectors = _vectors([names[id] for id in ids.tolist()], tokenizer, words)
        is_named = vectors.any(1)
        yield ids[is_named], vectors[is_named]
        n_named += int(is_named.sum())
    log.info("%d of %d entities start from their names.", n_named, len(names))


def _means(
    encoder: TextEncoder,
    names: Sequence[str],
    tokenizer: Tokenizer,
    *,
    attentions: Sequence[nn.Module],
) -> list[Tensor]:
    """Compute the mean of what each attention reads of the subwords of each name, (n, D).

    Each name is encoded alone, between [CLS] and [SEP].
    """
    found: list[list[Tensor]] = [[] for _ in attentions]
    inputs: list[Tensor] = []
    hooks = [
        attention.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
        for attention in attentions
    ]
    special, was_training = tokenizer.special, encoder.training
    encoder.eval()
    for start in range(0, len(names), _N_ENCODED):
        some = _subwords(names[start : start + _N_ENCODED], tokenizer)
        ids = [of_name[:_LONGEST] for of_name in some]
        layout = Layout.of([len(some) + 2 for some in ids])
        framed = torch.tensor([id for some in ids for id in (special.cls, *some, special.sep)])
        is_inside = (framed != special.cls) & (framed != special.sep)
        owners, sizes = layout.sequences[is_inside], torch.tensor([[len(some)] for some in ids])
        encoder(Batch(("",) * len(ids), framed, LayerRows(layout, together=layout)))
        for means, x in zip(found, inputs, strict=True):
            means.append(
                x.new_zeros(len(ids), x.shape[1]).index_add(0, owners, x[is_inside]) / sizes
            )
        inputs.clear()
    for hook in hooks:
        hook.remove()
    encoder.train(was_training)
    width = encoder.embeddings.subwords.embedding_dim
    return [torch.cat([torch.empty(0, width), *means]) for means in found]


def _evenly(names: Sequence[str], n: int) -> Sequence[str]:
    """Return at most n names, evenly spaced."""
    return names[:: -(-len(names) // n)]


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
    ids = _subwords(names, tokenizer)
    offsets = [0, *accumulate(map(len, ids))][:-1]
    table = words.subwords.weight
    flat = torch.tensor([id for of_name in ids for id in of_name], dtype=torch.int64)
    means = functional.embedding_bag(flat, table, torch.tensor(offsets), mode="mean")
    return means if words.factor is None else means * words.factor


def _subwords(names: Sequence[str], tokenizer: Tokenizer) -> list[list[int]]:
    """Return the ids of the known subwords of each name; none for [PAD] and [UNK]."""
    texts = [name[name.find(":") + 1 :] for name in names]
    encodings = tokenizer.backend.encode_batch(texts, add_special_tokens=False)
    unknown = tokenizer.special.unk
    special: dict[str, list[int]] = {name: [] for name in SPECIAL}
    special[SPECIAL[MASK]] = [tokenizer.special.mask]
    return [
        special.get(name, [id for id in encoding.ids if id != unknown])
        for name, encoding in zip(names, encodings, strict=True)
    ]


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
