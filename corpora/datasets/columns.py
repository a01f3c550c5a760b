"""Documents as columns, without an object for each document or mention.

``DocumentColumns`` collects documents and makes record batches of a ``documents`` dataset;
``MentionColumn`` is the column of mentions of such a batch, to be read and merged as arrays.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS

_SCHEMA = SCHEMAS["documents"].columns
_PAIRS = _SCHEMA.field("metadata").type
_MENTION = _SCHEMA.field("mentions").type.value_type
_LINKS = pa.list_(pa.struct([_MENTION.field(name) for name in ("start", "end", "entity")]))

Offsets = npt.NDArray[np.int32]


def ends_of(lists: pa.ListArray) -> Offsets:
    """Find the start of each list in ``lists.flatten()``, and the end of the last.

    ``lists`` may be a slice; a null is an empty list.
    """
    lengths = pa.compute.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


class _Lists:
    """A growing column of lists of structs."""

    def __init__(self, type: pa.ListType) -> None:
        self._type = type
        self.ends = [0]
        self.fields: list[list[object]] = [[] for _ in type.value_type]

    def add(self, structs: Sequence[tuple[object, ...]]) -> None:
        """Add a row; last fields that the structs lack are null."""
        self.add_columns(zip(*structs, strict=True) if structs else ())

    def add_columns(self, columns: Iterable[Sequence[object]]) -> None:
        """Add a row, as the values of each field; of no field if the list is empty."""
        for field, values in zip(self.fields, columns, strict=False):
            field.extend(values)
        length = len(self.fields[0])
        for field in self.fields:
            field.extend([None] * (length - len(field)))
        self.ends.append(length)

    def array(self) -> pa.ListArray:
        return list_array(self.ends, self.fields, self._type)


class DocumentColumns:
    """A collector of rows of a ``documents`` dataset; ``batch`` returns what was collected."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.n_characters = 0
        self._scalars: dict[str, list[str | None]] = {
            name: [] for name in _SCHEMA.names if pa.types.is_string(_SCHEMA.field(name).type)
        }
        self._lists = {
            name: _Lists(_SCHEMA.field(name).type)
            for name in ("paragraphs", "sentences", "metadata")
        }
        self._categories: list[Sequence[str]] = []
        self._links, self._attributes = _Lists(_LINKS), _Lists(_PAIRS)

    def __len__(self) -> int:
        return len(self._links.ends) - 1

    def add(
        self,
        scalars: Mapping[str, str | None],
        *,
        blocks: Sequence[tuple[int, int, str] | tuple[int, int, str, int | None]],
        sentences: Sequence[tuple[int, int]],
        links: Sequence[tuple[int, int, str, str]],
        metadata: Mapping[str, str],
        categories: Sequence[str] = (),
    ) -> None:
        """Add a document; ``links`` are start, end, entity and section, in reading order.

        Raises ``UnicodeEncodeError``, and adds nothing, where a string has lone surrogates, and
        ``KeyError`` where a scalar has no column.
        """
        if unknown := scalars.keys() - self._scalars.keys():
            raise KeyError(*sorted(unknown))
        starts, stops, entities, sections = zip(*links, strict=True) if links else [()] * 4
        strings = [*scalars.values(), *metadata, *metadata.values(), *entities, *sections]
        strings += categories
        "".join(filter(None, strings)).encode()
        for name, column in self._scalars.items():
            column.append(scalars.get(name))
        self.n_characters += len(scalars["text"] or "")
        self._lists["paragraphs"].add(blocks)
        self._lists["sentences"].add(sentences)
        self._lists["metadata"].add([*metadata.items()])
        self._categories.append(categories)
        self._links.add_columns((starts, stops, entities))
        self._add_attributes(sections)

    def _add_attributes(self, sections: Sequence[str]) -> None:
        """Add a row of attributes for each link: its section, if it has one."""
        names, values = self._attributes.fields
        ends = accumulate(map(bool, sections), initial=len(names))
        self._attributes.ends.extend(islice(ends, 1, None))
        given = list(filter(None, sections))
        names += ["section"] * len(given)
        values += given

    def batch(self) -> pa.RecordBatch:
        """Return the collected rows as a batch, and start an empty one."""
        columns: dict[str, pa.Array] = {
            name: pa.array(values, pa.string()) for name, values in self._scalars.items()
        }
        columns |= {name: lists.array() for name, lists in self._lists.items()}
        columns["categories"] = pa.array(self._categories, _SCHEMA.field("categories").type)
        links = self._links.array()
        starts, stops, entities = links.values.flatten()
        mentions = mention_array(starts, stops, entities, origins=pa.repeat("link", len(starts)))
        mentions = with_field(mentions, "attributes", self._attributes.array())
        columns["mentions"] = pa.ListArray.from_arrays(links.offsets, mentions)
        self._clear()
        return pa.RecordBatch.from_arrays(
            [columns[name].cast(_SCHEMA.field(name).type) for name in _SCHEMA.names], schema=_SCHEMA
        )


