import random
from collections import Counter

import pytest

from corpora.document import Sentence
from corpora.tagging import from_iob2
from modeling.taggers.baseline import find_baseline
from modeling.taggers.counts import count_strict, score, strict_f1
from tests.corpora.ner.slow_gazetteer import learn_names, score_names
from tests.modeling.evaluate.samples import random_run
from tests.ner_files import examine


def splits(seed, *, n_documents=None):
    rng = random.Random(seed)
    return [
        [one.sentence for one in random_run(rng, 50, tokens="uvwxyz", n_documents=n_documents)]
        for _ in range(3)
    ]


def counted(sentences):
    forms = {}
    for sentence in sentences:
        for span in from_iob2(sentence.tags):
            form = sentence.tokens[span.start : span.end]
            forms.setdefault(form, Counter())[span.label] += 1
    return forms


@pytest.mark.parametrize("seed", range(5))
def test_the_baseline_is_that_of_the_card_of_the_data_set(seed):
    train, dev, test = splits(seed)

    baseline = find_baseline(test, train=train, dev=dev)

    sources = {"train": train, "dev": dev, "test": test}
    card = examine({name: lambda rows=rows: iter(rows) for name, rows in sources.items()}).gazetteer
    assert score(count_strict(baseline.tagged).micro().sum(axis=0)) == card.scores["test"]
    assert (baseline.forms, baseline.level / 20) == (card.forms, card.threshold)
    assert baseline.chosen_on == "dev"


@pytest.mark.parametrize("n_documents", [None, 12])
def test_without_dev_the_level_is_chosen_on_train(n_documents):
    train, _, test = splits(7, n_documents=n_documents)

    baseline = find_baseline(test, train=train)

    by_level = score_names(learn_names(counted(train), train), test)
    assert baseline.chosen_on == "train"
    assert strict_f1(baseline.tagged) == by_level[baseline.level].f1


def sentence(id, words, tags):
    return Sentence(
        id=id, document_id=id, split="train", tokens=tuple(words.split()), tags=tuple(tags.split())
    )


def test_a_level_is_not_chosen_on_names_that_only_their_own_document_knows():
    words, tags = "n{0} a{0} a{0} a{0} a{0}", "B-PER B-LOC O O O"
    train = [sentence(str(n), words.format(n), tags) for n in range(40)]
    by_heart = score_names(learn_names(counted(train), train), train)

    baseline = find_baseline(train, train=train)

    assert max(by_heart, key=lambda score: score.f1) in by_heart[6:]
    assert baseline.level == 0


def test_a_span_has_the_probability_of_its_name():
    train = [sentence("1", "Jena Jena Ulm", "B-LOC O B-LOC"), sentence("2", "Ulm", "B-LOC")]

    baseline = find_baseline([sentence("3", "Ulm Jena", "O O")], train=train, dev=train[:1])

    found = {span.start: span.probability for span in baseline.tagged[0].spans}
    assert found == {0: 1.0, 1: 0.5}
