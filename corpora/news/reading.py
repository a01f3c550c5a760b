"""From what is found in archives and files to rows: decoded, extracted, filtered; with reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from corpora.document import Rejected
from corpora.news.bounded import extract_bounded
from corpora.news.decoding import TextError, decode
from corpora.news.extraction import ExtractionError
from corpora.news.filters import Thresholds
from corpora.news.pages import Found, NoPage, Page, Revisit
from corpora.news.rows import ArticleReader
from corpora.record_errors import read_record
from corpora.sandbox import Bounds
from corpora.schemas import SCHEMAS

_REVISITS = SCHEMAS["news_revisits"].columns


@dataclass(slots=True)
class PageReader:
    """Reads the pages of a unit; ``articles`` collects what becomes of them."""

    articles: ArticleReader
    extractor: str
    bounds: Bounds
    revisits: list[Revisit] = field(default_factory=list)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "PageReader":
        """Make one of the settings of a unit."""
        thresholds = dict(settings["thresholds"])
        langs: Sequence[str] = thresholds.pop("langs")
        articles = ArticleReader(
            Thresholds(langs=tuple(langs), **thresholds), license=settings["license"]
        )
        bounds = Bounds(seconds=settings["max_seconds"])
        return cls(articles, settings["extractor"], bounds)

    def read(self, found: Found) -> Rejected | str | None:
        """Take what was found; returns why it is left out, None for an article that is kept.

        Counts ``status/404``, ``content_type/image-png`` …, and what told the encodings.
        """
        if isinstance(found, Page):
            return read_record(
                partial(self._read_page, found),
                source=found.source,
                position=found.position,
                excerpt=found.excerpt,
            )
        if isinstance(found, Revisit):
            self.revisits.append(found)
            return "revisit"
        if isinstance(found, NoPage):
            if found.detail:
                self.articles.counters[f"{found.reason}/{found.detail.replace('/', '-')}"] += 1
            return found.reason
        return found

    def _read_page(self, page: Page) -> Rejected | str | None:
        counters = self.articles.counters
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
        return self.articles.add(page, article, encoding=decoded.encoding)

    def batches(self) -> dict[str, pa.RecordBatch]:
        """What was collected beside the rows: hashes of paragraphs, revisits."""
        columns = [self.articles.paragraphs, self.articles.titles]
        schema = SCHEMAS["news_paragraphs"].columns
        rows = [
            {
                "id": f"{revisit.source}#{revisit.position}",
                "url": revisit.url,
                "digest": revisit.digest,
                "refers_to": revisit.refers_to,
            }
            for revisit in self.revisits
        ]
        return {
            "paragraphs": pa.record_batch([pa.array(c, pa.uint64()) for c in columns], schema),
            "revisits": pa.RecordBatch.from_pylist(rows, schema=_REVISITS),
        }
