"""Documents from batches of rows, and batches from documents, by columns.

A row as a dictionary takes ten times as long. Batches are checked by columns, too, so the checks of
the constructors are left out.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.rows import document_from_row
from corpora.datasets.schemas import SCHEMAS
from corpora.document import ORIGINS, Document, Mention, Paragraph, Span

_COLUMNS: Final = SCHEMAS["documents"].columns
_NESTED: Final = ("paragraphs", "sentences", "mentions", "categories", "metadata")
_Ints = npt.NDArray[np.int64]
_Read = Callable[[int, int], Iterable[object]]
_AT_ONCE = 512  # values that are objects before their owners are made: a cache holds them


def documents_of(batch: pa.RecordBatch) -> list[Document]:
    """Make the documents of a batch of a ``documents`` dataset.

    Raises ``InvalidDocumentError`` as the constructor of a document does.
    """
    if not _is_right(batch):
        return list(map(document_from_row, batch.to_pylist()))  # it says what is wrong
    is_collecting = gc.isenabled()
    gc.disable()  # among many new objects it would look for cycles again and again
    try:
        readers = (_reader(batch.column(name), name) for name in _COLUMNS.names)
        return list(_documents(*(read(0, len(batch)) for read in readers)))
    finally:
        if is_collecting:
            gc.enable()


def _reader(array: pa.Array, name: str = "") -> _Read:
    """Make a function that returns the values of a column from one row up to another.

    Equal strings are one object, except texts. ``name``: that of a column of documents.
    """
    if pa.types.is_list(array.type):
        return _list_reader(array, name)
    if array.null_count == len(array):
        return lambda start, end: [None] * (end - start)
    if pa.types.is_string(array.type) and name != "text":
        encoded = array.dictionary_encode()
        strings = np.array([*encoded.dictionary.to_pylist(), None], object)
        indices = encoded.indices
        places = (indices.fill_null(len(strings) - 1) if indices.null_count else indices).to_numpy()
        return lambda start, end: strings[places[start:end]].tolist()
    if array.null_count or name == "text":
        return lambda start, end: array.slice(start, end - start).to_pylist()
    numbers = array.to_numpy()
    return lambda start, end: numbers[start:end].tolist()


def _list_reader(array: pa.ListArray, name: str) -> _Read:
    """Make a function as above that returns tuples, or dictionaries for lists of pairs."""
    values, offsets = _values(array)
    columns = values.flatten() if pa.types.is_struct(values.type) else [values]
    readers, make = [_reader(column) for column in columns], _MAKE.get(name, zip)
    kind: Callable[..., object] = dict if make is zip else tuple
    begins, lengths = offsets.tolist(), np.diff(offsets).tolist()

    def read(start: int, end: int) -> Iterator[object]:
        places = range(begins[start], begins[end] + _AT_ONCE, _AT_ONCE)
        pieces = pairwise(min(place, begins[end]) for place in places)
        rest = chain.from_iterable(make(*(read(*piece) for read in readers)) for piece in pieces)
        return (kind(islice(rest, n)) if n else kind() for n in lengths[start:end])

    return read


def _twin(kind: type) -> Any:  # Any: a class with the fields of ``kind``
    """Make a class of which an object can become one of a frozen class, once its fields are set.

    Fields of a frozen class itself are set in twice the time.
    """
    plain = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    return type(kind.__name__, kind.__bases__, {**plain, "__slots__": vars(kind)["__slots__"]})


_Span, _Paragraph, _Mention, _Document = map(_twin, (Span, Paragraph, Mention, Document))


def _documents(*columns: Iterable[object]) -> Iterator[Document]:
    for values in zip(*columns, strict=True):
        document = _Document()
        document.id, document.group, document.source, document.lang, document.title = values[:5]
        document.url, document.revision, document.timestamp, document.license = values[5:9]
        document.text, document.paragraphs, document.sentences, document.mentions = values[9:13]
        document.categories, document.metadata = values[13:]
        document.__class__ = Document
        yield document


def _spans(*columns: Iterable[object]) -> Iterator[Span]:
    for start, end in zip(*columns, strict=True):
        span = _Span()
        span.start, span.end = start, end
        span.__class__ = Span
        yield span


def _paragraphs(*columns: Iterable[object]) -> Iterator[Paragraph]:
    for start, end, kind, level in zip(*columns, strict=True):
        paragraph = _Paragraph()
        paragraph.start, paragraph.end, paragraph.kind, paragraph.level = start, end, kind, level
        paragraph.__class__ = Paragraph
        yield paragraph


def _mentions(*columns: Iterable[object]) -> Iterator[Mention]:
    for start, end, entity, label, origin, score, attributes in zip(*columns, strict=True):
        mention = _Mention()
        mention.start, mention.end, mention.entity, mention.label = start, end, entity, label
        mention.origin, mention.score, mention.attributes = origin, score, attributes
        mention.__class__ = Mention
        yield mention


_MAKE: Final[Mapping[str, Callable[..., Iterable[object]]]] = {
    "paragraphs": _paragraphs,
    "sentences": _spans,
    "mentions": _mentions,
    "categories": iter,
}
"""Name of a column of lists to what makes the objects in them from their checked fields."""


def _values(lists: pa.ListArray) -> tuple[pa.Array, _Ints]:
    """Return the values of all lists in a column, and where each list begins and ends."""
    if not lists.null_count:
        offsets = lists.offsets.to_numpy().astype(np.int64)
        return lists.flatten(), offsets - offsets[0]
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return lists.flatten(), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _is_right(batch: pa.RecordBatch) -> bool:
    """Tell whether the rows are valid documents: what the constructors check."""
    lengths = pc.utf8_length(batch.column("text")).to_numpy()
    ids, categories = batch.column("id"), batch.column("categories").flatten()
    mentions, offsets = _values(batch.column("mentions"))
    columns = dict(zip((field.name for field in mentions.type), mentions.flatten(), strict=True))
    scores = columns["score"].drop_null().to_numpy()
    metadata = batch.column("metadata").flatten()
    attributes = columns["attributes"].flatten()
    return (
        not (pc.any(pc.equal(ids, "")).as_py() or categories.null_count)
        and not any(a.null_count for a in (*metadata.flatten()[:1], *attributes.flatten()[:1]))
        and {*columns["origin"].unique().to_pylist()} <= ORIGINS
        and bool(((scores >= 0) & (scores <= 1)).all())
        and all(_are_disjoint(*_values(batch.column(name)), lengths) for name in _NESTED[:2])
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
