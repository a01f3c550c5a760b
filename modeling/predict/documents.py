"""Prediction for a dataset of documents: the same rows, with predicted mentions added to their own.

A unit of work is a shard. Its completion marker is written after its rows, so that the same command
resumes an interrupted run.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import tee
from pathlib import Path

import torch

from corpora.datasets.rows import document_from_row, document_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_batches
from corpora.document import Document, Mention, SpanIndex, index_of, without_crossing
from corpora.runs.build import Build, hold
from corpora.runs.dataset_inputs import find_shards
from corpora.runs.plan import Plan, Unit, describe_file
from corpora.runs.receipts import Accounting, Receipt, sorted_counts, write_receipt
from modeling.taggers.archive import files_in
from modeling.taggers.tagger import Tagger
from modeling.training.run_folder import versions

_DOCUMENTS = SCHEMAS["documents"]


def annotate_dataset(
    source: Path, output: Path, *, tagger: Tagger, threshold: float = 0.0
) -> tuple[int, Mapping[str, int]]:
    """Tag every document; return how many there are, and the counters.

    Mentions of other origins stay; earlier predictions are replaced. A prediction that would cross
    a mention that stays is left out and counted. Documents whose text is not cut into sentences are
    counted; nothing is looked for in them. Raises ``CorpusError`` for what is no dataset of
    documents.
    """
    plan = _plan(source, tagger, threshold=threshold)
    with hold(output, plan) as build:
        if not build.is_published():
            for unit in build.pending():
                _do(unit, build, tagger=tagger, threshold=threshold)
                sys.stderr.write(f"  shard {unit.number + 1} of {len(plan.units)}\n")
            build.publish()
        accounting, counters = build.published_account()
    return accounting.written, counters


def _plan(source: Path, tagger: Tagger, *, threshold: float) -> Plan:
    if tagger.folder is None:
        raise ValueError("Only a tagger that was loaded from a folder can be named in a plan.")
    files = find_shards([str(source)], "documents", option="--documents")
    labels = tagger.label_map
    settings: dict[str, object] = {
        "threshold": threshold,
        "decoder": tagger.decoder_used,
        "labels": None if labels is None else [labels.other, *labels.labels.items()],
    }
    auxiliary = {name: describe_file(name, path) for name, path in files_in(tagger.folder).items()}
    computing = versions() | {"device": next(tagger.model.parameters()).device.type}
    computing["threads"] = str(torch.get_num_threads())
    return Plan(
        pipeline="predict",
        datasets={"": "documents"},
        parameters=settings | {"computing": computing},
        units=tuple(Unit(number, (file,), settings) for number, file in enumerate(files)),
        auxiliary=auxiliary,
    )


def _do(unit: Unit, build: Build, *, tagger: Tagger, threshold: float) -> None:
    """Write the shard of a unit, and then its completion marker."""
    counters: Counter[str] = Counter()
    n_documents = 0
    with ShardWriter(build.staging("") / unit.shard_name, _DOCUMENTS) as writer:
        documents, tagged = tee(_read(unit.inputs[0].check()))  # a shard may be large
        found = tagger.annotate_all(tagged, threshold=threshold)
        pairs = zip(documents, found, strict=True)
        for n_documents, (document, annotated) in enumerate(pairs, 1):  # noqa: B007 - counted
            is_uncut = bool(document.text.strip()) and not document.sentences
            counters["documents.without_sentences"] += is_uncut
            writer.write(document_to_row(_together(document, annotated, counters)))
    assert writer.shard is not None  # noqa: S101 - there is one when it is closed
    receipt = Receipt(
        fingerprint=build.plan.fingerprint,
        unit=unit.number,
        shards={"": writer.shard},
        accounting=Accounting(read=n_documents, written=n_documents),
        counters=sorted_counts(counters),
        rejected=[],
    )
    write_receipt(build.receipt_path(unit), receipt)


def _read(shard: Path) -> Iterator[Document]:
    for batch in read_batches(shard, _DOCUMENTS):
        yield from map(document_from_row, batch.to_pylist())


def _together(document: Document, annotated: Document, counters: Counter[str]) -> Document:
    stay = [mention for mention in document.mentions if mention.origin != "prediction"]
    counters["mentions.before"] += len(stay)
    counters["predictions.replaced"] += len(document.mentions) - len(stay)
    index = index_of(stay)
    fitting = [mention for mention in annotated.mentions if not _crosses_any(mention, index)]
    counters["predictions.crossing"] += len(annotated.mentions) - len(fitting)
    counters["predictions"] += len(fitting)
    kept, dropped = without_crossing([*stay, *fitting])
    if dropped:
        raise AssertionError(f"{document.id}: mentions that stay cross each other")
    return replace(document, mentions=tuple(kept))


def _crosses_any(mention: Mention, others: SpanIndex[Mention]) -> bool:
    return any(
        mention.start < other.start < mention.end < other.end
        or other.start < mention.start < other.end < mention.end
        for other in others.touching(mention.start, mention.end)
    )
