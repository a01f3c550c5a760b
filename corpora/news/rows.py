"""Articles to rows of ``documents``: as they are read, without boilerplate, with sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from corpora.datasets.columns import DocumentColumns, list_array, with_columns
from corpora.datasets.schemas import SCHEMAS
from corpora.news.boilerplate import Hashes, hash_of, is_boilerplate, paragraph_hash
from corpora.news.extraction import BLOCK_END, Article
from corpora.news.filters import Thresholds, identify, why_not
from corpora.news.page_metadata import host_of
from corpora.news.pages import Page
from corpora.news.rights import Rights, decide
from corpora.segmentation.sentences import segmenter

SPACE = "url:"
"""Of the entities of links."""
_NO_SITE = "news"


@dataclass(frozen=True, slots=True)
class PageArticle:
    """An article, the page that it was found in, and the encoding of this page."""

    page: Page
    article: Article
    encoding: str


@dataclass(slots=True)
class ArticleReader:
    """Takes the articles of a unit; collects rows, and the hashes of their paragraphs."""

    thresholds: Thresholds
    license: str | None = None
    """Of articles that do not say."""
    documents: DocumentColumns = field(default_factory=DocumentColumns)
    paragraphs: list[int] = field(default_factory=list)
    titles: list[int] = field(default_factory=list)
    """Of the page of each paragraph."""
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, found: PageArticle) -> str | None:
        """Add a row; returns why the article is left out, None if it is not."""
        page, article = found.page, found.article
        rights = decide(page, article.metadata)
        lang = identify(article.text, article.metadata.lang) if article.text else None
        self.counters[f"mining.{rights.mining}"] += 1
        if reason := why_not(article, lang=lang, rights=rights, thresholds=self.thresholds):
            if reason == "language":
                self.counters[f"language/{lang}"] += 1
            return reason
        self.counters.update(article.counters)
        url = page.url or article.metadata.url
        site = _site(url)
        title = next(iter(article.metadata.titles), None)
        of_title = hash_of(site, title or article.text[:100])
        texts = [(article.text[start:end], kind) for start, end, kind in article.blocks]
        hashes = {hash for text, kind in texts if (hash := paragraph_hash(site, text, kind))}
        self.documents.add(
            {
                "id": page.id,
                "group": site,
                "source": page.source,
                "lang": lang,
                "title": title,
                "url": url,
                "timestamp": article.metadata.published,
                "license": rights.license or self.license,
                "text": article.text,
            },
            blocks=article.blocks,
            sentences=(),
            links=_mentions(article),
            metadata=_metadata(page, article, rights, encoding=found.encoding),
        )
        self.paragraphs += sorted(hashes)
        self.titles += [of_title] * len(hashes)
        return None

    def paragraph_batch(self) -> pa.RecordBatch:
        """Put the hashes of all paragraphs into a batch of ``news_paragraphs``."""
        columns = [pa.array(hashes, pa.uint64()) for hashes in (self.paragraphs, self.titles)]
        return pa.record_batch(columns, SCHEMAS["news_paragraphs"].columns)


def _site(url: str | None) -> str:
    """The host of an address, without ``www.``."""
    return (host_of(url) or _NO_SITE).removeprefix("www.")


def _mentions(article: Article) -> list[tuple[int, int, str, str]]:
    """Links as mentions; what stands behind ``#`` is the section."""
    mentions = []
    for link in article.links:
        target, _, section = link.target.partition("#")
        mentions.append((link.start, link.end, SPACE + target, section))
    return mentions


def _metadata(page: Page, article: Article, rights: Rights, *, encoding: str) -> dict[str, str]:
    told = article.metadata
    free = {True: "yes", False: "no"}.get(told.is_free) if told.is_free is not None else None
    values = {
        "authors": "; ".join(told.authors),
        "section": told.section,
        "site": told.site,
        "modified": told.modified,
        "fetched": page.fetched,
        "canonical": told.url if told.url != page.url else None,
        "free": free,
        "mining": rights.mining,
        "mining_because": rights.because,
        "robots": rights.robots,
        "license_told": rights.license_told,
        "encoding": encoding,
        "digest": page.digest,
    }
    return {name: value for name, value in values.items() if value} | dict(page.metadata)


