"""Tables on disk that the stages of a lexicon share; they are memory-mapped."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.entities.counts import Sums
from corpora.errors import CorpusError
from corpora.lexicon.counting import RANGE_WINDOWS, Firsts
from corpora.lexicon.streams import Ints
from corpora.system.parsing import read_json
from corpora.system.writing import write_text

CHUNK = 1 << 18
"""The number of strings that are processed at once."""
_COLUMNS = {
    **dict.fromkeys(("keys", "counts", "suffixes"), np.int64),
    **dict.fromkeys(("left", "right", "mi", "score"), np.float64),
    "inner": np.bool_,
    "flags": np.uint8,
}


@dataclass(frozen=True)
class SymbolVocabulary:
    """The symbols, scopes, totals and frequent symbols of all streams together."""

    folder: Path
    firsts_paths: tuple[Path, ...]

    @cached_property
    def symbols(self) -> list[str]:
        """All symbols, sorted and numbered from 1: ``OTHER`` (empty), ``LINE``, and others."""
        return self._strings("symbols")

    @cached_property
    def scopes(self) -> list[str]:
        """All scopes with a frequent symbol, sorted."""
        return self._strings("scopes")

    @cached_property
    def totals(self) -> Ints:
        """(scopes, lengths) the number of strings of 1, 2 … symbols in each scope."""
        return np.asarray(np.load(self.folder / "totals.npy"))

    @cached_property
    def edges(self) -> Ints:
        """The keys of two symbols at which ranges begin, except the first range."""
        return np.asarray(np.load(self.folder / "edges.npy"))

    @cached_property
    def firsts(self) -> Firsts:
        """The frequent symbols."""
        schema = SCHEMAS["lexicon_firsts"]
        batches = read_shards(self.firsts_paths, schema)
        table = pa.Table.from_batches(batches, schema=schema.columns)
        keys, counts = (table.column(name).to_numpy() for name in ("key", "count"))
        return Firsts(keys, counts, len(self.symbols) + 1)

    def _strings(self, name: str) -> list[str]:
        return list(read_json(self.folder / f"{name}.json"))


def write_vocabulary(
    folder: Path,
    streams: Sequence[Path],
    *,
    symbols: Sequence[Path],
    totals: Sequence[Path],
    min_count: int,
) -> Firsts:
    """Merge what the slices counted; holds the distinct symbols of each scope.

    Writes all of a ``SymbolVocabulary`` except the frequent symbols, which are returned.
    """
    distinct: pa.Array = pa.array(["", "\n"], pa.string())
    for batch in read_shards(streams, SCHEMAS["lexicon_streams"], columns=("symbols",)):
        own = pc.unique(batch.column(0).flatten())
        distinct = pc.unique(pa.concat_arrays([distinct, own]))
    distinct = distinct.take(pc.sort_indices(distinct))
    counted = _summed(symbols, "lexicon_symbols", ("scope", "symbol"))
    counted = counted.filter(pc.greater_equal(counted.column("count"), min_count))
    scopes = pc.unique(counted.column("scope").combine_chunks())
    scopes = scopes.take(pc.sort_indices(scopes))
    n_symbols = len(distinct) + 1
    of_scopes, of_symbols = (
        np.asarray(pc.index_in(counted.column(name), values)).astype(np.int64)
        for name, values in (("scope", scopes), ("symbol", distinct))
    )
    keys = of_scopes * n_symbols + of_symbols + 1
    order = np.argsort(keys)
    firsts = Firsts(keys[order], np.asarray(counted.column("count"))[order], n_symbols)
    for name, strings in (("symbols", distinct), ("scopes", scopes)):
        text = json.dumps(strings.to_pylist(), ensure_ascii=False)
        write_text(folder / f"{name}.json", [text])
    np.save(folder / "edges.npy", firsts.edges(RANGE_WINDOWS))
    np.save(folder / "totals.npy", _totals(totals, scopes))
    return firsts


def _summed(paths: Sequence[Path], schema: str, keys: tuple[str, ...]) -> pa.Table:
    sums = Sums(keys)
    for batch in read_shards(paths, SCHEMAS[schema]):
        sums.add(pa.Table.from_batches([batch]))
    return sums.table()


def check_documents(totals: Sequence[Path]) -> None:
    """Raise ``CorpusError`` where two documents have the same id, which names their scope."""
    table = _summed(totals, "lexicon_totals", ("scope", "length"))
    is_repeated = (pc.field("length") == 0) & (pc.field("count") > 1)
    if repeated := sorted(table.filter(is_repeated).column("scope").to_pylist()):
        raise CorpusError(
            f"--per document: more than one document has the id {repeated[0]!r}, and so it is with "
            f"{len(repeated) - 1:,} more. Choose datasets without duplicates, or --per group or "
            "all."
        )


def _totals(paths: Sequence[Path], scopes: pa.Array) -> Ints:
    """Return how many strings of each length each scope has, a row for each scope."""
    table = _summed(paths, "lexicon_totals", ("scope", "length"))
    table = table.filter(pc.greater(table.column("length"), 0))
    rows = pc.index_in(table.column("scope"), scopes)
    longest = pc.max(table.column("length")).as_py() or 0
    used = table.append_column("row", rows).filter(rows.is_valid())
    totals = np.zeros((len(scopes), longest), np.int64)
    of_row, lengths, counts = (np.asarray(used.column(n)) for n in ("row", "length", "count"))
    totals[of_row, lengths - 1] = counts
    return totals


Column = npt.NDArray[Any]
"""Any: some hold integers, some floats."""


Mode = Literal["r", "r+"]


class Strings:
    """A table of all frequent strings, by length, and those of a length in the order of symbols.

    A row is a string; its key is ``row of the string without its last symbol * n_symbols + last
    symbol``. So a string is found by one binary search for each of its symbols. The key of a single
    symbol has the number of its scope instead of a row. A row takes 65 bytes on disk.
    """

    def __init__(self, folder: Path, *, mode: Mode = "r") -> None:
        self.starts: list[int] = read_json(folder / "starts.json")
        """The first row of the strings of 1, 2 … symbols, and the number of rows."""
        self.n_symbols: int = self.starts.pop()
        self._columns: dict[str, Column] = {
            name: np.load(folder / f"string_{name}.npy", mmap_mode=mode) for name in _COLUMNS
        }

    def __getitem__(self, name: str) -> Column:
        """Return a column."""
        return self._columns[name]

    def level(self, length: int) -> slice:
        """Return the rows of the strings of a length."""
        return slice(self.starts[length - 1], self.starts[length])

    @property
    def longest(self) -> int:
        """The number of symbols of the longest strings."""
        return len(self.starts) - 1

    @property
    def n_candidates(self) -> int:
        """The number of strings of two symbols or more."""
        return self.starts[-1] - self.starts[1]

    def parents(self, rows: Ints) -> Ints:
        """Return the rows of the strings without their last symbol."""
        return np.asarray(self["keys"][rows] // self.n_symbols)

    def heads(self, rows: Ints, *, length: int) -> dict[int, Ints]:
        """Map 1, 2 … below ``length`` to the rows of the strings of so many first symbols."""
        heads = {}
        for size in range(length - 1, 0, -1):
            rows = heads[size] = self.parents(rows)
        return heads

    def tails(self, rows: Ints, *, length: int) -> dict[int, Ints]:
        """Map 1, 2 … below ``length`` to the rows of the strings of so many last symbols."""
        tails = {}
        for size in range(length - 1, 0, -1):
            rows = tails[size] = np.asarray(self["suffixes"][rows])
        return tails

    def chunks(self) -> Iterator[tuple[int, Ints]]:
        """Yield the rows of all candidates in chunks, each chunk with the length of its strings."""
        for length in range(2, self.longest + 1):
            level = self.level(length)
            for start in range(level.start, level.stop, CHUNK):
                yield length, np.arange(start, min(start + CHUNK, level.stop))

    def find(self, rows: Ints, symbols: Ints, *, length: int) -> Ints:
        """Find the rows of strings that are made of ``rows`` and a last symbol; all must exist."""
        level = self.level(length)
        keys = rows * self.n_symbols + symbols
        return np.asarray(level.start + np.searchsorted(self["keys"][level], keys))

    def symbols(self, rows: Ints, *, length: int) -> Ints:
        """Return the (length, N) array of the symbols of N strings of the same length."""
        columns = np.empty((length, len(rows)), np.int64)
        for place in range(length - 1, -1, -1):
            columns[place] = self["keys"][rows] % self.n_symbols
            rows = self.parents(rows)
        return columns

    def scopes(self, rows: Ints, *, length: int) -> Ints:
        """Return the scope of each of some strings of the same length."""
        for _ in range(length):
            rows = self.parents(rows)
        return rows


def write_strings(
    folder: Path, shards: Sequence[Path], vocabulary: SymbolVocabulary, *, min_count: int
) -> Strings:
    """Write the strings of all parts, which are in order, one after the other.

    Raises ``CorpusError`` where there is none.
    """
    firsts = vocabulary.firsts
    sizes = _sizes(shards)
    if not sizes:
        raise CorpusError(
            f"No string of the documents occurs {min_count} times. Lower --min-count, or choose "
            "more documents."
        )
    starts = [0, *np.cumsum([len(firsts.keys), *sizes]).tolist()]
    write_text(folder / "starts.json", [json.dumps([*starts, firsts.n_symbols])])
    for name, kind in _COLUMNS.items():
        np.lib.format.open_memmap(
            folder / f"string_{name}.npy", mode="w+", dtype=kind, shape=(starts[-1],)
        )
    strings = Strings(folder, mode="r+")
    strings["keys"][: len(firsts.keys)] = firsts.keys
    strings["counts"][: len(firsts.keys)] = firsts.counts
    strings["suffixes"][: len(firsts.keys)] = firsts.keys // firsts.n_symbols
    for length in range(2, strings.longest + 1):
        _write_level(strings, shards, length)
    return strings


def _write_level(strings: Strings, shards: Sequence[Path], length: int) -> None:
    at = strings.level(length).start
    before = strings.level(length - 1).start
    for shard in shards:
        for table in _read_level(shard, length):
            rows = slice(at, at + len(table))
            parents = np.asarray(table.column("parent")) + (before if length > 2 else 0)
            symbols = np.asarray(table.column("symbol"))
            strings["keys"][rows] = parents * strings.n_symbols + symbols
            for name, column in (
                ("counts", "count"),
                ("left", "left_entropy"),
                ("right", "right_entropy"),
                ("inner", "is_inner"),
            ):
                strings[name][rows] = table.column(column).to_numpy()
            suffixes = strings["suffixes"][parents]
            strings["suffixes"][rows] = strings.find(suffixes, symbols, length=length - 1)
            at = rows.stop
        if length > 2:
            before += sum(len(table) for table in _read_level(shard, length - 1))


def _read_level(shard: Path, length: int) -> Iterator[pa.Table]:
    """Read the batches of strings of a length; those of the ranges of a shard are mixed."""
    first = pa.ipc.IpcReadOptions(included_fields=[0])
    with (
        pa.memory_map(str(shard)) as source,
        pa.ipc.open_file(source, options=first) as lengths,
        pa.ipc.open_file(source) as reader,
    ):
        for number in range(reader.num_record_batches):
            if lengths.get_batch(number).column(0)[0].as_py() == length:
                yield pa.Table.from_batches([reader.get_batch(number)])


def _sizes(shards: Sequence[Path]) -> list[int]:
    """Count the strings of 2, 3 … symbols."""
    sizes: Counter[int] = Counter()
    for batch in read_shards(shards, SCHEMAS["lexicon_strings"], columns=("part",)):
        sizes[batch.column(0)[0].as_py()] += batch.num_rows
    return [sizes[length] for length in range(2, max(sizes, default=1) + 1)]
