"""Transforms that read surface forms, choose among them, and match them in documents."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.columns import Mentions, batch_of
from corpora.datasets.shards import read_batches
from corpora.document import Origin, Rejected
from corpora.errors import CorpusError
from corpora.lexicon.words import ALL, WordFilter, chosen_words, group_ends, read_words
from corpora.matching.common_words import common_forms, without_common
from corpora.matching.form_dictionary import (
    FormDictionary,
    FormsByGroup,
    Gate,
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
from pipelines.transforms.elements import Merge, OfRun, PerUnit, ReadUnits

BATCH_ROWS = 1 << 16
FORMS = "forms"


class ReadVocabForms(ReadUnits[pa.Table]):
    """Read the forms of an entity vocabulary, and what they mean.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.Table]]``: one table of ``MEANINGS``, for the
    only unit.
    """

    shards: Sequence[InputFile]

    def read(self, unit: Unit) -> Iterator[pa.Table]:  # noqa: ARG002 - it has no input of its own
        """Read all shards."""
        yield read_meanings(file.check() for file in self.shards)


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

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.Table]]``: one table with the columns ``form``
    and ``group``, for the only unit. Words that the filter ``words`` does not choose are left out.
    """

    shards: Sequence[InputFile]
    words: WordFilter = ALL
    """The conditions by which words are chosen."""

    def read(self, unit: Unit) -> Iterator[pa.Table]:  # noqa: ARG002 - it has no input of its own
        """Read all shards."""
        yield read_words((file.check() for file in self.shards), self.words)


class ChooseForms(PerUnit[pa.Table, Rows | Counts]):
    """Choose the meaning of each form, and the forms that are worth matching.

    ``PCollection[InUnit[pa.Table]]`` -> ``PCollection[InUnit[Rows | Counts]]``: a table of
    ``MEANINGS`` becomes rows of ``chosen`` and, with a gate, of ``common``.
    """

    gate: Gate | None = None
    """The thresholds that a form must reach; None: all forms are chosen."""
    ignore_case: bool = False
    lang: str | None = None
    """The language whose rules for case apply; None: unknown."""

    def process(self, meanings: pa.Table) -> Iterator[Rows | Counts]:
        """Choose among the forms."""
        if self.gate and not len(meanings.column("link_probability").drop_null()):
            raise CorpusError(
                "--policy gated: no form has a link probability. Choose --policy all, or make the "
                "vocabulary with link probabilities."
            )
        chosen, counters = choose_forms(
            meanings, gate=self.gate, ignore_case=self.ignore_case, lang=self.lang
        )
        yield from _chosen_rows(chosen)
        if self.gate:
            least = self.gate.min_link_probability
            common = common_forms(meanings, below=least, lang=self.lang)
            counters["forms.common"] = len(common)
            yield Rows("common", batch_of("common_forms", [common]))
        yield Counts(counters)


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
        yield Counts({"forms.kept": len(chosen)})


def _chosen_rows(chosen: pa.Table) -> Iterator[Rows]:
    return Rows.each("chosen", chosen.to_batches(max_chunksize=BATCH_ROWS))


class IndexChosen(Merge[Counts]):
    """Write chosen forms as a table on disk, which all workers map into memory.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]``.
    """

    matching: Matching

    def merge(self) -> None:
        """Build the table."""
        chosen, groups = (self.work.shard(name, 0) for name in ("chosen", "groups"))
        build_table(self.work.tables / FORMS, chosen, groups, matching=self.matching)


class AddMentions(OfRun, PerUnit[pa.RecordBatch, Yield]):
    """Match chosen forms in documents, and add a mention where there is none yet.

    The forms are those that ``ChooseForms`` or ``ChooseWords`` chose, in the table of
    ``IndexChosen``. Where forms were gated, matched titles that are common words are removed first.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[Rows | Counts | Rejected]]``:
    batches with all columns of ``documents`` become rows of the output.
    """

    matching: Matching
    group_column: str | None = None
    """The column that names the group whose forms are matched; None: the same forms everywhere."""
    origin: Origin = "lexicon"
    """The origin of the added mentions."""

    def start(self) -> None:
        """Open the forms, and reset the counts."""
        self._forms = _forms_of(self.folder, self.matching, self.group_column)
        self._common = _common_of(self.folder)
        self._n_before = self._n_added = self._n_common = 0

    def process(self, batch: pa.RecordBatch) -> Iterator[Yield]:
        """Add mentions to a batch."""
        self._n_before += len(Mentions.of(batch).structs)
        for dictionary, documents in self._forms.dictionaries_for(batch):
            for rows, made in read_rows(documents, partial(self._augmented, dictionary)):
                if isinstance(made, Rejected):
                    yield made
                    continue
                augmented, n_added, n_common = made
                self._n_added += n_added
                self._n_common += n_common
                yield Rows("", augmented)
                yield Counts(read=rows.num_rows, written=rows.num_rows)

    def _augmented(
        self, dictionary: FormDictionary, documents: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, int, int]:
        """Return documents with the new mentions, and how many were added and removed."""
        gated, n_common = without_common(documents, self._common, lang=self.matching.lang)
        augmented, n_added = dictionary.add_to(gated, origin=self.origin)
        return augmented, n_added, n_common

    def finish(self) -> Iterator[Counts]:
        """Yield the counts of the unit."""
        yield Counts({"mentions.before": self._n_before, "mentions.added": self._n_added})
        if self._n_common:
            yield Counts({"mentions.common_words": self._n_common})


@lru_cache(maxsize=1)
def _common_of(folder: str) -> npt.NDArray[np.uint64]:
    path = WorkDirectory(folder).shard("common", 0)
    batches = list(read_batches(path, "common_forms"))
    hashes = [batch.column("hash").to_numpy() for batch in batches]
    return np.concatenate([np.empty(0, np.uint64), *hashes])


@lru_cache(maxsize=1)  # a worker opens them once, not for each unit
def _forms_of(folder: str, matching: Matching, group_column: str | None) -> FormsByGroup:
    work = WorkDirectory(folder)
    chosen, table = work.shard("chosen", 0), work.tables / FORMS
    return FormsByGroup(chosen, table, matching=matching, column=group_column)
