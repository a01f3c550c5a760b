"""What a page says of itself: JSON-LD (schema.org), ``meta`` and ``link``, the first that is there.

Nothing is guessed, and no clock is read: a date that a page does not give is None.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

from corpora.news.blocks import key_of
from corpora.system.parsing import ParseError, parse_json

_LISTS = frozenset({"CollectionPage", "ItemList", "SearchResultsPage"})
_ARTICLES = ("Article", "Posting", "Report", "Review")
"""Ends of the names of types whose pages are articles: ``NewsArticle``, ``LiveBlogPosting``."""
_MAX_SCRIPTS, _MAX_NODES = 50, 5_000
_MAX_VALUES = 100
"""Titles, descriptions and authors of a page, each: they are looked for in all of its blocks."""
_MAX_NAME = 60
"""Characters of an author whose name is marked in the text."""
_TITLES = ("og:title", "twitter:title", "dc.title", "headline")
_SITES = ("og:site_name", "application-name")
_DESCRIPTIONS = ("og:description", "description", "twitter:description")
_AUTHORS = ("article:author", "author", "dc.creator", "parsely-author", "sailthru.author")
_PUBLISHED = (
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "dc.date.issued",
    "dcterms.created",
    "dc.date",
    "date",
    "publishdate",
    "last-modified",
)
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified")
_SECTIONS = ("article:section", "section", "parsely-section", "cxenseparse:section")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LAST_PART = re.compile(r"(.*\S)(?:\s+[-–—|·•:*]+\s+|\s*(?:\||--|__|::)\s*)(\S.*)", re.DOTALL)
"""A title, and what stands behind the last bar or dash between spaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """What a page says of itself; None or empty where it is silent."""

    titles: tuple[str, ...] = ()
    """The best first; each once."""
    descriptions: tuple[str, ...] = ()
    """Each once."""
    authors: tuple[str, ...] = ()
    """Without the publisher, and what is no name."""
    bylines: tuple[str, ...] = ()
    """Whom a line of authors may name: as the page tells its authors, the publisher among them."""
    published: str | None = None
    """ISO 8601, with or without time."""
    modified: str | None = None
    lang: str | None = None
    section: str | None = None
    url: str | None = None
    """The canonical one, absolute."""
    site: str | None = None
    license: str | None = None
    """As it stands: a URL as a rule."""
    kind: str = ""
    """``article``, ``list``, or empty if it does not say."""
    is_free: bool | None = None
    """Whether it can be read without paying."""
    reservations: tuple[tuple[str, str], ...] = ()
    """Names and contents of ``meta`` that speak to robots or of text and data mining."""


def read_metadata(tree: Any, url: str | None) -> PageMetadata:
    """Read the metadata of a page, an lxml tree; ``url`` is where it was found."""
    nodes = list(_json_ld(tree))
    articles = [node for node in nodes if any(map(_is_article, _types(node)))]
    article = articles[0] if articles else {}
    meta = _meta(tree)
    url_told = _canonical(tree, meta, url)
    sites = _sites(nodes, meta, url_told)
    told = _authors(article, meta)
    if not any(_is_author(name, sites) for name in told):
        told = _once(*told, *_seen_authors(tree))
    return PageMetadata(
        titles=_titles(tree, article, meta, sites=sites),
        descriptions=_once(_text(article.get("description")), *_all(meta, _DESCRIPTIONS)),
        authors=tuple(name for name in told if _is_author(name, sites)),
        bylines=told,
        published=_date(article.get("datePublished"), *_all(meta, _PUBLISHED), *_times(tree)),
        modified=_date(article.get("dateModified"), *_all(meta, _MODIFIED)),
        lang=_text(tree.get("lang")) or _text(article.get("inLanguage")) or _first(meta, ("lang",)),
        section=_text(article.get("articleSection")) or _first(meta, _SECTIONS),
        url=url_told,
        site=_first(meta, _SITES),
        license=_license(tree, [article, *nodes], meta),
        kind=_kind(nodes, meta, has_article=bool(articles)),
        is_free=_is_free(articles, meta),
        reservations=tuple(_reservations(tree)),
    )


