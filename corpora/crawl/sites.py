"""``sites.toml``: which sites are crawled, where their articles are found, and within which bounds.

The keys of ``[defaults]`` apply to every ``[[site]]`` that does not have them. An unknown key, a
value of the wrong type and a duplicate site are errors that name the place.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from inspect import formatannotation
from pathlib import Path
from typing import Any

from corpora.crawl.addresses import literal
from corpora.crawl.types import ANY_ADDRESS, SitePolicy
from corpora.crawl.urls import BadUrlError, parse_url, split_host
from corpora.errors import UsageError
from corpora.system.parsing import parse_toml

FINDERS = ("sitemap", "feed", "recursive", "recursive_sitemap")


@dataclass(frozen=True, kw_only=True)
class Site:
    """A site of the table; ``policy`` is the part of its row that the fetcher needs."""

    url: str
    """The front page of the site, or of a section."""
    policy: SitePolicy
    find: tuple[str, ...] = ()
    """Some of ``FINDERS``; empty: ``sitemap`` and ``feed``, then ``recursive`` if these name no
    article."""
    sitemaps: tuple[str, ...] = ()
    """The sitemaps; empty: those of robots.txt, else the two usual addresses."""
    feeds: tuple[str, ...] = ()
    """The feeds; empty: those that the front page declares."""
    include: tuple[str, ...] = ()
    """Patterns of the pages to fetch (``*/politik/*``); empty: all pages of the site."""
    exclude: tuple[str, ...] = ()
    """Patterns of the pages not to fetch."""
    since: datetime | None = None
    """Entries of sitemaps and feeds with an earlier date are passed over; None: no entries are."""

    @property
    def name(self) -> str:
        """The name in counts and reports: the host, without ``www.``."""
        return self.policy.name

    def wants(self, url: str) -> bool:
        """Tell whether ``include`` and ``exclude`` let an address through."""
        if self.include and not any(fnmatchcase(url, pattern) for pattern in self.include):
            return False
        return not any(fnmatchcase(url, pattern) for pattern in self.exclude)


def read_sites(path: Path, *, allow_private: bool = False) -> tuple[Site, ...]:
    """Read a table of sites; ``allow_private`` allows all addresses, whatever the table says.

    Raises ``UsageError`` with the file, the site and the key.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}).") from error
    table = parse_toml(text, where=path)
    _check_keys(table, ("contact", "defaults", "site"), where=str(path))
    contact = table.get("contact")
    if not isinstance(contact, str):
        raise UsageError(
            f"{path}: no contact. Write your address of mail or of a page, so that those who run "
            'the sites can reach you: contact = "you@example.org"'
        )
    defaults, rows = table.get("defaults", {}), table.get("site", [])
    if not isinstance(defaults, dict):
        raise UsageError(f"{path}: defaults: must be a table, [defaults].")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path}: no sites. Write for each [[site]] and url = …")
    common = _read_keys(defaults, KEYS.keys() - _OF_ONE, where=f"{path}: [defaults]")
    more = {"contact": contact} | ({"allow_private": ANY_ADDRESS} if allow_private else {})
    sites: dict[str, Site] = {}
    for number, row in enumerate(rows, start=1):
        where = f"{path}: site {number}"
        site = _site(common | _read_keys(row, KEYS, where=where) | more, where=where)
        if sites.setdefault(site.name, site) is not site:
            raise UsageError(
                f"{path}: {site.name} is named by two sites. Make one of them; what is wanted of "
                "it is said with feeds, sitemaps, include."
            )
    return tuple(sites.values())


def _site(values: dict[str, Any], *, where: str) -> Site:  # Any: ``KEYS`` has checked each
    if "url" not in values:
        raise UsageError(f"{where}: no url. Write that of its front page.")
    where = f"{where} ({values['url']})"
    for url in (values["url"], *values.get("sitemaps", ()), *values.get("feeds", ())):
        try:
            parse_url(url)
        except BadUrlError as error:
            raise UsageError(
                f"{where}: {url!r} is no address of a page ({error}): https://www.example.org/"
            ) from error
    authority = parse_url(values["url"]).authority
    rest = authority.removeprefix("www.")
    own_host = rest if "." in rest else authority  # "www.de" must not become "de"
    more = (_host(host, where=where) for host in values.pop("hosts", ()))
    hosts = tuple(dict.fromkeys((own_host, *more)))
    policy = {name: values.pop(name) for name in _POLICY if name in values}
    try:
        return Site(policy=SitePolicy(name=own_host, hosts=hosts, **policy), **values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _host(host: str, *, where: str) -> str:
    """Normalize one of ``hosts``; raise ``UsageError`` for what is no host."""
    text = f"[{host}]" if literal(host) and ":" in host else host
    try:
        target = parse_url(f"http://{text}/") if not set(host) & set("/?#") else None
    except BadUrlError:
        target = None
    if target is None:
        raise UsageError(f"{where}: hosts: {host!r} is no host: example.org, 127.0.0.1:8080")
    name, port = dataclasses.replace(target, port=80).authority, split_host(text)[1]
    return f"{name}:{port}" if port else name


def _check_keys(table: Mapping[str, object], known: Collection[str], *, where: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{where}: {key}: unknown. There are {', '.join(sorted(known))}.")


def _read_keys(
    table: Mapping[str, object], known: Collection[str], *, where: str
) -> dict[str, object]:
    """Check the keys and values of a table, and convert the values as ``KEYS`` says."""
    _check_keys(table, known, where=where)
    values = {}
    for key, value in table.items():
        expected, read = KEYS[key]
        values[key] = read(value)
        if values[key] is None:
            raise UsageError(f"{where}: {key} = {value!r}: must be {expected}.")
    return values


def _texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    return None


def _finders(value: object) -> tuple[str, ...] | None:
    names = _texts(value)
    return None if names is None or set(names) - set(FINDERS) else tuple(dict.fromkeys(names))


def _private(value: object) -> tuple[str, ...] | None:
    return (ANY_ADDRESS if value else ()) if isinstance(value, bool) else _texts(value)


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime(*value.timetuple()[:3], tzinfo=UTC) if isinstance(value, date) else None


def _one_of(*types: type) -> Callable[[object], object]:
    return lambda value: value if type(value) in types and value != "" else None


_READERS: Mapping[str, tuple[str, Callable[[object], object]]] = {
    "str": ("a text", _one_of(str)),
    "float": ("a number", _one_of(int, float)),
    "int": ("a whole number", _one_of(int)),
    "bool": ("true or false", _one_of(bool)),
    "tuple[str, ...]": ('a list of texts, ["…"]', _texts),
    "since": ("a date without quotes, 2026-11-01", _moment),
    "find": (f"some of {', '.join(FINDERS)}", _finders),
    "allow_private": ('true, false, or a list of addresses, ["127.0.0.1"]', _private),
}
"""For a key, or the type of its field: what a value must be, and a function that reads the value or
returns None for a wrong one."""
_POLICY = tuple(field.name for field in dataclasses.fields(SitePolicy))
_OF_ONE = {"url", "hosts", "sitemaps", "feeds"}
KEYS = {
    field.name: _READERS.get(field.name) or _READERS[formatannotation(field.type)]
    for field in (*dataclasses.fields(Site), *dataclasses.fields(SitePolicy))
    if field.name not in {"name", "policy", "contact"}
}
"""The keys of a ``[[site]]``, each with its item of ``_READERS``."""
