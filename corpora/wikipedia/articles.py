"""Pages of a dump, read as an article, a redirect, or a reason why a page is neither."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from corpora.runs.record_errors import check_error
from corpora.segmentation.sentences import Segmenter, segmenter
from corpora.wikipedia import wikiextractor, wikitext
from corpora.wikipedia.authority import IDS, NOTHING, TYPE, Authority, count_ids
from corpora.wikipedia.block_rows import count_blocks
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.definitions import DEFINED, definition_of
from corpora.wikipedia.ledger import count_page
from corpora.wikipedia.page_items import WIKIDATA
from corpora.wikipedia.pages import HTML, SCAN, WikiPage
from corpora.wikipedia.templates import TemplateTable, template_name
from corpora.wikipedia.titles import ABROAD, TEMPLATE, Wiki, wikis

MODELS = ("", "wikitext", SCAN, HTML)
_REDIRECT = re.compile(r"\s*#\s?([^\W\d_]+(?:[ _-][^\W\d_]+)?)\s*:?\s*\[\[([^\[\]|\n]+)")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*")
_SAFE = ":/()!,'*;@$~"
_WIKIMEDIA = re.compile(
    r"//(?:[a-z0-9-]+\.)?(?:wik(?:ipedia|tionary|i(?:books|functions|media|quote|source|versity|"
    r"voyage))|mediawiki)\.org/"
)
_DATE = re.compile(r"-((?:19|20)\d{6})(?!\d)")
_VERSION = re.compile(r"MediaWiki (\d+)\.(\d+)(?:\.\d+)?-?(?:wmf\.?(\d+))?")
LICENSES = (
    ("20230607", (1, 41, 12), "CC-BY-SA-4.0"),
    ("20090615", (1, 16, 0), "CC-BY-SA-3.0"),
    ("", (), "GFDL-1.2-or-later"),
)
"""The licenses of Wikimedia projects other than Wikidata and Wikinews, newest first: the first day,
the first version of MediaWiki (its third number is that of the wmf branch), and the SPDX id."""


def extractor_of(engine: str) -> Callable[..., PageText]:
    """Return the function of an engine that reads a page."""
    if engine == HTML:
        from corpora.wikipedia.html import text

        return text.extract
    return {"onoma": wikitext.extract, "wikiextractor": wikiextractor.extract}[engine]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A page that only points to another."""

    id: str
    title: str
    target: str
    section: str
    resolved: str | None = None
    """None until it is resolved; empty if the target is a page of another wiki, to which no link of
    this wiki can lead."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page that becomes no document, and the reason."""

    reason: str
    meaning: str | None = None
    """The title of the page if it is a disambiguation page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WikiArticle:
    """An article whose text was read, with all data of its row of ``documents`` and of other rows.

    ``PageRows`` takes it.
    """

    scalars: Mapping[str, str | None]
    """The values of the string columns of ``documents`` by column, except ``source``."""
    text: PageText
    sentences: Sequence[tuple[int, int]]
    hash: str
    """The hash of the page's XML."""
    counters: Mapping[str, int]
    """The counts of the page for the ledger."""
    meaning: str | None = None
    """The title of the page if it is a disambiguation page."""
    item: str = ""
    """The Wikidata item of a rendered page, as its record names it."""
    authority: Authority = NOTHING
    """The ids and the type of the page's subject, as the page gives them."""
    templates: Sequence[str] | None = None
    """The names of the templates that were looked up in the dump's definitions, sorted; None if the
    definitions are not used."""
    definitions: str | None = None
    """The hash of the definitions found for ``templates``; None if they are not used."""

    @property
    def metadata(self) -> dict[str, str]:
        """The value of the column ``metadata``."""
        pairs = sorted(self.authority.ids.items())
        metadata = {
            "disambiguation": "yes" if self.text.is_disambiguation else "",
            "holes": " ".join(map(str, self.text.holes)),
            "hole_names": "\n".join(self.text.hole_names),
            "languages": "\n".join(f"{a} {b} {tag}" for a, b, tag in self.text.foreign),
            "template_errors": str(self.text.n_errors or ""),
            WIKIDATA: self.item,
            IDS: " ".join(f"{scheme}:{id}" for scheme, id in pairs),
            TYPE: self.authority.type or "",
        }
        return {name: shown for name, shown in metadata.items() if shown}


