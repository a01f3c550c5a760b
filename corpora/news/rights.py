"""The right to mine a page, and its licence, as the page, its server and the crawl state them.

Mining is reserved by the TDM Reservation Protocol (W3C: ``tdm-reservation: 1``, as header or
``meta``), by ``noai`` (``X-Robots-Tag``, or ``meta`` for any robot), or by what Onoma's crawler
recorded with the page: robots.txt for AI agents, ``tdmrep.json``. Directives that are not about
mining (``noindex``, ``noarchive`` …) are only recorded.
"""

import re
from dataclasses import dataclass

from corpora.news.page_metadata import PageMetadata
from corpora.news.pages import FetchedPage

_CC = re.compile(
    r"creativecommons\.org/(?:licenses/(by(?:-(?:nc|nd|sa|nc-sa|nc-nd))?)/(\d\.\d)"
    r"|publicdomain/(zero|mark)/(\d\.\d))"
)
_PUBLIC = {"zero": "CC0-{}", "mark": "CC-PDM-{}"}
_NO_MINING = re.compile(r"(?:^|[\s,:;])noai(?:$|[\s,;])")


@dataclass(frozen=True, slots=True)
class Rights:
    """The decision whether a page may be mined, and its licence."""

    license: str | None
    """The SPDX id, if the page names a Creative Commons licence."""
    license_text: str | None
    """The licence as written in the page."""
    mining: str
    """``reserved``, ``allowed`` (explicitly, as by ``tdm-reservation: 0``) or ``unreserved``."""
    because: str
    """The statements that reserve or allow mining; empty if there are none."""
    robots: str
    """All directives for robots that were found."""

    @property
    def is_reserved(self) -> bool:
        """Whether text and data mining is reserved."""
        return self.mining == "reserved"


def decide(page: FetchedPage, metadata: PageMetadata) -> Rights:
    """Decide from what a page, its server and the crawl say whether the page may be mined."""
    pairs = [(f"meta {name}", content) for name, content in metadata.reservations]
    headers = ((name, page.header(name)) for name in ("tdm-reservation", "x-robots-tag"))
    pairs += [(f"header {name}", value.lower()) for name, value in headers if value]
    reserved = [f"{name}: {value}" for name, value in pairs if _reserves(name, value)]
    allowed = [f"{n}: {v}" for n, v in pairs if n.endswith("tdm-reservation") and _list(v) == {"0"}]
    by_crawl, _, because = (part.strip() for part in page.mining.partition(";"))
    reserved += [because or "crawl"] if by_crawl == "reserved" else []
    allowed += [because or "crawl"] if by_crawl == "allowed" else []
    mining = "reserved" if reserved else "allowed" if allowed else "unreserved"
    return Rights(
        license_of(metadata.license),
        metadata.license,
        mining,
        "; ".join(dict.fromkeys("; ".join(reserved or allowed).split("; "))),
        "; ".join(f"{n}: {v}" for n, v in pairs if not n.endswith(("tdm-reservation", "policy"))),
    )


def _reserves(name: str, value: str) -> bool:
    if name.endswith("tdm-reservation"):
        return "1" in _list(value)
    return bool(_NO_MINING.search(value))


def _list(value: str) -> set[str]:
    """Return the values of a header, which servers before the page's own may have repeated."""
    return {part.strip() for part in value.split(",")}


def license_of(license: str | None) -> str | None:
    """Return the SPDX id of a Creative Commons licence, given by its URL; None for any other."""
    match = _CC.search((license or "").lower())
    if not match:
        return None
    if match[3]:
        return _PUBLIC[match[3]].format(match[4])
    return f"CC-{match[1].upper()}-{match[2]}"
