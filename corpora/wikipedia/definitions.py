r"""Templates whose definition is in the dump, and is plain text with parameters.

A definition is one line: text, links, tags such as ``<small>``, and parameters (``{{{1}}}``,
``{{{name|default}}}``), but no call of another template and no parser function. The table is one of
redirects (``corpora/datasets/redirect_table.py``): the name of a template leads to another name, or
to ``\x00`` and a definition.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.wikipedia.titles import CATEGORY, Wiki

if TYPE_CHECKING:
    from corpora.wikipedia.templates import Call

DEFINED = "\x00"
"""Before a definition; no title has it."""
MAX_CHARACTERS = 2000
"""Of a definition; a longer one is not shown."""
_MAX_HASHES = 100_000  # of definitions that are remembered
_ONLY = re.compile(r"<onlyinclude\s*>(.*?)</onlyinclude\s*>", re.DOTALL | re.IGNORECASE)
_NOT_SHOWN = re.compile(
    r"<!--.*?(?:-->|\Z)|<noinclude\s*>.*?(?:</noinclude\s*>|\Z)|</?includeonly\s*/?>"
    r"|<noinclude\s*/>",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>?")
_INLINE = re.compile(
    r"</?(?:abbr|b|bdi|bdo|big|br|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|q|s|samp|small"
    r"|span|strike|strong|sub|sup|time|tt|u|var|wbr)\b[^<>]*>",
    re.IGNORECASE,
)
_BRACES = re.compile(r"\{\{\{|\}\}\}|\|")
_OTHER = re.compile(r"\{\{|\}\}|\{\||__[^\W\d_]+__|\n")
_PREFIX = re.compile(r"\[\[\s*([^\[\]|{}:]+):")
_STARTS = frozenset("*#:;=|!{ ")

Parts = tuple["str | Parameter", ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in a definition."""

    name: str
    default: Parts | None
    """Null where there is none: then nothing is shown."""


def definition_of(source: str, wiki: Wiki) -> str:
    """Read the wikitext of a template's page: its definition, or nothing where it is not plain.

    One that puts pages into a category is not: it says something of the page, not in its text.
    """
    if len(source) > 20 * MAX_CHARACTERS:
        return ""
    source = _NOT_SHOWN.sub("", source)
    if only := _ONLY.findall(source):
        source = "".join(only)
    text = source.strip()
    if not text or len(text) > MAX_CHARACTERS or text[0] in _STARTS - {"{"}:
        return ""
    try:
        parts = parse(text)
    except ValueError:
        return ""
    plain = "".join(_texts(parts))
    # Parameters may stand in the attribute of a tag: their braces are none of a template.
    tags = _TAG.findall(text.replace("{{{", "").replace("}}}", ""))
    prefixes = (prefix.strip().lower() for prefix in _PREFIX.findall(plain))
    is_plain = (
        not _OTHER.search(plain)
        and all(map(_INLINE.fullmatch, tags))
        and CATEGORY not in map(wiki.namespaces.get, prefixes)
    )
    return text if is_plain else ""


def _texts(parts: Parts) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            yield from _texts(part.default or ())


def parse(text: str) -> Parts:
    """Find the parameters of a definition; raises ``ValueError`` where braces do not match."""
    stack: list[tuple[str, list[str | Parameter]]] = [("", [])]
    names: list[str | None] = []
    position = 0
    for mark in _BRACES.finditer(text):
        parts = stack[-1][1]
        if mark[0] == "|" and (not names or names[-1] is not None):
            continue  # of a link, or a second one, which MediaWiki leaves out
        parts.append(text[position : mark.start()])
        position = mark.end()
        if mark[0] == "{{{":
            stack.append(("", []))
            names.append(None)
        elif mark[0] == "|":
            names[-1] = _name(parts)
            parts.clear()
        else:
            if not names:
                raise ValueError("a parameter is closed that is not open")
            stack.pop()
            name = names.pop()
            is_bare = name is None
            made = Parameter(_name(parts) if name is None else name, None if is_bare else (*parts,))
            stack[-1][1].append(made)
    if names:
        raise ValueError("a parameter is not closed")
    stack[0][1].append(text[position:])
    return tuple(part for part in stack[0][1] if part)


def _name(parts: list[str | Parameter]) -> str:
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("the name of a parameter is one")
    return "".join(map(str, parts)).strip()


def count_parameters(parts: Parts) -> int:
    """How often a definition has a parameter, at most."""
    parameters = (part for part in parts if isinstance(part, Parameter))
    return sum(1 + count_parameters(parameter.default or ()) for parameter in parameters)


def show(parts: Parts, call: "Call") -> str:
    """Show a definition with the parameters of a call."""
    shown = []
    for part in parts:
        if isinstance(part, str):
            shown.append(part)
        elif (value := call.given(part.name)) is not None:
            shown.append(value)
        elif part.default is not None:
            shown.append(show(part.default, call))
    return "".join(shown)


class Definitions:
    """A finished table of definitions and redirects; see ``build_definitions``."""

    def __init__(self, folder: Path) -> None:
        """Open the table; raises ``CorpusError`` where there is none."""
        self._table = RedirectTable(folder)
        self._hashes: dict[str, bytes] = {}

    def find(self, name: str) -> Parts | str | None:
        """Find the definition of a template, or the name of the one that it redirects to."""
        found = self._find(name)
        return parse(found[1:]) if found[:1] == DEFINED else found or None

    def _find(self, name: str) -> str:
        [found] = self._table.finals(pa.array([name], pa.string())).to_pylist()
        return found or ""

    def hash_of(self, names: Iterable[str]) -> str:
        """Hash what the table says of some names, to 32 digits: in their order, and only that."""
        said = sha256()
        for name in names:
            if name not in self._hashes:
                if len(self._hashes) > _MAX_HASHES:
                    self._hashes.clear()
                self._hashes[name] = sha256(self._find(name).encode()).digest()
            said.update(self._hashes[name])
        return said.hexdigest()[:32]


def build_definitions(folder: Path, found: Iterable[pa.RecordBatch]) -> dict[str, int]:
    """Build the table from rows of ``wiki_definitions``; returns how many there are of each."""
    n_all = n_redirects = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal n_all, n_redirects
        for batch in found:
            starts = pc.starts_with(batch.column("target"), DEFINED)
            n_all += len(batch)
            n_redirects += len(batch) - (pc.sum(starts).as_py() or 0)
            yield batch

    build_table(folder, counted())
    return {"templates.definitions": n_all - n_redirects, "templates.redirects": n_redirects}
