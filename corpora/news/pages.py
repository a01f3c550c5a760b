"""Pages as they were fetched: from the records of archives, and from saved files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from corpora.document import Rejected
from corpora.runs.record_errors import read_record
from corpora.text.opening import TextError, read_chunks
from corpora.warc.archives import ArchiveRecord, Damaged, read_archive
from corpora.warc.http import BodyError, parse_answer, unpack_body

MAX_HEADERS = 1 << 16
"""The bytes of a record that are read for the headers of a response, in addition to the body."""
_EXCERPT = 200
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as it was fetched."""

    id: str
    source: str
    """The relative name of the file."""
    position: str
    """The place in the file; empty if the page is the whole file."""
    body: bytes
    url: str | None
    fetched: str | None
    """The time of the request in ISO 8601; None if not known."""
    headers: tuple[tuple[str, str], ...] = ()
    """The HTTP headers; names in lower case."""
    digest: str | None = None
    """The digest of the body as written in the archive, by which revisits refer to the page."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    mining: str = ""
    """The reservation of mining that Onoma's crawler recorded: ``reserved; robots.txt: GPTBot``."""

    def header(self, name: str) -> str | None:
        """Return all headers of a name, joined with commas; None if there is none."""
        return ", ".join(value for key, value in self.headers if key == name) or None

    def reject(self, reason: str, what: str) -> Rejected:
        """Make the rejection of the page; ``what`` says what is wrong."""
        where = f"{self.source}: {self.position}" if self.position else self.source
        return Rejected(
            source=self.source,
            position=self.position,
            reason=reason,
            message=f"{where}: {what}",
            excerpt=self.excerpt,
        )

    def guard(self, read: Callable[[], T]) -> T | Rejected:
        """Return what ``read`` returns; the rejection of the page where ``read`` raises."""
        return read_record(read, source=self.source, position=self.position, excerpt=self.excerpt)

    @property
    def excerpt(self) -> str:
        """The first characters of the body."""
        return self.body[:_EXCERPT].decode("ascii", "replace")


@dataclass(frozen=True, slots=True)
class Revisit:
    """A record of a page that was fetched again and had not changed."""

    source: str
    position: str
    url: str
    digest: str
    refers_to: str
    """The URL of the record that has the body; ``url`` if the revisit does not say."""


@dataclass(frozen=True, slots=True)
class NoPage:
    """A record that is not a page and is left out without an error."""

    reason: str
    detail: str = ""


Found = FetchedPage | Revisit | NoPage | Rejected


def read_pages(
    path: Path, *, source: str, max_bytes: int, start: int = 0, end: int | None = None
) -> Iterator[Found]:
    """Read a part of an archive; yield one result for each record."""
    max_block = max_bytes + MAX_HEADERS
    for record in read_archive(path, max_block=max_block, start=start, end=end):
        if isinstance(record, Damaged):
            yield _damaged(record, source)
        elif record.kind == "revisit":
            yield Revisit(
                source,
                record.place,
                record.url,
                record.headers.get("warc-payload-digest", ""),
                record.headers.get("warc-refers-to-target-uri", "").strip("<>") or record.url,
            )
        elif record.kind == "response":
            yield read_record(
                partial(_response, record, source, max_bytes=max_bytes),
                source=source,
                position=f"byte {record.place}",
                excerpt=record.block[:_EXCERPT].decode("ascii", "replace"),
            )
        else:
            yield NoPage(f"record.{record.kind or 'unknown'}")


def _damaged(record: Damaged, source: str) -> Rejected:
    where = f"byte {record.place}"
    return Rejected(
        source=source,
        position=where,
        reason=record.reason,
        message=f"{source}: {where}: {record.message} Fetch the archive again, or do without.",
        excerpt=record.excerpt.decode("ascii", "replace"),
    )


_RULES = ("robots", "tdmrep")
"""The kinds of requests of Onoma's crawler whose answers are never pages, whatever they contain."""


def _response(record: ArchiveRecord, source: str, *, max_bytes: int) -> Found:
    """Return the page in a response, or why there is none."""
    if not record.url.lower().startswith(("http:", "https:")):
        return NoPage("record.not_http", record.url.partition(":")[0][:20])
    if record.headers.get("onoma-kind") in _RULES:
        return NoPage("record.rules", record.headers["onoma-kind"])
    answer = parse_answer(record.block)
    if answer is None:
        return NoPage("record.not_http", "no status line")
    if answer.status != 200:
        return NoPage("status", str(answer.status))
    if not answer.is_page:
        type = (answer.header("content-type") or "none").partition(";")[0].strip().lower()
        return NoPage("content_type", type[:60])
    page = FetchedPage(
        f"{source}#{record.place}",
        source,
        f"byte {record.place}",
        answer.body,
        record.url,
        record.date,
        answer.headers,
        record.headers.get("warc-payload-digest"),
        {"robots_txt": robots} if (robots := record.headers.get("onoma-robots")) else {},
        record.headers.get("onoma-mining", ""),
    )
    if why := record.headers.get("warc-truncated"):
        what = f"only its beginning is in the archive (WARC-Truncated: {why}). Fetch it again."
        return page.reject("truncated_page", what)
    if len(record.block) < record.length:
        size = f"{record.length / 1e6:.1f} MB, over the bound of {max_bytes / 1e6:g} MB"
        return page.reject("too_large", f"{size}.")
    try:
        body = unpack_body(answer, max_bytes=max_bytes)
    except BodyError as error:
        return page.reject(error.reason, str(error))
    return replace(page, body=body)


def read_saved(
    path: Path, *, source: str, max_bytes: int, row: Mapping[str, str]
) -> FetchedPage | Rejected:
    """Read a saved page; ``row`` is its row of the table of URLs, without the name of the file."""
    return read_record(
        partial(_saved, path, source=source, max_bytes=max_bytes, row=row), source=source
    )


def _saved(
    path: Path, *, source: str, max_bytes: int, row: Mapping[str, str]
) -> FetchedPage | Rejected:
    try:
        body = b"".join(read_chunks(path, name=source, max_bytes=max_bytes))
    except TextError as error:
        return Rejected(
            source=source, position=error.position, reason=error.reason, message=str(error)
        )
    more = {name: value for name, value in row.items() if name not in ("url", "date") and value}
    return FetchedPage(
        source, source, "", body, row.get("url") or None, row.get("date") or None, metadata=more
    )
