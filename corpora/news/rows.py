"""Rows of ``documents`` from articles: as read, then without boilerplate, then with sentences."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from corpora.datasets.columns import DocumentColumns, with_columns
from corpora.datasets.rows import Row
from corpora.datasets.schemas import SCHEMAS
from corpora.news.boilerplate import hash_of, paragraph_hash
from corpora.news.extraction import BLOCK_END, ExtractedArticle
from corpora.news.filters import Thresholds, identify, why_not
from corpora.news.page_metadata import PageMetadata, host_of
from corpora.news.pages import FetchedPage
from corpora.news.rights import Rights, decide
from corpora.segmentation.scripts import n_letters
from corpora.segmentation.sentences import segmenter

SPACE = "url:"
"""The prefix of the entities that links mean: ``url:`` and the URL."""
_NO_SITE = "news"


@dataclass(frozen=True, slots=True)
class PageArticle:
    """An article, the page that it was found in, and the encoding of this page."""

    page: FetchedPage
    article: ExtractedArticle
    encoding: str


@dataclass(slots=True)
class ArticleCollector:
    """A collector of the articles of a unit, as rows, and of the hashes of their paragraphs."""

    thresholds: Thresholds
    license: str | None = None
    """The licence of articles that name no Creative Commons licence."""
    documents: DocumentColumns = field(default_factory=DocumentColumns)
    paragraphs: list[int] = field(default_factory=list)
    titles: list[int] = field(default_factory=list)
    """For each hash of ``paragraphs``, the hash of the title of its page."""
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, found: PageArticle) -> str | None:
        """Add the row of an article; return why the article is left out, None if it is kept."""
        page, article, metadata = found.page, found.article, found.article.metadata
        rights = decide(page, metadata)
        lang = identify(article.text, metadata.lang) if article.text else None
        self.counters[f"mining.{rights.mining}"] += 1
        if reason := why_not(article, lang=lang, rights=rights, thresholds=self.thresholds):
            if reason == "language":
                self.counters[f"language/{lang}"] += 1
            return reason
        self.counters.update(article.counters)
        url = page.url or metadata.url
        site = (host_of(url) or _NO_SITE).removeprefix("www.")
        title = next(iter(metadata.titles), None)
        texts = [(article.text[start:end], kind) for start, end, kind in article.blocks]
        hashes = {hash for text, kind in texts if (hash := paragraph_hash(site, text, kind))}
        links = ((link.start, link.end, link.target.partition("#")) for link in article.links)
        self.documents.add(
            {
                "id": page.id,
                "group": site,
                "source": page.source,
                "lang": lang,
                "title": title,
                "url": url,
                "timestamp": metadata.published,
                "license": rights.license or self.license,
                "text": article.text,
            },
            blocks=article.blocks,
            sentences=(),
            links=[(start, end, SPACE + to, part) for start, end, (to, _, part) in links],
            metadata=_metadata(page, metadata, rights, encoding=found.encoding),
        )
        self.paragraphs += sorted(hashes)
        self.titles += [hash_of(site, title or article.text[:100])] * len(hashes)
        return None

    def paragraph_batch(self) -> pa.RecordBatch:
        """Put the hashes of all paragraphs into a batch of ``news_paragraphs``."""
        columns = [pa.array(hashes, pa.uint64()) for hashes in (self.paragraphs, self.titles)]
        return pa.record_batch(columns, SCHEMAS["news_paragraphs"].columns)


def _metadata(
    page: FetchedPage, metadata: PageMetadata, rights: Rights, *, encoding: str
) -> dict[str, str]:
    values = {
        "authors": "; ".join(metadata.authors),
        "section": metadata.section,
        "site": metadata.site,
        "modified": metadata.modified,
        "fetched": page.fetched,
        "canonical": metadata.url if metadata.url != page.url else None,
        "free": None if metadata.is_free is None else "yes" if metadata.is_free else "no",
        "mining": rights.mining,
        "mining_because": rights.because,
        "robots": rights.robots,
        "license_told": rights.license_text,
        "encoding": encoding,
        "digest": page.digest,
    }
    return {name: value for name, value in values.items() if value} | dict(page.metadata)


@dataclass(slots=True)
class RowCleaner:
    """A collector of rows of ``documents`` without their boilerplate."""

    boilerplate: Collection[int]
    """The hashes of the paragraphs that are removed."""
    min_characters: int
    rows: list[Row] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> str | None:
        """Add a row; return its text, None if too little text is left."""
        kept = self._kept(row["group"], row["text"], row["paragraphs"])
        if len(kept) < len(row["paragraphs"]):
            row = row | _only(kept, row)
            if n_letters(row["text"]) < self.min_characters:
                return None
        self.rows.append(row)
        return str(row["text"])

    def batch(self) -> pa.RecordBatch:
        """Return the collected rows as a batch, and forget the rows."""
        rows, self.rows = self.rows, []
        return pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["pages"].columns)

    def _kept(self, site: str, text: str, blocks: Sequence[Row]) -> list[Row]:
        """Select the blocks that are not boilerplate; headings at the end without text go too."""
        hashes = (paragraph_hash(site, text[b["start"] : b["end"]], b["kind"]) for b in blocks)
        own = zip(blocks, hashes, strict=True)
        kept = [block for block, hash in own if hash not in self.boilerplate]
        self.counters["blocks.boilerplate"] += len(blocks) - len(kept)
        while 0 < len(kept) < len(blocks) and kept[-1]["kind"] == "head":
            kept.pop()
            self.counters["blocks.last_head"] += 1
        return kept


def _only(blocks: Sequence[Row], row: Row) -> Row:
    """Return text, paragraphs and mentions of a row, cut down to some of its blocks."""
    texts, paragraphs, mentions, position = [], list[Row](), list[Row](), 0
    for block in blocks:
        start, end = block["start"], block["end"]
        by = position - start
        inside = (m for m in row["mentions"] if start <= m["start"] and m["end"] <= end)
        texts.append(row["text"][start:end])
        paragraphs.append(_moved(block, by))
        mentions += (_moved(mention, by) for mention in inside)
        position += end - start + len(BLOCK_END)
    return {"text": BLOCK_END.join(texts), "paragraphs": paragraphs, "mentions": mentions}


def _moved(span: Row, by: int) -> Row:
    return span | {"start": span["start"] + by, "end": span["end"] + by}


def with_sentences(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Mapping[str, int]]:
    """Add the column of sentences to rows.

    Returns the rows, and counts of their characters, paragraphs, sentences and links.
    """
    counters: Counter[str] = Counter()
    column = []
    for row in batch.select(["lang", "text", "paragraphs", "mentions"]).to_pylist():
        sentences = _sentences(row)
        column.append([{"start": start, "end": end} for start, end in sentences])
        counters.update(
            characters=len(row["text"]),
            paragraphs=len(row["paragraphs"]),
            sentences=len(sentences),
            links=len(row["mentions"]),
        )
    found = pa.array(column, batch.schema.field("sentences").type)
    return with_columns(batch, {"sentences": found}), counters


def _sentences(row: Row) -> list[tuple[int, int]]:
    """Split the blocks into sentences; neither a heading nor a link is ever cut."""
    blocks = [(block["start"], block["end"]) for block in row["paragraphs"]]
    heads = [
        (block["start"], block["end"]) for block in row["paragraphs"] if block["kind"] == "head"
    ]
    anchors = [(link["start"], link["end"]) for link in row["mentions"]]
    outside = [a for a in anchors if not any(s <= a[0] and a[1] <= e for s, e in heads)]
    return list(segmenter(row["lang"]).split(row["text"], blocks, unbroken=sorted(heads + outside)))
