"""Transforms from documents to counts of words, and from these to subwords of a tokenizer."""

from collections.abc import Iterator

import pyarrow as pa

from corpora.document import Rejected
from corpora.entities.counts import Sums, by_partition, partitions_of
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from corpora.tokenization.learning import Rules, learn, limited, measure, subword_rows
from corpora.tokenization.word_counts import CharacterCounts, WordCounter, WordTable, total_batches
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import PerUnit


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


def learn_subwords(_: Unit, *, work: WorkDirectory, rules: Rules) -> Iterator[Rows | Counts]:
    """Learn a vocabulary from the counts of all words, and count its subwords in them.

    The counts are the shards of ``totals``, which are read more than once.
    """
    words = WordTable(work.shards("totals"))
    rules = limited(rules, words)
    characters = CharacterCounts.of(words)
    subwords = learn(words, characters, rules)
    counts, counters = measure(words, characters, subwords, rules=rules)
    yield Rows("", subword_rows(subwords, counts))
    yield Counts(counters)
