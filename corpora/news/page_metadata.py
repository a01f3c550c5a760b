"""Metadata of a page from JSON-LD (schema.org), ``meta``, ``link`` and marked elements.

The first source that has a value is used. Nothing is guessed, and no clock is read: a date that the
page does not give is None.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from html import unescape
from itertools import chain, islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from corpora.hashing.shingles import words_of
from corpora.news.blocks import key_of
from corpora.news.bylines import joined_names, names_of
from corpora.system.parsing import ParseError, parse_json

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LISTS = frozenset({"CollectionPage", "ItemList", "SearchResultsPage"})
_ARTICLES = ("Article", "Posting", "Report", "Review")
"""Endings of the schema.org types that are articles: ``NewsArticle``, ``LiveBlogPosting``."""
_MAX_SCRIPTS, _MAX_NODES = 50, 5_000
_MAX_VALUES = 100
"""The most titles, descriptions or authors of a page, as each is searched for in all blocks."""
_MAX_NAME = 60
"""The most characters of an author's name that is marked in the text."""
_MAX_BYLINE = 200
"""The most characters of a line of authors that are marked in the text."""
_NOBODY = frozenset({"admin", "administrator", "null", "root", "undefined", "unknown", "webmaster"})
"""The values that programs write where they know no author."""
_TITLES = ("og:title", "twitter:title", "dc.title", "headline")
_SITES = ("og:site_name", "application-name")
_DESCRIPTIONS = ("og:description", "description", "twitter:description")
_AUTHORS = ("article:author", "author", "dc.creator", "parsely-author", "sailthru.author")
_PUBLISHED = (
    "article:published_time",
    "og:article:published_time",
    "article:published",
    "article:publicationdate",
    "og:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "dc.date.issued",
    "dcterms.created",
    "dc.date",
    "date",
    "publishdate",
    "publish_date",
    "publish-date",
    "pubdate",
    "pub_date",
    "publication_date",
    "citation_publication_date",
    "last-modified",
)
_MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified")
_SECTIONS = ("article:section", "section", "parsely-section", "cxenseparse:section")
_NOT_FREE = ("false", "no", "0", "http://schema.org/false", "https://schema.org/false")
_ROBOTS = ("robots", "ai", "noai")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_WRAPPED = re.compile(
    r"\A\s*+(?:(?://|/\*)\s*)?(?:<!\[CDATA\[|<!--)(?:\s*\*/)?"
    r"|(?://|/\*)?[ \t]?(?:\]\]>|-->)(?:\s*\*/)?\s*\Z"
)
"""Marks of comments and CDATA around a script, for old browsers and XML."""
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_DAY_FIRST = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_YEAR, _DAY = re.compile(r"(?<!\d)\d{4}(?!\d)"), re.compile(r"(?<!\d)\d\d?(?!\d)")
_IN_NUMBERS = re.compile(r"(?<!\d)\d\d?([-/.])\d\d?\1\d{4}(?!\d)")
_MAX_DATE = 60
"""The most characters of a date in words."""
_WRITTEN = {"PARSERS": ["absolute-time"], "STRICT_PARSING": True}
"""Settings of dateparser: a day with its month and year, whatever the day is today."""
_TAG = re.compile(r"<[^<>]*>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_SESSION = re.compile(
    r";jsessionid=[^/?#;&]*"
    r"|(?<=[?&;])(?:"
    r"(?:phpsessid|jsessionid|aspsessionid\w*|oscsid|zenid|cftoken|cfid)=[^&;#]*"
    r"|(?:sid|sess_?id|session|session_?id)=(?=[^&;#]*\d)[0-9a-z,_-]{16,}(?=[&;#]|\Z)"
    r")[&;]?",
    re.IGNORECASE,
)
"""An id of a session; a short value of ``sid`` and the like may be a section."""
_EMPTY_QUERY = re.compile(r"[?&;]+(?=#|\Z)")
_LAST_PART = re.compile(r"(.*\S)(?:\s+[-–—|·•:*]+\s+|\s*(?:[|｜：]|--|__|::)\s*)(\S.*)", re.DOTALL)
"""Splits a title before its last part, behind a dash or the like between spaces, or behind a bar,
``--``, ``__``, ``::`` or a wide colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """Metadata of a page; None or empty where the page says nothing."""

    titles: tuple[str, ...] = ()
    """All forms of the title, the best first."""
    descriptions: tuple[str, ...] = ()
    """The descriptions, without repetitions."""
    authors: tuple[str, ...] = ()
    """The authors, without the publisher and values that are no names."""
    bylines: tuple[str, ...] = ()
    """All values that the page gives as authors, with the publisher if it is one: a byline in the
    text may name any of them."""
    published: str | None = None
    """The date in ISO 8601, with or without time; so is ``modified``."""
    modified: str | None = None
    lang: str | None = None
    section: str | None = None
    url: str | None = None
    """The canonical URL, absolute; else the one where the page was found."""
    site: str | None = None
    license: str | None = None
    """The licence as written in the page, usually a URL."""
    kind: str = ""
    """``article``, ``list``, or empty if the page does not say."""
    is_free: bool | None = None
    """Whether the page can be read without paying; None if it does not say."""
    reservations: tuple[tuple[str, str], ...] = ()
    """The names and contents of ``meta`` for robots, or about text and data mining."""


def read_metadata(tree: "HtmlElement", url: str | None) -> PageMetadata:
    """Read the metadata of a page, an lxml tree; ``url`` is where it was found."""
    return _Reader(tree, url).read()


def body_keys(tree: "HtmlElement") -> list[str]:
    """Return the bodies of articles that the JSON-LD of a page holds, as ``key_of`` gives them."""
    bodies = (node.get("articleBody") for node in _json_ld(tree))
    return [key_of(_plain(_TAG.sub(" ", body))) for body in bodies if isinstance(body, str)]


class _Reader:
    """Reader of the metadata of one page."""

    def __init__(self, tree: "HtmlElement", url: str | None) -> None:
        self.tree = tree
        self.nodes = list(_json_ld(tree))
        self.articles = [n for n in self.nodes if any(t.endswith(_ARTICLES) for t in _types(n))]
        self.meta: dict[str, list[str]] = {}
        """The contents of ``meta`` elements, by name in lower case."""
        for element in tree.iter("meta"):
            name = element.get("property") or element.get("name") or element.get("itemprop")
            content = _plain(element.get("content") or "")
            if name and content:
                self.meta.setdefault(name.strip().lower(), []).append(content)
        addresses = (*self._found('.//link[@rel="canonical"]', "href"), self._first("og:url"))
        absolute = (absolute_url(url, target) for target in addresses)
        self.url = next((found for found in absolute if found and urlsplit(found).netloc), url)
        self.sites = self._sites()
        self.heads, self.head = (
            _once(*(_plain("".join(element.itertext())) for element in elements))
            for elements in (tree.iter("h1"), tree.iterfind(".//head/title"))
        )
        self.article = self._own_article()

    def read(self) -> PageMetadata:
        authors = self._authors()
        if not any(map(self._is_author, authors)):
            authors = _once(*authors, *self._seen_authors())
        authors = _single_names(authors)
        article = self.article
        lang = (
            _text(self.tree.get("lang")) or _text(article.get("inLanguage")) or self._first("lang")
        )
        return PageMetadata(
            titles=self._titles(),
            descriptions=_once(_text(article.get("description")), *self._all(*_DESCRIPTIONS)),
            authors=tuple(filter(self._is_author, authors)),
            bylines=authors,
            published=read_date(
                article.get("datePublished"),
                *self._all(*_PUBLISHED),
                *(node.get("datePublished") for node in self.nodes),
                *self._times(),
                lang=lang,
            ),
            modified=read_date(article.get("dateModified"), *self._all(*_MODIFIED), lang=lang),
            lang=lang,
            section=_text(article.get("articleSection")) or self._first(*_SECTIONS),
            url=self.url,
            site=self._first(*_SITES),
            license=self._license(),
            kind=self._kind(),
            is_free=self._is_free(),
            reservations=tuple(self._reservations()),
        )

    def _all(self, *names: str) -> list[str]:
        return [value for name in names for value in self.meta.get(name, ())]

    def _first(self, *names: str) -> str | None:
        return next(iter(self._all(*names)), None)

    def _found(self, path: str, attribute: str) -> list[str]:
        """List the values of an attribute, of the elements that have the attribute."""
        return [value for e in self.tree.iterfind(path) if (value := e.get(attribute))]

    def _sites(self) -> frozenset[str]:
        """Collect the names of the site, its publishers and its host, as ``key_of`` gives them."""
        publishers = (_text(node.get("publisher")) for node in self.nodes)
        host = (host_of(self.url) or "").removeprefix("www.")
        domain = host.rpartition(".")[0]
        names = (*self._all(*_SITES), *publishers, host, domain, domain.rpartition(".")[2])
        return frozenset(key for name in names if name and (key := key_of(name)))

    def _own_article(self) -> Mapping[str, object]:
        """Return the article of JSON-LD that is the page's: by its headline, else the first one.

        Others are of related articles. One that shares no headline and has another address is none.
        """
        titles = [*self._all(*_TITLES), *self.heads, *self.head]
        for article in self.articles:
            if _agreement(_text(article.get("headline")) or "", titles):
                return article
        first = self.articles[0] if self.articles else {}
        address = absolute_url(self.url, _text(first.get("url")))
        is_other = titles and first.get("headline") and address not in (None, self.url)
        return {} if is_other else first

    def _titles(self) -> tuple[str, ...]:
        """List all titles, without the site name at their end and then with it, the best first.

        The best is the heading (``h1``), with its kicker, that shares most words with a title named
        elsewhere (``_agreement``): it is what a reader sees.
        """
        headline = _text(self.article.get("headline")) or ""
        named = _once(headline, *self._all(*_TITLES))
        titles = _once(*named, *self.heads, *self.head)
        names = [self._without_site(name) for name in (*named, *self.head)]
        heads = [head for head in self.heads if key_of(head) not in self.sites]
        best = max(heads, key=lambda head: _agreement(head, names), default="")
        if best and key_of(headline).endswith(key_of(best)):
            best = headline  # the heading with its kicker
        first = self._without_site(best) if best and _agreement(best, names) else None
        return _once(first, *map(self._without_site, titles), *titles)

    def _without_site(self, title: str) -> str:
        """Remove the site name behind a bar or dash from a title; a site name alone stays.

        A part after a bar is a site name too, if the part before it is a heading of the page.
        """
        while match := _LAST_PART.fullmatch(title):
            is_bar = not {"|", "｜"}.isdisjoint(title[match.end(1) : match.start(2)])
            if key_of(match[2]) not in self.sites and not (is_bar and match[1] in self.heads):
                break
            title = match[1]
        return title

    def _authors(self) -> tuple[str, ...]:
        authors = self.article.get("author")
        names = _once(*map(_text, authors if isinstance(authors, list) else [authors]))
        named = (x for x in self._all(*_AUTHORS) if not x.startswith(("http", "/", "@")))
        return names or _once(*named)

    def _seen_authors(self) -> tuple[str, ...]:
        """List the authors marked in the text by ``rel="author"`` or ``itemprop="author"``.

        They are the first, and those that stand in a line with the first: others are of comments
        and of related articles.
        """
        find = self.tree.iterfind
        marked = [*find('.//*[@itemprop="author"]'), *find('.//a[@rel="author"]')]
        if not marked:
            return ()
        line = marked[0]
        while (around := line.getparent()) is not None and _length(around) <= _MAX_BYLINE:
            line = around
        in_line = [element for element in marked if line in {element, *element.iterancestors()}]
        innermost = (next(iter(e.iterfind('.//*[@itemprop="name"]')), e) for e in in_line)
        names = (_plain(" ".join(element.itertext())) for element in innermost)
        return _once(*(name for name in names if len(name) <= _MAX_NAME))

    def _is_author(self, name: str) -> bool:
        """Tell whether a name has letters, names no site or role, and is no e-mail address."""
        key = key_of(name)
        return key not in self.sites | _NOBODY and "@" not in name and any(map(str.isalpha, name))

    def _times(self) -> list[str]:
        first = next(self.tree.iter("time"), None)
        times = [] if first is None else [first.get("datetime") or "".join(first.itertext())]
        found = (
            element.get(attribute)
            for element in self.tree.iterfind('.//*[@itemprop="datePublished"]')
            for attribute in ("content", "datetime", "title")
        )
        return [date for date in (*found, *times) if date]

    def _license(self) -> str | None:
        nodes = (_text(node.get("license")) for node in (self.article, *self.nodes))
        links = (self._found(f'.//{tag}[@rel="license"]', "href") for tag in ("link", "a"))
        named = self._all("dcterms.license", "dc.rights.license", "copyright.license", "license")
        return next((license for license in (*nodes, *chain(*links), *named) if license), None)

    def _kind(self) -> str:
        og_types = self._all("og:type")
        is_article = self.articles or "article:published_time" in self.meta
        if is_article or og_types[:1] == ["article"]:
            return "article"
        types = {*og_types, *(type for node in self.nodes for type in _types(node))}
        return "list" if types & _LISTS else ""

    def _is_free(self) -> bool | None:
        for article in self.articles:
            stated = article.get("isAccessibleForFree")
            values = stated if isinstance(stated, list) else [stated]
            words = {str(value).strip().lower() for value in values if value is not None}
            if words:
                return words.isdisjoint(_NOT_FREE)
        tier = self._first("article:content_tier")
        return None if tier is None else tier == "free"

    def _reservations(self) -> Iterator[tuple[str, str]]:
        """Yield name and content of each ``meta`` for robots, or for text and data mining.

        The former may be for all robots or for one; the latter is of the TDM Reservation Protocol
        (W3C).
        """
        for element in self.tree.iter("meta"):
            name = (element.get("name") or "").strip().lower()
            if name.endswith("bot") or name in _ROBOTS or name.startswith("tdm-"):
                yield name, " ".join((element.get("content") or "").lower().split())


def _json_ld(tree: "HtmlElement") -> Iterator[Mapping[str, object]]:
    """Yield the objects with a type in the page's JSON-LD, outer ones first."""
    n_nodes = 0
    scripts = (script for script in tree.iter("script") if _is_json_ld(script.get("type") or ""))
    for script in islice(scripts, _MAX_SCRIPTS):
        written = _WRAPPED.sub("", script.text or "")
        try:
            waiting = deque([parse_json(written, strict=False)])
        except ParseError:
            continue  # broken JSON-LD is frequent
        while waiting and n_nodes < _MAX_NODES:
            value = waiting.popleft()
            n_nodes += 1
            if isinstance(value, dict):
                if "@type" in value:
                    yield value
                waiting += [v for k, v in value.items() if k in ("@graph", "mainEntity")]
            elif isinstance(value, list):
                waiting += value


