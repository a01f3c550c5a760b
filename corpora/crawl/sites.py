"""``sites.toml``: which sites are crawled, where their articles are found, and within which bounds.

The keys of ``[defaults]`` apply to every ``[[site]]`` that does not have them. An unknown key, a
value of the wrong type and a duplicate site are errors that name the place.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_type_hints

from corpora.crawl.addresses import literal
from corpora.crawl.types import ANY_ADDRESS, SitePolicy
from corpora.crawl.urls import BadUrlError, parse_url, split_host
from corpora.errors import UsageError
from corpora.system.parsing import read_toml
from corpora.system.typed_tables import check_table

Finder = Literal["sitemap", "feed", "recursive", "recursive_sitemap"]


@dataclass(frozen=True, kw_only=True)
class Site:
    """A site of the table; ``policy`` is the part of its row that the fetcher needs."""

    url: str
    """The front page of the site, or of a section."""
    policy: SitePolicy
    find: tuple[Finder, ...] = ()
    """The finders; empty: ``sitemap`` and ``feed``, then ``recursive`` if these name no
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
        return not self.excludes(url)

    def excludes(self, url: str) -> bool:
        """Tell whether ``exclude`` names an address."""
        return any(fnmatchcase(url, pattern) for pattern in self.exclude)


def read_sites(path: Path) -> tuple[Site, ...]:
    """Read a table of sites; raises ``UsageError`` with the file, the site and the key."""
    table = check_table(read_toml(path), _FILE, where=path)
    if "contact" not in table:
        raise UsageError(
            f"{path}: no contact. Write your address of mail or of a page, so that those who run "
            'the sites can reach you: contact = "you@example.org"'
        )
    if not table.get("site"):
        raise UsageError(f"{path}: no sites. Write for each [[site]] and url = …")
    common = {"contact": table["contact"], **table.get("defaults", {})}
    sites: dict[str, Site] = {}
    for number, row in enumerate(table["site"], start=1):
        where = f"{path}: site {number}"
        site = _site(common | check_table(row, KEYS, where=where), where=where)
        if sites.setdefault(site.name, site) is not site:
            raise UsageError(
                f"{path}: {site.name} is named by two sites. Make one of them; what is wanted of "
                "it is said with feeds, sitemaps, include."
            )
    return tuple(sites.values())


def _site(values: dict[str, Any], *, where: str) -> Site:  # Any: as ``check_table``
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
    if isinstance(allowed := values.get("allow_private"), bool):
        values["allow_private"] = ANY_ADDRESS if allowed else ()
    if since := values.get("since"):
        moment = since if isinstance(since, datetime) else datetime.combine(since, time())
        values["since"] = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    values["find"] = tuple(dict.fromkeys(values.get("find", ())))
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


_POLICY = tuple(field.name for field in dataclasses.fields(SitePolicy))
_OF_ONE = {"url", "hosts", "sitemaps", "feeds"}
KEYS: Mapping[str, object] = {
    name: kind
    for name, kind in (get_type_hints(Site) | get_type_hints(SitePolicy)).items()
    if name not in {"name", "policy", "contact"}
} | {"since": date, "allow_private": bool | tuple[str, ...]}
"""The keys of a ``[[site]]``, and the types of their values in the file."""
_OF_ALL = {name: kind for name, kind in KEYS.items() if name not in _OF_ONE}
_FILE = {"contact": str, "defaults": _OF_ALL, "site": list[Mapping[str, object]]}
