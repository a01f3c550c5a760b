"""Take out of a file what a model added to it; all other bytes stay."""

import re
from collections import defaultdict
from collections.abc import Iterator

from corpora.tei.layout import XML_SPACE
from corpora.tei.provenance import is_statement, pointers
from corpora.tei.source import Edit, Node, Source

_RESP = re.compile(r"\s+resp\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_APPARATUS = {"teiheader", "standoff"}
_HOLDERS = {"teiheader", "filedesc", "titlestmt", "standoff", "spangrp"}


def undo(data: bytes, *, name: str, resp: str | None = None) -> bytes:
    """Take out the names that a model added, and the statement on it; raises ``XmlError``.

    ``resp`` is the id of a model; None stands for every model of Onoma. A name is known by its
    ``@resp``, whatever else was changed in it: its tags go and its content stays. A name whose
    ``@resp`` also points to somebody else stays, and with it the statement on the model.
    """
    if b"onoma-" not in data.replace(b"\0", b""):
        return data
    return undo_source(Source(data, name=name), resp=resp)


def undo_source(source: Source, *, resp: str | None = None) -> bytes:
    """Take out of a file that was parsed what a model added to it, as ``undo`` does."""
    return source.splice(sorted(_Undo(source, resp).edits(source.nodes[0])))


class _Undo:
    """What is to be taken out of one file."""

    def __init__(self, source: Source, resp: str | None) -> None:
        self.source, self.resp = source, resp
        self._children: defaultdict[int, list[Node]] = defaultdict(list)
        self._marked: set[int] = set()
        self._still_needed: set[str] = set()
        for node in source.nodes:
            self._children[node.parent.number if node.parent else -1].append(node)
            models = pointers(node.attributes.get("resp"))
            is_ours = models is not None and (resp is None or set(models) == {resp})
            if is_ours and not node.is_expanded:
                self._marked.add(node.number)
            else:
                self._still_needed.update(node.attributes.get("resp", "").split())

    def edits(self, node: Node, *, is_apparatus: bool = False) -> Iterator[Edit]:
        """Yield the edits of an element and those in it."""
        is_apparatus = is_apparatus or node.name in _APPARATUS
        if is_apparatus and self._goes_whole(node):
            # with the white space that was put before it
            yield Edit(len(self.source.text[: node.start].rstrip(XML_SPACE)), node.end, "")
            return
        if node.number in self._marked:
            yield from self._tags(node)
        for child in self._children[node.number]:
            yield from self.edits(child, is_apparatus=is_apparatus)

    def _tags(self, node: Node) -> Iterator[Edit]:
        """Take out the tags; of a holder that is still needed, only the mark.

        Where another model has its statement in it, the mark becomes that model's.
        """
        if node.name in _HOLDERS:
            inside = (n for n in self.source.nodes if node.start < n.start < node.end)
            heir = next((n for n in inside if is_statement(n) and not self._goes_whole(n)), None)
            if found := _RESP.search(self.source.text, node.start, node.content_start):
                mark = f' resp="#{heir.attributes["xml:id"]}"' if heir else ""
                yield Edit(*found.span(), mark)
            return
        yield Edit(node.start, node.content_start, "")
        if node.end > node.content_start:
            yield Edit(node.content_end, node.end, "")

    def _goes_whole(self, node: Node) -> bool:
        """Tell whether an element of the apparatus is ours with all that is in it."""
        if node.is_expanded:
            return False
        if is_statement(node):
            id = node.attributes["xml:id"]
            return self.resp in {None, id} and f"#{id}" not in self._still_needed
        if node.number not in self._marked:
            return False
        return node.name == "span" or (node.name in _HOLDERS and self._holds_ours_alone(node))

    def _holds_ours_alone(self, node: Node) -> bool:
        """Tell whether nothing but white space is left in it without what is ours."""
        rest, position = "", node.content_start
        for child in self._children[node.number]:
            if not self._goes_whole(child):
                return False
            rest += self.source.text[position : child.start]
            position = child.end
        return not (rest + self.source.text[position : node.content_end]).strip()
