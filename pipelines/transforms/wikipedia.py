"""Transforms from wiki dumps to pages, and from pages to documents with resolved links."""

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter

import pyarrow as pa

from corpora.datasets.canonical import canonical
from corpora.datasets.columns import batch_of
from corpora.datasets.redirect_table import build_table
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import CHARACTERS_PER_BATCH, read_batches
from corpora.document import Rejected
from corpora.runs.duplicates import DuplicateRows
from corpora.runs.plan import Unit, named
from corpora.runs.record_errors import read_record, read_rows
from corpora.runs.work_directory import WorkDirectory
from corpora.wikipedia.articles import ArticleReader, Redirect, WikiArticle, id_of, read_definition
from corpora.wikipedia.block_rows import finished_blocks, resolve_blocks
from corpora.wikipedia.blocks import ExtractorError
from corpora.wikipedia.definitions import Definitions, build_definitions
from corpora.wikipedia.dump import read_pages_of, read_template_pages
from corpora.wikipedia.page_items import PageItems, build_page_items, with_items
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.readers import DEFINITIONS, REDIRECTS, UNMATCHED, reader_of, resolver_of
from corpora.wikipedia.resolution import Resolver
from corpora.wikipedia.reuse import AGAIN, DAMAGED
from corpora.wikipedia.reuse_places import Earlier, RowPlace, name_of
from corpora.wikipedia.reuse_rows import PageRows, TakenRows
from corpora.wikipedia.revisions import (
    OLDER,
    REDIRECT,
    REVISIONS,
    RevisionRows,
    choose_newest,
    newest_rows,
)
from corpora.wikipedia.settings import WikiSettings
from corpora.wikipedia.sql_dumps import items_of_pages
from corpora.wikipedia.unmatched import build_unmatched
from corpora.wikipedia.variant_titles import with_variants
from pipelines.graph import Run
from pipelines.outcomes import Counts, Filtered, Rows, Yield
from pipelines.transforms.stages import read_stage

ITEMS, PAGE_PROPS = "items", "page_props"
"""The names of a table of the run, and of the auxiliary file that it is made from."""


def read_dump(
    unit: Unit, *, work: WorkDirectory, settings: WikiSettings
) -> Iterator[WikiPage | RowPlace | Rejected | Counts]:
    """Read the pages of a range of a dump; for an unchanged page, the place of its earlier row."""
    definitions = Definitions(work.tables / DEFINITIONS) if settings.expand_templates else None
    earlier = None
    if settings.earlier:  # opened for each unit, because a process may have threads
        earlier = Earlier(**settings.earlier, kept=work.carried, definitions=definitions)
    find = earlier.find if earlier else None
    yield from read_pages_of(unit, max_page_bytes=settings.max_page_bytes, find=find)
    if earlier and earlier.damaged:
        yield Counts(reused={f"{DAMAGED}{name}": 1 for name in earlier.damaged})


def read_definitions(unit: Unit, settings: WikiSettings, _: Run) -> Iterator[Rows]:
    """Read templates in a range of a dump, if their definition is plain text with parameters.

    Rows of ``definitions``.
    """
    wiki = reader_of(settings, ()).wiki
    pages = read_template_pages(unit, max_page_bytes=settings.max_page_bytes)
    rows = [
        (id_of(page, wiki), page.timestamp, page.revision, *definition)
        for page in pages
        if (definition := read_definition(page, wiki))
    ]
    columns = [*zip(*rows, strict=True)] or [()] * len(SCHEMAS["wiki_definitions"].columns)
    yield Rows("definitions", batch_of("wiki_definitions", columns))


def index_definitions(_: Unit, __: WikiSettings, run: Run) -> Iterator[Counts]:
    """Build the table of template definitions, and of templates that redirect to others."""
    rows = newest_rows(run.work.shards("definitions"), "wiki_definitions")
    yield Counts(build_definitions(run.work.tables / DEFINITIONS, rows))


def parse_pages(unit: Unit, settings: WikiSettings, run: Run) -> Iterator[Yield]:
    """Parse wikitext to redirects, and to documents whose links are not resolved yet.

    Rows of ``pages``, ``found_redirects`` and ``revisions``. Of several revisions of a page in a
    row only the newest is parsed; ``index_pages`` finds the others.
    """
    work, templates = run.work, named("templates ", run.auxiliary)
    for table in templates:
        table.read()  # raises if the file has changed since the plan was made
    tables = [table.check() for table in templates]
    definitions = work.tables / DEFINITIONS if settings.expand_templates else None
    reader = reader_of(settings, tables, definitions)
    parser = _PageParser(reader, settings, unit.inputs[0].name)
    for page in read_dump(unit, work=work, settings=settings):
        if isinstance(page, WikiPage | RowPlace):
            yield from parser.add(page)
        else:
            yield page
    yield from parser.finish()


