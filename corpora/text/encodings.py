"""Decoding of bytes in a given encoding (found by ``detection.py``); invalid bytes are counted."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from corpora.errors import UsageError
from corpora.text.characters import REPLACEMENT

CUTTABLE = frozenset(
    {"utf-8", "gb18030", "gbk", "cp950", "big5", "big5hkscs", "cp1252", "iso8859-1", "ascii"}
)
"""Encodings in which the byte 0A is always a line feed, so that files can be cut at lines."""
_NO_CHARACTERS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
_INVALID = re.compile("[\udc01-\udcff]")  # marks by `_mark`; no decoder returns surrogates

Read = Callable[[], Iterable[bytes]]
"""A function that reads the bytes of a file, from the start with each call."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a file."""

    name: str
    """Python's name of the encoding."""
    n_invalid: int = 0
    """The number of the file's bytes that are invalid in the encoding."""


def check_encoding(name: str) -> str:
    """Return Python's name of a text encoding; raise ``UsageError`` for any other name."""
    try:
        return text_encoding(name)
    except LookupError as error:
        raise UsageError(
            f"--encoding {name}: unknown, or none of text. There are utf-8, gb18030, big5, "
            "windows-1252 …"
        ) from error


def text_encoding(name: str) -> str:
    """Return Python's name of a text encoding; raise ``LookupError`` for any other name.

    Others are unknown, turn bytes into bytes (base64), or are made for host names and source code
    (punycode, unicode-escape): these raise at invalid bytes, whatever error handler is set.
    """
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)  # raises for codecs that turn bytes into bytes
    except (UnicodeError, ValueError) as error:  # "undefined"; a NUL in the name
        raise LookupError(f"{name!r} is no encoding of text") from error
    if codec.name.replace("_", "-") in _NO_CHARACTERS or codec.incrementaldecoder is None:
        raise LookupError(f"{name!r} is no encoding of text")
    return codec.name


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Replace an invalid sequence by one character that holds the number of its bytes."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(0xDC00 + min(error.end - error.start, 0xFF)), error.end


codecs.register_error("onoma_mark", _mark)


def decode_marked(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Decode bytes; each invalid sequence becomes a mark, which ``count_marked`` reads."""
    return _decoded(chunks, name, errors="onoma_mark")


def count_marked(text: str) -> int:
    """Count the invalid bytes that the marks in a text stand for."""
    return sum(ord(mark) - 0xDC00 for mark in _INVALID.findall(text))


def _decoded(chunks: Iterable[bytes], name: str, *, errors: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(name)(errors)
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", True)  # noqa: FBT003 - codecs know no keywords


def first_invalid(read: Read, name: str) -> int | None:
    """Find the offset of the first invalid byte; None where all bytes are valid."""
    decoder = codecs.getincrementaldecoder(name)()
    n_before = 0
    chunks = iter(read())
    while True:
        chunk = next(chunks, b"")
        start = n_before - len(decoder.getstate()[0])  # with the bytes that the decoder holds
        try:
            decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            return start + error.start
        if not chunk:
            return None
        n_before += len(chunk)


def n_unfinished(read: Read, name: str) -> int:
    """Count the bytes of a character that is cut at the very end; 0 where others are invalid."""
    decoder = codecs.getincrementaldecoder(name)()
    try:
        for chunk in read():
            decoder.decode(chunk)
    except UnicodeDecodeError:
        return 0
    return len(decoder.getstate()[0])


def decode(
    chunks: Iterable[bytes], encoding: Encoding, counters: Counter[str], *, at_start: bool = True
) -> Iterator[str]:
    """Decode a file, or a part of it that does not begin ``at_start``.

    Counts a byte order mark, which is removed (``byte_order_marks``), invalid bytes
    (``bytes.invalid``), of which each sequence becomes U+FFFD, and each U+FFFD that was there
    before (``characters.replacement``).
    """
    errors = "onoma_mark" if encoding.n_invalid else "strict"
    for text in _decoded(chunks, encoding.name, errors=errors):
        if at_start and text:
            at_start = False
            if text[0] == "\ufeff":
                counters["byte_order_marks"] += 1
                text = text[1:]  # noqa: PLW2901
        if n := text.count(REPLACEMENT):
            counters["characters.replacement"] += n
        if encoding.n_invalid and (n := count_marked(text)):
            counters["bytes.invalid"] += n
            text = _INVALID.sub(REPLACEMENT, text)  # noqa: PLW2901
        yield text
