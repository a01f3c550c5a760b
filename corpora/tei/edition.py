"""Editions: a TOML file tells which element means what.

See ``editions/tei.toml`` for every key with its default, and ``docs/editions.md`` for a guide.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from corpora.errors import UsageError
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.sentences import Segmenter, segmenter_plus
from corpora.system.parsing import JsonObject, parse_toml
from corpora.system.typed_tables import TableError, Text, check_table
from corpora.tei.header import Rule, parse_rule
from corpora.tei.languages import Abbreviations, Language, code_of, keeps_hyphens
from corpora.tei.patterns import Pattern, parse_pattern, template_of
from corpora.tei.prefixes import Prefixes, declared, union
from corpora.tei.xml import Element

T = TypeVar("T")
DEFAULT = "tei"
SUFFIXES = (".xml", ".tei")
"""The suffixes of the files that are taken from a folder."""
_REST = "..."  # in a list: stands for the default's patterns
_BESIDE = {"annotation", "listannotation", "span", "spangrp", "standoff"}
_NAMING = {"persname", "placename", "orgname", "geogname", "eventname", "rs", "name"}
_OUR_NOTES = "note[@resp^='#onoma-']"
_MAX_KNOWN = 1000  # cached combinations of attribute values for each element name


class Role(Enum):
    """The effect of an element on the text, the strongest first."""

    LEAVE_OUT = "leave_out"
    DOCUMENT = "each"
    NOTE_DOCUMENT = "notes"
    PART = "parts"
    LINE = "line"
    PARAGRAPH = "paragraph"
    JOIN = "join"
    WORD = "word"
    SENTENCE = "sentence"


Patterns = tuple[Pattern, ...]


APART = frozenset({Role.DOCUMENT, Role.NOTE_DOCUMENT, Role.PART})
"""The roles of elements that are not read where they stand."""
CHARACTERS = frozenset({"c", "g"})
"""Elements that stand for a character."""
SIGNS = CHARACTERS | {"ref"}
"""The elements that, if they are empty, stand for something to be read."""


class ElementMeaning(NamedTuple):
    """The meaning of an element."""

    role: Role | None = None
    """What the element does to the text; None: nothing."""
    label: str | None = None
    is_name: bool = False
    """Whether it names something, with a label or without."""
    should_name: bool = False
    """Whether elements of this name are made to name something, or some label has a pattern for
    them; those that fit none are counted."""
    fits: tuple[str, ...] = ()
    """The keys of the edition's own patterns that fit the element: ``labels.person: persName``."""


class _Rules:
    """The patterns for elements of one name, with a cache of meanings."""

    def __init__(self, edition: "Edition", name: str) -> None:
        def own(patterns: Patterns) -> Patterns:
            return tuple(p for p in patterns if p.last.name in (name, "*"))

        labels = [*edition.labels.items(), (None, edition.unlabelled)]
        self._roles = [(role, own(edition.roles.get(role, ()))) for role in Role]
        self._labels = [(label, own(patterns)) for label, patterns in labels]
        labelled = [p for patterns in edition.labels.values() for p in patterns]
        is_asked_for = any(pattern.last.name == name for pattern in labelled)
        self._should_name = name in _NAMING or is_asked_for
        self._own = [
            (key, p)
            for key, p in edition.own
            if p.last.name in (name, "*") and not key.startswith("choose.")
        ]
        every = [p for _, patterns in (*self._roles, *self._labels) for p in patterns]
        every += [pattern for _, pattern in self._own]
        self._look_above = name == "del" or any(pattern.before for pattern in every)
        self._attributes = {p.attribute for pattern in every for p in pattern.last.predicates}
        self._known: dict[tuple[str | None, ...], ElementMeaning] = {}
        is_pattern = bool(self._own) or any(patterns for _, patterns in self._labels)
        self.may_name = self._should_name or is_pattern
        """Whether an element of this name may be a name, or fit a pattern of the edition's own
        file."""

    def meaning(self, element: Element) -> ElementMeaning:
        """Find the meaning of an element; cached if its name and attributes decide it."""
        if self._look_above:
            return self._find(element)
        values = tuple(map(element.attributes.get, self._attributes))
        meaning = self._known.get(values)
        if meaning is None:
            meaning = self._find(element)
            if len(self._known) < _MAX_KNOWN:
                self._known[values] = meaning
        return meaning

    def _find(self, element: Element) -> ElementMeaning:
        def fits(patterns: Patterns) -> bool:
            return any(pattern.matches(element) for pattern in patterns)

        role = next((role for role, patterns in self._roles if fits(patterns)), None)
        if role is Role.LEAVE_OUT and _is_restored(element):
            role = None
        labels = [label for label, patterns in self._labels if fits(patterns)]
        keys = tuple(key for key, pattern in self._own if pattern.matches(element))
        return ElementMeaning(role, next(iter(labels), None), bool(labels), self._should_name, keys)


