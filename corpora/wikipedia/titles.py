"""Targets of a wiki's links: namespaces, languages, sections, and titles in one form.

A wiki's own namespaces come from its dump, their aliases from ``namespaces.toml``; language codes
and projects, which no dump lists, are in ``wikis.toml``.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from html.entities import html5
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import unquote

from corpora.segmentation.language_tags import primary_language
from corpora.system.parsing import JsonObject

FILE, TEMPLATE, CATEGORY, SPECIAL, MEDIA = 6, 10, 14, -1, -2
_CAPITALIZED = frozenset({-1, 2, 3, 8, 9})
"""The namespaces whose titles begin with a capital in case-sensitive wikis, too."""

PLAIN_TITLE = re.compile(r"[^\W_](?:[^\W_]|[,.()'’–-]| (?! ))*+(?<! )")
"""Matches a title in which at most the first letter needs normalising."""
_BIDI = re.compile("[\u200e\u200f\u202a-\u202e]")
_SPACES = re.compile(r"[ _\t\n\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ENTITY = re.compile(r"&(#0*\d{1,7}|#[xX]0*[0-9a-fA-F]{1,6}|[A-Za-z0-9]{1,31}|רלמ|رلم);")
_NO_TITLE = re.compile(r"[<>\[\]{}|\x00-\x1f\x7f-\x9f\ufffd]")
# marks of structure.py, control characters
_MARKS = re.compile("\x00\\d+\x00|\x02\\d+\x02|[\x00-\x1f\x7f-\x9f\u00ad]")
_LABEL_SPACES = re.compile("[ \t\n\u00a0\u2028\u2029]+")
_MY_LANGUAGE = re.compile(r"\s*mylanguage/", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*(?:(?i:https?|ftps?):)?//\S*")
_QUALIFIER = re.compile(r" ?[(（][^()（）]*[)）]$")
_DOTTED = frozenset({"az", "kaa", "tr"})
"""The languages in which the capital of ``i`` is ``İ``."""
_MAX_TITLES = 100_000  # targets in the cache
_WIKIMEDIA = re.compile(
    r"(?:https?:)?//([a-z-]+)(?:\.m)?\.(wik(?:ipedia|i(?:books|news|quote|source|versity|voyage)|"
    r"tionary))\.org/wiki/([^?]+)"
)
_PROJECT = re.compile(r"wik(?:tionary|i(?:books|news|quote|source|versity|voyage)?)$")


ABROAD = ":"
"""Stands before the entity of a page of another wiki where else a title of this wiki stands."""
VANISHING = frozenset({"file", "category", "interlanguage"})
"""The reasons of targets whose links show nothing."""


class LinkTarget(NamedTuple):
    """The target of a link."""

    reason: str
    """Empty for an article; else why it is no mention: ``file``, ``category``, ``interwiki`` …"""
    title: str
    """The normalised title, without section."""
    section: str
    label: str
    """The text that the link shows if it has none of its own."""


@dataclass(slots=True)
class Wiki:
    """The names and rules by which the text of a wiki is read; built by ``wiki_of``."""

    name: str
    """The name of the wiki (``dawiki``), which is also the space of its titles."""
    lang: str
    base: str = ""
    """The beginning of its pages' addresses: ``https://da.wikipedia.org/wiki/``."""
    namespaces: Mapping[str, int] = field(default_factory=dict)
    """The number of each namespace, by name or alias in lower case; without the articles' own,
    which has no name."""
    names: Mapping[int, str] = field(default_factory=dict)
    """The name of each namespace, as titles have it."""
    keeps_interwiki: bool = True
    """Whether links to other Wikimedia wikis are mentions."""
    reads: frozenset[int] = frozenset({0})
    """The namespaces whose pages are read: links to them are mentions."""
    case_sensitive: bool = False
    """Whether ``abc`` and ``Abc`` are two titles."""
    trail: str = "a-z"
    """The letters that, right after a link, belong to it, as the inside of a character class."""
    variants: tuple[str, ...] = ()
    """The codes of scripts or regions of one language (Chinese, Serbian …), the preferred first."""
    codes: tuple[str, ...] = ()
    """The names that the wiki's tables of data may have, see ``codes_of``."""
    has_subpages: bool = True
    """Whether ``[[/abc]]`` in an article leads to a subpage of it; if not, to the article /abc."""
    _targets: dict[str, LinkTarget] = field(default_factory=dict)

    def target(self, raw: str) -> LinkTarget:
        """Parse the text between ``[[`` and ``|`` or ``]]``."""
        target = self._targets.get(raw)
        if target is None:
            if len(self._targets) >= _MAX_TITLES:
                self._targets.clear()
            target = self._targets[raw] = self._read(raw)
        return target

    def title(self, raw: str) -> str:
        """Normalize a title, and the name of a namespace in front of it."""
        title = _spaced(raw)
        prefix, colon, name = title.partition(":")
        number = self.namespaces.get(prefix.strip(" ").lower(), 0) if colon else 0
        if not number:
            return self.upper(title)
        name = name.strip(" ")
        if number in _CAPITALIZED or not self.case_sensitive:
            name = self.capitalized(name)
        return f"{self.names.get(number, upper_first(prefix))}:{name}"

    def namespace(self, title: str) -> int:
        """Return the number of the namespace of a full title; articles are in 0."""
        prefix, colon, _ = title.partition(":")
        return self.namespaces.get(_spaced(prefix).lower(), 0) if colon else 0

    def _read(self, raw: str) -> LinkTarget:
        if PLAIN_TITLE.fullmatch(raw):
            return LinkTarget("", self.upper(raw), "", raw)
        text = decode(raw)
        if "%" in text:
            decoded = unquote(text)
            text = text if "\ufffd" in decoded else decoded
        if address := _ADDRESS.match(text):  # [[http://example.org Example]]
            return LinkTarget("malformed", text, "", text[address.end() :].strip())
        label = _MARKS.sub("", _LABEL_SPACES.sub(" ", text)).strip()
        text = _BIDI.sub("", text if text == raw else unicodedata.normalize("NFC", text))
        name, _, section = text.partition("#")
        name, section = self._in_any_language(_spaced(name)), _spaced(_MARKS.sub("", section))
        if name.startswith(":"):
            return self._with_colon(name[1:].lstrip(" :"), section, label.lstrip(" :"))
        if not name:
            return LinkTarget("section" if section else "malformed", "", section, label)
        if _NO_TITLE.search(name):
            return LinkTarget("malformed", name, section, raw.strip())
        if name.startswith("../") or (name[0] == "/" and self.has_subpages):
            return LinkTarget("subpage", name, section, label)
        reason = self._elsewhere(name)
        if reason == "interwiki":
            return self._abroad(name, section, label)
        return LinkTarget(reason, self.title(name), section, label)

    def _abroad(self, name: str, section: str, label: str) -> LinkTarget:
        """Parse a target with prefixes of other wikis: at most two that tables know, or none."""
        wiki, title = self, name
        for _ in range(2 * self.keeps_interwiki):
            prefix, _, rest = title.partition(":")
            other = wiki.neighbor(prefix.strip().lower())
            if other is None:
                break
            wiki, title = other, rest.lstrip(" :")
        if wiki is self or not title or wiki._elsewhere(title):  # noqa: SLF001 - of this class
            return LinkTarget("interwiki", self.title(name), section, label)
        if wiki.name == self.name:
            return LinkTarget("", self.title(title), section, label)
        return LinkTarget("", f"{ABROAD}{wiki.name}:{wiki.title(title)}", section, label)

    def page_at(self, address: str) -> LinkTarget:
        """Return the article of a Wikimedia wiki that an address leads to, as ``_abroad`` does."""
        match = _WIKIMEDIA.match(decode(address))
        project = match[2].replace("wikipedia", "wiki") if match else ""
        other = _wikimedia(f"{match[1].replace('-', '_')}{project}") if match else None
        if not (match and other and self._takes(other)):
            return LinkTarget("interwiki", address, "", "")
        there = other.target(f":{match[3]}")
        if there.reason:
            return there._replace(reason="interwiki")
        is_further = there.title.startswith(ABROAD)
        title = there.title if is_further else f"{ABROAD}{other.name}:{there.title}"
        return there._replace(title=title.removeprefix(f"{ABROAD}{self.name}:"))

    def _takes(self, other: "Wiki") -> bool:
        """Tell whether links to another wiki are mentions: those that prefixes lead to."""
        projects = {_project_of(self.name), *wikis()["siblings"].values()}
        is_known = _own_code(other.name, other.lang) and _project_of(other.name) in projects
        return self.keeps_interwiki and bool(is_known)

    def neighbor(self, prefix: str) -> "Wiki | None":
        """Return the wiki that a prefix leads to, if it is of Wikimedia, as is this one.

        ``w`` leads from a sister project to the Wikipedia of its language, and from a Wikipedia to
        the English one; other prefixes of projects do likewise.
        """
        tables = wikis()
        code, project = _own_code(self.name, self.lang), _project_of(self.name)
        if not code:
            return None
        if prefix in tables["languages"]:
            code = tables["editions"].get(prefix, prefix)
        elif prefix in tables["siblings"]:
            other = tables["siblings"][prefix]
            code, project = ("en" if other == project else code), other
        else:
            return None
        return _wikimedia(f"{code.replace('-', '_')}{project}")

    def _in_any_language(self, name: str) -> str:
        """Return the page that a link leads to by ``Special:MyLanguage``; other links stay."""
        prefix, _, rest = name.lstrip(":").partition(":")
        is_special = rest and self.namespaces.get(prefix.strip().lower()) == SPECIAL
        match = _MY_LANGUAGE.match(rest) if is_special else None
        return f":{rest[match.end() :]}" if match else name

    def _with_colon(self, name: str, section: str, label: str) -> LinkTarget:
        """Parse a target after a leading colon.

        A file, category or language is a plain link then.
        """
        if not name or _NO_TITLE.search(name):
            return LinkTarget("malformed", name, section, label)
        reason = self._elsewhere(name)
        if reason in ("file", "category"):
            reason = self._of_namespace(self.namespace(name))
        if reason in ("interlanguage", "interwiki"):
            return self._abroad(name, section, label)
        return LinkTarget(reason, self.title(name), section, label)

    def _of_namespace(self, number: int) -> str:
        return "" if number in self.reads or not number else "namespace"

    def _elsewhere(self, name: str) -> str:
        prefix, colon, _ = name.partition(":")
        if not colon:
            return ""
        prefix = prefix.strip().lower()
        number = self.namespaces.get(prefix)
        if number is not None:
            return {FILE: "file", CATEGORY: "category"}.get(number) or self._of_namespace(number)
        tables = wikis()
        if prefix in tables["languages"]:
            return "interlanguage"
        return "interwiki" if prefix in tables["projects"] else ""

    def upper(self, title: str) -> str:
        """Capitalize the first letter, unless the wiki is case-sensitive."""
        return title if self.case_sensitive else self.capitalized(title)

    def capitalized(self, title: str) -> str:
        """Capitalize the first letter."""
        if title[:1].isupper():
            return title
        if title[:1] == "i" and self.lang in _DOTTED:
            return f"İ{title[1:]}"
        return upper_first(title)


