"""XML to a light tree whose elements know the byte at which they start.

Expat reads the bytes: nothing outside the file is opened, entities of the internal subset are
expanded up to a bound, and size and depth are bounded.
"""

import codecs
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Generic, Self, TypeVar
from weakref import ReferenceType, ref
from xml.parsers import expat

from corpora.errors import CorpusError

ROOTS = {"tei", "tei.2", "teicorpus", "teicorpus.2"}
"""The names of elements that are a TEI text, or a corpus of them."""
PARTS = {"text", "group", "front", "body", "back", "div", *(f"div{n}" for n in range(8))}
"""The roots of files that are parts of a text, which other files include."""
MAX_DEPTH = 200
MAX_EXPANSION = 1 << 20
MAX_NESTED = 1000
"""The most entities declared by other entities: expat before 2.7 recurses along a chain of them."""
MAX_NAMESPACE = 1000
"""The most characters of a namespace's name, which expat writes before each element's name."""
_ATTRIBUTE = len(" a=''")  # the fewest characters of an attribute in a file
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
_TEI_NAMESPACE = re.compile(r"https?://www\.tei-c\.org/")
_DECLARED_ENCODING = re.compile(
    r"""(\A\ufeff?<\?xml\s[^>]*?)(\bencoding\s*=\s*(?:"[^"]*"|'[^']*'))"""
)
_ARCHIVES = {b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


class Element:
    """An element; ``children`` are elements and strings, in order."""

    __slots__ = (
        "__weakref__", "_parent", "attributes", "byte", "children", "file", "name", "written_name",
    )  # fmt: skip

    def __init__(self, written_name: str, attributes: dict[str, str], byte: int = 0) -> None:
        self.written_name = written_name
        """The local name as written in the file."""
        self.name = written_name.lower()
        self.attributes = attributes
        self.byte = byte
        """The byte of the file at which the start tag begins."""
        self.file = ""
        """The name of the file that the element was included from; empty for the file itself."""
        self._parent: ReferenceType[Self] | None = None
        self.children: list[Self | str] = []

    @property
    def parent(self) -> Self | None:
        """The element around it, by a weak reference: only the root keeps a tree in memory."""
        return None if self._parent is None else self._parent()

    @parent.setter
    def parent(self, parent: Self | None) -> None:
        self._parent = None if parent is None else ref(parent)

    def find(self, name: str) -> Self | None:
        """Return the first descendant with this name (in lower case)."""
        for child in self.children:
            if not isinstance(child, str):
                element = child if child.name == name else child.find(name)
                if element is not None:
                    return element
        return None

    def elements(self) -> list[Self]:
        """Return the children that are elements."""
        return [child for child in self.children if not isinstance(child, str)]

    def walk(self) -> Iterator[Self]:
        """Yield the element and all its descendants, in the order of the file."""
        waiting = [self]
        while waiting:
            yield (element := waiting.pop())
            waiting += (c for c in reversed(element.children) if not isinstance(c, str))

    def chain(self) -> Iterator[Self]:
        """Yield the element and its ancestors, the root last."""
        element: Self | None = self
        while element is not None:
            yield element
            element = element.parent

    def text(self) -> str:
        """Return all text in the element, white space normalized."""
        return " ".join("".join(self.strings()).split())

    def strings(self) -> Iterator[str]:
        """Yield all text in the element, as it is written."""
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child.strings()


class XmlError(CorpusError):
    """Malformed XML; ``reason`` is the name to count, ``position`` the place."""

    def __init__(self, reason: str, message: str, *, position: str = "", excerpt: str = "") -> None:
        super().__init__(message)
        self.reason, self.position, self.excerpt = reason, position, excerpt


E = TypeVar("E", bound=Element)


class TreeParser(Generic[E]):
    """A single parse: the handlers that build a tree of ``kind`` elements, and the bounds."""

    def __init__(self, data: bytes, name: str, kind: type[E]) -> None:
        self.data, self.file, self.kind = data, name, kind
        self.root: E | None = None
        self.stack: list[E] = []
        self.n_characters = self.n_elements = 0
        self.max_characters = len(data) + MAX_EXPANSION
        self.declared = {"amp", "lt", "gt", "quot", "apos"}
        self.n_nested = 0
        self.has_outer_declarations = False
        # a UTF-8 mark wins over the declared encoding
        encoding = "utf-8" if data.startswith(codecs.BOM_UTF8) else None
        parser = self.expat = expat.ParserCreate(encoding, namespace_separator=" ")
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.ExternalEntityRefHandler = self._external
        parser.SkippedEntityHandler = self._skipped
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartNamespaceDeclHandler = self._namespace
        parser.EntityDeclHandler = self._declaration

    def parse(self) -> E:
        """Parse the file, once; raises ``XmlError``."""
        try:
            self.expat.Parse(self.data, True)  # noqa: FBT003 - expat knows no keywords
            if self.has_outer_declarations:
                self._check_attributes()
            if self.root is None:  # impossible: expat refuses a document without an element
                raise self._error("malformed_xml", "no element", _REPAIR)
        except expat.ExpatError as error:
            raise self._explain(error) from error
        except (LookupError, ValueError) as error:  # an encoding unknown to Python, or multi-byte
            raise self._error("encoding", f"unreadable encoding ({error})", _SAVE_UTF8) from error
        finally:
            del self.expat  # breaks the cycle of parser and handlers
        return self.root

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        if attributes:
            self._count(len(attributes) * _ATTRIBUTE + sum(map(len, attributes.values())))
            if " " in "".join(attributes):  # some attributes are in a namespace
                attributes = {_attribute_name(name): value for name, value in attributes.items()}
        parent = self.stack[-1] if self.stack else None
        element = self.kind(_element_name(qualified), attributes, self.expat.CurrentByteIndex)
        if parent is not None:
            element._parent = ref(parent)  # noqa: SLF001 - for speed
            parent.children.append(element)
            if len(self.stack) >= MAX_DEPTH:
                raise self._error("too_deep", f"elements nest more than {MAX_DEPTH} deep", _REPAIR)
        else:
            self.root = element
        self.stack.append(element)
        self.n_elements += 1
        if self.n_elements * 4 > self.max_characters:
            raise self._too_much()

    def _count(self, n_characters: int) -> None:
        self.n_characters += n_characters
        if self.n_characters > self.max_characters:
            raise self._too_much()

    def _doctype(self, _: str, system: str | None, __: str | None, has_declarations: int) -> None:
        self.has_outer_declarations = system is not None
        if not has_declarations:
            return
        try:
            n_expanded = _expansion(self._text(), most=self.max_characters)
        except CycleError as error:
            what = "one of its entities is declared by itself"
            raise self._error("malformed_xml", what, _REPAIR) from error
        if n_expanded > self.max_characters:
            raise self._too_much()

    def _text(self) -> str:
        """Decode the file as expat does."""
        encoding, n_mark = encoding_of(self.data)
        return self.data[n_mark:].decode(encoding, "replace")

    def _namespace(self, _: str | None, uri: str | None) -> None:
        if uri and len(uri) > MAX_NAMESPACE:
            what = f"the name of a namespace is longer than {MAX_NAMESPACE:,} characters"
            raise self._error("long_namespace", what, _REPAIR)

    def _declaration(self, name: str, is_parameter: int, value: str | None, *_: object) -> None:
        if is_parameter:  # it may hold declarations
            self.has_outer_declarations = True
        else:
            self.declared.add(name)
        self.n_nested += bool(value and "&" in value)
        if self.n_nested > MAX_NESTED:
            what = f"more than {MAX_NESTED:,} of its entities are declared by other entities"
            raise self._error("entity_expansion", what, "Expand them in the file.")

    def _check_attributes(self) -> None:
        """Raise for entities in attributes that expat drops, as a DTD elsewhere may declare them.

        In text they are refused when they occur; without such a DTD expat refuses all.
        """
        for name in _in_tags(self._text()):
            if name not in self.declared:
                raise self._undeclared(f"&{name};")

    def _end(self, _: str) -> None:
        self.stack.pop()

    def _characters(self, text: str) -> None:
        self.stack[-1].children.append(text)
        self._count(len(text))

    def _too_much(self) -> XmlError:
        return self._error(
            "entity_expansion",
            f"its entities and default attributes expand to more than {MAX_EXPANSION:,} "
            "characters beyond its size",
            "Expand them in the file.",
        )

    def _external(
        self, context: str | None, _: str | None, system: str | None, __: str | None
    ) -> int:
        """Raise for an entity of a text; what holds declarations is read as if it were empty."""
        if context is None:  # so that declarations behind it count
            empty = self.expat.ExternalEntityParserCreate(context)
            return empty.Parse(b"", True)  # noqa: FBT003 - expat knows no keywords
        raise self._error(
            "external_entity",
            f"refers to an entity in another file ({system})",
            "Nothing outside the file is read; put the text into the file.",
        )

    def _skipped(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat calls it
        if not is_parameter:
            raise self._undeclared(f"&{name};")

    def _undeclared(self, what: str) -> XmlError:
        return self._error(
            "undeclared_entity",
            f"uses an entity that the file does not declare ({what})",
            "Declare it in the internal subset of the DOCTYPE, or write the character itself.",
        )

    def _explain(self, error: expat.ExpatError) -> XmlError:
        message = expat.ErrorString(error.code)
        if error.code == _CODES[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            return self._undeclared(_entity_at(self.data, self.expat.ErrorByteIndex))
        if "amplification" in message:
            return self._too_much()
        unreadable = (
            expat.errors.XML_ERROR_UNKNOWN_ENCODING,
            expat.errors.XML_ERROR_INCORRECT_ENCODING,
        )
        if message in unreadable:
            return self._error("encoding", message, _SAVE_UTF8)
        return self._error("malformed_xml", f"not well-formed XML ({message})", _REPAIR)

    def _error(self, reason: str, what: str, remedy: str) -> XmlError:
        line, column = self.expat.CurrentLineNumber, self.expat.CurrentColumnNumber + 1
        around = self.data[max(0, self.expat.CurrentByteIndex - 60) :][:160]
        return XmlError(
            reason,
            f"{self.file}:{line}:{column}: {what}. {remedy}",
            position=f"line {line}, column {column}",
            excerpt=around.decode("utf-8", "replace"),
        )


_NAME = r"[^\s&;#%<>\"'][^\s&;%<>\"']*"
_REFERENCE = re.compile(f"&({_NAME});")
_TAG = re.compile(
    r"""<(?:!ATTLIST\s|[^\s!/?<>"'])[^<>"']*+(?:"[^<"]*+"?[^<>"']*+|'[^<']*+'?[^<>"']*+)*+"""
)
"""Matches a start tag or the default values of attributes, even if it has no end; none has another
``<`` in it."""
_DECLARED = re.compile(rf"""(?=<!ENTITY\s+({_NAME})\s+("[^"]*"|'[^']*'))""")
_NUMBERED = re.compile(r"&#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));")
_ENCODING = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")
_CODES = expat.errors.codes
_REPAIR = "Repair the file, or leave it out."
_SAVE_UTF8 = "Save the file as UTF-8."


@lru_cache(maxsize=4096)
def _element_name(qualified: str) -> str:
    """Return the local name, with its namespace in braces unless that is TEI's."""
    namespace, separator, name = qualified.rpartition(" ")
    if separator and not _TEI_NAMESPACE.match(namespace):
        return f"{{{namespace}}}{name}"
    return name


@lru_cache(maxsize=4096)
def _attribute_name(key: str) -> str:
    namespace, separator, name = key.rpartition(" ")
    if not separator:
        return key
    return f"xml:{name}" if namespace == _XML_NAMESPACE else name


def _expansion(text: str, *, most: int) -> int:
    """Count the characters that entities in attributes expand to.

    Expat expands all entities of a tag before it calls a handler. Each entity counts at most
    ``most`` + 1 characters. Entities in comments count, too, and tags in entities count twice.
    Raises ``CycleError``.
    """
    used = Counter(_in_tags(text))
    sizes: defaultdict[str, int] = defaultdict(int)
    inner: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for match in _DECLARED.finditer(text):
        name, value = match[1], _NUMBERED.sub(_numbered, match[2][1:-1])
        sizes[name] = max(sizes[name], len(value))
        for name_inside, n in Counter(_REFERENCE.findall(value)).items():
            inner[name][name_inside] = max(inner[name][name_inside], n)
        used.update(_in_tags(value))
    for name in TopologicalSorter(inner).static_order():
        n_inside = sum(n * sizes[name_inside] for name_inside, n in inner.get(name, {}).items())
        sizes[name] = min(sizes[name] + n_inside, most + 1)
    return sum(n * sizes[name] for name, n in used.items())


def _in_tags(text: str) -> Iterator[str]:
    """Yield the entities in attributes and in their default values."""
    for tag in _TAG.finditer(text):
        yield from _REFERENCE.findall(tag[0])


def _numbered(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else int(match[2])
    return chr(number) if number <= sys.maxunicode else match[0]


def encoding_of(data: bytes) -> tuple[str, int]:
    """Return the encoding that expat reads a file in, and the length of its byte order mark."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return encoding, len(mark)
    if 0 in data[:2]:
        return ("utf-16-le" if data[0] else "utf-16-be"), 0
    declared = _ENCODING.match(data)
    name = declared[1].decode("ascii") if declared else "utf-8"
    return codecs.lookup(name).name, 0


def _entity_at(data: bytes, index: int) -> str:
    match = re.match(rb"&[^;\s]{1,40};", data[index : index + 50])
    return match[0].decode("utf-8", "replace") if match else "&…;"


def parse_xml(data: bytes, *, name: str) -> Element:
    """Parse a file; raises ``XmlError`` with file, line, column and what to do."""
    check_is_xml(data, name=name)
    return TreeParser(data, name, Element).parse()


def encoded(xml: str, *, name: str) -> bytes:
    """Encode XML that was decoded already: the encoding that it declares no longer holds.

    Spaces stand in place of the declaration, so that all else stays where it is. Raises
    ``XmlError`` for half a surrogate pair.
    """
    try:
        return _DECLARED_ENCODING.sub(
            lambda match: match[1] + " " * len(match[2]), xml, count=1
        ).encode()
    except UnicodeEncodeError as error:
        raise XmlError(
            "bad_character",
            f"{name}: character {error.start + 1} is half a surrogate pair. Decode it correctly.",
        ) from error


def check_is_xml(data: bytes, *, name: str) -> None:
    """Raise ``XmlError`` for an empty file and for archives."""
    if not data.strip():
        raise XmlError("empty_file", f"{name}: is empty. Leave it out.")
    for magic, kind in _ARCHIVES.items():
        if data.startswith(magic):
            raise XmlError("not_xml", f"{name}: is a {kind} archive. Unpack it first.")
