"""Extraction of the article of a page: body, links with exact offsets, and metadata.

The body is found by one of two extractors: trafilatura (the better and faster one, see
docs/news.md) or news-please. ``tidying.py`` removes what they
take for text and is none; ``boilerplate.py`` finds what many pages share.

Extraction runs in a process of its own (``corpora.system.sandbox``): a page may keep a parser busy
for hours.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from corpora.errors import CountedError
from corpora.hashing.shingles import words_of
from corpora.news.blocks import (
    EXTRACTED,
    PAGE,
    Block,
    Hyperlink,
    key_of,
    link_ratio,
    read_blocks,
    read_page,
    with_lost_parts,
    with_places,
)
from corpora.news.boxes import keys_in_boxes, leads_in_boxes, main_area
from corpora.news.bylines import find_authors, near_title
from corpora.news.page_metadata import (
    PageMetadata,
    absolute_url,
    body_keys,
    read_date,
    read_metadata,
)
from corpora.news.tidying import is_dateline, tidy, with_leads
from corpora.segmentation.scripts import n_letters

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MIN_SUBJECTS = 3
"""The least number of subjects in a request; at 3, 35 of 36 blocks were requests (in pages of four
evaluation sets)."""


def requests_in(blocks: Iterable[Block], *, about: Iterable[str]) -> set[str]:
    """Return the texts of blocks that ask for consent; none of a page that is ``about`` such.

    ``about`` has the titles and descriptions of the page.
    """
    storage, subjects = _patterns()
    privacy = subjects["privacy"]
    if any(storage.search(text) or privacy.search(text) for text in about):
        return set()
    return {
        block.text
        for block in blocks
        if storage.search(block.text)
        and _count(block.text, list(subjects.values())) >= _MIN_SUBJECTS
    }


def _count(text: str, subjects: Sequence[re.Pattern[str]]) -> int:
    return sum(pattern.search(text) is not None for pattern in subjects)


@cache
def _patterns() -> tuple[re.Pattern[str], dict[str, re.Pattern[str]]]:
    table = tomllib.loads((files("corpora.news") / "consent.toml").read_text("utf-8"))
    subjects = {name: _any_of(words) for name, words in table["subjects"].items()}
    return _any_of(table["storage"]), subjects


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


BLOCK_END = "\n"
_TITLES = "//head/title/text() | //head/meta[@property='og:title']/@content"
_MAX_TITLES = 10
_MIN_LEAD = 40
"""The least letters of a description for the block that repeats it to be taken as the lead."""
_MAX_LINKS = 0.1
"""The highest ratio of characters in blocks of only links, on a page that does not call itself an
article, for them not to be the text itself."""
_CONTROL = re.compile(
    r"&#(?:0*(?:[0-8]|1[1-9]|2\d|3[01]|127)|[xX]0*(?:[0-8bceBCE]|[fF]|1[0-9a-fA-F]|7[fF]));?(?!\w)"
)
"""Character references to control characters (``&#8;``), at which some extractors fail."""
_MIN_WORDS = 15
"""The least words of a body for news-please to keep it."""
_MAX_PLACE = 20
"""The most letters of a place (``Berlin.``) that may precede the description in the lead."""


class ExtractionError(CountedError):
    """A page that cannot be extracted."""


@dataclass(frozen=True, slots=True)
class ExtractedArticle:
    """The article of a page: text, blocks, links and metadata."""

    text: str
    blocks: tuple[tuple[int, int, str], ...]
    """The start, end and kind of each paragraph, heading …, in order."""
    links: tuple[Hyperlink, ...]
    """The links in reading order, with absolute targets."""
    metadata: PageMetadata
    linked: float = 0.0
    """The ratio of characters in links, in the extractor's result before it is tidied."""
    counters: Mapping[str, int] = field(default_factory=dict)


def extract(html: str, *, url: str | None, extractor: str) -> ExtractedArticle:
    """Extract the article of a page; ``url`` is where the page was found.

    The text is empty where the page has no body. Raises ``ExtractionError`` for a page of which a
    part would be lost.
    """
    html = _CONTROL.sub(" ", html)
    tree = parse(html)
    if tree is None:
        return ExtractedArticle("", (), (), PageMetadata(url=url))
    counters: Counter[str] = Counter()
    metadata = read_metadata(tree, url)
    base = next(iter(tree.xpath("//base/@href")), None)
    counters["articles.further"] += drop_further_articles(tree)
    page, boxes = read_page(tree)
    metadata = _with_byline(metadata, tree, page)
    blocks, n_unplaced = with_places(EXTRACTORS[extractor](html, tree, url), page)
    counters["blocks.without_place"] += n_unplaced
    n_found = len(blocks)
    for body in body_keys(tree) if "articleBody" in html else ():
        blocks = with_lost_parts(blocks, page, body)
    counters["blocks.restored"] += len(blocks) - n_found
    is_article = metadata.kind == "article"
    area = [] if is_article else main_area(page, boxes, found=blocks)
    counters["blocks.area"] += len(area)
    blocks = area or blocks
    linked = link_ratio(blocks)
    lead = _lead(page, metadata)
    in_boxes = keys_in_boxes(page, boxes, found=blocks) - {block.key for block in lead}
    kept = [block for block in blocks if block.key not in in_boxes]
    counters["blocks.box"] += len(blocks) - len(kept)
    requests = requests_in(kept, about=(*metadata.titles, *metadata.descriptions))
    counters["blocks.consent"] += len(requests)
    kept = [block for block in kept if block.text not in requests]
    blocks = tidy(
        kept,
        titles=metadata.titles,
        authors=metadata.bylines,
        max_links=1.0 if is_article else _MAX_LINKS,
        counters=counters,
    )
    lead += leads_in_boxes(page, boxes, found=blocks, metadata=metadata)
    blocks = with_leads(blocks, lead, counters)
    article = _joined(blocks, metadata, base=absolute_url(url, base) or url, counters=counters)
    return replace(article, linked=linked)


def parse(html: str) -> "HtmlElement | None":
    """Parse a page to an lxml tree; return None for an empty page.

    Raises ``ExtractionError`` where the parser stops at a limit, ``MemoryError`` where it gets no
    memory.
    """
    from lxml.etree import ErrorTypes, ParserError, XMLSyntaxError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        tree = document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except ParserError:  # the document is empty
        return None
    except XMLSyntaxError as error:
        if error.code == ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise
    for entry in parser.error_log:
        if entry.type_name == "ERR_RESOURCE_LIMIT":
            reason = "too_deep" if "depth" in entry.message else "too_large"
            raise ExtractionError(
                reason, f"the parser stops at line {entry.line} ({entry.message[:60]} …)."
            )
    return tree


def _with_byline(metadata: PageMetadata, tree: "HtmlElement", page: list[Block]) -> PageMetadata:
    """Add the authors and the date that stand near the title, where the metadata has none.

    The site is never an author.
    """
    if not metadata.published:
        lines = (b.text for b in near_title(page, metadata.titles) if is_dateline(b))
        metadata = replace(metadata, published=read_date(*lines, lang=metadata.lang))
    if metadata.authors:
        return metadata
    site = key_of(metadata.site or "")
    seen = [n for n in find_authors(tree, page, metadata.titles) if key_of(n) != site]
    return replace(metadata, authors=tuple(seen), bylines=(*metadata.bylines, *seen))


def drop_further_articles(tree: "HtmlElement") -> int:
    """Remove other articles from a page; return how many were removed.

    If the heading (``h1``) of exactly one outermost ``article`` element is in a title of the page,
    the other outermost ``article`` elements with headings are other articles.
    """
    outermost = [e for e in tree.iter("article") if next(e.iterancestors("article"), None) is None]
    headed = [(e, keys) for e in outermost if (keys := _heading_keys(e))]
    if len(headed) < 2:
        return 0
    title_keys = [key_of(title) for title in tree.xpath(_TITLES)[:_MAX_TITLES]]
    own = [e for e, keys in headed if any(key in title for key in keys for title in title_keys)]
    if len(own) != 1:
        return 0
    others = [e for e, _ in headed if e is not own[0]]
    for element in others:
        element.drop_tree()
    return len(others)


def _heading_keys(article: "HtmlElement") -> list[str]:
    return list(filter(None, (key_of("".join(h.itertext())) for h in article.iter("h1"))))


def _with_trafilatura(_: str, tree: "HtmlElement", __: str | None) -> list[Block]:
    """Find the body with trafilatura; without links where trafilatura uses its fallbacks."""
    from copy import deepcopy

    from trafilatura import bare_extraction

    found = bare_extraction(deepcopy(tree), include_comments=False, include_links=True)
    body = getattr(found, "body", None)
    return [] if body is None else read_blocks(body, EXTRACTED)


def _with_news_please(html: str, _: "HtmlElement", url: str | None) -> list[Block]:
    """Find the body with news-please, as lines without links.

    Where news-please cannot split the language into words, readability finds the body.
    """
    from newsplease import NewsPlease

    try:
        found = NewsPlease.from_html(html, url=url, fetch_images=False)  # the default fetches them
    except ImportError:  # the library newspaper lacks the language's tokenizer
        return _with_readability(html)
    if not found.maintext:  # also for Chinese: fewer than 15 words between spaces
        blocks = _with_readability(html)
        return blocks if sum(len(b.text.split()) for b in blocks) < _MIN_WORDS else []
    lines = (" ".join(line.split()) for line in found.maintext.splitlines())
    return [Block(line, "p") for line in lines if line]


def _with_readability(html: str) -> list[Block]:
    """Find the body with readability, part of news-please; none of fewer than 15 words."""
    from readability import Document

    tree = parse(Document(html).summary())
    blocks = [] if tree is None else read_blocks(tree, PAGE)
    return blocks if len(words_of(" ".join(b.text for b in blocks))) >= _MIN_WORDS else []


EXTRACTORS: Mapping[str, Callable[[str, "HtmlElement", str | None], list[Block]]] = {
    "trafilatura": _with_trafilatura,
    "news-please": _with_news_please,
}


def _lead(page: list[Block], metadata: PageMetadata) -> list[Block]:
    """Find the first block of the page that repeats its description, after a place name at most.

    A description that is the title has none.
    """
    titles = "\n".join(map(key_of, metadata.titles))
    described = (key for key in map(key_of, metadata.descriptions) if key not in titles)
    keys = tuple(key for key in described if n_letters(key) >= _MIN_LEAD)
    most = max(map(n_letters, keys), default=0) + _MAX_PLACE
    return [b for b in page if keys and b.key.endswith(keys) and b.n_letters <= most][:1]


def _joined(
    blocks: list[Block], metadata: PageMetadata, *, base: str | None, counters: Counter[str]
) -> ExtractedArticle:
    """Put the blocks into one text, a line each, and resolve the links."""
    places: list[tuple[int, int, str]] = []
    links: list[Hyperlink] = []
    start = 0
    for block in blocks:
        places.append((start, start + len(block.text), block.kind))
        for link in block.links:
            target = absolute_url(base, link.target)
            if target is None:
                counters["links.not_of_the_web"] += 1
            else:
                links.append(Hyperlink(start + link.start, start + link.end, target))
        start += len(block.text) + len(BLOCK_END)
    text = BLOCK_END.join(block.text for block in blocks)
    return ExtractedArticle(text, tuple(places), tuple(links), metadata, counters=dict(counters))
