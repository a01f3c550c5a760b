"""NER files: their layouts, the places where large ones may be cut, and their sentences."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.ner.detection import HEAD_BYTES, Overrides, check_options, detect_layout
from corpora.ner.found import Origin, PartSentences
from corpora.ner.layout import FileLayout
from corpora.system.parsing import JsonObject
from corpora.text.opening import TextError, archive_kind, read_chunks

RANGE_BYTES = 8 << 20
MAX_BYTES = 4_000_000_000
"""The most bytes of a file that is read whole: an Arrow column holds 2 GB, and a file has more than
one column."""
_PARQUET = b"PAR1"
_EMPTY_LINE = re.compile(rb"\n[ \t\r]*\n")
_DOCUMENT = re.compile(
    rb"^(?:-DOCSTART-(?=\s)|<title>[ \t]*(.*\S)"
    rb"|#\s*(?:newdoc id|[\w.-]+:document_id)\s*=\s*(.*\S))",
    re.MULTILINE,
)
"""A line that names a document, or begins one."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, or all of it."""

    start: int = 0
    """``start`` and ``end`` are in bytes; an ``end`` of None is that of the file."""
    end: int | None = None
    line: int = 1
    """The number of the first line in the file, from 1."""
    document: str = ""
    """The document of the first sentence if an earlier part named it; else empty."""


def describe(
    path: Path, *, name: str, overrides: Overrides, encoding: str | None = None
) -> FileLayout:
    """Detect the layout of a file; raises ``UsageError`` if it is unclear."""
    with path.open("rb") as file:
        is_parquet = file.read(4) == _PARQUET
    if is_parquet:
        from corpora.ner.parquet import parquet_layout

        return replace(parquet_layout(path, name=name), scheme=overrides.scheme or "iob2")
    if overrides.format == "docbin" or (overrides.format is None and name.endswith(".spacy")):
        layout = FileLayout(format="docbin", key=overrides.tag_column or "")
        check_options(layout, overrides, name=name)
        return layout
    if overrides.format == "parquet":
        raise UsageError(f"{name}: is no Parquet file. Name another --format, or none.")
    try:
        head, encoding = _head(path, name=name, encoding=encoding)
    except TextError as error:
        raise UsageError(f"{error}") from error
    return replace(detect_layout(head, name=name, overrides=overrides), encoding=encoding)


def _head(path: Path, *, name: str, encoding: str | None) -> tuple[str, str]:
    """Return the first whole lines of a file, and its encoding."""
    raw = bytearray()
    for chunk in read_chunks(path, name=name, max_bytes=MAX_BYTES):
        raw += chunk
        if len(raw) >= HEAD_BYTES:
            break
    encoding = encoding or _encoding(bytes(raw), path, name=name)
    text = bytes(raw).decode(encoding, "replace")
    if len(raw) >= HEAD_BYTES and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    return text, encoding


def _encoding(head: bytes, path: Path, *, name: str) -> str:
    """Return the encoding of a file: UTF-8, unless much of its beginning is invalid in it.

    Then the encoding is detected from all bytes of the file.
    """
    from corpora.text.detection import detect

    has_mark = head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    n_high = len(head) - len(head.translate(None, bytes(range(0x80, 0x100))))
    n_replaced = head.decode("utf-8", "replace").count("\ufffd") - head.count(b"\xef\xbf\xbd")
    if not has_mark and n_replaced <= max(2, n_high // 10):
        return "utf-8"
    return detect(lambda: read_chunks(path, name=name, max_bytes=MAX_BYTES), name=name).name


def parts(path: Path, layout: FileLayout, *, name: str) -> Iterator[JsonObject]:
    """Split a large file at empty lines; yields one empty part for a file that stays whole."""
    is_small = path.stat().st_size <= RANGE_BYTES
    if is_small or not layout.kind.is_cut or layout.encoding != "utf-8" or archive_kind(path):
        yield {}
        return
    start, line, document = 0, 1, ""
    with path.open("rb") as file:
        while part := _next_part(file):
            yield asdict(FilePart(start, start + len(part), line, document))
            if marks := [*_DOCUMENT.finditer(part)]:
                named = marks[-1][1] or marks[-1][2] or b""
                number = line + part.count(b"\n", 0, marks[-1].start())
                document = named.decode("utf-8", "replace") or f"{name}:{number}"
            line += part.count(b"\n")
            start += len(part)


def _next_part(file: IO[bytes]) -> bytes:
    """Read to the end of the first empty line after ``RANGE_BYTES``."""
    begin = file.tell()
    part = bytearray(file.read(RANGE_BYTES))
    looked_at = max(len(part) - 1, 0)
    while more := file.read(1 << 16):
        part += more
        if border := _EMPTY_LINE.search(part, looked_at):
            del part[border.end() :]
            file.seek(begin + len(part))
            break
        looked_at = max(part.rfind(b"\n"), looked_at)
    return bytes(part)


def read_file(
    path: Path, layout: FileLayout, *, name: str, part: FilePart, text: Path | None = None
) -> Iterator[tuple[PartSentences | Rejected, Origin]]:
    """Read a file, or a part of it; one that cannot be read at all is rejected.

    ``text`` is the file with the text of a file in the format ``brat``.
    """
    origin = Origin(name, "sentence" if layout.kind.id_mark == "#" else "line", part.line)
    if layout.format == "parquet":
        from corpora.ner.parquet import read_parquet

        for sentences in read_parquet(path, layout, origin):
            yield sentences, origin
        return
    data = _data(path, layout, name=name, part=part)
    if isinstance(data, Rejected):
        yield data, origin
        return
    if text is not None:
        from corpora.ner.brat import text_name
        from corpora.ner.texts import read_brat

        content = _data(text, layout, name=text_name(name), part=FilePart())
        if isinstance(content, Rejected):
            yield content, origin
        else:
            yield (
                read_brat(data.decode(), content.decode(), lang=layout.lang, origin=origin),
                origin,
            )
        return
    from corpora.ner.readers import read_text

    sentences = read_text(data, layout, origin)
    if part.document:
        documents = sentences.documents or [None] * len(sentences)
        sentences = replace(sentences, documents=[named or part.document for named in documents])
    yield sentences, origin


def _data(path: Path, layout: FileLayout, *, name: str, part: FilePart) -> bytes | Rejected:
    """Read the bytes of a file, or of a part of it, in UTF-8."""
    span = None if part.end is None else (part.start, part.end)
    try:
        data = b"".join(read_chunks(path, name=name, max_bytes=MAX_BYTES, span=span))
        if layout.encoding not in {"utf-8", "ascii"} or layout.format == "brat":
            data = data.decode(layout.encoding).encode()
    except TextError as error:
        return Rejected(source=name, position="", reason=error.reason, message=str(error))
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is not {layout.encoding}. Name the right one with --encoding."
        message = f"{name}: {what}"
        return Rejected(source=name, position="", reason="invalid_bytes", message=message)
    return data
