"""The columns and the version of every kind of dataset.

A dataset of another version is an error, unless all that came since are nullable columns or fields:
``filling.py`` fills these in.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

_STRING, _BOOL, _BYTES = pa.string(), pa.bool_(), pa.large_binary()
_INT32, _INT64, _UINT64 = pa.int32(), pa.int64(), pa.uint64()
_FLOAT, _DOUBLE = pa.float32(), pa.float64()
_Columns = list[pa.Field]


def _columns(required: str = "", /, **types: pa.DataType) -> _Columns:
    """Build columns from names and types; those named in ``required`` hold no nulls."""
    names = required.split()
    return [pa.field(name, type, nullable=name not in names) for name, type in types.items()]


def _required(type: pa.DataType, *names: str) -> _Columns:
    """Build columns of one type that hold no nulls."""
    return [pa.field(name, type, nullable=False) for name in names]


def _list(**fields: pa.DataType) -> pa.DataType:
    """Build the type of lists of structs."""
    return pa.list_(pa.struct(_columns(**fields)))


EXAMPLE_COUNTS = ("examples_links", "words_links", "examples_augmented", "words_augmented")
"""Columns of ``reuse``: a page's examples and their words, for links alone and all mentions."""

# Hugging Face `datasets` cannot open Arrow's map type: a map is stored as a list of pairs.
_PAIRS = _list(key=_STRING, value=_STRING)
_SPAN = {"start": _INT32, "end": _INT32}
_MENTIONS = _list(
    **_SPAN, entity=_STRING, label=_STRING, origin=_STRING, score=_FLOAT, attributes=_PAIRS
)


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of one kind of dataset; increase ``version`` when a column changes."""

    name: str
    version: int
    columns: pa.Schema
    made_by: str
    """The pipelines to run again where a dataset has another version; for error messages."""
    compression: str | None = "zstd"
    since: int = 0
    """The earliest older version that can be opened, too (0: none): all that it lacks are nullable
    columns and fields."""

    def opens(self, version: object) -> bool:
        """Tell whether a dataset of a version can be opened."""
        is_earlier = isinstance(version, int) and 0 < self.since <= version < self.version
        return version == self.version or is_earlier


_DOCUMENTS = _columns(
    "id group source text",
    id=_STRING,
    group=_STRING,
    source=_STRING,
    lang=_STRING,
    title=_STRING,
    url=_STRING,
    revision=_STRING,
    timestamp=_STRING,
    license=_STRING,
    text=_STRING,
    paragraphs=_list(**_SPAN, kind=_STRING, level=_INT32),
    sentences=_list(**_SPAN),
    mentions=_MENTIONS,
    categories=pa.list_(_STRING),
    metadata=_PAIRS,
)
_REDIRECTS = [
    *_required(_STRING, "id", "title", "target"),
    *_columns(section=_STRING, resolved=_STRING),
]
# Facts about the page of a document, by which a later run decides whether it can take the document
# over; see corpora/wikipedia/reuse.py. Rows are in the order of the documents.
_OF_PAGE = _columns(
    "xml characters counters",
    xml=_STRING,
    characters=_INT32,
    counters=_list(key=_STRING, value=_INT32),
    led_on=_list(link=_INT32, title=_STRING),
    unmatched=pa.list_(_INT32),
    blocks_led_on=_list(link=_INT32, title=_STRING),
    templates=pa.list_(_STRING),
    definitions=_STRING,
    meaning=_STRING,
    **dict.fromkeys(EXAMPLE_COUNTS, _INT32),
)
# Tables, infoboxes, references and formulas of the documents; see corpora/wikipedia/aside.py.
_OF_BLOCK = _columns(
    "kind offset text",
    kind=_STRING,
    name=_STRING,
    template=_STRING,
    offset=_INT32,
    reused_at=pa.list_(_INT32),
    parent_offset=_INT32,
    text=_STRING,
    cells=_list(
        **_SPAN, row=_INT32, column=_INT32, rows=_INT32, columns=_INT32, kind=_STRING, name=_STRING
    ),
    mentions=_MENTIONS,
)
_BLOCKS = [*_required(_STRING, "id", "document_id"), *_columns(parent=_STRING), *_OF_BLOCK]
# Pages between two stages. A page that is taken over from an earlier run has only `id`, `source`,
# and `place`, the place of its earlier row.
_WIKI_PAGES = [
    *(field.with_nullable(field.name not in {"id", "source"}) for field in _DOCUMENTS),
    *(field.with_nullable(nullable=True) for field in _OF_PAGE),
    *_columns(
        place=pa.struct(_columns(earlier=_STRING, shard=_INT32, row=_INT32)),
        blocks=pa.list_(pa.struct([*_columns(parent=_INT32), *_OF_BLOCK])),
    ),
]
_OF_PAGES = _columns(ids=_PAIRS, type=_STRING, description=_STRING)
_COUNTS = _columns(counts=_list(key=_STRING, value=_INT64))
_ENTITIES = [
    *_columns("id entity", id=_INT32, entity=_STRING, title=_STRING, page_id=_STRING),
    *_columns(names=pa.list_(_STRING)),
    *_required(_INT64, "count"),
    *_COUNTS,
    *_columns(
        aliases=_list(
            form=_STRING,
            count=_INT64,
            prior=_FLOAT,
            link_probability=_FLOAT,
            langs=pa.list_(_STRING),
        )
    ),
    *_required(_BOOL, "retired"),
    *_OF_PAGES,
]
# Stages of onoma vocab; `part` is the number of the unit that reads a row next.
[_COUNT], [_PART] = _required(_INT64, "count"), _required(_INT32, "part")
_ENTITY, _FORM, _WORD, _SCOPE = _required(_STRING, "entity", "form", "word", "scope")
_LANG, _LANGS = _required(_STRING, "lang", "langs")
_ENTITY_STAGES = {
    "entity_equivalents": [_PART, *_columns(title=_STRING, target=_STRING)],
    "entity_counts": [_PART, _ENTITY, _FORM, *_required(_STRING, "origin"), _LANG, _COUNT],
    "entity_pages": [_PART, _ENTITY, *_columns(page_id=_STRING, rank=pa.int8()), *_OF_PAGES],
    "entity_totals": [
        *(_ENTITY, *_columns(page_id=_STRING, names=pa.list_(_STRING), languages=_INT32)),
        *(_COUNT, *_COUNTS, *_OF_PAGES),
    ],
    "entity_forms": [_PART, _ENTITY, _FORM, _COUNT, _LANGS],
    "entity_aliases": [
        *(_PART, *_columns(id=_INT32, number=_INT32)),
        *(_FORM, _COUNT, *_columns(linked=_INT64), _LANGS),
    ],
    "forms": [_FORM],
    "form_occurrences": _columns(number=_INT64, unlinked=_INT64),
}
_EXAMPLES = [
    *_required(_STRING, "id", "document_id", "group", "split"),
    *_required(pa.list_(_INT32), "input_ids", "word_starts", "sentence_starts"),
    *_required(pa.list_(_INT32), "entity_ids", "entity_starts", "entity_ends"),
    *_required(pa.list_(_STRING), "entity_origins"),
]
# A side file of examples: the entities of their vocabulary, in the order of ids.
_EXAMPLE_ENTITIES = [*_required(_INT32, "id"), _ENTITY, _COUNT, *_required(_INT64, "mentions")]
_SUBWORDS = [*_required(_INT32, "id"), *_required(_STRING, "subword"), _COUNT]
# Stages of onoma tokenizer; `part` is as above.
_WORD_STAGES = {"word_counts": [_PART, _WORD, _COUNT], "word_totals": [_WORD, _COUNT]}
_ENTROPIES = ("left_entropy", "right_entropy")
_LEXICON = [
    *_required(_INT64, "id"),
    _FORM,
    *_columns(group=_STRING),
    _COUNT,
    *_required(_DOUBLE, "mi", *_ENTROPIES, "score"),
    *_columns(rank=_INT64, flags=pa.list_(_STRING)),
]
# Stages of onoma lexicon; `large_binary` columns hold the raw bytes of arrays of numbers.
_LEXICON_STAGES = {
    "lexicon_symbols": [_SCOPE, *_columns(symbol=_STRING), _COUNT],
    "lexicon_totals": [_SCOPE, *_columns(length=_INT32), _COUNT],
    "lexicon_streams": _columns(
        symbols=pa.list_(_STRING), scopes=pa.list_(_STRING), ends=pa.list_(_INT64), ids=_BYTES
    ),
    "lexicon_firsts": [*_columns(key=_INT64), _COUNT],
    "lexicon_windows": [_PART, *_columns(size=_INT64, firsts=_BYTES, around=_BYTES)],
    "lexicon_strings": [
        _PART,
        *_required(_INT64, "parent", "symbol", "count"),
        *_required(_DOUBLE, *_ENTROPIES),
        *_columns(is_inner=_BOOL),
    ],
    "lexicon_ranks": _columns(row=_INT64, rank=_INT64),
}
# Stages of onoma news; an article is named by the `unit` of its shard and its `row` in it.
# What one unit looks for in `news_boilerplate` and `news_duplicates` is one batch, by `unit`.
_NEWS_STAGES = {
    "news_ranges": _columns(start=pa.int64(), end=pa.int64()),
    "news_paragraphs": _columns(paragraph=_UINT64, title=_UINT64),
    "news_revisits": _columns(id=_STRING, url=_STRING, digest=_STRING, refers_to=_STRING),
    "news_boilerplate": _columns(unit=_INT32, paragraph=_UINT64),
    "news_signatures": _columns(
        id=_STRING,
        url=_STRING,
        moment=_STRING,
        digest=_STRING,
        exact=pa.binary(16),
        signature=pa.binary(512),
        paragraphs=pa.binary(),
    ),
    "news_duplicates": _columns(
        unit=_INT32,
        row=_INT32,
        id=_STRING,
        url=_STRING,
        kind=_STRING,
        similarity=_DOUBLE,
        duplicate_of=_STRING,
        duplicate_of_url=_STRING,
    ),
}
_REVISION = _required(_STRING, "id", "timestamp", "revision")
_WIKI_STAGES = {
    "wiki_definitions": [*_REVISION, *_required(_STRING, "title"), *_columns(target=_STRING)],
    "wiki_revisions": [
        *_REVISION,
        *_columns(outcome=_STRING, title=_STRING, meaning=_STRING, name=_STRING),
    ],
    "wiki_pages": _WIKI_PAGES,
}
_EXAMPLE_STAGES = {"document_shares": _columns(lowest=_DOUBLE, highest=_DOUBLE)}
_FORM_STAGES = {
    "form_counts": _columns(count=_DOUBLE, linked=_DOUBLE, places=_DOUBLE),
    "form_survey": _columns(table=_INT32, row=_INT64, values=pa.list_(_INT64)),
    "form_places": _columns(
        document=_STRING, features=pa.list_(_DOUBLE), truth=_DOUBLE, weight=_DOUBLE
    ),
    "chosen_groups": _columns(group=_STRING, end=_INT64),
}
_CHOSEN = {"chosen_forms": [_FORM, *_columns(entity=_STRING, score=_FLOAT)]}
_NER = [
    *_required(_STRING, "id", "document_id", "split"),
    *_columns(
        tokens=pa.list_(_STRING),
        tags=pa.list_(_STRING),
        inner_tags=pa.list_(_STRING),
        token_starts=pa.list_(_INT32),
        origin=_STRING,
    ),
]


def _published() -> Iterable[Schema]:
    """Yield the schemas of the datasets that pipelines publish."""
    makers = "onoma tei, onoma wikipedia, onoma text, onoma news, "
    yield Schema("documents", 2, pa.schema(_DOCUMENTS), f"{makers}onoma augment", since=1)
    wikipedia, examples = "onoma wikipedia", "onoma examples"
    yield Schema("redirects", 1, pa.schema(_REDIRECTS), wikipedia)
    yield Schema("blocks", 1, pa.schema(_BLOCKS), f"{wikipedia} --blocks")
    yield Schema("reuse", 3, pa.schema([_DOCUMENTS[0], *_OF_PAGE]), wikipedia)
    yield Schema("entities", 3, pa.schema(_ENTITIES), "onoma vocab", since=1)
    # Uncompressed, because training memory-maps the shards.
    yield Schema("examples", 1, pa.schema(_EXAMPLES), examples, compression=None)
    yield Schema("example_entities", 1, pa.schema(_EXAMPLE_ENTITIES), examples, compression=None)
    yield Schema("subwords", 1, pa.schema(_SUBWORDS), "onoma tokenizer")
    yield Schema("lexicon", 1, pa.schema(_LEXICON), "onoma lexicon")
    yield Schema("ner", 2, pa.schema(_NER), "onoma tei, onoma benchmark")


def _between_stages() -> Iterable[Schema]:
    """Yield the schemas of datasets between the stages of a pipeline, which are never published."""
    for pipeline, compression, stages in (
        ("documents_to_examples", "lz4", _EXAMPLE_STAGES),
        ("text_to_documents", "lz4", {"pages": _DOCUMENTS}),
        ("wikipedia_to_documents", "lz4", _WIKI_STAGES),
        ("documents_to_entity_vocab", "lz4", _ENTITY_STAGES),
        ("documents_to_tokenizer", "lz4", _WORD_STAGES),
        ("documents_to_lexicon", None, _LEXICON_STAGES),
        ("news_to_documents", "lz4", _NEWS_STAGES),
        ("augment_mentions", None, _CHOSEN),  # uncompressed: all workers memory-map it
        ("augment_mentions", "zstd", _FORM_STAGES),
    ):
        for name, columns in stages.items():
            yield Schema(name, 1, pa.schema(columns), pipeline, compression)


SCHEMAS = {schema.name: schema for schema in (*_published(), *_between_stages())}
