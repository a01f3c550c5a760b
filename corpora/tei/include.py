"""Files that others include (``xi:include``), if they lie in the folder of the inputs."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote

from corpora.runs.plan import InputFile, describe_file
from corpora.tei.xml import MAX_DEPTH, Element, XmlError, parse_xml

_NAMESPACE = "{http://www.w3.org/2001/xinclude}"
INCLUDE = f"{_NAMESPACE}include"
_MARK = b"http://www.w3.org/2001/XInclude"  # the namespace: each file that includes another has it
_POINTER = re.compile(
    r"""([\w.-]+)|element\((?!\))([\w.-]+)?((?:/[1-9]\d{0,8})*)\)|xpointer\(id\(["']([\w.-]+)["']\)\)"""
)


class IncludedPart(NamedTuple):
    """An included file, or with an XPointer a part of it."""

    file: str
    pointer: str


def find_included(files: Sequence[InputFile], *, max_bytes: int) -> dict[str, InputFile]:
    """Describe the files that others include, by name: only files in the folder of all files.

    A file of which only parts are included is one of them if one of the parts is found in it.
    Files above ``max_bytes``, and those in buckets, are not searched for inclusions.
    """
    from corpora.system.buckets import is_url

    included: dict[str, InputFile] = {}
    pointers: defaultdict[str, set[str]] = defaultdict(set)
    waiting = [file for file in files if not is_url(file.path)]
    for file in waiting:  # the loop appends to it
        parts = _parts_of(file.read(), file.name) if file.size <= max_bytes else []
        folder = Path(file.path).resolve().parents[file.name.count("/")] if parts else Path()
        for name, pointer in parts:
            path = (folder / name).resolve()
            if name not in included and path.is_file() and path.is_relative_to(folder):
                included[name] = describe_file(name, path)
                waiting.append(included[name])
            pointers[name].add(pointer)
    return {
        name: file
        for name, file in included.items()
        if file.size > max_bytes or _is_pointed_at(file, pointers[name])
    }


def which_are_included(files: Mapping[str, Path]) -> set[str]:
    """Tell which of some files are included by one of them, or by a file beside or above them."""
    by_path = {path.resolve(): name for name, path in files.items()}
    folders = {folder for path in by_path for folder in (path.parent, path.parent.parent)}
    names: set[str] = set()
    for path in sorted({*by_path, *(path for folder in folders for path in folder.glob("*.xml"))}):
        with suppress(XmlError, OSError):  # who reads the file will say what is wrong with it
            data = path.read_bytes()
            if _MARK not in data:
                continue
            for element in parse_xml(data, name=path.name).walk():
                if element.name == INCLUDE and "\0" not in (href := _href_of(element)):
                    names.add(by_path.get((path.parent / href).resolve(), ""))
    return names - {""}


def masters_of(files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the names of the files that include others of these files."""
    for name, path in files.items():
        with suppress(OSError):
            if any(part.file in files for part in _parts_of(path.read_bytes(), name)):
                yield name


def included_parts(root: Element, name: str, *, in_text: bool = False) -> Iterator[IncludedPart]:
    """Yield the files that a file includes and that may be read.

    Pointers that are not read are passed over: they include nothing. ``in_text``: only what a
    header does not include.
    """
    for element in root.walk():
        if element.name == INCLUDE and (target := target_of(element, name)):
            pointer = pointer_of(element)
            is_read = not pointer or (not _is_text(element) and _POINTER.fullmatch(pointer))
            if is_read and not (in_text and _is_in_header(element)):
                yield IncludedPart(target, pointer)


def _is_in_header(element: Element) -> bool:
    return any(around.name == "teiheader" for around in element.chain())


def find_repeated(
    files: Sequence[InputFile], included: Mapping[str, InputFile]
) -> dict[str, dict[IncludedPart, str]]:
    """Find the text that a file includes, and an earlier one has included, too.

    Returns for each file these parts, each with the name of the earlier file. The same part that
    one file includes twice is none of them.
    """
    first: dict[IncludedPart, str] = {}
    repeated: defaultdict[str, dict[IncludedPart, str]] = defaultdict(dict)
    for file in files if included else ():
        waiting, met = [file], set[IncludedPart]()
        for inside in waiting:  # the loop appends to it
            parts = {*_parts_of(inside.read(), inside.name, in_text=True)} - met
            met |= parts
            for part in sorted(parts):
                owner = first.get(IncludedPart(part.file, ""), file.name)
                owner = first.setdefault(part, owner)
                if owner != file.name:
                    repeated[file.name][part] = owner
                elif part.file in included:
                    waiting.append(included[part.file])
    return dict(repeated)


def _parts_of(data: bytes, name: str, *, in_text: bool = False) -> list[IncludedPart]:
    """List what a file includes, as ``included_parts`` does."""
    with suppress(XmlError):  # who reads the file will say what is wrong with it
        if _MARK in data:
            return [*included_parts(parse_xml(data, name=name), name, in_text=in_text)]
    return []


def target_of(element: Element, name: str) -> str | None:
    """Return the name of the file that an element of the file ``name`` includes.

    None for an address, for a path outside the folder, and for the file itself.
    """
    href = _href_of(element)
    if not href or href.startswith("/") or "\\" in href or ":" in href or "\0" in href:
        return None
    target = normpath(str(PurePosixPath(name).parent / href))
    return None if target == name or target.split("/")[0] in {"..", "."} else target


def _href_of(element: Element) -> str:
    return unquote(element.attributes.get("href", ""))


def pointer_of(element: Element) -> str:
    """Return the XPointer to what is included; empty for the whole file."""
    attributes = element.attributes
    return (attributes.get("xpointer") or attributes.get("fragid", "")).strip()


def pointed_at(root: Element, pointer: str) -> Element | None:
    """Find the element of a file that an XPointer points at; the root without one.

    Three forms are read: ids (``p1``), the scheme ``element`` (``element(p1/2)``, the second child
    of that element), and ``xpointer(id('p1'))``.
    """
    if not pointer:
        return root
    if not (match := _POINTER.fullmatch(pointer)):
        return None
    id, steps = match[1] or match[2] or match[4], list(map(int, (match[3] or "").split("/")[1:]))
    above = Element("", {})
    above.children = [root]
    starts = (e for e in root.walk() if e.attributes.get("xml:id") == id) if id else [above]
    element = next(iter(starts), None)
    for step in steps:
        inside = element.elements() if element else []
        element = inside[step - 1] if step <= len(inside) else None
    return element


def _is_pointed_at(file: InputFile, pointers: Collection[str]) -> bool:
    """Tell whether a pointer finds something in a file; a malformed one is left to its reader."""
    if "" in pointers:
        return True
    try:
        root = parse_xml(file.read(), name=file.name)
    except XmlError:
        return True
    return any(pointed_at(root, pointer) for pointer in pointers)


def _is_text(element: Element) -> bool:
    return element.attributes.get("parse") == "text"


def with_included(
    root: Element,
    included: Mapping[str, InputFile],
    *,
    name: str,
    room: int,
    repeated: Collection[IncludedPart] = (),
) -> Counter[str]:
    """Replace the inclusions of a file by the included content; returns counters.

    Those of ``repeated`` are replaced by nothing: another file has their text.
    The included files may have ``room`` bytes together, each counted as often as it is included.
    Raises ``XmlError`` where an included file is malformed, or exceeds the room.
    """
    inclusion = _Inclusion(included, room, repeated)
    inclusion.walk(root, [name], depth=1)
    return inclusion.counters


class _Inclusion:
    """The inclusion of files into one file."""

    def __init__(
        self, included: Mapping[str, InputFile], room: int, repeated: Collection[IncludedPart]
    ) -> None:
        self.included, self.room, self.repeated = included, room, repeated
        self.counters: Counter[str] = Counter()

    def walk(self, element: Element, names: list[str], *, depth: int) -> None:
        """Replace the inclusions below an element; ``names`` are the files around it."""
        if depth > MAX_DEPTH:
            what = f"elements of included files nest more than {MAX_DEPTH} deep"
            raise XmlError("too_deep", f"{names[0]}: {what}. Repair the files.")
        element.file = names[-1] if len(names) > 1 else ""
        children: list[Element | str] = []
        for child in element.children:
            if isinstance(child, Element) and child.name == INCLUDE:
                children += self._included(child, names, depth=depth + 1)
            else:
                if isinstance(child, Element):
                    self.walk(child, names, depth=depth + 1)
                children.append(child)
        element.children = children
        for one in element.elements():
            one.parent = element

    def _included(self, element: Element, names: list[str], *, depth: int) -> list[Element | str]:
        target, pointer = target_of(element, names[-1]), pointer_of(element)
        file = None if target is None or target in names else self.included.get(target)
        if target is None or file is None or (pointer and _is_text(element)):
            return self._fallback(element, names, depth=depth)
        if IncludedPart(target, pointer) in self.repeated and not _is_in_header(element):
            self.counters["not read: text that an earlier file includes"] += 1
            return []
        self.room -= file.size
        if self.room < 0:
            raise XmlError(
                "too_large",
                f"{names[0]}: too large with all that it includes. Leave it out with --exclude: "
                "what it includes is then read by itself.",
            )
        data = file.read()
        if _is_text(element):
            self.counters["included files"] += 1
            return [_decoded(data, element, target)]
        root = pointed_at(parse_xml(data, name=target), pointer)
        if root is None:
            return self._fallback(element, names, depth=depth)
        self.counters["included parts of files" if pointer else "included files"] += 1
        self.walk(root, [*names, target], depth=depth)
        return [root]

    def _fallback(self, element: Element, names: list[str], *, depth: int) -> list[Element | str]:
        """Return the content to read instead of a missing file."""
        self.counters["not read: xi:include"] += 1
        fallback: list[Element | str] = []
        for child in element.elements():
            if child.name == f"{_NAMESPACE}fallback":
                self.walk(child, names, depth=depth)
                fallback += child.children
        return fallback


def _decoded(data: bytes, element: Element, name: str) -> str:
    """Decode the included text ``name``: UTF-8, or the ``encoding`` of the inclusion."""
    encoding = element.attributes.get("encoding", "utf-8")
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise XmlError(
            "encoding",
            f"{name}: is no text in {encoding!r} ({error}). Give its encoding in xi:include.",
        ) from error
