"""Templates that carry a value show it; tables of data say how (``templates/<lang>.toml``).

Those that the dump itself defines as text with parameters are read by ``definitions.py``;
``structure.py`` finds calls in a page, and puts the text of either in their place.

A recipe is text with fields: ``{2}`` the second positional parameter, ``{name}`` a named one,
``{1|name}`` the first that is not empty, ``{*}`` all positional ones joined by ", ", ``{2*}`` those
from the second on, ``{date:1,2,3}``, ``{american:1,2,3}`` (a date with the month first),
``{age:1,2,3,4,5,6}``, ``{convert}`` (``{convert:names}``: units with English names), ``{coord}``,
``{fraction}``. What stands in ``[ ]`` shows only
if a field in it is not empty; of ``[ | ]`` the first part of which this holds. ``{?name}`` shows
nothing, and only such fields count where there are any. A backslash makes the next character plain.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import get_type_hints

from corpora.errors import UsageError
from corpora.system.parsing import JsonObject, parse_toml, read_toml
from corpora.system.typed_tables import check_table
from corpora.wikipedia.authority import (
    AuthorityTable,
    authority_table,
    check_categories,
    section_types,
)
from corpora.wikipedia.definitions import Categories, Definitions, Parts
from corpora.wikipedia.disambiguation import signs_of
from corpora.wikipedia.measures import NotShownError, show_quantity
from corpora.wikipedia.parser_functions import FUNCTIONS
from corpora.wikipedia.titles import TEMPLATE, namespace_names, upper_first

_FIELD = re.compile(r"\\(.)|\{([^{}]*)\}|([\[\]|])", re.DOTALL)
_PARAMETER = re.compile(r"([^=<>\[\]{}|]*+)=")
_OPEN_OR_CLOSE = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")
_HEMISPHERES = "NSEWOÖV"
_DAY = re.compile(r"\d{1,4}")
_DECIMAL = re.compile(r"[-−]?\d+(?:\.\d+)?")
PIPE = "\x07"
"""Stands for the pipe that ``{{!}}`` shows, so that it does not separate parameters."""
_SUBST = re.compile(r"^\s*(?:safe)?subst:", re.IGNORECASE)
_OF_LANGUAGE = re.compile(r"Lang-(?!rtl)[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*\d?")
_ANY_LANGUAGE = "Lang-xx"
"""The recipe of each ``{{lang-xx}}`` for which the wiki's own tables have none."""
_MAX_ACTIONS = 50_000  # treatments in the cache
_VARIABLES = {"!": PIPE, "=": "=", "((": "{{{{", "))": "}}}}"} | dict.fromkeys(
    ("PAGENAME", "FULLPAGENAME", "BASEPAGENAME", "SUBJECTPAGENAME", "ARTICLEPAGENAME"), "{title}"
)
_STRING_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "formatnum": str,
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda text: text[:1].lower() + text[1:],
    "ucfirst": upper_first,
}
_SHOWING = frozenset({"gender", "grammar", "int", "padleft", "padright", "plural"})
"""Functions that show text, which may be in capitals like those that show none."""
_MAX_DIGITS = 5  # a number of a parameter has fewer digits
_FOOTNOTES = ("text", "short", "several", "named")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """The way in which a language writes a date."""

    months: tuple[str, ...] = ()
    format: str = "{year}-{month}-{day}"
    month_format: str = "{year}-{month}"
    american_format: str = ""
    """The format where a template puts the month first; empty: as ``format``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A template as it stands in a text: its parameters, already rendered."""

    positional: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    today: str = ""
    """The date of the page's revision, ISO 8601."""

    def get(self, name: str) -> str:
        """Return a parameter by number or name, stripped; empty if it is missing."""
        return (self.given(name) or "").strip()

    def given(self, name: str) -> str | None:
        """Return a parameter by number or name, or None, as MediaWiki passes it on.

        A named parameter is stripped, a positional one keeps its white space.
        """
        if name in self.named:
            return self.named[name].strip()
        number = int(name) if name.isdecimal() and len(name) < _MAX_DIGITS else 0
        return self.positional[number - 1] if 1 <= number <= len(self.positional) else None


@dataclass(frozen=True, slots=True)
class Treatment:
    """The treatment of a template."""

    kind: str
    """``show``, ``expand``, ``evaluate`` (parser functions), ``drop``, ``silent`` (leaves no hole),
    ``disambiguation`` or ``reference``."""
    name: str
    function: str = ""
    """The name of the parser function, if it is one; the text after its colon is in
    ``argument``."""
    argument: str = ""
    definition: Parts | None = None
    """The parsed definition that is expanded; None for other kinds."""
    asked: str = ""
    """The name that was looked up in the dump's definitions; empty if none was."""
    categories: Categories | None = None
    """The categories that a template adds whose definition is not expanded."""
    footnote: str = ""
    """The kind of footnote that a silent template makes (``Aside.footnote``), if any."""


