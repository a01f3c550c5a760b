"""The columns and the version of every dataset; opening another version is an error."""

from dataclasses import dataclass

import pyarrow as pa


def _struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


EXAMPLE_COUNTS = ("examples_links", "words_links", "examples_augmented", "words_augmented")
"""Columns: what examples of a page hold, with links alone, and with matched titles."""

# Hugging Face `datasets` cannot open Arrow's map type: a map is stored as a list of pairs.
_PAIRS = pa.list_(_struct(key=pa.string(), value=pa.string()))
_MENTIONS = pa.list_(
    _struct(
        start=pa.int32(),
        end=pa.int32(),
        entity=pa.string(),
        label=pa.string(),
        origin=pa.string(),
        score=pa.float32(),
        attributes=_PAIRS,
    )
)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one kind of dataset; raise ``version`` when a column changes."""

    name: str
    version: int
    columns: pa.Schema
    made_by: str
    """The pipelines to run again when the version is another."""
    compression: str | None = "zstd"
    since: int = 0
    """The earliest version that is opened, too (0: none): its columns are the first of these, and
    only some of them can be read."""

    def opens(self, version: object) -> bool:
        """Tell whether a dataset of a version can be opened."""
        is_earlier = isinstance(version, int) and 0 < self.since <= version < self.version
        return version == self.version or is_earlier


_DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        ("lang", pa.string()),
        ("title", pa.string()),
        ("url", pa.string()),
        ("revision", pa.string()),
        ("timestamp", pa.string()),
        ("license", pa.string()),
        pa.field("text", pa.string(), nullable=False),
        ("paragraphs", pa.list_(_struct(start=pa.int32(), end=pa.int32(), kind=pa.string()))),
        ("sentences", pa.list_(_struct(start=pa.int32(), end=pa.int32()))),
        ("mentions", _MENTIONS),
        ("metadata", _PAIRS),
    ]
)
_REDIRECTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("target", pa.string(), nullable=False),
        ("section", pa.string()),
        ("resolved", pa.string()),
    ]
)
# What is known of a document's page beside its text, so that a later run can take it over; see
# corpora/wikipedia/reuse.py. Rows are in the order of the documents.
_OF_PAGE = [
    pa.field("xml", pa.string(), nullable=False),
    pa.field("characters", pa.int32(), nullable=False),
    pa.field("counters", pa.list_(_struct(key=pa.string(), value=pa.int32())), nullable=False),
    ("led_on", pa.list_(_struct(link=pa.int32(), title=pa.string()))),
    ("unmatched", pa.list_(pa.int32())),
    ("meaning", pa.string()),
    *((name, pa.int32()) for name in EXAMPLE_COUNTS),
]
_REUSE = pa.schema([_DOCUMENTS.field("id"), *_OF_PAGE])
# Tables, infoboxes, references and formulas of the documents; see corpora/wikipedia/aside.py.
_OF_BLOCK = [
    pa.field("kind", pa.string(), nullable=False),
    ("name", pa.string()),
    ("template", pa.string()),
    pa.field("offset", pa.int32(), nullable=False),
    ("reused_at", pa.list_(pa.int32())),
    ("parent_offset", pa.int32()),
    pa.field("text", pa.string(), nullable=False),
    (
        "cells",
        pa.list_(
            _struct(
                start=pa.int32(),
                end=pa.int32(),
                row=pa.int32(),
                column=pa.int32(),
                rows=pa.int32(),
                columns=pa.int32(),
                kind=pa.string(),
                name=pa.string(),
            )
        ),
    ),
    ("mentions", _MENTIONS),
]
_BLOCKS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("document_id", pa.string(), nullable=False),
        ("parent", pa.string()),
        *_OF_BLOCK,
    ]
)
# Between the stages: of a row that is taken over there is the id, the source, and where it lies.
_WIKI_PAGES = [
    *(field.with_nullable(field.name not in {"id", "source"}) for field in _DOCUMENTS),
    *(field.with_nullable(nullable=True) for field in pa.schema(_OF_PAGE)),
    ("place", _struct(earlier=pa.string(), shard=pa.int32(), row=pa.int32())),
    ("blocks", pa.list_(pa.struct([("parent", pa.int32()), *pa.schema(_OF_BLOCK)]))),
]
_FORMS = pa.list_(
    _struct(form=pa.string(), count=pa.int64(), prior=pa.float32(), link_probability=pa.float32())
)
_ENTITIES = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("entity", pa.string(), nullable=False),
        ("title", pa.string()),
        ("page_id", pa.string()),
        pa.field("count", pa.int64(), nullable=False),
        ("counts", pa.list_(_struct(key=pa.string(), value=pa.int64()))),
        ("aliases", _FORMS),
        pa.field("retired", pa.bool_(), nullable=False),
        ("ids", _PAIRS),
        ("type", pa.string()),
        ("description", pa.string()),
    ]
)
_OF_PAGES = [_ENTITIES.field(name) for name in ("ids", "type", "description")]
# Of the stages of documents_to_entity_vocab; `part` says which unit of the next stage reads a row.
_COUNT = pa.field("count", pa.int64(), nullable=False)
_PART = pa.field("part", pa.int32(), nullable=False)
_ENTITY, _FORM = (pa.field(name, pa.string(), nullable=False) for name in ("entity", "form"))
_ORIGIN = pa.field("origin", pa.string(), nullable=False)
_ENTITY_STAGES = {
    "entity_equivalents": [("title", pa.string()), ("target", pa.string())],
    "entity_counts": [_PART, _ENTITY, _FORM, _ORIGIN, _COUNT],
    "entity_pages": [_PART, _ENTITY, ("page_id", pa.string()), ("rank", pa.int8()), *_OF_PAGES],
    "entity_totals": [
        _ENTITY,
        *(_ENTITIES.field(name) for name in ("page_id", "count", "counts")),
        *_OF_PAGES,
    ],
    "entity_forms": [_PART, _ENTITY, _FORM, _COUNT, ("is_alias", pa.bool_())],
    "entity_aliases": [
        _PART,
        ("id", pa.int32()),
        ("number", pa.int32()),
        _FORM,
        _COUNT,
        ("linked", pa.int64()),
    ],
    "forms": [_FORM],
    "form_occurrences": [("number", pa.int64()), ("unlinked", pa.int64())],
}
_EXAMPLES = pa.schema(
    [
        *(
            pa.field(name, pa.string(), nullable=False)
            for name in ("id", "document_id", "group", "split")
        ),
        *(
            pa.field(name, pa.list_(pa.int32()), nullable=False)
            for name in (
                "input_ids",
                "word_starts",
                "sentence_starts",
                "entity_ids",
                "entity_starts",
                "entity_ends",
            )
        ),
        pa.field("entity_origins", pa.list_(pa.string()), nullable=False),
    ]
)
# A file beside examples: the rows of their entity vocabulary, in the order of ids.
_EXAMPLE_ENTITIES = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        _ENTITY,
        _COUNT,
        pa.field("mentions", pa.int64(), nullable=False),
    ]
)

_SUBWORDS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("subword", pa.string(), nullable=False),
        _COUNT,
    ]
)
# Of the stages of documents_to_tokenizer; `part` is as above.
_WORD = pa.field("word", pa.string(), nullable=False)
_WORD_STAGES = {"word_counts": [_PART, _WORD, _COUNT], "word_totals": [_WORD, _COUNT]}

_LEXICON = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        _FORM,
        ("group", pa.string()),
        _COUNT,
        *(
            pa.field(name, pa.float64(), nullable=False)
            for name in ("mi", "left_entropy", "right_entropy", "score")
        ),
        ("rank", pa.int64()),
        ("flags", pa.list_(pa.string())),
    ]
)
# Of the stages of documents_to_lexicon; arrays of numbers stand in binary columns as they are.
_SCOPE = pa.field("scope", pa.string(), nullable=False)
_LEXICON_STAGES = {
    "lexicon_symbols": [_SCOPE, ("symbol", pa.string()), _COUNT],
    "lexicon_totals": [_SCOPE, ("length", pa.int32()), _COUNT],
    "lexicon_streams": [
        ("symbols", pa.list_(pa.string())),
        ("scopes", pa.list_(pa.string())),
        ("ends", pa.list_(pa.int64())),
        ("ids", pa.large_binary()),
    ],
    "lexicon_firsts": [("key", pa.int64()), _COUNT],
    "lexicon_windows": [
        _PART,
        ("size", pa.int64()),
        ("firsts", pa.large_binary()),
        ("around", pa.large_binary()),
    ],
    "lexicon_strings": [
        _PART,
        *(pa.field(name, pa.int64(), nullable=False) for name in ("parent", "symbol", "count")),
        *(pa.field(n, pa.float64(), nullable=False) for n in ("left_entropy", "right_entropy")),
        ("is_inner", pa.bool_()),
    ],
    "lexicon_ranks": [("row", pa.int64()), ("rank", pa.int64())],
}

# Of the stages of news_to_documents; `unit` and `row` say which article of which shard.
_NEWS_STAGES = {
    "news_paragraphs": [("paragraph", pa.uint64()), ("title", pa.uint64())],
    "news_revisits": [
        ("id", pa.string()),
        ("url", pa.string()),
        ("digest", pa.string()),
        ("refers_to", pa.string()),
    ],
    "news_boilerplate": [("paragraph", pa.uint64())],
    "news_signatures": [
        ("id", pa.string()),
        ("url", pa.string()),
        ("moment", pa.string()),
        ("digest", pa.string()),
        ("exact", pa.binary(16)),
        ("signature", pa.binary(512)),
        ("paragraphs", pa.binary()),
    ],
    "news_duplicates": [
        ("unit", pa.int32()),
        ("row", pa.int32()),
        ("id", pa.string()),
        ("url", pa.string()),
        ("kind", pa.string()),
        ("similarity", pa.float64()),
        ("duplicate_of", pa.string()),
        ("duplicate_of_url", pa.string()),
    ],
}

SCHEMAS = {
    schema.name: schema
    for schema in (
        Schema(
            "documents",
            1,
            _DOCUMENTS,
            made_by="tei_to_ner, wikipedia_to_documents, text_to_documents, news_to_documents, "
            "augment_mentions",
        ),
        Schema("redirects", 1, _REDIRECTS, made_by="wikipedia_to_documents"),
        Schema("blocks", 1, _BLOCKS, made_by="wikipedia_to_documents --blocks"),
        Schema("reuse", 2, _REUSE, made_by="wikipedia_to_documents"),
        Schema("entities", 2, _ENTITIES, made_by="documents_to_entity_vocab", since=1),
        # Uncompressed: training maps them into memory, and reads them as they lie there.
        Schema("examples", 1, _EXAMPLES, made_by="documents_to_examples", compression=None),
        Schema(
            "example_entities",
            1,
            _EXAMPLE_ENTITIES,
            made_by="documents_to_examples",
            compression=None,
        ),
        Schema("subwords", 1, _SUBWORDS, made_by="documents_to_tokenizer"),
        Schema("lexicon", 1, _LEXICON, made_by="documents_to_lexicon"),
        # Between the stages of a pipeline; never published.
        Schema(
            "document_shares",
            1,
            pa.schema([("lowest", pa.float64()), ("highest", pa.float64())]),
            made_by="documents_to_examples",
            compression="lz4",
        ),
        Schema("pages", 1, _DOCUMENTS, made_by="text_to_documents", compression="lz4"),
        Schema(
            "meanings",
            1,
            pa.schema([pa.field("title", pa.string(), nullable=False)]),
            made_by="wikipedia_to_documents",
            compression="lz4",
        ),
        Schema(
            "wiki_definitions",
            1,
            pa.schema(
                [pa.field(name, pa.string(), nullable=False) for name in ("title", "target")]
            ),
            made_by="wikipedia_to_documents",
            compression="lz4",
        ),
        Schema(
            "wiki_pages",
            1,
            pa.schema(_WIKI_PAGES),
            made_by="wikipedia_to_documents",
            compression="lz4",
        ),
        *(
            Schema(
                name, 1, pa.schema(fields), made_by="documents_to_entity_vocab", compression="lz4"
            )
            for name, fields in _ENTITY_STAGES.items()
        ),
        *(
            Schema(name, 1, pa.schema(fields), made_by="documents_to_tokenizer", compression="lz4")
            for name, fields in _WORD_STAGES.items()
        ),
        *(
            Schema(name, 1, pa.schema(fields), made_by="documents_to_lexicon", compression=None)
            for name, fields in _LEXICON_STAGES.items()
        ),
        *(
            Schema(name, 1, pa.schema(fields), made_by="news_to_documents", compression="lz4")
            for name, fields in _NEWS_STAGES.items()
        ),
        Schema(
            "chosen_forms",
            1,
            pa.schema([_FORM, ("entity", pa.string()), ("score", pa.float32())]),
            made_by="augment_mentions",
            compression=None,  # all workers map it
        ),
        Schema(
            "common_forms",
            1,
            pa.schema([pa.field("hash", pa.uint64(), nullable=False)]),
            made_by="augment_mentions",
        ),
        Schema(
            "chosen_groups",
            1,
            pa.schema([("group", pa.string()), ("end", pa.int64())]),
            made_by="augment_mentions",
        ),
        Schema(
            "ner",
            2,
            pa.schema(
                [
                    pa.field("id", pa.string(), nullable=False),
                    pa.field("document_id", pa.string(), nullable=False),
                    pa.field("split", pa.string(), nullable=False),
                    ("tokens", pa.list_(pa.string())),
                    ("tags", pa.list_(pa.string())),
                    ("inner_tags", pa.list_(pa.string())),
                    ("token_starts", pa.list_(pa.int32())),
                    ("origin", pa.string()),
                ]
            ),
            made_by="tei_to_ner, benchmark_to_ner",
        ),
    )
}
