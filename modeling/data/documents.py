"""Datasets of documents, written again with other mentions.

A unit of work is a shard. Its completion marker is written after its rows, so that the same command
resumes an interrupted run.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from corpora.datasets.shards import read_documents
from corpora.document import Document
from corpora.runs.build import hold
from corpora.runs.dataset_inputs import check_hashes, find_shards
from corpora.runs.plan import Plan, Unit, describe_file

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
                counters = Counter[str]()
                documents = change(read_documents(unit.inputs[0].check()), counters)
                build.write_documents(unit, documents, counters=counters)
                sys.stderr.write(f"  shard {unit.number + 1} of {len(plan.units)}\n")
            build.publish()
        accounting, totals = build.published_account()
    return accounting.written, totals
