"""Documents to examples: which mentions are lost to limits, and how they are named."""

from collections import Counter
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.document import Document, Mention, Span
from corpora.examples import mentions
from corpora.examples.lost_mentions import LISTED, FirstMentions, section, to_tsv
from corpora.examples.maker import ExampleMaker
from corpora.examples.mentions import NAMED
from tests.corpora.examples.random_documents import RULES, documents
from tests.corpora.examples.slow_examples import slow_subwords
from tests.corpora.examples.small_examples import batch_of, make, rules, tokenizer

pytestmark = pytest.mark.usefixtures("short_mentions")


@settings(max_examples=100)
@given(st.lists(documents(), min_size=1, max_size=2), RULES)
def test_mentions_without_room_are_named_with_what_they_are(vocab, several, how):
    several = {f"d{n}": replace(of, id=f"d{n}") for n, of in enumerate(several)}

    made = ExampleMaker(tokenizer(), vocab, how).make(batch_of(*several.values()))

    named = Counter(lost.reason for lost in made.lost)
    assert named == +Counter({name: made.counters[f"mentions.{name}"] for name in NAMED})
    for lost in made.lost:
        of = several[lost.document]
        assert (lost.start, lost.end) in {(m.start, m.end) for m in of.mentions}
        assert lost.text == " ".join(of.text[lost.start : lost.end].split())
        touched = [
            subword
            for sentence in of.sentences
            for subword in slow_subwords(of.text, sentence)
            if subword[1] < lost.end and lost.start < subword[2]
        ]
        assert lost.subwords == len(touched)
        assert (lost.subwords > mentions.MAX_SUBWORDS) == (lost.reason == "too_long")


def many_long_mentions(n, id="d"):
    """Make a document of ``n`` mentions, each with two subwords and a line of its own."""
    return Document(
        id=id,
        group="g",
        source="s",
        text="ab ab\n" * n,
        sentences=tuple(Span(6 * i, 6 * i + 5) for i in range(n)),
        mentions=tuple(Mention(6 * i, 6 * i + 5, entity="x:Ab", origin="link") for i in range(n)),
    )


def test_the_first_lost_mentions_are_named_and_all_are_counted(vocab, monkeypatch):
    monkeypatch.setattr(mentions, "MAX_SUBWORDS", 1)
    maker, listing = ExampleMaker(tokenizer(), vocab, rules()), FirstMentions()
    batches = [many_long_mentions(LISTED - 30, "a"), many_long_mentions(LISTED + 7, "b")]

    made = [maker.make(batch_of(of)) for of in batches]
    taken = [row for each in made for row in listing.take(each.lost)]

    assert [each.counters["mentions.too_long"] for each in made] == [LISTED - 30, LISTED + 7]
    expected = [("a", 6 * n) for n in range(LISTED - 30)] + [("b", 6 * n) for n in range(30)]
    assert [(row["document"], row["start"]) for row in taken] == expected


def test_a_lost_mention_stands_on_a_line_and_is_not_shown_without_end(vocab, monkeypatch):
    monkeypatch.setattr(mentions, "MAX_SUBWORDS", 2)
    text = "ab\n\tab |" + "c" * 300
    mention = Mention(0, len(text), entity="x:Ab", origin="link")
    of = Document(
        id="d", group="g", source="s", text=text,
        sentences=(Span(0, len(text)),), mentions=(mention,),
    )  # fmt: skip

    lost = make(of, vocab).lost

    [head, line] = to_tsv(map(asdict, lost))
    assert len(head.split("\t")) == len(line.split("\t"))
    assert line.endswith("ab ab |" + "c" * 193 + "…\n")
    assert r"ab ab \|c" in "\n".join(section([*map(asdict, lost)], {"mentions.too_long": 1}))