def batch_of(
    schema: str, columns: Iterable[Sequence[object] | npt.NDArray[np.generic]]
) -> pa.RecordBatch:
    """Build a batch from the values of its columns; ``schema`` names the kind of dataset."""
    fields = SCHEMAS[schema].columns
    arrays = [pa.array(values, of.type) for of, values in zip(fields, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=fields)


def list_array(
    ends: Sequence[int] | Offsets, fields: Sequence[Sequence[object] | pa.Array], type: pa.ListType
) -> pa.ListArray:
    """Build a column of lists of structs; ``ends`` begins with 0 and has rows + 1 elements."""
    value_type = type.value_type
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values, value_type.field(i).type)
        for i, values in enumerate(fields)
    ]
    structs = pa.StructArray.from_arrays(arrays, fields=list(value_type))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs)


def mention_array(
    starts: Sequence[int] | Offsets,
    stops: Sequence[int] | Offsets,
    entities: Sequence[str | None] | pa.Array,
    *,
    origins: Sequence[str] | pa.Array,
) -> pa.StructArray:
    """Build structs of mentions without label, score and attributes."""
    n = len(starts)
    if not isinstance(entities, pa.Array):
        entities = pa.array(entities, pa.string())
    if not isinstance(origins, pa.Array):
        origins = pa.array(origins, pa.string())
    arrays = [
        pa.array(starts, pa.int32()),
        pa.array(stops, pa.int32()),
        entities,
        pa.nulls(n, pa.string()),
        origins,
        pa.nulls(n, pa.float32()),
        pa.ListArray.from_arrays(
            pa.array(np.zeros(n + 1, np.int32)), pa.nulls(0, _PAIRS.value_type)
        ),
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(_MENTION))


def with_field(structs: pa.StructArray, name: str, values: pa.Array) -> pa.StructArray:
    """Replace a field of structs that have no nulls."""
    type = structs.type
    arrays = [
        values if type.field(i).name == name else structs.field(i) for i in range(type.num_fields)
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(type))


@dataclass(frozen=True, slots=True)
class MentionColumn:
    """The mentions of a batch of documents: one array of structs, and offsets into it."""

    structs: pa.StructArray
    ends: Offsets
    """Offsets into ``structs``, from 0: document ``i`` has ``structs[ends[i] : ends[i + 1]]``."""

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "MentionColumn":
        """Read the mentions of a batch of documents."""
        return cls.of_column(batch.column("mentions"))

    @classmethod
    def of_column(cls, column: pa.ListArray) -> "MentionColumn":
        """Read the mentions of a column."""
        return cls(column.flatten(), ends_of(column))

    def numbers(self, name: str) -> Offsets:
        """Return a field of the mentions, ``start`` or ``end``, as an array."""
        return np.asarray(self.structs.field(name), np.int32)

    def merged(self, documents: Offsets, added: pa.StructArray) -> "MentionColumn":
        """Add mentions to the documents of the given indices, and sort all into reading order."""
        of = np.concatenate(
            [np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends)), documents]
        )
        structs = pa.concat_arrays([self.structs, added])
        starts, stops = (
            structs.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end")
        )
        order = np.lexsort((-stops, starts, of))
        counts = np.bincount(of, minlength=len(self.ends) - 1)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return MentionColumn(structs.take(pa.array(order)), ends)

    def column(self) -> pa.ListArray:
        """Return the mentions as a column of lists, one list for each document."""
        return pa.ListArray.from_arrays(pa.array(self.ends, pa.int32()), self.structs)


def with_mentions(batch: pa.RecordBatch, mentions: MentionColumn) -> pa.RecordBatch:
    """Replace the mentions of a batch of documents."""
    type = batch.schema.field("mentions").type
    return with_columns(batch, {"mentions": mentions.column().cast(type)})


def with_columns(
    batch: pa.RecordBatch, columns: Mapping[str, Sequence[object] | pa.Array]
) -> pa.RecordBatch:
    """Replace columns of a batch; names that the batch does not have are ignored."""
    columns = {name: batch.column(name) for name in batch.schema.names} | dict(columns)
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values, type)
        for type, values in ((field.type, columns[field.name]) for field in batch.schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
