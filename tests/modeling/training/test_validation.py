from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from modeling.data.batch import Targets
from modeling.training.loop import Conditions
from modeling.training.validation import TOP, validate, without_mentions
from modeling.training.world import World

CONDITIONS = Conditions(World())


class Scorer:
    """Has scores for each label by a fixed table."""

    def __init__(self, logits):
        self.logits = logits

    def scores(self, batch):
        scores = {}
        for name, targets in batch.targets.items():
            logits = self.logits[batch.subwords[targets.rows]]
            own = logits.gather(1, targets.labels[:, None])
            loss = torch.nn.functional.cross_entropy(logits, targets.labels, reduction="sum")
            scores[name] = SimpleNamespace(loss_sum=loss, ranks=(logits > own).sum(1))
        return scores


def test_accuracies_are_those_of_sorting_all_scores(batch):
    batches = [batch([90, 17], seed=1, entities=False), batch([33], seed=2, entities=False)]
    logits = torch.randn(20, 20, generator=torch.Generator().manual_seed(3))

    evaluation = validate(Scorer(logits), batches, objectives=["subwords"], conditions=CONDITIONS)

    hits, losses = [], []
    for one in batches:
        for row, label in zip(
            one.targets["subwords"].rows, one.targets["subwords"].labels, strict=True
        ):
            of_row = logits[one.subwords[row]]
            best = of_row.argsort(descending=True).tolist()
            hits.append(best.index(label.item()))
            losses.append((of_row.logsumexp(0) - of_row[label]).item())
    expected = {k: np.mean([hit < k for hit in hits]) for k in TOP}
    assert evaluation.accuracy["subwords"] == pytest.approx(expected)
    assert evaluation.loss["subwords"] == pytest.approx(np.mean(losses), rel=1e-5)
    assert evaluation.n_targets == {"subwords": len(hits)}


def test_an_objective_without_targets_is_absent(batch):
    logits = torch.zeros(20, 20)
    batches = [batch([9], entities=False)]

    evaluation = validate(
        Scorer(logits), batches, objectives=["subwords", "pairs"], conditions=CONDITIONS
    )

    assert list(evaluation.loss) == ["subwords"]


def test_what_was_left_out_is_counted(batch):
    batches = [replace(batch([9], entities=False), counts={"examples.cut": n}) for n in (1, 2)]

    evaluation = validate(
        Scorer(torch.zeros(20, 20)), batches, objectives=["subwords"], conditions=CONDITIONS
    )

    assert evaluation.to_json()["left_out"] == {"examples.cut": 3}


def test_without_mentions_only_the_text_is_left(batch):
    one = batch([5, 4])
    targets = one.targets | {"entities": Targets(torch.tensor([0]), torch.tensor([3]))}

    plain = without_mentions(with_mention(one, targets))

    assert plain.mentions is None
    assert list(plain.targets) == ["subwords"]
    assert plain.rows.together is plain.rows.subwords


def with_mention(one, targets):
    from dataclasses import replace

    from modeling.data.batch import BatchMentions, LayerRows, Layout

    together = Layout.of([6, 4])
    mentions = BatchMentions(torch.tensor([3]), torch.tensor([1]), torch.tensor([0]))
    rows = LayerRows(one.rows.subwords, together, entities=Layout.of([1, 0]))
    return replace(one, targets=targets, mentions=mentions, rows=rows)
