"""The record in a header of who found names: a model, and the people who reviewed them.

The record is a ``respStmt`` that every added name points to, an ``application``, and a ``change``.
The statement keeps a fingerprint of each name as it was written, in a processing instruction, which
schemas and readers ignore; by it ``undo`` recognises names that somebody has changed since.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from corpora.errors import UsageError
from corpora.tei.source import Edit, Node, Source
from corpora.tei.style import NO_XML, escape, tag
from corpora.tei.xml import PARTS, ROOTS

_ID = re.compile(r"onoma-[A-Za-z0-9._-]+")
_POINTER = re.compile(r"#(onoma-[A-Za-z0-9._-]+)")
_PRINTS = re.compile(r"<\?onoma(?:-ref ([\w:.-]+))?((?: [0-9a-f]{6})*)\?>")
_EMPTIED = re.compile(r"<\?onoma-empty ([ \t\r\n]*/)\?>")
_EMPTY_END = re.compile(r"([ \t\r\n]*/)>$")
_SUFFIX = re.compile(r"\.[0-9a-f]{4}$")
_NOTICE = re.compile(r"<\?onoma-by (onoma-[\w.-]+) [^?]*\?>((?:<\?onoma(?:-ref)? [^?]*\?>)*)")
_VERSION = re.compile(r"\d+[a-z]*\d*(\.\d+[a-z]*\d*){0,3}")
P4_ROOTS = {"tei.2", "teicorpus.2"}
_WRITTEN = {
    "teiheader": "teiHeader", "filedesc": "fileDesc", "titlestmt": "titleStmt",
    "encodingdesc": "encodingDesc", "appinfo": "appInfo", "revisiondesc": "revisionDesc",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model, dictionary or linker that found the names."""

    id: str
    """An XML id: ``onoma-`` and what is unique to the model (its name, the beginning of its
    hash)."""
    name: str
    version: str
    sha256: str
    """The hash of the weights, in hexadecimal digits; empty if people, not a model, found the
    names."""
    desc: str = ""
    kind: Literal["model", "dictionary", "linker"] = "model"
    """A ``linker`` adds references to existing names."""

    def __post_init__(self) -> None:
        """Raise for an id that ``undo`` could not recognize."""
        if not _ID.fullmatch(self.id):
            raise UsageError(
                f"the id {self.id!r} of a model must begin with 'onoma-' and go on with letters, "
                "digits, '.', '_' or '-'."
            )
        if NO_XML.search(f"{self.name}{self.version}{self.sha256}{self.desc}"):
            raise UsageError(f"the name of the model {self.id} has characters that XML forbids.")


def suffix_of(name: str) -> str:
    """Return what makes ids unique to a file: a dot, and four digits of the hash of its name."""
    return "." + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:4]


def is_id(written: str, id: str) -> bool:
    """Tell whether an id, or a pointer to it, is this one, maybe with the suffix of a file."""
    return written == id or (_SUFFIX.search(written) is not None and written[:-5] == id)


@dataclass(frozen=True, slots=True)
class Responsibility:
    """The responsibility for written names, of a model and of a person who reviewed them."""

    model: Model
    reviewer: str = ""
    """An ``xml:id`` (a new one, or of the file), or a pointer (``people.xml#kb``); empty: none."""
    date: str = ""
    """The date of writing, as ``2026-03-01``; empty: it is not recorded."""

    def in_part(self, source: Source) -> "Responsibility":
        """Return it with ids that stay unique when other files include this one."""
        suffix, reviewer = suffix_of(source.name), self.reviewer
        if pointer_of(reviewer) == f"#{reviewer}" and reviewer not in source.by_id:
            reviewer += suffix
        model = replace(self.model, id=self.model.id + suffix)
        return replace(self, model=model, reviewer=reviewer)

    def __post_init__(self) -> None:
        """Raise for a reviewer that no attribute can point to."""
        if self.reviewer and not is_reviewer(self.reviewer):
            raise UsageError(
                f"reviewer {self.reviewer!r}: expected an id that begins with a letter, without "
                "spaces (kb), or a pointer (people.xml#kb), and nothing that begins with onoma-."
            )

    @property
    def resp(self) -> str:
        """The value of ``@resp``."""
        return " ".join(filter(None, [f"#{self.model.id}", pointer_of(self.reviewer)]))


def is_reviewer(reviewer: str) -> bool:
    """Tell whether a person can be named by this string."""
    is_plain = re.fullmatch(r"[^\W\d][\w.-]*", reviewer)
    is_pointer = re.fullmatch(r"[^\s\"<>&]*[#:/][^\s\"<>&]+", reviewer)
    return bool(is_plain or is_pointer) and not reviewer.lstrip("#").startswith("onoma-")


