"""Entries of a register: search for those that a name may mean, and those that people made."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.errors import CorpusError
from corpora.registers.entry import Date, Entry, kind_of_label
from corpora.registers.new_entries import NewEntry, with_entries
from corpora.registers.register import Register
from corpora.system.cells import one_line
from corpora.system.parsing import parse_json, typed
from modeling.workbench.messages import EntityCandidate, RegisterEntry

SUFFIX = ".entries.jsonl"


@dataclass(frozen=True, slots=True)
class MadeEntry:
    """An entry, and the action that made it."""

    entry: NewEntry
    action: str
    reviewer: str
    time: str


class MadeEntries:
    """The file of all entries that people made, undone ones, too; ``registers`` are the files.

    An entry holds while the action that made it, with the link to it, is not undone.
    """

    def __init__(self, path: Path, registers: Mapping[str, Path]) -> None:
        self.path, self.registers = path, registers
        self.all: list[MadeEntry] = []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                self.all.append(typed(MadeEntry, parse_json(line)))
            except CorpusError:
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


_WORDS = re.compile(r"\w+")
_SHOWN = 12
_WEIGHTS = {"canonical": 0.03, "full": 0.03, "surname": 0.02}
"""What is added to the fit of a form of each kind, to rank it above others that fit as well."""


class EditionEntries:
    """The entries of a register, as an edition refers to them."""

    def __init__(self, register: Register, *, space: str) -> None:
        self.register, self.space, self.name = register, space, "register"
        self.new: dict[str, Entry] = {}
        """The entries that people made, by id."""
        self._known = list(map(_with_forms, register.entries.values()))

    @property
    def _forms(self) -> list[tuple[Entry, list[tuple[str, float]]]]:
        return [*self._known, *map(_with_forms, self.new.values())]

    def find(self, words: str, *, label: str) -> list[EntityCandidate]:
        """List entries whose forms have these words, or begin with them, the best first."""
        wanted = words.casefold().strip()
        kind = kind_of_label(label)
        entries = [
            (fit, entry)
            for entry, forms in self._forms
            if (fit := _fit(wanted, entry, forms) - (0.3 if kind not in {None, entry.kind} else 0))
            > 0.3
        ]
        entries.sort(key=lambda pair: (-pair[0], pair[1].name, pair[1].id))
        return [self._show(entry) for _, entry in entries[:_SHOWN]]

    def all(self) -> list[RegisterEntry]:
        """List all entries, with the words of their forms."""
        return [
            {
                **self._show(entry),
                "kind": entry.kind,
                "forms": sorted({word for text, _ in forms for word in _WORDS.findall(text)}),
            }
            for entry, forms in self._forms
        ]

    def about(self, entity: str) -> EntityCandidate | None:
        """Find the entry of an entity; None where there is none."""
        id = entity.removeprefix(f"{self.space}:")
        entry = self.new.get(id) or (self.register.find(id) if entity else None)
        return self._show(entry) if entry else None

    def _show(self, entry: Entry) -> EntityCandidate:
        about = [_dates(entry), entry.description or "", ", ".join(map(str, entry.ids[:2]))]
        return {
            "entity": f"{self.space}:{entry.id}",
            "name": entry.name,
            "about": " · ".join(part for part in about if part),
        }


def _with_forms(entry: Entry) -> tuple[Entry, list[tuple[str, float]]]:
    forms = [(form.text.casefold(), _WEIGHTS.get(form.kind, 0.0)) for form in entry.forms]
    return entry, forms


def _fit(wanted: str, entry: Entry, forms: list[tuple[str, float]]) -> float:
    """Compute how well words fit an entry: from 0 to about 1, or 2 for the id of the entry."""
    if not wanted:
        return 0.0
    if wanted == entry.id.casefold():
        return 2.0
    best = 0.0
    tokens = _WORDS.findall(wanted)
    for text, weight in forms:
        if text == wanted:
            best = max(best, 1.0 + weight)
        elif tokens and _shares(tokens, text):
            parts = _WORDS.findall(text)
            n = sum(any(_agrees(token, part) for part in parts) for token in tokens)
            best = max(best, 0.9 * n / max(len(tokens), 0.5 * (len(tokens) + len(parts))) + weight)
    return best


def _shares(tokens: list[str], text: str) -> bool:
    """Tell quickly whether any word could agree with a form: its beginning is in the form."""
    return any(token[:3] in text for token in tokens)


def _agrees(token: str, word: str) -> bool:
    """Tell whether ``word`` begins with ``token``, or is ``token`` without a short ending.

    Such an ending has at most two letters, and ``word`` then more than two.
    """
    return word.startswith(token) or (
        len(word) > 2 and token.startswith(word) and len(token) - len(word) <= 2
    )


def _dates(entry: Entry) -> str:
    def years(date: Date | None) -> str:
        return str(date.first_year or date.given) if date else ""

    if entry.birth or entry.death:
        return f"{years(entry.birth)}–{years(entry.death)}"
    return years(entry.active)


def examples(contexts: Iterator[tuple[str, str]], wanted: set[str]) -> dict[str, str]:
    """Return the first context of each wanted entity, from pairs of entity and context."""
    examples_by_entity: dict[str, str] = {}
    for entity, context in contexts:
        if entity in wanted and entity not in examples_by_entity:
            examples_by_entity[entity] = context
            if len(examples_by_entity) == len(wanted):
                break
    return examples_by_entity
