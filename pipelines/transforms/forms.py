"""Transforms that read surface forms, choose among them, and match them in documents."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import Mentions, batch_of
from corpora.document import Rejected
from corpora.lexicon.words import ALL, WordFilter, chosen_words, group_ends, read_words
from corpora.matching.form_dictionary import (
    BLOCKS,
    FormsByGroup,
    Matching,
    build_table,
    choose_forms,
    read_meanings,
    read_meanings_file,
)
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.elements import OfRun, PerUnit, ReadUnits

BATCH_ROWS = 1 << 16
FORMS = "forms"


class ReadVocabForms(ReadUnits[pa.Table]):
    """Read the forms of an entity vocabulary, and what they mean.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.Table]]``: one table of ``MEANINGS``, for the
    only unit.
    """

    shards: Sequence[InputFile]
    space: str = ""
    """The space of the names that entities get, if they have several names."""

    def read(self, unit: Unit) -> Iterator[pa.Table]:  # noqa: ARG002 - it has no input of its own
        """Read all shards."""
        yield read_meanings((file.check() for file in self.shards), space=self.space)


class ReadFormLines(ReadUnits[pa.Table]):
    """Read lines of form, entity, prior and link probability, with tabs between.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.Table]]``: one table of ``MEANINGS``, for the
    only unit.
    """

    file: InputFile

    def read(self, unit: Unit) -> Iterator[pa.Table]:  # noqa: ARG002 - it has no input of its own
        """Read the file."""
        yield read_meanings_file(self.file.check())


class ReadWords(ReadUnits[pa.Table]):
    """Read the words of a lexicon, group by group.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.Table]]``: one table with the columns ``form``,
    ``group`` and ``blocks``, for the only unit. Of words that the filter ``words`` does not choose,
    those that are known block.
    """

    shards: Sequence[InputFile]
    words: WordFilter = ALL
    """The conditions by which words are chosen."""

    def read(self, unit: Unit) -> Iterator[pa.Table]:  # noqa: ARG002 - it has no input of its own
        """Read all shards."""
        shards = (file.check() for file in self.shards)
        yield read_words(shards, self.words, with_known=True)


class ChooseForms(PerUnit[pa.Table, Rows | Counts]):
    """Choose the meaning of each form.

    ``PCollection[InUnit[pa.Table]]`` -> ``PCollection[InUnit[Rows | Counts]]``: a table of
    ``MEANINGS`` becomes rows of ``chosen`` and ``counts``.
    """

    ignore_case: bool = False
    lang: str | None = None
    """The language whose rules for case apply; None: unknown."""

    def process(self, meanings: pa.Table) -> Iterator[Rows | Counts]:
        """Choose the meanings."""
        chosen, counts = choose_forms(meanings, ignore_case=self.ignore_case, lang=self.lang)
        yield from _chosen_rows(chosen)
        yield from Rows.each("counts", counts.to_batches(max_chunksize=BATCH_ROWS))
        yield Counts({"forms.kept": len(chosen)})


class ChooseWords(PerUnit[pa.Table, Rows | Counts]):
    """Choose all words of a lexicon, as entities of their group or of the whole lexicon.

    ``PCollection[InUnit[pa.Table]]`` -> ``PCollection[InUnit[Rows | Counts]]``: a table of words
    becomes rows of ``chosen`` and, with ``is_grouped``, of ``groups``.
    """

    is_grouped: bool

    def process(self, words: pa.Table) -> Iterator[Rows | Counts]:
        """Choose the words."""
        chosen = chosen_words(words, is_grouped=self.is_grouped)
        yield from _chosen_rows(chosen)
        if self.is_grouped:
            columns = [*zip(*group_ends(words), strict=True)] or [(), ()]
            yield Rows("groups", batch_of("chosen_groups", columns))
        n_blocking = pc.sum(pc.equal(chosen.column("entity"), BLOCKS)).as_py() or 0
        yield Counts({"forms.kept": len(chosen) - n_blocking, "forms.blocking": n_blocking})


def _chosen_rows(chosen: pa.Table) -> Iterator[Rows]:
    return Rows.each("chosen", chosen.to_batches(max_chunksize=BATCH_ROWS))


def index_chosen(work: WorkDirectory, *, matching: Matching) -> None:
    """Write chosen forms as a table on disk, which all workers map into memory."""
    chosen, groups = (work.shard(name, 0) for name in ("chosen", "groups"))
    build_table(work.tables / FORMS, chosen, groups, matching=matching)


class AddMentions(OfRun, PerUnit[pa.RecordBatch, Yield]):
    """Match chosen forms in documents, and add a mention where there is none yet.

    The forms are those that ``ChooseForms`` or ``ChooseWords`` chose, in the table of
    ``index_chosen``.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Counts | Rejected]]``:
    batches with all columns of ``documents`` become rows of the output.
    """

    matching: Matching
    group_column: str | None = None
    """The column that names the group whose forms are matched; None: the same forms everywhere."""

    def start(self) -> None:
        """Open the forms, and reset the counts."""
        self._forms = _forms_of(self.folder, self.matching, self.group_column)
        self._n_before = self._n_added = 0

    def process(self, batch: pa.RecordBatch) -> Iterator[Yield]:
        """Add mentions to a batch."""
        self._n_before += len(Mentions.of(batch).structs)
        for dictionary, documents in self._forms.dictionaries_for(batch):
            add = partial(dictionary.add_to, origin="lexicon")
            for rows, made in read_rows(documents, add):
                if isinstance(made, Rejected):
                    yield made
                    continue
                augmented, n_added = made
                self._n_added += n_added
                yield Rows("", augmented)
                yield Counts(read=rows.num_rows, written=rows.num_rows)

    def finish(self) -> Iterator[Counts]:
        """Yield the counts of the unit."""
        yield Counts({"mentions.before": self._n_before, "mentions.added": self._n_added})


@lru_cache(maxsize=1)  # a worker opens them once, not for each unit
def _forms_of(folder: str, matching: Matching, group_column: str | None) -> FormsByGroup:
    work = WorkDirectory(folder)
    chosen, table = work.shard("chosen", 0), work.tables / FORMS
    return FormsByGroup(chosen, table, matching=matching, column=group_column)
