"""Runs to put into a store, and what is in it."""

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, open_dataset
from corpora.runs.build import hold as hold_output
from corpora.runs.plan import Plan, Unit
from corpora.runs.receipts import Accounting, Receipt, write_receipt
from corpora.system.writing import write_text
from tests.corpora.diff.two_versions import document
from tests.datasets import document_to_row


def make(output, text, *, write_side_files=None, **parameters):
    """Make a run as pipelines make it: one dataset of one document, and a side file."""
    unit = Unit(0)
    plan = Plan("test", {"documents": "documents"}, {"text": text} | parameters, (unit,))
    with hold_output(output, plan) as build:
        path = build.staging("documents") / unit.shard_name
        with ShardWriter(path, SCHEMAS["documents"]) as writer:
            writer.write(document_to_row(document(1, text=text)))
        receipt = Receipt(
            fingerprint=plan.fingerprint,
            unit=0,
            shards={"documents": writer.shard},
            accounting=Accounting(read=1, written=1),
            counters={},
            rejected=[],
        )
        write_receipt(build.receipt_path(unit), receipt)
        build.publish(write_side_files or (lambda b, _: write_text(b.side / "report.md", [text])))
    return output


def text_of(version):
    [row] = open_dataset(version / "documents").rows()
    return row["text"]


def names_that_stay(fates):
    return {fate.version for fate in fates if fate.reason}