def _is_json_ld(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() == "application/ld+json"


def _types(node: Mapping[str, object]) -> list[str]:
    types = node.get("@type")
    return [t for t in (types if isinstance(types, list) else [types]) if isinstance(t, str)]


def _text(value: object) -> str | None:
    """Return a JSON-LD string, or that of the first list item or of a ``name``; else None."""
    while isinstance(value, list | dict) and value:
        value = value[0] if isinstance(value, list) else value.get("name")
    return _plain(value) or None if isinstance(value, str) else None


def _plain(text: str) -> str:
    """Normalize text of metadata: HTML entities to characters, white space to single spaces.

    Control characters and lone surrogates count as white space; soft hyphens go. Entities may be
    escaped twice, and must end with a semicolon: a URL may hold ``&copy=2``.
    """
    for _ in range(2):
        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return " ".join(_CONTROL.sub(" ", text.replace("\u00ad", "")).split())


def _once(*values: str | None) -> tuple[str, ...]:
    """Return the non-empty values, each once, at most the first ``_MAX_VALUES``."""
    return tuple(dict.fromkeys(value for value in values if value))[:_MAX_VALUES]


def _length(element: "HtmlElement") -> int:
    return len(" ".join("".join(element.itertext()).split()))


def _agreement(title: str, others: Iterable[str]) -> int:
    """Count the words that a title shares with the most similar one of others.

    0 where these are less than a third of the words of the longer of the two.
    """
    words, sets = set(words_of(title)), [set(words_of(other)) for other in others]
    shared = [(len(words & other), max(len(words), len(other))) for other in sets]
    return max((n for n, longer in shared if 3 * n >= longer), default=0)


def _single_names(authors: Sequence[str]) -> tuple[str, ...]:
    """Take names out of bylines and enumerations; drop what only repeats another author's name.

    ``By Jane Doe`` is ``Jane Doe``, ``Jane Doe and John Smith`` two names. Beside ``Jane Doe``,
    ``Jane Doe, Kreisbote`` goes.
    """
    plain = (" ".join(_TAG.sub(" ", author).split()) for author in authors)
    names = _once(*chain.from_iterable(names_of(x) or joined_names(x) or (x,) for x in plain))
    full = [(x, re.compile(rf"(?<![\w-]){re.escape(x)}(?![\w-])")) for x in names if " " in x]
    return tuple(
        name for name in names if not any(x != name and found.search(name) for x, found in full)
    )


def read_date(*candidates: object, lang: str | None) -> str | None:
    """Return the first candidate that is a date, as ISO 8601; what follows a day may be no time.

    A day that is in no calendar (``0000-00-00``), or in year 1, stands for no date; so do digits
    alone that are not eight, such as seconds since 1970. ``lang`` is the language of the page.
    """
    readers: Sequence[Callable[[str], date]] = (
        *(date.fromisoformat, datetime.fromisoformat, _day, parsedate_to_datetime),
        partial(_written_day, lang=lang),
    )
    for text in filter(None, map(_text, candidates)):
        if text.isdigit() and len(text) != len("YYYYMMDD"):
            continue
        for read in readers:
            try:
                found = read(text)
            except (ValueError, OverflowError):
                continue
            if found.year > 1:
                return found.isoformat()
    return None


def _day(text: str) -> date:
    """Read the day with which a text begins: ``2026-05-03 …``, ``2026/5/3``, ``3.5.2026``."""
    year_first = _YEAR_FIRST.match(text)
    if year_first:
        return date(int(year_first[1]), int(year_first[3]), int(year_first[4]))
    day_first = _DAY_FIRST.match(text)
    if not day_first:
        raise ValueError(text)
    day, month, year = map(int, day_first.groups())
    return date(year, month, day)


def _written_day(text: str, lang: str | None) -> date:
    """Read a day as it is written in the language of the page, a BCP 47 tag, or in English.

    Of numbers (``5/10/2026``), the language says which is the month, in English the region. Raises
    ``ValueError`` if this is open.
    """
    from dateparser import parse

    days = set[date]()
    may_be_date = len(text) <= _MAX_DATE and _YEAR.search(text) and _DAY.search(text)
    for tag in (lang, "en") if may_be_date else ():
        language, _, region = (tag or "en").lower().replace("_", "-").partition("-")
        regions = [""]
        if _IN_NUMBERS.search(text):
            regions = ["US", "GB"] if (language, region) == ("en", "") else [region.upper()]
        try:
            found = [
                parse(text, languages=[language], region=x, settings=_WRITTEN) for x in regions
            ]
        except ValueError:  # a language that dateparser does not know
            continue
        days |= {moment.date() for moment in found if moment}
        if days:
            break
    if len(days) != 1:
        raise ValueError(text)
    return days.pop()


def moment(when: str | None) -> str:
    """Convert a date to a moment in UTC, a string that sorts by time; no date sorts last.

    A date without a time zone is taken as UTC, a day as its beginning.
    """
    if not when:
        return "9999"
    parsed = datetime.fromisoformat(when)
    return parsed.replace(tzinfo=parsed.tzinfo or UTC).astimezone(UTC).isoformat()


def host_of(url: str | None) -> str | None:
    """Return the host of a URL in lower case; None if the URL has none or is broken."""
    try:
        return urlsplit(url or "").hostname
    except ValueError:
        return None


def without_session(url: str) -> str:
    """Return a URL without the id of a session: with another id it is the same page."""
    found = _SESSION.sub("", url)
    return url if found == url else _EMPTY_QUERY.sub("", found)


def absolute_url(base: str | None, target: str | None) -> str | None:
    """Resolve a link; return None where it is broken or leads to no HTTP(S) address."""
    if not target:
        return None
    try:
        absolute = urljoin(base or "", "%20".join(target.split()))
        parts = urlsplit(absolute)
        return absolute if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:
        return None
