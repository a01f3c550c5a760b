"""Functions from documents to counts of entities and forms, and from these to a vocabulary."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
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
    read_partition,
)
from corpora.entities.equivalents import read_equivalents, read_items, read_language_links
from corpora.entities.vocabulary import read_vocab
from corpora.matching.form_table import FormTable, build_form_table
from corpora.runs.plan import Unit, named
from corpora.runs.record_errors import read_rows
from corpora.system.parsing import read_json
from corpora.system.writing import write_json
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.documents import read_documents, read_remaining

if TYPE_CHECKING:
    from pipelines.documents_to_entity_vocab import Options

EQUIVALENTS, FORMS, OCCURRENCES = "equivalents", "forms", "occurrences.npy"
FIRST_IDS = "first_ids.json"
"""The table with the number of the first form of each shard, and the number of all."""
ROWS_AT_ONCE = 1 << 14
COUNTED = (
    "id", "group", "lang", "title", "text", "paragraphs", "sentences", "mentions", "metadata",
)  # fmt: skip
_OF_ITEMS = ("group", "title", "metadata")
_OF_PAGES = ("id", "group", "title")


def find_equivalents(unit: Unit, _: "Options", run: Run) -> Iterator[Rows]:
    """Read which entities are equal: from a user's table, by links between wikis, or by items.

    Rows of ``equivalents``. The unit with the number of a table of links reads it.
    """
    langlinks = named("langlinks ", run.auxiliary)
    columns = _OF_PAGES if langlinks else _OF_ITEMS
    batches = read_documents(unit, columns=columns)
    if file := run.auxiliary.get("equivalents"):
        table = read_equivalents(file.check())
    elif langlinks:
        paths = [table_file.check() for table_file in langlinks]
        table = read_language_links(paths[unit.number], paths, batches)
    else:
        table = read_items(batches)
    parts = partitions_of(table.column("target"), run.n_units["merge"])
    yield from Rows.each("equivalents", by_partition(table, parts, schema="entity_equivalents"))


def index_equivalents(_: Unit, __: "Options", run: Run) -> Iterator[Counts]:
    """Write the equivalents as a table on disk, which all workers map into memory."""
    batches = read_shards(run.work.shards("equivalents"), SCHEMAS["entity_equivalents"])
    summary = build_table(run.work.tables / EQUIVALENTS, batches)
    yield Counts({"equivalents": summary.n_redirects})


def count_entities(unit: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts | Rejected]:
    """Count what mentions refer to, by form and origin, and list the pages of documents.

    Rows of ``counts`` and ``pages``, in partitions of the entities by hash. Documents that
    ``find_forms`` reads again are counted as written there.
    """
    has_table = options.has_equivalents
    merged = RedirectTable(run.work.tables / EQUIVALENTS) if has_table else None
    counter = MentionCounter(options.origins, equivalents=merged)
    for batch in read_documents(unit, columns=COUNTED):
        for rows, rejected in read_rows(batch, counter.add):
            n_written = 0 if options.has_link_probability else rows.num_rows
            yield rejected or Counts(read=rows.num_rows, written=n_written)
    for name, table in (("counts", counter.counts()), ("pages", counter.pages())):
        parts = partitions_of(table.column("entity"), run.n_units["merge"])
        yield from Rows.each(name, by_partition(table, parts, schema=f"entity_{name}"))
    yield Counts(counter.counters)


def sum_entities(unit: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Sum the counts of a partition of the entities, and find the page of each.

    Rows of ``counts``, ``pages`` and, if there are any, ``equivalents`` become rows of ``totals``
    and, in partitions of the forms by hash, ``entity_forms``.
    """
    work, number = run.work, unit.number
    counts = Sums(("entity", "form", "origin", "lang"))
    for table in read_partition(work.shards("counts"), number):
        counts.add(table)
    pages = read_partition(work.shards("pages"), number)
    equal = work.shards("equivalents") if options.has_equivalents else ()
    equivalents = read_partition(equal, number)
    merged = PartitionTotals(counts.table(), pages, equivalents, origins=options.origins)
    yield from Rows.each("totals", batches_of(merged.totals(), "entity_totals"))
    forms = merged.forms()
    parts = partitions_of(forms.column("form"), run.n_units["link"])
    yield from Rows.each("entity_forms", by_partition(forms, parts, schema="entity_forms"))
    yield Counts(merged.counters)


