"""The columns by which datasets of each schema are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corpora.datasets.schemas import Schema


@dataclass(frozen=True, slots=True)
class Kind:
    """Keys by which rows of two versions are paired, and groups of columns that are compared.

    A row is known by the first of its ``keys`` that a row of the other version has, too; one whose
    ``name`` is another there was renamed, one that differs in a group of columns was changed.
    """

    keys: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    name: str = ""
    """What people call a row; empty: nothing but its first key."""
    retired: str = ""
    """A column that says of a row that it does not count any more."""
    lists: tuple[str, ...] = ()
    """Columns of lists whose elements are counted."""
    tallies: tuple[str, ...] = ()
    """Columns of few values, which are counted one by one."""
    limits: Mapping[str, str] = field(default_factory=dict)
    """Measure to how far it may move; see ``limits.py``."""


_KINDS = {
    "documents": Kind(
        keys=("id",),
        name="title",
        groups={
            "text": ("text",),
            "mentions": ("mentions",),
            "sentences": ("paragraphs", "sentences"),
            "revision": ("revision", "timestamp"),
            "other": ("group", "lang", "license", "metadata"),
        },  # neither `source`, for dumps are named by date, nor `url`, which follows from the title
        lists=("paragraphs", "sentences", "mentions"),
        tallies=("group", "lang"),
        limits={"links_per_page": "-20%"},
    ),
    "entities": Kind(
        keys=("page_id", "entity"),
        name="entity",
        groups={
            "id": ("id",),
            "page_id": ("page_id",),
            "counts": ("count", "counts"),
            "aliases": ("aliases",),
            "ids": ("ids", "type"),
            "description": ("description",),
        },
        retired="retired",
        lists=("aliases",),
    ),
    "redirects": Kind(
        keys=("id",),
        name="title",
        groups={"target": ("target", "section"), "resolved": ("resolved",)},
    ),
}
_TALLIED = ("split", "group")


def kind_of(schema: Schema) -> Kind:
    """Choose what is compared of a schema: all its columns, where no kind is known."""
    if schema.name in _KINDS:
        return _KINDS[schema.name]
    import pyarrow as pa

    names = tuple(schema.columns.names)
    return Kind(
        keys=("id",),
        groups={name: (name,) for name in names if name != "id"},
        lists=tuple(n for n in names if pa.types.is_list(schema.columns.field(n).type)),
        tallies=tuple(name for name in _TALLIED if name in names),
    )