@dataclass(frozen=True, slots=True)
class TemplateTable:
    """The recipes of a wiki's templates; names begin with a capital and have no underscores."""

    render: Mapping[str, str]
    silent: frozenset[str]
    disambiguation: frozenset[str]
    dates: Dates
    prefixes: frozenset[str] = frozenset()
    """The names of the template namespace, in lower case."""
    authority: AuthorityTable = field(default_factory=lambda: authority_table(()), compare=False)
    """The templates and categories that tell who or what a page is about."""
    definitions: Definitions | None = None
    """The definitions in the dump, for templates that are in no table; None: not used."""
    footnotes: Mapping[str, str] = field(default_factory=dict)
    """The kind of footnote that each of some silent templates makes."""
    _actions: dict[str, Treatment] = field(default_factory=dict, compare=False, repr=False)

    def action(self, raw: str) -> Treatment:
        """Look up the treatment of a template by its text up to the first pipe."""
        action = self._actions.get(raw)
        if action is None:
            if len(self._actions) > _MAX_ACTIONS:
                self._actions.clear()
            action = self._actions[raw] = self._choose(raw)
        return action

    def _choose(self, raw: str) -> Treatment:
        raw = _SUBST.sub("", raw)
        prefix, colon, rest = raw.partition(":")
        if colon and prefix.strip().lower() in self.prefixes:
            raw = rest
        name = template_name(raw)
        if action := self._known(name):
            return action
        function, colon, argument = raw.strip().partition(":")
        if colon and function:
            if function.lower() in _STRING_FUNCTIONS:
                return Treatment("show", function, function.lower(), argument)
            if function.lower() in FUNCTIONS:
                return Treatment("evaluate", function.lower(), function.lower(), argument)
            if function.lower() == "#tag":
                return Treatment("reference" if argument.strip() == "ref" else "drop", "#tag")
            name = function if function[0] == "#" else name
            if function.isupper() and function.lower() not in (function, *_SHOWING):
                return Treatment("silent", name)  # {{DEFAULTSORT:…}}, in any language
        is_of_language = _OF_LANGUAGE.fullmatch(name) and name not in self.silent
        if is_of_language and _ANY_LANGUAGE in self.render:  # no recipes: of another extractor
            return Treatment("show", _ANY_LANGUAGE)
        return self._named(name)

    def _known(self, name: str) -> Treatment | None:
        if name in self.disambiguation:
            return Treatment("disambiguation", name)
        return Treatment("show", name) if name in self.render or name in _VARIABLES else None

    def _named(self, name: str) -> Treatment:
        """Choose the treatment of a template that no table shows, by the dump's definitions."""
        action = Treatment("drop", name[:80])
        if name in self.silent:
            action = Treatment("silent", name, footnote=self.footnotes.get(name, ""))
        if self.definitions is None:
            return action
        found = self.definitions.find(name)
        if isinstance(found, Categories):
            return replace(action, categories=found, asked=name)
        if name in self.silent:
            return replace(action, asked=name)
        if isinstance(found, tuple):
            return Treatment("expand", name[:80], definition=found, asked=name)
        if found and (known := self._known(found)):
            return replace(known, asked=name)
        return Treatment("silent" if found in self.silent else "drop", name[:80], asked=name)

    def show(self, action: Treatment, inside: str, *, title: str, today: str) -> str | None:
        """Show a template by its recipe; ``inside`` is its text after the name and pipe.

        None if the recipe does not know its text.
        """
        if action.function:
            return _STRING_FUNCTIONS[action.function](split_parts(inside)[0].strip())
        if action.name in self.render:
            call = split_call(inside, today)
            try:
                return _show(_parsed(self.render[action.name]), call, self.dates).lstrip(",;")
            except NotShownError:
                return None
        return _VARIABLES[action.name].format(title=title)


def template_name(raw: str) -> str:
    """Bring a template's name into one form.

    >>> template_name("nowrap_begin ")
    'Nowrap begin'
    """
    return upper_first(" ".join(raw.replace("_", " ").split()))


def split_parts(inside: str) -> list[str]:
    """Split at pipes that stand outside of links and templates."""
    if "[[" not in inside and "{{" not in inside:
        return inside.split("|")
    parts: list[str] = []
    start = depth = 0
    for mark in _OPEN_OR_CLOSE.finditer(inside):
        if mark[0] == "|":
            if depth == 0:
                parts.append(inside[start : mark.start()])
                start = mark.end()
        else:
            depth = max(0, depth + (1 if mark[0] in ("{{", "[[") else -1))
    parts.append(inside[start:])
    return parts


