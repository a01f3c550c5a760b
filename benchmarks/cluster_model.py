"""How long runs on a cluster take, step by step, by costs that were measured on one core.

    python -m benchmarks.cluster_model --workers 64 1000

prints the tables of docs/scale.md. ``COSTS`` has where each figure comes from; ``--measure``
measures those of the launcher here, and uses them.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from corpora.datasets.shards import Shard
from corpora.runs.receipts import Accounting, Receipt, Totals, read_receipt, write_receipt
from corpora.system.buckets import Bucket, ListedObject
from corpora.system.files import sha256_of
from pipelines import news_to_documents


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of one core, and bytes."""

    unit: float = 40e-6
    """Planning a unit (``--measure``; two cores, Python 3.11)."""
    receipt: float = 120e-6
    """Reading a completion marker and adding it up, on the launcher (``--measure``)."""
    hashed: float = 1 / 1.3e9
    """Hashing a byte (``--measure``)."""
    id: float = 0.4e-6
    """Comparing the id of a row with all others (docs/scale.md)."""
    xml: float = 0.145e-6
    """Reading a byte of XML of a dump, both stages together (docs/scale.md)."""
    redirect: float = 0.7e-6
    """Merging a redirect, in one worker (docs/scale.md)."""
    cut: float = 1 / 54e6
    """Finding records in a byte of a packed archive (docs/scale.md)."""
    page: float = 0.1
    """Reading, cleaning and signing a page of news (docs/scale.md)."""
    shuffled: float = 1 / 17e6
    """Sending a byte through a shuffle of small entries, each way (docs/scale.md: text)."""
    compared: float = 2e-3
    """Comparing an article with those of its group, shingle by shingle (assumed)."""
    noted: float = 2e-6
    """Writing a row of the table of duplicates, in one worker (assumed)."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run: what it costs, and how many can share it."""

    name: str
    seconds: float
    """Seconds of one core."""
    is_shared: bool = True
    """Whether all workers do it; else one does, or the launcher."""

    def hours(self, n_workers: int) -> float:
        """Return how long it takes."""
        return self.seconds / (n_workers if self.is_shared else 1) / 3600


def wikipedia(costs: Costs, *, xml: float, articles: float, redirects: float) -> list[Step]:
    """List the steps of reading dumps of so many bytes of XML, articles and redirects."""
    n_units = xml / (64 << 20)
    return [
        Step("plan", n_units * costs.unit, is_shared=False),
        Step("hash the largest of ten files", xml / 4 / 10 * costs.hashed, is_shared=False),
        Step("read, resolve and match pages", xml * costs.xml),
        Step("merge redirects", redirects * costs.redirect, is_shared=False),
        *published(costs, rows=articles, bytes=0.38 * xml, markers=2 * n_units),
    ]


def news(costs: Costs, *, packed: float, page_bytes: float = 30e3, kept: float = 0.5) -> list[Step]:
    """List the steps of reading archives of so many bytes.

    Assumed: half of the pages are kept as articles, of 2.5 kB packed; one in eight has others to be
    compared with. An article is 1.3 kB in the shuffle of keys, and 20 paragraphs of 20 bytes.
    """
    pages = packed / page_bytes
    articles, n_units = pages * kept, packed / (64 << 20)
    return [
        Step("plan", 2 * n_units * costs.unit, is_shared=False),
        Step("hash and cut archives", packed * (costs.cut + costs.hashed)),
        Step("read, clean and sign pages", pages * costs.page),
        Step("boilerplate: paragraphs meet", articles * 20 * 20 * costs.shuffled),
        Step("duplicates: keys meet", articles * 1.3e3 * costs.shuffled),
        Step("duplicates: groups are compared", articles / 8 * costs.compared),
        Step("write the table of duplicates", articles / 8 * costs.noted, is_shared=False),
        *published(costs, rows=articles, bytes=articles * 2.5e3, markers=4 * n_units),
    ]