Row = dict[str, Any]


@dataclass(slots=True)
class RowCleaner:
    """Takes boilerplate out of rows; collects what is left."""

    boilerplate: Hashes
    min_characters: int
    documents: DocumentColumns = field(default_factory=DocumentColumns)
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> str | None:
        """Add a row; returns its text, None if too little of it is left."""
        blocks = [(p["start"], p["end"], p["kind"]) for p in row["paragraphs"]]
        links = [_link(mention) for mention in row["mentions"]]
        text = row["text"]
        kept = self._kept(row["group"], text, blocks)
        if len(kept) < len(blocks):
            text, blocks, links = _without(text, [blocks[i] for i in kept], links)
            if len(text) < self.min_characters:
                return None
        scalars = {name: value for name, value in row.items() if isinstance(value, str | None)}
        self.documents.add(
            scalars | {"text": text},
            blocks=blocks,
            sentences=(),
            links=links,
            metadata={pair["key"]: pair["value"] for pair in row["metadata"]},
        )
        return str(text)

    def _kept(self, site: str, text: str, blocks: Sequence[tuple[int, int, str]]) -> list[int]:
        """Numbers of the blocks that stay; headings at the end that have lost theirs go."""
        hashes = [paragraph_hash(site, text[start:end], kind) for start, end, kind in blocks]
        found = is_boilerplate(self.boilerplate, hashes)
        kept = [number for number, is_found in enumerate(found) if not is_found]
        self.counters["blocks.boilerplate"] += len(blocks) - len(kept)
        while 0 < len(kept) < len(blocks) and blocks[kept[-1]][2] == "head":
            kept.pop()
            self.counters["blocks.last_head"] += 1
        return kept


def _link(mention: Mapping[str, Any]) -> tuple[int, int, str, str]:
    section = next((p["value"] for p in mention["attributes"] if p["key"] == "section"), "")
    return mention["start"], mention["end"], mention["entity"], section


def _without(
    text: str,
    blocks: Sequence[tuple[int, int, str]],
    links: Sequence[tuple[int, int, str, str]],
) -> tuple[str, list[tuple[int, int, str]], list[tuple[int, int, str, str]]]:
    """Put blocks together anew, with the links in them."""
    moved, moved_links = [], []
    position = 0
    for start, end, kind in blocks:
        shift = position - start
        moved.append((position, end + shift, kind))
        inside = [link for link in links if start <= link[0] and link[1] <= end]
        moved_links += [(a + shift, b + shift, entity, section) for a, b, entity, section in inside]
        position += end - start + len(BLOCK_END)
    return BLOCK_END.join(text[start:end] for start, end, _ in blocks), moved, moved_links


def with_sentences(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Mapping[str, int]]:
    """Find the sentences of rows; counts them, and what else the rows have."""
    ends, starts, stops = [0], list[int](), list[int]()
    counters: Counter[str] = Counter()
    for row in batch.select(["lang", "text", "paragraphs", "mentions"]).to_pylist():
        sentences = _sentences(row)
        starts += (start for start, _ in sentences)
        stops += (stop for _, stop in sentences)
        ends.append(len(stops))
        counters.update(
            characters=len(row["text"]),
            paragraphs=len(row["paragraphs"]),
            sentences=len(sentences),
            links=len(row["mentions"]),
        )
    column = list_array(ends, [starts, stops], batch.schema.field("sentences").type)
    return with_columns(batch, {"sentences": column}), counters


def _sentences(row: Row) -> list[tuple[int, int]]:
    """Cut the blocks; neither a heading nor a link is ever cut."""
    blocks = row["paragraphs"]
    heads = [(block["start"], block["end"]) for block in blocks if block["kind"] == "head"]
    anchors = [(link["start"], link["end"]) for link in row["mentions"]]
    outside = [a for a in anchors if not any(s <= a[0] and a[1] <= e for s, e in heads)]
    places = [(block["start"], block["end"]) for block in blocks]
    cut = segmenter(row["lang"]).split(row["text"], places, unbroken=sorted(heads + outside))
    return list(cut)
