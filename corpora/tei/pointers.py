"""Pointers of names: the ids in ``@ref`` and ``@key``, and the entities that they stand for."""

from collections.abc import Iterator, Mapping

from corpora.tei.edition import Edition
from corpora.tei.prefixes import NO_MATCH, NOT_READ, RESOLVED, prefix_of


def entity_of(attributes: Mapping[str, str], edition: Edition) -> str | None:
    """Return the entity of an element, with its space; several ids are one entity, their group."""
    return " ".join(with_space(id, edition) for id in ids_of(attributes, edition)) or None


def ids_of(attributes: Mapping[str, str], edition: Edition) -> list[str]:
    """Return the ids of an element as they are written: those of the first attribute that has one.

    The edition says which attributes these are. An id has a letter or a digit (``#`` and ``?`` are
    none), and has it after the beginning that the edition file declares.
    """
    for attribute in edition.entity:
        value = attributes.get(attribute, "").strip()
        references = value.split() if attribute == "ref" else [value]
        if ids := [id for id in references if _names_something(id, edition)]:
            return ids
    return []


def _names_something(reference: str, edition: Edition) -> bool:
    rest = reference.removeprefix(_beginning(reference, edition))
    return any(map(str.isalnum, rest))


def with_space(reference: str, edition: Edition) -> str:
    """Return the entity of a reference, in the space of its longest beginning or of the edition."""
    reference = without_prefix(reference, edition)
    if beginning := _beginning(reference, edition):
        return f"{edition.spaces[beginning]}:{reference.removeprefix(beginning).rstrip('/')}"
    return f"{edition.name}:{reference.removeprefix('#')}"


def without_prefix(reference: str, edition: Edition) -> str:
    """Return the address that a reference stands for by a ``prefixDef``, or else the reference.

    Beginnings of references that the edition file declares go before this.
    """
    if _beginning(reference, edition):
        return reference
    return edition.prefixes.resolve(reference) or reference


def _beginning(reference: str, edition: Edition) -> str:
    """Return the longest beginning of a reference that has a space; nothing if none has."""
    return max((b for b in edition.spaces if reference.startswith(b)), key=len, default="")


def count_prefixes(attributes: Mapping[str, str], edition: Edition) -> Iterator[str]:
    """Yield the counter of each id of an element that begins with a prefix of its file."""
    prefixes = edition.prefixes
    for id in ids_of(attributes, edition) if prefixes else ():
        prefix = prefix_of(id)
        if _beginning(id, edition):
            continue
        if prefixes.resolve(id) is not None:
            yield f"{RESOLVED}{prefix}"
        elif prefix in prefixes.unread:
            yield f"{NOT_READ}{prefix}: {prefixes.unread[prefix]}"
        elif prefixes.defines(id):
            yield f"{NO_MATCH}{prefix}"