def split_call(inside: str, today: str = "") -> Call:
    """Parse the parameters of a template."""
    positional: list[str] = []
    named: dict[str, str] = {}
    for part in split_parts(inside) if inside else ():
        if (name := _PARAMETER.match(part)) and name[1].strip():
            named[name[1].strip()] = part[name.end() :]
        else:
            positional.append(part)
    return Call(tuple(positional), named, today)


Recipe = tuple["Part", ...]
Part = str | list[str] | tuple[Recipe, ...]
"""A part of a recipe: text is a string, a field a list of its expression, ``[ … ]`` a tuple of the
recipes in it."""


@cache
def _parsed(recipe: str) -> Recipe:
    stack: list[list[list[Part]]] = [[[]]]
    position = 0
    for mark in _FIELD.finditer(recipe):
        stack[-1][-1].append(recipe[position : mark.start()])
        position = mark.end()
        if mark[1]:
            stack[-1][-1].append(mark[1])
        elif mark[3] == "[":
            stack.append([[]])
        elif mark[3] == "|":
            if len(stack) > 1:
                stack[-1].append([])
            else:
                stack[-1][-1].append("|")
        elif mark[3] == "]" and len(stack) > 1:
            choices = tuple(map(tuple, stack.pop()))
            stack[-1][-1].append(choices)
        elif mark[2] is not None:
            stack[-1][-1].append([mark[2]])
    stack[-1][-1].append(recipe[position:])
    if len(stack) > 1:
        raise UsageError(f"template recipe {recipe!r}: a [ is not closed.")
    return tuple(stack[0][0])


def _show(recipe: Recipe, call: Call, dates: Dates) -> str:
    shown = []
    for part in recipe:
        if isinstance(part, str):
            shown.append(part)
        elif isinstance(part, list):
            shown.append("" if part[0].startswith("?") else _field(part[0], call, dates))
        else:
            for choice in part:
                if _holds(choice, call, dates):
                    shown.append(_show(choice, call, dates))
                    break
    return "".join(shown)


def _holds(choice: Recipe, call: Call, dates: Dates) -> bool:
    fields = [part[0] for part in choice if isinstance(part, list)]
    asked = [name for name in fields if name.startswith("?")]
    return any(_field(name, call, dates) for name in asked or fields)


def _field(expression: str, call: Call, dates: Dates) -> str:
    name, colon, arguments = expression.partition(":")
    if name in _FUNCTIONS and (colon or name in ("convert", "coord", "fraction")):
        values = [call.get(a.strip()) for a in arguments.split(",")] if colon else []
        return _FUNCTIONS[name](values, call, dates)
    for alternative in expression.removeprefix("?").split("|"):
        key = alternative.strip()
        if key.endswith("*"):
            first = int(key[:-1] or 1)
            value = ", ".join(p.strip() for p in call.positional[first - 1 :] if p.strip())
        else:
            value = call.get(key)
        if value:
            return value
    return ""


def _date(values: Sequence[str], call: Call, dates: Dates) -> str:
    """Write a date, with the month first for ``df=US``."""
    is_american = call.get("df").upper() == "US"
    return _written(values, dates.american_format if is_american else "", dates)


def _american_date(values: Sequence[str], call: Call, dates: Dates) -> str:
    """Write a date with the month first, except with ``df=yes``."""
    is_other = call.get("df").upper() not in {"", "US"}
    return _written(values, dates.format if is_other else dates.american_format, dates)


def _written(values: Sequence[str], form: str, dates: Dates) -> str:
    year, month, day = (*values, "", "", "")[:3]
    if not month:
        return year
    if _DAY.fullmatch(month) and 1 <= int(month) <= len(dates.months):
        month = dates.months[int(month) - 1]
    if not day:
        return dates.month_format.format(year=year, month=month).strip()
    if _DAY.fullmatch(day) and dates.months:
        day = str(int(day))
    return (form or dates.format).format(year=year, month=month, day=day).strip(" ,")


def _age(values: Sequence[str], call: Call, _: Dates) -> str:
    """Compute the years between two dates; the second defaults to the date of the revision."""
    until = [v for v in values[3:6] if v] or call.today[:10].split("-")
    try:
        born = tuple(int(v) for v in values[:3] if v)
        end = tuple(int(v) for v in until)
        n = min(len(born), len(end))
        return str(end[0] - born[0] - (end[1:n] < born[1:n])) if n else ""
    except ValueError:  # no number, or one of thousands of digits
        return ""


