"""Take out of a file what a model added, if it is as it was written; all other bytes stay."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from corpora.tei.layout import XML_SPACE
from corpora.tei.provenance import (
    emptied,
    fingerprint_of,
    fingerprints_in,
    is_id,
    is_statement,
    list_of,
    notices_in,
    parties,
    place_of_attribute,
    pointer_of,
)
from corpora.tei.records import records_in
from corpora.tei.source import Edit, Node, Source

_APPARATUS = {"teiheader", "standoff"}
_HOLDERS = {
    "teiheader", "filedesc", "titlestmt", "encodingdesc", "appinfo", "revisiondesc", "standoff",
    "spangrp",
}  # fmt: skip
_STATEMENTS = {"respstmt", "application", "change", "list", "item"}
_BLANKS = {"title", "publicationstmt", "sourcedesc"}
_ENTRIES = {"change", "item"}
_POINTERS = re.compile(r"#[\w.-]+")
CHANGED = "changed since it was written"
ANSWERED = "somebody answers for it"


@dataclass(frozen=True, slots=True)
class Kept:
    """A name of a model that stays in the file."""

    line: int
    markup: str
    """The start tag of the name."""
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undone:
    """A file after the removal, and the models' names that stay."""

    data: bytes
    n_taken: int
    kept: tuple[Kept, ...]


def undo(data: bytes, *, name: str, resp: str | None = None, reviewer: str = "") -> bytes:
    """Remove the names that a model added, and its traces in the header; see ``take_out``."""
    return take_out(data, name=name, resp=resp, reviewer=reviewer).data


def take_out(data: bytes, *, name: str, resp: str | None = None, reviewer: str = "") -> Undone:
    """Remove the names that a model added, and its traces in the header; raises ``XmlError``.

    ``resp`` is the id of a model; None stands for every model of Onoma. Only tags of names that are
    exactly as they were written are removed. A name stays if somebody changed it (an attribute, the
    label, the boundaries, a word in it), or if its ``@resp`` also points to somebody else; then the
    statement on the model stays, too. ``reviewer``: names that this person reviewed are also
    removed, if they are as they were written.
    """
    if b"onoma-" not in data.replace(b"\0", b""):
        return Undone(data, 0, ())
    return take_out_of(Source(data, name=name), resp=resp, reviewer=reviewer)


def take_out_of(
    source: Source,
    *,
    resp: str | None = None,
    reviewer: str = "",
    keep: Collection[int] | None = None,
) -> Undone:
    """Remove what a model added from a parsed file, as ``take_out`` does.

    ``keep`` are the numbers of elements to keep as if another person were responsible for them;
    corrections are kept then, too.
    """
    pointer = pointer_of(reviewer)
    work = _Undo(source, resp, reviewer=pointer, keep=frozenset(keep or ()))
    while keep is None and (edits := sorted(work.restoring())):
        source = Source(source.splice(edits), name=source.name)
        work = _Undo(source, resp, reviewer=pointer, keep=frozenset())
    data = source.splice(sorted([*work.edits(source.nodes[0]), *work.list_edits()]))
    n_taken = sum(source.nodes[number].name != "note" for number in work.taken)
    return Undone(data, n_taken, (*work.kept, *work.stale()))


