"""Small documents, a small tokenizer, and the examples made of them."""

from functools import cache

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.document import Document, Mention, Span, without_crossing
from corpora.examples.maker import COLUMNS, ExampleMaker, ExampleRules
from corpora.examples.mentions import MentionRules
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from tests.datasets import document_to_row

LISTS = ("input_ids", "word_starts", "sentence_starts", "entity_ids", "entity_starts")
LETTERS = "abcdé中"
WORDS = ("ab", "abc", "##bc", "##dd", "café", "Jena", "##er", "Glas", ".", ",")
ENTITIES = {"x:Jena": 9, "x:Glas": 2, "x:Ab": 1}
ORIGINS = ("link", "title_match")


@cache
def tokenizer(*, cased=True):
    subwords = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS]
    return Tokenizer(wordpiece(subwords, cased=cased), name="small")


def rules(length=510, **settings):
    ours = {name: settings.pop(name) for name in list(settings) if hasattr(ExampleRules, name)}
    return ExampleRules(
        length=length, mentions=MentionRules(**{"origins": ORIGINS, **settings}), **ours
    )


def batch_of(*documents):
    rows = [document_to_row(document) for document in documents]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["documents"].columns).select(
        list(COLUMNS)
    )


def document(text, *mentions, id="d", sentences=None):
    """Make a document whose sentences end with lines; a mention is its surface and its entity."""
    if sentences is None:
        ends = [i for i, c in enumerate(text) if c == "\n"] + [len(text)]
        sentences = [Span(a, b) for a, b in zip([0, *(e + 1 for e in ends)], ends) if a < b]  # noqa: B905
    found = []
    for surface, entity in mentions:
        start = text.index(surface)
        found.append(Mention(start, start + len(surface), entity=entity, origin="link"))
    return Document(
        id=id,
        group="g",
        source="s",
        text=text,
        sentences=tuple(sentences),
        mentions=tuple(without_crossing(found)[0]),
    )


def make(document, vocab=None, **settings):
    return ExampleMaker(tokenizer(), vocab, rules(**settings)).make(batch_of(document))


def shown(made):
    """Show of each example its subwords, and its entities with theirs."""
    name = tokenizer().backend.id_to_token
    return [
        (
            [name(id) for id in row["input_ids"]],
            [
                (" ".join(name(id) for id in row["input_ids"][a:b]), id)
                for id, a, b in zip(
                    row["entity_ids"], row["entity_starts"], row["entity_ends"], strict=True
                )
            ],
        )
        for row in made.examples.to_pylist()
    ]
