"""What a reader of text files hands over: the parts of a document, before it is one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corpora.document import Rejected

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Record:
    """A document as it stands in a file."""

    text: str
    id: str
    """Unique in its file, or in its group where ``has_own_id``."""
    has_own_id: bool = False
    """Whether the file gives the id."""
    is_plain: bool = False
    """Whether it is plain text, of which nobody says where its paragraphs end."""
    title: str | None = None
    """A first line that is the same is a heading."""
    written_title: str | None = None
    """The title as it stands in the file, escaped."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """More columns of ``documents``: ``url``, ``timestamp`` …"""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where records come from, to say so."""

    source: str
    """Relative file name."""
    line: int = 1
    """The number of the line with which this part of the file begins."""
    max_characters: int = 50_000_000
    """Of a record; a longer one is rejected."""

    def reject(self, line: int, reason: str, *, what: str, excerpt: str = "") -> Rejected:
        """Say that a record cannot be used; ``line`` counts from 1 in this part of the file."""
        line += self.line - 1
        return Rejected(
            source=self.source,
            position=f"line {line}",
            reason=reason,
            message=f"{self.source}:{line}: {what}",
            excerpt=excerpt[:_EXCERPT],
        )

    def too_long(self, line: int) -> Rejected:
        """Say that the record that begins in this line is too long."""
        what = f"a document of more than {self.max_characters:,} characters (--max-characters)."
        return self.reject(line, "too_large", what=what)


class Lines:
    """The lines of a record that is being read; beyond ``max_characters`` none is kept."""

    def __init__(self, max_characters: int) -> None:
        self.max_characters = max_characters
        self.first = 0
        """The number of the first line; 0 while there is none."""
        self._lines: list[str] = []
        self._n_characters = -1  # no line feed before the first line

    def add(self, number: int, line: str | None) -> None:
        """Add a line; None is one that is too long by itself."""
        self.first = self.first or number
        self._n_characters += 1 + (self.max_characters + 1 if line is None else len(line))
        if self.is_too_long:
            self._lines.clear()
        elif line is not None:
            self._lines.append(line)

    @property
    def is_too_long(self) -> bool:
        """Whether there are more characters than may be."""
        return self._n_characters > self.max_characters

    @property
    def text(self) -> str:
        """The lines, with line feeds between."""
        return "\n".join(self._lines)
