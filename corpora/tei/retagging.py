"""New start tags of existing names, with another label or entity; all else is as it was."""

import re
from typing import TYPE_CHECKING

from corpora.tei.edition import Edition
from corpora.tei.patterns import template_of
from corpora.tei.provenance import Responsibility
from corpora.tei.source import Node, Source
from corpora.tei.style import tag, template

if TYPE_CHECKING:
    from corpora.tei.name_tags import Added

_ATTRIBUTE = re.compile(r"\s+([^\s=]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_Attributes = dict[str, str]


def retagged(
    source: Source, node: Node, added: "Added", *, edition: Edition, by: Responsibility
) -> tuple[str, str, list[tuple[str, str]]]:
    """Write the start tag that replaces that of an existing name.

    Returns the name of the element, the tag, and its attributes as they are read.
    """
    old, new = added.old, added.mention
    assert old is not None  # noqa: S101 - the caller corrects a name
    name, changes = node.written_name, dict[str, str | None]()
    if new.label != old.label:
        element = template(edition, new.label or "")
        changes |= dict.fromkeys(_of_label(node, old.label, edition))
        changes |= element.attributes
        name = element.written_name
    if new.entity != old.entity:
        changes |= dict.fromkeys(name for name in edition.entity if name in node.attributes)
        changes |= dict([added.reference] if added.reference else [])
    if added.remark and added.remark.attribute:
        changes |= [added.remark.attribute]
    changes["resp"] = by.resp  # who was responsible before is in the record
    attributes = {key: changes.get(key, value) for key, value in node.attributes.items()} | changes
    read = [(key, value) for key, value in attributes.items() if value]
    return name, f"<{source.prefix(node)}{name}{_written(source, node, changes)}", read


def _of_label(node: Node, label: str | None, edition: Edition) -> _Attributes:
    """Return the attributes that give an element its label."""
    templates = filter(None, map(template_of, edition.labels.get(label or "", ())))
    fitting = (
        template.attributes
        for template in templates
        if template.name == node.name and template.attributes.items() <= node.attributes.items()
    )
    return max(fitting, key=len, default={})


def _written(source: Source, node: Node, changes: dict[str, str | None]) -> str:
    """Write the attributes and the end of a start tag; those that do not change stay as written."""
    text = source.text[node.start : node.content_start]
    waiting = dict(changes)

    def written(match: re.Match[str]) -> str:
        if match[1] not in waiting:
            return match[0]
        return _attribute(match[1], waiting.pop(match[1]))

    begin = next((m.start() for m in _ATTRIBUTE.finditer(text)), len(text) - 1)
    kept = _ATTRIBUTE.sub(written, text[begin:-1]).rstrip()
    return kept + "".join(_attribute(*pair) for pair in waiting.items()) + ">"


def _attribute(name: str, value: str | None) -> str:
    return tag("", [(name, value or "")])[1:-1]
