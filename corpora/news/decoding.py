"""Decoding of the bytes of a page.

The encoding is the first of these that applies:

1. That of a byte order mark.
2. UTF-8, if all bytes are valid and some are beyond ASCII (no other encoding looks like it); also
   if all are ASCII, and no encoding is named that uses ASCII otherwise (ISO-2022, UTF-7). It is
   UTF-16 instead if too many of every second byte are NUL.
3. The one that the HTTP header, or else the page (``meta``, XML declaration) names, if at most
   ``MAX_INVALID`` of the bytes are invalid in it. Many servers name Windows-1252 for every page, so
   it must fit: its letters do not stand in rows. If the page names another encoding of Latin
   letters, the page is right.
4. The one that the bytes show: if letters stand in rows, charset-normalizer's choice among
   encodings of other scripts; else that of ``corpora/text/detection.py``.

Names mean what they mean to browsers: ``iso-8859-1`` is Windows-1252, ``gb2312`` is GB18030.
"""

import codecs
import re
from dataclasses import dataclass

from corpora.text.detection import detect, has_rows
from corpora.text.encodings import text_encoding

MAX_INVALID = 0.001
"""The highest ratio of invalid bytes at which a named encoding is accepted."""
_LOOKED_AT = 4096
_READ = 1 << 16
"""The bytes of a text that are given to charset-normalizer."""
_SCRIPT = re.compile(rb"<(/?)(?:script|style)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]*>")
_OTHER_SCRIPTS = (
    *("gb18030", "big5hkscs", "cp932", "euc_jp", "euc_kr"),
    *("cp1251", "koi8_u", "iso8859_5", "cp1253", "cp1255", "cp1256", "cp874"),
)
_MAX_MESS = 0.4
"""The highest ratio of odd characters that charset-normalizer may see in an encoding."""
_BEYOND_LATIN = re.compile(r"[^\W\d_\x00-\u024f]")
_MIN_NULS, _TIMES = 0.05, 10
"""The least ratio of bytes of UTF-16 that are NUL (in Russian, those of tags and spaces), and how
many times as many these are in one half of all pairs of bytes as in the other."""
_ALIASES = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "johab": "cp949",
    "utf-16": "utf-16-le",
}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_META = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE
)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{2,40})["']""")
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A page as text."""

    text: str
    encoding: str
    """Python's name of the encoding."""
    decided_by: str
    """The rule that applied: ``mark``, ``utf-8``, ``header``, ``page`` or ``content``."""
    is_lie: bool
    """Whether the header, or else the page, names another encoding; False for ASCII."""
    n_invalid: int
    """The number of invalid byte sequences, each now a U+FFFD; those of the page do not count."""


def decode(data: bytes, *, content_type: str | None, name: str) -> Decoded:
    """Decode a page; raise ``TextError`` where the bytes are not text in any known encoding.

    Control characters become spaces: they would end the page for its parser.
    """
    named = _named(data, content_type)
    first = next(iter(named.values()), "utf-8")
    text, encoding, decided_by = _decode(data, named, name=name)
    mark = "\ufffd".encode(encoding, "ignore")
    n_invalid = text.count("\ufffd") - (data.count(mark) if mark else 0)
    is_lie = bool(named) and encoding != first and not data.isascii()
    return Decoded(_CONTROL.sub(" ", text), encoding, decided_by, is_lie, n_invalid)


def _named(data: bytes, content_type: str | None) -> dict[str, str]:
    """Map ``header`` and ``page`` to the encoding that each names, if that encoding is known."""
    head = data[:_LOOKED_AT]
    header = _HEADER.search(content_type or "")
    page = _META.search(head) or _XML.search(head)
    names = {"header": header and header[1], "page": page and page[1].decode("ascii")}
    return {who: known for who, name in names.items() if name and (known := _known(name))}


def _known(name: str) -> str | None:
    """Return the encoding that browsers use for a name; None for an unknown name."""
    try:
        known = text_encoding(name)
    except LookupError:
        return None
    return _ALIASES.get(known, known)


def _decode(data: bytes, named: dict[str, str], *, name: str) -> tuple[str, str, str]:
    """Return the text, its encoding, and what decided the encoding."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding, "mark"
    if data.isascii() and (wide := _utf16_of(data)):
        who = next((who for who, encoding in named.items() if encoding == wide), "content")
        return data.decode(wide, "replace"), wide, who
    if data.isascii() and not any(e.startswith(("iso2022", "utf-7")) for e in named.values()):
        return data.decode("ascii"), "utf-8", "utf-8"
    try:
        if not data.isascii():
            return data.decode("utf-8"), "utf-8", "utf-8"
    except UnicodeDecodeError:
        pass
    for who, encoding in _believed(named, data).items():
        text = data.decode(encoding, "replace")
        if _is_valid(text, len(data)):
            return text, encoding, who
    visible = _visible(data)
    found = _of_other_script(visible) or detect(lambda: [visible], name=name).name
    return data.decode(found, "replace"), found, "content"


def _is_valid(text: str, n_bytes: int) -> bool:
    return text.count("\ufffd") <= MAX_INVALID * n_bytes and "\x00" not in text


def _believed(named: dict[str, str], data: bytes) -> dict[str, str]:
    """Return the names that the bytes do not contradict, the likelier one first."""
    if "cp1252" not in named.values():
        return named
    if has_rows([_visible(data)]):
        return {who: encoding for who, encoding in named.items() if encoding != "cp1252"}
    page = named.get("page", "cp1252")
    text = data.decode(page, "replace") if page != "cp1252" else ""
    is_latin = text and _is_valid(text, len(data)) and not _BEYOND_LATIN.search(text)
    return {"page": page} | named if is_latin else named


def _visible(data: bytes) -> bytes:
    """Return the text of a page without tags, scripts and styles."""
    first, *parts = _SCRIPT.split(data)
    behind = (text for slash, text in zip(parts[::2], parts[1::2], strict=True) if slash)
    return _TAG.sub(b" ", b" ".join([first, *behind]))


def _of_other_script(text: bytes) -> str | None:
    """Return the encoding in which a text is in a language of another script; None for no such."""
    if not has_rows([text]):
        return None
    from charset_normalizer import from_bytes

    text = text[:_READ].rpartition(b" ")[0] or text  # not cut inside a character
    best = from_bytes(text, cp_isolation=list(_OTHER_SCRIPTS), threshold=_MAX_MESS).best()
    is_language = best and (best.coherence or best.multi_byte_usage)  # it knows none of the latter
    return _known(best.encoding) if best and is_language else None


def _utf16_of(data: bytes) -> str | None:
    """Return the UTF-16 whose tags, of ASCII, have the NULs of these bytes; None for no UTF-16."""
    n_first, n_second = data[0::2].count(0), data[1::2].count(0)
    least = _MIN_NULS * len(data)
    if n_second >= least and n_second > _TIMES * n_first:
        return "utf-16-le"
    return "utf-16-be" if n_first >= least and n_first > _TIMES * n_second else None
