"""New entries of a register: their ids, and the bytes of its file with them, in its own style."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

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


def with_entries(
    data: bytes, entries: Sequence[NewEntry], *, name: str
) -> tuple[bytes, list[NewEntry]]:
    """Insert entries into a register's file; all other bytes stay.

    In a register in alphabetical order they go to their places there, else behind the last entry of
    their kind. Returns the file, and the entries of whose kind it has none.
    """
    if not entries:
        return data, []
    source = Source(data, name=name)
    before = read_entries(source.root, data, name=name).entries
    alike: dict[Kind, list[Entry]] = {}
    for other in before:
        if other.id in source.by_id:
            alike.setdefault(other.kind, []).append(other)
    fitting = [entry for entry in entries if entry.kind in alike]
    sorted_kinds = {kind for kind, others in alike.items() if _is_sorted(others)}
    fitting.sort(key=lambda e: e.name.casefold() if e.kind in sorted_kinds else "")
    edits = [
        _edit(source, entry, alike[entry.kind], is_sorted=entry.kind in sorted_kinds)
        for entry in fitting
    ]
    if not edits:
        return data, [*entries]
    written = source.splice(sorted(edits, key=itemgetter(0)))
    again = read_entries(Source(written, name=name).root, written, name=name).entries
    ids = [entry.id for entry in again]
    expected = [*(entry.id for entry in before), *(entry.id for entry in fitting)]
    if sorted(ids) != sorted(expected):
        raise CorpusError(f"{name}: the new entries would not be read back.")
    return written, [entry for entry in entries if entry.kind not in alike]


def _edit(source: Source, entry: NewEntry, alike: Sequence[Entry], *, is_sorted: bool) -> Edit:
    """Place an entry beside those of its kind."""
    earlier = alike
    if is_sorted:
        earlier = [other for other in alike if other.name.casefold() <= entry.name.casefold()]
    node = source.by_id[(earlier[-1] if earlier else alike[0]).id]
    markup = _indent(source, node) + _markup(source, node, entry)
    at = node.end if earlier else node.start - len(_indent(source, node))
    return Edit(at, at, markup)


def _is_sorted(entries: Sequence[Entry]) -> bool:
    names = [entry.name.casefold() for entry in entries]
    n_ordered = sum(first <= second for first, second in pairwise(names))
    return n_ordered >= _SORTED_RATIO * (len(names) - 1)


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
