"""What names articles: sitemaps, their indexes, feeds, and the links of a page.

Everything here comes from strangers: entities are not resolved, nothing is unpacked beyond a bound,
and no tree is deeper than the parser's own bound. What cannot be read is a ``ListingError``.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

from corpora.errors import CorpusError

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_LISTING_BYTES = 50 << 20
"""Unpacked: what the protocol of sitemaps allows."""
MAX_ENTRIES = 50_000
"""Also."""
MAX_LINKS = 10_000
"""Of a page; no honest one has as many."""
MAX_METAS, MAX_ATTRIBUTES = 1_000, 20
"""Of a page and of each of its ``meta``; what takes it for an article looks at them again."""
_MAX_NAME = 1_000
"""Characters of the name of an element, with its namespace."""
_AMPERSAND = re.compile(rb"&(?!#?\w{1,31};)")
_TEXT, _TEXT_ENDS = b"<![CDATA[", b"]]>"
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_DATES = ("publication_date", "lastmod", "pubdate", "published", "updated", "date")
"""By which name a date is given, the best first; names without case."""


class ListingError(CorpusError):
    """No sitemap, and no feed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An article, or another sitemap, as a list names it."""

    url: str
    date: datetime | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A sitemap or a feed."""

    kind: str
    """``sitemap``, ``index`` (of sitemaps), ``feed``, ``text``."""
    entries: tuple[Entry, ...]
    n_beyond: int = 0
    """Entries after the first ``MAX_ENTRIES``; they are not read."""


def read_listing(body: bytes, *, url: str) -> Listing:
    """Read a sitemap (XML or lines), an index of sitemaps, RSS 0.9 to 2.0, or Atom; maybe packed.

    The newest entries come first, those without a date last; otherwise as they are listed.
    """
    body = _unpack(body).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body:
        raise ListingError(f"{url}: is empty.")
    kind, entries = _read_xml(body, url) if body.startswith(b"<") else _read_lines(body, url)
    kept = entries[:MAX_ENTRIES]
    kept.sort(key=lambda entry: -entry.date.timestamp() if entry.date else float("inf"))
    return Listing(kind, tuple(kept), len(entries) - len(kept))