def pointer_of(reviewer: str) -> str:
    """Return the value of ``@resp`` for a person: a pointer to an id, or a full pointer."""
    is_whole = not reviewer or any(sign in reviewer for sign in "#:/")
    return reviewer if is_whole else f"#{reviewer}"


def parties(resp: str | None) -> tuple[list[str], list[str]]:
    """Split ``@resp`` into the ids of our models, and the pointers to all others."""
    models: list[str] = []
    others: list[str] = []
    for pointer in (resp or "").split():
        match = _POINTER.fullmatch(pointer)
        (models if match else others).append(match[1] if match else pointer)
    return models, others


def is_statement(node: Node) -> bool:
    """Tell whether an element of the header is the statement on one of our models."""
    return node.name == "respstmt" and bool(_ID.fullmatch(node.attributes.get("xml:id", "")))


def fingerprint(name: str, attributes: Iterable[tuple[str, str]], text: str) -> str:
    """Hash a name as it is written to six hexadecimal digits.

    White space and the order of attributes do not count.
    """
    parts = [name, sorted(pair for pair in attributes if pair[1]), "".join(text.split())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]


def fingerprint_of(source: Source, node: Node, more: Iterable[tuple[str, str]] = ()) -> str:
    """Compute the fingerprint of an element of a file; for a ``span``, with the name in it.

    ``more`` are attributes that will be added to it.
    """
    nodes = list(node.walk()) if node.name == "span" else [node]
    name = " ".join(one.written_name for one in nodes)
    attributes = [pair for one in nodes for pair in one.attributes.items()]
    return fingerprint(name, [*attributes, *more], source.stream[node.first : node.last])


class Fingerprints(NamedTuple):
    """A list of fingerprints in a statement, and its place in the file."""

    start: int
    end: int
    attribute: str
    """The attribute that was added to existing names; empty if the names themselves were added."""
    fingerprints: list[str]


def fingerprints_in(source: Source, statement: Node) -> list[Fingerprints]:
    """Find the lists of fingerprints in a statement."""
    start = statement.content_start
    return _lists_in(source.text[start : statement.content_end], start)


def _lists_in(text: str, start: int) -> list[Fingerprints]:
    return [
        Fingerprints(match.start() + start, match.end() + start, match[1] or "", match[2].split())
        for match in _PRINTS.finditer(text)
    ]


class Notice(NamedTuple):
    """The statement on a model in a file without a header: processing instructions in its root."""

    start: int
    end: int
    model: str
    fingerprints: list[Fingerprints]


def notices_in(source: Source) -> list[Notice]:
    """Find the statements on models in a file without a header."""
    return [
        Notice(*match.span(), match[1], _lists_in(match[2], match.start(2)))
        for match in _NOTICE.finditer(source.text)
    ]


def list_of(fingerprints: Sequence[str], attribute: str = "") -> str:
    """Write fingerprints as they stand in a statement; empty if there are none."""
    target = f"onoma-ref {attribute}" if attribute else "onoma"
    return f"<?{target} {' '.join(fingerprints)}?>" if fingerprints else ""


def emptied(source: Source, node: Node) -> str | None:
    """Return the original end of a tag that was empty before we filled it; else None."""
    match = _EMPTIED.match(source.text, node.content_start)
    return f"{match[1]}>" if match else None


def place_of_attribute(source: Source, node: Node, name: str) -> tuple[int, int] | None:
    """Find the range of an attribute in the file, with the white space before it."""
    pattern = re.compile(rf"\s+{re.escape(name)}\s*=\s*(?:\"[^\"]*\"|'[^']*')")
    match = pattern.search(source.text, node.start, node.content_start)
    return match.span() if match else None