@dataclass(frozen=True, slots=True)
class ArticleReader:
    """A reader of the pages of one wiki."""

    wiki: Wiki
    templates: TemplateTable
    license: str | None
    keeps_disambiguation: bool = True
    engine: str = "onoma"
    blocks: frozenset[str] = frozenset()
    """The kinds of blocks that are kept beside the text; only the engine ``onoma`` can keep any."""
    segmenter: Segmenter = field(default_factory=lambda: segmenter(None))

    def read(self, page: WikiPage) -> WikiArticle | Redirect | LeftOut:
        """Read a page; raises ``ExtractorError`` where the engine cannot read it."""
        if (left_out := self._left_out(page)) is not None:
            return left_out
        text = self._text(page, **({"blocks": self.blocks} if self.blocks else {}))
        meaning = self.wiki.title(page.title) if text.is_disambiguation else None
        if meaning and not self.keeps_disambiguation:
            return LeftOut("disambiguation", meaning)
        if not text.blocks:
            return LeftOut("no_text", meaning)
        lang = translated_to(page) or self.wiki.lang
        sentences = list(self._sentences(text, lang))
        counters = count_page(page.text, text, sentences)
        if page.is_other_revision:
            counters["html.other_revision"] = 1
        is_html = page.model == HTML
        if self.blocks:
            counters.update(count_blocks(text.aside, text.n_undefined))
        authority = NOTHING if is_html else self.templates.authority.read(page.text)
        counters.update(count_ids(authority))
        asked, definitions = sorted(text.asked), self.templates.definitions
        scalars = {
            "id": id_of(page, self.wiki),
            "group": self.wiki.name,
            "lang": lang or None,
            "title": page.title,
            "url": self._url(page.title),
            "revision": page.revision or None,
            "timestamp": page.timestamp or None,
            "license": self.license or page.license or None,
            "text": text.text,
        }
        return WikiArticle(
            scalars=scalars,
            text=text,
            sentences=sentences,
            hash=page.hash,
            counters=counters,
            meaning=meaning,
            item=page.item,
            authority=authority,
            templates=asked if definitions else None,
            definitions=definitions.hash_of(asked) if definitions else None,
        )

    def texts(self, pages: Iterable[object]) -> Iterator[PageText]:
        """Yield the text of each ``WikiPage`` that is an article; skip everything else.

        A page that an error of ours ends is skipped, too: the unit that has it rejects it.
        """
        for page in pages:
            text = None
            try:
                if isinstance(page, WikiPage) and self._left_out(page) is None:
                    text = self._text(page)
            except BaseException as error:  # noqa: BLE001 - see check_error
                check_error(error)
                continue
            if text is not None:
                yield text

    def _text(self, page: WikiPage, **blocks: frozenset[str]) -> PageText:
        extract, today = extractor_of(self.engine), page.timestamp[:10]
        return extract(
            page.text, self.wiki, self.templates, title=page.title, today=today, **blocks
        )

    def _left_out(self, page: WikiPage) -> Redirect | LeftOut | None:
        """Return a ``Redirect`` or ``LeftOut`` if the page is no article.

        Its text is not parsed.
        """
        namespace = page.namespace
        if namespace is None:
            namespace = self.wiki.namespace(page.title)
        if namespace not in self.wiki.reads:
            return LeftOut("other_namespace")
        if page.model not in MODELS:
            return LeftOut("no_wikitext")
        if redirect := find_redirect(page, self.wiki):
            return redirect
        return None if page.text.strip() else LeftOut("no_text")

    def _url(self, title: str) -> str | None:
        if not self.wiki.base:
            return None
        return self.wiki.base + quote(title.replace(" ", "_"), safe=_SAFE)

    def _sentences(self, text: PageText, lang: str) -> Iterator[tuple[int, int]]:
        """Yield the sentences of the text as offsets; no heading or link is ever cut."""
        unbroken = [(start, end) for start, end, _, _ in text.links]
        for start, end, kind, _ in text.blocks:
            if kind == "head":  # a heading replaces the links in it
                unbroken[bisect_left(unbroken, (start,)) : bisect_left(unbroken, (end,))] = [
                    (start, end)
                ]
        blocks = [(start, end) for start, end, *_ in text.blocks]
        split = self.segmenter if lang == self.wiki.lang else segmenter(lang)
        return split.split(text.text, blocks, unbroken=unbroken)


