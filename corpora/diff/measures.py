"""Counts and rates of a dataset, by which two versions of it are compared."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import Description
from corpora.diff.kinds import Kind
from corpora.errors import DamagedDatasetError

Measures = dict[str, int | float]
_RATES = {
    "documents": {
        "characters_per_document": ("characters", "documents"),
        "mentions_per_document": ("mentions", "documents"),
        "links_per_page": ("mentions.link", "documents"),
    },
    "entities": {"mentions_per_entity": ("mentions", "entities")},
    "ner": {"tokens_per_sentence": ("tokens", "ner")},
}


def count_batch(batch: pa.RecordBatch, kind: Kind, schema: str, *, into: Counter[str]) -> None:
    """Count what a batch of rows holds."""
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


def count_account(description: Description, *, where: Path) -> Measures:
    """Read the accounting of ``dataset.json``, and its counters.

    Raises ``DamagedDatasetError`` for what is no count.
    """
    try:
        account = description["accounting"]
        measures: Measures = {
            "read": account.get("read", 0),
            "written": account.get("written", 0),
        }
        fates = {
            "filtered": account.get("filtered", {}),
            "rejected": account.get("rejected", {}),
        }
        for fate, reasons in fates.items():
            measures[fate] = sum(reasons.values())
            measures |= {f"{fate}.{reason}": n for reason, n in reasons.items()}
        counters = description.get("counters", {})
        measures |= {f"counters.{name}": n for name, n in counters.items()}
    except (AttributeError, TypeError) as error:
        raise DamagedDatasetError(
            f"{where / 'dataset.json'}: damaged accounting ({error}). Run the pipeline again."
        ) from error
    if wrong := [name for name, n in measures.items() if type(n) is not int or n < 0]:
        raise DamagedDatasetError(
            f"{where / 'dataset.json'}: damaged ({wrong[0]} is no count). Run the pipeline again."
        )
    return measures


def with_rates(measures: Measures, schema: str) -> Measures:
    """Add the rates of a schema; one over nothing is 0."""
    rates = {
        name: round(measures.get(above, 0) / max(1, measures.get(below, 0)), 6)
        for name, (above, below) in _RATES.get(schema, {}).items()
    }
    read = max(1, measures.get("read", 0))
    rates["rejected_share"] = round(measures.get("rejected", 0) / read, 6)
    return measures | rates
