"""Baselines by the slow obvious way, on examples of a few subwords."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from corpora.tokenization.tokenizers import Special
from modeling.data.batch import Batch, BatchMentions, LayerRows, Layout, Targets
from modeling.recipes.pretraining_recipes import recipe
from modeling.training.baselines import FormEntities, Neighbours, look_up, unigram
from modeling.training.feeding import Feed
from modeling.training.sources import complete, open_sources
from modeling.training.world import World

CLS, SEP, MASK, N_SUBWORDS = 2, 3, 4, 9
FREQUENT = np.array([0, 0, 0, 0, 0, 4, 3, 2, 1])


class SomeSubwords:
    special = Special(0, 1, CLS, SEP, MASK)

    def __len__(self):
        return N_SUBWORDS


def example(subwords, *mentions):
    columns = np.array(mentions, np.int32).reshape(-1, 3).T
    return SimpleNamespace(
        subwords=np.array(subwords, np.int32),
        **dict(zip(("entities", "entity_starts", "entity_ends"), columns, strict=True)),
    )


def one_text(subwords, **parts):
    layout = Layout.of([len(subwords)])
    rows = LayerRows(layout, layout, entities=parts.pop("entities", None))
    return Batch(ids=("x",), subwords=torch.tensor(subwords), rows=rows, **parts)


def witten_bell(continuations, label):
    """Compute the probability of a label from a list of what stood in the context."""
    kinds, n = len(set(continuations)), len(continuations)
    frequency = (FREQUENT[label] + 1) / (FREQUENT + 1).sum()
    return (continuations.count(label) + kinds * frequency) / (n + kinds) if n else frequency


def test_a_subword_is_looked_up_by_the_two_beside_it():
    """After 5 stood 6, 7 and 6, before 8 stood 6, before [SEP] 7 and 8, and after 8 nothing."""
    tables = {
        "subwords": Neighbours.of([example([5, 6, 5, 7]), example([5, 6, 8])], SomeSubwords())
    }
    targets = {"subwords": Targets.of(np.array([2, 4]), np.array([6, 7]))}
    batch = one_text([CLS, 5, MASK, 8, MASK, SEP], targets=targets)

    scores = look_up([batch], {"subwords": FREQUENT}, tables)

    first = (witten_bell([6, 7, 6], 6) + witten_bell([6], 6)) / 2
    second = witten_bell([7, 8], 7)
    assert scores.loss["subwords"] == pytest.approx(-np.log([first, second]).mean())
    assert scores.accuracy["subwords"][1] == 1.0


def test_between_masked_subwords_the_most_frequent_is_taken():
    tables = {"subwords": Neighbours.of([example([5, 6, 7])], SomeSubwords())}
    targets = {"subwords": Targets.of(np.array([2]), np.array([8]))}
    batch = one_text([CLS, MASK, MASK, MASK, SEP], targets=targets)

    scores = look_up([batch], {"subwords": FREQUENT}, tables)

    assert scores.loss == unigram([batch], {"subwords": FREQUENT}).loss


@pytest.mark.parametrize(("seen", "is_known"), [([5, 6], True), ([5, MASK], False)])
def test_an_entity_is_looked_up_by_its_form(seen, is_known):
    train = [example([5, 6, 7], (3, 0, 2), (4, 2, 3)), example([8, 5, 6], (5, 1, 3))]
    counts = {"entities": np.array([0, 0, 0, 1, 9, 1])}
    batch = one_text(
        [CLS, 7, *seen, SEP],
        mentions=BatchMentions.of(np.array([2]), np.array([2]), np.array([2])),
        entities=Layout.of([1]),
        targets={"entities": Targets.of(np.array([0]), np.array([3]))},
    )

    scores = look_up([batch], counts, {"entities": FormEntities.of(train, 6)})

    frequency = 2 / (counts["entities"] + 1).sum()
    ratio = (1 + 2 * frequency) / 4 if is_known else frequency
    assert scores.loss["entities"] == pytest.approx(-np.log(ratio))
    assert scores.accuracy["entities"][1] == is_known


def test_unigram_is_always_the_most_frequent(batch):
    one = batch([60], seed=4)
    counts = {
        "subwords": np.random.default_rng(1).integers(0, 50, 20),
        "entities": np.array([3, 1]),
    }

    evaluation = unigram([one], counts)

    labels = one.targets["subwords"].labels
    table = torch.tensor((counts["subwords"] + 1.0) / (counts["subwords"] + 1.0).sum()).log()
    assert evaluation.accuracy["subwords"][1] == pytest.approx(
        (labels == int(counts["subwords"].argmax())).float().mean().item()
    )
    assert evaluation.accuracy["subwords"][25] == 1.0
    assert evaluation.loss["subwords"] == pytest.approx(-table[labels].mean().item())
    assert evaluation.accuracy["entities"][1] == pytest.approx(
        (one.targets["entities"].labels == 0).float().mean().item()
    )


def test_few_validation_targets_are_warned_of(examples, caplog):
    sources = open_sources([examples])
    feed = Feed(complete(recipe("bert_small"), sources), sources, World())

    feed.check_validation({"subwords": 2_000, "entities": 96})

    assert "thin: 96 targets of entities, so a ratio of right ones is sure to ± 10" in caplog.text
