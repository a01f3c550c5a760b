"""Ids of authority files, recognised by the scheme that a register names, or by their address."""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import quote

from corpora.registers.entry import AuthorityId
from corpora.system.parsing import parse_toml

_ADDRESS = re.compile(r"https?://[^\s/]+\S*")


class _Schemes(NamedTuple):
    by_name: dict[str, str]
    addresses: list[tuple[str, re.Pattern[str]]]
    links: dict[str, str]


@cache
def _schemes() -> _Schemes:
    file = files("corpora") / "registers" / "schemes.toml"
    table = parse_toml(file.read_text("utf-8"), where=file)
    return _Schemes(
        {name: scheme for scheme, row in table.items() for name in row["names"]},
        [(scheme, re.compile(row["address"])) for scheme, row in table.items()],
        {scheme: row["link"] for scheme, row in table.items()},
    )


def read_id(text: str, *, types: tuple[str, ...] = ()) -> AuthorityId | None:
    """Parse an id; ``types`` are the register's names for its scheme, the most specific last.

    An address of no known scheme is an id of the scheme ``url``, or of its type if it has one. None
    if the text is empty, or nothing tells the scheme.
    """
    text = text.strip()
    if not text:
        return None
    schemes = _schemes()
    for scheme, address in schemes.addresses if "/" in text else ():
        if match := address.search(text):
            return AuthorityId(scheme, match[1])
    named = [name for name in map(_plain, types) if name and name not in _GENERAL]
    for name in reversed(named):
        if name in schemes.by_name:
            return AuthorityId(schemes.by_name[name], text)
    if named:
        return AuthorityId(named[-1], text)
    return AuthorityId("url", text) if _ADDRESS.fullmatch(text) else None


def address_of(id: AuthorityId) -> str | None:
    """Return the address of an id; None if its scheme is unknown."""
    if _ADDRESS.fullmatch(id.id):
        return id.id
    link = _schemes().links.get(id.scheme)
    return link.format(quote(id.id, safe="/")) if link else None


_GENERAL = {"url", "uri", "id", "idno"}
"""The types of ids that name no scheme."""


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]+", "", name).lower()
