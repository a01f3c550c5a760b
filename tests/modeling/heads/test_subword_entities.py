"""Entity classification within scopes, sampled or not, against sums that are written out."""

from itertools import combinations

import pytest
import torch
from torch import nn

from modeling.data.batch import Choices, Targets
from modeling.heads.pretraining_heads import SubwordEntityHead, Transform

N, WIDTH = 12, 6
SCOPES = ((3, 5, 6, 10), (4,), (3, 4, 7, 8, 11))
LABELS = ((5, 5, 10), (4,), (3, 11))


@pytest.fixture
def head():
    torch.manual_seed(1)
    head = SubwordEntityHead(
        table=nn.Embedding(N, 4).double(), transform=Transform(width=WIDTH, out_width=4)
    ).double()
    nn.init.normal_(head.bias)
    return head


@pytest.fixture
def states():
    n = sum(map(len, LABELS))
    return torch.randn(n, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def scoped():
    """Return the targets of all scopes."""
    places = [scope.index(label) for label, scope in each_label()]
    return Targets(
        rows=torch.arange(len(places)),
        labels=torch.tensor([label for own in LABELS for label in own]),
        choices=Choices(
            ids=torch.tensor([id for scope in SCOPES for id in scope]),
            sizes=tuple(map(len, SCOPES)),
            n_targets=tuple(map(len, LABELS)),
            places=torch.tensor(places),
        ),
    )


def sampled(labels, negatives, n_others):
    return Targets(
        rows=torch.arange(len(labels)),
        labels=torch.tensor(labels),
        negatives=torch.tensor(negatives),
        n_others=torch.tensor(n_others),
    )


def each_label():
    """Return label and scope of each target."""
    return [(label, scope) for scope, own in zip(SCOPES, LABELS, strict=True) for label in own]


def gradients(head, loss):
    weights = [*head.parameters(), head.weight]
    return torch.autograd.grad(loss, weights, materialize_grads=True)


def test_among_choices_a_target_is_distinguished_from_its_own_scope_alone(head, states):
    actual = head.loss(states, scoped())

    logits = head.logits(states)
    expected = sum(
        row[list(scope)].logsumexp(0) - row[label]
        for row, (label, scope) in zip(logits, each_label(), strict=True)
    )
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(gradients(head, actual), gradients(head, expected))


def test_ranks_count_the_better_ids_of_the_scope(head, states):
    scores = head.score(states, scoped())

    logits = head.logits(states).tolist()
    expected = [
        sum(row[id] > row[label] for id in scope)
        for row, (label, scope) in zip(logits, each_label(), strict=True)
    ]
    assert scores.ranks.tolist() == expected
    torch.testing.assert_close(scores.loss_sum, head.loss(states, scoped()))


def test_sampled_with_all_negatives_it_is_the_full_softmax(head, states):
    most = max(map(len, SCOPES)) - 1
    negatives = [
        ([id for id in scope if id != label] + [label] * most)[:most]
        for label, scope in each_label()
    ]
    n_others = [len(scope) - 1 for _, scope in each_label()]
    labels = [label for label, _ in each_label()]

    actual = head.loss(states, sampled(labels, negatives, n_others))

    expected = head.loss(states, scoped())
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(gradients(head, actual), gradients(head, expected))


def test_what_is_sampled_estimates_the_sum_of_the_scope_without_bias(head, states):
    scope, label = SCOPES[2], 7
    others = [id for id in scope if id != label]
    state = states[:1]

    sums = []
    for some in combinations(others, 2):  # each as likely
        loss = head.loss(state, sampled([label], [list(some)], [len(others)]))
        sums.append((loss + head.logits(state)[0, label]).exp())

    whole = head.logits(state)[0, list(scope)].exp().sum()
    torch.testing.assert_close(torch.stack(sums).mean(), whole)


def test_an_entity_without_others_costs_nothing(head, states):
    alone = sampled([4], [[4, 4, 4]], [0])

    loss = head.loss(states[:1], alone)

    assert loss == 0
    assert all(torch.isfinite(each).all() for each in gradients(head, loss))


def test_without_scopes_it_is_the_entity_head(head, states):
    labels = torch.tensor([label for label, _ in each_label()])
    plain = Targets(rows=torch.arange(len(labels)), labels=labels)

    loss = head.loss(states, plain)

    torch.testing.assert_close(
        loss, nn.functional.cross_entropy(head.logits(states), labels, reduction="sum")
    )