class _Header:
    """The insertions into the header of one file."""

    def __init__(self, source: Source, by: Responsibility) -> None:
        self.source, self.by = source, by
        root = source.nodes[0]
        headers = (n for n in source.nodes if n.name == "teiheader" and not n.is_expanded)
        around = next((header.parent for header in headers), None)
        self.around = around if around and around.name not in ROOTS else root
        """The element that has the header: the root, or where readers find it, such as ``text``."""
        self.prefix = source.prefix(root)
        self.mark = [("resp", f"#{by.model.id}")]

    def child(self, node: Node, name: str) -> Node | None:
        """Find the first child with a name that is written in the file itself."""
        inside = (n for n in node.elements() if n.name == name and not n.is_expanded)
        return next(inside, None)

    def put(self, around: Node, path: Sequence[str], inside: str) -> Iterator[Edit]:
        """Insert markup at the end of the element at the path; missing elements are created."""
        for depth, name in enumerate(path):
            child = self.child(around, name)
            if child is None:
                yield self._insert(around, name, self._made(path[depth:], inside))
                return
            around = child
            if around.is_empty_tag:
                yield self._fill(around, self._made(path[depth + 1 :], inside))
                return
        yield self._insert(around, "", inside)

    def _made(self, path: Sequence[str], inside: str) -> str:
        """Write nested elements, with the children that TEI requires."""
        for name in reversed(path):
            blank = self.blank("title") if name == "titlestmt" else ""
            after = ""
            if name == "filedesc":
                after = self.blank("publicationStmt", "<{}p/>")
                after += self.blank("sourceDesc", "<{}p/>")
            inside = self.element(_WRITTEN[name], blank + inside + after)
        return inside

    def element(self, name: str, inside: str, *more: tuple[str, str]) -> str:
        """Write an element with our mark."""
        qualified = self.prefix + name
        return f"{tag(qualified, [*more, *self.mark])}{inside}</{qualified}>"

    def blank(self, name: str, inside: str = "") -> str:
        """Write an element that TEI requires, but whose content is unknown."""
        return self.element(name, inside.format(self.prefix))

    def _fill(self, node: Node, inside: str) -> Edit:
        """Open an empty tag; its original end is recorded for ``undo``."""
        if node.name == "titlestmt":
            inside = self.blank("title") + inside
        end = _EMPTY_END.search(self.source.text, node.start, node.end)
        assert end is not None  # noqa: S101 - it is an empty tag
        opening = tag("", self.mark)[1:]
        filled = f"{opening}<?onoma-empty {end[1]}?>{inside}</{self.prefix}{node.written_name}>"
        return Edit(end.start(), node.end, filled)

    def _insert(self, around: Node, name: str, markup: str) -> Edit:
        """Insert an element in another, indented like the child before it."""
        children = [n for n in around.elements() if not n.is_expanded]
        before = children[-1] if children else None
        if name in {"filedesc", "titlestmt", "teiheader"}:
            before = None
        elif name == "encodingdesc":
            before = self.child(around, "filedesc") or before
        if around.name in {"revisiondesc", "listchange"} and _is_newest_first(children):
            before = None
        at = before.end if before else around.content_start
        like = before or (children[0] if children else None)
        if like:
            start = like.start
            indent = re.search(r"\r?\n[ \t]*$", self.source.text[max(0, start - 200) : start])
            markup = (indent[0] if indent else "") + markup
        return Edit(at, at, markup)


def _is_newest_first(changes: Sequence[Node]) -> bool:
    """Tell whether an edition lists its latest change first."""
    dates = [n.attributes["when"] for n in changes if n.attributes.get("when")]
    return len(dates) > 1 and dates[0] > dates[-1]


def header_edits(
    source: Source,
    by: Responsibility,
    fingerprints: Mapping[str, Sequence[str]],
    *,
    n_names: int | None,
    is_correction: bool = False,
) -> Iterator[Edit]:
    """Yield the edits that record in the header who found and who reviewed the names.

    ``fingerprints`` are keyed by the attribute that was added to an existing name; the key is empty
    for new names.

    The ``respStmt`` goes to the end of ``titleStmt``, where TEI allows it in every header. Missing
    elements on the path are added, and marked by ``@resp``; empty ones are filled. White space
    before an inserted element belongs to the insertion: an element's end precedes it, never white
    space. TEI P4 has no ``appInfo``, and no such ``change``; neither is written where ``n_names``
    is None.
    """
    if source.nodes[0].name in PARTS:
        yield _notice(source, by.model, fingerprints)
        return
    header = _Header(source, by)
    statements = list(_statements(source, header, fingerprints, is_typed=n_names is not None))
    top = source.nodes[0]
    edits = [edit for edit in statements if isinstance(edit, Edit)]
    new = "".join(markup for markup in statements if isinstance(markup, str))
    parts: list[tuple[tuple[str, ...], str]] = [(_title_path(header), new)] if new else []
    if top.name not in P4_ROOTS and n_names is not None:
        if not _has_application(source, by.model):
            parts.append((("teiheader", "encodingdesc", "appinfo"), _application(header)))
        path, change = _change(header, n_names, is_correction=is_correction)
        parts.append((("teiheader", *path), change))
    for joined, markup in _joined(header, parts):
        edits += header.put(header.around, joined, markup)
    yield from edits


def _notice(source: Source, model: Model, fingerprints: Mapping[str, Sequence[str]]) -> Edit:
    """Return the edit that states in a file without a header who found the names."""
    lists = "".join(list_of(prints, name) for name, prints in fingerprints.items())
    same = (notice for notice in notices_in(source) if notice.model == model.id)
    if notice := next(same, None):
        return Edit(notice.end, notice.end, lists)
    label = " ".join(filter(None, [model.name, model.version, model.desc, model.sha256[:12]]))
    at = source.nodes[0].content_start
    label = label.replace("?", "")
    return Edit(at, at, f"<?onoma-by {model.id} {label}?>{lists}")


