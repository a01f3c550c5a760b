from hypothesis import given

from corpora.ner.labels import LabelMap
from modeling.evaluate.relabelling import relabel, relabel_sentence
from modeling.taggers.counts import count_strict, score
from tests.modeling.evaluate.samples import LABELS, tagged_sentences, written


def labels_of(names):
    return LabelMap("labels", {old: new or "" for old, new in names.items()})


@given(tagged_sentences())
def test_leaving_a_label_out_is_scoring_without_it(tagged):
    found, _ = relabel(tagged, labels_of({"PER": None}))

    counts = count_strict(tagged, LABELS)
    without = counts.rows[:, [label != "PER" for label in counts.labels]].sum(axis=1)
    assert count_strict(found, LABELS).micro().tolist() == without.tolist()


@given(tagged_sentences())
def test_other_names_for_labels_change_no_score(tagged):
    names = {"PER": "pers", "LOC": "place"}

    found, _ = relabel(tagged, labels_of(names))

    labels = [names.get(label, label) for label in LABELS]
    assert count_strict(found, labels).rows.tolist() == count_strict(tagged, LABELS).rows.tolist()


def test_labels_that_become_one_are_right_for_each_other():
    tagged = [written("B-PER I-PER B-RR O", "B-AN I-AN B-date O")]

    found, changes = relabel(
        tagged, labels_of({"PER": "PER", "RR": "PER", "AN": "PER", "date": None})
    )

    assert score(count_strict(found).micro()[0]).correct == 1
    assert found[0].tags == ("B-PER", "I-PER", "O", "O")
    assert changes["gold"] == {"RR to PER": 1}
    assert changes["predicted"] == {"AN to PER": 1, "date to O": 1}


def test_training_sentences_get_the_same_labels():
    sentence = written("B-pers O B-date", "O O O").sentence

    found = relabel_sentence(sentence, labels_of({"pers": "PER", "date": None}))

    assert found.tags == ("B-PER", "O", "O")
