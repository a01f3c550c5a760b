"""Segments of a dump read as pages, or as rejections with the reason why they are none.

Export versions 0.3 to 0.11 are read: ``<ns>``, ``<redirect>`` and ``<model>`` may be missing. Of
several revisions the newest is read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from xml.parsers import expat

from corpora.document import Rejected
from corpora.runs.record_errors import read_record
from corpora.wikipedia.chunks import Damage
from corpora.wikipedia.revisions import Revision
from corpora.wikipedia.segments import Edge, Segment

MAX_DEPTH = 100
SCAN = "proofread-page"
"""The model of pages of a scanned book (Wikisource)."""
HTML = "html"
"""The model of rendered pages."""
_NUMBER = re.compile(r"-?\d{1,9}")
_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
_BETWEEN_PAGES = re.compile(rb"</mediawiki\s*>|<mediawiki[\s>]|<\?xml\s|<!--|<siteinfo[\s>]")
_CUT_TAG = re.compile(rb"<p(?:a(?:ge?)?)?\Z")
_TITLE = re.compile(rb"<title>([^<]{1,400})</title>")
_REMEDIES = {
    "malformed_html": "Store the page as it is served.",
    "malformed_json": "Repair it, or download the dump again.",
    "no_html": "Take a file whose records have article_body.html.",
    "malformed_xml": "Repair it, or download the dump again.",
    "no_title": "Repair it, or download the dump again.",
    "no_text": "If all pages are so, take the dump named pages-articles.",
    "too_large": "Take a dump of current revisions (pages-articles), or raise the bound.",
    "truncated": "The dump is cut off here; download it again.",
    "damaged_block": "What is in it is lost; download the dump again.",
}

_OF_PAGE = frozenset({"title", "ns", "id"})
_OF_REVISION = frozenset({"id", "timestamp", "model", "text"})
_STUB = "<text> without its content"


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page with its newest revision in the ``<page>`` element."""

    title: str
    namespace: int | None = None
    """None where the dump does not say (before export version 0.5)."""
    id: str = ""
    redirect: str | None = None
    """The title that the page redirects to; empty if the dump only tells that it redirects; None if
    it tells of no redirect."""
    revision: str = ""
    timestamp: str = ""
    model: str = ""
    """``wikitext``, ``css`` …; empty where the dump does not say."""
    text: str = ""
    """The wikitext, of a scanned page that of its body, or the HTML of a rendered page; empty also
    where it was deleted or suppressed."""
    position: str = ""
    """The position of the ``<page>`` tag, as ``byte 1234``."""
    hash: str = field(default="", compare=False)
    """The hash of the page's XML, or record, as ``Segment.hash`` computes it."""
    redirects: tuple[str, ...] = ()
    """The titles that redirect to a rendered page; in an XML dump they are pages of their own."""
    item: str = ""
    """The Wikidata item of a rendered page."""
    license: str = ""
    """The SPDX id of the license that a record names."""
    is_other_revision: bool = False
    """Whether the HTML in a record is of another revision than the record says."""
    n_older: int = 0
    """The number of older revisions in the element."""

    @property
    def version(self) -> Revision:
        """The revision, to be compared with others of the page."""
        return Revision.of(self.timestamp, self.revision)


class PageError(Exception):
    """A page cannot be used; ``reason`` is the short name that is counted."""

    def __init__(self, reason: str, message: str, *, byte: int = 0) -> None:
        """Store the reason, the message, and the byte of the page where the fault is."""
        super().__init__(message)
        self.reason, self.byte = reason, byte


def _on_one_line(title: str) -> str:
    """Replace control characters and line ends in a title by spaces; MediaWiki allows none."""
    title = title.strip()
    return title if title.isprintable() else _CONTROL.sub(" ", title).strip()


