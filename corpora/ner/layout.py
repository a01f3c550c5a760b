"""The layout of a NER file: detected once from its beginning, or named by the user."""

from dataclasses import dataclass

from corpora.ner.formats import FORMATS, Format

OUTSIDE = ("O", "0")
"""What stands for no name in the format ``labels``: the letter, or a zero."""
TAB, SPACE, BLANKS = "\t", " ", ""
"""The separators of columns; ``BLANKS`` are any number of spaces and tabs."""

USUAL = "B-PER"
"""How tags are written: a letter, and a label."""
LABELS = "PER"
"""How tags are written without letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """All that a reader must know about a file."""

    format: str
    scheme: str = "iob2"
    encoding: str = "utf-8"
    separator: str = TAB
    n_columns: int = 2
    token: int = 0
    """The column of the token, from 0."""
    tag: int = 1
    inner: int | None = None
    """The column of the second level of tags; None: there is none."""
    misc: int | None = None
    """The column that may hold ``EndOfSentence``; None: there is none."""
    sentence: int | None = None
    """The column that numbers the sentences, in CSV; None: there is none."""
    spelling: str = USUAL
    """How tags are written: ``B-PER``, ``PER-B``, ``B`` without labels, or ``PER`` alone."""
    key: str = ""
    """The key before each tag in its column, as ``name`` in ``name=B-PER|SpaceAfter=No``, or the
    type or set of names in a tool's file; empty: none."""
    prefix: str = ""
    """The prefix of each token, which is not part of it; empty: none."""
    has_digits: bool = False
    """Whether each token is followed by a digit that is not part of it."""
    is_numbered: bool = False
    """Whether the first column counts the tokens; then every line with ``#`` is a comment."""
    has_comments: bool = False
    marks: str = "#"
    """The characters with which comments begin."""
    lang: str | None = None
    """The language of a text that is cut into tokens here, as a BCP 47 tag; None: unknown."""

    @property
    def kind(self) -> Format:
        """The record of the file's format."""
        return FORMATS[self.format]
