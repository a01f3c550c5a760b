"""Read the pages of a MediaWiki XML dump, in ranges that workers take independently.

``examine`` looks at a file once, and cheaply: its wiki, its ranges, whether it is complete.
``read_pages`` reads one range: every page once, whatever the size of the ranges, and what cannot
be read as ``Rejected``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.runs.plan import Unit
from corpora.system.parsing import JsonObject, typed
from corpora.wikipedia.bzip2 import Bzip2File
from corpora.wikipedia.chunks import Chunk, Damage, DumpError, DumpSource, PlainFile
from corpora.wikipedia.html.records import form_of, read_rendered, site_of_pages
from corpora.wikipedia.html.zim import MAGIC, examine_zim, read_zim
from corpora.wikipedia.pages import WikiPage, excerpt, reject_damage, to_record
from corpora.wikipedia.pieces import cut_pieces, open_pieces
from corpora.wikipedia.segments import Segment, cut
from corpora.wikipedia.siteinfo import SiteInfo, check_encoding, read_site
from corpora.wikipedia.titles import TEMPLATE

if TYPE_CHECKING:
    from corpora.wikipedia.reuse_places import RowPlace

BZIP2_RATIO = 4  # bytes of XML in a compressed byte, roughly
MAX_HEAD_BYTES = 4 << 20
_FIRST_BYTES = 16 << 10
_MAGIC = {
    b"BZh": "bzip2",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x5d\0\0": "lzma",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"PK\x03\x04": "zip",
    MAGIC: "zim",
}
_PART_OF_ZIM = re.compile(r"\.zim[a-z]{2}$")
_ARCHIVES = {"7z": "7z x", "zip": "unzip"}
_END_OF_HEAD = re.compile(rb"</siteinfo>|<page[\s/>]")
_IS_TEMPLATE = f"<ns>{TEMPLATE}</ns>".encode()
_AGAIN = "Download it again."
_LAST = {"lines": b"}", "record": b"}", "html": b">", "tar": bytes(512)}
"""The last bytes of a file of rendered pages, by its form; zeros end a tar."""


@dataclass(frozen=True, slots=True)
class DumpRange:
    """A part of a dump that one worker reads alone."""

    container: str
    """``xml``, ``bzip2``, or a container that is cut into pieces: ``gzip``, ``xz``, ``lzma``,
    ``zstd``."""
    start: int
    end: int
    """``start`` and ``end`` are half-open, in bytes: of the file if it is plain or in bzip2, else
    of its XML; of a ZIM archive in entries."""
    form: str = "xml"
    """``xml``, ``zim``, or one of ``html.records.FORMS``."""

    def to_json(self) -> dict[str, object]:
        """Return the range as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: JsonObject) -> Self:
        """Build a range from the values of ``to_json``; other keys are ignored."""
        return typed(cls, values)


@dataclass(frozen=True, slots=True)
class Dump:
    """A file of a dump, and how to read it."""

    site: SiteInfo
    ranges: tuple[DumpRange, ...]
    """All ranges, in order; together they cover the file."""
    complete: bool
    """Whether the file ends as a dump does, with ``</mediawiki>``; bare pages, with ``</page>``."""
    why: str = ""
    """What is wrong with the end of the file, and what to do; empty if it is complete."""