def _body(text: str) -> str:
    """Return a scanned page without what stands before and after its body.

    These are its state and running head, and its footnotes, each in a ``<noinclude>``: no part of
    the book.
    """
    before, _, rest = text.partition("</noinclude>")
    body, opening, after = rest.rpartition("<noinclude>")
    is_scan = before.startswith("<noinclude>") and opening and "</noinclude>" in after
    return body if is_scan else text


class _PageReader:
    """Expat's handlers, and what they have read.

    Expat expands no entities here: a page has no DOCTYPE that could declare any.
    """

    def __init__(self, xml: bytes) -> None:
        self.path: list[str] = []
        self.of_page: dict[str, str] = {}
        self.of_revision: dict[str, str] = {}
        self.newest: dict[str, str] = {}
        self.n_revisions = 0
        self.redirect: str | None = None
        self.into: dict[str, str] | None = None  # gets the text of the open element
        self.characters: list[str] = []
        self.expat = expat.ParserCreate("UTF-8")
        self.expat.buffer_text = True
        self.expat.buffer_size = min(max(len(xml), 1024), 1 << 20)
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end

    def forget(self) -> None:
        """Remove the handlers, which refer to this object: that breaks the reference cycle."""
        self.expat.StartElementHandler = None
        self.expat.EndElementHandler = None
        self.expat.CharacterDataHandler = None

    def page(self, segment: Segment) -> WikiPage:
        """Build the page from what was read of its segment; raises ``PageError``."""
        title = _on_one_line(self.of_page.get("title", ""))
        if not title:
            raise PageError("no_title", "has no title")
        text = self.newest.get("text")
        if text is None:
            raise PageError("no_text", "has no revision with a <text>")
        if not text and _STUB in self.newest:
            raise PageError("no_text", "has a text, which this file does not hold")
        number = self.of_page.get("ns", "").strip()
        model = self.newest.get("model", "").strip()
        return WikiPage(
            title=title,
            namespace=int(number) if _NUMBER.fullmatch(number) else None,
            id=self.of_page.get("id", "").strip(),
            redirect=None if self.redirect is None else _on_one_line(self.redirect),
            revision=self.newest.get("id", "").strip(),
            timestamp=self.newest.get("timestamp", "").strip(),
            model=model,
            text=_body(text) if model == SCAN else text,
            position=segment.position,
            hash=segment.hash,
            n_older=self.n_revisions - 1,
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self.into is not None:
            raise self._error(f"<{name}> in <{self.path[-1]}>")
        if len(self.path) >= MAX_DEPTH:
            raise self._error(f"elements nest more than {MAX_DEPTH} deep")
        if len(self.path) == 1:
            if name in _OF_PAGE:
                self._collect(self.of_page)
            elif name == "redirect":
                self.redirect = attributes.get("title", "")
            elif name == "revision":
                self.of_revision = {}
        elif len(self.path) == 2 and self.path[1] == "revision" and name in _OF_REVISION:
            self._collect(self.of_revision)
            if name == "text" and _is_stub(attributes):
                self.of_revision[_STUB] = ""
        self.path.append(name)

    def _collect(self, into: dict[str, str]) -> None:
        self.into, self.characters = into, []
        self.expat.CharacterDataHandler = self.characters.append

    def _end(self, name: str) -> None:
        self.path.pop()
        if self.into is not None:
            self.into[name] = "".join(self.characters)
            self.into = None
            self.expat.CharacterDataHandler = None
        elif name == "revision" and len(self.path) == 1:
            self.n_revisions += 1
            if self.n_revisions == 1 or _version(self.of_revision) >= _version(self.newest):
                self.newest = self.of_revision

    def _error(self, what: str) -> PageError:
        return PageError(
            "malformed_xml",
            f"is not what a page must be ({what})",
            byte=self.expat.CurrentByteIndex,
        )


def _version(revision: Mapping[str, str]) -> Revision:
    return Revision.of(revision.get("timestamp", "").strip(), revision.get("id", "").strip())


def _is_stub(text: Mapping[str, str]) -> bool:
    """Tell by the attributes of ``<text>`` whether it should not be empty, as in dumps of stubs."""
    return text.get("bytes", "0").strip("0") != "" and "deleted" not in text


def to_record(segment: Segment, *, source: str) -> WikiPage | Rejected | None:
    """Read a segment as a page or a rejection; None for what every dump has between pages."""
    if segment.first is not Edge.OPENING:
        return _between(segment, source)
    if segment.is_too_large:
        return reject(segment, "too_large", f"has {segment.size:,} bytes or more", source=source)
    if segment.last is not Edge.CLOSING:
        if segment.last is Edge.FILE:
            return reject(segment, "truncated", "ends with the file, in the middle", source=source)
        if segment.last is Edge.DAMAGE:
            what = "continues into data that cannot be read"
            return reject(segment, "damaged_block", what, source=source)
        return reject(
            segment, "malformed_xml", "is not closed before the next begins", source=source
        )
    return read_record(
        partial(_page, segment, source=source),
        source=source,
        position=segment.position,
        excerpt=excerpt(segment.data),
    )


def _page(segment: Segment, *, source: str) -> WikiPage | Rejected:
    """Read one ``<page>`` element in UTF-8."""
    xml = segment.data
    reader = _PageReader(xml)
    try:
        reader.expat.Parse(xml, True)  # noqa: FBT003 - expat's own
        return reader.page(segment)
    except PageError as error:
        return reject(segment, error.reason, str(error), source=source, byte=error.byte)
    except expat.ExpatError as error:
        what = (
            f"is not well-formed XML ({expat.ErrorString(error.code)} "
            f"in line {error.lineno}, column {error.offset + 1} of the page)"
        )
        byte = reader.expat.ErrorByteIndex
        return reject(segment, "malformed_xml", what, source=source, byte=byte)
    finally:
        reader.forget()


def _between(segment: Segment, source: str) -> Rejected | None:
    content = segment.data.removeprefix(b"</page>").strip()
    if segment.last is Edge.CLOSING:
        what = "is followed by a page that has lost its <page>"
        return reject(segment, "malformed_xml", what, source=source)
    if segment.last is Edge.FILE and _CUT_TAG.search(content):
        return reject(segment, "truncated", "is followed by a page cut off at once", source=source)
    if segment.first is Edge.FILE or segment.last is Edge.DAMAGE:
        return None
    if not content or _BETWEEN_PAGES.match(content):
        return None
    if segment.last is Edge.FILE and b"</mediawiki>".startswith(content):
        return None
    what = "is followed by text that belongs to no page"
    return reject(segment, "malformed_xml", what, source=source)


def reject(segment: Segment, reason: str, what: str, *, source: str, byte: int = 0) -> Rejected:
    """Build the rejection of a segment; ``byte`` is the offset of the fault in it."""
    data = segment.data
    title = _TITLE.search(data, 0, 1000)
    page = f"page {title[1].decode('utf-8', 'replace')!r}" if title else "a page"
    if segment.first is not Edge.OPENING:
        page = "this place"
    return Rejected(
        source=source,
        position=segment.position,
        reason=reason,
        message=f"{source}: {segment.position}: {page} {what}. {_REMEDIES[reason]}",
        excerpt=excerpt(data[max(0, byte - 60) :]),
    )


def reject_damage(damage: Damage, *, source: str) -> Rejected:
    """Build the rejection of damage: an unknown number of pages is lost there."""
    reason = "truncated" if damage.is_end else "damaged_block"
    return Rejected(
        source=source,
        position=damage.position,
        reason=reason,
        message=f"{source}: {damage.message}. {_REMEDIES[reason]}",
    )


def excerpt(data: bytes) -> str:
    """Decode the beginning of the data, at most 200 characters."""
    return data[:800].decode("utf-8", "replace")[:200]