def _is_restored(element: Element) -> bool:
    """Tell whether an element is a deletion that was cancelled (``restore/del``)."""
    around = element.parent
    return element.name == "del" and around is not None and around.name == "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """The meaning of an edition's elements; built by ``load_edition``."""

    name: str
    lang: str | None = None
    """The BCP 47 tag for files that declare no language."""
    content: tuple[str, ...] = ("text",)
    """The names of the children of ``TEI`` that hold the text."""
    labels: Mapping[str, Patterns] = field(default_factory=dict)
    """The patterns of the elements with each label; the first label that fits decides."""
    unlabelled: Patterns = ()
    """The patterns of elements that name something without a class: mentions without a label."""
    roles: Mapping[Role, Patterns] = field(default_factory=dict)
    """The patterns of the elements with each role."""
    choose: Mapping[str, Patterns] = field(default_factory=dict)
    """For each element, patterns of the child that is read, the best first."""
    characters: tuple[tuple[Pattern, str], ...] = ()
    """Patterns of empty elements, each with the characters that the elements stand for."""
    line_end_hyphens: str | None = None
    """``keep`` or ``remove`` hyphens at line ends that no markup explains; None: as usual in the
    language."""
    obeys_xml_space: bool = True
    """Whether ``@xml:space="preserve"`` keeps white space as it is."""
    entity: tuple[str, ...] = ("key", "ref")
    """The attributes that refer to the entity, the best first."""
    spaces: Mapping[str, str] = field(default_factory=dict)
    """The space of an id by the beginning of the attribute's value (the longest that fits); the
    rest of the value is the id."""
    write: Mapping[str, Element] = field(default_factory=dict)
    """The element that a predicted name becomes, by label, where the edition gives one."""
    remarks: Element | str | None = None
    """How a person's remark on a name is written: a ``note`` after it, or an attribute of the name
    (``ana``); None: not at all."""
    metadata: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    """The rules that find each piece of metadata, the best first; ``title`` is the document's
    title."""
    own: tuple[tuple[str, Pattern], ...] = ()
    """The patterns in the edition's own file, each with the key that it stands under."""
    languages: Mapping[str, str] = field(default_factory=dict)
    """The language that is meant, by the language in a file (``*``: any)."""
    abbreviations: Abbreviations = field(default_factory=dict)
    """The abbreviations that the edition declares, for all languages."""
    learned: Mapping[str, Abbreviations] = field(default_factory=dict)
    """The abbreviations that were learned from the edition's text, by language."""
    prefixes: Prefixes = Prefixes()
    """The prefixes of pointers: those of the edition file, then those that the read file, or the
    files, declare."""

    _rules: dict[str, _Rules] = field(default_factory=dict, compare=False, repr=False)
    _languages: dict[str | None, Language] = field(default_factory=dict, compare=False, repr=False)
    _segmenters: dict[str, Segmenter] = field(default_factory=dict, compare=False, repr=False)

    def with_learned(self, learned: Mapping[str, Abbreviations]) -> "Edition":
        """Return a copy of the edition with these learned abbreviations."""
        return replace(self, learned=learned, _languages={}, _segmenters={})

    def with_prefixes(self, prefixes: Prefixes) -> "Edition":
        """Return the edition for files that declare these prefixes, beside its own."""
        return replace(self, prefixes=union([self.prefixes, prefixes])) if prefixes else self

    @property
    def makes_several(self) -> bool:
        """Whether parts of a file become documents with splits of their own, as notes do not."""
        return bool(self.roles.get(Role.DOCUMENT))

    @property
    def reads_stand_off(self) -> bool:
        """Whether some label asks for elements that stand beside the text."""
        patterns = [*self.unlabelled, *(p for some in self.labels.values() for p in some)]
        names = {step.name for p in patterns for step in (p.last, *p.before)}
        return not names.isdisjoint(_BESIDE)

    def tag_of(self, said: str | None) -> str | None:
        """Return the language tag that is meant by a tag in a file.

        Case does not matter. A language without a line of its own has that of its shortest code.
        """
        said = said or self.lang
        exact = (said or "").lower()
        other = self.languages.get(primary_language(said), self.languages.get("*", said))
        return self.languages.get(exact, other)

    def language(self, tag: str | None) -> Language:
        """Return what is known of a language."""
        if tag not in self._languages:
            if len(self._languages) >= _MAX_KNOWN:
                self._languages.clear()
            hyphens = self.line_end_hyphens
            keeps = hyphens == "keep" if hyphens else keeps_hyphens(tag)
            self._languages[tag] = Language(tag, self._segmenter(code_of(tag)), keeps)
        return self._languages[tag]

    def _segmenter(self, code: str) -> Segmenter:
        if code not in self._segmenters:
            learned = self.learned.get(code, {})
            segmenter = segmenter_plus(code, declared=self.abbreviations, learned=learned)
            self._segmenters[code] = segmenter
        return self._segmenters[code]

    def character(self, element: Element) -> str:
        """Return the characters that an empty element stands for, if any."""
        return next((text for p, text in self.characters if p.matches(element)), "")

    def chosen(self, element: Element) -> list[Element] | None:
        """Choose the child of a ``choice`` and its like that is read, by ``[choose]``.

        Returns a list of one child or none; None if all children are read.
        """
        if (patterns := self.choose.get(element.name)) is None:
            return None
        children = element.elements()
        return next(([c] for p in patterns for c in children if p.matches(c)), [])

    def may_name(self, name: str) -> bool:
        """Tell whether elements of this name may be names, or match a pattern of the own file."""
        return self._rules_for(name).may_name

    def meaning(self, element: Element) -> ElementMeaning:
        """Find the meaning of an element."""
        rules = self._rules.get(element.name) or self._rules_for(element.name)
        return rules.meaning(element)

    def _rules_for(self, name: str) -> _Rules:
        """Return the rules for elements of a name, from a cache."""
        if name not in self._rules:
            self._rules[name] = _Rules(self, name)
        return self._rules[name]


