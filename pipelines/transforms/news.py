"""Transforms from web archives and saved pages to articles.

Articles are extracted and filtered, boilerplate is removed, and duplicates are dropped.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import CHARACTERS_PER_BATCH, read_batches
from corpora.document import Rejected
from corpora.news.boilerplate import read_boilerplate
from corpora.news.near_duplicates import SIGNED, duplicates_of, note_of, signatures_of, unsigned
from corpora.news.pages import FetchedPage, NoPage, Revisit, read_pages, read_saved
from corpora.news.reading import PageReader, revisit_batch
from corpora.news.rows import ArticleCollector, PageArticle, RowCleaner, with_sentences
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_record, read_rows
from corpora.runs.work_directory import WorkDirectory
from corpora.system.sandbox import Bounds
from corpora.warc.archives import ranges_of
from pipelines.graph import Run
from pipelines.outcomes import Counts, Filtered, Rows, Yield
from pipelines.transforms.documents import read_documents
from pipelines.transforms.stages import published, read_stage

if TYPE_CHECKING:
    from pipelines.news_to_documents import Options

BOILERPLATE, DUPLICATES = "boilerplate", "duplicates"
_Page = FetchedPage | Revisit | Filtered | Rejected | Counts


def cut_archives(unit: Unit, _: "Options", __: Run) -> Iterator[Rows]:
    """Find the first record of each range of an archive; rows of ``ranges``."""
    [file] = unit.inputs
    ranges = ranges_of(file.check(), range_bytes=unit.part["range_bytes"])
    rows = [{"start": start, "end": end} for start, end, _ in ranges]
    columns = SCHEMAS["news_ranges"].columns
    yield Rows("ranges", pa.RecordBatch.from_pylist(rows, schema=columns))


def _archived_pages(unit: Unit, work: WorkDirectory, *, max_bytes: int) -> Iterator[_Page]:
    """Read the pages in web archives, WARC or ARC; records that are no page are filtered.

    Reads a part of an archive, at most as many records as its limit. The counters are
    ``status/404``, ``content_type/image-png`` …
    """
    [file] = unit.inputs
    counters: Counter[str] = Counter()
    start, end = _range_of(unit, work)
    pages = read_pages(file.check(), source=file.name, max_bytes=max_bytes, start=start, end=end)
    for found in islice(pages, unit.part.get("limit")):
        if not isinstance(found, NoPage):
            yield found
            continue
        if found.detail:
            counters[f"{found.reason}/{found.detail.replace('/', '-')}"] += 1
        yield Filtered(found.reason)
    yield Counts(counters)


def _range_of(unit: Unit, work: WorkDirectory) -> tuple[int, int | None]:
    """Return where a unit begins and ends in its archive, as ``cut_archives`` found."""
    if "range" not in unit.part:
        return 0, None
    batches = read_batches(work.shard("ranges", unit.part["cut"]), SCHEMAS["news_ranges"])
    [row] = pa.Table.from_batches(batches).slice(unit.part["range"], 1).to_pylist()
    return row["start"], row["end"]


def _saved_pages(unit: Unit, *, max_bytes: int) -> Iterator[_Page]:
    """Read files that are a page each; the settings of a unit may add facts about a file."""
    for file in unit.inputs:
        row = unit.settings.get(file.name, {})
        yield read_saved(file.check(), source=file.name, max_bytes=max_bytes, row=row)


def read_articles(unit: Unit, options: "Options", run: Run) -> Iterator[Yield]:
    """Extract the articles of pages: text, links and metadata; filter those that are not wanted.

    Rows of ``pages``, of ``paragraphs``, for ``find_boilerplate``, and of ``revisits`` (records
    that say that a page was fetched again). Filtered are pages without an article, in other
    languages, or reserved. Pages are processed in another process, with limits of time and
    memory; those of more than ``max_page_bytes`` are rejected.
    """
    revisits: list[Revisit] = []
    reader = PageReader(options.extractor, Bounds())
    articles = ArticleCollector(options.thresholds, license=options.license)
    largest = options.max_page_bytes
    if options.html:
        pages = _saved_pages(unit, max_bytes=largest)
    else:
        pages = _archived_pages(unit, run.work, max_bytes=largest)
    for page in pages:
        if isinstance(page, Revisit):
            revisits.append(page)
            yield Filtered("revisit")
            continue
        article = reader.read(page) if isinstance(page, FetchedPage) else page
        yield _fate_of(article, articles) if isinstance(article, PageArticle) else article
        if articles.documents.n_characters >= CHARACTERS_PER_BATCH:
            yield Rows("pages", articles.documents.batch())
    yield Rows("revisits", revisit_batch(revisits))
    yield Counts(reader.counters)
    yield Rows("pages", articles.documents.batch())
    yield Rows("paragraphs", articles.paragraph_batch())
    yield Counts(articles.counters)


def _fate_of(article: PageArticle, articles: ArticleCollector) -> Counts | Filtered | Rejected:
    """Add an article to the others, or tell why it is left out."""
    reason = article.page.guard(partial(articles.add, article))
    if isinstance(reason, Rejected):
        return reason
    return Filtered(reason) if reason else Counts(read=1)


def clean_articles(unit: Unit, options: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Remove the paragraphs that ``find_boilerplate`` found; find sentences; compute signatures.

    Rows of ``articles``, and of ``signatures``, by which they are compared. An article that lost
    text, and has too few characters left, is filtered.
    """
    found = read_boilerplate(run.work.shard(BOILERPLATE, 0), unit.number)
    cleaner = RowCleaner(found, options.min_characters)
    for batch in read_stage(unit, run, "pages"):
        for row in batch.to_pylist():
            clean, position = partial(cleaner.add, row), f"document {row['id']}"
            kept = read_record(clean, source=row["source"], position=position)
            if isinstance(kept, Rejected):
                yield Counts(rejected=[kept])
            elif kept is None:
                yield Counts(filtered={"short": 1})
        for _, cut in read_rows(cleaner.batch(), with_sentences):
            if isinstance(cut, Rejected):
                yield Counts(rejected=[cut])
                continue
            articles, counters = cut
            yield from _signed(articles)
            yield Counts(counters)
    yield Counts(cleaner.counters)


