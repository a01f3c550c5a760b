"""The lines of the file in which a document's text stands, kept in its metadata under ``lines``."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace

from corpora.tei.edition import Edition
from corpora.tei.places import CharacterPlaces, read_source
from corpora.tei.reader import TeiText
from corpora.tei.source import Source

KEY = "lines"
_END = re.compile(r"\r\n?|\n")


def write_lines(places: CharacterPlaces) -> str:
    """Write ``OFFSET:LINE`` for each character that is in another line than the one before it."""
    ends = [match.end() for match in _END.finditer(places.source.text)]
    written: list[str] = []
    last = 0
    for offset in range(len(places)):
        place = places[offset]
        if place is None:
            continue
        line = bisect_right(ends, place.start) + 1
        if line != last:
            written.append(f"{offset}:{line}")
            last = line
    return " ".join(written)


def read_with_lines(data: bytes, edition: Edition, *, name: str) -> list[TeiText]:
    """Read a TEI file as ``read_tei`` does, with the lines of the text in the metadata."""
    texts: list[TeiText] = []
    for text, places in read_source(Source(data, name=name), edition):
        document = text.document
        if document is not None:
            metadata = {**document.metadata, KEY: write_lines(places)}
            document = replace(document, metadata=metadata)
        texts.append(replace(text, document=document))
    return texts


class TextLines:
    """The lines of a document's text; false if they are unknown."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        pairs = [pair.partition(":") for pair in metadata.get(KEY, "").split()]
        numbers = [(int(a), int(b)) for a, _, b in pairs if a.isdigit() and b.isdigit()]
        self._offsets = [offset for offset, _ in numbers]
        self._lines = [line for _, line in numbers]

    def __bool__(self) -> bool:
        return bool(self._offsets)

    def at(self, offset: int) -> int | None:
        """Return the line of a character; None if it is unknown."""
        found = bisect_right(self._offsets, offset) - 1
        return self._lines[found] if found >= 0 else None
