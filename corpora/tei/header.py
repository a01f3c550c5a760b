"""What a TEI header says of a text: title, language, licence, who wrote to whom, and when."""

from dataclasses import dataclass, field
from typing import Any

from corpora.tei.xml import Element


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The part of a ``teiHeader`` that becomes columns of a document."""

    lang: str | None = None
    title: str | None = None
    url: str | None = None
    license: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """Keyword arguments for a ``Document``."""
        return {name: getattr(self, name) for name in ("lang", "title", "url", "license")} | {
            "metadata": self.metadata
        }


def read_header(tei: Element, *, default_lang: str | None) -> Header:
    """Read the header of a ``TEI`` element; what it does not say is None."""
    header = tei.find("teiheader") or Element("teiHeader", {}, 0)
    return Header(
        lang=_lang(tei, header) or default_lang,
        title=_text(header, "titlestmt", "title"),
        url=_url(header),
        license=_license(header),
        metadata=_letter(header),
    )


def _text(element: Element | None, *path: str) -> str | None:
    for name in path:
        element = element.find(name) if element is not None else None
    return (element.text() or None) if element is not None else None


def _lang(tei: Element, header: Element) -> str | None:
    """Return the language of the text, of the whole, or the one that is used most."""
    for element in (tei.find("text"), tei):
        if element is not None and (lang := element.attributes.get("xml:lang")):
            return lang
    usage = header.find("langusage")
    languages = [e for e in usage.elements() if "ident" in e.attributes] if usage else []
    if not languages:
        return None
    return max(languages, key=_share).attributes["ident"]


def _share(language: Element) -> float:
    try:
        return float(language.attributes.get("usage", "").rstrip(" %"))
    except ValueError:
        return 0.0


def _url(header: Element) -> str | None:
    publication = header.find("publicationstmt")
    numbers = [e for e in publication.elements() if e.name == "idno"] if publication else []
    urls = [number.text() for number in numbers if number.text().startswith("http")]
    return urls[0] if urls else None


def _license(header: Element) -> str | None:
    licence = header.find("licence")
    if licence is None:
        return None
    return licence.attributes.get("target") or licence.text() or None


def _letter(header: Element) -> dict[str, str]:
    """Who sent and received a letter, where and when (``correspDesc``)."""
    found: dict[str, str] = {}
    description = header.find("correspdesc")
    for action in description.elements() if description else ():
        kind = action.attributes.get("type", "")
        if action.name == "correspaction" and kind in {"sent", "received"}:
            for name, element in (("by", "persname"), ("place", "placename"), ("date", "date")):
                place = action.find(element)
                if place is not None and (value := _date(place) or place.text()):
                    found[f"{kind}_{name}"] = value
    return found


def _date(element: Element) -> str | None:
    for attribute in ("when", "notBefore", "from", "notAfter", "to"):
        if value := element.attributes.get(attribute):
            return value
    return None
