r"""Templates whose definition is in the dump, and is plain text with parameters.

A definition is a line or several paragraphs of text, with links, tags such as ``<small>``,
parameters (``{{{1}}}``, ``{{{name|default}}}``), calls of other templates, and the parser functions
that are evaluated. Another parser function, a list, a heading or a table is none. The definitions
are stored as a table of redirects (``corpora/datasets/redirect_table.py``), which leads from the
name of a template to another name, or to ``\x00`` followed by a definition. A template that calls
a known module (``modules.toml``) is one that our tables have, under whatever name: it leads to two
``\x00`` followed by that template's name. One that is no plain text, but puts its pages into
categories, leads to three ``\x00`` and a line for each.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Union

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.wikipedia.parser_functions import FUNCTIONS
from corpora.wikipedia.titles import CATEGORY, Wiki, read_table, upper_first

if TYPE_CHECKING:
    from corpora.wikipedia.templates import Call

DEFINED = "\x00"
"""Stands before a definition in the table; no title has it."""
MAX_CHARACTERS = 2000
"""The most characters of a definition; a template with a longer one is not shown."""
_MAX_HASHES = 100_000  # definitions whose hashes are cached
_ONLY = re.compile(r"<onlyinclude\s*>(.*?)</onlyinclude\s*>", re.DOTALL | re.IGNORECASE)
_NOT_SHOWN = re.compile(
    r"(?<=\n)[ \t]*<!--(?:(?!-->).)*-->[ \t]*\n"  # a line with only a comment
    r"|<!--.*?(?:-->|\Z)|<noinclude\s*>.*?(?:</noinclude\s*>|\Z)|</?includeonly\s*/?>"
    r"|<noinclude\s*/>",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>?")
_INLINE = re.compile(
    r"</?(?:abbr|b|bdi|bdo|big|br|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|q|s|samp|small"
    r"|span|strike|strong|sub|sup|time|tt|u|var|wbr)\b[^<>]*>",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"\{{2,}|\}{2,}|\[\[|\]\]|\|")
_PLAIN_NAME = re.compile(r"[^{}|#:<>\[\]]*[^{}|#:<>\[\]\s][^{}|#:<>\[\]]*")
_FUNCTION = re.compile(r"\s*(?:(?:safe)?subst:)?\s*(#?[a-z]+)\s*:(.*)", re.DOTALL | re.IGNORECASE)
"""Matches what stands before the first pipe in a call of a parser function."""
_SHOWN_FUNCTIONS = FUNCTIONS | {"formatnum", "lc", "lcfirst", "uc", "ucfirst"}
_OTHER = re.compile(r"\{\{|\}\}|\{\||__[^\W\d_]+__")
_OTHER_LINE = re.compile(r"\n(?:[*#:;=|!]|[ \t]+\S)")
"""Matches a line, not the first, that begins a list, heading or row, or is preformatted."""
_MODULE = re.compile(
    r"(?:<[^<>]*>)?\s*\{\{\s*(?:(?:safe)?subst:)?\s*#invoke\s*:([^|{}]+)\|([^|{}]*)", re.IGNORECASE
)
"""Matches a template that begins with the call of a module, perhaps in a tag."""
_PREFIX = re.compile(r"\[\[\s*([^\[\]|{}:]+):")
_STARTS = frozenset("*#:;=|!{ ")
_NO_TITLE = re.compile(r"[\[\]{}<>|\x00-\x1f]")
_CALL = re.compile(r"(?<!\{)\{\{(?!\{)(?:[^{}]|\{\{\{[^{}]*\}\}\})*\}\}(?!\})")
_LINK = re.compile(
    r"\[\[\s*([^\[\]|{}:]+):\s*((?:[^\[\]{}|\n]|\{\{\{[^{}\n]*\}\}\})+)(?:\|[^\[\]]*)?\]\]"
)

Part = Union[str, "Parameter", "Inclusion"]
Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in a definition."""

    name: str
    default: Parts | None
    """What is shown without an argument; None: nothing."""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A call of another template in a definition, or of a parser function.

    The first argument of a function is what stands after its colon.
    """

    name: str
    arguments: tuple[Parts, ...]
    is_function: bool = False


@dataclass(frozen=True, slots=True)
class Categories:
    """The categories into which a template puts its pages."""

    titles: tuple[Parts, ...]

    def of(self, call: "Call") -> Iterator[str]:
        """Yield their titles for a call; not those with markup in them."""
        titles = (show(title, call).strip() for title in self.titles)
        return (title for title in titles if title and not _NO_TITLE.search(title))


def definition_of(source: str, wiki: Wiki) -> str:
    """Read the definition from a template's page; empty if it is not plain text with parameters.

    If the template calls a known module, its definition is ``DEFINED`` and our template's name.

    A definition with a category is not plain: it classifies the page, and adds nothing to its text.
    The categories that it always adds, after two ``DEFINED``, stand for it.
    """
    text = _shown_part(source)
    if module := _MODULE.match(text):
        return _of_module(module[1], module[2])
    if plain := _plain(text, wiki):
        return plain
    categories = "\n".join(_categories(text, wiki))
    return f"{2 * DEFINED}{categories}" if categories else ""


def _categories(text: str, wiki: Wiki) -> Iterator[str]:
    """Yield the categories outside of calls, without their namespace, perhaps with parameters."""
    n_calls = 1
    while n_calls:
        text, n_calls = _CALL.subn("", text)
    for prefix, title in _LINK.findall(text):
        if wiki.namespaces.get(prefix.strip().lower()) == CATEGORY:
            yield title.strip()


def _plain(text: str, wiki: Wiki) -> str:
    if not text or len(text) > MAX_CHARACTERS or text[0] in _STARTS - {"{"}:
        return ""
    try:
        parts = parse(text)
    except ValueError:
        return ""
    plain = "".join(_texts(parts))
    outline = "".join(_outline(parts))
    # Parameters may stand in the attributes of a tag: their braces are no template.
    tags = _TAG.findall(text.replace("{{{", "").replace("}}}", ""))
    prefixes = (prefix.strip().lower() for prefix in _PREFIX.findall(plain))
    is_plain = (
        not _OTHER.search(plain)
        and not _OTHER_LINE.search(outline)
        and all(map(_INLINE.fullmatch, tags))
        and CATEGORY not in map(wiki.namespaces.get, prefixes)
    )
    return text if is_plain else ""


def _shown_part(source: str) -> str:
    """Return what a template's page shows where it is called; empty if the page is too long."""
    if len(source) > 20 * MAX_CHARACTERS:
        return ""
    source = _NOT_SHOWN.sub("", source)
    if only := _ONLY.findall(source):
        source = "".join(only)
    return source.strip()


