"""Readers of lists of articles: sitemaps, indexes of sitemaps, feeds, and the links of a page.

The input is not trusted: XML entities are not resolved, nothing is unpacked beyond a bound, and
the parser bounds the depth of trees. Input that cannot be read raises ``ListingError``.
"""

import codecs
import gzip
import re
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

from corpora.errors import CountedError
from corpora.system.sandbox import Bounds, Task, call

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_LISTING_BYTES = 50 << 20
"""The most bytes of an unpacked list, as in the protocol of sitemaps."""
MAX_ENTRIES = 50_000
"""The most entries of a list, as in the protocol of sitemaps."""
MAX_LINKS = 10_000
"""The most links of a page that are read; no honest page has as many."""
MAX_METAS, MAX_ATTRIBUTES = 1_000, 20
"""The most ``meta`` elements of a page, and attributes of each, that are kept: the tests for
articles read all of them."""
_MAX_NAME = 1_000
"""The most characters of an element's name, with its namespace."""
_TEXT_OR_AMPERSAND = re.compile(rb"(<!\[CDATA\[.*?(?:\]\]>|\Z))|&(?!#?\w{1,31};)", re.DOTALL)
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*>")
_SCHEMES = ("http://", "https://")
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_KINDS = {
    "urlset": "sitemap",
    "sitemapindex": "index",
    "rss": "feed",
    "rdf": "feed",
    "feed": "feed",
}
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_DATES = ("publication_date", "lastmod", "pubdate", "published", "updated", "date")
"""The elements that give the date of an entry, in lower case, the best first."""


class ListingError(CountedError):
    """The error for a list that is no sitemap or feed, or a page that is no text."""

    def __init__(self, message: str, *, reason: str = "broken_listing") -> None:
        super().__init__(reason, message)


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """An entry of a list: an article, or another sitemap."""

    url: str
    date: datetime | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class SiteListing:
    """A sitemap or a feed."""

    kind: str
    """``sitemap``, ``index`` (of sitemaps), ``feed``, ``text``."""
    entries: tuple[ListingEntry, ...]
    n_beyond: int = 0
    """The number of entries after the first ``MAX_ENTRIES``, which are dropped."""


def read_listing(body: bytes, *, url: str) -> SiteListing:
    """Read a sitemap (XML or lines), an index of sitemaps, RSS 0.9 to 2.0, or Atom; maybe packed.

    Entries are sorted by date, the newest first, those without a date last; otherwise as listed.
    """
    body = _in_utf_8(_unpack(body)).removeprefix(b"\xef\xbb\xbf").strip()
    if not body:
        raise ListingError(f"{url}: is empty.")
    if body.startswith(b"<"):
        kind, entries = _read_xml(body, url)
    else:
        lines = body.decode("utf-8", "replace").split()
        kind = "text"
        entries = [ListingEntry(line) for line in lines if line.startswith(_SCHEMES)]
        if not entries:
            raise ListingError(f"{url}: neither a sitemap nor a feed.")
    kept = entries[:MAX_ENTRIES]
    kept.sort(key=lambda entry: -entry.date.timestamp() if entry.date else float("inf"))
    return SiteListing(kind, tuple(kept), len(entries) - len(kept))


def _in_utf_8(body: bytes) -> bytes:
    """Convert a list in UTF-16 with a byte order mark; others stay."""
    if not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body
    return _DECLARATION.sub("", body.decode("utf-16", "replace")).encode("utf-8", "replace")


def _unpack(body: bytes) -> bytes:
    """Unpack a list that is a gzip file itself, apart from the packing of HTTP.

    Returns what came before the place where the file is cut off, is damaged, or is no gzip.
    """
    if not body.startswith(b"\x1f\x8b"):
        return body
    data = bytearray()
    try:
        with gzip.open(BytesIO(body)) as file:
            while len(data) <= MAX_LISTING_BYTES and (piece := file.read1(1 << 16)):
                data += piece
    except (OSError, EOFError, zlib.error) as error:
        if not data:
            raise ListingError(f"cannot be unpacked ({error}).") from error
        if not data.lstrip().startswith(b"<"):  # lines: the last may be incomplete
            del data[data.rfind(b"\n") + 1 :]
    if len(data) > MAX_LISTING_BYTES:
        raise ListingError(f"unpacks to more than {MAX_LISTING_BYTES:,} bytes.")
    return bytes(data)


