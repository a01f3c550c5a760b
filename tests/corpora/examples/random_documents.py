"""Strategies for documents and rules."""

from hypothesis import strategies as st

from corpora.document import Document, Mention, Span, without_crossing
from corpora.examples.maker import ExampleRules
from corpora.examples.mentions import MentionRules
from tests.corpora.examples.small_examples import ENTITIES, ORIGINS

SNIPPETS = st.sampled_from(
    ["ab", "abc", "Jena", "Jenaer", "Glas", "café", "abdddd", "中", "😀", "\u00ad", "\u0301", ".,"]
)
SENTENCES = st.lists(SNIPPETS, min_size=1, max_size=7).flatmap(
    lambda words: st.sampled_from([" ", "", "  "]).map(lambda gap: gap.join(words))
)


@st.composite
def documents(draw, id="d"):
    texts, spans, text = draw(st.lists(SENTENCES, max_size=5)), [], ""
    for sentence in texts:
        text += draw(st.sampled_from(["", " ", "\n\n"]))
        spans.append(Span(len(text), len(text) + len(sentence)))
        text += sentence
    places = st.integers(0, max(len(text) - 1, 0))
    mentions = []
    for start, length in draw(st.lists(st.tuples(places, st.integers(1, 9)), max_size=8)):
        if start < len(text):
            mentions.append(
                Mention(
                    start,
                    min(start + length, len(text)),
                    entity=draw(st.sampled_from([*ENTITIES, "x:Gone", "x:None", "[UNK]", None])),
                    origin=draw(st.sampled_from([*ORIGINS, "prediction"])),
                )
            )
    return Document(
        id=id,
        group="g",
        source="s",
        text=text,
        sentences=tuple(spans),
        mentions=tuple(without_crossing(mentions)[0]),
    )


RULES = st.builds(
    ExampleRules,
    length=st.integers(1, 12),
    mentions=st.builds(
        MentionRules,
        origins=st.just(ORIGINS),
        keep_unknown=st.booleans(),
        min_entity_count=st.integers(1, 3),
        max_entities=st.integers(1, 4),
    ),
    min_sentence_subwords=st.integers(1, 3),
)