def _unpack(body: bytes) -> bytes:
    """A sitemap may be a gzip file, beside what HTTP packs."""
    if not body.startswith(b"\x1f\x8b"):
        return body
    try:
        with gzip.open(BytesIO(body)) as file:
            data = file.read(MAX_LISTING_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ListingError(f"cannot be unpacked ({error}).") from error
    if len(data) > MAX_LISTING_BYTES:
        raise ListingError(f"unpacks to more than {MAX_LISTING_BYTES:,} bytes.")
    return data


def _read_lines(body: bytes, url: str) -> tuple[str, list[Entry]]:
    lines = body.decode("utf-8", "replace").split()
    entries = [Entry(line) for line in lines if line.startswith(("http://", "https://"))]
    if not entries:
        raise ListingError(f"{url}: neither a sitemap nor a feed.")
    return "text", entries


def _read_xml(body: bytes, url: str) -> tuple[str, list[Entry]]:
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
                entries += [entry for entry in (_entry(element, name, url),) if entry]
                _forget(element)
    except etree.XMLSyntaxError as error:
        if not entries:
            raise ListingError(f"{url}: neither a sitemap nor a feed ({error}).") from error
    if not body.rstrip().endswith(b">"):  # cut: half an address is none
        entries = entries[:-1]
    kinds = {"urlset": "sitemap", "sitemapindex": "index", "rss": "feed", "rdf": "feed"}
    kind = kinds.get(root) or ("feed" if root == "feed" else "")
    if not kind:
        raise ListingError(f"{url}: neither a sitemap nor a feed, but <{root}>.")
    return kind, entries


def _with_ampersands(body: bytes) -> bytes:
    """Write ``&`` as XML does where nobody did: the parser would leave out what follows."""
    first, *rest = body.split(_TEXT)
    parts = [_AMPERSAND.sub(b"&amp;", first)]
    for part in rest:
        inside, ends, after = part.partition(_TEXT_ENDS)
        parts += [_TEXT, inside, ends, _AMPERSAND.sub(b"&amp;", after)]
    return b"".join(parts)


def _name(element: "_Element") -> str:
    """Without namespace and case: feeds are written with and without them."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    if len(tag) > _MAX_NAME:  # each element would bring it again
        raise ListingError(f"the name of an element has more than {_MAX_NAME:,} characters.")
    return tag.rpartition("}")[2].lower()


def _forget(element: "_Element") -> None:
    """Free what was read, so that a long list does not grow in memory."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _entry(element: "_Element", name: str, base: str) -> Entry | None:
    told: dict[str, str] = {}
    links: list[str] = []
    for child in _children(element):
        key, text = _name(child), (child.text or "").strip()
        if key == "link":
            links += _link(child, text)
        elif key == "guid" and child.get("isPermaLink", "true").lower() == "false":
            continue
        elif text:
            told.setdefault(key, text)
    links = links or [told.get("loc") or told.get("guid") or element.get(_ABOUT) or ""]
    if name in {"url", "sitemap"}:
        links = [told.get("loc", "")]
    url = _absolute(base, links[0])
    date = next((found for key in _DATES if (found := _date(told.get(key)))), None)
    return Entry(url, date, " ".join(told.get("title", "").split())) if url else None


def _children(element: "_Element") -> "Iterator[_Element]":
    """The parts of an entry, with those of ``news:news``; an image has a ``loc`` of its own."""
    for child in element:
        yield child
        if _name(child) == "news":
            yield from child


_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


def _link(element: "_Element", text: str) -> list[str]:
    """The address in a ``link`` of RSS (its text) or Atom (``href``), if it is the article's."""
    if text:
        return [text]
    href = element.get("href", "").strip()
    return [href] if href and element.get("rel", "alternate") == "alternate" else []


def _absolute(base: str, url: str) -> str:
    """An address of the web without ``#``; empty for everything else."""
    try:
        url = urldefrag(urljoin(base, url.strip())).url if url.strip() else ""
    except ValueError:
        return ""
    return url if url.startswith(("http://", "https://")) else ""


def _date(text: str | None) -> datetime | None:
    if not text:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        except (ValueError, TypeError, OverflowError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class PageLinks:
    """What a page says of others, and of itself."""

    links: tuple[str, ...] = ()
    """Each once, absolute, without ``#``; those with ``rel=nofollow`` are not among them."""
    n_nofollow: int = 0
    """Links that are not followed: by ``rel``, or all of them by ``meta name=robots``."""
    n_beyond: int = 0
    """Links after the first ``MAX_LINKS``; they are not among them."""
    feeds: tuple[str, ...] = ()
    metas: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The first ``MAX_ATTRIBUTES`` attributes of the first ``MAX_METAS`` elements ``meta``."""
    headings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name (``h1`` …) of each heading, and the addresses of the links in it, as they stand; both
    up to ``MAX_LINKS``."""


def read_links(body: bytes, *, url: str, content_type: str | None) -> PageLinks:
    """Read the links of a page; raises ``ListingError`` where it is no text."""
    from corpora.news.decoding import decode
    from corpora.text.opening import TextError

    try:
        root = _parse_html(decode(body, content_type=content_type, name=url).text)
    except TextError as error:
        raise ListingError(f"{url}: {error}") from error
    if root is None:
        return PageLinks()
    base = _absolute(url, next((e.get("href", "") for e in root.iter("base")), "")) or url
    metas = tuple(
        tuple(islice(e.attrib.items(), MAX_ATTRIBUTES))
        for e in islice(root.iter("meta"), MAX_METAS)
    )
    follow, nofollow = [], 0
    for element in root.iter("a"):
        if not (found := _absolute(base, element.get("href", ""))):
            continue
        if "nofollow" in element.get("rel", "").lower():
            nofollow += 1
        else:
            follow.append(found)
    follow = list(dict.fromkeys(follow))
    if any(_forbids_following(dict(meta)) for meta in metas):
        nofollow, follow = nofollow + len(follow), []
    return PageLinks(
        links=tuple(follow[:MAX_LINKS]),
        n_nofollow=nofollow,
        n_beyond=max(0, len(follow) - MAX_LINKS),
        feeds=tuple(_feeds(root, base)),
        metas=metas,
        headings=_headings(root),
    )


def _parse_html(text: str) -> Any:
    from lxml.etree import ParserError
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False)
    try:
        return document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except ParserError:  # nothing but blanks
        return None


def _forbids_following(meta: dict[str, str]) -> bool:
    value = meta.get("content", "")
    return meta.get("name", "").lower() == "robots" and forbids_following(value)


def forbids_following(directives: str) -> bool:
    """Whether ``noindex, nofollow`` says so, to us or to any; previews are another matter."""
    told = (part.strip() for part in directives.lower().split(","))
    return any(
        part.rpartition(":")[2].strip() in {"nofollow", "none"} and not part.startswith("max-")
        for part in told
    )


def _feeds(root: Any, base: str) -> Iterator[str]:
    seen = set()
    for element in root.iter("link"):
        is_feed = element.get("type", "").lower() in {"application/rss+xml", "application/atom+xml"}
        if is_feed and "alternate" in element.get("rel", "alternate").lower():
            url = _absolute(base, element.get("href", ""))
            if url and url not in seen:
                seen.add(url)
                yield url


def _headings(root: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """In one walk: headings in headings must not cost the square of their number."""
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
