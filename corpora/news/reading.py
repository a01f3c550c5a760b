"""From pages to articles: decoded and extracted, or rejected with a reason."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.document import Rejected
from corpora.news.bounded import extract_bounded
from corpora.news.decoding import TextError, decode
from corpora.news.extraction import ExtractionError
from corpora.news.pages import Page, Revisit
from corpora.news.rows import PageArticle
from corpora.runs.record_errors import read_record
from corpora.system.sandbox import Bounds

_REVISITS = SCHEMAS["news_revisits"].columns


@dataclass(frozen=True, slots=True)
class PageReader:
    """Finds the articles of pages; counts what told their encodings."""

    extractor: str
    bounds: Bounds
    counters: Counter[str] = field(default_factory=Counter)

    def read(self, page: Page) -> PageArticle | Rejected:
        """Decode a page, and find its article."""
        return read_record(
            partial(self._read, page),
            source=page.source,
            position=page.position,
            excerpt=page.excerpt,
        )

    def _read(self, page: Page) -> PageArticle | Rejected:
        counters = self.counters
        try:
            decoded = decode(page.body, content_type=page.header("content-type"), name=page.source)
        except TextError as error:
            return page.reject(error.reason, f"in no encoding that is known ({error})")
        counters.update([f"encoding.{decoded.encoding}", f"encoding_told_by.{decoded.told_by}"])
        counters.update(["encoding_lies"] if decoded.is_lie else [])
        if decoded.n_invalid:
            counters["bytes.invalid"] += decoded.n_invalid
        try:
            article = extract_bounded(
                decoded.text, url=page.url, extractor=self.extractor, bounds=self.bounds
            )
        except ExtractionError as error:
            return page.reject(error.reason, str(error))
        return PageArticle(page, article, decoded.encoding)


def revisit_batch(revisits: Sequence[Revisit]) -> pa.RecordBatch:
    """Put revisits into a batch of ``news_revisits``."""
    rows = [
        {
            "id": f"{revisit.source}#{revisit.position}",
            "url": revisit.url,
            "digest": revisit.digest,
            "refers_to": revisit.refers_to,
        }
        for revisit in revisits
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_REVISITS)
