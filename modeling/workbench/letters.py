"""The files of an edition, which are read when needed, and read again after a change."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from corpora.document import Document, Mention
from corpora.errors import CorpusError
from corpora.tei.edition import Edition
from corpora.tei.include import which_are_included
from corpora.tei.places import CharacterPlaces
from corpora.tei.provenance import Model
from corpora.tei.writer import TeiFile
from modeling.workbench.names import DocumentNames

_KEPT = 8
"""The number of parsed files that are kept in memory."""


class Suggester(Protocol):
    """A source of suggestions."""

    model: Model

    def known(self, file: "FileTexts") -> list[Sequence[Mention]] | None:
        """Return the suggestions of each document of a file; None where ``find`` must be called."""

    def find(self, file: "FileTexts") -> list[Sequence[Mention]]:
        """Find the suggestions of each document of a file, which may take seconds."""


class FileTexts(NamedTuple):
    """A file for which suggestions are made: its name and its documents."""

    name: str
    documents: Sequence[Document]


@dataclass
class Letter:
    """A file of the edition, with its documents and their names once it was read."""

    number: int
    name: str
    path: Path
    title: str = ""
    error: str = ""
    """The reason for which the file cannot be read; empty if it can."""
    sha256: str = ""
    """The hash of the file as it was last read; empty if it was not read yet."""
    names: list[DocumentNames] = field(default_factory=list)
    """The names of each document that has text."""
    is_waiting: bool = True
    """Whether suggestions have not been found yet."""
    stamp: tuple[int, int] = (0, 0)

    @property
    def documents(self) -> list[Document]:
        """The documents of the file that have text."""
        return [names.document for names in self.names]


class Letters:
    """All files of an edition, by index; no input of a page is ever used as the name of a file."""

    def __init__(self, files: Mapping[str, Path], edition: Edition, suggester: Suggester) -> None:
        self.edition, self.suggester = edition, suggester
        self.all = [Letter(n, name, path) for n, (name, path) in enumerate(files.items())]
        self.included = which_are_included(files)
        """The names of the files that others include."""
        self._parsed: OrderedDict[int, TeiFile] = OrderedDict()
        self._lock = threading.RLock()

    def read(self, letter: Letter) -> bool:
        """Read a file if it is new or has changed; tell whether its decisions must be replayed.

        A file that cannot be read has an ``error`` afterwards.
        """
        try:
            stat = letter.path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if letter.sha256 and stamp == letter.stamp:
                return False
            data = letter.path.read_bytes()
        except OSError as error:
            letter.error = f"{letter.name}: cannot be read ({error.strerror})."
            letter.sha256 = ""  # it is read again when it is back
            return False
        digest = sha256(data).hexdigest()
        letter.stamp = stamp
        if digest == letter.sha256:
            return False
        letter.sha256, letter.error, letter.names = digest, "", []
        try:
            file = TeiFile.read(data, self.edition, name=letter.name)
        except CorpusError as error:
            letter.error, letter.is_waiting = str(error), False
            return False
        self._keep(letter.number, file)
        titles = [document.title for document in file.documents if document.title]
        letter.title = titles[0] if titles else letter.name
        known = self.suggester.known(FileTexts(letter.name, file.documents))
        self.suggest(letter, file.documents, known)
        return True

    @staticmethod
    def suggest(
        letter: Letter, documents: Sequence[Document], names: Sequence[Sequence[Mention]] | None
    ) -> None:
        """Make the items of a letter from suggestions; the caller must then replay the journal.

        Without suggestions (None), the letter waits for them.
        """
        letter.is_waiting = names is None
        given: Sequence[Sequence[Mention]] = names or [()] * len(documents)
        letter.names = [
            DocumentNames(document, mentions)
            for document, mentions in zip(documents, given, strict=True)
        ]

    def parsed(self, letter: Letter) -> TeiFile:
        """Return the parsed file of a letter; raises ``CorpusError`` if it has changed since."""
        with self._lock:
            file = self._parsed.get(letter.number)
            if file is None:
                data = letter.path.read_bytes()
                if sha256(data).hexdigest() != letter.sha256:
                    raise CorpusError(f"{letter.name}: was changed by somebody. Open it again.")
                file = TeiFile.read(data, self.edition, name=letter.name)
            self._keep(letter.number, file)
            return file

    def texts(self, letter: Letter) -> list[tuple[Document, CharacterPlaces]]:
        """Return the documents of a letter, each with the places of its characters in the file."""
        return [(text.document, at) for text, at in self.parsed(letter).texts if text.document]

    def _keep(self, number: int, file: TeiFile) -> None:
        with self._lock:
            self._parsed[number] = file
            self._parsed.move_to_end(number)
            while len(self._parsed) > _KEPT:
                self._parsed.popitem(last=False)
