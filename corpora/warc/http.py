"""HTTP responses as archives keep them: status, headers, and a body to unpack within bounds."""

import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial

from corpora.errors import CountedError

_CHUNK = re.compile(rb"\s*([0-9A-Fa-f]{1,8})[^\r\n]{0,200}\r?\n")
_GZIP = b"\x1f\x8b"
_PIECE = 1 << 12
"""The bytes that are unpacked at once; small, as the end of a member copies the rest of them."""
_STATUS = re.compile(rb"(?:HTTP/\d(?:\.\d)?|ICY) +(\d{3})")
_HEAD_END = re.compile(rb"\n\r{0,2}\n")
"""The blank line behind the headers; lines end with CR and LF, LF alone, or two CR and LF."""
_PAGES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_LOOKS_LIKE = re.compile(
    rb"\s*+(?:\xef\xbb\xbf)?+\s*+(?:<!--.{0,500}?-->\s*+)?<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
MAX_RATIO = 200
"""The highest ratio of unpacked to packed bytes of a body that unpacks to more than ``FREE_BYTES``.
"""
FREE_BYTES = 1 << 20


class BodyError(CountedError):
    """The error for a body that cannot be unpacked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """The headers in order, with names in lower case, which may repeat."""
    body: bytes
    """The body as archived: usually still packed, perhaps in chunks."""

    def header(self, name: str) -> str | None:
        """Return the last header of a name; None if there is none."""
        return next((value for key, value in reversed(self.headers) if key == name), None)

    @property
    def is_page(self) -> bool:
        """Whether the body is HTML, by ``Content-Type`` or, without one, by its first bytes."""
        media_type = re.split("[;,]", self.header("content-type") or "")[0].strip().lower()
        return media_type in _PAGES if media_type else bool(_LOOKS_LIKE.match(self.body[:2048]))


def parse_answer(block: bytes) -> Answer | None:
    """Parse an HTTP response; return None where the block is none."""
    match = _STATUS.match(block)
    if not match:
        return None
    head, *body = _HEAD_END.split(block, maxsplit=1)
    headers = []
    for line in head.split(b"\n")[1:]:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            headers.append((name.strip().lower(), value.strip()))
    return Answer(int(match[1]), tuple(headers), b"".join(body))


def unpack_body(answer: Answer, *, max_bytes: int) -> bytes:
    """Undo the transfer and content codings of a body; raise ``BodyError``.

    Archives differ in whether they keep these codings: where a header names a coding that the body
    does not have, the body is taken as it is.
    """
    body = answer.body
    if "chunked" in (answer.header("transfer-encoding") or "").lower():
        body = _without_chunks(body)
    for coding in reversed((answer.header("content-encoding") or "").lower().split(",")):
        body = _decoded(body, coding.strip(), max_bytes=max_bytes)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


def _without_chunks(body: bytes) -> bytes:
    """Join the chunks, as far as they are valid; return a body without chunks as it is.

    Raises ``BodyError`` for a body that ends inside of a chunk.
    """
    parts = []
    position = 0
    while match := _CHUNK.match(body, position):
        size = int(match[1], 16)
        start = match.end()
        if not size:
            break
        if len(body) < start + size:
            raise BodyError("truncated_page", "the body ends inside of a chunk. Fetch it again.")
        parts.append(body[start : start + size])
        position = start + size
    return b"".join(parts) if parts else body


def _decoded(body: bytes, coding: str, *, max_bytes: int) -> bytes:
    if coding in ("", "identity"):
        return body
    if coding in ("gzip", "x-gzip"):
        if not body.startswith(_GZIP):
            return body
        return _inflate(body, 16 + zlib.MAX_WBITS, max_bytes=max_bytes)
    if coding == "deflate":
        if body[:1] and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0:
            return _inflate(body, zlib.MAX_WBITS, max_bytes=max_bytes)
        try:
            return _inflate(body, -zlib.MAX_WBITS, max_bytes=max_bytes)
        except BodyError as error:
            if error.reason == "too_large":
                raise
            return body
    if coding == "br":
        return _unbrotli(body, max_bytes=max_bytes)
    if _LOOKS_LIKE.match(body[:2048]):  # no coding at all, as ``utf-8`` or ``none``
        return body
    raise BodyError("content_encoding", f"Content-Encoding {coding!r} is not one that is read.")


def _inflate(body: bytes, bits: int, *, max_bytes: int) -> bytes:
    """Unpack a body; all members of gzip, one after the other, are one text."""

    def unpack(body: bytes) -> bytes:
        parts: list[bytes] = []
        left, position = max_bytes + 1, 0
        while left and (position == 0 or body.startswith(_GZIP, position)):
            stream = zlib.decompressobj(bits)
            while left and not stream.eof:
                piece = body[position : position + _PIECE]
                if not piece:
                    raise _too_short()
                parts.append(stream.decompress(piece, left))
                left -= len(parts[-1])
                position += len(piece) - len(stream.unused_data)
        return b"".join(parts)

    return _bounded(body, unpack, max_bytes=max_bytes)


def _unbrotli(body: bytes, *, max_bytes: int) -> bytes:
    try:
        import brotli
    except ImportError:
        raise BodyError(
            "content_encoding", "Content-Encoding 'br' needs brotli: pip install 'onoma[news]'"
        ) from None
    if _LOOKS_LIKE.match(body[:2048]):
        return body
    stream = brotli.Decompressor()
    unpack = partial(stream.process, output_buffer_limit=max_bytes + 1)
    unpacked = _bounded(body, unpack, max_bytes=max_bytes)
    if not stream.is_finished():
        raise _too_short()
    return unpacked


def _bounded(body: bytes, unpack: Callable[[bytes], bytes], *, max_bytes: int) -> bytes:
    try:
        unpacked = unpack(body)
    except BodyError:
        raise
    except Exception as error:  # zlib.error, or brotli's own
        raise BodyError("damaged_body", f"the packed body is damaged ({error}).") from error
    is_bomb = len(unpacked) > FREE_BYTES and len(unpacked) > MAX_RATIO * len(body)
    if len(unpacked) > max_bytes or is_bomb:
        raise _too_large(max_bytes)
    return unpacked


def _too_short() -> BodyError:
    return BodyError("damaged_body", "the packed body ends too early.")


def _too_large(max_bytes: int) -> BodyError:
    return BodyError(
        "too_large", f"more than {max_bytes / 1e6:g} MB unpacked, or {MAX_RATIO} times its size."
    )


def retry_after(headers: Iterable[tuple[str, str]], *, now: float) -> float | None:
    """Parse ``Retry-After`` to seconds: a number, or a date by the server's own clock.

    Returns None where there is none that can be read.
    """
    found = {name.lower(): value.strip() for name, value in headers}
    value = found.get("retry-after", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    with suppress(ValueError, TypeError, OverflowError):
        now = parsedate_to_datetime(found.get("date", "")).timestamp()
    return max(0.0, until - now)