def _json_ld(tree: Any) -> Iterator[Mapping[str, Any]]:
    """All objects with a type in the page's JSON-LD, outer ones first."""
    scripts = tree.iterfind('.//script[@type="application/ld+json"]')
    n_nodes = 0
    for script, _ in zip(scripts, range(_MAX_SCRIPTS), strict=False):
        try:
            waiting = deque([parse_json(script.text or "", strict=False)])
        except ParseError:
            continue  # much of what stands on pages is broken
        while waiting and n_nodes < _MAX_NODES:
            value = waiting.popleft()
            n_nodes += 1
            if isinstance(value, dict):
                if "@type" in value:
                    yield value
                waiting += [v for k, v in value.items() if k in ("@graph", "mainEntity")]
            elif isinstance(value, list):
                waiting += value


def _types(node: Mapping[str, Any]) -> list[str]:
    types = node.get("@type")
    return [t for t in (types if isinstance(types, list) else [types]) if isinstance(t, str)]


def _is_article(type: str) -> bool:
    return type.endswith(_ARTICLES)


def _meta(tree: Any) -> dict[str, list[str]]:
    """Contents of ``meta`` by name, without case."""
    found: dict[str, list[str]] = {}
    for element in tree.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("itemprop")
        content = _plain(element.get("content") or "")
        if name and content:
            found.setdefault(name.strip().lower(), []).append(content)
    return found


def _all(meta: Mapping[str, list[str]], names: Iterable[str]) -> list[str]:
    return [value for name in names for value in meta.get(name, ())]


def _first(meta: Mapping[str, list[str]], names: Iterable[str]) -> str | None:
    return next(iter(_all(meta, names)), None)


def _text(value: Any) -> str | None:
    """A string of JSON-LD, or the first of a list of them; None for anything else."""
    while isinstance(value, list | dict) and value:
        value = value[0] if isinstance(value, list) else value.get("name")
    return _plain(value) or None if isinstance(value, str) else None


def _plain(text: str) -> str:
    """Text of metadata as it is read: an entity of HTML, once or twice written, is its character.

    Only what ends with a semicolon is one: an address may hold ``&copy=2``.
    """
    for _ in range(2):
        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return without_controls(text)


def without_controls(text: str) -> str:
    """Text with single spaces, also for control characters and halves of characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _titles(
    tree: Any, article: Mapping[str, Any], meta: Mapping[str, list[str]], *, sites: frozenset[str]
) -> tuple[str, ...]:
    """All titles without the name of the site at their end, then those that have one."""
    heads = [" ".join("".join(head.itertext()).split()) for head in tree.iter("h1")]
    head = [" ".join("".join(title.itertext()).split()) for title in tree.iterfind(".//head/title")]
    told = _once(_text(article.get("headline")), *_all(meta, _TITLES), *heads, *head)
    return _once(*(_without_site(title, sites, frozenset(heads)) for title in told), *told)


def _without_site(title: str, sites: frozenset[str], heads: frozenset[str]) -> str:
    """A title without the name of its site behind a bar or dash; the name alone stays.

    What stands behind a bar, and not in the heading of the page, is such a name, too.
    """
    while found := _LAST_PART.fullmatch(title):
        is_bar = "|" in title[found.end(1) : found.start(2)]
        if key_of(found[2]) not in sites and not (is_bar and found[1] in heads):
            break
        title = found[1]
    return title


def _sites(
    nodes: Iterable[Mapping[str, Any]], meta: Mapping[str, list[str]], url: str | None
) -> frozenset[str]:
    """What the site is called, as keys: as it says, as its publisher is, and as its host is."""
    publishers = (_text(node.get("publisher")) for node in nodes)
    host = (host_of(url) or "").removeprefix("www.")
    domain = host.rpartition(".")[0]
    names = (*_all(meta, _SITES), *publishers, host, domain, domain.rpartition(".")[2])
    return frozenset(key for name in names if name and (key := key_of(name)))


def _once(*values: str | None) -> tuple[str, ...]:
    """Those that are there, each once, the first ``_MAX_VALUES``."""
    return tuple(dict.fromkeys(value for value in values if value))[:_MAX_VALUES]


def _authors(article: Mapping[str, Any], meta: Mapping[str, list[str]]) -> tuple[str, ...]:
    told = article.get("author")
    names = [_text(author) for author in (told if isinstance(told, list) else [told])]
    if not any(names):
        names = [name for name in _all(meta, _AUTHORS) if not name.startswith(("http", "/", "@"))]
    return _once(*names)


def _seen_authors(tree: Any) -> tuple[str, ...]:
    """Authors that are marked in the text of a page: ``rel="author"``, ``itemprop="author"``."""
    marked = (*tree.iterfind('.//*[@itemprop="author"]'), *tree.iterfind('.//a[@rel="author"]'))
    innermost = (next(iter(e.iterfind('.//*[@itemprop="name"]')), e) for e in marked)
    names = (_plain("".join(element.itertext())) for element in innermost)
    return _once(*(name for name in names if len(name) <= _MAX_NAME))


def _is_author(name: str, sites: frozenset[str]) -> bool:
    """Whether a name is none of the site's, no address, and not of digits alone."""
    return key_of(name) not in sites and "@" not in name and any(map(str.isalpha, name))