_STRINGS = list[Text]
_TYPES: Mapping[str, object] = {
    **dict.fromkeys(("name", "lang", "extends", "remarks"), Text),
    **dict.fromkeys(("content", "unlabelled"), _STRINGS),
    **dict.fromkeys(("labels", "metadata", "choose"), Mapping[str, _STRINGS]),
    **dict.fromkeys(("characters", "write", "languages"), Mapping[str, Text]),
    "text": dict.fromkeys(("leave_out", "parts"), _STRINGS),
    "documents": dict.fromkeys(("each", "notes"), _STRINGS),
    "breaks": {
        **dict.fromkeys(("word", "join", "line", "paragraph", "sentence"), _STRINGS),
        "line_end_hyphens": Literal["keep", "remove"],
        "xml_space": Literal["obey", "ignore"],
    },
    "entities": {
        "attributes": _STRINGS,
        **dict.fromkeys(("spaces", "prefixes"), Mapping[str, Text]),
    },
    "sentences": dict.fromkeys(("abbreviations", "may_end"), _STRINGS),
}
"""The keys of a file, and the types of their values."""
_PATTERNS = {"unlabelled", "labels", "text", "documents", "choose", "characters", "breaks"}
"""The keys of a file that hold patterns."""


def shipped_editions() -> list[str]:
    """List the names of the editions that ship with Onoma."""
    folder = files("corpora.tei") / "editions"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name[-5:] == ".toml")


def edition_path(name: str) -> Path:
    """Find an edition by name or by path; raises ``UsageError`` that lists those that ship."""
    if name in shipped_editions():
        return Path(str(files("corpora.tei") / "editions" / f"{name}.toml"))
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"--edition {name}: neither a file nor one of {', '.join(shipped_editions())}."
        )
    return path


