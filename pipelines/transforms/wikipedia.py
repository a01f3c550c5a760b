"""Dumps of wikis to pages, and pages to documents with links, titles and redirects resolved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa

from corpora.datasets.canonical import canonical
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Rejected
from corpora.runs.plan import InputFile, Unit
from corpora.runs.record_errors import read_record, read_rows
from corpora.runs.work_directory import WorkDirectory
from corpora.wikipedia.articles import ArticleReader
from corpora.wikipedia.dump import read_pages_of
from corpora.wikipedia.pages import Page
from corpora.wikipedia.readers import reader_of, resolver_of, unmatched_in
from corpora.wikipedia.redirects import RedirectTable, build_table
from corpora.wikipedia.resolution import Resolver
from corpora.wikipedia.reuse import AGAIN, DAMAGED
from corpora.wikipedia.reuse_places import Place, earlier_of
from corpora.wikipedia.reuse_rows import PageRows, TakenRows
from corpora.wikipedia.unmatched import build_unmatched
from corpora.wikipedia.wikiextractor import ExtractorError
from pipelines.outcomes import Counts, Filtered, Passed, Rows, Yield
from pipelines.transforms.elements import Merge, PerUnit, ReadUnits, Work
from pipelines.transforms.units import ListUnits

BATCH_CHARACTERS = 1 << 20
REDIRECTS, UNMATCHED = "redirects", "unmatched"


@dataclass(kw_only=True, eq=False)
class ReadDump(ReadUnits[Page | Place | Rejected | Counts]):
    """Read the pages of ranges of a dump; of a page that is as it was, the place of its row.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Page | Place | Rejected]]``
    """

    max_page_bytes: int
    """A larger page is rejected."""
    folder: str
    """Of the run, which keeps what it takes over from an earlier one."""

    def read(self, unit: Unit) -> Iterator[Page | Place | Rejected | Counts]:
        """Read a range."""
        earlier = earlier_of(unit.settings.get("earlier"), kept=WorkDirectory(self.folder).carried)
        yield from read_pages_of(
            unit.inputs[0],
            unit.part,
            max_page_bytes=self.max_page_bytes,
            scratch=Path(unit.settings["scratch"]),
            find=earlier.find if earlier else _find_nothing,  # hashes are for the next run
        )
        if earlier and earlier.damaged:
            yield Counts(reused={f"{DAMAGED}{name}": 1 for name in earlier.damaged})


def _find_nothing(_: str) -> None:
    return None


@dataclass(kw_only=True, eq=False)
class ParsePages(PerUnit[Page | Place, Yield]):
    """Parse wikitext: documents whose links still name what is written, and redirects.

    ``PCollection[InUnit[Page | Place]]`` -> ``PCollection[InUnit[Passed | Filtered | Rejected |
    Rows]]``; rows of ``pages``, ``found_redirects`` and ``meanings``.
    """

    settings: Mapping[str, Any]
    """Of the wiki: the parameters of the plan."""
    templates: Sequence[InputFile] = ()
    """Tables of templates that the user adds."""
    folder: str
    """Of the run."""
    takes = (Page, Place)

    def begin(self, unit: Unit) -> Work[Page | Place, Yield]:
        """Begin a unit."""
        for table in self.templates:
            table.read()  # raises where it changed since the plan was made
        reader = reader_of(self.settings, [Path(table.path) for table in self.templates])
        source = unit.inputs[0].name
        kept = WorkDirectory(self.folder).carried
        earlier = earlier_of(unit.settings.get("earlier"), kept=kept)
        return _ParsePages(reader, PageRows(reader.documents, source, earlier), source)


@dataclass(frozen=True, slots=True)
class _ParsePages:
    reader: ArticleReader
    rows: PageRows
    source: str

    def process(self, page: Page | Place) -> Iterator[Yield]:
        if isinstance(page, Place):
            self.rows.take(page)
            yield Passed()
        else:
            yield from self._parse(page)
        if self.rows.n_characters >= BATCH_CHARACTERS:
            yield Rows("pages", self.rows.batch())

    def _parse(self, page: Page) -> Iterator[Yield]:
        reason = read_record(
            partial(self._read, page),
            source=self.source,
            position=page.position,
            excerpt=page.text,
        )
        counters = self.reader.ledger.taken()
        if isinstance(reason, Rejected):
            yield reason
            return
        if reason:
            yield Filtered(self.source, reason)
            if reason == "no_text":
                yield Counts({f"no_text/{page.title}": 1})
            return
        self.rows.add(page.hash, counters, meaning=self.reader.meaning_of(page))
        yield Passed()

    def _read(self, page: Page) -> str | Rejected:
        """Read a page; why it is left out, empty if it is not."""
        try:
            return self.reader.read(page, source=self.source)
        except ExtractorError as error:
            return Rejected(
                source=self.source,
                position=page.position,
                reason="extractor_failed",
                message=f"{self.source}: {page.position}: page {page.title!r}: {error}",
                excerpt=page.text[:200],
            )

    def finish(self) -> Iterator[Yield]:
        yield Rows("pages", self.rows.batch())
        redirects = SCHEMAS["redirects"].columns
        found = [
            pa.array([getattr(each, name) for each in self.reader.redirects], pa.string())
            for name in redirects.names
        ]
        yield Rows("found_redirects", pa.RecordBatch.from_arrays(found, schema=redirects))
        titles = pa.array(sorted([*self.reader.meanings, *self.rows.meanings]), pa.string())
        meanings = SCHEMAS["meanings"].columns
        yield Rows("meanings", pa.RecordBatch.from_arrays([titles], schema=meanings))
        yield Counts(reused=self.rows.reused)


@dataclass(kw_only=True, eq=False)
class BuildTitleTables(Merge[Counts]):
    """Build the table of redirects, and that of titles that are not matched.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]`` The
    tables lie on disk, and all workers map them into memory.
    """

    folder: str
    """Of the run."""

    def merge(self) -> Iterator[Counts]:
        """Read the redirects and meanings of all units."""
        scratch = WorkDirectory(self.folder)
        columns = ("title", "target", "resolved")
        summary = build_table(
            scratch.tables / REDIRECTS,
            (
                batch.filter(batch.column("resolved").is_null())  # not those to other wikis
                for path in scratch.shards("found_redirects")
                for batch in read_batches(path, SCHEMAS["redirects"], columns=columns)
            ),
        )
        yield Counts(
            {
                "redirects.all": summary.n_redirects,
                "redirects.chains": summary.n_chains,
                "redirects.longest_chain": summary.longest_chain,
                "redirects.loops": summary.n_loops,
                "redirects.too_long": summary.n_too_long,
                "redirects.doubles": summary.n_doubles,
            }
        )
        build_unmatched(
            scratch.tables / UNMATCHED,
            (
                batch
                for path in scratch.shards("meanings")
                for batch in read_batches(path, SCHEMAS["meanings"])
            ),
        )


@dataclass(kw_only=True, eq=False)
class TakeOver(PerUnit[Rows, Rows]):
    """Put the rows of an earlier run where ``ReadDump`` noted their places.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``
    """

    folder: str
    """Of the run."""
    takes = Rows

    def begin(self, unit: Unit) -> Work[Rows, Rows]:  # noqa: ARG002 - all keep rows in one folder
        """Begin a unit."""
        return _TakeOver(TakenRows(WorkDirectory(self.folder).carried))


@dataclass(frozen=True, slots=True)
class _TakeOver:
    taken: TakenRows

    def process(self, rows: Rows) -> Iterator[Rows]:
        yield Rows("pages", self.taken.fill(rows.batch)) if rows.dataset == "pages" else rows

    def finish(self) -> tuple[()]:
        return ()


@dataclass(kw_only=True, eq=False)
class MatchTitles(PerUnit[Rows, Yield]):
    """Resolve links and redirects, and match titles where they stand without a link.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows | Counts]]``: rows of ``pages``
    become rows of ``documents`` and ``reuse``, rows of ``found_redirects`` those of ``redirects``.
    """

    settings: Mapping[str, Any]
    """Of the wiki: the parameters of the plan."""
    folder: str
    """Of the run, with the tables of ``BuildTitleTables``."""
    takes = Rows

    def begin(self, unit: Unit) -> Work[Rows, Yield]:  # noqa: ARG002 - tables are those of all
        """Begin a unit."""
        tables = WorkDirectory(self.folder).tables
        redirects = RedirectTable(tables / REDIRECTS)
        unmatched = unmatched_in(tables / UNMATCHED, self.settings)
        return _MatchTitles(redirects, resolver_of(self.settings, redirects, unmatched))


@dataclass(frozen=True, slots=True)
class _MatchTitles:
    redirects: RedirectTable
    resolver: Resolver

    def process(self, rows: Rows) -> Iterator[Yield]:
        batch = rows.batch
        if rows.dataset != "pages":
            resolved = self.redirects.finals(batch.column("title"))
            yield Rows("redirects", batch.set_column(4, batch.schema.field(4), resolved))
            return
        for _, finished in read_rows(batch, lambda some: canonical(self.resolver.finish(some))):
            if isinstance(finished, Rejected):
                yield Counts(rejected=[finished])
                continue
            for name in ("documents", "reuse"):
                yield Rows(name, finished.select(SCHEMAS[name].columns.names))
            yield Counts(written=finished.num_rows)

    def finish(self) -> Iterator[Yield]:
        n_again = self.resolver.n_again
        yield Counts(self.resolver.counters, reused={AGAIN: n_again} if n_again else {})


@dataclass(kw_only=True, eq=False)
class ReadWikipedia(beam.PTransform):
    """Read the articles of a dump as documents, one by one.

    The root of a pipeline -> ``PCollection[Document]``. Entities of links are named as the wikitext
    names them: redirects are resolved by ``wikipedia_to_documents``, which reads all of a dump
    first. Raises ``CorpusError`` where the file is no dump, or ends too early.
    """

    dump: str
    """A file, or a pattern of several."""
    folder: str
    """For what is needed while it is read; all workers see it."""

    def expand(self, pbegin: Any) -> Any:
        """Apply it."""
        from pipelines.transforms.plain import ToDocuments
        from pipelines.wikipedia_to_documents import Options, plan

        folder = Path(self.folder).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        options = Options(input=(self.dump,), output=folder)
        planned = plan(options)
        [stage] = planned.stages
        return (
            pbegin
            | "Ranges" >> ListUnits(units=stage.units, path=folder / "ranges.jsonl")
            | ReadDump(max_page_bytes=options.max_page_bytes, folder=str(folder))
            | ParsePages(settings=planned.parameters, folder=str(folder))
            | ToDocuments()
        )
