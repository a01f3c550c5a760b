"""May a page be mined? What it and its server say of robots, text and data mining, and licences.

Honoured are the TDM Reservation Protocol (W3C: ``tdm-reservation: 1``, as header or ``meta``) and
``noai`` (``X-Robots-Tag``, ``meta`` for any robot), and what a crawl of ours wrote down with the
page: robots.txt for agents that learn, ``tdmrep.json``. The directives that do not speak of mining
(``noindex``, ``noarchive`` …) are recorded.
"""

import re
from dataclasses import dataclass

from corpora.news.page_metadata import PageMetadata
from corpora.news.pages import Page

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
    """SPDX, where the page names a licence of Creative Commons."""
    license_text: str | None
    """The licence as it stands in the page."""
    mining: str
    """``reserved`` or ``unreserved``; ``allowed`` where ``tdm-reservation`` is 0."""
    because: str
    """What says so; empty where nothing does."""
    robots: str
    """All directives for robots that were found."""

    @property
    def is_reserved(self) -> bool:
        """Tell whether the page reserves text and data mining."""
        return self.mining == "reserved"


def decide(page: Page, metadata: PageMetadata) -> Rights:
    """Decide from what a page, its server and the crawl say whether the page may be mined."""
    pairs = [(f"meta {name}", content) for name, content in metadata.reservations]
    headers = ((name, page.header(name)) for name in ("tdm-reservation", "x-robots-tag"))
    pairs += [(f"header {name}", value.lower()) for name, value in headers if value]
    reserved = [f"{name}: {value}" for name, value in pairs if _reserves(name, value)]
    allowed = [f"{n}: {v}" for n, v in pairs if n.endswith("tdm-reservation") and v.strip() == "0"]
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
        return value.strip() == "1"
    return bool(_NO_MINING.search(value))


def license_of(license: str | None) -> str | None:
    """Return the SPDX id of a Creative Commons licence, given by its URL; None for any other."""
    found = _CC.search((license or "").lower())
    if not found:
        return None
    if found[3]:
        return _PUBLIC[found[3]].format(found[4])
    return f"CC-{found[1].upper()}-{found[2]}"