def choose_entities(_: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Choose the entities that the options keep, most frequent first, and assign ids: ``chosen``.

    Known entities keep the ids of an earlier vocabulary, if there is one. Rows come in the order of
    their ids.
    """
    rules = EntityLimits(
        min_count=options.min_count,
        max_size=options.max_size,
        existing=options.existing,
        min_languages=options.min_languages,
    )
    chosen, counters = choose(run.work.shards("totals"), rules)
    yield Counts(counters | {"entities.kept": len(chosen)})
    paths = [file.check() for file in named("previous ", run.auxiliary)]
    known = read_vocab(paths) if paths else None
    rows = assign_ids(chosen, known)
    yield from Rows.each("chosen", rows.to_batches(max_chunksize=ROWS_AT_ONCE))
    yield Counts({"entities.ids": len(rows)})
    if known is not None:
        yield Counts(count_changes(changes(rows, known)))


def count_links(unit: Unit, _: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Sum a partition of the forms: how often each form is linked, and to which entities.

    Rows of ``entity_forms`` become rows of ``forms`` and, in slices of the vocabulary by id, of
    ``aliases``.
    """
    counts = Sums(("entity", "form", "langs"))
    for table in read_partition(run.work.shards("entity_forms"), unit.number):
        counts.add(table)
    vocab = read_vocab(run.work.shards("chosen"))
    size = slice_size(len(vocab), run.n_units[""])
    forms, aliases = link_forms(counts.table(), vocab, size=size)
    yield from Rows.each("forms", batches_of(forms, "forms"))
    yield from Rows.each("aliases", aliases)
    yield Counts({"forms": len(forms), "aliases": sum(batch.num_rows for batch in aliases)})


def index_forms(_: Unit, options: "Options", run: Run) -> None:
    """Write forms that are counted as a table on disk, which all workers map into memory."""
    if not options.has_link_probability:
        return
    tables, shards = run.work.tables, run.work.shards("forms")
    build_form_table(tables / FORMS, read_forms(shards))
    write_json(tables / FIRST_IDS, first_ids(shards))


def find_forms(unit: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Find all forms in documents that ``count_entities`` did not reject; ``occurrences``."""
    columns = ("id", "lang", "text", "mentions")
    batches = read_remaining(unit, work=run.work, stage="count", columns=columns)
    return count_forms(batches, tables=run.work.tables, origins=options.origins)


def count_forms(
    batches: Iterable[pa.RecordBatch], *, tables: Path, origins: Sequence[str]
) -> Iterator[Rows | Counts]:
    """Count the occurrences of forms that are not mentions of ``origins``."""
    n_forms = read_json(tables / FIRST_IDS)[-1]
    counter, table = OccurrenceCounter(n_forms, origins=origins), FormTable(tables / FORMS)
    for lang, documents in chain.from_iterable(map(by_language, batches)):
        for rows, rejected in read_rows(documents, partial(counter.add, table=table, lang=lang)):
            yield Counts(rejected=[rejected]) if rejected else Counts(written=rows.num_rows)
    yield from Rows.each("occurrences", batches_of(counter.table(), "form_occurrences"))


def add_occurrences(_: Unit, __: "Options", run: Run) -> Iterator[Counts]:
    """Sum how often each form stands unlinked."""
    tables = run.work.tables
    n_forms = read_json(tables / FIRST_IDS)[-1]
    unlinked = sum_occurrences(run.work.shards("occurrences"), n_forms)
    np.save(tables / OCCURRENCES, unlinked)
    yield Counts({"forms.unlinked_occurrences": int(unlinked.sum())})


def add_aliases(unit: Unit, options: "Options", run: Run) -> Iterator[Rows]:
    """Add aliases to a slice of the entities, with priors and link probabilities.

    Rows of the vocabulary, from what ``count_links`` and ``add_occurrences`` wrote.
    """
    work = run.work
    rows = read_vocab(work.shards("chosen"))
    size = slice_size(len(rows), run.n_units[""])
    entities = rows.slice(unit.number * size, size)
    unlinked = None
    if options.has_link_probability:
        tables = work.tables
        unlinked = read_occurrences(tables / OCCURRENCES, read_json(tables / FIRST_IDS))
    aliases = work.shards("aliases")
    yield from Rows.each("", vocab_rows(entities, aliases, part=unit.number, unlinked=unlinked))
