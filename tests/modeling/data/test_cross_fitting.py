import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.tagging import from_iob2
from modeling.data.gazetteer import (
    Gazetteer,
    LookedUp,
    best_threshold,
    cross_fitted,
    folds_of,
    learn_gazetteer,
    with_best_level,
)
from modeling.data.tagset import TagSet
from tests.ner_files import read_conll, sentences_of

WORDS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(("O", "O", "B-X", "B-Y", "I-X"))), max_size=6
)
SETS = st.lists(st.tuples(st.sampled_from("stuvw"), WORDS), max_size=12)
TAGSET = TagSet(("X", "Y"))


@given(SETS, st.integers(2, 12))
def test_a_sentence_is_looked_up_among_the_names_of_other_folds(drawn, n_folds):
    rows = sentences_of(drawn)
    folds = folds_of(rows, n_folds)

    found = cross_fitted(rows, TAGSET, folds=n_folds, thresholds=[0, 10])

    expected = [
        Gazetteer.learn([r for r, f in zip(rows, folds, strict=True) if f != fold], TAGSET)
        .look_up([row.tokens], thresholds=[0, 10])
        .tags.tolist()
        for row, fold in zip(rows, folds, strict=True)
    ]
    assert found.tags.tolist() == [tags for one in expected for tags in one]


@given(SETS, st.integers(2, 12))
def test_a_form_of_one_document_alone_is_never_found_in_it(drawn, n_folds):
    own = [
        (document, [(f"{document}-{token}", tag) for token, tag in words])
        for document, words in drawn
    ]

    if len({document for document, _ in own}) > 1:
        assert not cross_fitted(sentences_of(own), TAGSET, folds=n_folds).tags.any()


@given(SETS, st.integers(2, 12))
def test_a_document_is_in_one_fold_and_folds_differ_by_a_document_at_most(drawn, n_folds):
    rows = sentences_of(drawn)
    if len({row.document_id for row in rows}) < 2:
        return

    folds = folds_of(rows, n_folds)

    pairs = {(row.document_id, fold) for row, fold in zip(rows, folds.tolist(), strict=True)}
    assert len(pairs) == len({document for document, _ in pairs})
    sizes = np.bincount([fold for _, fold in pairs])
    assert len(sizes) == min(n_folds, len(pairs))
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(0, 40), st.integers(1, 12))
def test_a_single_document_is_cut_into_blocks(n, n_folds):
    rows = sentences_of([("d", [("a", "O")])] * n)

    folds = folds_of(rows, n_folds).tolist()

    assert folds == sorted(folds)
    sizes = np.unique(folds, return_counts=True)[1]
    assert len(sizes) == min(n, n_folds)
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_the_threshold_is_the_one_whose_names_score_best():
    # "a" is a mention wherever it stands; "b" once in many places.
    drawn = [(document, [("a", "B-X"), *[("b", "O")] * 6, ("c", "O")]) for document in "stuv"]
    drawn += [(document, [("b", "B-X")]) for document in "stuv"]

    gazetteer, found = learn_gazetteer(sentences_of(drawn), TAGSET, folds=4)

    assert gazetteer.level == 3  # a seventh is below three twentieths
    assert found.tags[:8, 0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert found.tags[:8, 1].tolist() == [1, 1, 1, 1, 1, 1, 1, 0]
    assert found.n_features == gazetteer.n_features


@given(st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=6))
def test_the_best_column_has_the_highest_f1(columns):
    tags = [TAGSET.encode(TAGSET.decode(column)) for column in columns]
    found = LookedUp(np.array(tags, np.int16).T, len(TAGSET))

    best = best_threshold(found, tags[-1])

    spans = [{(s.start, s.end, s.label) for s in from_iob2(TAGSET.decode(t))} for t in tags]
    scores = [2 * len(s & spans[-1]) / max(len(s) + len(spans[-1]), 1) for s in spans]
    assert best == scores.index(max(scores))


def test_labels_may_be_left_out_of_account():
    found = LookedUp(np.array([[0, 3]], np.int16), len(TAGSET))

    assert best_threshold(found, np.array([1]), with_labels=False) == 1
    assert best_threshold(found, np.array([1])) == 0


@pytest.mark.parametrize(
    ("file", "level"), [("b\tY\t0.5\na\tY\t0.1\n", 3), ("b\tZ\na\tY\t0.1\n", 3)]
)
def test_names_from_elsewhere_get_the_threshold_that_suits_the_sentences(tmp_path, file, level):
    path = tmp_path / "names.tsv"
    path.write_text(file, encoding="utf-8")
    rows = sentences_of([("d", [("a", "O"), ("b", "B-Y")]), ("d", [("a", "O")])])

    gazetteer = with_best_level(Gazetteer.from_file(path), rows, TAGSET)

    assert gazetteer.level == level


@pytest.mark.realdata
def test_the_threshold_of_real_names_scores_as_it_does_on_dev(realdata):
    """Within a level or two: that is what cross-fitting is for."""
    folder = realdata("neiss-ner") / "Arendt"
    train, dev = (
        list(read_conll(folder / f"{split}_arendt.conll", split=split))
        for split in ("train", "dev")
    )
    tagset = TagSet.of(row.tags for row in train)

    gazetteer, _ = learn_gazetteer(train, tagset)

    gold = np.concatenate([tagset.encode(row.tags) for row in dev])
    found = gazetteer.look_up([row.tokens for row in dev], thresholds=range(21))
    assert abs(gazetteer.level - best_threshold(found, gold)) <= 2
