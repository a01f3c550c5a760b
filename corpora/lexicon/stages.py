"""The stages of a lexicon on batches: from documents to streams, to windows, to counted strings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.lexicon.counting import StringWindows, by_range, count, joined, windows_of
from corpora.lexicon.streams import (
    LINE,
    Ids,
    Ints,
    Kind,
    ScopedText,
    SymbolStream,
    character_stream,
    n_grams_by_length,
    segment_lengths,
    word_stream,
)
from corpora.lexicon.tables import CHUNK, SymbolVocabulary

COLUMNS = {
    "characters": ("id", "group", "text"),
    "words": ("id", "group", "lang", "text", "sentences"),
}
"""The columns of ``documents`` that are read, by the kind of symbols."""


def _texts_of(batch: pa.RecordBatch, *, per: str) -> list[ScopedText]:
    """Read the texts of a batch of documents; ``per`` decides which share a scope."""
    names = batch.column("id" if per == "document" else "group").to_pylist()
    scopes = [""] * len(names) if per == "all" else names
    texts = batch.column("text").to_pylist()
    if "sentences" not in batch.schema.names:
        return [ScopedText(scope, text) for scope, text in zip(scopes, texts, strict=True)]
    columns = (batch.column(name).to_pylist() for name in ("lang", "sentences"))
    return [
        ScopedText(scope, text, lang, [(s["start"], s["end"]) for s in sentences or ()])
        for scope, text, lang, sentences in zip(scopes, texts, *columns, strict=True)
    ]


class SliceCounter:
    """A counter of the symbols of a slice of the documents, and of its strings by length."""

    def __init__(self, kind: Kind, *, per: str, longest: int) -> None:
        self._kind, self._per, self._longest = kind, per, longest
        self._symbols: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._totals: Counter[tuple[str, int]] = Counter()
        self.counters: Counter[str] = Counter()

    def add(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        """Count some documents; return their stream, a row of ``lexicon_streams``."""
        texts = _texts_of(documents, per=self._per)
        stream = character_stream(texts) if self._kind == "characters" else word_stream(texts)
        row = (stream.symbols, stream.scopes, stream.ends.tolist(), stream.ids.tobytes())
        batch = _batch("lexicon_streams", [row])  # may raise, so before anything is counted
        self._totals.update((text.scope, 0) for text in texts)
        begin = 0
        for scope, end in zip(stream.scopes, stream.ends.tolist(), strict=True):
            self._count(stream, scope, stream.ids[begin:end])
            begin = end
        return batch

    def _count(self, stream: SymbolStream, scope: str, ids: Ids) -> None:
        lengths = segment_lengths(ids)
        for length, n in enumerate(n_grams_by_length(lengths, self._longest), 1):
            self._totals[scope, length] += n
        numbers, counts = np.unique(ids, return_counts=True)
        found = zip(numbers.tolist(), counts.tolist(), strict=True)
        self._symbols[scope].update({stream.symbols[i - 1]: n for i, n in found if i > LINE})
        self.counters["symbols"] += int(lengths.sum())
        self.counters["segments"] += int(np.count_nonzero(lengths))

    def symbols(self, *, min_count: int) -> pa.RecordBatch:
        """Return ``scope, symbol, count`` of the symbols that occur ``min_count`` times or more."""
        rows = [
            (scope, symbol, n)
            for scope, counts in self._symbols.items()
            for symbol, n in counts.items()
            if n >= min_count
        ]
        return _batch("lexicon_symbols", rows)

    def totals(self) -> pa.RecordBatch:
        """Return ``scope, length, count``: strings of each length; length 0 counts texts."""
        rows = [(*key, n) for key, n in self._totals.items() if n]
        return _batch("lexicon_totals", rows)


def _batch(schema: str, rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = SCHEMAS[schema].columns
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    arrays = [pa.array(v, field.type) for v, field in zip(values, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


class WindowDealer:
    """A collector of the windows of a slice, by range."""

    def __init__(self, vocabulary: SymbolVocabulary, *, longest: int) -> None:
        self._vocabulary, self._longest = vocabulary, longest
        self._symbols = pa.array(vocabulary.symbols, pa.string())
        self._scopes = pa.array(vocabulary.scopes, pa.string())
        self._held: defaultdict[int, list[StringWindows]] = defaultdict(list)

    def add(self, streams: pa.RecordBatch) -> None:
        """Collect the windows of a stream."""
        vocabulary, n_symbols = self._vocabulary, len(self._symbols) + 1
        ids, scope_at = _numbered(streams, self._symbols, self._scopes)
        for windows in windows_of(ids, scope_at, vocabulary.firsts, longest=self._longest):
            for number, part in by_range(windows, vocabulary.edges, n_symbols=n_symbols):
                self._held[number].append(part)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the collected windows, a batch for each range, in order, and forget them."""
        for number in sorted(self._held):
            windows = joined(self._held.pop(number))
            row = (number, len(windows), windows.firsts.tobytes(), windows.around.tobytes())
            yield _batch("lexicon_windows", [row])


