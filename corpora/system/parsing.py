"""Parsing of untrusted JSON and TOML, where any fault becomes one clear error."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from corpora.errors import CorpusError, UsageError

MAX_DOTS = 1000
"""The most dots in a line of TOML: the time to parse a key is quadratic in its parts."""


T = TypeVar("T")
JsonObject = Mapping[str, Any]
"""A JSON object or a TOML table.

Any: each reader knows the fields that it reads, and checks them if a user wrote them.
"""


class ParseError(CorpusError, ValueError):
    """A text that is not JSON or not accepted.

    It may be nested too deep, have a number of too many digits, or values of another type.
    """


def parse_json(text: str | bytes, *, strict: bool = True) -> Any:  # Any: as ``json.loads``
    """Parse JSON as ``json.loads`` does; raises ``ParseError``, which says why but not where."""
    try:
        return json.loads(text, strict=strict)
    except RecursionError as error:
        raise ParseError("nested too deep") from error
    except ValueError as error:
        raise ParseError(_why(error)) from error


def typed(kind: type[T], values: object) -> T:
    """Convert JSON values to a type, such as a dataclass, and check them.

    Keys that the type does not have are left out. Raises ``ParseError``, and what the
    ``__post_init__`` of a dataclass raises besides ``ValueError`` and ``TypeError``.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ParseError(f"{error}") from error


def read_json(path: Path) -> Any:  # Any: as ``json.loads``
    """Parse a JSON file; raises ``ParseError`` with its name, ``OSError`` where it is missing."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ParseError(f"{path}: damaged ({error}). Make it, or copy it, again.") from error


def parse_toml(text: str, *, where: object) -> dict[str, Any]:  # Any: as ``tomllib.loads``
    """Parse TOML; the message of a ``UsageError`` begins with ``where``, and the line if known.

    A byte order mark at the beginning is ignored.
    """
    text = text.removeprefix("\ufeff")
    for number, written in enumerate(text.split("\n"), 1):  # a key may hold other line breaks
        if written.count(".") > MAX_DOTS:
            raise UsageError(f"{where}:{number}: more than {MAX_DOTS:,} dots in a line. Break it.")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{where}: cannot be read (nested too deep).") from error
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"at line (\d+)", str(error))
        line = int(match[1]) if match else text.count("\n") + 1
        raise UsageError(f"{where}:{line}: not valid TOML ({error}).") from error
    except ValueError as error:
        raise UsageError(f"{where}: cannot be read ({_why(error)}).") from error


def read_toml(path: Path, *, where: object = None) -> Mapping[str, object]:
    """Parse a TOML file; the message of a ``UsageError`` begins with ``where``, or the path."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"), where=where or path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where or path}: cannot be read ({error}).") from error


def _why(error: ValueError) -> str:
    """Return the message of an error, without Python's advice about long numbers."""
    return (
        "a number of too many digits" if "integer string conversion" in str(error) else f"{error}"
    )
