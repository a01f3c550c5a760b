"""Transforms that read surface forms, choose among them, and match them in documents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain

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
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.documents import read_documents

BATCH_ROWS = 1 << 16
FORMS = "forms"


def choose_forms(
    _: Unit,
    *,
    table: InputFile | None,
    shards: Sequence[InputFile],
    space: str = "",
    ignore_case: bool = False,
    lang: str | None = None,
) -> Iterator[Rows | Counts]:
    """Choose the meaning of each form; rows of ``chosen`` and ``counts``, for the only unit.

    ``table``: lines of form, entity, prior and link probability, with tabs between; else
    ``shards``: those of an entity vocabulary; ``space``: that of the names which entities get, if
    they have several; ``lang``: the language whose rules for case apply; None: unknown.
    """
    if table:
        meanings = read_meanings_file(table.check())
    else:
        meanings = read_meanings((file.check() for file in shards), space=space)
    chosen, counts = chosen_forms(meanings, ignore_case=ignore_case, lang=lang)
    yield from _chosen_rows(chosen)
    yield from Rows.each("counts", counts.to_batches(max_chunksize=BATCH_ROWS))
    yield Counts({"forms.kept": len(chosen)})


def choose_words(
    _: Unit, *, shards: Sequence[InputFile], words: WordFilter, is_grouped: bool
) -> Iterator[Rows | Counts]:
    """Choose words of a lexicon, as entities of their group or of the whole lexicon.

    Rows of ``chosen`` and, with ``is_grouped``, of ``groups``, for the only unit. Of words that the
    filter ``words`` does not choose, those that are known block.
    """
    table = read_words((file.check() for file in shards), words, with_known=True)
    chosen = chosen_words(table, is_grouped=is_grouped)
    yield from _chosen_rows(chosen)
    if is_grouped:
        columns = [*zip(*group_ends(table), strict=True)] or [(), ()]
        yield Rows("groups", batch_of("chosen_groups", columns))
    n_blocking = pc.sum(pc.equal(chosen.column("entity"), BLOCKS)).as_py() or 0
    yield Counts({"forms.kept": len(chosen) - n_blocking, "forms.blocking": n_blocking})


def _chosen_rows(chosen: pa.Table) -> Iterator[Rows]:
    return Rows.each("chosen", chosen.to_batches(max_chunksize=BATCH_ROWS))


def index_chosen(work: WorkDirectory, *, matching: Matching) -> None:
    """Write chosen forms as a table on disk, which all workers map into memory."""
    chosen, groups = (work.shard(name, 0) for name in ("chosen", "groups"))
    build_table(work.tables / FORMS, chosen, groups, matching=matching)


def add_mentions(
    unit: Unit, *, work: WorkDirectory, matching: Matching, group_column: str | None = None
) -> Iterator[Yield]:
    """Match chosen forms, in the table of ``index_chosen``; add a mention where there is none yet.

    Documents become rows of the output. ``group_column`` names the group whose forms are matched;
    None: the same forms everywhere.
    """
    counters = Counter({"mentions.before": 0, "mentions.added": 0})
    forms = _forms_of(work.address, matching, group_column)
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
