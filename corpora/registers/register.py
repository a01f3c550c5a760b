"""The registers of an edition as one: entries by id, found by what a mention refers to."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corpora.errors import CorpusError, UsageError
from corpora.registers.entry import Entry, merge, to_json
from corpora.registers.identifiers import read_id
from corpora.registers.reader import read_register
from corpora.runs.plan import find_inputs
from corpora.system.parsing import parse_json, typed
from corpora.tei.edition import SUFFIXES, Edition
from corpora.tei.pointers import with_space

MAX_BYTES = 500_000_000
"""The most bytes of a register's file."""
_BEFORE_ID = re.compile(r".*[#:/]")


@dataclass(frozen=True, slots=True)
class Register:
    """All entries, in the order in which they were read; each id once."""

    entries: Mapping[str, Entry]
    """The entries by id."""
    counters: Counter[str]
    """The number of elements left out, and of contradictions, by kind."""
    _by_other_id: Mapping[str, str] = field(repr=False)
    """The id of the entry by an id in another scheme, unless several entries have that one."""

    def find(self, reference: str) -> Entry | None:
        """Find the entry of a reference: ``#P.1``, ``sturm:P.1``, ``a.xml#P.1``, an address.

        An id in another scheme (``gnd:118750933``) finds the only entry that has it.
        """
        if entry := self.entries.get(reference.removeprefix("#")):
            return entry
        elsewhere = self._by_other_id.get(reference)
        if elsewhere is None and (id := read_id(reference)):
            elsewhere = self._by_other_id.get(str(id))
        if elsewhere is not None:
            return self.entries[elsewhere]
        return self.entries.get(_BEFORE_ID.sub("", reference.rstrip("/")))

    def read_by(self, edition: Edition) -> "Register":
        """Return a register that also finds its entries by what the edition reads from references.

        With the space ``"#pmb" = "pmb"``, ``pmb:50`` is the entry with the id ``pmb50``; with
        ``"https://pmb.example/" = "pmb"``, that with the ``idno`` ``https://pmb.example/50``.
        """
        addresses = (
            (with_space(id.id, edition), entry.id)
            for entry in self.entries.values()
            for id in entry.ids
            if "/" in id.id
        )
        by_own_id = {with_space(f"#{id}", edition): id for id in self.entries}
        return replace(self, _by_other_id={**self._by_other_id, **_unique(addresses), **by_own_id})


def make_register(entries: Iterable[Entry], counters: Counter[str] | None = None) -> Register:
    """Merge entries with one id, and index them.

    An id with entries of several kinds, or without a form in common, is counted; the first kind
    and name stay.
    """
    by_id: dict[str, Entry] = {}
    counters = Counter(counters or {})
    for entry in entries:
        if (known := by_id.get(entry.id)) is None:
            by_id[entry.id] = entry
            continue
        if known.kind != entry.kind:
            counters[f"one id, two kinds: {known.kind} and {entry.kind}"] += 1
        elif not {*known.texts()} & {*entry.texts()}:
            counters["one id, no form in common"] += 1
        by_id[entry.id] = merge(known, entry)
    others = [(str(id), entry.id) for entry in by_id.values() for id in entry.ids]
    unique = _unique(others)
    counters["ids elsewhere that several entries have"] = len(dict(others)) - len(unique)
    return Register(by_id, +counters, unique)


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the entry of each id that only one entry has."""
    entries: dict[str, str | None] = {}
    for id, entry in pairs:
        entries[id] = entry if entries.get(id, entry) == entry else None
    return {id: entry for id, entry in entries.items() if entry is not None}


def read_registers(files: Iterable[tuple[str, bytes]]) -> Register:
    """Read files, given as (name, bytes); the name is the entries' source; ``CorpusError``."""
    entries: list[Entry] = []
    counters: Counter[str] = Counter()
    names: list[str] = []
    for name, data in files:
        found = read_register(data, name=name)
        entries += found.entries
        counters += found.counters
        names.append(name)
    if not entries:
        raise CorpusError(
            f"{', '.join(names[:5])}: no entry of a register was found. Entries are person, place, "
            "org, bibl, event or item with an xml:id and a name, in listPerson, listPlace, …"
        )
    return make_register(entries, counters)


def open_registers(patterns: Sequence[str]) -> Register:
    """Read the files that match patterns (``register/*.xml``); raises ``CorpusError``."""
    found = find_inputs(patterns, suffix=SUFFIXES, option="register")
    for name, path in found.items():
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{name}: over the bound of {MAX_BYTES / 1e6:g} MB. Split it.")
    return read_registers((name, path.read_bytes()) for name, path in found.items())


def write_register(register: Register) -> Iterator[str]:
    """Yield the entries as lines of JSON, which ``load_register`` reads."""
    for entry in register.entries.values():
        yield json.dumps(to_json(entry), ensure_ascii=False) + "\n"


def load_register(path: Path) -> Register:
    """Read the lines of ``write_register``; raises ``CorpusError`` with file and line."""
    entries: list[Entry] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                entries.append(typed(Entry, parse_json(line)))
            except CorpusError as error:
                message = f"{path}:{number}: {error}. Run onoma tei again."
                raise CorpusError(message) from error
    return make_register(entries)
