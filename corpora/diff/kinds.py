"""The measures by which datasets of each schema are compared: columns, counts and ratios."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import Schema
from corpora.datasets.shards import Description


@dataclass(frozen=True, slots=True)
class ComparedColumns:
    """The columns of a schema by which rows are paired, and those that are compared.

    ``keys`` are tried one after the other: two rows are paired by the first key in which they have
    the same value. A pair is renamed if ``name`` differs, and changed if any of ``groups`` does.
    """

    keys: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    ignored: tuple[str, ...] = ()
    """Columns that are not compared; all that are named nowhere are the group ``other``."""
    name: str = ""
    """The column with the name of a row, for people; empty: the first key."""
    retired: str = ""
    """The Boolean column of rows that do not count any more; empty: all rows count."""
    lists: tuple[str, ...] = ()
    """List columns whose elements are counted."""
    tallies: tuple[str, ...] = ()
    """Columns with few distinct values, each of which is counted by itself."""
    limits: Mapping[str, str] = field(default_factory=dict)
    """Name of a measure to how far it may move; see ``limits.py``."""


_KINDS = {
    "documents": ComparedColumns(
        keys=("id",),
        name="title",
        groups={
            "text": ("text",),
            "mentions": ("mentions",),
            "sentences": ("paragraphs", "sentences"),
            "revision": ("revision", "timestamp"),
        },
        ignored=("source", "url"),  # dumps are named by date; the URL follows from the title
        lists=("paragraphs", "sentences", "mentions"),
        tallies=("group", "lang"),
        limits={"links_per_page": "-20%"},
    ),
    "entities": ComparedColumns(
        keys=("page_id", "entity"),
        name="entity",
        groups={
            "id": ("id",),
            "page_id": ("page_id",),
            "names": ("names",),
            "counts": ("count", "counts"),
            "aliases": ("aliases",),
            "ids": ("ids", "type"),
            "description": ("description",),
        },
        ignored=("title",),  # it follows from the entity
        retired="retired",
        lists=("aliases",),
    ),
    "redirects": ComparedColumns(
        keys=("id",),
        name="title",
        groups={"target": ("target", "section"), "resolved": ("resolved",)},
    ),
}
_TALLIED = ("split", "group")
FAMILIES = frozenset(
    {"counters", "filtered", "group", "labels", "lang", "mentions", "rejected", "split"}
)
"""Names before the dot of measures that a dataset has only of what occurs (``labels.PER``)."""


def kind_of(schema: Schema) -> ComparedColumns:
    """Choose what is compared of a schema: every column, where no kind is defined."""
    names = tuple(schema.columns.names)
    if kind := _KINDS.get(schema.name):
        named = {*kind.keys, *kind.ignored, kind.name, kind.retired, *chain(*kind.groups.values())}
        others = tuple(name for name in names if name not in named)
        return replace(kind, groups={**kind.groups, "other": others}) if others else kind
    return ComparedColumns(
        keys=("id",),
        groups={name: (name,) for name in names if name != "id"},
        lists=tuple(n for n in names if pa.types.is_list(schema.columns.field(n).type)),
        tallies=tuple(name for name in _TALLIED if name in names),
    )


Measures = dict[str, int | float]
_RATIOS = {
    "documents": {
        "characters_per_document": ("characters", "documents"),
        "mentions_per_document": ("mentions", "documents"),
        "links_per_page": ("mentions.link", "documents"),
    },
    "entities": {"mentions_per_entity": ("mentions", "entities")},
    "ner": {"tokens_per_sentence": ("tokens", "ner")},
}


def count_batch(
    batch: pa.RecordBatch, kind: ComparedColumns, schema: str, *, into: Counter[str]
) -> None:
    """Count the rows, list elements and values of a batch; add the counts to ``into``."""
    into[schema] += batch.num_rows
    for name in kind.lists:
        into[name] += pc.sum(pc.list_value_length(batch.column(name)), min_count=0).as_py()
    for name in kind.tallies:
        _tally(batch.column(name), prefix=name, into=into)
    if schema == "documents":
        into["characters"] += pc.sum(pc.utf8_length(batch.column("text")), min_count=0).as_py()
        mentions = batch.column("mentions").flatten()
        _tally(mentions.field("origin"), prefix="mentions", into=into)
        _tally(mentions.field("label"), prefix="labels", into=into)
    elif schema == "entities":
        into["mentions"] += pc.sum(batch.column("count"), min_count=0).as_py()
    elif schema == "ner":
        tags = batch.column("tags").flatten()
        begins = tags.filter(pc.starts_with(tags, "B-"))
        _tally(pc.utf8_slice_codeunits(begins, 2), prefix="labels", into=into)


def _tally(column: pa.Array, *, prefix: str, into: Counter[str]) -> None:
    for count in pc.value_counts(column).to_pylist():
        if count["values"] is not None:
            into[f"{prefix}.{count['values']}"] += count["counts"]


def count_account(description: Description) -> Measures:
    """Return the accounting and the counters of ``dataset.json`` as measures."""
    account = description["accounting"]
    measures: Measures = {"read": account.get("read", 0), "written": account.get("written", 0)}
    filtered, rejected = account.get("filtered", {}), account.get("rejected", {})
    for fate, reasons in (("filtered", filtered), ("rejected", rejected)):
        measures[fate] = sum(reasons.values())
        measures |= {f"{fate}.{reason}": n for reason, n in reasons.items()}
    return measures | {f"counters.{name}": n for name, n in description.get("counters", {}).items()}


def with_ratios(measures: Measures, schema: str) -> Measures:
    """Add the ratios of a schema; a denominator of 0 counts as 1."""
    ratios = {
        name: round(measures.get(above, 0) / max(1, measures.get(below, 0)), 6)
        for name, (above, below) in _RATIOS.get(schema, {}).items()
    }
    read = max(1, measures.get("read", 0))
    ratios["rejected_share"] = round(measures.get("rejected", 0) / read, 6)
    return measures | ratios
