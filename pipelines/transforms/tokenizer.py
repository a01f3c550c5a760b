"""Transforms from documents to counts of words, and from these to subwords of a tokenizer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpora.document import Rejected
from corpora.entities.counts import Sums, by_partition, partitions_of
from corpora.runs.record_errors import read_rows
from corpora.tokenization.learning import Rules, learn, limited, measure, subword_rows
from corpora.tokenization.word_counts import CharacterCounts, WordCounter, WordTable, total_batches
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import PerUnit
from pipelines.transforms.stages import StageShards


class CountWords(PerUnit[pa.RecordBatch, Rows | Counts | Rejected]):
    """Count words as BERT's pre-tokenizer cuts them; counts are grouped by partition of the words.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Counts | Rejected]]``:
    batches with the column ``text`` become rows of ``counts``.
    """

    cased: bool = False
    n_partitions: int = 1
    """The number of partitions of the words, by hash; each can be summed by itself."""

    def start(self) -> None:
        """Begin with empty counts."""
        self._counter = WordCounter(cased=self.cased)

    def process(self, batch: pa.RecordBatch) -> Iterator[Counts | Rejected]:
        """Count the words of documents."""
        for rows, made in read_rows(batch, self._add):
            if isinstance(made, Rejected):
                yield made
            else:
                yield Counts(read=rows.num_rows, written=rows.num_rows)

    def _add(self, rows: pa.RecordBatch) -> None:
        self._counter.add(rows.column("text").to_pylist())

    def finish(self) -> Iterator[Rows]:
        """Yield the counts of the unit."""
        table = self._counter.table()
        parts = partitions_of(table.column("word"), self.n_partitions)
        yield from Rows.each("counts", by_partition(table, parts, schema="word_counts"))


class SumWords(PerUnit[Rows, Rows]):
    """Sum counts of words.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``: rows of ``counts`` become rows
    of ``totals``, in the order of the words.
    """

    def start(self) -> None:
        """Begin with empty sums."""
        self._totals = Sums(("word",))

    def process(self, rows: Rows) -> None:
        """Add rows to the sums."""
        self._totals.add(pa.Table.from_batches([rows.batch]))

    def finish(self) -> Iterator[Rows]:
        """Yield the sums."""
        yield from Rows.each("totals", total_batches(self._totals))


@dataclass(frozen=True, slots=True)
class LearnedSubwords:
    """A vocabulary of subwords, and the counts and rules that it was learned from."""

    subwords: Sequence[str]
    """The subwords, in the order of their ids."""
    words: WordTable
    characters: CharacterCounts
    rules: Rules


class LearnSubwords(PerUnit[StageShards, LearnedSubwords]):
    """Learn a vocabulary from the counts of all words.

    ``PCollection[InUnit[StageShards]]`` -> ``PCollection[InUnit[LearnedSubwords]]``; the shards are
    those of ``totals``, which are read more than once.
    """

    rules: Rules

    def process(self, totals: StageShards) -> Iterator[LearnedSubwords]:
        """Learn the vocabulary."""
        words = WordTable(totals.paths)
        rules = limited(self.rules, words)
        characters = CharacterCounts.of(words)
        yield LearnedSubwords(learn(words, characters, rules), words, characters, rules)


class CountSubwords(PerUnit[LearnedSubwords, Rows | Counts]):
    """Cut all counted words into the subwords of a vocabulary, and count the subwords.

    ``PCollection[InUnit[LearnedSubwords]]`` -> ``PCollection[InUnit[Rows | Counts]]``
    """

    def process(self, of: LearnedSubwords) -> Iterator[Rows | Counts]:
        """Count the subwords."""
        counts, counters = measure(of.words, of.characters, of.subwords, rules=of.rules)
        yield Rows("", subword_rows(of.subwords, counts))
        yield Counts(counters)
