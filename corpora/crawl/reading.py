"""What a finder looks at, read in another process under bounds (``corpora/system/sandbox.py``).

The event loop of a crawl must wait for no page: one whose parser takes the square of its length
would hold all sites up.
"""

import json
from base64 import b64decode, b64encode
from dataclasses import asdict
from datetime import datetime
from typing import Any

from corpora.crawl.listings import (
    Entry,
    Listing,
    ListingError,
    PageLinks,
    read_links,
    read_listing,
)
from corpora.system.sandbox import Bounds, Task, TaskError, ask

PAGE_BOUNDS, LISTING_BOUNDS = Bounds(seconds=10.0), Bounds(seconds=30.0)
"""An honest page of 10 MB takes two seconds, a list of 50,000 addresses two."""


def _first(body: bytes, **more: None) -> str:
    values = {"body": b64encode(body).decode("ascii"), "url": "https://a.example/"}
    return json.dumps(values | more)


_LINKS = Task(f"{__name__}:link_values", _first(b"<a href=a>a</a>", content_type=None))
_LISTING = Task(f"{__name__}:listing_values", _first(b"<urlset></urlset>"))


def read_links_bounded(body: bytes, *, url: str, content_type: str | None) -> PageLinks:
    """``read_links``; raises ``TaskError``: ``no_text``, ``timeout``, ``memory``, ``failed``."""
    request = {"body": b64encode(body).decode("ascii"), "url": url, "content_type": content_type}
    return _links(ask(_LINKS, request, bounds=PAGE_BOUNDS))


def read_listing_bounded(body: bytes, *, url: str) -> Listing:
    """``read_listing``; raises ``TaskError``: ``broken_listing``, or as above."""
    request = {"body": b64encode(body).decode("ascii"), "url": url}
    return _listing(ask(_LISTING, request, bounds=LISTING_BOUNDS))


def link_values(body: str, url: str, content_type: str | None) -> dict[str, Any]:
    """``read_links``, from and to values of JSON; raises ``TaskError``."""
    try:
        return asdict(read_links(b64decode(body), url=url, content_type=content_type))
    except ListingError as error:
        raise TaskError("no_text", str(error)) from error


def listing_values(body: str, url: str) -> dict[str, Any]:
    """``read_listing``, from and to values of JSON; raises ``TaskError``."""
    try:
        listing = read_listing(b64decode(body), url=url)
    except ListingError as error:
        raise TaskError("broken_listing", str(error)) from error
    entries = [(e.url, e.date.isoformat() if e.date else None, e.title) for e in listing.entries]
    return {"kind": listing.kind, "entries": entries, "n_beyond": listing.n_beyond}


def _links(values: dict[str, Any]) -> PageLinks:
    return PageLinks(
        links=tuple(values["links"]),
        n_nofollow=values["n_nofollow"],
        n_beyond=values["n_beyond"],
        feeds=tuple(values["feeds"]),
        metas=tuple(tuple((name, value) for name, value in meta) for meta in values["metas"]),
        headings=tuple((name, tuple(hrefs)) for name, hrefs in values["headings"]),
    )


def _listing(values: dict[str, Any]) -> Listing:
    entries = (
        Entry(url, datetime.fromisoformat(date) if date else None, title)
        for url, date, title in values["entries"]
    )
    return Listing(values["kind"], tuple(entries), values["n_beyond"])
