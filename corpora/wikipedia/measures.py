"""Calls of ``{{convert}}``: their values and unit as a reader sees them, without the conversion.

The codes of units are those of Module:Convert (``measures.toml``).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from corpora.wikipedia.titles import decode, read_table

_DIGITS = r"(?:\d[\d,.]*|\.\d+)"
_NUMBER = re.compile(rf"[-−+]?(?:{_DIGITS}[¼-¾⅐-⅞]?|[¼-¾⅐-⅞])")
_SCIENTIFIC = re.compile(rf"([-−+]?{_DIGITS})[eE][+]?([-−]?\d+)")
_FRACTION = re.compile(r"([-−+]?)(?:(\d+)\s?[-+ ]\s?)?(\d+)\s?(?://?|⁄)\s?(\d+)")
_RANGE = re.compile(r"(\S+?)\s?([-–—])\s?(\S+)")
_SCALED = re.compile(r"e(3|6|9|12|15)([^\W\d].*)")
_SCALES = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion", "15": "quadrillion"}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_OUTPUT_ONLY = frozenset({"number", "out", "output number only", "output only"})
_TOUCHING = ("%", "/", "×")


class NotShownError(ValueError):
    """A call whose text is not known: wrong, of an unknown unit, or with its result only."""


class Measure(NamedTuple):
    """A unit as it is written: its symbol, and its name after one and after several."""

    symbol: str
    singular: str
    plural: str


class MeasureTable(NamedTuple):
    """The sections of ``measures.toml``, by the codes of units."""

    multiplied: Sequence[str]
    aliases: Mapping[str, str]
    units: Mapping[str, Sequence[str]]
    prefixable: Mapping[str, Sequence[str]]
    prefixes: Mapping[str, str]
    multiples: Mapping[str, str]
    parts: Mapping[str, Sequence[str]]
    ranges: Mapping[str, Sequence[str]]


class UnitStyle(NamedTuple):
    """The way in which a call wants its units: with names, as an adjective, in American English."""

    is_named: bool
    is_adjective: bool
    is_american: bool

    def name(self, unit: Measure, amount: str) -> str:
        """Return a unit as it stands after an amount."""
        if not self.is_named:
            return unit.symbol
        is_one = amount.lstrip("−") == "1" or amount.lstrip("−").startswith("1⁄")
        name = unit.singular if self.is_adjective or is_one else unit.plural
        if self.is_american:
            name = name.replace("metre", "meter").replace("litre", "liter")
        return name.replace(" ", "-") if self.is_adjective else name

    def quantity(self, amount: str, unit: Measure) -> str:
        """Return an amount with its unit."""
        name = self.name(unit, amount)
        is_touching = name == "°" or name.startswith(_TOUCHING)
        gap = "-" if self.is_adjective and name != unit.symbol else " "
        amount = amount.replace(" ", gap)
        return f"{amount}{name}" if is_touching else f"{amount}{gap}{name}"


def show_quantity(values: Sequence[str], options: Mapping[str, str], *, has_names: bool) -> str:
    """Show the values and unit of a call, from its positional and named parameters.

    ``has_names``: units have their English names, unless the options ask for symbols. Raises
    ``NotShownError``.
    """
    values = [decode(value).replace("\u00a0", " ").strip() for value in values]
    options = {name: option.strip() for name, option in options.items()}
    display = options.get("disp", "")
    if display in _OUTPUT_ONLY:
        raise NotShownError(display)
    abbreviation = options.get("abbr", "")
    if "flip" in (options.get("disp"), options.get("order")):
        is_named = abbreviation in ("off", "in")  # the conversion stands before it
    else:
        is_named = abbreviation not in ("on", "in")
    is_adjective = options.get("adj", options.get("sing")) in ("on", "mid")
    style = UnitStyle(has_names and is_named, is_adjective, options.get("sp") == "us")
    amount, rest = _amount(values, is_named=style.is_named)
    if display.startswith("table") or options.get("abbr") == "values":
        return amount
    if display == "unit":
        return style.name(_unit(rest[0]), amount)
    shown, last = [style.quantity(amount, _unit(rest[0]))], 0
    while rest[last + 2 : last + 3] and rest[last + 2] in _parts(rest[last]):
        last += 2
        shown.append(style.quantity(_value(rest[last - 1]), _unit(rest[last])))
    rest = rest[last:]
    if any(value in _table().ranges for value in rest[1:]):
        raise NotShownError("a range of several units")
    return " ".join(shown) + (rest[-1] if options.get("adj") == "mid" and len(rest) > 1 else "")


@cache
def _table() -> MeasureTable:
    return MeasureTable(**read_table("measures"))


def _amount(values: Sequence[str], *, is_named: bool) -> tuple[str, Sequence[str]]:
    """Return the values before the unit, with the words or signs between them, and what follows."""
    ranges = _table().ranges
    shown = [_value(values[0] if values else "")]
    position = 1
    while position + 1 < len(values) and values[position] in ranges:
        shown += [ranges[values[position]][not is_named], _value(values[position + 1])]
        position += 2
    if position >= len(values):
        raise NotShownError("no unit")
    return "".join(shown), values[position:]


def _value(value: str) -> str:
    """Return a value as it is written in text; raises ``NotShownError`` if it is no number."""
    if _NUMBER.fullmatch(value):
        return value.replace("-", "−")
    if number := _SCIENTIFIC.fullmatch(value):
        return f"{number[1]}×10<sup>{number[2]}</sup>".replace("-", "−")
    if number := _FRACTION.fullmatch(value):
        whole = f"{number[2]} " if number[2] else ""
        return f"{number[1]}{whole}{number[3]}⁄{number[4]}".replace("-", "−")
    if number := _RANGE.fullmatch(value):
        return f"{_value(number[1])}–{_value(number[3])}"
    raise NotShownError(value)


def _parts(code: str) -> Sequence[str]:
    """Return the units of which some may follow a unit: inches after feet."""
    table = _table()
    return table.parts.get(table.aliases.get(code, code), ())


@cache
def _unit(code: str) -> Measure:
    """Look up a unit; raises ``NotShownError``.

    >>> _unit("e6km2").plural
    'million square kilometres'
    """
    table = _table()
    code = table.aliases.get(code, code)
    if row := table.units.get(code) or table.prefixable.get(code):
        return Measure(row[0] or row[-1], row[-2] if len(row) > 1 else row[0], row[-1])
    for length in (1, 2):
        prefix, base = table.prefixes.get(code[:length]), table.prefixable.get(code[length:])
        if prefix and base:
            names = (re.sub(r"\w+$|\w+-\w+$", rf"{prefix}\g<0>", name) for name in base[1:])
            return Measure(code[:length].replace("u", "μ") + base[0], *names)
    if scaled := _SCALED.fullmatch(code):
        inner, scale = _unit(scaled[2]), _SCALES[scaled[1]]
        is_word = inner.symbol == inner.plural
        symbol = (
            f"{scale} {inner.symbol}" if is_word else f"×10<sup>{scaled[1]}</sup> {inner.symbol}"
        )
        return Measure(symbol, f"{scale} {inner.singular}", f"{scale} {inner.plural}")
    if code[:1] in table.multiples and code[1:] in table.multiplied:
        scale, inner = table.multiples[code[0]], _unit(code[1:])
        return Measure(*(f"{scale} {name}" for name in inner))
    whole, slash, divisor = code.rpartition("/")
    if slash and divisor:
        return _ratio(_unit(whole) if whole else Measure("", "", ""), _unit(divisor))
    if _NOT_ASCII.search(code):  # a name in the wiki's language
        return Measure(code, code, code)
    raise NotShownError(code)


def _ratio(unit: Measure, divisor: Measure) -> Measure:
    symbol = f"{unit.symbol}/{divisor.symbol}".replace("//", "/")
    return Measure(symbol, *(f"{name} per {divisor.singular}".strip() for name in unit[1:]))
