"""Rows of ``documents`` from records: cleaned, with paragraphs, sentences and ids."""

from collections import Counter
from dataclasses import dataclass, field

from corpora.datasets.columns import DocumentColumns
from corpora.segmentation.sentences import segmenter
from corpora.text.characters import Normalization, clean, normalize
from corpora.text.paragraphs import (
    LINE,
    find_blocks,
    find_sentences,
    first_line,
    sign_of_paragraphs,
)
from corpora.text.records import TextRecord


@dataclass(slots=True, kw_only=True)
class DocumentMaker:
    """A maker of rows of ``documents`` from records; counts what it changes."""

    lang: str | None = None
    """The language of records that name none."""
    license: str | None = None
    """The licence of records that name none."""
    paragraphs: str = "auto"
    """``line``: each line is a paragraph; ``blank``: blank lines separate paragraphs; ``indent``:
    so do lines that are set in; ``auto``: ``blank`` or ``indent`` for plain text that is
    hard-wrapped, else ``line``."""
    normalization: Normalization = "none"
    """The normalization of text and title."""
    documents: DocumentColumns = field(default_factory=DocumentColumns)
    counters: Counter[str] = field(default_factory=Counter)

    def add(self, record: TextRecord, *, source: str, group: str) -> str:
        """Add the row of a record; return why the record is left out, empty if it is kept.

        Counts ``documents.line|blank|indent`` by how the paragraphs were found, and ``characters``,
        ``paragraphs`` and ``sentences``.
        """
        written = clean(record.text, self.counters)
        text = normalize(written, self.normalization, self.counters)
        if not text.strip():
            return "empty"
        scalars = self._scalars(record, group=group) | {"source": source, "text": text}
        heading = self._heading(text, record, title=scalars["title"])
        # Sentences are cut before normalization, since ``；`` ends one and its NFKC form does not.
        # The offsets are the same.
        blocks = self._blocks(written, record, heading)
        sentences = find_sentences(
            segmenter(scalars["lang"]), written, blocks, has_heading=heading is not None
        )
        self.documents.add(
            scalars,
            blocks=[(*block, "head" if block == heading else "p") for block in blocks],
            sentences=sentences,
            links=(),
            metadata=self._metadata(record),
        )
        self.counters["characters"] += len(text)
        self.counters["paragraphs"] += len(blocks)
        self.counters["sentences"] += len(sentences)
        return ""

    def _scalars(self, record: TextRecord, *, group: str) -> dict[str, str | None]:
        """Return the columns that are strings, except text and source."""
        scalars = {name: self._value(value) for name, value in record.columns.items()}
        group = scalars.get("group") or group
        id = self._value(record.id)
        return scalars | {
            "id": f"{group}:{id}" if record.has_own_id else id,
            "group": group,
            "lang": scalars.get("lang") or self.lang,
            "title": self._title(record.title),
            "license": scalars.get("license") or self.license,
        }

    def _heading(
        self, text: str, record: TextRecord, *, title: str | None
    ) -> tuple[int, int] | None:
        """Find the first line, if it is the title, normalized or as it stands in the file."""
        start, end = first_line(text)
        titles = {title, self._title(record.written_title)} - {None}
        return (start, end) if " ".join(text[start:end].split()) in titles else None

    def _blocks(
        self, text: str, record: TextRecord, heading: tuple[int, int] | None
    ) -> list[tuple[int, int]]:
        """Find the paragraphs; a heading is a paragraph of its own."""
        how = self.paragraphs
        if how == "auto":
            how = sign_of_paragraphs(text) if record.is_plain else LINE
        self.counters[f"documents.{how}"] += 1
        if heading is None:
            return find_blocks(text, how)
        return [heading, *find_blocks(text, how, start=heading[1])]

    def _title(self, title: str | None) -> str | None:
        """Clean a title, and normalize it like the text."""
        value = self._value(title)
        return value and normalize(value, self.normalization, Counter())

    def _value(self, value: str | None) -> str | None:
        """Clean a value, its white space too; None if nothing is left."""
        return None if value is None else " ".join(clean(value, self.counters).split()) or None

    def _metadata(self, record: TextRecord) -> dict[str, str]:
        counters = self.counters
        return {clean(key, counters): clean(v, counters) for key, v in record.metadata.items()}
