"""Prefixes of pointers that files declare with ``prefixDef``: ``gnd:118540238`` is an address.

TEI P5 Guidelines, 17.2.3 ("Abbreviated pointers"). The patterns are regular expressions of the W3C
(XML Schema, with the additions of XPath). RE2 matches them, in time linear in the text, so that no
pattern can hang a run; what RE2 reads in another way is translated here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from corpora.tei.xml import ROOTS, Element

RESOLVED = "references resolved by prefixDef: "
NO_MATCH = "references that no prefixDef of their prefix matches: "
NOT_READ = "prefixDef that cannot be read: "
"""The names of counters up to the prefix."""
MAX_PATTERN = 1_000
"""The most characters of a pattern, and of a replacement."""
_PREFIX = re.compile(r"[^\s:/?#\[\]@]+")
_PART = re.compile(r"\\[pP]\{[^}]*\}|\\.|\[\^?|\(\?:|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_CLASSES = {"d": r"\p{Nd}", "w": r"\p{L}\p{M}\p{N}\p{S}", "W": r"\p{P}\p{Z}\p{C}", "s": r" \t\n\r"}
"""The classes of characters whose RE2 namesakes have others, as they stand between brackets."""
_OUTSIDE = {"D": r"\P{Nd}", "S": r"[^ \t\n\r]", **{key: f"[{c}]" for key, c in _CLASSES.items()}}
_INSIDE = {"D": r"\P{Nd}", "S": r"\S", **_CLASSES}
_IN_REPLACEMENT = re.compile(r"\\([\\$])|\$(\d+)|(\\)")
_MAX_GROUP = 9
_VARIABLE = re.compile(r"[.\\\[(*+?{|]")
"""What only patterns have that match several texts."""
_GROUP = re.compile(r"\$\d")


class Definition(NamedTuple):
    """One ``prefixDef``, as RE2 reads it."""

    pattern: str
    """Matches all that stands behind the prefix."""
    replacement: str


class Shape(NamedTuple):
    """How pointers with a prefix are written: ``gnd:X`` for ``https://d-nb.info/gnd/X``."""

    prefix: str
    before: str
    """What stands before the rest of the pointer in what it stands for."""
    after: str


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes that a file declares; other files may use the same ones otherwise."""

    definitions: Mapping[str, tuple[Definition, ...]] = field(default_factory=dict)
    """The definitions of each prefix; the first that matches a pointer decides."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """The prefixes with a definition that cannot be read, and the reason."""
    known: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)
    """What the pointers so far stand for; None: no definition matches."""
    shapes: Counter[Shape] = field(default_factory=Counter, compare=False, repr=False)
    """What the resolved pointers had in common with what they stand for."""

    def __bool__(self) -> bool:
        return bool(self.definitions or self.unread)

    def defines(self, pointer: str) -> bool:
        """Tell whether a pointer begins with a declared prefix."""
        return bool(self.definitions) and prefix_of(pointer) in self.definitions

    def resolve(self, pointer: str) -> str | None:
        """Return the address that a pointer stands for; None if no definition matches."""
        if not self.defines(pointer):
            return None
        if pointer not in self.known:
            self.learn([pointer])
        return self.known[pointer]

    def learn(self, pointers: Iterable[str]) -> None:
        """Resolve many pointers at once, which is faster; those without a prefix are ignored."""
        waiting: dict[str, list[str]] = {}
        for pointer in dict.fromkeys(pointers):
            if self.defines(pointer) and pointer not in self.known:
                waiting.setdefault(prefix_of(pointer), []).append(pointer)
        for prefix, some in waiting.items():
            rest = some
            for definition in self.definitions[prefix]:
                resolved = _replace([one.partition(":")[2] for one in rest], definition)
                self.known.update(zip(rest, resolved, strict=True))
                rest = [one for one in rest if self.known[one] is None]
                if not rest:
                    break
            self.shapes.update(filter(None, map(self._shape, some)))

    def _shape(self, pointer: str) -> Shape | None:
        prefix, _, rest = pointer.partition(":")
        before, found, after = (self.known[pointer] or "").rpartition(rest or ":")
        return Shape(prefix, before, after) if found and rest else None


def union(several: Iterable[Prefixes]) -> Prefixes:
    """Return the prefixes of several files; the definitions of the first are tried first."""
    definitions: dict[str, dict[Definition, None]] = {}
    unread: dict[str, str] = {}
    pointers: dict[str, None] = {}
    for one in several:
        for prefix, some in one.definitions.items():
            definitions.setdefault(prefix, {}).update(dict.fromkeys(some))
        unread = {**one.unread, **unread}
        pointers |= dict.fromkeys(one.known)
    prefixes = Prefixes({key: tuple(some) for key, some in definitions.items()}, unread)
    prefixes.learn(pointers)
    return prefixes


def prefix_of(pointer: str) -> str:
    """Return what stands before the first colon of a pointer; nothing if it has none."""
    prefix, colon, _ = pointer.partition(":")
    return prefix if colon else ""


def read_prefixes(tei: Element) -> Prefixes:
    """Read the prefixes that a ``TEI`` element declares, and then those of the corpus around it."""
    definitions: dict[str, list[Definition]] = {}
    unread: dict[str, str] = {}
    headers = (header for around in tei.chain() for header in _headers(around))
    for element in (e for header in headers for e in header.walk() if e.name == "prefixdef"):
        attributes = element.attributes
        prefix = attributes.get("ident", "").strip()
        patterns = attributes.get("matchPattern"), attributes.get("replacementPattern")
        definition = _define(*patterns)
        if not _PREFIX.fullmatch(prefix):
            definition = f"@ident {prefix!r} is no name of a prefix"
        if isinstance(definition, str):
            unread.setdefault(prefix_of(prefix) or prefix, definition)
        else:
            definitions.setdefault(prefix, []).append(definition)
    return Prefixes({prefix: tuple(some) for prefix, some in definitions.items()}, unread)


def _headers(around: Element) -> Iterator[Element]:
    """Yield the headers of a ``TEI`` or a corpus, which stand before its texts (maybe many)."""
    for child in around.children:
        if not isinstance(child, str):
            if child.name in ROOTS:
                return
            if child.name == "teiheader":
                yield child


def declared(addresses: Mapping[str, str]) -> Prefixes:
    """Return the prefixes of an edition file: ``https://d-nb.info/gnd/$1`` by ``gnd``.

    Definitions that cannot be read are among those ``unread``.
    """
    definitions: dict[str, tuple[Definition, ...]] = {}
    unread: dict[str, str] = {}
    for prefix, address in addresses.items():
        definition = _define("(.+)", address)
        if "$1" not in address:
            definition = (
                "write $1 where the rest of a reference belongs, as https://d-nb.info/gnd/$1"
            )
        if not _PREFIX.fullmatch(prefix):
            definition = "no name of a prefix: it stands before the colon, without white space"
        if isinstance(definition, str):
            unread[prefix] = definition
        else:
            definitions[prefix] = (definition,)
    return Prefixes(definitions, unread)


@lru_cache(maxsize=1_000)
def _define(pattern: str | None, replacement: str | None) -> Definition | str:
    """Translate a definition for RE2; returns the reason if it cannot be read."""
    if pattern is None or replacement is None:
        return f"no @{'matchPattern' if pattern is None else 'replacementPattern'}"
    if _VARIABLE.search(pattern) and not _GROUP.search(replacement):
        return "no $1 in @replacementPattern, so that all references would be the same"
    if max(len(pattern), len(replacement)) > MAX_PATTERN:
        return f"longer than {MAX_PATTERN:,} characters"
    try:
        translated, n_groups = _translate(pattern)
        definition = Definition(rf"\A(?:{translated})\z", _rewrite(replacement, n_groups))
        _replace([""], definition)
    except ValueError as error:  # also what pyarrow raises
        return str(error) if type(error) is ValueError else "no regular expression"
    return definition


def _translate(pattern: str) -> tuple[str, int]:
    """Return a pattern as RE2 has it, and the number of its groups; ``ValueError``."""
    written: list[str] = []
    n_groups, around = 0, ""  # the class around: what is written of it so far
    for part in _PART.findall(pattern):
        classes = _INSIDE if around else _OUTSIDE
        if part[0] == "\\" and part[1:2].isalnum() and part[1] not in "nrtpP":
            if part[1] not in classes:
                raise ValueError(f"{part} is not known")
            written.append(classes[part[1]])
            around += part if around else ""
            continue
        if around:
            if part[0] == "[":
                raise ValueError("a class inside a class is not known")
            if part == "]" and around in {"[", "[^"}:
                raise ValueError("a class is empty")
            around = "" if part == "]" else around + part
        elif part[0] == "[":
            around = part
        elif part in {"{", "}", "]"}:
            raise ValueError(f"{part} must be written as \\{part}")
        n_groups += part == "(" and not around
        written.append(part)
    return "".join(written), n_groups


def _rewrite(replacement: str, n_groups: int) -> str:
    """Return a replacement as RE2 has it: ``$1`` is a group, one that is not there is empty."""

    def write(match: re.Match[str]) -> str:
        literal, digits = match[1] or match[3], match[2]
        if literal:
            return "\\\\" if literal == "\\" else literal
        group, after = digits, ""
        while len(group) > 1 and int(group) > n_groups:
            group, after = group[:-1], group[-1] + after
        if int(group) > n_groups:
            return after
        if int(group) > _MAX_GROUP:
            raise ValueError(f"more than {_MAX_GROUP} groups")
        return f"\\{int(group)}{after}"

    return _IN_REPLACEMENT.sub(write, replacement)


def _replace(texts: list[str], definition: Definition) -> list[str | None]:
    """Replace each text that matches as a whole; None for the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(texts, pa.string())
    fits = pc.match_substring_regex(array, definition.pattern)
    full = pc.replace_substring_regex(array, definition.pattern, definition.replacement)
    replaced: list[str | None] = pc.if_else(fits, full, None).to_pylist()
    return replaced
