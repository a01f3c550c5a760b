"""Heads: whose weights they use, sampled softmax, what pairs are read from."""

import copy
import itertools
import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from modeling.data.batch import Layout, Targets
from modeling.heads.pretraining_heads import EntityHead, PairHead, Transform, VocabularyHead

N_ENTITIES, WIDTH, ENTITY_WIDTH = 7, 6, 4


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(3)


@pytest.fixture
def head():
    table = nn.Embedding(N_ENTITIES, ENTITY_WIDTH).double()
    head = EntityHead(table=table, transform=Transform(width=WIDTH, out_width=ENTITY_WIDTH))
    nn.init.normal_(head.bias)
    return head.double()


def test_tied_head_uses_the_embedding_and_saves_no_copy():
    table = nn.Embedding(9, WIDTH)
    head = VocabularyHead(table=table, transform=None, tied=True)

    assert head.weight is table.weight
    assert set(head.state_dict()) == {"bias"}


def test_tied_head_stays_tied_in_a_copy_of_the_model():
    model = nn.Module()
    model.table = nn.Embedding(9, WIDTH)
    model.head = VocabularyHead(table=model.table, transform=None, tied=True)

    copied = copy.deepcopy(model)

    assert copied.head.weight is copied.table.weight
    assert copied.head.weight is not model.table.weight


def test_untied_head_has_a_matrix_of_its_own():
    head = VocabularyHead(table=nn.Embedding(9, WIDTH), transform=None, tied=False)

    assert set(head.state_dict()) == {"bias", "matrix.weight"}
    assert head.logits(torch.zeros(2, WIDTH)).shape == (2, 9)


def test_sampled_softmax_over_all_entities_is_the_full_softmax(head):
    states, labels = torch.randn(5, WIDTH).double(), torch.tensor([0, 6, 2, 2, 1])
    rows = torch.arange(5)

    sampled = head.loss(states, Targets(rows, labels, negatives=torch.arange(N_ENTITIES)))

    torch.testing.assert_close(sampled, head.loss(states, Targets(rows, labels)))


def test_expected_sum_over_the_vocabulary_is_the_whole_sum(head):
    """Every pair of draws, each with its probability: Σ Q(draws) exp(loss) = 1 / P(label)."""
    q = torch.tensor([0.3, 0.05, 0.2, 0.1, 0.15, 0.12, 0.08]).double()
    head.set_proposal(q.log())
    states, label = torch.randn(1, WIDTH).double(), torch.tensor([2])

    expected = 0.0
    for draws in itertools.product(range(N_ENTITIES), repeat=2):
        negatives = torch.tensor(draws)
        loss = head.loss(states, Targets(torch.tensor([0]), label, negatives=negatives))
        expected += q[negatives].prod() * loss.exp()  # the estimated sum, over exp(label)

    probability = head.logits(states).softmax(1)[0, label[0]]
    torch.testing.assert_close(expected, 1 / probability)


def test_a_proposal_must_be_probabilities_of_all_entities(head):
    with pytest.raises(ValueError, match="sum to 1"):
        head.set_proposal(torch.zeros(N_ENTITIES))
    with pytest.raises(ValueError, match="7 log-probabilities"):
        head.set_proposal(torch.full((4,), -math.log(4)))
    with pytest.raises(ValueError, match="sum nan"):
        head.set_proposal(torch.full((N_ENTITIES,), math.nan))


def test_sampled_softmax_moves_only_the_rows_it_compares(head):
    targets = Targets(torch.tensor([0]), torch.tensor([3]), negatives=torch.tensor([5, 5, 6]))

    head.loss(torch.randn(1, WIDTH).double(), targets).backward()

    moved = head.weight.grad.abs().sum(1) > 0
    assert moved.nonzero().flatten().tolist() == [3, 5, 6]


def test_scores_of_a_sampled_objective_are_over_the_whole_vocabulary(head):
    states, labels = torch.randn(5, WIDTH).double(), torch.tensor([0, 6, 2, 2, 1])
    targets = Targets(torch.arange(5), labels, negatives=torch.tensor([1]))

    found = head.score(states, targets)

    logits = head.logits(states)
    torch.testing.assert_close(
        found.loss_sum.double(), functional.cross_entropy(logits, labels, reduction="sum")
    )
    better = logits > logits.gather(1, labels[:, None])
    assert found.ranks.tolist() == better.sum(1).tolist()


@pytest.mark.parametrize("lengths", [(3, 1, 4), (2, 2)])
def test_first_subwords_are_pooled(lengths):
    layout = Layout.of(lengths)
    subwords = torch.randn(sum(lengths), WIDTH)

    pooled = PairHead(width=WIDTH, pooling="cls").pool(subwords, layout)

    assert pooled.equal(torch.stack([part[0] for part in subwords.split(lengths)]))


@pytest.mark.parametrize("negatives", [None, torch.tensor([6, 1, 5])])
def test_weights_of_entities_multiply_their_losses(head, negatives):
    states, labels = torch.randn(5, WIDTH).double(), torch.tensor([2, 3, 2, 4, 5])
    row, weights = torch.tensor([0]), torch.linspace(0.5, 2, N_ENTITIES).double()
    each = [
        head.loss(state[None], Targets(row, label[None], negatives=negatives))
        for state, label in zip(states, labels, strict=True)
    ]

    head.label_weights = weights

    found = head.loss(states, Targets(torch.arange(5), labels, negatives=negatives))
    torch.testing.assert_close(found, (weights[labels] * torch.stack(each)).sum())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_means_are_of_the_subwords_of_each_sequence(dtype):
    lengths = (300, 1, 4)
    subwords = torch.randn(sum(lengths), WIDTH).to(dtype)

    pooled = PairHead(width=WIDTH, pooling="mean").pool(subwords, Layout.of(lengths))

    expected = torch.stack([part.float().mean(0) for part in subwords.split(lengths)])
    torch.testing.assert_close(pooled, expected)


def test_logits_of_the_mean_are_the_mean_of_logits():
    head = PairHead(width=WIDTH, pooling="mean")
    subwords = torch.randn(5, WIDTH)

    logits = head.logits(head.pool(subwords, Layout.of([5])))

    torch.testing.assert_close(logits[0], head.logits(subwords).mean(0))