def _signed(articles: pa.RecordBatch) -> Iterator[Rows | Counts]:
    for rows, signatures in read_rows(articles, signatures_of):
        if isinstance(signatures, Rejected):
            yield Counts(rejected=[signatures])
        else:
            yield Rows("articles", rows)
            yield Rows("signatures", signatures)


def sign_earlier(unit: Unit, _: "Options", __: Run) -> Iterator[Rows | Counts]:
    """Compute the signatures of the documents of an earlier dataset; rows of ``previous``.

    One that cannot be signed counts as a record that was read and rejected.
    """
    for batch in read_documents(unit, columns=SIGNED):
        for rows, signatures in read_rows(batch, signatures_of):
            if isinstance(signatures, Rejected):
                yield Counts(read=1, rejected=[signatures])
                # Row numbers stay in step with the earlier dataset, which has the row.
                yield Rows("previous", unsigned(rows))
            else:
                yield Rows("previous", signatures)


def publish_articles(unit: Unit, _: "Options", run: Run) -> Iterator[Rows | Counts]:
    """Publish the articles without those that ``find_duplicates`` found, which are noted.

    The notes are for a side file.
    """
    duplicates = duplicates_of(run.work.shard(DUPLICATES, 0), unit.number)
    gone, first = [duplicate["row"] for duplicate in duplicates], 0
    for batch in read_stage(unit, run, "articles"):
        places = np.arange(first, first + batch.num_rows)
        first += batch.num_rows
        yield from published(batch.filter(pa.array(~np.isin(places, gone))))
    yield Counts(notes=[note_of(of) for of in duplicates if of["duplicate_of"]])
