"""The proof that a written file is the input plus the intended names, and nothing else.

Every file is checked before it is returned: without the insertions, and with the tags of corrected
names in the place of their records, it is the input, byte for byte; ``undo`` gives the input's
bytes; the result parses; text, blocks and header are read as before; and exactly the existing names
without those taken out, and the added ones, are read, each with its span, label and entity.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from corpora.document import Document, Mention
from corpora.tei.edition import Edition
from corpora.tei.header import base_of
from corpora.tei.name_tags import Added, Failure
from corpora.tei.source import Edit, Source
from corpora.tei.standoff import resolve
from corpora.tei.undo import take_out_of

_Key = tuple[str, int, int, str | None, str | None]


def prove(
    source: Source,
    written: Source,
    edits: Sequence[Edit],
    *,
    before: Sequence[Document],
    after: Sequence[Document],
    added: Sequence[Added],
    edition: Edition,
    reviewer: str = "",
) -> Failure | None:
    """Check a written file; returns what is wrong, or None.

    ``before`` and ``after`` are the documents of the original and of the written file. A name that
    is not read back is a culprit. Undo must also remove what the ``reviewer`` is responsible for.
    """
    if not _only_inserts(source, edits, written.data, taken=_tags_of(added)):
        return Failure("other bytes would change", "without the insertions")
    undone, bare = (take_out_of(file, reviewer=reviewer).data for file in (written, source))
    if undone != bare:
        return Failure("undo would not give the bytes back", "after undo")
    for old, new in zip(before, after, strict=False):
        if _bare(old, edition) != _bare(new, edition):
            return Failure("the text would be read differently", _difference(old, new))
    if len(before) != len(after):
        return Failure("the text would be read differently", "another number of documents")
    return _check_names(before, after, added) or _check_pointers(written, added)


def _tags_of(added: Sequence[Added]) -> set[tuple[int, int]]:
    """Return the places of the tags of the names that are corrected."""
    nodes = [node for name in added for node in name.taken]
    opening = {(node.start, node.content_start) for node in nodes}
    return opening | {(node.content_end, node.end) for node in nodes}


def _only_inserts(
    source: Source, edits: Sequence[Edit], result: bytes, *, taken: set[tuple[int, int]]
) -> bool:
    """Tell whether the result without the insertions is the input, byte for byte.

    The only things replaced are the tags in ``taken``, and the end of an empty tag, which is
    opened.
    """
    position, length, pieces = 0, 0, []
    places = list(source.bytes_at(offset for edit in edits for offset in edit[:2]))
    for (start, end, text), first, last in zip(edits, places[::2], places[1::2], strict=True):
        until = position + first - length
        pieces += [result[position:until], source.data[first:last]]
        inserted = source.encode(text)
        is_insertion = start == end or source.text[start:end].strip() == "/>"
        is_insertion = is_insertion or (start, end) in taken
        if not is_insertion or result[until : until + len(inserted)] != inserted:
            return False
        position, length = until + len(inserted), last
    return b"".join([*pieces, result[position:]]) == source.data


def _bare(document: Document, edition: Edition) -> Document:
    """Return the document without its names, and without what may depend on them.

    These are sentences (which keep names whole), bytes, and metadata that rules of the edition
    read, maybe from names in the text.
    """
    rules = {"byte", *edition.metadata}
    metadata = {key: value for key, value in document.metadata.items() if base_of(key) not in rules}
    title = None if "title" in edition.metadata else document.title
    return replace(document, mentions=(), sentences=(), metadata=metadata, title=title)


def _difference(old: Document, new: Document) -> str:
    if old.text == new.text:
        return f"{old.id}: its blocks or what its header says"
    same = next((i for i, (a, b) in enumerate(zip(old.text, new.text, strict=False)) if a != b), 0)
    return f"{old.id}: character {same}"


def _key(document: Document, mention: Mention, *, entity: str | None) -> _Key:
    return document.id, mention.start, mention.end, mention.label, entity


def _check_names(
    before: Sequence[Document], after: Sequence[Document], added: Sequence[Added]
) -> Failure | None:
    """Check that exactly the old names and the added names are read."""
    names = Counter(_key(d, m, entity=m.entity) for d in after for m in d.mentions)
    names.subtract(_key(d, m, entity=m.entity) for d in before for m in d.mentions)
    culprits = []
    for one in added:
        if one.old is not None:
            names[_key(one.document, one.old, entity=one.old.entity)] += 1
        is_remark = one.node is not None and one.reference is None
        if one.target is None and not one.is_gone and not is_remark:
            is_linked = one.reference or one.old is not None
            entity = one.mention.entity if is_linked else None
            key = _key(one.document, one.mention, entity=entity)
            names[key] -= 1
            if one.node is not None:  # replaces the same name without the reference
                names[_key(one.document, one.mention, entity=None)] += 1
            if names[key] < 0:
                culprits.append(one)
    if culprits:
        return Failure("would not be read back", culprits=tuple(culprits))
    if wrong := [key for key, number in names.items() if number]:
        return Failure("other names would be read differently", str(wrong[0]))
    return None


def _check_pointers(written: Source, added: Sequence[Added]) -> Failure | None:
    """Check that the pointers of ``standOff`` resolve to the characters of their names."""
    wrong = []
    for name in added:
        if name.target is not None:
            surface = name.document.text[name.mention.start : name.mention.end]
            meant = resolve(written, name.target.pointer)
            if not _is_within("".join(meant.split()), "".join(surface.split())):
                wrong.append(name)
    return Failure("the pointer would miss it", culprits=tuple(wrong)) if wrong else None


def _is_within(characters: str, surface: str) -> bool:
    """Tell whether characters occur in this order in the surface, which may hold more."""
    waiting = iter(surface)
    return bool(characters) and all(character in waiting for character in characters)