def published(costs: Costs, *, rows: float, bytes: float, markers: float) -> Iterator[Step]:
    """Yield what the launcher does at the end."""
    yield Step("add up completion markers", markers * costs.receipt, is_shared=False)
    yield Step("hash the shards, by four threads", bytes * costs.hashed / 4, is_shared=False)
    yield Step("compare ids", rows * costs.id, is_shared=False)


RUNS: Mapping[str, tuple[Callable[..., list[Step]], Mapping[str, float]]] = {
    "English Wikipedia": (wikipedia, {"xml": 100e9, "articles": 7e6, "redirects": 11e6}),
    "all Wikipedias": (wikipedia, {"xml": 450e9, "articles": 65e6, "redirects": 60e6}),
    "10 TB of news": (news, {"packed": 10e12}),
}
"""What is read, with the sizes of November 2026, rounded."""


def table(steps: Sequence[Step], workers: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table: core hours of each step, and minutes by the number of workers."""
    yield f"| step | core hours | {' | '.join(f'{n:,} workers, min' for n in workers)} |"
    yield "| --- | ---: |" + " ---: |" * len(workers)
    for step in steps:
        name = step.name if step.is_shared else f"{step.name} (one process)"
        minutes = " | ".join(f"{60 * step.hours(n):,.1f}" for n in workers)
        yield f"| {name} | {step.seconds / 3600:,.1f} | {minutes} |"
    sums = " | ".join(f"{60 * sum(step.hours(n) for step in steps):,.0f}" for n in workers)
    yield f"| all | {sum(step.seconds for step in steps) / 3600:,.1f} | {sums} |"


def measured(costs: Costs) -> Costs:
    """Measure what the launcher does, on this machine."""
    with TemporaryDirectory() as folder:
        return replace(
            costs,
            unit=_planning(Path(folder), n_archives=20_000),
            receipt=_receipts(Path(folder), n=2_000),
            hashed=_hashing(Path(folder), size=1 << 28),
        )


def _planning(folder: Path, *, n_archives: int) -> float:
    """Plan archives of 1 GiB each, which a listing of a bucket has; nothing is read."""
    when = datetime(2026, 11, 1, tzinfo=UTC)
    listing = [
        ListedObject(f"{n:08}.warc.gz", 1 << 30, f"{n:032x}", when) for n in range(n_archives)
    ]
    options = news_to_documents.Options(warc=("s3://archives/news",), output=folder / "out")
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    with (
        patch.dict("os.environ", environment | {"ONOMA_CACHE": str(folder)}),
        patch.object(Bucket, "list", lambda *_: listing),
        patch.object(Bucket, "find", lambda *_: None),
    ):
        start = time.process_time()
        plan = news_to_documents.plan(options)
        assert plan.fingerprint
        return (time.process_time() - start) / len(plan.units)


def _receipts(folder: Path, *, n: int) -> float:
    shards = {name: Shard("shard-00001.arrow", 1, 1, "a" * 64) for name in ("a", "b", "c")}
    counters = {f"status/{number}": 1 for number in range(40)}
    accounting = Accounting(read=2_000, written=2_000)
    made = Receipt(
        fingerprint="f" * 64,
        unit=1,
        shards=shards,
        accounting=accounting,
        counters=counters,
        rejected=[],
    )
    write_receipt(folder / "0.json", made)
    totals, start = Totals(), time.process_time()
    for _ in range(n):
        if receipt := read_receipt(folder / "0.json"):
            totals.add(receipt)
    return (time.process_time() - start) / n


def _hashing(folder: Path, *, size: int) -> float:
    (folder / "data").write_bytes(bytes(size))
    start = time.process_time()
    sha256_of(folder / "data")
    return (time.process_time() - start) / size


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[64, 1_000])
    parser.add_argument("--measure", action="store_true", help="measure the launcher's costs here")
    options = parser.parse_args(argv)
    costs = measured(Costs()) if options.measure else Costs()
    if options.measure:
        sys.stdout.write(f"{costs}\n\n")
    for name, (steps, sizes) in RUNS.items():
        lines = table(steps(costs, **sizes), options.workers)
        sys.stdout.write("\n".join([f"### {name}", "", *lines, "", ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
