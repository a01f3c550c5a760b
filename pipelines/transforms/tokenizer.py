"""Transforms from documents to counts of words, and from these to subwords of a tokenizer."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from corpora.document import Rejected
from corpora.entities.counts import Sums, by_partition, partitions_of, read_partition
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_rows
from corpora.tokenization.learning import learn, limited, measure, subword_rows
from corpora.tokenization.word_counts import CharacterCounts, WordCounter, WordTable, total_batches
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.documents import read_documents

if TYPE_CHECKING:
    from pipelines.documents_to_tokenizer import Options


def count_words(unit: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts | Rejected]:
    """Count words of documents as BERT's pre-tokenizer cuts them.

    Rows of ``counts``, in partitions of the words by hash; each can be summed by itself.
    """
    counter = WordCounter(cased=options.cased)

    def add(rows: pa.RecordBatch) -> None:
        counter.add(rows.column("text").to_pylist())

    for batch in read_documents(unit, columns=("id", "text")):
        for rows, rejected in read_rows(batch, add):
            yield rejected or Counts(read=rows.num_rows, written=rows.num_rows)
    table = counter.table()
    parts = partitions_of(table.column("word"), run.n_units["merge"])
    yield from Rows.each("counts", by_partition(table, parts, schema="word_counts"))


def sum_words(unit: Unit, _: "Options", run: Run) -> Iterator[Rows]:
    """Sum counts of words; rows of ``totals``, in the order of the words."""
    totals = Sums(("word",))
    for table in read_partition(run.work.shards("counts"), unit.number):
        totals.add(table)
    yield from Rows.each("totals", total_batches(totals))


def learn_subwords(_: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Learn a vocabulary from the counts of all words, and count its subwords in them.

    The counts are the shards of ``totals``, which are read more than once.
    """
    words = WordTable(run.work.shards("totals"))
    rules = limited(options.limits, words)
    characters = CharacterCounts.of(words)
    subwords = learn(words, characters, rules)
    counts, counters = measure(words, characters, subwords, rules=rules)
    yield Rows("", subword_rows(subwords, counts))
    yield Counts(counters)
