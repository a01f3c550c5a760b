"""Transforms that read surface forms, choose among them, and match them in documents."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn, batch_of
from corpora.document import Rejected
from corpora.lexicon.words import WordFilter, chosen_words, group_ends, read_words
from corpora.matching.form_dictionary import (
    BLOCKS,
    FormsByGroup,
    Matching,
    build_table,
    read_meanings,
    read_meanings_file,
)
from corpora.matching.form_dictionary import choose_forms as chosen_forms
from corpora.matching.form_facts import write_facts
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.documents import read_documents

if TYPE_CHECKING:
    from pipelines.augment_mentions import AugmentSettings

BATCH_ROWS = 1 << 16
FORMS = "forms"


def choose(_: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Rows | Counts]:
    """Choose the words of a lexicon, or the meaning of each form."""
    if settings.chosen is None:
        return choose_forms(settings, run)
    return choose_words(settings.chosen, settings, run)


def choose_forms(settings: "AugmentSettings", run: Run) -> Iterator[Rows | Counts]:
    """Choose the meaning of each form; rows of ``chosen`` and ``counts``, for the only unit.

    Forms are lines of form, entity, prior and link probability, with tabs between, or those of an
    entity vocabulary.
    """
    if table := run.auxiliary.get("table of forms"):
        meanings = read_meanings_file(table.check())
    else:
        shards = (file.check() for file in run.auxiliary.values())
        meanings = read_meanings(shards, space=settings.space)
    ignore_case = settings.policy == "all"
    chosen, counts = chosen_forms(meanings, ignore_case=ignore_case, lang=settings.lang)
    yield from _chosen_rows(chosen)
    yield from Rows.each("counts", counts.to_batches(max_chunksize=BATCH_ROWS))
    yield Counts({"forms.kept": len(chosen)})


def choose_words(
    words: WordFilter, settings: "AugmentSettings", run: Run
) -> Iterator[Rows | Counts]:
    """Choose words of a lexicon, as entities of their group or of the whole lexicon.

    Rows of ``chosen`` and, of groups, of ``groups``, for the only unit. Of words that the filter
    does not choose, those that are known block.
    """
    is_grouped = settings.group_column is not None
    shards = (file.check() for file in run.auxiliary.values())
    table = read_words(shards, words, with_known=True)
    chosen = chosen_words(table, is_grouped=is_grouped)
    yield from _chosen_rows(chosen)
    if is_grouped:
        columns = [*zip(*group_ends(table), strict=True)] or [(), ()]
        yield Rows("groups", batch_of("chosen_groups", columns))
    n_blocking = pc.sum(pc.equal(chosen.column("entity"), BLOCKS)).as_py() or 0
    yield Counts({"forms.kept": len(chosen) - n_blocking, "forms.blocking": n_blocking})


def _chosen_rows(chosen: pa.Table) -> Iterator[Rows]:
    return Rows.each("chosen", chosen.to_batches(max_chunksize=BATCH_ROWS))


def index_chosen(_: Unit, settings: "AugmentSettings", run: Run) -> None:
    """Write chosen forms, and facts on them, as tables that all workers map into memory."""
    work = run.work
    chosen, groups = (work.shard(name, 0) for name in ("chosen", "groups"))
    build_table(work.tables / FORMS, chosen, groups, matching=settings.matching)
    if settings.policy == "gated":
        write_facts(work.tables, chosen, work.shard("counts", 0))


def add_mentions(unit: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Yield]:
    """Match chosen forms, in the table of ``index_chosen``; add a mention where there is none yet.

    Documents become rows of the output.
    """
    counters = Counter({"mentions.before": 0, "mentions.added": 0})
    forms = _forms_of(run.folder, settings.matching, settings.group_column)
    batches = read_documents(unit)
    for dictionary, documents in chain.from_iterable(map(forms.dictionaries_for, batches)):
        counters["mentions.before"] += len(MentionColumn.of(documents).structs)
        add = partial(dictionary.add_to, origin="lexicon")
        for rows, made in read_rows(documents, add):
            if isinstance(made, Rejected):
                yield made
                continue
            augmented, n_added = made
            counters["mentions.added"] += n_added
            yield Rows("", augmented)
            yield Counts(read=rows.num_rows, written=rows.num_rows)
    yield Counts(counters)


@lru_cache(maxsize=1)  # a worker opens them once, not for each unit
def _forms_of(folder: str, matching: Matching, group_column: str | None) -> FormsByGroup:
    work = WorkDirectory(folder)
    chosen, table = work.shard("chosen", 0), work.tables / FORMS
    return FormsByGroup(chosen, table, matching=matching, column=group_column)