def _convert(values: Sequence[str], call: Call, _: Dates) -> str:
    """Show values and their unit, without the conversion; ``{convert:names}`` with its name."""
    return show_quantity(call.positional, call.named, has_names=bool(values))


def _coord(_: Sequence[str], call: Call, __: Dates) -> str:
    """Show degrees, minutes, seconds and hemispheres as written."""
    display = call.get("display")
    if display and "inline" not in display and display != "i":
        return ""
    values = [p.strip() for p in call.positional]
    if not any(value and value in _HEMISPHERES for value in values):
        return ", ".join(f"{value}°" for value in values[:2] if _DECIMAL.fullmatch(value))
    shown: list[str] = [""]
    unit = 0
    for value in values:
        if value and value in _HEMISPHERES:
            shown[-1] += value
            if len(shown) == 2:
                break
            shown.append("")
            unit = 0
        elif _DECIMAL.fullmatch(value) and unit < 3:
            shown[-1] += value + "°′″"[unit]
            unit += 1
        else:
            break
    return " ".join(filter(None, shown))


def _fraction(_: Sequence[str], call: Call, __: Dates) -> str:
    """Show a fraction: of one number its reciprocal, of three the first is the whole part."""
    match [part for part in map(str.strip, call.positional) if part]:
        case [under]:
            return f"1⁄{under}"
        case [over, under]:
            return f"{over}⁄{under}"
        case [whole, over, under, *_]:
            return f"{whole} {over}⁄{under}"
    return ""


_FUNCTIONS: Mapping[str, Callable[[Sequence[str], Call, Dates], str]] = {
    "date": _date,
    "american": _american_date,
    "age": _age,
    "convert": _convert,
    "coord": _coord,
    "fraction": _fraction,
}


def load_templates(codes: str | Sequence[str], extra: Sequence[Path] = ()) -> TemplateTable:
    """Read the tables of a wiki: the common one, its own, and the user's; the last wins.

    ``codes`` are the names that its own may have (``Wiki.codes``), the most special first.
    """
    codes = (codes,) if isinstance(codes, str) else tuple(codes)
    tables = [*_tables(("common", *reversed(codes))), *map(_read_file, extra)]
    render: dict[str, str] = {}
    silent: set[str] = set()
    disambiguation = set(signs_of(codes).templates)
    dates: JsonObject = {}
    footnotes: dict[str, str] = {}
    for table in tables:
        names = {template_name(name): recipe for name, recipe in table.get("render", {}).items()}
        quiet = {template_name(name) for name in table.get("silent", {}).get("names", ())}
        for kind, some in table.get("footnotes", {}).items():
            footnotes |= dict.fromkeys(map(template_name, some), kind)
            quiet |= set(map(template_name, some))
        render = {name: r for name, r in render.items() if name not in quiet} | names
        silent = (silent - names.keys()) | quiet
        pages = table.get("disambiguation", {}).get("names", ())
        disambiguation |= {template_name(name) for name in pages}
        dates = {**dates, **table.get("dates", {})}
    return TemplateTable(
        render=render,
        silent=frozenset(silent),
        disambiguation=frozenset(disambiguation),
        dates=Dates(**dates),
        prefixes=frozenset(namespace_names(codes, TEMPLATE)),
        authority=authority_table(codes, [t["authority"] for t in tables if "authority" in t]),
        footnotes=footnotes,
    )


def _tables(names: Iterable[str]) -> Iterator[JsonObject]:
    """Yield our own tables of these names, as far as they exist."""
    for name in names:
        if has_templates(name):
            source = f"{name}.toml"
            table = parse_toml(_resource(name).read_text("utf-8"), where=source)
            yield _checked(table, source=source)


def has_templates(code: str) -> bool:
    """Tell whether a table of templates with this name exists."""
    return re.fullmatch(r"[a-z-]+", code) is not None and _resource(code).is_file()


def _resource(code: str) -> Traversable:
    return files("corpora") / "wikipedia" / "templates" / f"{code}.toml"


def _read_file(path: Path) -> JsonObject:
    where = f"--templates {path}"
    return _checked(read_toml(path, where=where), source=where)


def _checked(read: Mapping[str, object], *, source: str) -> JsonObject:
    """Return the checked values of a table; raises ``UsageError`` for invalid entries."""
    names = {"names": list[str]}
    types = {
        "render": Mapping[str, str],
        "dates": get_type_hints(Dates),
        "silent": names,
        "disambiguation": names,
        "authority": section_types(),
        "footnotes": dict.fromkeys(_FOOTNOTES, list[str]),
    }
    table = check_table(read, types, where=source)
    for recipe in table.get("render", {}).values():
        _parsed(recipe)
    check_categories(table.get("authority", {}), source=source)
    return table
