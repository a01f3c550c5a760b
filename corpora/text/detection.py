"""Detect the encoding of a file by all of its bytes.

Files that begin as archives, PDFs and other files that are no text are rejected. Then the rule, in
this order:

1. A byte order mark: UTF-8, UTF-16 or UTF-32.
2. UTF-8 where every byte is valid, and at most ``MAX_CONTROL`` of them are control characters
   (much of what UTF-16 is made of is valid UTF-8, too: English with NULs, Russian with 04s).
3. UTF-8 where at least ``MIN_UTF8`` of the bytes beyond ASCII belong to valid sequences, or all
   but those of a last character that is cut.
4. UTF-16 (either order), GB18030, Big5 (as Windows has it, or with the characters of Hong Kong),
   where at most ``MAX_INVALID`` of the bytes are invalid, and at least ``MIN_EXPECTED`` of the
   characters beyond ASCII are expected. Expected are the Han characters that every Chinese text is
   made of (``characters.toml``) and Chinese punctuation, where they do not stand alone among ASCII;
   in UTF-16 alphabets and kana, too, and Hangul with spaces. The largest ratio wins.
5. Windows-1252, of which Latin-1 is a part. At most ``MAX_HIGH`` of the bytes are beyond ASCII, and
   at most ``1 - MIN_UTF8`` of these are valid UTF-8. At most ``MAX_CONTROL_LATIN`` of all bytes are
   control characters. Its letters do not stand in rows (``has_rows``).

A file that passes none of these is rejected: whoever knows its encoding names it.
"""

import codecs
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from corpora.reports import counted
from corpora.text.encodings import (
    Encoding,
    Read,
    count_marked,
    decode_marked,
    first_invalid,
    n_unfinished,
)
from corpora.text.opening import TextError