def upper_first(title: str) -> str:
    """Capitalize the first letter as MediaWiki does: ``ß`` and Georgian letters stay."""
    first = title[:1]
    upper = first.upper()
    if first == upper or len(upper) != 1 or "\u10d0" <= first <= "\u10ff":
        return title
    return upper + title[1:]


def without_qualifier(title: str) -> str:
    """Take the bracketed qualifier from a title.

    >>> without_qualifier("Mercury (planet)")
    'Mercury'
    """
    return _QUALIFIER.sub("", title) or title


def note_category(title: str, categories: list[str]) -> None:
    """Append the title of a category, without its namespace, if it is new."""
    name = title.partition(":")[2]
    if name and name not in categories:
        categories.append(name)


def pipe_trick(raw: str, wiki: Wiki) -> str:
    """Return what ``[[raw|]]`` shows: no namespace, no qualifier, nothing after a comma."""
    name = raw.strip().lstrip(":")
    prefix, colon, rest = name.partition(":")
    if colon and (wiki.namespace(name) or wiki.target(f":{prefix}:x").reason == "interwiki"):
        name = rest.strip()
    shown = without_qualifier(name)
    return shown if shown != name else name.partition(",")[0].strip()


def decode(text: str) -> str:
    """Decode, once, the entities that end with a semicolon."""
    return _ENTITY.sub(_decoded, text) if "&" in text else text


