"""Documents to examples: mentions that were added with too low a probability."""

from dataclasses import replace

from corpora.document import Document, Mention, Span
from tests.corpora.examples.small_examples import make


def test_mentions_below_the_least_score_become_no_entities(vocab):
    mentions = [
        Mention(3 * n, 3 * n + 2, entity="x:Ab", origin="title_match", score=score)
        for n, score in enumerate((None, 0.9, 0.5, 0.4))
    ]
    document = Document(id="d", group="g", source="s", text="ab ab ab ab", sentences=(Span(0, 11),))

    made = make(replace(document, mentions=tuple(mentions)), vocab, min_score=0.5)

    assert made.counters["mentions.kept"] == 3
    assert made.counters["mentions.unsure"] == 1
