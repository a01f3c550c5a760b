"""From a page of a dump to a row of ``documents``, a redirect, or a reason why it is neither."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from corpora.datasets.columns import DocumentColumns
from corpora.segmentation.sentences import Segmenter, segmenter, segmenter_with
from corpora.wikipedia import wikiextractor, wikitext
from corpora.wikipedia.ledger import Ledger
from corpora.wikipedia.pages import Page
from corpora.wikipedia.templates import TemplateTable
from corpora.wikipedia.titles import Wiki
from corpora.wikipedia.wikitext import PageText

MODELS = ("", "wikitext")
ENGINES = {"onoma": wikitext.extract, "wikiextractor": wikiextractor.extract}
_REDIRECT = re.compile(r"\s*#\s?([^\W\d_]+(?:[ _-][^\W\d_]+)?)\s*:?\s*\[\[([^\[\]|\n]+)")
_SAFE = ":/()!,'*;@$~"
_WIKIMEDIA = re.compile(r"//[a-z0-9-]+\.wik[a-z]+\.org/")
_DATE = re.compile(r"-((?:19|20)\d{6})(?!\d)")
_VERSION = re.compile(r"MediaWiki (\d+)\.(\d+)(?:\.\d+)?-?(?:wmf\.?(\d+))?")
LICENSES = (
    ("20230607", (1, 41, 12), "CC-BY-SA-4.0"),
    ("20090615", (1, 16, 0), "CC-BY-SA-3.0"),
    ("", (), "GFDL-1.2-or-later"),
)
"""Of all Wikimedia projects but Wikidata and Wikinews: since which day, and which version of the
software (with the number of its wmf branch), in SPDX."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A page that only points to another."""

    id: str
    title: str
    target: str
    section: str
    resolved: str | None = None
    """Empty for another wiki's page, to which no link of this one can lead."""


@dataclass(slots=True)
class ArticleReader:
    """Reads the pages of one wiki; collects documents, redirects and the ledger of a unit."""

    wiki: Wiki
    templates: TemplateTable
    license: str | None
    namespaces: frozenset[int] = frozenset({0})
    disambiguation: bool = True
    """Whether disambiguation pages are kept."""
    engine: str = "onoma"
    documents: DocumentColumns = field(default_factory=DocumentColumns)
    redirects: list[Redirect] = field(default_factory=list)
    meanings: list[str] = field(default_factory=list)
    """Titles of pages that only list meanings, left out or not."""
    ledger: Ledger = field(default_factory=Ledger)
    abbreviations: Mapping[str, Any] | None = None
    """In place of the language's own table, where there is one."""
    _segmenter: Segmenter = field(init=False)

    def __post_init__(self) -> None:
        """Open the language's segmenter."""
        lang, table = self.wiki.lang, self.abbreviations
        self._segmenter = segmenter(lang) if table is None else segmenter_with(lang, table)

    def read(self, page: Page, *, source: str) -> str:
        """Collect a page; returns why it is left out, empty for a document."""
        if self._namespace(page) not in self.namespaces:
            return "other_namespace"
        if page.model not in MODELS:
            return "no_wikitext"
        if redirect := find_redirect(page, self.wiki):
            self.redirects.append(redirect)
            return "redirect"
        if not page.text.strip():
            return "no_text"
        return self._read_article(page, source=source)

    def texts(self, pages: Iterable[object]) -> Iterator[str]:
        """The texts of the articles among what was read of a dump; nothing is collected."""
        for page in pages:
            if not isinstance(page, Page) or page.model not in MODELS:
                continue
            if self._namespace(page) in self.namespaces and not find_redirect(page, self.wiki):
                today = page.timestamp[:10]
                yield wikitext.extract(
                    page.text, self.wiki, self.templates, title=page.title, today=today
                ).text

    def _namespace(self, page: Page) -> int:
        return self.wiki.namespace(page.title) if page.namespace is None else page.namespace

    def meaning_of(self, page: Page) -> str | None:
        """The title of the page that was read last, if it only lists meanings."""
        title = self.wiki.title(page.title)
        return title if self.meanings[-1:] == [title] else None

    def _read_article(self, page: Page, *, source: str) -> str:
        text = ENGINES[self.engine](
            page.text, self.wiki, self.templates, title=page.title, today=page.timestamp[:10]
        )
        if text.is_disambiguation:
            self.meanings.append(self.wiki.title(page.title))
            if not self.disambiguation:
                return "disambiguation"
        if not text.blocks:
            return "no_text"
        self.ledger.add(page.text, text)
        sentences = list(self._sentences(text))
        self.ledger.add_sentences(text, sentences)
        scalars = {
            "id": f"{self.wiki.name}:{page.id or page.title}",
            "group": self.wiki.name,
            "source": source,
            "lang": self.wiki.lang or None,
            "title": page.title,
            "url": self._url(page.title),
            "revision": page.revision or None,
            "timestamp": page.timestamp or None,
            "license": self.license,
            "text": text.text,
        }
        text.links.sort(key=lambda link: (link.start, -link.end))
        self.documents.add(
            scalars,
            blocks=text.blocks,
            sentences=sentences,
            links=text.links,
            metadata=_metadata(text),
        )
        return ""

    def _url(self, title: str) -> str | None:
        if not self.wiki.base:
            return None
        return self.wiki.base + quote(title.replace(" ", "_"), safe=_SAFE)

    def _sentences(self, text: PageText) -> Iterator[tuple[int, int]]:
        """Cut the text; neither a heading nor a link is ever cut."""
        unbroken = [(start, end) for start, end, _, _ in text.links]
        for start, end, kind in text.blocks:
            if kind == "head":  # in the place of the links in it
                unbroken[bisect_left(unbroken, (start,)) : bisect_left(unbroken, (end,))] = [
                    (start, end)
                ]
        blocks = [(start, end) for start, end, _ in text.blocks]
        return self._segmenter.split(text.text, blocks, unbroken=unbroken)


