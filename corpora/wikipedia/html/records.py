"""Rendered pages in files: records of Wikimedia Enterprise, a line or a file each, and HTML.

A line belongs to the range in which the line end before it stands, so that ranges of any size give
each line once. In a tar, the headers of its files stand between two lines, and are passed over.
"""

import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from io import BufferedReader, RawIOBase
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from corpora.document import Rejected
from corpora.runs.record_errors import read_record
from corpora.system.parsing import ParseError, parse_json
from corpora.wikipedia.chunks import Chunk, Damage
from corpora.wikipedia.pages import HTML, PageError, WikiPage, excerpt, reject, reject_damage
from corpora.wikipedia.segments import Edge, Segment, hash_of
from corpora.wikipedia.siteinfo import SiteInfo, site_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

    from corpora.wikipedia.reuse_places import RowPlace

FORMS = frozenset({"lines", "record", "html", "tar"})
"""The forms of files of rendered pages: a record in each line, in the whole file; HTML; a tar of
HTML files, which only one process can read."""
_TAR = b"ustar"
_RECORD = re.compile(rb'\{\s*"')
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|body|section|div|p)\b",
    re.IGNORECASE | re.DOTALL,
)
_IN_TAR = re.compile(rb"<(?:!doctype\s+html|html|body|section|div|p)\b", re.IGNORECASE)
_MAX_HEAD = 200 << 20  # bytes of the first record, which tells which wiki it is of
_HEAD = 20_000  # characters of a page in which its properties are sought
_PROPERTIES = {
    "revision": re.compile(r'\babout="[^"]*/revision/(\d+)"|"wgRevisionId":(\d+)'),
    "id": re.compile(r'"mw:pageId" content="(\d+)"|"wgArticleId":(\d+)'),
    "namespace": re.compile(r'"mw:pageNamespace" content="(-?\d+)"|"wgNamespaceNumber":(-?\d+)'),
    "modified": re.compile(r'"dc:modified" content="([^"]+)"|"dateModified":"([^"]+)"'),
    "address": re.compile(
        r'<link rel="(?:dc:isVersionOf|canonical)" href="((?:https?:)?//[^"]+/wiki/[^"]+)"'
    ),
    "lang": re.compile(r'"content-language" content="([\w-]+)"|<html[^>]*?\slang="([\w-]+)"'),
    "redirect": re.compile(r'<link rel="mw:PageProp/redirect" href="\./([^"]+)"'),
    "base": re.compile(r'<base href="((?:https?:)?//[^"]+/wiki/)"'),
    "title": re.compile(r"<title>(.*?)(?: [-–—] [^<]*)?</title>", re.DOTALL),
}
_ESCAPED = re.compile(r'<(?:html|meta) [a-z]+=\\"')
_MARKUP = re.compile(r"&lt;.*?(?:>|&gt;)|<[^>]*>")


def form_of(head: bytes) -> str:
    """Return the form of a file of rendered pages by its first bytes; empty for other files."""
    if _HTML.match(head):
        return "html"
    if head[257:262] == _TAR:
        return "lines" if b'{"' in head else "tar" if _IN_TAR.search(head) else ""
    if not _RECORD.match(head):
        return ""
    line, end, _ = head.partition(b"\n")
    try:
        parse_json(line if end else b"{}")
    except ParseError:
        return "record"
    return "lines"


def cut_lines(
    items: Iterable[Chunk | Damage], *, from_start: bool, max_bytes: int
) -> Iterator[Segment | Damage]:
    """Cut a range into the lines that belong to it, and yield the damage in it."""
    line = Segment(Edge.OPENING, "byte 0") if from_start else None
    for item in items:
        if isinstance(item, Damage):
            if line is not None:
                line.last = Edge.FILE if item.is_end else Edge.DAMAGE
                yield line
            line = None
            if item.own:
                yield item
            continue
        start = 0
        while (end := item.data.find(b"\n", start)) >= 0:
            if line is not None:
                line.add(item.data[start:end], max_bytes=max_bytes)
                line.last = Edge.CLOSING
                yield line
            if not item.own:
                return
            start = end + 1
            line = Segment(Edge.OPENING, item.position(start))
        if line is not None:
            line.add(item.data[start:], max_bytes=max_bytes)
        elif not item.own:
            return
    if line is not None:
        yield line