def _of_module(module: str, function: str) -> str:
    """Return the name of the template that a call of a module is, after a sign; or nothing."""
    module = upper_first(" ".join(module.replace("_", " ").split()))
    functions = _modules().get(module, {})
    name = functions.get(function.strip(), functions.get("*", ""))
    return f"{DEFINED}{name}" if name else ""


@cache
def _modules() -> Mapping[str, Mapping[str, str]]:
    return read_table("modules")


def _texts(parts: Parts) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            for inner in _inside(part):
                yield from _texts(inner)


def _outline(parts: Parts) -> Iterator[str]:
    """Yield the lines of a definition, with a dot for each parameter and the name of each call.

    The arguments of calls are left out, as their lines are no lines of the definition. Names stay,
    as ``{{!}}`` begins a row. Each text that a parser function may show is a line.
    """
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Inclusion) and part.is_function:
            yield "."
            for argument in part.arguments[1:]:
                yield f"\n{''.join(_outline(argument)).strip()}"
            yield "."
        elif isinstance(part, Inclusion):
            yield part.name
        else:
            yield "."
            yield from _outline(part.default or ())


def _inside(part: Parameter | Inclusion) -> tuple[Parts, ...]:
    """Return what a part holds: the default of a parameter, or the arguments of a call."""
    if isinstance(part, Inclusion):
        return part.arguments
    return () if part.default is None else (part.default,)


