"""A model and batches small enough to check by hand."""

import pytest
import torch
from torch import nn

from modeling.data.batch import Batch, LayerRows, Layout, Targets


class Toy(nn.Module):
    """Predicts subwords from the subword that is seen, and (``entities``) their parity."""

    def __init__(self, n_subwords=20, width=8):
        super().__init__()
        self.embedding = nn.Embedding(n_subwords, width)
        self.inner = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_subwords)
        self.parity = nn.Linear(width, 2)
        self.dropout = nn.Dropout(0.1)

    def forward(self, batch):
        hidden = self.norm(self.dropout(self.inner(self.embedding(batch.subwords)).relu()))
        heads = {"subwords": self.head, "entities": self.parity}
        return {
            name: nn.functional.cross_entropy(
                heads[name](hidden[targets.rows]).float(), targets.labels, reduction="sum"
            )
            for name, targets in batch.targets.items()
        }


def make_batch(lengths, *, seed=0, prefix="x", n_subwords=20, entities=True):
    generator = torch.Generator().manual_seed(seed)
    layout = Layout.of(lengths)
    n = sum(lengths)
    subwords = torch.randint(n_subwords, (n,), generator=generator)
    rows = torch.randperm(n, generator=generator)[: max(1, n // 3)]
    targets = {"subwords": Targets(rows, (subwords[rows] * 7 + 3) % n_subwords)}
    if entities:
        targets["entities"] = Targets(rows[:2], subwords[rows[:2]] % 2)
    ids = tuple(f"{prefix}{number}" for number in range(len(lengths)))
    return Batch(ids=ids, subwords=subwords, rows=LayerRows(layout, layout), targets=targets)


@pytest.fixture
def toy():
    def make(seed=1, dropout=0.1):
        torch.manual_seed(seed)
        model = Toy()
        model.dropout.p = dropout
        return model

    return make


@pytest.fixture
def batch():
    return make_batch