def _numbered(batch: pa.RecordBatch, symbols: pa.Array, scopes: pa.Array) -> tuple[Ids, Ints]:
    """Convert the symbols, and the scope of each place, to their numbers in the vocabulary."""
    [own_symbols, own_scopes] = (batch.column(name).flatten() for name in ("symbols", "scopes"))
    numbers = np.append(0, np.asarray(pa.compute.index_in(own_symbols, symbols)) + 1)
    ids = numbers.astype(np.uint32)[np.frombuffer(batch.column("ids")[0].as_buffer(), np.uint32)]
    scope_numbers = pa.compute.index_in(own_scopes, scopes).fill_null(-1)
    ends = np.asarray(batch.column("ends").flatten())
    return ids, np.repeat(np.asarray(scope_numbers).astype(np.int64), np.diff(ends, prepend=0))


def read_windows(
    paths: Sequence[Path], ranges: Iterable[int], *, longest: int
) -> Iterator[StringWindows]:
    """Read the windows of some ranges, range by range; ranges without windows are skipped."""
    blocks: defaultdict[int, list[tuple[Path, int]]] = defaultdict(list)  # shard and index of batch
    for path in paths:
        batches = read_batches(path, SCHEMAS["lexicon_windows"], columns=("part",))
        for place, batch in enumerate(batches):
            blocks[batch.column(0)[0].as_py()].append((path, place))
    for number in ranges:
        if number in blocks:
            yield joined(_read(*block, longest) for block in blocks[number])


def _read(path: Path, place: int, longest: int) -> StringWindows:
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
        batch = reader.get_batch(place)
    [size] = batch.column("size").to_pylist()
    firsts, around = (batch.column(name)[0].as_buffer() for name in ("firsts", "around"))
    kind = np.dtype(f"u{len(around) // (size * (longest + 1))}")
    numbers = np.frombuffer(around, kind).reshape(longest + 1, size)
    return StringWindows(np.frombuffer(firsts, np.uint32), numbers)


class StringCounter:
    """A counter of the strings of ranges, which must be added in order.

    The ``parent`` of a string of two symbols is the number of its first symbol. That of a longer
    string is the index of the string without its last symbol, among all strings of that length in
    these ranges.
    """

    def __init__(self, *, n_symbols: int, min_count: int) -> None:
        self._n_symbols, self._min_count = n_symbols, min_count
        self._n_before: Counter[int] = Counter()

    def add(self, windows: StringWindows) -> Iterator[pa.RecordBatch]:
        """Count the strings of a range; yield the frequent strings, the shorter first."""
        sizes = Counter(self._n_before)
        for level in count(windows, min_count=self._min_count, n_symbols=self._n_symbols):
            n = len(level.counts)
            shift = self._n_before[level.length - 1] if level.length > 2 else 0
            columns = [
                np.full(n, level.length, np.int32),
                level.parents + shift,
                level.symbols,
                level.counts,
                level.left,
                level.right,
                level.is_inner,
            ]
            table = pa.table(columns, schema=SCHEMAS["lexicon_strings"].columns)
            yield from table.to_batches(max_chunksize=CHUNK)
            sizes[level.length] += n
        self._n_before = sizes
