"""New entries of a register: their ids, and the bytes of its file with them, in its own style."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from corpora.errors import CorpusError
from corpora.registers.entry import AuthorityId, Entry, Form, Kind
from corpora.registers.identifiers import address_of, read_id
from corpora.registers.reader import naming_elements, read_entries
from corpora.tei.source import Edit, Node, Source
from corpora.tei.style import NO_XML, escape, tag

_ELEMENTS: dict[Kind, tuple[str, str]] = {
    "person": ("person", "persName"),
    "place": ("place", "placeName"),
    "organization": ("org", "orgName"),
    "work": ("bibl", "title"),
    "event": ("event", "label"),
}
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_INDENT = re.compile(r"\r?\n[ \t]*$")
_SORTED_RATIO = 0.9
"""The least ratio of adjacent entries in alphabetical order in a register that is sorted."""
_OF_ONE = {"xml:id", "id", "ref", "key", "source", "sameas", "corresp", "n", "cert", "resp"}
"""Attributes that belong to one entry or name."""


class NoPlaceError(CorpusError):
    """A register has no entry of this kind, beside which a new one could stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """An entry that a person made."""

    id: str
    kind: Kind
    name: str
    note: str = ""
    same: str = ""
    """Its id elsewhere, as ``gnd:118540238``, or an address."""

    def __post_init__(self) -> None:
        """Raise for an entry without a name, and for characters that XML forbids."""
        if not self.name.strip() or NO_XML.search(f"{self.id}{self.name}{self.note}{self.same}"):
            raise CorpusError(f"{self.name!r} is no name of an entry.")

    @property
    def other_id(self) -> AuthorityId | None:
        """Its id elsewhere; None where it has none."""
        scheme, _, id = self.same.partition(":")
        return read_id(self.same) or (AuthorityId(scheme, id) if scheme and id else None)

    def as_entry(self) -> Entry:
        """Convert it to an entry as those of a register."""
        return Entry(
            id=self.id,
            kind=self.kind,
            name=self.name,
            forms=(Form(self.name, "canonical"),),
            ids=(self.other_id,) if self.other_id else (),
            description=self.note or None,
        )


def next_id(ids: Iterable[str], *, otherwise: str) -> str:
    """Return the next free id in the style of most ids: ``P.0000012`` after ``P.0000011``.

    ``otherwise`` is the prefix of the first id where none ends with a number.
    """
    parts = [match.groups() for id in ids if (match := _NUMBERED.fullmatch(id))]
    usual = Counter(prefix for prefix, _ in parts).most_common(1)
    prefix = usual[0][0] if usual else otherwise
    numbers = [number for start, number in parts if start == prefix]
    width = max((len(number) for number in numbers if number.startswith("0")), default=0)
    return f"{prefix}{max(map(int, numbers), default=0) + 1:0{width}}"


def with_entry(data: bytes, entry: NewEntry, *, name: str) -> bytes:
    """Insert an entry into a register's file; all other bytes stay.

    In a register in alphabetical order it goes to its place there, else behind the last entry of
    its kind. Raises ``NoPlaceError`` where there is none.
    """
    source = Source(data, name=name)
    before = read_entries(source.root, data, name=name).entries
    like = [other for other in before if other.kind == entry.kind and other.id in source.by_id]
    if not like:
        raise NoPlaceError(f"{name}: has no entry of the kind {entry.kind}.")
    beside = _before(like, entry.name)
    node = source.by_id[(beside or like[0]).id]
    markup = _indent(source, node) + _markup(source, node, entry)
    at = node.end if beside else node.start - len(_indent(source, node))
    written = source.splice([Edit(at, at, markup)])
    again = read_entries(Source(written, name=name).root, written, name=name).entries
    new = {other.id for other in again} - {other.id for other in before}
    if new != {entry.id} or len(again) != len(before) + 1:
        raise CorpusError(f"{name}: the entry {entry.id} would not be read back.")
    return written


def _before(entries: Sequence[Entry], name: str) -> Entry | None:
    """Find the entry behind which a new one belongs; None where it is the first."""
    names = [entry.name.casefold() for entry in entries]
    n_ordered = sum(first <= second for first, second in pairwise(names))
    if n_ordered < _SORTED_RATIO * (len(names) - 1):
        return entries[-1]
    earlier = [entry for entry in entries if entry.name.casefold() <= name.casefold()]
    return earlier[-1] if earlier else None


def _indent(source: Source, node: Node) -> str:
    match = _INDENT.search(source.text, max(0, node.start - 200), node.start)
    return match[0] if match else ""


def _markup(source: Source, like: Node, entry: NewEntry) -> str:
    """Write an entry as one beside it is written."""
    prefix, (_, name) = source.prefix(like), _ELEMENTS.get(entry.kind, ("", "name"))
    same = entry.other_id
    address = (address_of(same) if same else None) or entry.same
    shown = next(iter(naming_elements(like, entry.kind)), None)
    pairs = shown.attributes.items() if shown else ()
    attributes = [(key, value) for key, value in pairs if key.lower() not in _OF_ONE]
    written = prefix + (shown.written_name if shown else name)
    inside = [f"{tag(written, attributes)}{escape(entry.name)}</{written}>"]
    of_entry = [("xml:id", entry.id)]
    pointing = (
        key for key in ("source", "sameAs", "corresp") if "//" in like.attributes.get(key, "")
    )
    if (key := next(pointing, "")) and address:
        of_entry.append((key, address))
    elif address:
        inside.append(f'<{prefix}idno type="URI">{escape(address)}</{prefix}idno>')
    if entry.note:
        inside.append(f"<{prefix}note>{escape(entry.note)}</{prefix}note>")
    children = like.elements()
    space = _indent(source, children[0]) if children else ""
    end = _indent(source, like) if space else ""
    element = prefix + like.written_name
    content = "".join(f"{space}{element}" for element in inside)
    return f"{tag(element, of_entry)}{content}{end}</{element}>"
