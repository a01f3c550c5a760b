"""Functions from documents to counts of entities and forms, and from these to a vocabulary."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches, read_shards
from corpora.document import Rejected
from corpora.entities.aliases import (
    OccurrenceCounter,
    by_language,
    first_ids,
    link_forms,
    read_forms,
    read_occurrences,
    slice_size,
    sum_occurrences,
    vocab_rows,
)
from corpora.entities.choice import EntityLimits, assign_ids, changes, choose, count_changes
from corpora.entities.counts import (
    MentionCounter,
    PartitionTotals,
    Sums,
    batches_of,
    by_partition,
    partitions_of,
)
from corpora.entities.equivalents import read_equivalents, read_items, read_language_links
from corpora.entities.vocabulary import read_vocab
from corpora.matching.form_table import FormTable, build_form_table
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from corpora.system.parsing import read_json
from corpora.system.writing import write_json
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.documents import read_documents, read_remaining
from pipelines.transforms.stages import read_rows_of_partition

EQUIVALENTS, FORMS, OCCURRENCES = "equivalents", "forms", "occurrences.npy"
FIRST_IDS = "first_ids.json"
"""The table with the number of the first form of each shard, and the number of all."""
ROWS_AT_ONCE = 1 << 14
COUNTED = (
    "id", "group", "lang", "title", "text", "paragraphs", "sentences", "mentions", "metadata",
)  # fmt: skip
_OF_ITEMS = ("group", "title", "metadata")
_OF_PAGES = ("id", "group", "title")


def find_equivalents(
    unit: Unit, *, file: InputFile | None, n_partitions: int, langlinks: Sequence[InputFile]
) -> Iterator[Rows]:
    """Read which entities are equal: from a user's table, by links between wikis, or by items.

    Rows of ``equivalents``. ``n_partitions``: the number of partitions of the entities, by hash;
    ``langlinks``: tables of links between wikis: the unit with the number of one reads it.
    """
    columns = _OF_PAGES if langlinks else _OF_ITEMS
    batches = chain.from_iterable(
        read_batches(shard.check(), "documents", columns=columns) for shard in unit.inputs
    )
    if file:
        table = read_equivalents(file.check())
    elif langlinks:
        paths = [table_file.check() for table_file in langlinks]
        table = read_language_links(paths[unit.number], paths, batches)
    else:
        table = read_items(batches)
    parts = partitions_of(table.column("target"), n_partitions)
    yield from Rows.each("equivalents", by_partition(table, parts, schema="entity_equivalents"))


def index_equivalents(work: WorkDirectory) -> Iterator[Counts]:
    """Write the equivalents as a table on disk, which all workers map into memory."""
    batches = read_shards(work.shards("equivalents"), SCHEMAS["entity_equivalents"])
    summary = build_table(work.tables / EQUIVALENTS, batches)
    yield Counts({"equivalents": summary.n_redirects})


def count_entities(
    unit: Unit,
    *,
    origins: Sequence[str],
    equivalents: WorkDirectory | None = None,
    n_partitions: int = 1,
    are_read_again: bool = False,
) -> Iterator[Rows | Counts | Rejected]:
    """Count what mentions refer to, by form and origin, and list the pages of documents.

    Rows of ``counts`` and ``pages``. ``origins``: those of the mentions that are counted;
    ``equivalents``: the work directory where ``index_equivalents`` wrote its table, if it did;
    ``n_partitions``: the number of partitions of the entities, by hash; each can be summed by
    itself; ``are_read_again``: whether a later phase reads the documents again, and counts them as
    written.
    """
    merged = RedirectTable(equivalents.tables / EQUIVALENTS) if equivalents else None
    counter = MentionCounter(origins, equivalents=merged)
    for batch in read_documents(unit, columns=COUNTED):
        for rows, rejected in read_rows(batch, counter.add):
            n_written = 0 if are_read_again else rows.num_rows
            yield rejected or Counts(read=rows.num_rows, written=n_written)
    for name, table in (("counts", counter.counts()), ("pages", counter.pages())):
        parts = partitions_of(table.column("entity"), n_partitions)
        yield from Rows.each(name, by_partition(table, parts, schema=f"entity_{name}"))
    yield Counts(counter.counters)


def sum_entities(
    unit: Unit,
    *,
    work: WorkDirectory,
    datasets: Sequence[str],
    origins: Sequence[str],
    n_partitions: int = 1,
) -> Iterator[Rows | Counts]:
    """Sum the counts of a partition of the entities, and find the page of each.

    Rows of ``counts``, ``pages`` and, if they are among the ``datasets``, ``equivalents`` become
    rows of ``totals`` and ``entity_forms``. ``n_partitions``: that of the forms, by hash.
    """
    counts = Sums(("entity", "form", "origin", "lang"))
    others: dict[str, list[pa.Table]] = {"pages": [], "equivalents": []}
    for rows in read_rows_of_partition(unit, work=work, datasets=datasets):
        add = others[rows.dataset].append if rows.dataset in others else counts.add
        add(pa.Table.from_batches([rows.batch]))
    merged = PartitionTotals(counts.table(), *others.values(), origins=origins)
    yield from Rows.each("totals", batches_of(merged.totals(), "entity_totals"))
    forms = merged.forms()
    parts = partitions_of(forms.column("form"), n_partitions)
    yield from Rows.each("entity_forms", by_partition(forms, parts, schema="entity_forms"))
    yield Counts(merged.counters)


def choose_entities(
    _: Unit, *, work: WorkDirectory, rules: EntityLimits, previous: Sequence[InputFile] = ()
) -> Iterator[Rows | Counts]:
    """Choose the entities that rules keep, most frequent first, and assign ids: ``chosen``.

    Known entities keep the ids of an earlier vocabulary, if there is one; ``previous``: its shards.
    Rows come in the order of their ids.
    """
    chosen, counters = choose(work.shards("totals"), rules)
    yield Counts(counters | {"entities.kept": len(chosen)})
    paths = [file.check() for file in previous]
    known = read_vocab(paths) if paths else None
    rows = assign_ids(chosen, known)
    yield from Rows.each("chosen", rows.to_batches(max_chunksize=ROWS_AT_ONCE))
    yield Counts({"entities.ids": len(rows)})
    if known is not None:
        yield Counts(count_changes(changes(rows, known)))


def count_links(unit: Unit, *, work: WorkDirectory, n_partitions: int) -> Iterator[Rows | Counts]:
    """Sum a partition of the forms: how often each form is linked, and to which entities.

    Rows of ``entity_forms`` become rows of ``forms`` and ``aliases``. ``n_partitions``: the number
    of slices of the vocabulary, by id.
    """
    counts = Sums(("entity", "form", "langs"))
    for rows in read_rows_of_partition(unit, work=work, datasets=("entity_forms",)):
        counts.add(pa.Table.from_batches([rows.batch]))
    vocab = read_vocab(work.shards("chosen"))
    size = slice_size(len(vocab), n_partitions)
    forms, aliases = link_forms(counts.table(), vocab, size=size)
    yield from Rows.each("forms", batches_of(forms, "forms"))
    yield from Rows.each("aliases", aliases)
    yield Counts({"forms": len(forms), "aliases": sum(batch.num_rows for batch in aliases)})


def index_forms(work: WorkDirectory) -> None:
    """Write all forms as a table on disk, which all workers map into memory."""
    tables, shards = work.tables, work.shards("forms")
    build_form_table(tables / FORMS, read_forms(shards))
    write_json(tables / FIRST_IDS, first_ids(shards))


def find_forms(
    unit: Unit, *, work: WorkDirectory, stage: str, origins: Sequence[str]
) -> Iterator[Rows | Counts]:
    """Find all forms in documents that an earlier ``stage`` read and did not reject."""
    batches = read_remaining(
        unit, work=work, stage=stage, columns=("id", "lang", "text", "mentions")
    )
    return count_forms(batches, work=work, origins=origins)


def count_forms(
    batches: Iterable[pa.RecordBatch], *, work: WorkDirectory, origins: Sequence[str]
) -> Iterator[Rows | Counts]:
    """Count the occurrences of forms that are not mentions of ``origins``; ``occurrences``."""
    n_forms = read_json(work.tables / FIRST_IDS)[-1]
    counter, table = OccurrenceCounter(n_forms, origins=origins), FormTable(work.tables / FORMS)
    for lang, documents in chain.from_iterable(map(by_language, batches)):
        for rows, rejected in read_rows(documents, partial(counter.add, table=table, lang=lang)):
            yield Counts(rejected=[rejected]) if rejected else Counts(written=rows.num_rows)
    yield from Rows.each("occurrences", batches_of(counter.table(), "form_occurrences"))


def add_occurrences(work: WorkDirectory) -> Iterator[Counts]:
    """Sum how often each form stands unlinked."""
    tables = work.tables
    n_forms = read_json(tables / FIRST_IDS)[-1]
    unlinked = sum_occurrences(work.shards("occurrences"), n_forms)
    np.save(tables / OCCURRENCES, unlinked)
    yield Counts({"forms.unlinked_occurrences": int(unlinked.sum())})


def add_aliases(
    unit: Unit, *, work: WorkDirectory, n_partitions: int, with_link_probability: bool = True
) -> Iterator[Rows]:
    """Add aliases to a slice of the entities, with priors and link probabilities.

    Rows of the vocabulary, from what ``count_links`` and ``add_occurrences`` wrote.
    ``n_partitions``: the number of slices of one size, by id, one for each unit;
    ``with_link_probability``: whether these are computed; otherwise they are null.
    """
    rows = read_vocab(work.shards("chosen"))
    size = slice_size(len(rows), n_partitions)
    entities = rows.slice(unit.number * size, size)
    unlinked = None
    if with_link_probability:
        tables = work.tables
        unlinked = read_occurrences(tables / OCCURRENCES, read_json(tables / FIRST_IDS))
    aliases = work.shards("aliases")
    yield from Rows.each("", vocab_rows(entities, aliases, part=unit.number, unlinked=unlinked))
