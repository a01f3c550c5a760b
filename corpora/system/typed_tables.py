"""Tables of TOML or JSON that users write, checked and converted where they are read.

The type of a field, or of a key, says what its value must be:

- ``str``, ``bool``, ``int``, ``float`` (a finite one), ``date``, ``None``, ``object`` (any value);
- ``Text``: a string that is not empty, as all strings in lists;
- ``Literal["a", "b"]``: one of these; ``A | B``: a value of either type;
- ``tuple[A, ...]``, ``frozenset[A]``, ``list[A]``: a list;
- ``Mapping[str, A]``: a table with any keys; a dataclass, or a mapping of keys to types: a table
  with these keys.
"""

import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, field, fields, is_dataclass
from datetime import date
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from corpora.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
Text = NewType("Text", str)
"""A string that is not empty."""
_LISTS = (tuple, frozenset, list)
_BOUNDS: Mapping[str, Callable[[float, float], bool]] = {
    "at_least": operator.ge,
    "above": operator.gt,
    "below": operator.lt,
    "at_most": operator.le,
}
"""Name of a bound to the comparison of a value with it that must be true."""
_AS_THEY_ARE = (str, bool, date, NoneType, object)
_NAMES = {
    str: "a string",
    Text: "a non-empty string",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    date: "a date without quotes, 2026-11-01",
}


class TableError(UsageError):
    """A table with an unknown key, without a needed one, or with a value of another type."""

    def __init__(self, where: object, key: str, why: str) -> None:
        super().__init__(f"{where}: {key}{why}")
        self.key, self.why = key, why


class _WrongTypeError(Exception):
    """A value has another type; the caller knows its key."""


def make(kind: type[T], table: Mapping[str, object], *, where: object) -> T:
    """Make a dataclass from a table, which must have all fields without a default.

    Raises ``TableError`` as ``check_table`` does.
    """
    hints = get_type_hints(kind)
    values = check_table(table, {f.name: hints[f.name] for f in fields(kind)}, where=where)
    for f in fields(kind):
        if f.name not in values and f.default is f.default_factory is MISSING:
            raise TableError(where, f.name, f": missing. It must be {_name(hints[f.name])}.")
    return kind(**values)


def check_table(
    table: Mapping[str, object], types: Mapping[str, object], *, where: object
) -> dict[str, Any]:  # Any: a value has the type that ``types`` gives for its key
    """Return the values of a table, converted to the types of their keys.

    Raises ``TableError`` for an unknown key or a wrong value. Its message begins with ``where`` and
    the keys of the tables around.
    """
    values = {}
    for key, value in table.items():
        if key not in types:
            why = f": unknown{did_you_mean(key, types)}. There are {', '.join(types)}."
            raise TableError(where, key, why)
        try:
            values[key] = _converted(value, types[key], where=f"{where}: {key}")
        except _WrongTypeError:
            why = f" = {value!r}: must be {_name(types[key])}."
            raise TableError(where, key, why) from None
    return values


def bounded(default: float | None, **bounds: float) -> Any:  # Any: as ``dataclasses.field``
    """Declare a number with bounds: ``at_least``, ``above``, ``below``, ``at_most``."""
    return field(default=default, metadata={"bounds": bounds})


def out_of_bounds(value: object, setting: "Field[object]") -> str:
    """Say what the value of a setting must be; empty for None, and a value within the bounds."""
    bounds = setting.metadata.get("bounds", {})
    if not isinstance(value, int | float) or all(
        _BOUNDS[name](value, bound) for name, bound in bounds.items()
    ):
        return ""
    if bounds.keys() == {"at_least", "at_most"}:
        return f"must be from {bounds['at_least']} to {bounds['at_most']:,}"
    return "must be " + " and ".join(f"{n.replace('_', ' ')} {at}" for n, at in bounds.items())


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean NAME?)`` with the most similar known name; empty if none is."""
    near = get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _converted(value: object, kind: object, *, where: str) -> object:
    """Convert a value to a type; raise ``_WrongTypeError`` if it has another."""
    if kind in _AS_THEY_ARE and isinstance(value, kind):
        return value
    origin, inner = get_origin(kind), get_args(kind)
    for one in inner if origin in {Union, UnionType} else ():
        with suppress(_WrongTypeError):
            return _converted(value, one, where=where)
    if origin in _LISTS and isinstance(value, list | tuple):
        item = Text if inner[0] is str else inner[0]
        return origin(_converted(one, item, where=where) for one in value)
    if isinstance(value, Mapping):
        if origin in {dict, Mapping}:
            return check_table(value, dict.fromkeys(value, inner[1]), where=where)
        if isinstance(kind, Mapping):
            return check_table(value, kind, where=where)
        if isinstance(kind, type) and is_dataclass(kind):
            return make(kind, value, where=where)
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_finite = abs(value) <= sys.float_info.max  # False for NaN, too
        if is_finite and (kind is float or (kind is int and int(value) == value)):
            return float(value) if kind is float else int(value)
    if (kind is Text and isinstance(value, str) and value) or (
        origin is Literal and value in inner
    ):
        return value
    raise _WrongTypeError


def _name(kind: object) -> str:
    """Return what messages call a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return " or ".join(_name(one) for one in inner if one is not NoneType)
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin in _LISTS:
        return f"a list, each item {_name(Text if inner[0] is str else inner[0])}"
    return next((name for of, name in _NAMES.items() if of is kind), "a table")