def _decoded(entity: re.Match[str]) -> str:
    name = entity[1]
    if name in ("רלמ", "رلم"):  # MediaWiki's own names of &rlm;
        return "\u200f"
    if name[0] != "#":
        return html5.get(f"{name};", entity[0])
    number = int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])
    valid = number in (9, 10) or 32 <= number < 0x7F or 0xA0 <= number <= 0x10FFFF
    valid = valid and not 0xD800 <= number <= 0xDFFF and number not in (0xFFFE, 0xFFFF)
    return chr(number) if valid else entity[0]


def _spaced(text: str) -> str:
    """Replace runs of white space and underscores by one space, and strip the ends."""
    return _SPACES.sub(" ", text).strip(" ")


@cache
def wikis() -> JsonObject:
    """Read ``wikis.toml``; lists that are searched become sets."""
    table = read_table("wikis")
    trails = {**table["trails"], "none": frozenset(table["trails"]["none"])}
    sets = {name: frozenset(table[name]) for name in ("languages", "projects", "transclusions")}
    return {**table, "trails": trails, **sets}


@cache
def namespaces_of(code: str) -> Mapping[str, int]:
    """Map names and aliases of namespaces, in lower case, to their numbers.

    ``code`` is the code of a wiki, or ``canonical``.
    """
    table = re.search(rf"^\[{re.escape(code)}\]\n((?:[^\[\n].*\n)*)", _namespaces(), re.MULTILINE)
    numbers = tomllib.loads(table[1]) if table else {}
    return {name.lower(): int(number) for number, names in numbers.items() for name in names}