def find_redirect(page: Page, wiki: Wiki) -> Redirect | None:
    """Read a redirect: the dump says so, or (before version 0.4) the text begins with ``#WORD``."""
    text = page.text
    start = text[:1] == "#" or text[:200].lstrip()[:1] == "#"
    found = _REDIRECT.match(text) if start else None
    if page.redirect is None and (found is None or page.namespace is not None):
        return None  # a list may begin like that, and newer dumps say which pages redirect
    target = wiki.target(f":{found[2] if found else page.redirect}")
    is_elsewhere = target.reason in ("interwiki", "interlanguage")
    title = wiki.title(page.redirect) if page.redirect else target.title
    if is_elsewhere:
        title = target.label.partition("#")[0]
    if not title:
        return None
    return Redirect(
        f"{wiki.name}:{page.id or page.title}",
        page.title,
        title,
        target.section,
        "" if is_elsewhere else None,
    )


def _metadata(text: PageText) -> Mapping[str, str]:
    metadata = {}
    if text.is_disambiguation:
        metadata["disambiguation"] = "yes"
    if text.holes:
        metadata["holes"] = " ".join(map(str, text.holes))
        metadata["hole_names"] = "\n".join(text.hole_names)
    return metadata


def license_of(base: str, *, file: str = "", generator: str = "") -> str | None:
    """The licence that the text of a wiki was under when it was dumped, where its address tells.

    The date stands in the name of the ``file`` (``dawiki-20230601-…``); without one, the version of
    the software that wrote the dump (``MediaWiki 1.41.0-wmf.12``) tells.
    """
    if "wikinews" in base or "wikidata" in base or not _WIKIMEDIA.search(base):
        return None
    if date := _DATE.search(file):
        return next(license for since, _, license in LICENSES if date[1] >= since)
    found = _VERSION.search(generator)
    version = tuple(int(number or 0) for number in found.groups()) if found else (999,)
    return next(license for _, since, license in LICENSES if version >= since)
