"""The journal of all decisions on an edition, and the workbench's actions among them.

``corpora/tei/decisions.py`` reads and writes its file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from corpora.errors import CorpusError
from corpora.tei.decisions import Decision, append_decisions, read_decisions


@dataclass
class Action:
    """The decisions that one action made at once, by their indexes in the journal."""

    id: str
    indexes: list[int] = field(default_factory=list)


class Journal:
    """An append-only file of decisions, and the actions that can be undone and redone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Decision] = []
        self.unreadable: tuple[str, ...] = ()
        self.undoable: list[Action] = []
        self.redoable: list[Action] = []
        self._by_file: dict[str, list[int]] = {}
        self._size = -1
        self.refresh()

    def refresh(self) -> bool:
        """Read the decisions that others have appended; tell whether there are any."""
        if self._size_now() == self._size:
            return False
        size = self._size_now()
        decisions = read_decisions(self.path)
        known = len(self.entries)
        for entry in decisions.entries[known:]:
            self._add(entry)
        self.unreadable, self._size = decisions.unreadable, size
        return len(self.entries) > known

    def _size_now(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def of_file(self, file: str) -> Iterator[tuple[int, Decision]]:
        """Yield the decisions on a file, each with its index in the journal: (index, decision).

        Decisions on files of the same name in other folders are included.
        """
        for index in self._by_file.get(PurePosixPath(file).name, ()):
            yield index, self.entries[index]

    def append(self, decisions: Sequence[Decision]) -> list[int]:
        """Write decisions to the file; return their indexes; raises ``CorpusError`` on failure."""
        if not decisions:
            return []
        known = len(self.entries)
        try:
            before = append_decisions(self.path, decisions)
        except OSError as error:
            raise CorpusError(
                f"{self.path}: the decision could not be written ({error.strerror}). Nothing was "
                "decided. Make room, or make the file writable, and decide again."
            ) from error
        ours = list(decisions)
        if before == self._size:
            self._size = self._size_now()
            for decision in ours:
                self._add(decision)
            return list(range(known, len(self.entries)))
        self.refresh()  # others have appended, too; the lines of one call stay adjacent
        places = range(known, len(self.entries))
        first = next(i for i in places if self.entries[i : i + len(ours)] == ours)
        return list(range(first, first + len(ours)))

    def _add(self, entry: Decision) -> None:
        index = len(self.entries)
        self.entries.append(entry)
        self._by_file.setdefault(PurePosixPath(entry.file).name, []).append(index)
        kind, _, id = entry.action.rpartition(" ")
        if not id:
            return
        taken, given = {"undo": (self.undoable, self.redoable)}.get(
            kind, (self.redoable, self.undoable)
        )
        if given and given[-1].id == id:  # a further decision of the same action
            if not kind:
                given[-1].indexes.append(index)
            return
        if kind:
            found = next((n for n, action in enumerate(taken) if action.id == id), None)
            if found is not None:
                given.append(taken.pop(found))
            return
        self.undoable.append(Action(id, [index]))
        self.redoable.clear()