def examine(
    path: Path, *, range_bytes: int, work_directory: Path, sha256: str | None = None
) -> Dump:
    """Examine a file of a dump; only its beginning and end are read, unless it must be cut first.

    Each range holds about ``range_bytes`` of XML. A file in gzip, xz or zstd, which cannot be
    entered in the middle, is first cut into pieces in ``work_directory``. ``read_pages`` needs
    these pieces, and finds them by the ``sha256`` of the file (computed here if it is not given).
    Raises ``UsageError`` for a file that is no dump or is in no known container, ``DumpError``
    where the head cannot be read.
    """
    container = container_of(path)
    if container == "zim":
        site, n_entries = examine_zim(path)
        step = max(1, n_entries * range_bytes // path.stat().st_size)
        ranges = (
            DumpRange("zim", n, min(n + step, n_entries), "zim") for n in range(0, n_entries, step)
        )
        return Dump(site, tuple(ranges), complete=True)
    if container in {"xml", "bzip2"}:
        source = _open(path, container, work_directory=None, sha256=sha256)
    else:
        source = cut_pieces(
            path,
            container=container,
            work_directory=work_directory,
            piece_bytes=range_bytes,
            sha256=sha256,
        )
    name, form = path.name, form_of(_first_bytes(source))
    if form == "html" and ".xml" in path.suffixes:
        form = ""  # a server's error that was saved as a dump
    if form:
        site = site_of_pages(source.chunks(0, source.size), form, name=name)
    else:
        head = _head(source, name=name)
        site = read_site(head, name=name)
    last = _LAST[form] if form else (b"</mediawiki>" if b"<mediawiki" in head else b"</page>")
    why = _why_incomplete(source, name=name, last=last)
    step = max(1, range_bytes // BZIP2_RATIO) if container == "bzip2" else range_bytes
    step = source.size if form == "tar" else step
    starts = range(0, source.size, step)
    return Dump(
        site,
        tuple(
            DumpRange(container, start, min(start + step, source.size), form or "xml")
            for start in starts
        ),
        complete=not why,
        why=why,
    )


def container_of(path: Path) -> str:
    """Return the name of a file's container, by its first bytes.

    Raises ``UsageError`` for archives.
    """
    try:
        with path.open("rb") as file:
            first = file.read(16)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error
    if not first:
        raise UsageError(f"{path}: is empty. Download it again, or leave it out.")
    container = next((name for magic, name in _MAGIC.items() if first.startswith(magic)), "xml")
    if container == "xml" and _PART_OF_ZIM.search(path.name):
        raise UsageError(f"{path}: is a part of a ZIM archive. Give the first part, …zimaa.")
    if container in _ARCHIVES:
        raise UsageError(
            f"{path}: is a {container} archive, which is not read. "
            f"Unpack it ({_ARCHIVES[container]} {path.name}), and compress the XML with bzip2."
        )
    return container


def is_cut_first(path: Path) -> bool:
    """Tell whether a file is cut into pieces, which its hash names, before pages are read."""
    return container_of(path) not in {"xml", "bzip2", "zim"}


def _open(
    path: Path, container: str, *, work_directory: Path | None, sha256: str | None
) -> DumpSource:
    if container == "xml":
        return PlainFile(path)
    if container == "bzip2":
        return Bzip2File(path)
    if work_directory is None:
        raise UsageError(f"{path}: is in {container}; its pieces are needed, so name their folder.")
    return open_pieces(path, work_directory=work_directory, sha256=sha256)


def _first_bytes(source: DumpSource) -> bytes:
    """Read enough to tell the form of the pages: some kilobytes."""
    data = b""
    for item in source.chunks(0, source.size):
        if isinstance(item, Damage) or len(data) > _FIRST_BYTES:
            break
        data += item.data
    return data


def _head(source: DumpSource, *, name: str) -> bytes:
    """Read to the end of ``<siteinfo>``, or to the first page."""
    head = b""
    for item in source.chunks(0, source.size):
        if isinstance(item, Damage):
            if not head or b"<mediawiki" in head:
                raise DumpError(f"{name}: its head cannot be read: {item.message}. {_AGAIN}")
            break
        head += item.data
        check_encoding(head, name=name)
        match = _END_OF_HEAD.search(head)
        if match:
            return head[: match.start()] + (match[0] if match[0].startswith(b"</") else b"")
        if len(head) > MAX_HEAD_BYTES:
            break
    if b"<mediawiki" in head:
        return head
    raise UsageError(
        f"{name}: is no MediaWiki dump: it has no <mediawiki> and no <page>. "
        "Take a file named …-pages-articles….xml.bz2, and look at whether its download is whole; "
        f"of several files, leave this one out with --exclude '*{name}'."
    )


def _why_incomplete(source: DumpSource, *, name: str, last: bytes) -> str:
    """Describe why a dump does not end with ``last``; empty if it does."""
    ending = tail = b""
    for item in source.ending():
        if isinstance(item, Chunk):
            ending = (ending + item.data).rstrip(b"\0 \t\r\n")[-400:]
            tail = (tail + item.data)[-len(last) :]
        else:
            return f"{name}: {item.message}. {_AGAIN}"
    if last in (tail, ending[-len(last) :]):
        return ""
    shown, expected = excerpt(ending[-60:]), last.decode().strip("\0") or "zeros"
    return f"{name}: ends with {shown!r} and not with {expected}: it is cut off. {_AGAIN}"


def read_pages(
    path: Path,
    range: DumpRange,
    *,
    source: str,
    max_page_bytes: int,
    work_directory: Path | None = None,
    sha256: str | None = None,
    find: "Callable[[Segment | WikiPage], RowPlace | None] | None" = None,
) -> Iterator["WikiPage | Rejected | RowPlace"]:
    """Read the pages of a range, in order; rejected pages name the file as ``source``.

    ``work_directory`` and ``sha256`` are those given to ``examine``. ``find`` is called with
    each page; if it returns something, that is yielded and the page is not read. Memory is
    bounded by a few blocks of the container and ``max_page_bytes``.
    """
    if range.container == "zim":
        yield from read_zim(
            path, range.start, range.end, source=source, max_bytes=max_page_bytes, find=find
        )
        return
    opened = _open(path, range.container, work_directory=work_directory, sha256=sha256)
    items = opened.chunks(range.start, range.end)
    from_start = range.start == 0
    if range.form != "xml":
        yield from read_rendered(
            items,
            range.form,
            from_start=from_start,
            source=source,
            max_bytes=max_page_bytes,
            find=find,
        )
        return
    for segment in cut(items, from_start=from_start, max_bytes=max_page_bytes):
        if isinstance(segment, Damage):
            yield reject_damage(segment, source=source)
            continue
        found = find(segment) if find and segment.is_page else None
        record = found or to_record(segment, source=source)
        if record is not None:
            yield record


def read_template_pages(unit: Unit, *, max_page_bytes: int) -> Iterator[WikiPage]:
    """Read the pages of a unit in the template namespace; other pages are not parsed.

    Damaged pages are left out here; the pass over all pages rejects them.
    """
    file, place = unit.inputs[0], DumpRange.from_json(unit.part)
    folder = Path(unit.settings["work_directory"])
    opened = _open(file.check(), place.container, work_directory=folder, sha256=file.sha256)
    items = opened.chunks(place.start, place.end)
    for segment in cut(items, from_start=place.start == 0, max_bytes=max_page_bytes):
        if isinstance(segment, Segment) and segment.is_page and _IS_TEMPLATE in segment.data:
            record = to_record(segment, source=file.name)
            if isinstance(record, WikiPage):
                yield record


def read_pages_of(
    unit: Unit,
    *,
    max_page_bytes: int,
    find: "Callable[[Segment | WikiPage], RowPlace | None] | None" = None,
) -> Iterator["WikiPage | Rejected | RowPlace"]:
    """Read the pages of a unit, which is a range of a file; at most as many as its ``limit``.

    See ``read_pages``. Raises ``InputChangedError`` if the file changed after the plan was made.
    """
    file, *parts = unit.inputs
    for part in parts:
        part.check()
    pages = read_pages(
        file.check(),
        DumpRange.from_json(unit.part),
        source=file.name,
        max_page_bytes=max_page_bytes,
        work_directory=Path(unit.settings["work_directory"]),
        sha256=file.sha256,
        find=find,
    )
    return islice(pages, unit.part.get("limit"))