MAX_INVALID = 0.01
"""The highest fraction of invalid bytes in a file; a file with more is rejected."""
MAX_CONTROL = 0.1
MIN_UTF8 = 0.9
MIN_EXPECTED = 0.45
MAX_HIGH = 0.25
MAX_CONTROL_LATIN = 0.01
_MAX_IN_ROWS = 0.5
"""The highest ratio of the bytes C0 to FF, letters in Windows-1252, in rows of three bytes beyond
ASCII: in 154 articles in Latin letters it is at most 0.01, in 21 others at least 0.8."""
_MIN_IN_ROWS = 12
"""The fewest of these bytes in rows that show another script."""
_ROWS = re.compile(rb"[\x80-\xff]{3,}")
_NO_LETTERS = bytes(range(0xC0))
_MARKS = {  # UTF-32's first: it begins with UTF-16's
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_UNPACK = "Unpack it, and give the files in it."
_SAVE = "Save its text as a text file."
_HEAD = 512
_TAR = slice(257, 262)
_OTHER: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive", _UNPACK),
    (b"PK\x05\x06", "an empty zip archive", "Leave it out."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a rar archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", _UNPACK),
    (b"%PDF-", "a PDF", _SAVE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of an old Office (.doc, .xls)", _SAVE),
    (b"{\\rtf1", "a file of a word processor (RTF)", _SAVE),
    (b"PAR1\x15", "a Parquet table", "Write its texts as JSON Lines."),
    (b"ARROW1\0\0", "an Arrow table", "Write its texts as JSON Lines."),
    (b"SQLite format 3\0", "a database of SQLite", "Write its texts as JSON Lines."),
    (b"\x89PNG\r\n\x1a\n", "an image", "Leave it out."),
    (b"\xff\xd8\xff", "an image", "Leave it out."),
)
"""First bytes of files that are not text, what they are, and what to do."""
_OFFICE = (b"[Content_Types].xml", b"mimetypeapplication/", b"_rels/.rels", b"word/")
"""What the first file in the zip archives of Office, OpenDocument and EPUB is called."""
_UNMARKED = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}
_CANDIDATES = ("utf-16-le", "utf-16-be", "gb18030", "cp950", "big5hkscs")
_HIGH = bytes(range(0x80, 0x100))
_CONTROL = bytes({*range(0x20)} - {*b"\t\n\f\r\x1a"})
_BEYOND_ASCII = re.compile("[^\0-\x7f]+")
_RUNS = re.compile("[^\0-\x7f]{2,}")
_HAN_MARKS = "\u2014\u2018-\u201d\u2026\u3000-\u3002\u3008-\u3011\uff01-\uff5e"
_ALPHABETS = "\u00a0-\u0e7f\u1e00-\u1fff\u2010-\u2027\u2030-\u203a\u3041-\u30ff"
_HANGUL = "\uac00-\ud7a3"
"""Expected in UTF-16 with spaces only: what EUC-KR is read as UTF-16 is full of them."""


def detect(read: Read, *, name: str, named: str | None = None) -> Encoding:
    """Detect the encoding of the file ``name``, or check its bytes in the encoding ``named``.

    Reads the file once where it is valid UTF-8, or valid in the encoding that is marked or
    ``named``; up to nine times otherwise. Raises ``TextError`` for an archive, a PDF and other
    files that are not text; where no encoding fits, or more than ``MAX_INVALID`` of the bytes are
    invalid; and where UTF-8 is ``named`` and a mark says otherwise.
    """
    head = _head(read)
    _refuse_other(head, name=name)
    chosen = _chosen(named, _byte_order_mark(head), name=name)
    counts = _Counts()
    if first_invalid(lambda: counts.count(read()), chosen or "utf-8") is None and (
        chosen or not counts.has_control(MAX_CONTROL)
    ):
        return Encoding(chosen or "utf-8")
    counts = _Counts()
    for _ in counts.count(read()):
        pass
    if cut := _cut_utf8(read, counts, chosen=chosen):
        return cut
    found = _choose(read, counts, name=name) if chosen is None else _measure(read, chosen, counts)
    if found.n_invalid > MAX_INVALID * counts.n_bytes:
        position = f"byte {first_invalid(read, found.name)}"
        raise TextError(
            "invalid_bytes",
            f"{name}: {position}: the first that is invalid in {found.name}, of more than "
            f"{MAX_INVALID:.0%} of all. Name the right encoding with --encoding, or repair the "
            "file.",
            position=position,
        )
    return found


def _chosen(named: str | None, mark: str | None, *, name: str) -> str | None:
    """Return the encoding that is named or marked, with its order of bytes."""
    chosen = named or mark
    if chosen in _UNMARKED:
        chosen = mark if mark and mark.startswith(chosen[:5]) else _UNMARKED[chosen]
    if chosen == "utf-8" and mark not in (None, "utf-8"):
        raise TextError(
            "wrong_encoding",
            f"{name}: begins with the mark of {mark}, but --encoding is {named}. Leave --encoding "
            "out, or name the right one for each group of files.",
            position="byte 0",
        )
    return chosen


def _cut_utf8(read: Read, counts: "_Counts", *, chosen: str | None) -> Encoding | None:
    """Return UTF-8 if all bytes are valid but those of a last character that is cut; else None.

    Unless UTF-8 is ``chosen``, there must be other bytes beyond ASCII.
    """
    if chosen not in (None, "utf-8") or (chosen is None and counts.has_control(MAX_CONTROL)):
        return None
    n_cut = n_unfinished(read, "utf-8")
    is_likely = n_cut > 0 and (chosen is not None or counts.n_high > n_cut)
    return Encoding("utf-8", n_cut) if is_likely else None


def _head(read: Read) -> bytes:
    head = b""
    for chunk in read():
        head += chunk[:_HEAD]
        if len(head) >= _HEAD:
            break
    return head


def _byte_order_mark(head: bytes) -> str | None:
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


def _refuse_other(head: bytes, *, name: str) -> None:
    """Raise ``TextError`` for a file whose first bytes say that it is no text."""
    found = next((row[1:] for row in _OTHER if head.startswith(row[0])), None)
    if head[_TAR] == b"ustar":
        found = "a tar archive", _UNPACK
    elif found and head.startswith(b"PK") and head[30:].startswith(_OFFICE):
        found = "a file of a word processor, a table or a book (.docx, .odt, .xlsx, .epub)", _SAVE
    if found:
        what, advice = found
        raise TextError("other_format", f"{name}: is {what}, no text. {advice}", position="byte 0")


@dataclass(slots=True)
class _Counts:
    """Counts of the bytes of a file, by kind."""

    n_bytes: int = 0
    n_high: int = 0
    """Bytes beyond ASCII."""
    n_control: int = 0
    """Bytes that are control characters in ASCII."""

    def count(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Count the bytes of chunks, and pass the chunks on."""
        for chunk in chunks:
            self.n_bytes += len(chunk)
            self.n_high += len(chunk) - len(chunk.translate(None, _HIGH))
            self.n_control += len(chunk) - len(chunk.translate(None, _CONTROL))
            yield chunk

    def has_control(self, ratio: float) -> bool:
        return self.n_control > ratio * self.n_bytes

    def has_high(self, ratio: float) -> bool:
        return self.n_high > ratio * self.n_bytes


def _measure(read: Read, encoding: str, counts: _Counts) -> Encoding:
    """Count the bytes that are invalid in an encoding, until there are too many."""
    return Encoding(encoding, _count_invalid(read, encoding, enough=MAX_INVALID * counts.n_bytes))


def _count_invalid(read: Read, encoding: str, *, enough: float) -> int:
    """Count the invalid bytes, until there are more than ``enough``."""
    n_invalid = 0
    for text in decode_marked(read(), encoding):
        n_invalid += count_marked(text)
        if n_invalid > enough:
            break
    return n_invalid


def _choose(read: Read, counts: _Counts, *, name: str) -> Encoding:
    """Choose among all encodings, for a file that is not valid UTF-8, or looks binary."""
    may_be_latin = not (counts.has_control(MAX_CONTROL_LATIN) or counts.has_high(MAX_HIGH))
    enough = counts.n_high if may_be_latin else (1 - MIN_UTF8) * counts.n_high
    n_invalid = _count_invalid(read, "utf-8", enough=enough)
    is_utf8 = counts.n_high > 0 and n_invalid <= (1 - MIN_UTF8) * counts.n_high
    if is_utf8 and not counts.has_control(MAX_CONTROL):
        return Encoding("utf-8", n_invalid)
    judged = (_judge(read, candidate, counts) for candidate in _CANDIDATES)
    ratio, best = max(judged, key=lambda candidate: candidate[0])
    if ratio >= MIN_EXPECTED:
        return best
    if counts.has_control(MAX_CONTROL_LATIN):
        raise TextError(
            "not_text",
            f"{name}: {counted(counts.n_control, 'control character')}: no text, or in an encoding "
            "that is not detected. Leave it out with --exclude, or name it with --encoding.",
        )
    if not may_be_latin or n_invalid < MIN_UTF8 * counts.n_high or has_rows(read()):
        raise TextError(
            "unknown_encoding",
            f"{name}: in no encoding that is detected, or in several (byte "
            f"{first_invalid(read, 'utf-8')} is not UTF-8). Name it with --encoding, or save the "
            "file as UTF-8.",
        )
    return _measure(read, "cp1252", counts)


def has_rows(chunks: Iterable[bytes]) -> bool:
    """Tell whether bytes are in another script: as Windows-1252, their letters stand in rows."""
    n_letters = n_in_rows = 0
    for chunk in chunks:
        n_letters += len(chunk.translate(None, _NO_LETTERS))
        n_in_rows += len(b"".join(_ROWS.findall(chunk)).translate(None, _NO_LETTERS))
    return n_in_rows >= _MIN_IN_ROWS and n_in_rows > _MAX_IN_ROWS * n_letters


def _judge(read: Read, name: str, counts: _Counts) -> tuple[float, Encoding]:
    """Rate an encoding by the ratio of expected characters among those beyond ASCII.

    The ratio of invalid bytes is subtracted; the rating is 0 if there are too many.
    """
    n_invalid = n_beyond = n_expected = 0
    is_utf16 = name.startswith("utf-16")
    for text in decode_marked(read(), name):
        beyond = "".join(_BEYOND_ASCII.findall(text))
        n_beyond += len(beyond)
        n_invalid += count_marked(beyond)
        if n_invalid > MAX_INVALID * counts.n_bytes:
            return 0.0, Encoding(name, n_invalid)
        if not is_utf16:  # a single Han character among ASCII is taken for a coincidence
            beyond = "".join(_RUNS.findall(text))
        is_korean = is_utf16 and " " in text
        expected = _expected(_HANGUL if is_korean else "", is_utf16=is_utf16)
        n_expected += sum(map(len, expected.findall(beyond)))
    if not n_beyond:  # ASCII in UTF-16; in another encoding it would be valid UTF-8
        return float(is_utf16), Encoding(name, n_invalid)
    return n_expected / n_beyond - n_invalid / counts.n_bytes, Encoding(name, n_invalid)


@cache
def _expected(more: str, *, is_utf16: bool) -> re.Pattern[str]:
    table = tomllib.loads((files("corpora.text") / "characters.toml").read_text("utf-8"))
    han = "".join({*"".join(table.values())} - {"\n"})
    return re.compile(f"[{han}{_HAN_MARKS}{_ALPHABETS if is_utf16 else ''}{more}]+")
