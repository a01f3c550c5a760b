"""Documents from batches of rows, and batches from documents, by columns.

A row as a dictionary takes ten times as long. Batches are checked by columns, too, so the checks of
the constructors are left out.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, defstruct
from msgspec.structs import force_setattr

from corpora.datasets.rows import document_from_row
from corpora.datasets.schemas import SCHEMAS
from corpora.document import ORIGINS, Document, Mention, Paragraph, Span

_COLUMNS: Final = SCHEMAS["documents"].columns
_SPANS: Final = {"paragraphs": Paragraph, "sentences": Span, "mentions": Mention}
_NESTED: Final = (*_SPANS, "categories", "metadata")
_UNIQUE: Final = {"id", "text", "title", "url", "revision", "timestamp"}
"""Columns in which few values are equal."""
_UNCHECKED: Final[dict[type[Struct], Callable[..., Struct]]] = {
    kind: defstruct(
        kind.__name__,
        [*kind.__annotations__],
        bases=kind.__bases__,
        namespace={"__post_init__": callable},
        frozen=True,
        gc=False,
    )
    for kind in (Span, Paragraph, Mention, Document)
}
"""Classes of the same form whose constructors check nothing."""
_Ints = npt.NDArray[np.int64]


def documents_of(batch: pa.RecordBatch) -> Iterator[Document]:
    """Make the documents of a batch of a ``documents`` dataset.

    Raises ``InvalidDocumentError`` as the constructor of a document does.
    """
    lists = {name: _values(batch.column(name)) for name in _NESTED}
    if not _is_right(batch, lists):
        return iter([*map(document_from_row, batch.to_pylist())])  # it says what is wrong
    is_collecting = gc.isenabled()
    gc.disable()  # among many new objects it would look for cycles again and again
    try:
        columns = {
            name: _parts(name, *lists[name])
            if name in lists
            else batch.column(name).to_pylist()
            if name in _UNIQUE
            else _objects(batch.column(name))
            for name in Document.__struct_fields__
        }
    finally:
        if is_collecting:
            gc.enable()
    return _documents(map(_UNCHECKED[Document], *columns.values()))


def _documents(things: Iterable[Struct]) -> Iterator[Document]:
    """Make documents of what their class without checks made, one by one."""
    for thing in things:
        force_setattr(thing, "__class__", Document)
        yield thing  # type: ignore[misc] # it is one now


def _parts(name: str, values: pa.Array, offsets: _Ints) -> Iterable[object]:
    """Make the spans, or categories, of a column; their tuples are made one by one."""
    if name == "metadata":
        return _maps(values, offsets)
    things = tuple(_objects(values) if name == "categories" else _made(_SPANS[name], values))
    borders = offsets.tolist()
    return map(things.__getitem__, map(slice, borders, borders[1:]))


def _made(kind: type[Struct], values: pa.StructArray) -> list[Struct]:
    """Make spans of a class by its fields, which are checked already."""
    columns = {
        field.name: _maps(*_values(column)) if pa.types.is_list(field.type) else _objects(column)
        for field, column in zip(values.type, values.flatten(), strict=True)
    }
    spans = [*map(_UNCHECKED[kind], *map(columns.__getitem__, kind.__struct_fields__))]
    any(map(force_setattr, spans, repeat("__class__"), repeat(kind)))  # all: each returns None
    return spans


def _values(lists: pa.ListArray) -> tuple[pa.Array, _Ints]:
    """Return the values of all lists in a column, and where each list begins and ends."""
    lengths = pc.list_value_length(lists)
    lengths = lengths.fill_null(0) if lists.null_count else lengths
    return lists.flatten(), np.append(0, np.cumsum(lengths.to_numpy(), dtype=np.int64))


def _objects(array: pa.Array) -> list[Any]:  # Any: Arrow does not tell Python types of columns
    """Return the values of a column of numbers or strings; equal strings are one object."""
    if array.null_count == len(array):
        return [None] * len(array)
    if pa.types.is_string(array.type):
        encoded = array.dictionary_encode()
        strings, places = encoded.dictionary.to_numpy(zero_copy_only=False), encoded.indices
        if array.null_count:
            strings, places = np.array([*strings, None]), places.fill_null(len(strings))
        return list(strings[places.to_numpy()].tolist())
    if array.null_count:
        return list(array.to_pylist())
    return list(array.to_numpy().tolist())


def _maps(pairs: pa.StructArray, offsets: _Ints) -> list[dict[str, str]]:
    rest = zip(*map(_objects, pairs.flatten()), strict=True)
    return [dict(islice(rest, n)) if n else {} for n in np.diff(offsets).tolist()]


def _is_right(batch: pa.RecordBatch, lists: Mapping[str, tuple[pa.Array, _Ints]]) -> bool:
    """Tell whether the rows are valid documents: what the constructors check."""
    lengths = pc.utf8_length(batch.column("text")).to_numpy()
    mentions, offsets = lists["mentions"]
    columns = dict(zip((field.name for field in mentions.type), mentions.flatten(), strict=True))
    scores = columns["score"].drop_null().to_numpy()
    metadata, attributes = lists["metadata"][0], columns["attributes"].flatten()
    return (
        not (pc.any(pc.equal(batch.column("id"), "")).as_py() or lists["categories"][0].null_count)
        and not any(a.null_count for a in (*metadata.flatten()[:1], *attributes.flatten()[:1]))
        and {*columns["origin"].unique().to_pylist()} <= ORIGINS
        and bool(((scores >= 0) & (scores <= 1)).all())
        and all(_are_disjoint(*lists[name], lengths) for name in _NESTED[:2])
        and _are_nested(mentions, offsets, lengths)
    )


def _ends(
    spans: pa.StructArray, offsets: _Ints, lengths: _Ints
) -> tuple[_Ints, _Ints, _Ints] | None:
    """Return start, end and document of each span; None where one is empty or leaves its text."""
    starts, ends = spans.flatten()[:2]
    if spans.null_count or starts.null_count or ends.null_count:
        return None
    first, last = (array.to_numpy().astype(np.int64) for array in (starts, ends))
    owners = np.repeat(np.arange(len(lengths)), np.diff(offsets))
    is_right = (first >= 0) & (first < last) & (last <= lengths[owners])
    return (first, last, owners) if is_right.all() else None


def _are_disjoint(spans: pa.StructArray, offsets: _Ints, lengths: _Ints) -> bool:
    if (ends := _ends(spans, offsets, lengths)) is None:
        return False
    first, last, owners = ends
    return not ((first[1:] < last[:-1]) & (owners[1:] == owners[:-1])).any()


def _are_nested(spans: pa.StructArray, offsets: _Ints, lengths: _Ints) -> bool:
    """Tell whether spans are in order and do not cross; few documents have spans that overlap."""
    if (ends := _ends(spans, offsets, lengths)) is None:
        return False
    first, last, owners = ends
    is_same, overlaps = owners[1:] == owners[:-1], first[1:] < last[:-1]
    is_later = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (last[1:] <= last[:-1]))
    if (is_same & ~is_later).any():
        return False
    for owner in np.unique(owners[1:][is_same & overlaps]).tolist():
        start, end = offsets[owner], offsets[owner + 1]
        if not _nest(first[start:end].tolist(), last[start:end].tolist()):
            return False
    return True


def _nest(starts: Sequence[int], ends: Sequence[int]) -> bool:
    around: list[int] = []
    for start, end in zip(starts, ends, strict=True):
        while around and around[-1] <= start:
            around.pop()
        if around and end > around[-1]:
            return False
        around.append(end)
    return True


def batch_of(documents: Sequence[Document]) -> pa.RecordBatch:
    """Make a batch of a ``documents`` dataset; raises ``pa.ArrowException`` and the like."""
    columns = {
        field.name: pa.array(list(map(attrgetter(field.name), documents)), field.type)
        for field in _COLUMNS
        if field.name not in _NESTED
    }
    for name in _NESTED[:4]:
        columns[name] = _list_array(list(map(attrgetter(name), documents)), _type(name))
    columns["metadata"] = _map_array([d.metadata for d in documents])
    return pa.RecordBatch.from_arrays([columns[name] for name in _COLUMNS.names], schema=_COLUMNS)


def _type(name: str) -> pa.DataType:
    return _COLUMNS.field(name).type.value_type


def _list_array(lists: Sequence[Sequence[object]], type: pa.DataType) -> pa.ListArray:
    flat = list(chain.from_iterable(lists))
    array = _structs(flat, type) if pa.types.is_struct(type) else pa.array(flat, type)
    return _in_lists(array, map(len, lists))


def _structs(values: Sequence[object], type: pa.StructType) -> pa.StructArray:
    columns = []
    for field in type:
        column = list(map(attrgetter(field.name), values))
        is_map = pa.types.is_list(field.type)
        columns.append(_map_array(column) if is_map else pa.array(column, field.type))
    return pa.StructArray.from_arrays(columns, fields=list(type))


def _map_array(maps: Sequence[Mapping[str, str]]) -> pa.ListArray:
    type = _type("metadata")
    filled = [values for values in maps if values]
    keys = pa.array([key for values in filled for key in values], pa.string())
    texts = pa.array([text for values in filled for text in values.values()], pa.string())
    return _in_lists(pa.StructArray.from_arrays([keys, texts], fields=list(type)), map(len, maps))


def _in_lists(values: pa.Array, lengths: Iterable[int]) -> pa.ListArray:
    offsets = np.cumsum([0, *lengths])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{offsets[-1]} values in the lists of a batch")
    field = pa.field("item", values.type)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=pa.list_(field))
