"""Read the head of a dump: name, language, address and namespaces of its wiki."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit
from xml.parsers import expat

from corpora.segmentation.language_tags import primary_language
from corpora.wikipedia.chunks import DumpError
from corpora.wikipedia.titles import language_code, language_of, wikis

PROJECTS = (
    "wikipedia", "wiktionary", "wikibooks", "wikinews", "wikiquote", "wikisource",
    "wikiversity", "wikivoyage",
)  # fmt: skip
_HOST = re.compile(rf"(?:https?:)?//(?:www\.)?([a-z0-9-]+)\.({'|'.join(PROJECTS)})\.org[/:]")
_FILE = re.compile(rf"(?:.*/)?([a-z][a-z0-9_]+(?:wiki|{'|'.join(PROJECTS[1:])}))[-.]")
_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']""")
_UTF8 = {"utf-8", "utf8", "us-ascii", "ascii"}
_MARKS = {  # first bytes of XML in other encodings
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"<\0": "UTF-16 or UTF-32",
    b"\0<": "UTF-16",
    b"\0\0": "UTF-32",
}


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A wiki as its dump describes it; made by ``read_site``."""

    wiki: str
    """The name of the database (``dawiki``), from the dump, the file or the address; may be
    empty."""
    lang: str = ""
    """The BCP 47 tag in the dump; empty if unknown."""
    base: str = ""
    """The address to which titles are appended: ``https://da.wikipedia.org/wiki/``; empty if
    unknown."""
    case_sensitive: bool = False
    """Whether ``abc`` and ``Abc`` are two articles."""
    namespaces: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The number of each namespace by its name in the dump; the name of the articles' own is
    empty."""
    generator: str = ""
    """The software that wrote the dump, as ``MediaWiki 1.46.0-wmf.7``; empty if unknown."""
    doubt: str = ""
    """How the file's name contradicts the dump about the wiki; empty if they agree."""


def read_site(head: bytes, *, name: str) -> SiteInfo:
    """Read the beginning of a dump, to ``</siteinfo>`` or to the first page.

    ``name`` is the name of the file, the only source if the dump is bare pages. Raises
    ``DumpError`` where the head is not well-formed.
    """
    reader = _HeadReader(name)
    if b"<mediawiki" in head:
        reader.read(head)
    base = _directory(reader.texts.get("base", ""))
    dbname = reader.texts.get("dbname", "")
    return replace(
        site_of(dbname, lang=reader.lang, base=base, name=name),
        case_sensitive=reader.texts.get("case", "") == "case-sensitive",
        namespaces=reader.namespaces,
        generator=reader.texts.get("generator", ""),
    )


def site_of(dbname: str, *, lang: str, base: str, name: str) -> SiteInfo:
    """Describe a wiki by what a file says of it, and by the ``name`` of the file."""
    return SiteInfo(
        wiki=_wiki(dbname, base=base, name=name),
        lang=lang,
        base=base,
        doubt="" if _is_foreign(base) else _doubt(name, dbname or _wiki_by_host(base), lang=lang),
    )


def check_encoding(head: bytes, *, name: str) -> None:
    """Raise ``DumpError`` unless a file seems to be in UTF-8."""
    declared = _ENCODING.match(head.removeprefix(b"\xef\xbb\xbf"))
    encoding = declared[1].decode("ascii") if declared else "utf-8"
    for mark, other in _MARKS.items():
        if head.startswith(mark):
            encoding = other
    if encoding.lower() not in _UTF8:
        raise DumpError(
            f"{name}: is in {encoding}, but dumps are read in UTF-8. "
            f"Convert it: iconv -f {encoding.split()[0]} -t UTF-8, and correct its first line."
        )


class _HeadReader:
    """Expat's handlers for the head of a dump, and what they have read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lang = ""
        self.texts: dict[str, str] = {}
        self.namespaces: dict[str, int] = {}
        self.characters: list[str] = []
        self.key = ""

    def read(self, head: bytes) -> None:
        parser = expat.ParserCreate("UTF-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.characters.append
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(head, False)  # noqa: FBT003 - expat's own
        except (expat.ExpatError, ValueError) as error:
            raise DumpError(
                f"{self.name}: its head (<siteinfo>) is not well-formed XML ({error}), so its "
                "namespaces are not known. Repair it, or download the dump again."
            ) from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.characters.clear()
        if name == "mediawiki":
            self.lang = attributes.get("xml:lang", "")
        self.key = attributes.get("key", "")
        if name == "namespace" and self.key == "0" and "case" in attributes:
            self.texts["case"] = attributes["case"]

    def _end(self, name: str) -> None:
        text = "".join(self.characters).strip()
        self.characters.clear()
        if name == "namespace":
            self.namespaces[text] = int(self.key)
        else:
            self.texts.setdefault(name, text)

    def _doctype(self, *_: object) -> None:
        raise ValueError("it has a DOCTYPE, which no dump has")


def _directory(base: str) -> str:
    """Return the address to which titles are appended, from the address of the main page."""
    for before in ("?title=", "/wiki/"):
        if before in base:
            return base[: base.index(before) + len(before)]
    return base[: base.rfind("/") + 1] if urlsplit(base).path else ""


def _wiki(dbname: str, *, base: str, name: str) -> str:
    if dbname:
        return dbname
    file = _FILE.match(name)
    if file and not _is_foreign(base):
        return file[1]
    return _wiki_by_host(base) or (urlsplit(base).hostname or "").removeprefix("www.")


def _is_foreign(base: str) -> bool:
    """Tell whether an address is of no Wikimedia wiki: its files have names of all kinds."""
    return bool(base) and not _wiki_by_host(base)


def _wiki_by_host(base: str) -> str:
    """Return the name of a Wikimedia wiki by its address; empty for other addresses."""
    host = _HOST.match(base)
    if not host:
        return ""
    return host[1].replace("-", "_") + ("wiki" if host[2] == "wikipedia" else host[2])


def _doubt(name: str, wiki: str, *, lang: str) -> str:
    """Describe how a file's name and its ``<siteinfo>`` disagree; empty if they agree."""
    file = _FILE.match(name)
    if not file or not (wiki or lang):
        return ""
    expected = language_of(file[1])
    codes = set(map(primary_language, (expected, language_code(file[1]))))
    is_known = language_code(file[1]) in wikis()["languages"]
    if (not wiki or wiki == file[1]) and (
        not (lang and is_known) or primary_language(lang) in codes
    ):
        return ""
    return f"its name says {file[1]}, but its <siteinfo> {wiki or 'a wiki'} in {lang or '?'}"
