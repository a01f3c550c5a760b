"""Link the mentions of a document to a register: ids of entries, and their canonical names."""

from collections import Counter
from dataclasses import replace

from corpora.document import Document, Mention
from corpora.registers.entry import Entry
from corpora.registers.register import Register
from corpora.tei.reader import TeiText

NAME = "name"
"""The attribute of a mention that holds the canonical name."""


def identify(document: Document, register: Register) -> tuple[Document, Counter[str]]:
    """Set the entity of a document's mentions to ids of entries, and add their canonical names.

    The entity is ``GROUP:ID``, however the document refers to the entry. An id without an entry
    stays, unless another id of the same mention finds its entry.
    """
    counters: Counter[str] = Counter()
    mentions = [
        _identify(mention, register, space=document.group, counters=counters)
        for mention in document.mentions
    ]
    return replace(document, mentions=tuple(mentions)), counters


def _identify(
    mention: Mention, register: Register, *, space: str, counters: Counter[str]
) -> Mention:
    if mention.entity is None:
        return mention
    found = _find(mention.entity.split(), register, space=space)
    entries = {entry.id: entry.name for entry in found.values() if entry}
    counters["register: mentions with an id that it has"] += bool(entries)
    counters["register: mentions with an id that leads nowhere"] += None in found.values()
    if not entries:
        return mention
    ids = (f"{space}:{entry.id}" if entry else id for id, entry in found.items())
    entity = " ".join(dict.fromkeys(ids))
    attributes = {**mention.attributes, NAME: "; ".join(entries.values())}
    return replace(mention, entity=entity, attributes=attributes)


def _find(ids: list[str], register: Register, *, space: str) -> dict[str, Entry | None]:
    """Find the entry of each id of a mention, in order; None for an id that leads nowhere.

    Several ids are several entities. If each is in another scheme (``#p1 gnd:118``), and the
    register knows one entity by them, they are ids of this entity: those that lead nowhere are left
    out, except an id of the edition itself.
    """
    found = {id: register.find(id) for id in ids}
    entries = {entry.id for entry in found.values() if entry}
    schemes = {id: id.partition(":")[0] for id in found}
    if len(entries) == 1 and len(set(schemes.values())) == len(schemes):
        return {id: entry for id, entry in found.items() if entry or schemes[id] == space}
    return found


def identify_text(text: TeiText, register: Register) -> TeiText:
    """Identify the mentions of a text that was read from a TEI file."""
    if text.document is None:
        return text
    document, found = identify(text.document, register)
    return replace(text, document=document, counters=text.counters + found)