def namespace_names(codes: Iterable[str], number: int) -> list[str]:
    """List the names of a namespace in some wikis, and in all: lower case, sorted."""
    known = (pair for code in (*codes, "canonical") for pair in namespaces_of(code).items())
    return sorted({name for name, its in known if its == number})


def namespace_pattern(codes: Iterable[str], number: int) -> str:
    """Build a pattern that matches the names of a namespace."""
    return "|".join(map(re.escape, namespace_names(codes, number)))


@cache
def _namespaces() -> str:
    """Read the text of the tables; a run parses one or two, for parsing all takes long."""
    return _data("namespaces.toml")


def _data(name: str) -> str:
    return (files("corpora") / "wikipedia" / name).read_text("utf-8")


@cache
def read_table(name: str) -> JsonObject:
    """Read a table of data that lies beside this module."""
    return tomllib.loads(_data(f"{name}.toml"))


def language_code(name: str) -> str:
    """Return the code in a wiki's name: ``bat-smg`` of ``bat_smgwiki``; empty if there is none."""
    code, n = _PROJECT.subn("", name)
    return code.replace("_", "-") if n else ""


def language_of(name: str) -> str:
    """Return the BCP 47 tag of a wiki by its name: ``en`` of ``simplewiki``."""
    code = language_code(name)
    return str(wikis()["codes"].get(code, code))


def known_language_of(name: str) -> str:
    """Return the BCP 47 tag of a Wikimedia wiki by its name; empty for others (``kleinwiki``)."""
    return language_of(name) if language_code(name) in wikis()["languages"] else ""


def codes_of(name: str, lang: str) -> tuple[str, ...]:
    """List the names that tables of a wiki may have; where several are, the first counts.

    >>> codes_of("simplewiki", "en"), codes_of("kleinwiki", "nb"), codes_of("dewiktionary", "de")
    (('simple', 'en'), ('nb', 'no'), ('wiktionary', 'de'))
    """
    languages = wikis()["languages"]
    project = _project_of(name).removesuffix("wiki")
    codes = [project, _own_code(name, lang)]
    codes += [lang, *(code for code, tag in wikis()["codes"].items() if tag == lang != "en")]
    if lang not in languages:
        codes.append(primary_language(lang))
    return tuple(dict.fromkeys(filter(None, codes)))


def _project_of(name: str) -> str:
    match = _PROJECT.search(name)
    return match[0] if match else ""


@cache
def _wikimedia(name: str) -> Wiki:
    """Build a wiki from what our tables have on it."""
    return wiki_of(name=name, lang=language_of(name), case_sensitive=name.endswith("wiktionary"))


def _own_code(name: str, lang: str) -> str:
    """Return the code in a Wikimedia wiki's name; empty for others, as ``mywiki`` in English."""
    code = language_code(name)
    is_own = primary_language(language_of(name)) == primary_language(lang)
    return code if code in wikis()["languages"] and is_own else ""


def wiki_of(
    *,
    name: str,
    lang: str,
    base: str = "",
    namespaces: Mapping[str, int] | None = None,
    case_sensitive: bool = False,
    reads: Iterable[int] = (0,),
    keeps_interwiki: bool = True,
) -> Wiki:
    """Build a wiki from what its dump says, and what our tables have on it."""
    known = {name.lower(): number for name, number in (namespaces or {}).items() if name}
    codes = codes_of(name, lang)
    for code in (*codes, "canonical"):
        known = {**namespaces_of(code), **known}
    trails, variants = wikis()["trails"], wikis()["variants"]
    own = next((trails[code] for code in codes if code in trails), "")
    return Wiki(
        name=name,
        lang=lang,
        base=base,
        namespaces=known,
        names={number: name for name, number in (namespaces or {}).items()},
        reads=frozenset(reads),
        keeps_interwiki=keeps_interwiki,
        case_sensitive=case_sensitive,
        trail="" if trails["none"] & set(codes) else f"a-z{own}",
        variants=next((tuple(variants[code]) for code in codes if code in variants), ()),
        codes=codes,
        has_subpages=not (name.endswith("wiki") and _own_code(name, lang)),
    )
