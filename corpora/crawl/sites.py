"""``sites.toml``: which sites are crawled, where their articles are found, and within which bounds.

What stands in ``[defaults]`` holds for every ``[[site]]`` that does not say otherwise. A key that
nobody knows, a value of another type and a site that is named twice are errors that name the place.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from corpora.crawl.addresses import literal
from corpora.crawl.types import ANY_ADDRESS, SitePolicy
from corpora.crawl.urls import BadUrlError, Target, parse_url, split_host
from corpora.errors import UsageError
from corpora.system.parsing import parse_toml

FINDERS = ("sitemap", "feed", "recursive", "recursive_sitemap")


@dataclass(frozen=True, kw_only=True)
class Site:
    """A site of the table; ``policy`` is what the fetcher must know of it."""

    url: str
    """Its front page, or that of a section."""
    policy: SitePolicy
    find: tuple[str, ...] = ()
    """Some of ``FINDERS``; none: sitemaps and feeds, and links where these name no article."""
    sitemaps: tuple[str, ...] = ()
    """None: those of robots.txt, else the two usual addresses."""
    feeds: tuple[str, ...] = ()
    """None: those that the front page declares."""
    include: tuple[str, ...] = ()
    """Patterns of addresses (``*/politik/*``); none: all of the site."""
    exclude: tuple[str, ...] = ()
    since: datetime | None = None
    """What a sitemap or a feed dates earlier is passed over."""

    @property
    def name(self) -> str:
        """What it is counted and reported as: its host."""
        return self.policy.name

    def wants(self, url: str) -> bool:
        """Whether ``include`` and ``exclude`` let an address through."""
        if self.include and not any(fnmatchcase(url, pattern) for pattern in self.include):
            return False
        return not any(fnmatchcase(url, pattern) for pattern in self.exclude)


def read_sites(path: Path, *, allow_private: bool = False) -> tuple[Site, ...]:
    """Read a table of sites; ``allow_private`` lets all addresses through, whatever it says.

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
    common = _read_keys(defaults, tuple(set(KEYS) - _OF_ONE), where=f"{path}: [defaults]")
    sites = []
    for number, row in enumerate(rows, start=1):
        where = f"{path}: site {number}"
        own = _read_keys(row, tuple(KEYS), where=where)
        more = {"contact": contact} | ({"allow_private": ANY_ADDRESS} if allow_private else {})
        sites.append(_site(common | own | more, where=where))
    _check_names([site.name for site in sites], where=str(path))
    return tuple(sites)


def _site(values: dict[str, Any], *, where: str) -> Site:
    if "url" not in values:
        raise UsageError(f"{where}: no url. Write that of its front page.")
    where = f"{where} ({values['url']})"
    own_host = _own_host(_target(values["url"], where=where))
    more = (_host(told, where=where) for told in values.pop("hosts", ()))
    hosts = tuple(dict.fromkeys((own_host, *more)))
    policy_keys = {field.name for field in dataclasses.fields(SitePolicy)}
    told = {key: values.pop(key) for key in tuple(values) if key in policy_keys}
    try:
        policy = SitePolicy(name=own_host, hosts=hosts, **told)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    for url in (*values.get("sitemaps", ()), *values.get("feeds", ())):
        _target(url, where=where)
    return Site(policy=policy, **values)


def _target(url: str, *, where: str) -> Target:
    try:
        return parse_url(url)
    except BadUrlError as error:
        raise UsageError(
            f"{where}: {url!r} is no address of a page ({error}): https://www.example.org/"
        ) from error


def _own_host(target: Target) -> str:
    """The host of a site, without ``www.``; with a port where it is not the usual one."""
    rest = target.authority.removeprefix("www.")
    return rest if "." in rest else target.authority  # www.de is not all of .de


def _host(told: str, *, where: str) -> str:
    """One of ``hosts``, in normal form."""
    text = f"[{told}]" if literal(told) and ":" in told else told
    try:
        target = parse_url(f"http://{text}/")
    except BadUrlError:
        target = None
    if target is None or set(told) & set("/?#"):
        raise UsageError(f"{where}: hosts: {told!r} is no host: example.org, 127.0.0.1:8080")
    name, port = dataclasses.replace(target, port=80).authority, split_host(text)[1]
    return f"{name}:{port}" if port else name


def _check_names(names: Sequence[str], *, where: str) -> None:
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise UsageError(
            f"{where}: {twice[0]} is named by two sites. Make one of them; what is wanted of it is "
            "said with feeds, sitemaps, include."
        )


def _check_keys(table: Mapping[str, Any], known: Sequence[str], *, where: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{where}: {key}: unknown. There are {', '.join(sorted(known))}.")


def _read_keys(table: Mapping[str, Any], known: Sequence[str], *, where: str) -> dict[str, Any]:
    """Check the values of a table, and bring them into our types."""
    _check_keys(table, known, where=where)
    values = {}
    for key, value in table.items():
        try:
            values[key] = KEYS[key](value)
        except ValueError as error:
            raise UsageError(f"{where}: {key} = {value!r}: must be {error}.") from error
    return values


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(part, str) and part for part in value):
        raise ValueError('a list of texts, ["…"]')
    return tuple(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("a whole number")
    return value


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _finders(value: object) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_texts(value)))
    if not set(names) <= set(FINDERS):
        raise ValueError(f"some of {', '.join(FINDERS)}")
    return names


def _private(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ANY_ADDRESS if value else ()
    try:
        return _texts(value)
    except ValueError:
        raise ValueError('true, false, or a list of addresses, ["127.0.0.1"]') from None


def _moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise ValueError("a date without quotes, 2026-11-01")


_OF_ONE = {"url", "hosts", "sitemaps", "feeds"}
KEYS: Mapping[str, Callable[[object], Any]] = {  # what a [[site]] may say, and how it is read
    "url": _text,
    "hosts": _texts,
    "find": _finders,
    "sitemaps": _texts,
    "feeds": _texts,
    "include": _texts,
    "exclude": _texts,
    "since": _moment,
    "delay": _number,
    "max_delay": _number,
    "patience": _number,
    "tries": _whole,
    "back_off": _number,
    "max_failures": _whole,
    "page_seconds": _number,
    "max_page_bytes": _whole,
    "max_pages": _whole,
    "max_bytes": _whole,
    "max_seconds": _number,
    "max_depth": _whole,
    "allow_private": _private,
    "respect_reservations": _yes_or_no,
}
