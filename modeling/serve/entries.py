"""Search in a register or an entity vocabulary: entries by name, by the start of a name, by id."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import has_magic
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import fuzz, process

from corpora.datasets.shards import open_dataset
from corpora.entities.vocabulary import SPECIAL, read_vocab, split_entities
from corpora.registers.entry import Date, Entry
from corpora.registers.register import Register, open_registers
from corpora.reports import counted

_LEAST: Final = 60.0
"""The least similarity of a form to a name for its entry to be found, in percent."""
_READ: Final = 5
"""The number of similar forms that are fetched for each entry requested, since entries have several
forms."""
_NO_WORD: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a property: a text, or another entry."""

    text: str
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """An entry that was found, with its description and properties."""

    id: str
    name: str
    kinds: tuple[str, ...] = ()
    description: str = ""
    properties: Mapping[str, tuple[Value, ...]]


def fold(text: str) -> str:
    """Fold a text: lower case, no diacritics, one blank between words, no punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return _NO_WORD.sub(" ", bare).strip()


def sorted_words(text: str) -> str:
    """Fold a text and sort its words: *Marc, Franz* becomes the same as *Franz Marc*."""
    return " ".join(sorted(fold(text).split()))


_PROPERTIES: Final = (
    *("name", "forms", "birth", "death", "active", "description", "parent", "related"),
)
"""The properties of entries of registers, besides their ids in other schemes (``gnd``)."""


class _Registered:
    """The entries of registers."""

    def __init__(self, register: Register) -> None:
        self.register = register
        self._entries = list(register.entries.values())
        self._place = {entry.id: number for number, entry in enumerate(self._entries)}
        self.kinds = sorted({entry.kind for entry in self._entries})
        schemes = sorted({id.scheme for entry in self._entries for id in entry.ids})
        self.properties = [*_PROPERTIES, *schemes]

    def __len__(self) -> int:
        return len(self._entries)

    def forms(self) -> Iterator[tuple[str, int]]:
        for number, entry in enumerate(self._entries):
            for form in (entry.name, *(form.text for form in entry.forms)):
                yield form, number

    def number(self, id: str) -> int | None:
        entry = self.register.entries.get(id) or (
            self.register.find(id) if ":" in id or id.startswith("#") else None
        )
        return None if entry is None else self._place[entry.id]

    def weight(self, number: int) -> float:
        return float(len(self._entries[number].forms) > 0)

    def entry(self, number: int) -> FoundEntry:
        entry = self._entries[number]
        properties = {
            "name": _values([entry.name]),
            "forms": _values(entry.texts()),
            "birth": _values([_given(entry.birth)]),
            "death": _values([_given(entry.death)]),
            "active": _values([_given(entry.active)]),
            "description": _values([entry.description]),
            "parent": self._linked([entry.parent]),
            "related": self._linked(entry.related),
        }
        for id in entry.ids:
            properties[id.scheme] = (*properties.get(id.scheme, ()), Value(id.id))
        return FoundEntry(
            id=entry.id,
            name=entry.name,
            kinds=(entry.kind,),
            description=_described(entry),
            properties=properties,
        )

    def _linked(self, ids: Iterable[str | None]) -> tuple[Value, ...]:
        """Convert ids of other entries to values; unknown ids are left out."""
        known = (self.register.entries.get(id) for id in ids if id)
        return tuple(Value(one.name, one.id) for one in known if one is not None)


def _values(texts: Iterable[str | None]) -> tuple[Value, ...]:
    return tuple(Value(text) for text in texts if text)


def _given(date: Date | None) -> str:
    return date.given if date else ""


def _described(entry: Entry) -> str:
    """Describe an entry by its dates of birth and death and by its description."""
    dates = [_given(entry.birth), _given(entry.death)]
    lived = f"{dates[0]}–{dates[1]}" if any(dates) else ""
    return "; ".join(part for part in (lived, entry.description or "") if part)


class _Vocabulary:
    """The live entities of a vocabulary."""

    def __init__(self, path: Path) -> None:
        dataset = open_dataset(path, "entities")
        shards = [path / shard.name for shard in dataset.shards]
        table = read_vocab(shards, columns=("entity", "title", "count", "aliases", "retired"))
        is_live = pc.invert(table.column("retired"))
        names = table.column("entity")
        is_entity = pc.invert(pc.is_in(names, pa.array(SPECIAL)))
        self.table = table.filter(pc.and_(is_live, is_entity)).combine_chunks()
        self._names: list[str] = self.table.column("entity").to_pylist()
        self._place = {name: number for number, name in enumerate(self._names)}
        self._spaces = split_entities(self.table.column("entity"))[0].to_pylist()
        self._titles = self.table.column("title").to_pylist()
        self._counts = self.table.column("count").to_numpy()
        self.kinds = sorted(set(self._spaces))
        self.properties = ["name", "forms", "count"]

    def __len__(self) -> int:
        return len(self._names)

    def forms(self) -> Iterator[tuple[str, int]]:
        yield from ((title.replace("_", " "), n) for n, title in enumerate(self._titles))
        aliases = self.table.column("aliases")
        for number, own in enumerate(aliases):
            for alias in own.as_py() or ():
                yield alias["form"], number

    def number(self, id: str) -> int | None:
        return self._place.get(id)

    def weight(self, number: int) -> float:
        return float(self._counts[number])

    def entry(self, number: int) -> FoundEntry:
        aliases = self.table.column("aliases")[number].as_py() or ()
        title, count = self._titles[number].replace("_", " "), int(self._counts[number])
        return FoundEntry(
            id=self._names[number],
            name=title,
            kinds=(self._spaces[number],),
            description=f"{counted(count, 'mention')}",
            properties={
                "name": _values([title]),
                "forms": _values(alias["form"] for alias in aliases),
                "count": _values([str(count)]),
            },
        )


class EntryIndex:
    """A search index of all forms of a register or vocabulary; takes about 0.5 kB for each form."""

    def __init__(self, source: _Registered | _Vocabulary, *, name: str) -> None:
        self.source, self.name = source, name
        pairs = sorted(
            {(key, number) for form, number in source.forms() if (key := sorted_words(form))}
        )
        self._keys = [key for key, _ in pairs]
        self._numbers = [number for _, number in pairs]
        starts = sorted({(fold(form), number) for form, number in source.forms()})
        self._starts = [start for start, _ in starts]
        self._of_starts = [number for _, number in starts]

    @classmethod
    def open(cls, patterns: Sequence[str]) -> "EntryIndex":
        """Open a vocabulary (a folder), or read registers; raises ``CorpusError``."""
        if len(patterns) == 1 and (Path(patterns[0]) / "dataset.json").is_file():
            return cls(_Vocabulary(Path(patterns[0])), name=Path(patterns[0]).name)
        register = open_registers(patterns)
        named = Path(patterns[0]).absolute()
        while has_magic(str(named)):  # of register/*.xml the folder has a name
            named = named.parent
        return cls(_Registered(register), name=named.stem)

    def __len__(self) -> int:
        return len(self.source)

    def entry(self, id: str) -> FoundEntry | None:
        """Find the entry of an id, or of an id in another scheme (``gnd:118540238``)."""
        number = self.source.number(id)
        return None if number is None else self.source.entry(number)

    def search(
        self, name: str, *, limit: int, kinds: Iterable[str] = ()
    ) -> list[tuple[FoundEntry, float]]:
        """Find the entries that a name may mean, with the similarity of their best form in percent.

        The most similar entry comes first. Of equally similar ones, the one with more mentions
        comes first; a register has no counts: there, entries with forms precede those without.
        """
        key, best = sorted_words(name), dict[int, float]()
        if (number := self.source.number(name.strip())) is not None:
            best[number] = 100.0
        wanted = set(kinds) & set(self.source.kinds)
        n_compared = (limit if not wanted else len(self.source.kinds) * limit) * _READ
        if key:
            for _, alike, at in process.extract(
                key, self._keys, scorer=fuzz.ratio, score_cutoff=_LEAST, limit=n_compared
            ):
                number = self._numbers[at]
                best[number] = max(alike, best.get(number, 0.0))
        order = sorted(best, key=lambda n: (-best[n], -self.source.weight(n), n))
        found = ((self.source.entry(n), best[n]) for n in order)
        chosen = (one for one in found if not wanted or wanted.intersection(one[0].kinds))
        return list(islice(chosen, limit))

    def beginning(self, start: str) -> Iterator[FoundEntry]:
        """Yield the entry whose id is ``start``, then those with a form that begins with it.

        The forms are compared folded, and are in alphabetical order; each entry comes once.
        """
        seen = set()
        if (number := self.source.number(start.strip())) is not None:
            seen.add(number)
            yield self.source.entry(number)
        folded = fold(start)
        for at in range(bisect_left(self._starts, folded), len(self._starts)):
            if not self._starts[at].startswith(folded):
                return
            number = self._of_starts[at]
            if number not in seen:
                seen.add(number)
                yield self.source.entry(number)

    def all(self) -> Iterator[FoundEntry]:
        """Iterate over all entries."""
        return map(self.source.entry, range(len(self.source)))