def _read_xml(body: bytes, url: str) -> tuple[str, list[ListingEntry]]:
    from lxml import etree

    events = etree.iterparse(
        BytesIO(_with_ampersands(body)),
        events=("start", "end"),
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    root, entries = "", []
    try:
        for event, element in events:
            name = _name(element)
            root = root or name
            if event == "end" and name in _ENTRIES:
                entries += [entry for entry in (_entry(element, name, url),) if entry.url]
                _forget(element)
    except etree.XMLSyntaxError as error:
        if not entries:
            raise ListingError(f"{url}: neither a sitemap nor a feed ({error}).") from error
    if root not in _KINDS:
        raise ListingError(f"{url}: neither a sitemap nor a feed, but <{root}>.")
    # if the list is cut off, the last address may be incomplete
    is_whole = body.endswith(b">") or _ends(root, body)
    return _KINDS[root], entries if is_whole else entries[:-1]


def _ends(root: str, body: bytes) -> bool:
    """Tell whether the root of a list is closed: some servers write text behind it."""
    return bool(re.search(rb"</(?:[\w.-]+:)?%b\s*>" % root.encode(), body, re.IGNORECASE))


def _with_ampersands(body: bytes) -> bytes:
    """Escape ``&`` where the list does not: the parser would drop what follows."""
    return _TEXT_OR_AMPERSAND.sub(lambda found: found[1] or b"&amp;", body)


def _name(element: "_Element") -> str:
    """Return the name of an element without namespace, in lower case: feeds differ in both."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    if len(tag) > _MAX_NAME:  # the parser copies the name for each element
        raise ListingError(f"the name of an element has more than {_MAX_NAME:,} characters.")
    return tag.rpartition("}")[2].lower()


def _forget(element: "_Element") -> None:
    """Free an element that was read, so that a long list does not fill the memory."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _entry(element: "_Element", name: str, base: str) -> ListingEntry:
    """Read an entry of a list; its URL is empty where the entry has none."""
    texts: dict[str, str] = {}
    links: list[str] = []
    # children, and those of ``news:news``; not of ``image:image``, which has a ``loc`` of its own
    news = (part for child in element if _name(child) == "news" for part in child)
    for child in (*element, *news):
        key, text = _name(child), (child.text or "").strip()
        if key == "link":  # in RSS the URL is the text, in Atom the ``href`` of ``rel=alternate``
            is_own = child.get("rel", "alternate") == "alternate"
            links += filter(None, [text or (child.get("href", "").strip() if is_own else "")])
        elif text and (key != "guid" or child.get("isPermaLink", "true").lower() != "false"):
            texts.setdefault(key, text)
    links.append(texts.get("loc") or texts.get("guid") or element.get(_ABOUT) or "")
    url = texts.get("loc", "") if name in {"url", "sitemap"} else links[0]
    date = next((found for key in _DATES if (found := _date(texts.get(key)))), None)
    return ListingEntry(_absolute(base, url), date, " ".join(texts.get("title", "").split()))


def _absolute(base: str, url: str) -> str:
    """Resolve an address of http or https, without ``#``; empty for anything else."""
    try:
        url = urldefrag(urljoin(base, url.strip())).url if url.strip() else ""
    except ValueError:
        return ""
    return url if url.startswith(_SCHEMES) else ""


def _date(text: str | None) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime) if text else ():
        try:
            found = read(text or "")
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, TypeError, OverflowError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links of a page, and its parts by which articles are told from lists."""

    links: tuple[str, ...] = ()
    """The absolute URLs of links, each once, without fragment and without ``nofollow`` links."""
    n_nofollow: int = 0
    """The number of links that must not be followed, by their ``rel``, or all of them by
    ``meta name=robots``."""
    n_beyond: int = 0
    """The number of links after the first ``MAX_LINKS``, which are dropped."""
    feeds: tuple[str, ...] = ()
    metas: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The first ``MAX_ATTRIBUTES`` attributes of the first ``MAX_METAS`` elements ``meta``."""
    headings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The name (``h1`` …) of each heading and the ``href`` of each link in it, as written; at most
    ``MAX_LINKS`` headings and as many links."""


def read_links(body: bytes, *, url: str, content_type: str | None) -> PageLinks:
    """Read the links of a page; raise ``ListingError`` where the page is no text."""
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    from corpora.news.decoding import decode
    from corpora.text.opening import TextError

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        text = decode(body, content_type=content_type, name=url).text
        root = document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except TextError as error:
        raise ListingError(f"{url}: {error}", reason="no_text") from error
    except ParserError:  # only white space
        return PageLinks()
    bases = (href for e in root.iter("base") if (href := e.get("href")) is not None)
    base = _absolute(url, next(bases, "")) or url
    metas = tuple(
        tuple(islice(e.attrib.items(), MAX_ATTRIBUTES))
        for e in islice(root.iter("meta"), MAX_METAS)
    )
    found = [
        (address, "nofollow" in element.get("rel", "").lower())
        for element in root.iter("a")
        if (address := _absolute(base, element.get("href", "")))
    ]
    follow = list(dict.fromkeys(address for address, is_nofollow in found if not is_nofollow))
    nofollow = sum(is_nofollow for _, is_nofollow in found)
    if any(_is_nofollow(dict(meta)) for meta in metas):
        nofollow, follow = nofollow + len(follow), []
    return PageLinks(
        links=tuple(follow[:MAX_LINKS]),
        n_nofollow=nofollow,
        n_beyond=max(0, len(follow) - MAX_LINKS),
        feeds=_feeds(root, base),
        metas=metas,
        headings=_headings(root),
    )


def _is_nofollow(meta: dict[str, str]) -> bool:
    value = meta.get("content", "")
    return meta.get("name", "").lower() == "robots" and forbids_following(value)


def forbids_following(directives: str) -> bool:
    """Tell whether directives like ``noindex, nofollow`` forbid following links.

    A directive to any agent counts; ``max-image-preview:none`` is another matter.
    """
    parts = (part.strip() for part in directives.lower().split(","))
    return any(
        part.rpartition(":")[2].strip() in {"nofollow", "none"} and not part.startswith("max-")
        for part in parts
    )


def _feeds(root: "_Element", base: str) -> tuple[str, ...]:
    found = (
        _absolute(base, element.get("href", ""))
        for element in root.iter("link")
        if element.get("type", "").lower() in {"application/rss+xml", "application/atom+xml"}
        and "alternate" in element.get("rel", "alternate").lower()
    )
    return tuple(dict.fromkeys(filter(None, found)))


def _headings(root: "_Element") -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read the headings of a page, each with the links in it.

    It takes one walk: nested headings must not cost the square of their number.
    """
    found: list[tuple[str, list[str]]] = []
    names = {"h1", "h2", "h3", "h4", "h5", "h6"}
    n_links = 0
    for element in root.iter(*names, "a"):
        if element.tag in names:
            if len(found) == MAX_LINKS:
                break
            found.append((element.tag, []))
            continue
        inside = next(element.iterancestors(*names), None)
        href = element.get("href")
        if href is not None and inside is not None and found and n_links < MAX_LINKS:
            found[-1][1].append(href)
            n_links += 1
    return tuple((name, tuple(hrefs)) for name, hrefs in found)


PAGE_BOUNDS, LISTING_BOUNDS = Bounds(seconds=10.0), Bounds(seconds=30.0)
"""Bounds of reading; an honest page of 10 MB, or a list of 50,000 addresses, takes two seconds."""
_URL = "https://a.example/"
_LINKS = Task(read_links, {"body": b"<a href=a>a</a>", "url": _URL, "content_type": None})
_LISTING = Task(read_listing, {"body": f"<urlset><url><loc>{_URL}".encode(), "url": _URL})


def read_links_bounded(body: bytes, *, url: str, content_type: str | None) -> PageLinks:
    """Run ``read_links`` in another process, so that no page blocks the event loop.

    Raises ``TaskError``: ``no_text``, ``timeout``, ``memory``, ``failed``.
    """
    arguments = {"body": body, "url": url, "content_type": content_type}
    return call(_LINKS, arguments, bounds=PAGE_BOUNDS)


def read_listing_bounded(body: bytes, *, url: str) -> SiteListing:
    """Run ``read_listing`` in another process, so that no list blocks the event loop.

    Raises ``TaskError``: ``broken_listing``, ``timeout``, ``memory``, ``failed``.
    """
    return call(_LISTING, {"body": body, "url": url}, bounds=LISTING_BOUNDS)
