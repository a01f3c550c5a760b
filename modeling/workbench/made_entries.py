"""Entries of the register that people made at the desk, in a file beside the journal.

An entry holds while the action that made it, with the link to it, is not undone.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.errors import CorpusError
from corpora.registers.new_entries import NewEntry, with_entries
from corpora.system.cells import one_line
from corpora.system.parsing import parse_json

SUFFIX = ".entries.jsonl"


@dataclass(frozen=True, slots=True)
class MadeEntry:
    """An entry, and the action that made it."""

    entry: NewEntry
    action: str
    reviewer: str
    time: str


class MadeEntries:
    """The file of all entries that people made, undone ones, too; ``registers`` are the files."""

    def __init__(self, path: Path, registers: Mapping[str, Path]) -> None:
        self.path, self.registers = path, registers
        self.all: list[MadeEntry] = []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                row = parse_json(line)
                self.all.append(MadeEntry(NewEntry(**row.pop("entry")), **row))
            except (ValueError, TypeError, KeyError, AttributeError, CorpusError):
                continue  # a line that was cut: its action has no decision either

    def append(self, record: MadeEntry) -> None:
        """Write an entry to the file; raises ``CorpusError`` on failure."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
        except OSError as error:
            raise CorpusError(f"{self.path}: could not be written ({error.strerror}).") from error
        self.all.append(record)

    def holding(self, actions: Collection[str]) -> list[NewEntry]:
        """List the entries whose action is one of these."""
        return [record.entry for record in self.all if record.action in actions]

    def files(self, entries: Iterable[NewEntry]) -> Iterator[tuple[str, bytes]]:
        """Yield the registers, by name, and the list of the entries that none of them can hold.

        A register without a new entry is yielded as it is.
        """
        rest = [*entries]
        for name, path in self.registers.items():
            data, rest = with_entries(path.read_bytes(), rest, name=name)
            yield name, data
        if rest:
            rows = [asdict(rest[0]), *(asdict(entry).values() for entry in rest)]
            lines = ("\t".join(map(one_line, row)) for row in rows)
            yield "new-entries.tsv", "".join(f"{line}\n" for line in lines).encode()