def read_rendered(
    items: Iterable[Chunk | Damage],
    form: str,
    *,
    from_start: bool,
    source: str,
    max_bytes: int,
    find: "Callable[[WikiPage], RowPlace | None] | None" = None,
) -> Iterator["WikiPage | Rejected | RowPlace"]:
    """Read the pages of a range; ``find`` and rejections are those of ``dump.read_pages``."""
    if form == "lines":
        segments = cut_lines(items, from_start=from_start, max_bytes=max_bytes)
    else:
        segments = _files(items, form, max_bytes)
    for segment in segments:
        if isinstance(segment, Damage):
            yield reject_damage(segment, source=source)
        elif record := _record(segment, form, source=source, find=find):
            yield record


class _Stream(RawIOBase):
    """The bytes of a range as a file; ends at the first damage, which is kept."""

    def __init__(self, items: Iterable[Chunk | Damage]) -> None:
        self._items, self._left = iter(items), b""
        self.damage: Damage | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer") -> int:
        view = memoryview(buffer).cast("B")
        while not self._left and not self.damage:
            item = next(self._items, None)
            if item is None:
                break
            if isinstance(item, Damage):
                self.damage = item
            else:
                self._left = item.data
        n_bytes = min(len(view), len(self._left))
        view[:n_bytes], self._left = self._left[:n_bytes], self._left[n_bytes:]
        return n_bytes


def _files(
    items: Iterable[Chunk | Damage], form: str, max_bytes: int
) -> Iterator[Segment | Damage]:
    """Yield the only file of a range, or the HTML files in a tar; then the damage, if any."""
    stream = _Stream(items)
    if form != "tar":
        segment = _read_whole(stream, "byte 0", max_bytes)
        yield stream.damage or segment
        return
    try:
        with tarfile.open(fileobj=BufferedReader(stream), mode="r|") as archive:
            for member in archive:
                is_page = member.isfile() and member.name.lower().endswith((".html", ".htm"))
                if is_page and (file := archive.extractfile(member)):
                    yield _read_whole(file, member.name, max_bytes)
    except tarfile.ReadError as error:
        yield stream.damage or Damage("its end", f"its tar archive is damaged ({error})", own=True)


def _read_whole(file: RawIOBase | IO[bytes], position: str, max_bytes: int) -> Segment:
    segment = Segment(Edge.OPENING, position, Edge.CLOSING)
    while data := file.read(1 << 20):
        segment.add(data, max_bytes=max_bytes)
    return segment


def _record(
    segment: Segment,
    form: str,
    *,
    source: str,
    find: "Callable[[WikiPage], RowPlace | None] | None",
) -> "WikiPage | Rejected | RowPlace | None":
    """Read a segment as a page or a rejection; None for a header of a tar, or an empty line."""
    if segment.is_too_large:
        return reject(segment, "too_large", f"has {segment.size:,} bytes or more", source=source)
    if segment.last is Edge.DAMAGE:
        what = "continues into data that cannot be read"
        return reject(segment, "damaged_block", what, source=source)
    data = segment.data
    if form == "lines":
        _before, zero, data = data.rpartition(b"\0")
        if not data.strip() or (zero and not data.startswith(b"{")):
            return None

    def read() -> "WikiPage | Rejected | RowPlace":
        try:
            name = segment.position if form == "tar" else source
            page = _page(segment, data, form, name=name)
        except PageError as error:
            is_cut = segment.last is Edge.FILE and error.reason == "malformed_json"
            reason = "truncated" if is_cut else error.reason
            return reject(segment, reason, str(error), source=source)
        if find and (place := find(page)):
            return place._replace(title=page.title, redirects=page.redirects)
        return page

    return read_record(read, source=source, position=segment.position, excerpt=excerpt(data))


def _page(segment: Segment, data: bytes, form: str, *, name: str) -> WikiPage:
    """Read a page; ``name`` is that of the file, for a page that does not say its title."""
    is_html = form in ("html", "tar")
    page = page_of_html(data, name=name) if is_html else page_of_record(data)
    return replace(page, position=segment.position, hash=_hash_of(page))


def _hash_of(page: WikiPage) -> str:
    """Return the hash of what is read of a page.

    Records also hold what differs in each dump: counts, scores, the time when they were written.
    """
    parts = (page.id, page.title, page.namespace, page.revision, page.timestamp, page.redirect)
    more = (page.item, page.license, page.is_other_revision, page.text)
    return hash_of("\0".join(map(str, (*parts, *more))).encode("utf-8", "surrogatepass"))


