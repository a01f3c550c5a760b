import numpy as np
import pytest

from corpora.matching.name_edges import MIN_LINKS, NameEdges, learn
from corpora.matching.title_matches import Augmentation, match_pages

SENTENCES = (
    ("in |Nepal| we live. Then |Nepal University| is old. ", MIN_LINKS),
    ("See the |Bank of Nepal| now. ", MIN_LINKS),
    ("आज |नेपाळ| आणि |नेपाळ विश्वविद्यालय| आहे. ", MIN_LINKS),
)


def learned(sentences=SENTENCES):
    text, spans = "", []
    for sentence, n in sentences:
        for number, part in enumerate((sentence * n).split("|")):
            if number % 2:
                spans.append((len(text), len(text) + len(part)))
            text += part
    return learn([(text, spans)], lang=None)


@pytest.fixture(scope="module")
def name_edges():
    return learned()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("in Peru, we saw", ["Peru"]),
        ("in Peru we saw", ["Peru"]),
        ("in Peru, the Peru University", ["Peru"]),  # which stands in links
        ("in Peru, all Peru gardens", ["Peru"]),  # words that no link shows
        ("in Peru, the Bank of Peru", ["Peru"]),
        ("all Costa Rica gardens, Costa Rica University", ["Costa Rica"]),
        ("आज पेरू विश्वविद्यालय, पेरू आणि", ["पेरू"]),
    ],
)
def test_a_match_beside_a_word_that_may_continue_the_name_is_left_out(text, kept, name_edges):
    how = Augmentation(name_edges=name_edges)
    links = [((0, 0), title) for title in ("Peru", "Costa Rica", "पेरू")]

    pages = match_pages(["", text], [None, None], [[], links], how=how, are_hidden=True)

    assert [text[start:end] for start, end, _ in pages[1]] == kept


def test_nothing_is_learned_from_few_links():
    assert learned([("in |Nepal| we live. ", MIN_LINKS - 1)]) is None


def test_what_was_learned_is_the_same_after_packing(name_edges):
    again = NameEdges.unpacked(name_edges.packed())

    assert np.array_equal(again.ends, name_edges.ends)
    assert np.array_equal(again.ends_long, name_edges.ends_long)
