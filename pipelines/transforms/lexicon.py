"""Transforms from documents to symbols, from symbols to strings, and from strings to a lexicon.

Streams, windows and strings are written to shards. Tables over all of them are files in the work
directory of the run, which all workers memory-map.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import pyarrow as pa

from corpora.document import Rejected
from corpora.lexicon.known import KNOWN, in_both_scripts, read_known
from corpora.lexicon.ranking import Spelling, lexicon_rows, mark, rank, read_ranks
from corpora.lexicon.scores import fill_scores
from corpora.lexicon.stages import COLUMNS, SliceCounter, StringCounter, WindowDealer, read_windows
from corpora.lexicon.streams import Kind
from corpora.lexicon.tables import (
    Mode,
    Strings,
    SymbolVocabulary,
    check_documents,
    write_strings,
    write_vocabulary,
)
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.documents import read_documents
from pipelines.transforms.stages import read_stage


def count_symbols(
    unit: Unit, *, symbols: Kind, per: str, max_length: int, min_count: int
) -> Iterator[Yield]:
    """Make streams of symbols from documents; count the symbols and the strings of a slice.

    Rows of ``streams``, ``symbols`` and ``totals``. ``symbols``: what words are made of: characters
    or words of the text; ``per``: the scope of a lexicon: each ``document``, each ``group``, or
    ``all`` documents together; ``max_length``: the number of symbols of the longest candidate;
    ``min_count``: the minimal count of a candidate.
    """
    counter = SliceCounter(symbols, per=per, longest=max_length)
    for batch in read_documents(unit, columns=COLUMNS[symbols]):
        for rows, stream in read_rows(batch, counter.add):
            if isinstance(stream, Rejected):
                yield stream
            else:
                yield Rows("streams", stream)
                yield Counts(read=rows.num_rows, written=rows.num_rows)
    is_whole = per == "document"  # no other slice has symbols of these scopes
    yield Rows("symbols", counter.symbols(min_count=min_count if is_whole else 1))
    yield Rows("totals", counter.totals())
    yield Counts(counter.counters)


def number_symbols(work: WorkDirectory, *, per: str, min_count: int) -> Iterator[Rows | Counts]:
    """Assign numbers to all symbols; cut the strings into ranges by their first two symbols.

    Rows of ``firsts``. Fails where each document has a lexicon, and two documents have the same id.
    ``per``: the scope of a lexicon: ``document``, ``group`` or ``all``. ``min_count``: the minimal
    count of a candidate.
    """
    if per == "document":
        check_documents(work.shards("totals"))
    work.tables.mkdir(exist_ok=True)
    firsts = write_vocabulary(
        work.tables,
        work.shards("streams"),
        symbols=work.shards("symbols"),
        totals=work.shards("totals"),
        min_count=min_count,
    )
    yield from Rows.each("firsts", firsts.batches())
    yield Counts({"symbols.distinct": firsts.n_symbols - 2})


def deal_windows(
    unit: Unit, *, work: WorkDirectory, streams: Mapping[str, str], max_length: int
) -> Iterator[Rows]:
    """Distribute the windows of streams (the places where a string may begin) to ranges.

    Rows of ``windows``, range by range. It needs the symbols of ``number_symbols``. ``streams``:
    their dataset, and its schema; ``max_length``: the number of symbols of the longest candidate.
    """
    dealer = WindowDealer(_vocabulary(work.address), longest=max_length)
    for rows in read_stage(unit, work=work, datasets=streams):
        dealer.add(rows.batch)
    yield from Rows.each("windows", dealer.batches())


def count_strings(
    unit: Unit, *, work: WorkDirectory, n_parts: int, max_length: int, min_count: int
) -> Iterator[Rows]:
    """Count the strings of the ranges of a unit, and the symbols around them; ``strings``.

    It needs the symbols of ``number_symbols``. ``n_parts``: the number of units, each of which has
    a part of the ranges; ``max_length``: the number of symbols of the longest candidate;
    ``min_count``: the minimal count of a candidate.
    """
    vocabulary = _vocabulary(work.address)
    n_ranges = len(vocabulary.edges) + 1
    ranges = range(*(n_ranges * part // n_parts for part in (unit.number, unit.number + 1)))
    counter = StringCounter(n_symbols=vocabulary.firsts.n_symbols, min_count=min_count)
    for windows in read_windows(work.shards("windows"), ranges, longest=max_length):
        yield from Rows.each("strings", counter.add(windows))


def join_strings(work: WorkDirectory, *, min_count: int) -> None:
    """Join the strings of all parts in one table on disk; fails where there is no string.

    ``min_count``: the minimal count of a candidate, for the error message.
    """
    strings, vocabulary = work.shards("strings"), _vocabulary(work.address)
    write_strings(work.tables, strings, vocabulary, min_count=min_count)


def score_strings(work: WorkDirectory, *, score: str = "product") -> None:
    """Compute mutual information and scores in the table of ``join_strings``.

    ``score``: a name in ``corpora.lexicon.scores.SCORES``.
    """
    totals = _vocabulary(work.address).totals
    fill_scores(_strings(work.address, mode="r+"), totals, score=score)


def mark_strings(
    work: WorkDirectory,
    *,
    symbols: Kind,
    known: Sequence[InputFile] = (),
    names: Sequence[InputFile] = (),
    are_in_both_scripts: bool = False,
) -> Iterator[Counts]:
    """Mark known words, names, parts of words, compounds, and strings that end in a function word.

    After ``score_strings``. A function word may also stand at the beginning. Raises
    ``InputChangedError`` where a list has changed.

    ``known``: a list of known words, or none. ``names``: a list of names, or none.
    ``are_in_both_scripts``: whether spellings of these words in traditional Chinese are known, too.
    """
    strings, vocabulary = _strings(work.address, mode="r+"), _vocabulary(work.address)
    words, of_names = (
        _words(each, are_in_both_scripts=are_in_both_scripts) for each in (known, names)
    )
    yield Counts(mark(strings, vocabulary, kind=symbols, known=words, names=of_names))


def _words(files: Sequence[InputFile], *, are_in_both_scripts: bool) -> pa.Table:
    tables = [read_known(file.check()) for file in files]
    if are_in_both_scripts:
        tables = [in_both_scripts(words) for words in tables]
    return pa.concat_tables([KNOWN.empty_table(), *tables])


def rank_strings(
    work: WorkDirectory, *, drop: Sequence[str] = (), demote: Sequence[str] = (), top: float = 0.5
) -> Iterator[Rows | Counts]:
    """Rank the strings of each lexicon by score.

    After ``mark_strings``; rows of ``ranks``. ``drop``: marks: a string with one of them gets no
    rank. ``demote``: marks: for each of them that a string has, its score is halved. ``top``: the
    fraction of the ranked strings, the best ones, that count as words.
    """
    strings = _strings(work.address, mode="r+")
    ranked = rank(strings, drop=sorted(set(drop)), demote=sorted(set(demote)), top=top)
    yield from Rows.each("ranks", ranked.batches())
    yield Counts(ranked.counters)


def make_lexicon(
    unit: Unit, *, work: WorkDirectory, n_parts: int, has_groups: bool = True
) -> Iterator[Rows]:
    """Make the rows of the lexicon, from the part of a unit of what ``rank_strings`` ranked.

    These are forms, counts, scores, ranks and flags. ``n_parts``: the number of units;
    ``has_groups``: whether there is more than one lexicon.
    """
    strings = _strings(work.address)
    forms = Spelling(strings, _vocabulary(work.address))
    ranks = work.shard("ranks", 0)
    for ranked in read_ranks(ranks, part=(unit.number, n_parts), n_rows=strings.n_candidates):
        yield Rows("", lexicon_rows(forms, ranked, has_groups=has_groups))


@lru_cache(maxsize=1)  # each worker reads it once
def _vocabulary(folder: str) -> SymbolVocabulary:
    work = WorkDirectory(folder)
    return SymbolVocabulary(work.tables, tuple(work.shards("firsts")))


def _strings(folder: str, *, mode: Mode = "r") -> Strings:
    return Strings(WorkDirectory(folder).tables, mode=mode)
