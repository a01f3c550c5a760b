"""Documents to counts of what their mentions refer to, and these to an entity vocabulary."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Rejected
from corpora.entities.aliases import (
    OccurrenceCounter,
    Slices,
    by_language,
    first_numbers,
    link_forms,
    read_forms,
    read_occurrences,
    sum_occurrences,
    vocab_rows,
)
from corpora.entities.choice import Rules, changes, choose, count_changes, number
from corpora.entities.counts import MentionCounter, PartTotals, Sums, batches_of, by_part, parts_of
from corpora.entities.exports import read_equivalents
from corpora.entities.vocabulary import read_vocab
from corpora.matching.form_table import FormTable, build_form_table
from corpora.runs.build import Scratch
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_rows
from corpora.wikipedia.redirects import RedirectTable, build_table
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import Merge, PerUnit, ReadUnits, Work
from pipelines.transforms.stages import StageShards

EQUIVALENTS, FORMS, OCCURRENCES = "equivalents", "forms", "occurrences.npy"
ROWS_AT_ONCE = 1 << 14


@dataclass(kw_only=True, eq=False)
class ReadEquivalents(ReadUnits[Rows]):
    """Read a table of entities that are the same.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows]]``; rows of ``equivalents``.
    """

    file: InputFile

    def read(self, unit: Unit) -> Iterator[Rows]:  # noqa: ARG002 - it has no input of its own
        """Read the file."""
        for batch in batches_of(read_equivalents(self.file.check()), "entity_equivalents"):
            yield Rows("equivalents", batch)


@dataclass(kw_only=True, eq=False)
class IndexEquivalents(Merge[Counts]):
    """Make the equivalents a table on disk, which all workers map into memory.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]``
    """

    folder: str
    """Of the run."""

    def merge(self) -> Iterator[Counts]:
        """Build it."""
        scratch = Scratch(Path(self.folder))
        [path] = scratch.shards("equivalents")
        batches = read_batches(path, SCHEMAS["entity_equivalents"])
        summary = build_table(scratch.tables / EQUIVALENTS, batches)
        yield Counts({"equivalents": summary.n_redirects})


@dataclass(kw_only=True, eq=False)
class CountEntities(PerUnit[pa.RecordBatch, Rows | Counts | Rejected]):
    """Count what mentions refer to, by form and origin, and list the pages of documents.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Counts | Rejected]]``:
    batches with the columns ``id, group, title, text, mentions`` become rows of ``counts`` and
    ``pages``.
    """

    origins: Sequence[str]
    """Of the mentions that count."""
    equivalents: str | None = None
    """Folder of the run, if ``IndexEquivalents`` has made a table in it."""
    n_parts: int = 1
    """Parts that entities are cut into by hash, so that each can be added up by itself."""
    are_read_again: bool = False
    """Whether a later phase says what becomes of the documents."""
    takes = pa.RecordBatch

    def begin(self, unit: Unit) -> Work[pa.RecordBatch, Rows | Counts | Rejected]:  # noqa: ARG002 - all are alike
        """Begin a unit."""
        merged = None
        if self.equivalents is not None:
            merged = RedirectTable(Scratch(Path(self.equivalents)).tables / EQUIVALENTS)
        return _CountEntities(self, MentionCounter(self.origins, equivalents=merged))


@dataclass(frozen=True, slots=True)
class _CountEntities:
    step: CountEntities
    counter: MentionCounter

    def process(self, batch: pa.RecordBatch) -> Iterator[Counts | Rejected]:
        for rows, made in read_rows(batch, self.counter.add):
            if isinstance(made, Rejected):
                yield made
            else:
                n_written = 0 if self.step.are_read_again else rows.num_rows
                yield Counts(read=rows.num_rows, written=n_written)

    def finish(self) -> Iterator[Rows | Counts]:
        for dataset, table in (("counts", self.counter.counts()), ("pages", self.counter.pages())):
            parts = parts_of(table.column("entity"), self.step.n_parts)
            for batch in by_part(table, parts, schema=f"entity_{dataset}"):
                yield Rows(dataset, batch)
        yield Counts(self.counter.counters)


@dataclass(kw_only=True, eq=False)
class SumEntities(PerUnit[Rows, Rows | Counts]):
    """Add up the counts of a part of the entities, and find the page of each.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows | Counts]]``: rows of ``counts`` and
    ``pages`` become rows of ``totals`` and ``entity_forms``.
    """

    origins: Sequence[str]
    """Of the mentions that count."""
    max_aliases: int | None = None
    """Forms of an entity that are aliases: the most frequent; None: all."""
    n_parts: int = 1
    """Parts that forms are cut into by hash."""
    takes = Rows

    def begin(self, unit: Unit) -> Work[Rows, Rows | Counts]:  # noqa: ARG002 - all are alike
        """Begin a unit."""
        return _SumEntities(self)


@dataclass(frozen=True, slots=True)
class _SumEntities:
    step: SumEntities
    counts: Sums = field(default_factory=lambda: Sums(("entity", "form", "origin")))
    pages: list[pa.Table] = field(default_factory=list)

    def process(self, rows: Rows) -> tuple[()]:
        table = pa.Table.from_batches([rows.batch])
        if rows.dataset == "pages":
            self.pages.append(table)
        else:
            self.counts.add(table)
        return ()

    def finish(self) -> Iterator[Rows | Counts]:
        merged = PartTotals(self.counts.table(), self.pages, origins=self.step.origins)
        for batch in batches_of(merged.totals(), "entity_totals"):
            yield Rows("totals", batch)
        forms = merged.forms(max_aliases=self.step.max_aliases)
        parts = parts_of(forms.column("form"), self.step.n_parts)
        for batch in by_part(forms, parts, schema="entity_forms"):
            yield Rows("entity_forms", batch)
        yield Counts(merged.counters)


@dataclass(frozen=True, slots=True)
class ChosenEntities:
    """The entities of a vocabulary, without ids: most frequent first."""

    table: pa.Table


@dataclass(kw_only=True, eq=False)
class ChooseEntities(PerUnit[StageShards, ChosenEntities | Counts]):
    """Choose the entities that rules keep.

    ``PCollection[InUnit[StageShards]]`` -> ``PCollection[InUnit[ChosenEntities | Counts]]``; the
    shards are those of ``totals``, which are read more than once.
    """

    rules: Rules
    takes = StageShards

    def begin(self, unit: Unit) -> Work[StageShards, ChosenEntities | Counts]:  # noqa: ARG002 - there is but one
        """Begin it."""
        return _ChooseEntities(self.rules)


@dataclass(frozen=True, slots=True)
class _ChooseEntities:
    rules: Rules

    def process(self, totals: StageShards) -> Iterator[ChosenEntities | Counts]:
        chosen, counters = choose(totals.paths, self.rules)
        yield ChosenEntities(chosen)
        yield Counts(counters | {"entities.kept": len(chosen)})

    def finish(self) -> tuple[()]:
        return ()


@dataclass(kw_only=True, eq=False)
class NumberEntities(PerUnit[ChosenEntities, Rows | Counts]):
    """Give ids to chosen entities: those that they had in an earlier vocabulary, if there is one.

    ``PCollection[InUnit[ChosenEntities]]`` -> ``PCollection[InUnit[Rows | Counts]]``; rows of
    ``chosen``, in the order of their ids.
    """

    previous: Sequence[InputFile] = ()
    """Shards of the earlier vocabulary."""
    compact: bool = False
    """Give new ids nevertheless, and tell what has changed."""
    takes = ChosenEntities

    def begin(self, unit: Unit) -> Work[ChosenEntities, Rows | Counts]:  # noqa: ARG002 - there is but one
        """Begin it."""
        return _NumberEntities(self)


@dataclass(frozen=True, slots=True)
class _NumberEntities:
    step: NumberEntities

    def process(self, chosen: ChosenEntities) -> Iterator[Rows | Counts]:
        paths = [file.check() for file in self.step.previous]
        previous = read_vocab(paths) if paths else None
        rows = number(chosen.table, previous, compact=self.step.compact)
        for batch in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
            yield Rows("chosen", batch)
        yield Counts({"entities.ids": len(rows)})
        if previous is not None:
            yield Counts(count_changes(changes(rows, previous)))

    def finish(self) -> tuple[()]:
        return ()


@dataclass(kw_only=True, eq=False)
class LinkForms(PerUnit[Rows, Rows | Counts]):
    """Add up a part of the forms: how often each is linked, and to which entities.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows | Counts]]``: rows of
    ``entity_forms`` become rows of ``forms`` and ``aliases``.
    """

    folder: str
    """Of the run, with the entities that ``NumberEntities`` gave ids."""
    n_parts: int = 1
    """Parts that the vocabulary is cut into, by id."""
    takes = Rows

    def begin(self, unit: Unit) -> Work[Rows, Rows | Counts]:  # noqa: ARG002 - all are alike
        """Begin a unit."""
        return _LinkForms(self)


@dataclass(frozen=True, slots=True)
class _LinkForms:
    step: LinkForms
    counts: Sums = field(default_factory=lambda: Sums(("entity", "form", "is_alias")))

    def process(self, rows: Rows) -> tuple[()]:
        self.counts.add(pa.Table.from_batches([rows.batch]))
        return ()

    def finish(self) -> Iterator[Rows | Counts]:
        vocab = read_vocab(Scratch(Path(self.step.folder)).shards("chosen"))
        slices = Slices(len(vocab), self.step.n_parts)
        forms, aliases = link_forms(self.counts.table(), vocab, slices=slices)
        for batch in batches_of(forms, "forms"):
            yield Rows("forms", batch)
        for batch in aliases:
            yield Rows("aliases", batch)
        yield Counts({"forms": len(forms), "aliases": sum(batch.num_rows for batch in aliases)})


@dataclass(kw_only=True, eq=False)
class IndexForms(Merge[Counts]):
    """Make all forms a table on disk, which all workers map into memory.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]``
    """

    folder: str
    """Of the run."""

    def merge(self) -> Iterable[Counts]:
        """Build it."""
        scratch = Scratch(Path(self.folder))
        build_form_table(scratch.tables / FORMS, read_forms(scratch.shards("forms")))
        return ()


@dataclass(kw_only=True, eq=False)
class FindForms(PerUnit[pa.RecordBatch, Rows | Counts]):
    """Find all forms in documents, and count where they are no mention that counts.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Counts]]``: batches with
    the columns ``id, lang, text, mentions`` become rows of ``occurrences``. The documents were read
    in an earlier phase.
    """

    folder: str
    """Of the run, with the table of ``IndexForms``."""
    origins: Sequence[str]
    """Of the mentions that count."""
    takes = pa.RecordBatch

    def begin(self, unit: Unit) -> Work[pa.RecordBatch, Rows | Counts]:  # noqa: ARG002 - forms are those of all
        """Begin a unit."""
        scratch = Scratch(Path(self.folder))
        n_forms = first_numbers(scratch.shards("forms"))[-1]
        counter = OccurrenceCounter(n_forms, origins=self.origins)
        return _FindForms(FormTable(scratch.tables / FORMS), counter)


@dataclass(frozen=True, slots=True)
class _FindForms:
    table: FormTable
    counter: OccurrenceCounter

    def process(self, batch: pa.RecordBatch) -> Iterator[Counts]:
        for lang, documents in by_language(batch):
            add = partial(self.counter.add, table=self.table, lang=lang)
            for rows, made in read_rows(documents, add):
                if isinstance(made, Rejected):
                    yield Counts(rejected=[made])
                else:
                    yield Counts(written=rows.num_rows)

    def finish(self) -> Iterator[Rows]:
        for rows in batches_of(self.counter.table(), "form_occurrences"):
            yield Rows("occurrences", rows)


@dataclass(kw_only=True, eq=False)
class SumOccurrences(Merge[Counts]):
    """Add up where forms stand unlinked.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]``
    """

    folder: str
    """Of the run."""

    def merge(self) -> Iterator[Counts]:
        """Write a number for each form."""
        scratch = Scratch(Path(self.folder))
        n_forms = first_numbers(scratch.shards("forms"))[-1]
        unlinked = sum_occurrences(scratch.shards("occurrences"), n_forms)
        np.save(scratch.tables / OCCURRENCES, unlinked)
        yield Counts({"forms.unlinked_occurrences": int(unlinked.sum())})


@dataclass(kw_only=True, eq=False)
class ReadEntities(ReadUnits[pa.Table]):
    """Read the entities with the ids of a unit, which are as many for each.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.Table]]``
    """

    folder: str
    """Of the run, with the entities that ``NumberEntities`` gave ids."""
    n_parts: int = 1
    """Parts that the vocabulary is cut into: units."""

    def read(self, unit: Unit) -> Iterator[pa.Table]:
        """Read a slice."""
        rows = read_vocab(Scratch(Path(self.folder)).shards("chosen"))
        size = Slices(len(rows), self.n_parts).size
        yield rows.slice(unit.number * size, size)


@dataclass(kw_only=True, eq=False)
class AddAliases(PerUnit[pa.Table, Rows]):
    """Add aliases to entities, with priors and link probabilities.

    ``PCollection[InUnit[pa.Table]]`` -> ``PCollection[InUnit[Rows]]``; rows of the vocabulary.
    """

    folder: str
    """Of the run, with what ``LinkForms`` and ``SumOccurrences`` wrote."""
    with_link_probability: bool = True
    """Else it is null."""
    takes = pa.Table

    def begin(self, unit: Unit) -> Work[pa.Table, Rows]:
        """Begin a unit."""
        return _AddAliases(self, unit.number)


@dataclass(frozen=True, slots=True)
class _AddAliases:
    step: AddAliases
    part: int

    def process(self, entities: pa.Table) -> Iterator[Rows]:
        scratch = Scratch(Path(self.step.folder))
        unlinked = None
        if self.step.with_link_probability:
            unlinked = read_occurrences(scratch.tables / OCCURRENCES, scratch.shards("forms"))
        aliases = scratch.shards("aliases")
        for batch in vocab_rows(entities, aliases, part=self.part, unlinked=unlinked):
            yield Rows("", batch)

    def finish(self) -> tuple[()]:
        return ()