def load_edition(path: Path) -> Edition:
    """Read an edition; raises ``UsageError`` with file, line and what to write instead."""
    source = _Source(path)
    tables = own = source.read()
    is_default = source.text == edition_path(DEFAULT).read_text("utf-8")
    if not is_default or "extends" in tables:
        parent = tables.get("extends", DEFAULT)
        if parent not in shipped_editions():
            shipped = ", ".join(shipped_editions())
            raise source.error("extends", f"extends {parent!r}, which is not one of {shipped}")
        inherited = {**_Source(edition_path(parent)).read()}
        inherited.pop("name", None)
        tables = _extend(inherited, tables, source=source)
    else:
        own = {}  # default patterns are made for all editions: most match nothing in one
    return _build(tables, source, own=own, default_name=_as_space(path.stem))


def _as_space(text: str) -> str:
    """Return a text as it can stand before the colon of an id."""
    return re.sub(r"[\s:]+", "-", text)


class _Source:
    """An edition file; errors name the line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""

    def read(self) -> JsonObject:
        """Parse the file, and check its tables, keys and types."""
        try:
            self.text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.path}: cannot be read ({error}).") from error
        try:
            tables = check_table(parse_toml(self.text, where=self.path), _TYPES, where=self.path)
        except TableError as error:
            raise self.error(error.key, f"{error.key}{error.why}") from None
        if tables.get("content") == []:
            raise self.error("content", "content must name an element, or nothing is read")
        for label in tables.get("labels", {}):
            if not re.fullmatch(r"\S+", label):
                raise self.error(label, f"the label {label!r} is empty or holds white space")
        named = [tables["name"]] if "name" in tables else []
        for space in (*named, *tables.get("entities", {}).get("spaces", {}).values()):
            if space != _as_space(space):
                why = "white space or a colon, which would end it in an id"
                raise self.error(space, f"{space!r} holds {why}; write {_as_space(space)!r}")
        return tables

    def error(self, needle: str, message: str) -> UsageError:
        """Return an error at the line that holds a string or key; comments do not count."""
        lines = [line.partition(" # ")[0] for line in self.text.splitlines()]
        exactly = re.escape(needle)
        patterns = (rf"[\"']{exactly}[\"']", rf"^[\[\s]*{exactly}\b", rf"^\[.*\b{exactly}\b")
        for pattern in patterns:
            for number, line in enumerate(lines, 1):
                if not line.startswith("#") and re.search(pattern, line):
                    return UsageError(f"{self.path}:{number}: {message}")
        return UsageError(f"{self.path}: {message}")


def _extend(parent: JsonObject, child: JsonObject, *, source: _Source) -> dict[str, object]:
    """Extend an edition by another: keys replace keys, ``"..."`` stands for the parent's list."""
    merged = dict(parent)
    for key, value in child.items():
        if key == "labels":
            merged[key] = value
        elif isinstance(value, dict):
            merged[key] = _extend(parent.get(key, {}), value, source=source)
        elif isinstance(value, list):
            merged[key] = _extend_list(parent.get(key, []), value, source=source)
        else:
            merged[key] = value
    return merged


def _extend_list(parent: list[str], child: list[str], *, source: _Source) -> list[str]:
    """Insert the parent's patterns at ``"..."``, without those that ``!`` removes."""
    taken = [item[1:] for item in child if item.startswith("!")]
    for item in taken:
        if item not in parent or _REST not in child:
            raise source.error(f"!{item}", f"'!{item}' takes nothing away from the default's list")
    items: list[str] = []
    for item in child:
        if item == _REST:
            items.extend(old for old in parent if old not in taken)
        elif not item.startswith("!"):
            items.append(item)
    return items


def _own_patterns(
    tables: JsonObject, source: _Source, *, key: str = ""
) -> Iterator[tuple[str, Pattern]]:
    """Yield the patterns of an edition's own file, with the key they stand under."""
    for name, value in tables.items():
        if name in _PATTERNS or key.partition(".")[0] in _PATTERNS:
            at = f"{key}.{name}" if key else name
            if isinstance(value, dict):
                yield from _own_patterns(value, source, key=at)
            elif at.startswith("characters."):
                yield f"{at}", _compile([name], source)[0]
            elif isinstance(value, list):
                items = [i for i in value if i not in {_REST, "*"} and not i.startswith("!")]
                for pattern in _compile(items, source):
                    yield f"{at}: {pattern.text}", pattern