def _times(tree: Any) -> list[str]:
    times = [element.get("datetime") for element in tree.iter("time")]
    marked = [
        element.get("content") for element in tree.iterfind('.//*[@itemprop="datePublished"]')
    ]
    return [value for value in (*marked, *times[:1]) if value]


def _date(*candidates: Any) -> str | None:
    """The first that is a date, as ISO 8601."""
    for value in candidates:
        text = _text(value)
        if not text:
            continue
        try:
            is_day = len(text) == 10
            parsed = datetime.fromisoformat(text)
            return text if is_day else parsed.isoformat()
        except ValueError:
            if found := _DATE.match(text):
                return found[0]
    return None


def moment(date: str | None) -> str:
    """A date as a moment that can be compared, in UTC; the last of all where there is none.

    A date without a zone is taken for UTC, a day for its beginning.
    """
    if not date:
        return "9999"
    parsed = datetime.fromisoformat(date)
    return parsed.replace(tzinfo=parsed.tzinfo or UTC).astimezone(UTC).isoformat()


def host_of(url: str | None) -> str | None:
    """The host of an address, without case; None for one that is broken."""
    try:
        return urlsplit(url or "").hostname
    except ValueError:
        return None


def _canonical(tree: Any, meta: Mapping[str, list[str]], url: str | None) -> str | None:
    links = tree.iterfind('.//link[@rel="canonical"]')
    for told in (*(link.get("href") for link in links), _first(meta, ("og:url",))):
        absolute = absolute_url(url, told)
        if absolute and urlsplit(absolute).netloc:
            return absolute
    return url


def absolute_url(base: str | None, target: str | None) -> str | None:
    """Resolve a link; None where it is none of the web, or is broken."""
    if not target:
        return None
    try:
        absolute = urljoin(base or "", "%20".join(target.split()))
        parts = urlsplit(absolute)
        has_host = bool(parts.hostname)
    except ValueError:
        return None
    return absolute if parts.scheme in ("http", "https") and has_host else None


def _license(
    tree: Any, nodes: Iterable[Mapping[str, Any]], meta: Mapping[str, list[str]]
) -> str | None:
    for node in nodes:
        if told := _text(node.get("license")):
            return told
    for path in ('.//link[@rel="license"]', './/a[@rel="license"]'):
        for element in tree.iterfind(path):
            if href := element.get("href"):
                return str(href)
    return _first(meta, ("dcterms.license", "dc.rights.license", "copyright.license", "license"))


def _kind(
    nodes: Iterable[Mapping[str, Any]], meta: Mapping[str, list[str]], *, has_article: bool
) -> str:
    if has_article or _first(meta, ("og:type",)) == "article" or "article:published_time" in meta:
        return "article"
    types = {*_all(meta, ("og:type",)), *(type for node in nodes for type in _types(node))}
    return "list" if types & _LISTS else ""


def _is_free(articles: Iterable[Mapping[str, Any]], meta: Mapping[str, list[str]]) -> bool | None:
    for article in articles:
        told = article.get("isAccessibleForFree")
        if told is not None:
            return str(told).strip().lower() not in ("false", "no", "0", "http://schema.org/false")
    tier = _first(meta, ("article:content_tier",))
    return None if tier is None else tier == "free"


def _reservations(tree: Any) -> Iterator[tuple[str, str]]:
    """``meta`` for robots, all or one, and of the TDM Reservation Protocol (W3C)."""
    for element in tree.iter("meta"):
        name = (element.get("name") or "").strip().lower()
        content = " ".join((element.get("content") or "").lower().split())
        is_for_robots = name.endswith("bot") or name in ("robots", "ai", "noai")
        if name and (is_for_robots or name.startswith("tdm-")):
            yield name, content
