"""Transforms for users' own pipelines, whose elements are documents, without units."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import apache_beam as beam
import pyarrow.compute as pc
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from corpora.datasets.document_batches import batch_of, documents_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import Shard, ShardWriter, open_dataset
from corpora.document import Document
from corpora.errors import CorpusError
from corpora.matching.form_dictionary import FormDictionary, Matching, choose_forms, read_meanings
from corpora.runs.plain import describe, place, publish
from corpora.wikipedia.settings import WikiSettings
from pipelines.graph import EachUnit, Run
from pipelines.outcomes import Rows, Written
from pipelines.transforms.elements import InUnit, read_units
from pipelines.transforms.units import ListUnits

_SCHEMA = SCHEMAS["documents"]
_Written = tuple[int, list[tuple[str, Shard]]]
"""The number of documents that were written, and the shards with the id of their first document."""


@dataclass(kw_only=True, eq=False)
class ToDocuments(beam.PTransform):
    """Yield the documents of a graph one by one, without their units.

    ``PCollection[InUnit[Written | Rows]]`` -> ``PCollection[Document]``. Filtered and rejected
    records are left out, and so are rows of other datasets.
    """

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the transform."""
        return pcoll | beam.FlatMap(_documents).with_input_types(InUnit).with_output_types(Document)


def _documents(element: InUnit[object]) -> Iterator[Document]:
    value = element.value
    if isinstance(value, Written):
        yield from (record for record in value.records if isinstance(record, Document))
    elif isinstance(value, Rows) and {"text", "mentions"} <= {*value.batch.schema.names}:
        yield from documents_of(value.batch.select(_SCHEMA.columns.names))


@dataclass(kw_only=True, eq=False)
class ReadWikipedia(beam.PTransform):
    """Read the articles of a dump as documents, one by one.

    The root of a pipeline -> ``PCollection[Document]``. Entities of links are named as the wikitext
    names them: only ``onoma wikipedia``, which reads the whole dump first, resolves
    redirects. Raises ``CorpusError`` where the file is no dump, or ends too early.
    """

    dump: str
    """The dump: a file name, or a pattern for several files."""
    folder: str
    """The folder for temporary files; all workers must see it."""

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection:
        """Cut the dump into ranges, and apply the transform."""
        from pipelines.transforms.wikipedia import parse_pages
        from pipelines.wikipedia_to_documents import Options, plan

        folder = Path(self.folder).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        options = Options(input=(self.dump,), output=folder)
        planned = plan(options)
        stage, settings = planned.stages[-1], planned.settings
        assert isinstance(settings, WikiSettings)  # noqa: S101
        settings = replace(settings, expand_templates=False)  # there is no table of definitions
        run = Run.of(planned, folder=str(folder))
        return (
            pbegin
            | "Ranges" >> ListUnits(units=stage.units, path=folder / "ranges.jsonl")
            | read_units(EachUnit(parse_pages, stage.name).results, settings=settings, run=run)
            | ToDocuments()
        )


@dataclass(kw_only=True, eq=False)
class MatchForms(beam.PTransform):
    """Add a mention where a form of a vocabulary stands in a document without a mention.

    ``PCollection[Document]`` -> ``PCollection[Document]``. Forms of several words are matched, as
    they are spelled: what else is a mention, ``onoma augment`` learns from all documents.
    """

    vocab: str
    """The folder of a dataset of ``onoma vocab``; each worker opens it once."""
    lang: str | None = None
    """The language whose rules for words apply; None: unknown."""

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the transform."""
        return pcoll | beam.ParDo(_MatchForms(self)).with_output_types(Document)


class _MatchForms(beam.DoFn):
    def __init__(self, step: MatchForms) -> None:
        self._step, self._vocab = step, Path(step.vocab).absolute()

    def setup(self) -> None:
        step = self._step
        dataset = open_dataset(self._vocab, "entities")
        meanings = read_meanings(dataset.path / shard.name for shard in dataset.shards)
        chosen, _ = choose_forms(meanings, ignore_case=False, lang=step.lang)
        chosen = chosen.filter(pc.match_substring_regex(chosen.column("form"), r"\w\W+\w"))
        self._forms = FormDictionary(chosen, Matching(lang=step.lang, ignore_case=False))

    def process(self, document: Document) -> Iterator[Document]:
        augmented, _ = self._forms.add_to(batch_of([document]), origin="title_match")
        yield from documents_of(augmented)


@dataclass(kw_only=True, eq=False)
class WriteDocuments(beam.PTransform):
    """Write documents as a dataset, which appears when all shards are there.

    ``PCollection[Document]`` -> ``PCollection[int]``, the number of documents. A shard holds a
    bundle, and is named by the hash of its content; shards are listed by the id of their first
    document. Raises ``CorpusError`` where two documents have the same id, where the shards do not
    hold all documents (a runner that does not end its bundles), or where ``output`` exists or is in
    a bucket. A run that fails leaves ``.tmp-…-NAME`` beside ``output``, which the next run that
    succeeds removes.
    """

    output: str

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the transform."""
        folder, unfinished = map(str, place(self.output))
        shards = beam.ParDo(_WriteBundle(unfinished)).with_output_types(_Written)
        return (
            pcoll
            | "Shards" >> shards
            | "All" >> beam.CombineGlobally(_add_up)
            | "Publish" >> beam.Map(_publish, unfinished, folder).with_output_types(int)
        )


class _WriteBundle(beam.DoFn):
    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def start_bundle(self) -> None:
        self._writer: ShardWriter | None = None

    def process(self, document: Document) -> Iterable[_Written]:
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"shard-{uuid.uuid4().hex}.arrow"
            self._writer = ShardWriter(path, _SCHEMA).__enter__()
            self._first = document.id
        self._writer.write(document)
        return ((1, []),)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._writer is None:
            return
        self._writer.__exit__(None)
        shard = self._writer.shard
        assert shard is not None  # noqa: S101 - it was closed without an exception
        named = Shard(f"shard-{shard.sha256[:16]}.arrow", shard.rows, shard.bytes, shard.sha256)
        (self._folder / shard.name).rename(self._folder / named.name)
        yield WindowedValue((0, [(self._first, named)]), 0, [GlobalWindow()])


def _add_up(several: Iterable[_Written]) -> _Written:
    """Add up the documents, and list the shards."""
    n_documents, shards = 0, list[tuple[str, Shard]]()
    for n, listed in several:
        n_documents += n
        shards += listed
    return n_documents, shards


def _publish(written: _Written, unfinished: str, output: str) -> int:
    folder, work = Path(output), Path(unfinished)
    n_documents, shards = written
    listed = [shard for _, shard in sorted(shards, key=lambda item: item[0])]
    if (n_rows := sum(shard.rows for shard in listed)) != n_documents:
        raise CorpusError(
            f"{folder}: the shards hold {n_rows:,} of {n_documents:,} documents: this runner does "
            f"not end its bundles. Choose another. All that was written is in {work}."
        )
    if not work.exists() and (folder / "dataset.json").exists():  # by an earlier attempt of this
        return n_documents
    work.mkdir(parents=True, exist_ok=True)
    for path in work.iterdir():
        if path.name not in {shard.name for shard in listed}:  # of a bundle that was tried again
            path.unlink()
    n_documents = describe(work, listed, _SCHEMA, made_by="WriteDocuments", name=folder)
    publish(work, folder)
    return n_documents