@dataclass(slots=True)
class _Open:
    """An open call or parameter while a definition is parsed, with its parts between pipes."""

    braces: int
    parts: list[list[Part]]
    links: int = 0
    """The number of links (``[[``) that are open in it."""

    def add(self, part: Part) -> None:
        if part != "":
            self.parts[-1].append(part)

    def pipe(self) -> None:
        """Begin the next part, unless the pipe is inside a link or the default of a parameter."""
        if self.braces == 0 or self.links or (self.braces == 3 and len(self.parts) == 2):
            self.add("|")
        else:
            self.parts.append([])

    def close(self) -> Part:
        """Build the parameter, or the call of a template."""
        if self.braces == 2 and (function := _function(self.parts)):
            return function
        name = "".join(part for part in self.parts[0] if isinstance(part, str))
        if not all(isinstance(part, str) for part in self.parts[0]):
            raise ValueError("a name holds parameters or templates")
        values = tuple(map(tuple, self.parts[1:]))
        if self.braces == 3:
            return Parameter(name.strip(), values[0] if values else None)
        if not _PLAIN_NAME.fullmatch(name):
            raise ValueError("a parser function, or no name")
        return Inclusion(name.strip(), values)


def _function(parts: list[list[Part]]) -> Inclusion | None:
    """Build the call of a parser function that is evaluated; None if it is none.

    ``parts`` stand between the pipes.
    """
    head, *others = parts
    start = _FUNCTION.fullmatch(head[0]) if head and isinstance(head[0], str) else None
    if start is None or start[1].lower() not in _SHOWN_FUNCTIONS:
        return None
    first = tuple(part for part in (start[2], *head[1:]) if part != "")
    return Inclusion(start[1].lower(), (first, *map(tuple, others)), is_function=True)


def parse(text: str) -> Parts:
    """Parse a definition into text, parameters and calls of templates and parser functions.

    Raises ``ValueError`` where braces do not match, for parser functions that are not evaluated,
    and for names that hold parameters or templates.
    """
    stack = [_Open(0, [[]])]
    position = 0
    for sign in _SIGNS.finditer(text):
        stack[-1].add(text[position : sign.start()])
        position = sign.end()
        if sign[0] == "|":
            stack[-1].pipe()
        elif sign[0][0] in "[]":
            stack[-1].links = max(0, stack[-1].links + (1 if sign[0] == "[[" else -1))
            stack[-1].add(sign[0])
        elif sign[0] in ("{{", "{{{"):
            stack.append(_Open(len(sign[0]), [[]]))
        else:
            _close(stack, len(sign[0]) if sign[0][0] == "}" else 0)
    if len(stack) > 1:
        raise ValueError("braces are not closed")
    stack[0].add(text[position:])
    return tuple(stack[0].parts[0])


def _close(stack: list[_Open], n_braces: int) -> None:
    """Close as many open parts as ``n_braces`` closing braces end; raises ``ValueError``."""
    if not n_braces:
        raise ValueError("a name holds parameters or templates")
    while n_braces:
        n_braces -= stack[-1].braces or n_braces + 1
        if n_braces < 0:
            raise ValueError("braces are closed that are not open")
        made = stack.pop().close()
        stack[-1].add(made)


def count_parameters(parts: Parts) -> int:
    """Count the parameters in a definition, nested ones too: an upper bound of those shown."""
    return sum(
        isinstance(part, Parameter) + sum(map(count_parameters, _inside(part)))
        for part in parts
        if not isinstance(part, str)
    )


