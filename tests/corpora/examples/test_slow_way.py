"""Documents to examples: against the slow obvious way."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.examples.maker import ExampleMaker
from corpora.examples.mentions import LOSSES
from tests.corpora.examples.random_documents import RULES, documents
from tests.corpora.examples.slow_examples import slow_examples
from tests.corpora.examples.small_examples import LISTS, batch_of, tokenizer

pytestmark = pytest.mark.usefixtures("short_mentions")


@settings(max_examples=100)
@given(of=documents(), how=RULES)
def test_examples_and_mentions_that_are_lost_are_those_of_the_slow_way(vocab, of, how):
    expected, lost = slow_examples(of, vocab, how)

    made = ExampleMaker(tokenizer(), vocab, how).make(batch_of(of))

    made.examples.validate(full=True)
    assert made.examples.select([*LISTS, "entity_ends", "entity_origins"]).to_pylist() == expected
    counts = made.counters
    assert +Counter({name: counts.get(f"mentions.{name}", 0) for name in LOSSES}) == lost
    assert counts["mentions.read"] == len(of.mentions) == counts["mentions.kept"] + lost.total()


@settings(max_examples=100)
@given(of=documents(), how=RULES)
def test_only_examples_with_mentions_leaves_out_the_others(vocab, of, how):
    all_, some = (
        ExampleMaker(tokenizer(), vocab, replace(how, only_with_mentions=only)).make(batch_of(of))
        for only in (False, True)
    )

    expected = [row for row in all_.examples.to_pylist() if row["entity_ids"]]
    assert some.examples.to_pylist() == expected
    left_out = all_.examples.num_rows - len(expected)
    assert some.counters["examples.left_out"] == left_out
    assert (
        some.counters["subwords"] + some.counters["subwords.left_out"] == all_.counters["subwords"]
    )


@settings(max_examples=100)
@given(st.lists(documents(), max_size=4), RULES)
def test_documents_do_not_depend_on_their_neighbours(vocab, several, how):
    several = [replace(of, id=f"d{n}") for n, of in enumerate(several)]
    maker = ExampleMaker(tokenizer(), vocab, how)

    together = maker.make(batch_of(*several))
    alone = [maker.make(batch_of(of)) for of in several]

    assert together.examples.to_pylist() == [r for made in alone for r in made.examples.to_pylist()]
    assert together.fates == [fate for made in alone for fate in made.fates]
    assert +together.counters == sum((made.counters for made in alone), Counter())
