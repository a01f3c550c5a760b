"""Documents to counts of words, and these to the pieces of a tokenizer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from corpora.document import Rejected
from corpora.entities.counts import by_part, parts_of
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_rows
from corpora.tokenization.learning import Rules, learn, limited, measure, piece_rows
from corpora.tokenization.word_counts import CharacterCounts, WordCounter, WordTable, WordTotals
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import PerUnit, Work
from pipelines.transforms.stages import StageShards


@dataclass(kw_only=True, eq=False)
class CountWords(PerUnit[pa.RecordBatch, Rows | Counts | Rejected]):
    """Count words as BERT cuts them; of words of one part, counts stand together.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Counts | Rejected]]``:
    batches with the column ``text`` become rows of ``counts``.
    """

    cased: bool = False
    n_parts: int = 1
    """Parts that words are cut into by hash, so that each can be added up by itself."""
    takes = pa.RecordBatch

    def begin(self, unit: Unit) -> Work[pa.RecordBatch, Rows | Counts | Rejected]:  # noqa: ARG002 - all are alike
        """Begin a unit."""
        return _CountWords(WordCounter(cased=self.cased), self.n_parts)


@dataclass(frozen=True, slots=True)
class _CountWords:
    counter: WordCounter
    n_parts: int

    def process(self, batch: pa.RecordBatch) -> Iterator[Counts | Rejected]:
        for rows, made in read_rows(batch, self._add):
            if isinstance(made, Rejected):
                yield made
            else:
                yield Counts(read=rows.num_rows, written=rows.num_rows)

    def _add(self, rows: pa.RecordBatch) -> None:
        self.counter.add(rows.column("text").to_pylist())

    def finish(self) -> Iterator[Rows]:
        table = self.counter.table()
        parts = parts_of(table.column("word"), self.n_parts)
        for rows in by_part(table, parts, schema="word_counts"):
            yield Rows("counts", rows)


@dataclass(kw_only=True, eq=False)
class SumWords(PerUnit[Rows, Rows]):
    """Add up counts of words.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``: rows of ``counts`` become rows
    of ``totals``, in the order of the words.
    """

    takes = Rows

    def begin(self, unit: Unit) -> Work[Rows, Rows]:  # noqa: ARG002 - all are alike
        """Begin a unit."""
        return _SumWords()


@dataclass(frozen=True, slots=True)
class _SumWords:
    totals: WordTotals = field(default_factory=WordTotals)

    def process(self, rows: Rows) -> tuple[()]:
        self.totals.add(pa.Table.from_batches([rows.batch]))
        return ()

    def finish(self) -> Iterator[Rows]:
        for batch in self.totals.batches():
            yield Rows("totals", batch)


@dataclass(frozen=True, slots=True)
class LearnedPieces:
    """A vocabulary, and what it was learned from."""

    pieces: Sequence[str]
    """In the order of their ids."""
    words: WordTable
    characters: CharacterCounts
    rules: Rules


@dataclass(kw_only=True, eq=False)
class LearnPieces(PerUnit[StageShards, LearnedPieces]):
    """Learn a vocabulary from the counts of all words.

    ``PCollection[InUnit[StageShards]]`` -> ``PCollection[InUnit[LearnedPieces]]``; the shards are
    those of ``totals``, which are read more than once.
    """

    rules: Rules
    takes = StageShards

    def begin(self, unit: Unit) -> Work[StageShards, LearnedPieces]:  # noqa: ARG002 - there is but one
        """Begin it."""
        return _LearnPieces(self.rules)


@dataclass(frozen=True, slots=True)
class _LearnPieces:
    rules: Rules

    def process(self, totals: StageShards) -> Iterator[LearnedPieces]:
        words = WordTable(totals.paths)
        rules = limited(self.rules, words)
        characters = CharacterCounts.of(words)
        yield LearnedPieces(learn(words, characters, rules), words, characters, rules)

    def finish(self) -> tuple[()]:
        return ()


@dataclass(kw_only=True, eq=False)
class CountPieces(PerUnit[LearnedPieces, Rows | Counts]):
    """Cut all words that were counted into the pieces of a vocabulary, and count these.

    ``PCollection[InUnit[LearnedPieces]]`` -> ``PCollection[InUnit[Rows | Counts]]``
    """

    takes = LearnedPieces

    def begin(self, unit: Unit) -> Work[LearnedPieces, Rows | Counts]:  # noqa: ARG002 - there is but one
        """Begin it."""
        return _CountPieces()


@dataclass(frozen=True, slots=True)
class _CountPieces:
    def process(self, of: LearnedPieces) -> Iterator[Rows | Counts]:
        measured = measure(of.words, of.characters, of.pieces, rules=of.rules)
        yield Rows("", piece_rows(of.pieces, measured.counts))
        yield Counts(measured.counters)

    def finish(self) -> tuple[()]:
        return ()
