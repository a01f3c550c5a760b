"""The entity vocabulary: its entities with their ids (given by ``choice.py``), and look-up.

An entity is ``SPACE:TITLE`` (``dawiki:Berlin``, ``gnd:118770950``). One that stands for pages of
several wikis has the names of all (``names``), and may be called after its item in Wikidata
(``wikidata:Q64``). Ids are dense: from 0 to the
number of rows, ``[PAD] [UNK] [MASK]`` first. A *retired* row keeps the id of an entity that is no
longer chosen.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpora.datasets.entity_names import names_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_shards

SPECIAL: Final = ("[PAD]", "[UNK]", "[MASK]")
PAD, UNK, MASK = range(3)
MASK2: Final = "[MASK2]"
"""A second mask, which the tokenizer of transformers needs; only in that export, one id past the
end."""
COLUMNS: Final = tuple(n for n in SCHEMAS["entities"].columns.names if n != "aliases")
_PARTS = r"^(?P<space>[^:]*):(?P<title>(?s:.*))$"
_WIKI = re.compile(r"wik(?:i(?:books|news|quote|source|versity|voyage)?|tionary)$")


class EntityVocab:
    """A published vocabulary, in memory: about 50 bytes per entity.

    Raises ``CorpusError`` where there is none. Retired rows have an id, but are not found by name.
    """

    def __init__(self, source: Path | str | tuple[Path, ...]) -> None:
        """Read the vocabulary from its folder, or from its shards in order."""
        shards = source if isinstance(source, tuple) else _shards_of(source)
        self.table = read_vocab(shards, columns=("id", "entity", "names", "count", "retired"))
        live = self.table.filter(pc.invert(self.table.column("retired"))).combine_chunks()
        self._names = self.table.column("entity").combine_chunks()
        rows, names = zip(
            *(each for batch in live.to_batches() for each in names_of(batch)), strict=True
        )
        self._live = pa.concat_arrays(names)
        self._ids = live.column("id").combine_chunks().take(pa.concat_arrays(rows))

    def __len__(self) -> int:
        """Return the number of ids: rows of the embedding table, with special and retired ones."""
        return len(self.table)

    def ids_of(self, entities: pa.StringArray) -> pa.Int32Array:
        """Return the id of each entity; null for a null or unknown one.

        Reads the vocabulary once (a million entities: 15 ms), so ask for many at a time.
        """
        asked = entities.dictionary_encode()
        places = pc.index_in(self._live, value_set=asked.dictionary)
        is_asked = np.asarray(pc.is_valid(places))
        ids = np.full(len(asked.dictionary), -1, np.int32)
        ids[np.asarray(places.drop_null())] = np.asarray(self._ids)[is_asked]
        return pa.array(ids, mask=ids < 0).take(asked.indices)

    def entity_of(self, id: int) -> str:
        """Return the entity of an id, retired or not; raises ``IndexError`` for an unknown id."""
        if not 0 <= id < len(self):
            raise IndexError(f"id {id}: the vocabulary has the ids 0 to {len(self) - 1}.")
        return str(self._names[id].as_py())


def _shards_of(folder: Path | str) -> tuple[Path, ...]:
    dataset = open_dataset(folder, "entities")
    return tuple(dataset.path / shard.name for shard in dataset.shards)


def read_vocab(shards: Iterable[Path], *, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """Read columns of a vocabulary in the order of ids; by default, all but the aliases."""
    batches = read_shards(shards, SCHEMAS["entities"], columns=columns)
    fields = [SCHEMAS["entities"].columns.field(name) for name in columns]
    return pa.Table.from_batches(batches, schema=pa.schema(fields)).combine_chunks()


def limited_ids(counts: NDArray[np.int64], min_count: int) -> NDArray[np.int32]:
    """Number the rows of a vocabulary again, by id, without those of a lower count; −1: left out.

    Special rows stay. With a ``min_count`` of 1, all rows do, also retired ones.
    """
    is_kept = (counts >= min_count) | (np.arange(len(counts)) < len(SPECIAL)) | (min_count <= 1)
    return np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)


def split_entities(entities: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Split ``SPACE:TITLE`` into both; an entity without a colon is all title."""
    if isinstance(entities, pa.ChunkedArray):
        entities = entities.combine_chunks()
    parts = pc.extract_regex(entities, _PARTS)
    space, title = (pc.struct_field(parts, name) for name in ("space", "title"))
    return pc.fill_null(space, ""), pc.coalesce(title, entities)


def language_of(space: str) -> str:
    """Return the language of a wiki (``zh_yuewiki``: ``zh-yue``).

    Other spaces are returned as is.
    """
    return _WIKI.sub("", space).replace("_", "-") if _WIKI.search(space) else space
