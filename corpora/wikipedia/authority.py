"""The subject of a page: ids from authority templates, the type from these or from categories."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from itertools import islice
from typing import Literal, get_args

from corpora.errors import UsageError
from corpora.system.parsing import JsonObject
from corpora.wikipedia.titles import CATEGORY, TEMPLATE, namespace_pattern, read_table

MAX_CHARACTERS = 20_000
"""The number of characters that are read of a template, from the end of its name."""
MAX_TEMPLATES = 20
"""The number of authority templates that are read of a page; later ones are not read."""
Type = Literal["person", "place", "organization", "work", "event"]
TYPES = get_args(Type)
_TYPE_PARAMETERS = {"typ", "type", "tipo"}
_COMMENT = re.compile(r"<!(?=--).*?(?:-->|\Z)", re.DOTALL)
"""A comment; one that is not closed extends to the end."""
_MARK = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")
_LCCN = re.compile(r"([a-z]{1,3})/(\d{2,4})/(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Authority:
    """The ids and the type of a page's subject, as the page itself gives them."""

    ids: Mapping[str, str] = field(default_factory=dict)
    """The first id of the page in each scheme, by scheme."""
    type: str | None = None
    """One of ``TYPES``; None if the page tells none."""
    n_malformed: int = 0
    """The number of id parameters whose value has a digit but is no valid id."""


NOTHING = Authority()
IDS, TYPE = "ids", "type"
"""The keys of an ``Authority`` in a document's metadata, with values as ``gnd:118529692
viaf:75121530`` and ``person``."""


def count_ids(authority: Authority) -> Counter[str]:
    """Count the ids and the type of a page for the report."""
    counters = Counter(f"ids.{scheme}" for scheme in authority.ids)
    counters["ids.pages"] = bool(authority.ids)
    counters["ids.malformed"] = authority.n_malformed
    if authority.type:
        counters[f"types.{authority.type}"] = 1
    return +counters


@dataclass(frozen=True, slots=True)
class AuthorityTable:
    """The authority templates and type categories of a wiki."""

    template: re.Pattern[str]
    """Matches the beginning of an authority template, to the end of its name."""
    schemes: Mapping[str, str]
    """The scheme of each id parameter, by the parameter's name in lower case."""
    types: Mapping[str, str]
    category: re.Pattern[str]
    """Matches a link to a category; its group is the category's name."""
    categories: tuple[tuple[str, re.Pattern[str]], ...]
    """Each type, with a pattern of the names of categories that tell it."""

    def read(self, wikitext: str) -> Authority:
        """Read the ids and the type of a page's subject."""
        ids: dict[str, str] = {}
        types: list[str] = []
        n_malformed = 0
        if self.template.search(wikitext):
            wikitext = _COMMENT.sub("", wikitext)
        for found in islice(self.template.finditer(wikitext), MAX_TEMPLATES):
            for name, value in _parameters(wikitext, found.end()):
                if name in _TYPE_PARAMETERS and (kind := self.types.get(value.lower())):
                    types.append(kind)
                scheme = self.schemes.get(name)
                if scheme is None or not value:
                    continue
                if (id := normalise(scheme, value)) is None:
                    n_malformed += any(map(str.isdigit, value))  # *no* and a dash are not malformed
                else:
                    ids.setdefault(scheme, id)
        if not types and self.categories:
            types += self._by_category(wikitext)
        return Authority(ids, next(iter(types), None), n_malformed)

    def _by_category(self, wikitext: str) -> Iterator[str]:
        found = (unescape(link[1]) for link in self.category.finditer(wikitext))
        names = [" ".join(name.split()) for name in found]
        for kind, pattern in self.categories:
            if any(pattern.fullmatch(name) for name in names):
                yield kind


def _parameters(text: str, start: int) -> Iterator[tuple[str, str]]:
    """Yield the named parameters of the template whose name ends at ``start``.

    Parameters of templates nested in it are left out.
    """
    depth, begin = 0, start
    for mark in _MARK.finditer(text, start, start + MAX_CHARACTERS):
        if depth == 0 and mark[0] in {"|", "}}"}:
            name, equals, value = text[begin : mark.start()].partition("=")
            if equals:
                yield name.strip().lower(), value.strip()
            begin = mark.end()
            if mark[0] == "}}":
                return
        elif mark[0] != "|":
            depth = max(0, depth + (1 if mark[0] in {"{{", "[["} else -1))


def normalise(scheme: str, value: str) -> str | None:
    """Return an id in its normal form, or None if it is malformed."""
    value = re.sub(r"\s+", "", value)
    if not _values()[scheme].fullmatch(value):
        return None
    if scheme == "lccn" and (parts := _LCCN.fullmatch(value)):
        return f"{parts[1]}{parts[2]}{parts[3]:0>6}"
    return value


def authority_table(codes: Sequence[str], more: Iterable[JsonObject] = ()) -> AuthorityTable:
    """Build the table of a wiki from ours under ``codes`` and the user's sections in ``more``."""
    table = read_table("authority")
    templates = [name for code in (*codes, "all") for name in table["templates"].get(code, ())]
    schemes = {name: scheme for scheme, names in table["parameters"].items() for name in names}
    types: dict[str, str] = dict(table["types"])
    of_codes = [table["categories"].get(code, {}) for code in codes]
    categories: list[Mapping[str, Sequence[str]]] = [
        *(section["categories"] for section in more if "categories" in section),
        *of_codes,
    ]
    for section in more:
        templates += section.get("templates", ())
        schemes |= {
            name.lower(): scheme
            for scheme, names in section.get("parameters", {}).items()
            for name in names
        }
        types |= {name.lower(): kind for name, kind in section.get("types", {}).items()}
    return AuthorityTable(
        _template_pattern(codes, templates),
        schemes,
        types,
        re.compile(rf"\[\[\s*+(?i:{namespace_pattern(codes, CATEGORY)})\s*+:([^\[\]|\n]++)"),
        tuple(
            (kind, re.compile("|".join(names)))
            for kind in TYPES
            if (names := [name for own in categories for name in own.get(kind, ())])
        ),
    )


def section_types() -> Mapping[str, object]:
    """Return the keys of the ``[authority]`` section of a user's table, and their types."""
    return {
        "templates": list[str],
        "parameters": dict.fromkeys(_values(), list[str]),
        "types": Mapping[str, Type],
        "categories": dict.fromkeys(TYPES, list[str]),
    }


def check_categories(section: JsonObject, *, source: str) -> None:
    """Check the patterns of a user's ``[authority]`` section; raises ``UsageError``."""
    for patterns in section.get("categories", {}).values():
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(
                    f"{source}: [authority.categories] {pattern!r}: {error}."
                ) from error


def _template_pattern(codes: Sequence[str], names: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern of the beginning of a template with one of these names.

    Spaces and underscores are the same, and the first letter may be small or capital.
    """
    either = "|".join(sorted({_name_pattern(name) for name in names}))
    space = namespace_pattern(codes, TEMPLATE)
    return re.compile(rf"\{{\{{\s*+(?:(?i:{space})\s*+:\s*+)?(?:{either})\s*+(?=[|}}])")


def _name_pattern(name: str) -> str:
    first, rest = name[:1], re.escape(name[1:]).replace(r"\ ", "[ _]+")
    return f"[{re.escape(first.upper() + first.lower())}]{rest}"


@cache
def _values() -> dict[str, re.Pattern[str]]:
    return {
        scheme: re.compile(pattern) for scheme, pattern in read_table("authority")["values"].items()
    }
