"""What a segment of a dump is: a page, white space between pages, or rejected, and why."""

import re
from functools import partial

from corpora.document import Rejected
from corpora.runs.record_errors import read_record
from corpora.wikipedia.chunks import Damage
from corpora.wikipedia.pages import Page, PageError, read_page
from corpora.wikipedia.segments import Edge, Segment

_BETWEEN_PAGES = re.compile(rb"</mediawiki\s*>|<mediawiki[\s>]|<\?xml\s|<!--|<siteinfo[\s>]")
_CUT_TAG = re.compile(rb"<p(?:a(?:ge?)?)?\Z")
_TITLE = re.compile(rb"<title>([^<]{1,400})</title>")
_REMEDIES = {
    "malformed_xml": "Repair it, or download the dump again.",
    "no_title": "Repair it, or download the dump again.",
    "no_text": "If all pages are so, take the dump named pages-articles.",
    "too_large": "Take a dump of current revisions (pages-articles), or raise the bound.",
    "truncated": "The dump is cut off here; download it again.",
    "damaged_block": "What is in it is lost; download the dump again.",
}


def to_record(segment: Segment, *, source: str) -> Page | Rejected | None:
    """Read a segment; None for what is between pages in every dump."""
    if segment.first is not Edge.OPENING:
        return _between(segment, source)
    if segment.is_too_large:
        return reject(segment, "too_large", f"has {segment.size:,} bytes or more", source=source)
    if segment.last is not Edge.CLOSING:
        return _unfinished(segment, source)
    return read_record(
        partial(_page, segment, source=source),
        source=source,
        position=segment.position,
        excerpt=excerpt(segment.data),
    )


def _page(segment: Segment, *, source: str) -> Page | Rejected:
    try:
        return read_page(segment.data, position=segment.position)
    except PageError as error:
        return reject(segment, error.reason, str(error), source=source, byte=error.byte)


def _unfinished(segment: Segment, source: str) -> Rejected:
    if segment.last is Edge.FILE:
        return reject(segment, "truncated", "ends with the file, in the middle", source=source)
    if segment.last is Edge.DAMAGE:
        what = "goes on into data that cannot be read"
        return reject(segment, "damaged_block", what, source=source)
    return reject(segment, "malformed_xml", "is not closed before the next begins", source=source)


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
    """Reject a segment; ``byte`` is where in it the fault is."""
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
    """Say that something is lost here, how many pages nobody knows."""
    reason = "truncated" if damage.is_end else "damaged_block"
    return Rejected(
        source=source,
        position=damage.position,
        reason=reason,
        message=f"{source}: {damage.message}. {_REMEDIES[reason]}",
    )


def excerpt(data: bytes) -> str:
    """The first characters of it, at most 200."""
    return data[:800].decode("utf-8", "replace")[:200]
