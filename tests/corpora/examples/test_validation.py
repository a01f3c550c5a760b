"""Documents to examples: which are for validation."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from corpora.examples.maker import TRAIN, VALIDATION, ExampleMaker
from corpora.examples.validation import threshold
from corpora.hashing.sampling import ratio
from tests.corpora.examples.small_examples import batch_of, document, rules, tokenizer


def test_the_ratio_of_a_document_decides_its_split():
    ids = [f"d{n}" for n in range(50)]
    how = rules(validation=0.3, seed=7)
    maker = ExampleMaker(tokenizer(), None, replace(how, length=1))

    made = maker.make(batch_of(*(document("a b", id=id) for id in ids)))

    splits = dict(zip(*(made.examples.column(n).to_pylist() for n in ("document_id", "split"))))  # noqa: B905
    assert splits == {id: VALIDATION if ratio(id, seed=7) < 0.3 else TRAIN for id in ids}
    assert set(splits.values()) == {VALIDATION, TRAIN}


@given(
    st.lists(st.floats(0, 1, exclude_max=True), max_size=6, unique=True),
    st.floats(0, 1, exclude_max=True),
)
def test_of_several_documents_some_are_validation_and_some_are_not(ratios, validation):
    found = min(ratios, default=1.0), max(ratios, default=0.0)

    limit = threshold(validation, found)

    below = [at for at in ratios if at < limit]
    wanted = [at for at in ratios if at < validation]
    if validation == 0:
        assert below == []
    elif len(ratios) > 1:
        assert 0 < len(below) < len(ratios)
        if 0 < len(wanted) < len(ratios):
            assert below == wanted
        else:
            assert abs(len(below) - len(wanted)) == 1
    else:
        assert below == []
