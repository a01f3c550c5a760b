"""Who says that these are names: a statement in the header that every added name points to."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from corpora.errors import UsageError
from corpora.tei.source import Edit, Node, Source
from corpora.tei.style import NO_XML, escape, tag

_ID = re.compile(r"onoma-[A-Za-z0-9._-]+")
_POINTER = re.compile(r"#(onoma-[A-Za-z0-9._-]+)")
_PATH = ("teiheader", "filedesc", "titlestmt")
_WRITTEN = {"teiheader": "teiHeader", "filedesc": "fileDesc", "titlestmt": "titleStmt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model that found the names."""

    id: str
    """An XML id, ``onoma-`` and what is unique to the model: its name, the first of its hash."""
    name: str
    version: str
    sha256: str
    """Of its weights, in hexadecimal digits."""
    desc: str = ""

    def __post_init__(self) -> None:
        """Refuse an id by which ``undo`` would not know what was added."""
        if not _ID.fullmatch(self.id):
            raise UsageError(
                f"the id {self.id!r} of a model must begin with 'onoma-' and go on with letters, "
                "digits, '.', '_' or '-'."
            )
        if NO_XML.search(f"{self.name}{self.version}{self.sha256}{self.desc}"):
            raise UsageError(f"the name of the model {self.id} has characters that XML forbids.")


def pointers(resp: str | None) -> list[str] | None:
    """Find the ids of the models in ``@resp``; None where it names anybody else or nobody.

    A person who adds a pointer of their own answers for the name: it is no longer a model's alone.
    """
    found = [_POINTER.fullmatch(pointer) for pointer in (resp or "").split()]
    ids = [match[1] for match in found if match]
    return ids if ids and len(ids) == len(found) else None


def is_statement(node: Node) -> bool:
    """Tell whether an element of the header is the statement on a model of ours."""
    return node.name == "respstmt" and bool(_ID.fullmatch(node.attributes.get("xml:id", "")))


def statement_edits(source: Source, model: Model) -> Iterator[Edit]:
    """Insert a ``respStmt`` at the end of ``titleStmt``, where TEI allows it in every header.

    What is missing on the way there is added, and marked by ``@resp``. The white space that is put
    before an element goes with it: whatever stands before is an element's end, never white space.
    """
    nodes = source.nodes
    if any(is_statement(node) and node.attributes["xml:id"] == model.id for node in nodes):
        return
    around, missing = nodes[0], list(_PATH)
    while missing:
        inside = (n for n in nodes if n.parent is around and n.name == missing[0])
        found = next((n for n in inside if not n.is_empty_tag and not n.is_expanded), None)
        if found is None:
            break
        around = found
        missing.pop(0)
    prefix = source.prefix(around)
    markup = _statement(model, prefix)
    for name in reversed(missing):
        qualified = prefix + _WRITTEN[name]
        opening = tag(qualified, [("resp", f"#{model.id}")])
        markup = f"{opening}{markup}</{qualified}>"
    children = [n for n in nodes if n.parent is around and not n.is_expanded]
    at = children[-1].end if children and not missing else around.content_start
    if children:  # indented as they are
        start = children[0 if missing else -1].start
        indent = re.search(r"\r?\n[ \t]*$", source.text[max(0, start - 200) : start])
        markup = (indent[0] if indent else "") + markup
    yield Edit(at, at, markup)


def _statement(model: Model, prefix: str) -> str:
    about = f"{model.name} {model.version}".strip()
    if model.desc:
        about += f": {model.desc}"
    identifier = tag(f"{prefix}respStmt", [("xml:id", model.id)])
    resp = f"names found by a model (SHA-256 {escape(model.sha256)})"
    name = f'<{prefix}name type="model">{escape(about)}</{prefix}name>'
    return f"{identifier}<{prefix}resp>{resp}</{prefix}resp>{name}</{prefix}respStmt>"
