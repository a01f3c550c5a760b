"""Datasets of documents, written again with other mentions.

A unit of work is a shard. Its completion marker is written after its rows, so that the same command
resumes an interrupted run.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_documents
from corpora.document import Document
from corpora.runs.build import Build, hold
from corpora.runs.dataset_inputs import check_hashes, find_shards
from corpora.runs.plan import Plan, Unit, describe_file
from corpora.runs.receipts import Accounting, Receipt, sorted_counts, write_receipt

Change = Callable[[Iterator[Document], Counter[str]], Iterator[Document]]
"""Yields each document, changed, and counts what it does; it is called for every shard."""


def change_dataset(
    source: Path,
    output: Path,
    change: Change,
    *,
    pipeline: str,
    parameters: Mapping[str, object],
    models: Mapping[str, Path],
) -> tuple[int, Mapping[str, int]]:
    """Write a dataset with changed documents; return how many there are, and the counters.

    ``parameters`` and ``models``, the files of the model by name, identify the run. Raises
    ``CorpusError`` for what is no dataset of documents.
    """
    files = check_hashes(find_shards([str(source)], "documents", option="--documents"))
    plan = Plan(
        pipeline=pipeline,
        datasets={"": "documents"},
        parameters=dict(parameters),
        units=tuple(Unit(number, (file,)) for number, file in enumerate(files)),
        auxiliary={name: describe_file(name, path) for name, path in models.items()},
    )
    with hold(output, plan) as build:
        if not build.is_published():
            for unit in build.pending():
                _write_shard(unit, build, change)
                sys.stderr.write(f"  shard {unit.number + 1} of {len(plan.units)}\n")
            build.publish()
        accounting, counters = build.published_account()
    return accounting.written, counters


def _write_shard(unit: Unit, build: Build, change: Change) -> None:
    """Write the shard of a unit, and then its completion marker."""
    counters: Counter[str] = Counter()
    with ShardWriter(build.staging("") / unit.shard_name, SCHEMAS["documents"]) as writer:
        for document in change(read_documents(unit.inputs[0].check()), counters):
            writer.write(document)
    assert writer.shard is not None  # noqa: S101 - there is one when it is closed
    receipt = Receipt(
        fingerprint=build.plan.fingerprint,
        unit=unit.number,
        shards={"": writer.shard},
        accounting=Accounting(read=writer.shard.rows, written=writer.shard.rows),
        counters=sorted_counts(counters),
        rejected=[],
    )
    write_receipt(build.receipt_path(unit), receipt)
