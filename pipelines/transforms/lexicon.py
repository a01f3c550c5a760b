"""Transforms from documents to symbols, from symbols to strings, and from strings to a lexicon.

Streams, windows and strings are written to shards. Tables over all of them are files in the work
directory of the run, which all workers memory-map.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from corpora.document import Rejected
from corpora.lexicon.known import KNOWN, in_both_scripts, read_known
from corpora.lexicon.ranking import Spelling, lexicon_rows, mark, rank, read_ranks
from corpora.lexicon.scores import fill_scores
from corpora.lexicon.stages import COLUMNS, SliceCounter, StringCounter, WindowDealer, read_windows
from corpora.lexicon.tables import (
    Strings,
    SymbolVocabulary,
    check_documents,
    write_strings,
    write_vocabulary,
)
from corpora.runs.plan import InputFile, Unit, named
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.documents import read_documents
from pipelines.transforms.stages import read_stage

if TYPE_CHECKING:
    from pipelines.documents_to_lexicon import LexiconSettings


def count_symbols(unit: Unit, settings: "LexiconSettings", _: Run) -> Iterator[Yield]:
    """Make streams of symbols from documents; count the symbols and the strings of a slice.

    Rows of ``streams``, ``symbols`` and ``totals``.
    """
    symbols, per = settings.symbols, settings.per
    counter = SliceCounter(symbols, per=per, longest=settings.max_length)
    for batch in read_documents(unit, columns=COLUMNS[symbols]):
        for rows, stream in read_rows(batch, counter.add):
            if isinstance(stream, Rejected):
                yield stream
            else:
                yield Rows("streams", stream)
                yield Counts(read=rows.num_rows, written=rows.num_rows)
    is_whole = per == "document"  # no other slice has symbols of these scopes
    yield Rows("symbols", counter.symbols(min_count=settings.min_count if is_whole else 1))
    yield Rows("totals", counter.totals())
    yield Counts(counter.counters)


def number_symbols(_: Unit, settings: "LexiconSettings", run: Run) -> Iterator[Rows | Counts]:
    """Assign numbers to all symbols; cut the strings into ranges by their first two symbols.

    Rows of ``firsts``. Fails where each document has a lexicon, and two documents have the same id.
    """
    work = run.work
    if settings.per == "document":
        check_documents(work.shards("totals"))
    work.tables.mkdir(exist_ok=True)
    firsts = write_vocabulary(
        work.tables,
        work.shards("streams"),
        symbols=work.shards("symbols"),
        totals=work.shards("totals"),
        min_count=settings.min_count,
    )
    yield from Rows.each("firsts", firsts.batches())
    yield Counts({"symbols.distinct": firsts.n_symbols - 2})


def deal_windows(unit: Unit, settings: "LexiconSettings", run: Run) -> Iterator[Rows]:
    """Distribute the windows of streams (the places where a string may begin) to ranges.

    Rows of ``windows``, range by range. It needs the symbols of ``number_symbols``.
    """
    dealer = WindowDealer(_vocabulary(run.folder), longest=settings.max_length)
    for batch in read_stage(unit, run, "streams"):
        dealer.add(batch)
    yield from Rows.each("windows", dealer.batches())


def count_strings(unit: Unit, settings: "LexiconSettings", run: Run) -> Iterator[Rows]:
    """Count the strings of the ranges of a unit, and the symbols around them; ``strings``.

    It needs the symbols of ``number_symbols``. Each unit has a part of the ranges.
    """
    vocabulary, n_parts = _vocabulary(run.folder), run.n_units[""]
    n_ranges = len(vocabulary.edges) + 1
    ranges = range(*(n_ranges * part // n_parts for part in (unit.number, unit.number + 1)))
    n_symbols = vocabulary.firsts.n_symbols
    counter = StringCounter(n_symbols=n_symbols, min_count=settings.min_count)
    windows = run.work.shards("windows")
    for window in read_windows(windows, ranges, longest=settings.max_length):
        yield from Rows.each("strings", counter.add(window))


def score_strings(_: Unit, settings: "LexiconSettings", run: Run) -> Iterator[Rows | Counts]:
    """Join the strings of all parts in one table on disk; score, mark and rank them: ``ranks``.

    Fails where there is no string.
    """
    work, vocabulary = run.work, _vocabulary(run.folder)
    write_strings(work.tables, work.shards("strings"), vocabulary, min_count=settings.min_count)
    strings = Strings(work.tables, mode="r+")
    fill_scores(strings, vocabulary.totals, score=settings.score)
    in_both = settings.in_both_scripts
    known, names = (
        _words(named(name, run.auxiliary), are_in_both_scripts=in_both)
        for name in ("known words", "names")
    )
    yield Counts(mark(strings, vocabulary, kind=settings.symbols, known=known, names=names))
    drop, demote = (sorted(set(marks)) for marks in (settings.drop, settings.demote))
    ranked = rank(strings, drop=drop, demote=demote, top=settings.top)
    yield from Rows.each("ranks", ranked.batches())
    yield Counts(ranked.counters)


def _words(files: Sequence[InputFile], *, are_in_both_scripts: bool) -> pa.Table:
    """Read a list of words, or none; raises ``InputChangedError`` where it has changed."""
    tables = [read_known(file.check()) for file in files]
    if are_in_both_scripts:
        tables = [in_both_scripts(words) for words in tables]
    return pa.concat_tables([KNOWN.empty_table(), *tables])


def make_lexicon(unit: Unit, settings: "LexiconSettings", run: Run) -> Iterator[Rows]:
    """Make the rows of the lexicon, from the part of a unit of what ``score_strings`` ranked.

    These are forms, counts, scores, ranks and flags.
    """
    strings = Strings(run.work.tables)
    forms = Spelling(strings, _vocabulary(run.folder))
    part, has_groups = (unit.number, run.n_units[""]), settings.per != "all"
    for ranked in read_ranks(run.work.shard("ranks", 0), part=part, n_rows=strings.n_candidates):
        yield Rows("", lexicon_rows(forms, ranked, has_groups=has_groups))


@lru_cache(maxsize=1)  # each worker reads it once
def _vocabulary(folder: str) -> SymbolVocabulary:
    work = WorkDirectory(folder)
    return SymbolVocabulary(work.tables, tuple(work.shards("firsts")))