class _Undo:
    """The parts to remove from one file."""

    def __init__(
        self, source: Source, resp: str | None, *, reviewer: str, keep: Collection[int]
    ) -> None:
        self.source, self.resp, self.reviewer, self.keep = source, resp, reviewer, keep
        self._in_apparatus: set[int] = set()
        for node in source.nodes:
            parent = node.parent.number if node.parent else -1
            if node.name in _APPARATUS or parent in self._in_apparatus:
                self._in_apparatus.add(node.number)
        self._notices = notices_in(source)
        self._lists = {
            node.attributes["xml:id"]: fingerprints_in(source, node)
            for node in source.nodes
            if is_statement(node)
        } | {notice.model: notice.fingerprints for notice in self._notices}
        self._attributes = {
            model: {print_: one.attribute for one in reversed(lists) for print_ in one.fingerprints}
            for model, lists in self._lists.items()
        }
        """For each model, the attribute that was added to the name with a fingerprint; empty for a
        new name."""
        self.taken: dict[int, str] = {}
        """The fingerprints of the names to remove, by number of the element."""
        self.references: dict[int, str] = {}
        """The attribute to remove, with ``@cert`` and ``@resp``, from those of these names that
        existed before."""
        self.kept: list[Kept] = []
        self._heirs: dict[int, str] = {}
        self._choose()
        self._records = list(records_in(source, self.taken))
        self._still_needed = {
            pointer
            for node in source.nodes
            if node.number not in self.taken and not self._is_apparatus_of_ours(node)
            for pointer in node.attributes.get("resp", "").split()
        }
        for record in self._records:
            self._still_needed.update(_POINTERS.findall(f"{record.resp} {record.tag}"))

    def _is_apparatus_of_ours(self, node: Node) -> bool:
        """Tell whether an element of the header, or around names in ``standOff``, is only ours."""
        models, others = parties(node.attributes.get("resp"))
        if node.number not in self._in_apparatus or self._is_name(node) or node.is_expanded:
            return False
        return bool(models) and self._is_asked_for(models) and not self._strangers(others)

    def _is_name(self, node: Node) -> bool:
        """Tell whether an element with our mark is a name, or its ``span``."""
        if node.number not in self._in_apparatus or node.name == "span":
            return True
        is_blank = node.name in _BLANKS and node.parent is not None and node.parent.name in _HOLDERS
        in_header = any(around.name == "teiheader" for around in node.chain())
        return in_header and not is_blank and node.name not in _HOLDERS | _STATEMENTS

    def _choose(self) -> None:
        """Choose the names to remove; a name of which a fragment changed is kept whole."""
        written: dict[int, str] = {}
        stay: dict[int, str] = {}
        for node in self.source.nodes:
            models, others = parties(node.attributes.get("resp"))
            if not models or node.is_expanded or not self._is_name(node):
                continue
            if not self._is_asked_for(models):
                continue
            if self._strangers(others) or node.number in self.keep:
                stay[node.number] = ANSWERED
            elif (print_ := self._written(node, models[0])) is None:
                stay[node.number] = CHANGED
            else:
                written[node.number] = print_
                if added := self._attributes.get(models[0], {}).get(print_):
                    self.references[node.number] = added
        self._keep_fragments(written, stay)
        self.taken = written
        line, counted = 1, 0
        for node, reason in sorted(
            ((self.source.nodes[number], reason) for number, reason in stay.items()),
            key=lambda one: one[0].start,
        ):
            line += self.source.text.count("\n", counted, node.start)
            counted = node.start
            self.kept.append(self._described(node, reason, line))

    def _written(self, node: Node, model: str) -> str | None:
        """Return the fingerprint of a name that is as it was written; else None."""
        fingerprint = fingerprint_of(self.source, node)
        return fingerprint if fingerprint in self._attributes.get(model, {}) else None

    def _keep_fragments(self, written: dict[int, str], stay: dict[int, str]) -> None:
        """Keep all fragments of a name if one of them is kept or missing."""
        by_id = {n.attributes.get("xml:id"): n.number for n in self.source.nodes}
        pointing: defaultdict[int | None, list[int]] = defaultdict(list)
        broken: list[int] = []
        for number in written.keys() - self.references.keys():
            attributes = self.source.nodes[number].attributes
            links = filter(None, (attributes.get(name, "")[1:] for name in ("prev", "next")))
            for target in map(by_id.get, links):
                pointing[target].append(number)
                if target not in written:
                    broken.append(number)
        while broken:
            number = broken.pop()
            if number in written:
                stay[number] = CHANGED
                del written[number]
                broken += pointing[number]

    def restoring(self) -> Iterator[Edit]:
        """Yield the edits that put recorded tags back, and remove the names that replaced them.

        A name that was replaced stays out while the name in its place is kept.
        """
        names = {*self.taken.values(), "-"}
        ready = [
            record
            for record in self._records
            if record.new in names and record.is_as_written() and self._may_go(record.resp)
        ]
        gone = {record.new for record in ready}
        replaced = {n: print_ for n, print_ in self.taken.items() if print_ in gone}
        for record in ready:
            yield from record.edits()
        for number in replaced:
            yield from self._untagged(self.source.nodes[number])
        yield from self._delisted(self._lists, replaced.values())

    def stale(self) -> Iterator[Kept]:
        """Yield the recorded names that cannot be put back, for somebody changed their text."""
        for record in self._records:
            if self._may_go(record.resp) and not record.is_as_written():
                line = self.source.text.count("\n", 0, record.opening.start()) + 1
                yield Kept(line, record.tag, " ".join(record.text.split()), CHANGED)

    def _may_go(self, resp: str) -> bool:
        models, others = parties(resp)
        return self._is_asked_for(models) and not self._strangers(others)

    def _is_asked_for(self, models: Iterable[str]) -> bool:
        return self.resp is None or all(is_id(model, self.resp) for model in models)

    def _strangers(self, pointers: Iterable[str]) -> list[str]:
        """List the pointers to others than the reviewer."""
        return [to for to in pointers if not (self.reviewer and is_id(to, self.reviewer))]

    def _described(self, node: Node, reason: str, line: int) -> Kept:
        source = self.source
        text = " ".join(source.stream[node.first : node.last].split())
        return Kept(line, source.text[node.start : node.content_start], text, reason)

    def list_edits(self) -> Iterator[Edit]:
        """Yield edits of kept statements that remove the fingerprints of removed names."""
        statements = filter(is_statement, self.source.nodes)
        staying = {n.attributes["xml:id"] for n in statements if not self._goes_whole(n)}
        for notice in self._notices:
            is_needed = f"#{notice.model}" in self._still_needed
            if is_needed or not self._is_asked_for([notice.model]):
                staying.add(notice.model)
            else:
                yield Edit(notice.start, notice.end, "")
        yield from self._delisted(staying, self.taken.values())

    def _delisted(self, models: Iterable[str], fingerprints: Iterable[str]) -> Iterator[Edit]:
        """Yield edits of the statements on models; lists of a statement come last first."""
        waiting = Counter(fingerprints)
        for model in models:
            for listed in reversed(self._lists[model]):
                left = []
                for fingerprint in reversed(listed.fingerprints):
                    if waiting[fingerprint]:
                        waiting[fingerprint] -= 1
                    else:
                        left.append(fingerprint)
                if len(left) < len(listed.fingerprints):
                    yield Edit(listed.start, listed.end, list_of(left[::-1], listed.attribute))

    def edits(self, node: Node) -> Iterator[Edit]:
        """Yield the edits of an element and those in it."""
        if node.name in _BLANKS and node.parent and not self._goes_whole(node.parent):
            if self._is_apparatus_of_ours(node):  # TEI requires the element
                yield self._unmark(node, node.parent)
        elif node.name == "respstmt" and node.parent and self._is_left_behind(node):
            yield self._unmark(node, node.parent)
        elif node.number in self._in_apparatus and self._goes_whole(node):
            if (end := emptied(self.source, node)) is not None:
                yield Edit(self._mark(node)[0], node.end, end)
            else:  # remove also the white space inserted before it
                start = node.start
                while start and self.source.text[start - 1] in XML_SPACE:
                    start -= 1
                yield Edit(start, node.end, "")
            return
        if node.name == "note" and node.number in self.taken:  # a remark goes with its text
            yield Edit(node.start, node.end, "")
            return
        if attribute := self.references.get(node.number):
            names = (attribute, "cert", "resp")
            places = (place_of_attribute(self.source, node, name) for name in names)
            yield from (Edit(*place, "") for place in sorted(filter(None, places)))
        elif node.number in self.taken:
            yield from self._untagged(node)
        elif node.name in _HOLDERS and self._is_apparatus_of_ours(node):
            yield self._unmark(node, node)
        for child in node.elements():
            yield from self.edits(child)

    def _untagged(self, node: Node) -> Iterator[Edit]:
        yield Edit(node.start, node.content_start, "")
        if node.end > node.content_start:
            yield Edit(node.content_end, node.end, "")

    def _is_left_behind(self, node: Node) -> bool:
        """Tell whether a statement on a reviewer stays, and that on its model goes."""
        is_ours = self._is_apparatus_of_ours(node) and not is_statement(node)
        if not is_ours or self._goes_whole(node):
            return False
        models, _ = parties(node.attributes.get("resp"))
        return f"#{models[0]}" not in self._still_needed

    def _mark(self, node: Node) -> tuple[int, int]:
        """Find ``@resp`` in the start tag, with the white space before it."""
        attribute = place_of_attribute(self.source, node, "resp")
        assert attribute is not None  # noqa: S101 - it has one
        return attribute

    def _unmark(self, node: Node, around: Node) -> Edit:
        """Remove only the mark of an element that is still needed.

        If another model has added to ``around``, the mark becomes that model's.
        """
        if around.number not in self._heirs:
            heirs = filter(None, map(self._heir, around.walk()))
            self._heirs[around.number] = next(heirs, "")
        heir = self._heirs[around.number]
        return Edit(*self._mark(node), heir and f' resp="#{heir}"')

    def _heir(self, node: Node) -> str:
        """Return the model of an element that is kept; empty for a person's."""
        if is_statement(node):
            return "" if self._goes_whole(node) else node.attributes["xml:id"]
        models, _ = parties(node.attributes.get("resp"))
        if not models or node.name in _HOLDERS | _BLANKS or self._goes_whole(node):
            return ""
        if node.name == "respstmt" and self._is_left_behind(node):
            return ""
        return models[0]

    def _goes_whole(self, node: Node) -> bool:
        """Tell whether an element of the apparatus is ours with all its content."""
        if node.is_expanded:
            return False
        if is_statement(node):
            id = node.attributes["xml:id"]
            return self._is_asked_for([id]) and f"#{id}" not in self._still_needed
        if node.number in self.taken:
            return node.name == "span"
        if not self._is_apparatus_of_ours(node):
            return False
        if node.name == "respstmt":  # the statement on a reviewer
            return f"#{node.attributes.get('xml:id')}" not in self._still_needed
        if node.name == "application":
            return not set(node.attributes["resp"].split()) & self._still_needed
        if node.name in _BLANKS:
            return not self.source.stream[node.first : node.last].strip()
        if node.name in _ENTRIES:
            return True
        return node.name in _HOLDERS and self._holds_ours_alone(node)

    def _holds_ours_alone(self, node: Node) -> bool:
        """Tell whether an element holds only white space apart from what is ours."""
        rest, position = "", node.content_start
        if (end := emptied(self.source, node)) is not None:
            position += len(f"<?onoma-empty {end[:-1]}?>")
        for child in node.elements():
            if not self._goes_whole(child):
                return False
            rest += self.source.text[position : child.start]
            position = child.end
        return not (rest + self.source.text[position : node.content_end]).strip()
