"""NER sets as Parquet, as Hugging Face ``datasets`` has them: tokens, and tags as names or numbers.

The name of each number stands in the schema's metadata, as ``datasets`` writes it
(``ClassLabel``).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.errors import UsageError
from corpora.ner.columns import Indices, Tags, begins_of
from corpora.ner.found import Origin, PartSentences
from corpora.ner.layout import FileLayout
from corpora.system.parsing import parse_json

TOKENS = ("tokens", "words")
TAGS = ("ner_tags", "tags", "ner", "labels")
INNER = ("inner_ner_tags", "nested_ner_tags", "ner_nested_tags", "inner_tags")
ROWS = 4096


def parquet_layout(path: Path, *, name: str) -> FileLayout:
    """Find the columns; raises ``UsageError`` without columns of tokens and named tags."""
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{name}: cannot be read as Parquet ({error}).") from error
    tokens, tags, inner = (_first(schema, names) for names in (TOKENS, TAGS, INNER))
    if tokens is None or tags is None:
        raise UsageError(
            f"{name}: has the columns {', '.join(schema.names)}, but none of tokens "
            f"({', '.join(TOKENS)}) and of tags ({', '.join(TAGS)}). Rename them."
        )
    for column in (tags, *([inner] if inner is not None else [])):
        if _is_number(schema.field(column).type) and not class_names(schema, column):
            raise UsageError(
                f"{name}: {schema.names[column]} are numbers without names. Save it with datasets, "
                "as ClassLabel, or with names."
            )
    return FileLayout(format="parquet", token=tokens, tag=tags, inner=inner)


def _first(schema: pa.Schema, names: Sequence[str]) -> int | None:
    for name in names:
        if name in schema.names and pa.types.is_list(schema.field(name).type):
            return int(schema.names.index(name))
    return None


def _is_number(type: pa.ListType) -> bool:
    return bool(pa.types.is_integer(type.value_type))


def class_names(schema: pa.Schema, column: int) -> tuple[str, ...]:
    """Return the names for a column of numbers; empty if the metadata has none."""
    raw = (schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        feature = parse_json(raw)["info"]["features"][schema.names[column]]
    except (ValueError, KeyError, TypeError):  # foreign metadata may be anything
        return ()
    while isinstance(feature, Mapping):
        if "names" in feature:
            return tuple(map(str, feature["names"]))
        feature = feature.get("feature")
    return ()


def read_parquet(path: Path, layout: FileLayout, origin: Origin) -> Iterator[PartSentences]:
    """Read some thousand rows at once, with ``id``, ``document_id`` and ``token_starts``."""
    import pyarrow.parquet as pq

    n_before = 0
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        for batch in file.iter_batches(ROWS):
            yield _found(batch, schema, layout, n_before=n_before, origin=origin)
            n_before += batch.num_rows


def _found(
    batch: pa.RecordBatch, schema: pa.Schema, layout: FileLayout, *, n_before: int, origin: Origin
) -> PartSentences:
    lengths, n_tags = (np.diff(begins_of(batch.column(i))) for i in (layout.token, layout.tag))
    is_bad = (lengths != n_tags) | (lengths == 0)
    what = "not one tag for each token. Fix the row."
    rejected = [
        origin.reject(n_before + row + 1, "columns", what=what)
        for row in np.flatnonzero(is_bad).tolist()
    ]
    rows = np.flatnonzero(~is_bad)
    batch = batch.take(pa.array(rows))
    names = batch.schema.names
    starts = batch.column("token_starts") if "token_starts" in names else None
    return PartSentences(
        tokens=batch.column(layout.token).flatten().cast(pa.string()),
        begins=begins_of(batch.column(layout.token)),
        tags=_tags(batch.column(layout.tag).flatten(), class_names(schema, layout.tag)),
        inner=_inner(batch, schema, layout, lengths=lengths[rows]),
        places=np.repeat(rows + n_before + 1, lengths[rows]),
        documents=_strings(batch, "document_id"),
        ids=_strings(batch, "id"),
        token_starts=None if starts is None else starts.cast(pa.list_(pa.int32())),
        rejected=rejected,
    )


def _tags(values: pa.Array, names: Sequence[str]) -> Tags:
    if pa.types.is_integer(values.type):
        return Tags(np.asarray(values.cast(pa.int32())), tuple(names))
    return Tags.of(values.cast(pa.string()))


def _inner(
    batch: pa.RecordBatch, schema: pa.Schema, layout: FileLayout, *, lengths: Indices
) -> Tags | None:
    """Return the second level of tags; ``_`` where a row has none."""
    if layout.inner is None:
        return None
    lists = batch.column(layout.inner)
    if lists.null_count == len(lists):
        return None
    tags = _tags(lists.flatten(), class_names(schema, layout.inner))
    is_valid = lists.is_valid().to_numpy(zero_copy_only=False)
    codes = np.full(int(lengths.sum()), len(tags.names), np.int32)
    codes[np.repeat(is_valid, lengths)] = tags.codes
    return Tags(codes, (*tags.names, "_"))


def _strings(batch: pa.RecordBatch, name: str) -> list[str]:
    if name not in batch.schema.names or not pa.types.is_string(batch.schema.field(name).type):
        return []
    values: list[str | None] = batch.column(name).to_pylist()
    return [value for value in values if value] if all(values) else []