def page_of_record(data: bytes) -> WikiPage:
    """Read a record of Wikimedia Enterprise; raises ``PageError``."""
    record = _parsed(data)
    title, html = _text(record, "name"), _text(record, "article_body", "html")
    if not title:
        raise PageError("no_title", "has no name")
    if not html:
        raise PageError("no_html", "has no article_body with html")
    revision = _text(record, "version", "identifier")
    properties = _properties(html)
    namespace = _text(record, "namespace", "identifier")
    licenses, redirects = record.get("license"), record.get("redirects")
    return WikiPage(
        title=title,
        namespace=int(namespace) if namespace.lstrip("-").isdecimal() else 0,
        id=_text(record, "identifier"),
        redirect=properties.get("redirect"),
        revision=properties.get("revision") or revision,
        timestamp=_text(record, "date_modified"),
        model=HTML,
        text=html,
        redirects=tuple(
            name for each in _list(redirects) if (name := _text(each, "name")) and name != title
        ),
        item=_text(record, "main_entity", "identifier"),
        license=next((id for each in _list(licenses) if (id := _text(each, "identifier"))), ""),
        is_other_revision=properties.get("revision", revision) != revision,
    )


def page_of_html(data: bytes, *, name: str = "") -> WikiPage:
    """Read an HTML page by the properties that Parsoid and skins write into its head.

    A part of a page, which has none, gets the ``name`` of its file as its title.
    """
    html = data.decode("utf-8", "replace")
    if _ESCAPED.search(html, 0, _HEAD):
        raise PageError("malformed_html", "has quotes that are escaped as in JSON")
    properties = _properties(html)
    title = _title(properties) or unquote(PurePosixPath(name).stem).replace("_", " ")
    namespace = properties.get("namespace", "0")
    return WikiPage(
        title=title,
        namespace=int(namespace),
        id=properties.get("id", ""),
        redirect=properties.get("redirect"),
        revision=properties.get("revision", ""),
        timestamp=properties.get("modified", ""),
        model=HTML,
        text=html,
    )


def _title(properties: Mapping[str, str]) -> str:
    """Return the title of a page: that of its address, else what its head says, without markup."""
    if address := properties.get("address", ""):
        return address.rpartition("/wiki/")[2].replace("_", " ")
    return " ".join(_MARKUP.sub("", unescape(properties.get("title", ""))).split())


def _properties(html: str) -> dict[str, str]:
    """Read the properties of a page in its head; redirects and addresses are decoded."""
    properties = {}
    for name, pattern in _PROPERTIES.items():
        if match := pattern.search(html, 0, _HEAD):
            value = next(group for group in match.groups() if group is not None)
            is_address = name in ("address", "redirect", "base")
            properties[name] = unquote(unescape(value)).replace("_", " ") if is_address else value
    return properties


def _parsed(data: bytes) -> Mapping[str, object]:
    try:
        record = parse_json(data)
    except ParseError as error:
        raise PageError("malformed_json", f"is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise PageError("malformed_json", "is no JSON object")
    return record


def _text(record: object, *path: str) -> str:
    """Return a string or number in a record, by its path; empty where there is none."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return str(record) if isinstance(record, str | int) and not isinstance(record, bool) else ""


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def site_of_pages(items: Iterable[Chunk | Damage], form: str, *, name: str) -> SiteInfo:
    """Read which wiki a file is of, from its first page; ``name`` is the file's name."""
    if form != "lines":
        segments: Iterable[Segment | Damage] = _files(items, form, _MAX_HEAD)
    else:
        segments = cut_lines(items, from_start=True, max_bytes=_MAX_HEAD)
    for segment in segments:
        if isinstance(segment, Damage) or segment.is_too_large:
            break
        data = segment.data.rpartition(b"\0")[2]
        if form in ("html", "tar"):
            properties = _properties(data.decode("utf-8", "replace"))
            address = properties.get("base") or properties.get("address", "")
            return site_of("", lang=properties.get("lang", ""), base=_base(address), name=name)
        if data.startswith(b"{"):
            with suppress(PageError):
                record = _parsed(data)
                lang = _text(record, "in_language", "identifier")
                wiki = _text(record, "is_part_of", "identifier")
                return site_of(wiki, lang=lang, base=_base(_text(record, "url")), name=name)
    return site_of("", lang="", base="", name=name)


def _base(address: str) -> str:
    """Return the address to which titles are appended; empty for addresses of another form."""
    start, path, _ = address.partition("/wiki/")
    return f"{'https:' * start.startswith('//')}{start}{path}" if path else ""