def id_of(page: WikiPage, wiki: Wiki) -> str:
    """Return the id of a page's row; that of its title in dumps without ids."""
    return f"{wiki.name}:{page.id or page.title}"


def translated_to(page: WikiPage) -> str:
    """Return the language of a translation (``WikiPage/fr``); empty for other pages."""
    code = page.title.rpartition("/")[2] if "/" in page.title else ""
    is_one = _LANGUAGE.fullmatch(code) and "<languages" in page.text
    return str(wikis()["codes"].get(code, code)) if is_one else ""


def find_redirect(page: WikiPage, wiki: Wiki) -> Redirect | None:
    """Return the redirect of a page, or None if it is no redirect.

    The dump names redirects; before export version 0.4, the text begins with ``#WORD``.
    """
    text = page.text
    start = text[:1] == "#" or text[:200].lstrip()[:1] == "#"
    match = _REDIRECT.match(text) if start else None
    if page.redirect is None and (match is None or page.namespace is not None):
        return None  # a list may begin so, and newer dumps name the redirects
    target = wiki.target(f":{match[2] if match else page.redirect}")
    is_elsewhere = target.reason == "interwiki" or target.title.startswith(ABROAD)
    title = wiki.title(page.redirect) if page.redirect else target.title
    if is_elsewhere:
        title = target.label.partition("#")[0]
    if not title:
        return None
    return Redirect(
        id_of(page, wiki), page.title, title, target.section, "" if is_elsewhere else None
    )


def read_definition(page: WikiPage, wiki: Wiki) -> tuple[str, str | None] | None:
    """Return the name of a template and its target, or None if the page is no template.

    The target is the name that it redirects to, or its definition; None if it has none that can be
    shown.
    """
    number = wiki.namespace(page.title) if page.namespace is None else page.namespace
    _, colon, name = page.title.partition(":")
    if number != TEMPLATE or not colon:
        return None
    return template_name(name), _target(page, wiki) if page.model in MODELS else None


def _target(page: WikiPage, wiki: Wiki) -> str | None:
    if redirect := find_redirect(page, wiki):
        if redirect.resolved is not None or wiki.namespace(redirect.target) != TEMPLATE:
            return None
        return template_name(redirect.target.partition(":")[2])
    definition = definition_of(page.text, wiki)
    return f"{DEFINED}{definition}" if definition else None


def license_of(base: str, *, file: str = "", generator: str = "") -> str | None:
    """Return the license of a wiki's text at the time of the dump; None if its address tells none.

    The date stands in the name of the ``file`` (``dawiki-20230601-…``); without one, the version of
    the software that wrote the dump (``MediaWiki 1.41.0-wmf.12``) decides.
    """
    if "wikinews" in base or "wikidata" in base or not _WIKIMEDIA.search(base):
        return None
    if date := _DATE.search(file):
        return next(license for since, _, license in LICENSES if date[1] >= since)
    match = _VERSION.search(generator)
    version = tuple(int(number or 0) for number in match.groups()) if match else (999,)
    return next(license for _, since, license in LICENSES if version >= since)