class _PageParser:
    """The pages of a unit that were parsed, and are no rows yet."""

    def __init__(self, reader: ArticleReader, settings: WikiSettings, source: str) -> None:
        self._reader, self._settings, self._source = reader, settings, source
        earlier = settings.earlier
        self._rows = PageRows(source, name_of(earlier["fingerprint"]) if earlier else "")
        self._redirects: list[Redirect] = []
        self._named: list[Redirect] = []
        self._revisions = RevisionRows()
        self._last: WikiPage | RowPlace | None = None

    def add(self, page: WikiPage | RowPlace) -> Iterator[Yield]:
        """Parse the page before, unless this one is another revision of it."""
        last, self._last = self._last, page
        if page.n_older:
            yield Counts(read=page.n_older, filtered={OLDER: page.n_older})
        if last is None:
            return
        if self._id(last) != self._id(page) or last.version == page.version:
            yield from self._add(last)
            return
        yield Filtered(OLDER)
        self._last = max(last, page, key=attrgetter("version"))

    def _id(self, page: WikiPage | RowPlace) -> str:
        return page.id if isinstance(page, RowPlace) else id_of(page, self._reader.wiki)

    def _add(self, page: WikiPage | RowPlace) -> Iterator[Yield]:
        """Parse a page, or take its earlier row over."""
        if isinstance(page, RowPlace):
            self._rows.take(page)
            self._note(page, meaning=page.meaning, name=page.title)
            self._add_redirects(page)
            yield Counts(read=1)
        else:
            read = partial(self._read, page)
            position, text = page.position, page.text
            made = read_record(read, source=self._source, position=position, excerpt=text)
            yield made or Counts(read=1)
        if self._rows.n_characters >= CHARACTERS_PER_BATCH:
            yield Rows("pages", self._rows.batch())

    def _note(
        self, page: WikiPage | RowPlace, outcome: str | None = None, **titles: str | None
    ) -> None:
        if not self._settings.variants:
            titles["name"] = None
        self._revisions.add(self._id(page), page.version, outcome=outcome, **titles)

    def _read(self, page: WikiPage) -> Rejected | None:
        """Keep what a page is read as; return a rejection, if it is one."""
        try:
            found = self._reader.read(page)
        except ExtractorError as error:
            return Rejected(
                source=self._source,
                position=page.position,
                reason="extractor_failed",
                message=f"{self._source}: {page.position}: page {page.title!r}: {error}",
                excerpt=page.text[:200],
            )
        if isinstance(found, WikiArticle):
            self._rows.add(found)
            self._add_redirects(page)
            self._note(page, meaning=found.meaning, name=page.title)
        elif isinstance(found, Redirect):
            self._redirects.append(found)
            self._note(page, REDIRECT)
        else:
            title = page.title if found.reason == "no_text" else None
            self._note(page, found.reason, title=title, meaning=found.meaning)
        return None

    def _add_redirects(self, page: WikiPage | RowPlace) -> None:
        """Add the redirects that the record of a rendered page names, after those with pages."""
        wiki = self._settings.site.wiki
        self._named += (Redirect(f"{wiki}:{n}", n, page.title, "") for n in page.redirects)

    def finish(self) -> Iterator[Yield]:
        """Yield the last rows, the redirects, and the revisions of all pages."""
        if self._last is not None:
            yield from self._add(self._last)
        yield Rows("pages", self._rows.batch())
        found = (
            [getattr(each, name) for each in (*self._redirects, *self._named)]
            for name in SCHEMAS["redirects"].columns.names
        )
        yield Rows("found_redirects", batch_of("redirects", found))
        yield Rows(REVISIONS, self._revisions.batch())
        yield Counts(reused=self._rows.reused)


def index_pages(_: Unit, settings: WikiSettings, run: Run) -> Iterator[Counts]:
    """Count the outcomes of pages by their newest revisions, and note the rows of the others.

    Then build the tables of redirects, of titles that are not matched, and of Wikidata items. They
    are on disk, and all workers memory-map them.
    """
    work = run.work
    outcomes = choose_newest(work)
    without_text = {f"no_text/{title}": n for title, n in outcomes.without_text.items()}
    yield Counts(without_text, filtered=outcomes.filtered, rejected=outcomes.repeated)
    yield Counts(_index_titles(work, variants=settings.variants))
    if file := run.auxiliary.get(PAGE_PROPS):
        n = build_page_items(work.tables / ITEMS, items_of_pages(file.check()))
        yield Counts({"page_props.items": n})