def _build(tables: JsonObject, source: _Source, *, own: JsonObject, default_name: str) -> Edition:
    breaks, entities = tables.get("breaks", {}), tables.get("entities", {})
    lists = {**tables.get("text", {}), **tables.get("documents", {}), **breaks}
    content = tuple(name.lower() for name in tables.get("content", ["text"]))
    lists["leave_out"] = [p for p in lists.get("leave_out", ()) if p.lower() not in content]
    remarks = _remarks(tables["remarks"], source) if "remarks" in tables else None
    if isinstance(remarks, Element):  # what people remark on names is no text of the edition
        lists["leave_out"].append(_OUR_NOTES)
    edition = Edition(
        name=tables.get("name", default_name),
        lang=tables.get("lang"),
        content=content,
        labels={label: _compile(items, source) for label, items in tables["labels"].items()},
        unlabelled=_compile(tables.get("unlabelled", []), source),
        roles={role: _compile(lists.get(role.value, []), source) for role in Role},
        choose={
            _plain_name(name, source): _compile(items, source)
            for name, items in tables.get("choose", {}).items()
        },
        characters=tuple(
            (_compile([pattern], source)[0], str(value))
            for pattern, value in tables.get("characters", {}).items()
        ),
        line_end_hyphens=breaks.get("line_end_hyphens"),
        obeys_xml_space=breaks.get("xml_space") != "ignore",
        entity=tuple(entities.get("attributes", ())),
        spaces=entities.get("spaces", {}),
        prefixes=_prefixes(entities.get("prefixes", {}), source),
        write={label: _template(text, source) for label, text in tables.get("write", {}).items()},
        remarks=remarks,
        metadata={
            key: tuple(_compiled(parse_rule, items, source))
            for key, items in tables.get("metadata", {}).items()
        },
        own=tuple(_own_patterns(own, source)),
        languages={said.lower(): tag for said, tag in tables.get("languages", {}).items()},
        abbreviations=_abbreviations(tables.get("sentences", {}), source),
    )
    for label, template in edition.write.items():
        read = edition.meaning(template).label
        if read != label:
            raise source.error(
                label,
                f"[write] {label}: the element is read as {read or 'no name'}; its pattern must "
                "stand in [labels], too",
            )
    return edition


def _prefixes(table: Mapping[str, str], source: _Source) -> Prefixes:
    """Read the prefixes that the edition declares."""
    prefixes = declared(table)
    for prefix, why in prefixes.unread.items():
        raise source.error(prefix, f"[entities.prefixes] {prefix}: {why}")
    return prefixes


def _abbreviations(table: Mapping[str, Sequence[str]], source: _Source) -> Abbreviations:
    """Read the abbreviations that the edition declares; each must end with a period."""
    for word in (word for words in table.values() for word in words):
        if not word.endswith("."):
            raise source.error(word, f"[sentences] {word!r} does not end with a period")
    names = {"abbreviations": "never_final", "may_end": "may_be_final"}
    return {names[key]: words for key, words in table.items()}


def _template(text: str, source: _Source) -> Element:
    """Read the element that names become; it must determine exactly what to write."""
    template = template_of(*_compile([text], source))
    if template is None:
        example = "write rs or rs[@type='person']"
        raise source.error(text, f"[write] {text!r} does not say what to write; {example}")
    return template


def _remarks(text: str, source: _Source) -> Element | str:
    """Read how remarks are written: the pattern of a ``note``, or an attribute (``@ana``)."""
    if re.fullmatch(r"@[^\W\d][\w.:-]*", text):
        return text[1:]
    template = template_of(*_compile([text], source))
    if template is None or template.name != "note":
        why = "says neither a note nor an attribute; write note[@type='remark'] or @ana"
        raise source.error(text, f"remarks: {text!r} {why}")
    return template


def _plain_name(name: str, source: _Source) -> str:
    """Return the name of an element; it may have no conditions."""
    if not re.fullmatch(r"[^\W\d][\w.-]*", name):
        raise source.error(name, f"[choose] {name!r} must be the name of an element alone")
    return name.lower()


def _compile(items: Sequence[str], source: _Source) -> Patterns:
    return tuple(_compiled(parse_pattern, items, source))


def _compiled(parse: Callable[[str], T], items: Sequence[str], source: _Source) -> Iterator[T]:
    """Compile each item; raises ``UsageError`` with file and line."""
    for item in items:
        try:
            yield parse(item)
        except UsageError as error:
            raise source.error(item, str(error)) from None