def has_calls(parts: Parts) -> bool:
    """Tell whether a definition calls another template or a parser function."""
    return any(
        isinstance(part, Inclusion) or any(map(has_calls, _inside(part)))
        for part in parts
        if not isinstance(part, str)
    )


def show(parts: Parts, call: "Call") -> str:
    """Fill the parameters of a call into a definition; calls of other templates stay calls."""
    shown = []
    for part in parts:
        if isinstance(part, str):
            shown.append(part)
        elif isinstance(part, Inclusion):
            shown.append(_call(part, call))
        elif (value := call.given(part.name)) is not None:
            shown.append(value)
        elif part.default is not None:
            shown.append(show(part.default, call))
    return "".join(shown)


def _call(inclusion: Inclusion, call: "Call") -> str:
    """Write a call, with parameters filled in."""
    if not inclusion.is_function:
        return "{{" + "|".join([inclusion.name, *_arguments(inclusion, call)]) + "}}"
    values = [show(argument, call) for argument in inclusion.arguments]
    if inclusion.name == "#switch" and len(values) > 1 and "=" in values[-1]:
        last = inclusion.arguments[-1]
        if not any("=" in part for part in last if isinstance(part, str)):
            values[-1] = f"#default={values[-1]}"  # its value holds the sign, it has no name
    return f"{{{{{inclusion.name}:{'|'.join(values)}}}}}"


def _arguments(inclusion: Inclusion, call: "Call") -> Iterator[str]:
    """Yield the arguments of a call, with parameters filled in.

    A positional argument whose value holds ``=`` gets its number as its name.
    """
    number = 0
    for argument in inclusion.arguments:
        value = show(argument, call)
        if not any("=" in part for part in argument if isinstance(part, str)):
            number += 1
            value = f"{number}={value}" if "=" in value else value
        yield value


class Definitions:
    """The opened table of definitions and redirects; made by ``build_definitions``."""

    def __init__(self, folder: Path) -> None:
        """Open the table; raises ``OSError`` where there is none."""
        self._table = RedirectTable(folder)
        self._hashes: dict[str, bytes] = {}

    def find(self, name: str) -> "Parts | str | Categories | None":
        """Return the parsed definition of a template, or the name that it redirects to.

        Returns the categories of a template that is no plain text. None if none of these is there.
        """
        found = self._find(name)
        if found.startswith(3 * DEFINED):
            return Categories(tuple(map(parse, found[3:].split("\n"))))
        if found.startswith(2 * DEFINED):
            return found[2:]
        return parse(found[1:]) if found[:1] == DEFINED else found or None

    def _find(self, name: str) -> str:
        [found] = self._table.finals(pa.array([name], pa.string())).to_pylist()
        return found or ""

    def hash_of(self, names: Iterable[str]) -> str:
        """Hash the entries of these names, in their order, and nothing else: 32 digits."""
        said = sha256()
        for name in names:
            if name not in self._hashes:
                if len(self._hashes) > _MAX_HASHES:
                    self._hashes.clear()
                self._hashes[name] = sha256(self._find(name).encode()).digest()
            said.update(self._hashes[name])
        return said.hexdigest()[:32]


def build_definitions(folder: Path, found: Iterable[pa.RecordBatch]) -> dict[str, int]:
    """Build the table from rows of ``wiki_definitions``.

    Returns the numbers of definitions and redirects, by the names of their counters.
    """
    n_all = n_redirects = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal n_all, n_redirects
        for rows in found:
            batch = rows.filter(rows.column("target").is_valid())
            starts = pc.starts_with(batch.column("target"), DEFINED)
            n_all += len(batch)
            n_redirects += len(batch) - (pc.sum(starts).as_py() or 0)
            yield batch

    build_table(folder, counted())
    return {"templates.definitions": n_all - n_redirects, "templates.redirects": n_redirects}