def _title_path(header: _Header) -> tuple[str, ...]:
    """Return the path to ``titleStmt``; some headers have it without ``fileDesc`` around it.

    A second one before it would hide the title of the text.
    """
    around = header.child(header.around, "teiheader")
    if around and not header.child(around, "filedesc") and header.child(around, "titlestmt"):
        return "teiheader", "titlestmt"
    return "teiheader", "filedesc", "titlestmt"


def _joined(
    header: _Header, parts: Sequence[tuple[tuple[str, ...], str]]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Join the parts of a header that is missing or empty, so that it is created once."""
    header_element = header.child(header.around, "teiheader")
    if header_element is not None and not header_element.is_empty_tag:
        yield from parts
        return
    additions = [(path[:1], header._made(path[1:], markup)) for path, markup in parts]  # noqa: SLF001
    yield ("teiheader",), "".join(markup for _, markup in additions)


def _statements(
    source: Source, header: _Header, fingerprints: Mapping[str, Sequence[str]], *, is_typed: bool
) -> Iterator[Edit | str]:
    """Yield new statements, and edits of the existing one."""
    model, reviewer = header.by.model, header.by.reviewer
    own = (n for n in source.nodes if is_statement(n) and n.attributes["xml:id"] == model.id)
    statement = next(own, None)
    if statement is None:
        lists = "".join(list_of(own, name) for name, own in fingerprints.items())
        yield _statement(model, header.prefix, lists, is_typed=is_typed)
    elif more := "".join(list_of(own, name) for name, own in fingerprints.items()):
        yield Edit(statement.content_end, statement.content_end, more)
    if pointer_of(reviewer) == f"#{reviewer}":
        ids = (node.attributes.get("xml:id") for node in source.nodes)
        if reviewer not in ids:
            prefix = header.prefix
            person = escape(_SUFFIX.sub("", reviewer))
            about = f"<{prefix}resp>names reviewed</{prefix}resp><{prefix}name>{person}"
            inside = f"{about}</{prefix}name>"
            yield header.element("respStmt", inside, ("xml:id", reviewer))


def _has_application(source: Source, model: Model) -> bool:
    return any(
        n.name == "application" and parties(n.attributes.get("resp")) == ([model.id], [])
        for n in source.nodes
    )


def _application(header: _Header) -> str:
    version = header.by.model.version
    known = version if _VERSION.fullmatch(version) else "0"
    label = f"<{header.prefix}label>Onoma</{header.prefix}label>"
    return header.element("application", label, ("ident", "onoma"), ("version", known))


def _change(header: _Header, n_names: int, *, is_correction: bool) -> tuple[tuple[str, ...], str]:
    """Return the path for the entry on this change, and its markup."""
    by, name, path = header.by, "change", ["revisiondesc"]
    top = header.child(header.around, "teiheader")
    around = header.child(top, "revisiondesc") if top else None
    while around and (inner := header.child(around, "listchange") or header.child(around, "list")):
        path.append(inner.name)
        around, name = inner, "item" if inner.name == "list" else "change"
    noun = "reference" if by.model.kind == "linker" else "name"
    done = "written or corrected" if is_correction else "written"
    sentence = f"{n_names:,} {noun}{'s' * (n_names != 1)} {done} by Onoma"
    if by.reviewer:
        sentence += f", reviewed by {_SUFFIX.sub('', by.reviewer)}"
    qualified = header.prefix + name
    when = by.date if name == "change" else ""
    sentence += f", {by.date}" if by.date and not when else ""
    opening = tag(qualified, [("when", when), ("resp", by.resp)])
    return tuple(path), f"{opening}{escape(sentence)}.</{qualified}>"


def _statement(model: Model, prefix: str, fingerprints: str, *, is_typed: bool) -> str:
    label = f"{model.name} {model.version}".strip()
    if model.desc:
        label += f": {model.desc}"
    identifier = tag(f"{prefix}respStmt", [("xml:id", model.id)])
    what = "references of names" if model.kind == "linker" else "names"
    resp = f"{what} found by a {model.kind} (SHA-256 {escape(model.sha256)})"
    if not model.sha256:
        resp = "names that people found"
    kind = model.kind if model.sha256 else "tool"
    name = f"{tag(f'{prefix}name', [('type', kind)][:is_typed])}{escape(label)}</{prefix}name>"
    inside = f"<{prefix}resp>{resp}</{prefix}resp>{name}{fingerprints}"
    return f"{identifier}{inside}</{prefix}respStmt>"
