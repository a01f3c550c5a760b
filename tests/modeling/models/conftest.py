"""Small texts, the batches that they make, and what transformers' models take for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from modeling.data.batch import Batch, BatchMentions, BatchWords, LayerRows, Layout, Targets


@dataclass(frozen=True)
class Text:
    """Subwords of one sequence, [CLS] and [SEP] among them, and mentions as (id, start, end)."""

    subwords: tuple[int, ...]
    mentions: tuple[tuple[int, int, int], ...] = ()
    segments: tuple[int, ...] | None = None


def random_text(generator, n_subwords, n_mentions=0, *, sizes=(60, 20)):
    """Draw a text: ids of subwords from 5 on, of entities from 1; mentions of 1 to 4 subwords."""
    mentions = []
    for _ in range(n_mentions):
        start = int(generator.integers(1, n_subwords - 1))
        end = min(n_subwords, start + int(generator.integers(1, 5)))
        mentions.append((int(generator.integers(1, sizes[1])), start, end))
    subwords = tuple(generator.integers(5, sizes[0], n_subwords).tolist())
    border = int(generator.integers(1, n_subwords))
    segments = (0,) * border + (1,) * (n_subwords - border)
    return Text(subwords, tuple(mentions), segments)


def make_batch(
    texts: Sequence[Text],
    *,
    targets: dict[str, Targets] | None = None,
    with_segments: bool = False,
    word_size: int | None = None,
) -> Batch:
    """Return the batch of these texts; with ``word_size``, that many subwords are a word."""
    subwords = Layout.of([len(text.subwords) for text in texts])
    n_mentions = np.array([len(text.mentions) for text in texts])
    rows, mentions = LayerRows(subwords, together=subwords), None
    if n_mentions.any():
        rows, mentions = _with_mentions(texts, subwords, n_mentions)
    if word_size:
        rows = LayerRows(rows.subwords, rows.together, _words(texts, word_size), rows.entities)
    segments = [segment for text in texts for segment in text.segments or (0,) * len(text.subwords)]
    return Batch(
        ids=tuple(map(str, range(len(texts)))),
        subwords=torch.tensor([subword for text in texts for subword in text.subwords]),
        rows=rows,
        segments=torch.tensor(segments) if with_segments else None,
        mentions=mentions,
        targets=targets or {},
    )


def _with_mentions(texts, subwords, n_mentions):
    entities = Layout.of(n_mentions)
    sizes = np.array([len(text.subwords) for text in texts])
    of_entities = entities.sequences.numpy()
    after_subwords = sizes[of_entities] + entities.positions.numpy()
    together = Layout.placed(
        np.concatenate([subwords.sequences.numpy(), of_entities]),
        np.concatenate([subwords.positions.numpy(), after_subwords]),
        longest=int((sizes + n_mentions).max()),
        n=len(texts),
    )
    every = [mention for text in texts for mention in text.mentions]
    lengths = np.array([end - start for _, start, end in every])
    mentions = BatchMentions(
        entities=torch.tensor([entity for entity, _, _ in every]),
        positions=torch.tensor([p for _, start, end in every for p in range(start, end)]),
        offsets=torch.from_numpy(np.cumsum(lengths) - lengths),
    )
    return LayerRows(subwords, together, None, entities), mentions


def _words(texts, size):
    counts, of_subword, n_subwords = [], [], []
    for text in texts:
        starts = range(0, len(text.subwords), size)
        for start in starts:
            n = min(size, len(text.subwords) - start)
            of_subword += [len(n_subwords)] * n
            n_subwords.append(n)
        counts.append(len(starts))
    return BatchWords(Layout.of(counts), torch.tensor(of_subword), torch.tensor(n_subwords))


def as_padded(texts: Sequence[Text], *, pad: int = 0) -> dict[str, torch.Tensor]:
    """Return what a model of transformers takes: padded tensors, masks, positions."""
    n, e = max(len(t.subwords) for t in texts), max(len(t.mentions) for t in texts)
    shape = (len(texts), n)
    inputs = {
        "input_ids": torch.full(shape, pad),
        "attention_mask": torch.zeros(shape, dtype=torch.int64),
        "token_type_ids": torch.zeros(shape, dtype=torch.int64),
    }
    for row, text in enumerate(texts):
        inputs["input_ids"][row, : len(text.subwords)] = torch.tensor(text.subwords)
        inputs["attention_mask"][row, : len(text.subwords)] = 1
        if text.segments:
            inputs["token_type_ids"][row, : len(text.subwords)] = torch.tensor(text.segments)
    return inputs | (_padded_mentions(texts, e) if e else {})


def _padded_mentions(texts, e):
    longest = max(end - start for text in texts for _, start, end in text.mentions)
    ids = torch.zeros(len(texts), e, dtype=torch.int64)
    attend, positions = torch.zeros_like(ids), torch.full((len(texts), e, longest), -1)
    for row, text in enumerate(texts):
        for place, (entity, start, end) in enumerate(text.mentions):
            ids[row, place], attend[row, place] = entity, 1
            positions[row, place, : end - start] = torch.arange(start, end)
    return {"entity_ids": ids, "entity_attention_mask": attend, "entity_position_ids": positions}


@dataclass(frozen=True)
class Samples:
    """The functions above, for tests."""

    Text = Text
    random_text: Callable = staticmethod(random_text)
    batch: Callable = staticmethod(make_batch)
    padded: Callable = staticmethod(as_padded)

    @staticmethod
    def uneven(seed, *, with_mentions=True):
        """Draw five texts of different lengths: one has no mention, one has a single one."""
        generator = np.random.default_rng(seed)
        counts = (3, 0, 1, 6, 2) if with_mentions else (0,) * 5
        return [
            random_text(generator, n, e) for n, e in zip((9, 4, 17, 12, 30), counts, strict=True)
        ]


@pytest.fixture(scope="session")
def samples():
    """Return what makes small texts and batches of them."""
    return Samples()
