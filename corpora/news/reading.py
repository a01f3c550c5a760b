"""Reading of pages as articles: decoding, then extraction in another process, within bounds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.news.decoding import decode
from corpora.news.extraction import ExtractedArticle, ExtractionError, extract
from corpora.news.pages import FetchedPage, Revisit
from corpora.news.rows import PageArticle
from corpora.system.sandbox import Bounds, Task, TaskError, call
from corpora.text.opening import TextError

_INSTALL = {
    "trafilatura": "pip install 'onoma[news]'",
    "news-please": "pip install 'onoma[news-please]'",
}
_FIRST = "<html><body><p>A page to load the libraries with.</p></body></html>"
_REASONS = {
    "timeout": ("extraction_timeout", "."),
    "memory": ("extraction_memory", "."),
    "failed": ("extractor_failed", ". Leave the page out."),
}


def check_installed(extractor: str) -> str:
    """Return the extractor with its version; raise ``UsageError`` where it is not installed."""
    try:
        return f"{extractor} {version(extractor)}"
    except PackageNotFoundError:
        raise UsageError(
            f"--extractor {extractor}: it is not installed. Install it: {_INSTALL[extractor]}"
        ) from None


@cache
def task_of(extractor: str) -> Task[ExtractedArticle]:
    """Make the task that runs ``extract`` in another process; one for each extractor."""
    return Task(extract, {"html": _FIRST, "url": None, "extractor": extractor})


def extract_bounded(
    html: str, *, url: str | None, extractor: str, bounds: Bounds
) -> ExtractedArticle:
    """Run ``extract`` in another process, within bounds; raise ``ExtractionError``."""
    arguments = {"html": html, "url": url, "extractor": extractor}
    try:
        return call(task_of(extractor), arguments, bounds=bounds)
    except TaskError as error:
        reason, rest = _REASONS.get(error.reason, (error.reason, ""))
        raise ExtractionError(reason, f"{error}{rest}") from error


@dataclass(frozen=True, slots=True)
class PageReader:
    """A reader of the articles of pages; counts the encodings and what decided them."""

    extractor: str
    bounds: Bounds
    counters: Counter[str] = field(default_factory=Counter)

    def read(self, page: FetchedPage) -> PageArticle | Rejected:
        """Decode a page, and extract its article."""
        return page.guard(partial(self._read, page))

    def _read(self, page: FetchedPage) -> PageArticle | Rejected:
        try:
            decoded = decode(page.body, content_type=page.header("content-type"), name=page.source)
        except TextError as error:
            return page.reject(error.reason, f"in no encoding that is known ({error})")
        names = [f"encoding.{decoded.encoding}", f"encoding_told_by.{decoded.decided_by}"]
        self.counters.update([*names, "encoding_lies"] if decoded.is_lie else names)
        if decoded.n_invalid:
            self.counters["bytes.invalid"] += decoded.n_invalid
        try:
            article = extract_bounded(
                decoded.text, url=page.url, extractor=self.extractor, bounds=self.bounds
            )
        except ExtractionError as error:
            return page.reject(error.reason, str(error))
        return PageArticle(page, article, decoded.encoding)


def revisit_batch(revisits: Sequence[Revisit]) -> pa.RecordBatch:
    """Put revisits into a batch of ``news_revisits``."""
    schema = SCHEMAS["news_revisits"].columns
    rows = [asdict(r) | {"id": f"{r.source}#{r.position}"} for r in revisits]
    return pa.RecordBatch.from_pylist(rows, schema=schema)
