"""Transforms from documents to symbols, from symbols to strings, and from strings to a lexicon.

Streams, windows and strings are written to shards. Tables over all of them are files in the work
directory of the run, which all workers memory-map.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyarrow as pa

from corpora.document import Rejected
from corpora.lexicon.counting import Windows
from corpora.lexicon.known import KNOWN, in_both_scripts, read_known
from corpora.lexicon.ranking import Forms, RankedRows, lexicon_rows, mark, rank, read_ranks
from corpora.lexicon.scores import fill_scores
from corpora.lexicon.stages import (
    SliceCounter,
    StringCounter,
    WindowDealer,
    read_windows,
)
from corpora.lexicon.streams import Kind
from corpora.lexicon.tables import (
    Mode,
    Strings,
    Vocabulary,
    check_documents,
    write_strings,
    write_vocabulary,
)
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.elements import Merge, OfRun, PerUnit, ReadUnits


class CountSymbols(PerUnit[pa.RecordBatch, Yield]):
    """Make streams of symbols from documents; count the symbols and the strings.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Rejected | Counts]]``;
    rows of ``streams``, ``symbols`` and ``totals``.
    """

    symbols: Kind
    """The symbols that words are made of: characters or words of the text."""
    per: str
    """The scope of a lexicon: each ``document``, each ``group``, or ``all`` documents together."""
    max_length: int
    """The number of symbols of the longest candidate."""
    min_count: int
    """The minimal count of a candidate."""

    def start(self) -> None:
        """Begin a slice with empty counts."""
        self._counter = SliceCounter(self.symbols, per=self.per, longest=self.max_length)

    def process(self, documents: pa.RecordBatch) -> Iterator[Yield]:
        """Make the streams of documents, and count them."""
        for rows, stream in read_rows(documents, self._counter.add):
            if isinstance(stream, Rejected):
                yield stream
            else:
                yield Rows("streams", stream)
                yield Counts(read=rows.num_rows, written=rows.num_rows)

    def finish(self) -> Iterator[Yield]:
        """Yield the counts of the slice."""
        is_whole = self.per == "document"  # no other slice has symbols of these scopes
        yield Rows("symbols", self._counter.symbols(min_count=self.min_count if is_whole else 1))
        yield Rows("totals", self._counter.totals())
        yield Counts(self._counter.counters)


class NumberSymbols(Merge[Rows | Counts]):
    """Assign numbers to all symbols; cut the strings into ranges by their first two symbols.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Rows | Counts]]``; rows of ``firsts``. Fails
    where each document has a lexicon, and two documents have the same id.
    """

    per: str
    """The scope of a lexicon: ``document``, ``group`` or ``all``."""
    min_count: int
    """The minimal count of a candidate."""

    def merge(self) -> Iterator[Rows | Counts]:
        """Write the vocabulary of symbols of all slices."""
        work = self.work
        if self.per == "document":
            check_documents(work.shards("totals"))
        work.tables.mkdir(exist_ok=True)
        firsts = write_vocabulary(
            work.tables,
            work.shards("streams"),
            symbols=work.shards("symbols"),
            totals=work.shards("totals"),
            min_count=self.min_count,
        )
        yield from Rows.each("firsts", firsts.batches())
        yield Counts({"symbols.distinct": firsts.n_symbols - 2})


class DealWindows(OfRun, PerUnit[Rows, Rows]):
    """Distribute the windows of streams (the places where a string may begin) to ranges.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``; rows of ``windows``. It needs
    the symbols of ``NumberSymbols``.
    """

    max_length: int
    """The number of symbols of the longest candidate."""

    def start(self) -> None:
        """Open the vocabulary for a slice."""
        self._dealer = WindowDealer(_vocabulary(self.folder), longest=self.max_length)

    def process(self, streams: Rows) -> None:
        """Distribute the windows of streams."""
        self._dealer.add(streams.batch)

    def finish(self) -> Iterator[Rows]:
        """Yield the windows, range by range."""
        return Rows.each("windows", self._dealer.batches())


class ReadWindows(OfRun, ReadUnits[Windows]):
    """Read the windows of ranges, range by range; each unit has a part of the ranges.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Windows]]``
    """

    n_parts: int
    """The number of units."""
    max_length: int
    """The number of symbols of the longest candidate."""

    def read(self, unit: Unit) -> Iterator[Windows]:
        """Read the windows of all slices for the ranges of a unit."""
        n_ranges = len(_vocabulary(self.folder).edges) + 1
        begin, end = (n_ranges * part // self.n_parts for part in (unit.number, unit.number + 1))
        paths = self.work.shards("windows")
        yield from read_windows(paths, range(begin, end), longest=self.max_length)


class CountStrings(OfRun, PerUnit[Windows, Rows]):
    """Count the strings of ranges, and the symbols around them.

    ``PCollection[InUnit[Windows]]`` -> ``PCollection[InUnit[Rows]]``; rows of ``strings``. It needs
    the symbols of ``NumberSymbols``.
    """

    min_count: int
    """The minimal count of a candidate."""

    def start(self) -> None:
        """Begin a part of the ranges."""
        n_symbols = _vocabulary(self.folder).firsts.n_symbols
        self._counter = StringCounter(n_symbols=n_symbols, min_count=self.min_count)

    def process(self, windows: Windows) -> Iterator[Rows]:
        """Count the strings of a range."""
        return Rows.each("strings", self._counter.add(windows))


class JoinStrings(Merge[Counts]):
    """Join the strings of all parts in one table on disk.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit]``. Fails where there is no string.
    """

    min_count: int
    """The minimal count of a candidate, for the error message."""

    def merge(self) -> None:
        """Write the table."""
        strings, vocabulary = self.work.shards("strings"), _vocabulary(self.folder)
        write_strings(self.work.tables, strings, vocabulary, min_count=self.min_count)


class ScoreStrings(Merge[Counts]):
    """Compute mutual information and scores in the table of ``JoinStrings``.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit]``
    """

    score: str = "product"
    """A name in ``corpora.lexicon.scores.SCORES``."""

    def merge(self) -> None:
        """Score all strings."""
        totals = _vocabulary(self.folder).totals
        fill_scores(_strings(self.folder, mode="r+"), totals, score=self.score)


class MarkStrings(Merge[Counts]):
    """Mark known words, names, parts of words, compounds, and strings that end in a function word.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]``, after ``ScoreStrings``. A function
    word may also stand at the beginning.
    """

    symbols: Kind
    known: Sequence[InputFile] = ()
    """A list of known words, or none."""
    names: Sequence[InputFile] = ()
    """A list of names, or none."""
    in_both_scripts: bool = False
    """Whether spellings of these words in traditional Chinese are known, too."""

    def merge(self) -> Iterator[Counts]:
        """Mark all strings; raises ``InputChangedError`` where a list has changed."""
        strings, vocabulary = _strings(self.folder, mode="r+"), _vocabulary(self.folder)
        known, names = self._words(self.known), self._words(self.names)
        yield Counts(mark(strings, vocabulary, kind=self.symbols, known=known, names=names))

    def _words(self, files: Sequence[InputFile]) -> pa.Table:
        tables = [read_known(file.check()) for file in files]
        if self.in_both_scripts:
            tables = [in_both_scripts(words) for words in tables]
        return pa.concat_tables([KNOWN.empty_table(), *tables])


class RankStrings(Merge[Rows | Counts]):
    """Rank the strings of each lexicon by score.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Rows | Counts]]``, after ``MarkStrings``; rows
    of ``ranks``.
    """

    drop: Sequence[str] = ()
    """Marks: a string with one of them gets no rank."""
    demote: Sequence[str] = ()
    """Marks: for each of them that a string has, its score is halved."""
    top: float = 0.5
    """The fraction of the ranked strings, the best ones, that count as words."""

    def merge(self) -> Iterator[Rows | Counts]:
        """Rank all strings."""
        strings = _strings(self.folder, mode="r+")
        drop, demote = sorted(set(self.drop)), sorted(set(self.demote))
        ranked = rank(strings, drop=drop, demote=demote, top=self.top)
        yield from Rows.each("ranks", ranked.batches())
        yield Counts(ranked.counters)


class ReadRanks(OfRun, ReadUnits[RankedRows]):
    """Read the ranks of ``RankStrings``; each unit reads a part of them.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[RankedRows]]``
    """

    n_parts: int
    """The number of units."""

    def read(self, unit: Unit) -> Iterator[RankedRows]:
        """Read the part of a unit."""
        yield from read_ranks(
            self.work.shard("ranks", 0),
            part=(unit.number, self.n_parts),
            n_rows=_strings(self.folder).n_candidates,
        )


class MakeLexicon(OfRun, PerUnit[RankedRows, Rows]):
    """Make the rows of the lexicon: forms, counts, scores, ranks and flags.

    ``PCollection[InUnit[RankedRows]]`` -> ``PCollection[InUnit[Rows]]``
    """

    has_groups: bool = True
    """Whether there is more than one lexicon."""

    def start(self) -> None:
        """Open the strings and the vocabulary."""
        self._forms = Forms(_strings(self.folder), _vocabulary(self.folder))

    def process(self, ranked: RankedRows) -> Iterator[Rows]:
        """Make rows of the lexicon."""
        yield Rows("", lexicon_rows(self._forms, ranked, has_groups=self.has_groups))


@lru_cache(maxsize=1)  # each worker reads it once
def _vocabulary(folder: str) -> Vocabulary:
    work = WorkDirectory(folder)
    return Vocabulary(work.tables, tuple(work.shards("firsts")))


def _strings(folder: str, *, mode: Mode = "r") -> Strings:
    return Strings(WorkDirectory(folder).tables, mode=mode)