def _index_titles(work: WorkDirectory, *, variants: str) -> dict[str, int]:
    """Build the tables of titles; return counters.

    ``variants``: the table by which titles are also found in another script; empty: they are not.
    """
    rows: Iterator[pa.RecordBatch] = (
        batch.filter(batch.column("resolved").is_null()).select(["title", "target"])
        for batch in _newest(work, "found_redirects", "redirects")
    )  # without redirects to other wikis
    tables = work.tables
    if variants:
        names = _newest(work, REVISIONS, "wiki_revisions")
        rows = with_variants(tables / "names", names, rows, table=variants)
    summary = build_table(tables / REDIRECTS, rows)
    build_unmatched(tables / UNMATCHED, _newest(work, REVISIONS, "wiki_revisions"))
    return {
        "redirects.all": summary.n_redirects,
        "redirects.chains": summary.n_chains,
        "redirects.longest_chain": summary.longest_chain,
        "redirects.loops": summary.n_loops,
        "redirects.too_long": summary.n_too_long,
        "redirects.doubles": summary.n_duplicates,
    }


def _newest(work: WorkDirectory, dataset: str, schema: str) -> Iterator[pa.RecordBatch]:
    """Read the rows that the newest revisions made."""
    for unit, path in enumerate(work.shards(dataset)):
        dropped = DuplicateRows(work, unit)
        for batch in read_batches(path, schema):
            yield dropped.drop(dataset, batch)


def finish_pages(unit: Unit, settings: WikiSettings, run: Run) -> Iterator[Yield]:
    """Resolve links and redirects, and match titles where they stand without a link.

    Rows of ``pages`` become rows of ``documents``, ``reuse`` and ``blocks``; rows of
    ``found_redirects`` become rows of ``redirects``. Before, places that ``read_dump`` noted are
    filled with rows of the earlier run, and items of Wikidata put in; if there is no table of
    them, items from an earlier run are removed. It needs the tables of ``index_pages``.
    """
    work, has_items = run.work, PAGE_PROPS in run.auxiliary
    resolver = resolver_of(settings, work.tables)
    taken = TakenRows(work.carried, **(settings.earlier or {}))
    dropped = DuplicateRows(work, unit.number)
    items = PageItems(work.tables / ITEMS) if has_items else None
    for rows in read_stage(unit, run, "pages"):
        batch = dropped.drop("pages", taken.fill(rows))
        if has_items or not settings.is_html:
            batch, n_found = with_items(batch, items)
            if n_found:
                yield Counts({"page_props.found": n_found})
        yield from _finished(batch, partial(_finish, resolver=resolver, settings=settings))
    for rows in read_stage(unit, run, "found_redirects"):
        batch = dropped.drop("found_redirects", rows)
        resolved = resolver.redirects.finals(batch.column("title"))
        yield Rows("redirects", batch.set_column(4, batch.schema.field(4), resolved))
    again = {AGAIN: resolver.n_again} if resolver.n_again else {}
    yield Counts(resolver.counters, reused=again)


def _finish(pages: pa.RecordBatch, *, resolver: Resolver, settings: WikiSettings) -> pa.RecordBatch:
    finished = resolver.finish(pages)
    if settings.blocks:
        finished = resolve_blocks(finished, settings.site.wiki, resolver.redirects)
    return canonical(finished)


def _finished(
    batch: pa.RecordBatch, finish: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> Iterator[Yield]:
    """Yield the rows of all datasets for a batch of pages."""
    for _, finished in read_rows(batch, finish):
        if isinstance(finished, Rejected):
            yield Counts(rejected=[finished])
            continue
        blocks = finished_blocks(finished)
        yield Rows("documents", _columns_of("documents", finished))
        # Blocks come before ``reuse``, where forgetting marks pages whose blocks lost mentions.
        if len(blocks):
            yield Rows("blocks", canonical(blocks))
        yield Rows("reuse", _columns_of("reuse", finished))
        yield Counts(written=finished.num_rows)


def _columns_of(name: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Select the columns of a dataset."""
    return rows.select(SCHEMAS[name].columns.names)
