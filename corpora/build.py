"""One run's hold on an output folder: lock, staged shards, receipts, resuming, publishing.

While a run works, everything lies in ``OUTPUT/.build/<fingerprint>/``; what was published there
before stays whole. A unit counts as done when its receipt is written and its shards have the
hashes in it. Publishing takes away the old ``dataset.json`` and ``run.json``, moves the new files
into place, and writes ``dataset.json`` and last ``run.json``; receipts stay in ``.build``, so that
a damaged shard can be made again alone. A kill at any moment leaves the old data, no dataset, or
the new data, and the next run goes on from there.
"""

import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from corpora.errors import CorpusError, FolderInUseError
from corpora.plan import Plan, Unit
from corpora.shards import SCHEMAS, Shard, read_ids, sha256_of, write_json, write_text

LOCK = ".lock"
BUILD = ".build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """What became of the input records; ``read`` is the sum of the rest."""

    read: int = 0
    written: int = 0
    filtered: Mapping[str, int] = field(default_factory=dict)
    """Reason to number of records that are left out on purpose."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Reason to number of records that could not be used."""

    @property
    def adds_up(self) -> bool:
        """Whether every record that was read is accounted for."""
        return self.read == self.written + self.n_filtered + self.n_rejected

    @property
    def n_filtered(self) -> int:
        """Records that were filtered, for whatever reason."""
        return sum(self.filtered.values())

    @property
    def n_rejected(self) -> int:
        """Records that were rejected, for whatever reason."""
        return sum(self.rejected.values())

    def __add__(self, other: "Accounting") -> "Accounting":
        """Add two accounts."""
        return Accounting(
            read=self.read + other.read,
            written=self.written + other.written,
            filtered=_sorted(Counter(self.filtered) + Counter(other.filtered)),
            rejected=_sorted(Counter(self.rejected) + Counter(other.rejected)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a finished unit says of itself."""

    fingerprint: str
    unit: int
    shards: Mapping[str, Shard]
    """Dataset to shard."""
    accounting: Accounting
    counters: Mapping[str, int]
    rejected: Sequence[Mapping[str, str]]
    """Rows for ``rejected.jsonl``."""


def _sorted(counter: Mapping[str, int]) -> dict[str, int]:
    return {name: counter[name] for name in sorted(counter)}


class Build:
    """The work of one plan in one output folder; made by ``hold``."""

    def __init__(self, output: Path, plan: Plan) -> None:
        self.output, self.plan = output, plan
        self.folder = output / BUILD / plan.fingerprint[:16]
        self.receipts = self.folder / "receipts"
        self.side = self.folder / "side"
        self._right: set[Path] = set()  # shards whose hash was checked in this run

    def prepare(self) -> None:
        """Throw away what other plans left unfinished, and make the folders of this one."""
        for other in (self.output / BUILD).glob("*"):
            if other != self.folder:
                shutil.rmtree(other)
        self.receipts.mkdir(parents=True, exist_ok=True)
        for dataset in self.plan.datasets:
            self.staging(dataset).mkdir(parents=True, exist_ok=True)
        for folder in (self.output, *(self.output / name for name in self.plan.datasets)):
            for leftover in folder.glob(".tmp-*"):
                leftover.unlink()
        for leftover in self.folder.rglob(".tmp-*"):
            leftover.unlink()
        write_json(
            self.folder / "plan.json",
            {"fingerprint": self.plan.fingerprint, **self.plan.description},
        )

    def staging(self, dataset: str) -> Path:
        """Where the shards of a dataset lie until they are published."""
        return self.folder / "shards" / dataset

    def pending(self) -> list[Unit]:
        """Find the units that are still to be done: no receipt, or a shard with another hash."""
        return [unit for unit in self.plan.units if not self._is_done(unit)]

    def _is_done(self, unit: Unit) -> bool:
        receipt = read_receipt(self.receipt_path(unit))
        return (
            receipt is not None
            and receipt.fingerprint == self.plan.fingerprint
            and all(self._where(name, shard) for name, shard in receipt.shards.items())
        )

    def _where(self, dataset: str, shard: Shard) -> Path | None:
        """Find a shard whose hash is right: staged, or published already."""
        for folder in (self.staging(dataset), self.output / dataset):
            path = folder / shard.name
            if path not in self._right and path.exists() and sha256_of(path) == shard.sha256:
                self._right.add(path)
            if path in self._right:
                return path
        return None

    def receipt_path(self, unit: Unit) -> Path:
        """Where the receipt of a unit lies."""
        return self.receipts / f"{unit.number:05d}.json"

    def is_published(self) -> bool:
        """Whether every file of this plan is in place with its hash."""
        try:
            run = json.loads((self.output / "run.json").read_text(encoding="utf-8"))
            return run["fingerprint"] == self.plan.fingerprint and all(
                sha256_of(self.output / name) == sha256 for name, sha256 in run["files"].items()
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @cached_property
    def finished(self) -> list[Receipt]:
        """The receipts of all units, in order; raises ``CorpusError`` where one is missing."""
        receipts = [read_receipt(self.receipt_path(unit)) for unit in self.plan.units]
        for unit, receipt in zip(self.plan.units, receipts, strict=True):
            if receipt is None:
                raise CorpusError(f"{self.output}: unit {unit.number} left no receipt. Run again.")
        return [receipt for receipt in receipts if receipt is not None]

    @property
    def accounting(self) -> Accounting:
        """What became of all input records."""
        return sum((receipt.accounting for receipt in self.finished), Accounting())

    @property
    def counters(self) -> dict[str, int]:
        """The counters of all units together."""
        total: Counter[str] = Counter()
        for receipt in self.finished:
            total.update(receipt.counters)
        return _sorted(total)

    def shard_paths(self, dataset: str) -> list[Path]:
        """Find the finished shards of a dataset, in order."""
        paths = [self._where(dataset, receipt.shards[dataset]) for receipt in self.finished]
        for receipt, path in zip(self.finished, paths, strict=True):
            if path is None:
                name = receipt.shards[dataset].name
                raise CorpusError(f"{self.output / dataset / name}: damaged. Run again.")
        return [path for path in paths if path is not None]

    def check_ids(self) -> None:
        """Raise ``CorpusError`` where two shards hold the same id; keeps a hash a row."""
        for dataset, schema in self.plan.datasets.items():
            seen: set[int] = set()
            for path in self.shard_paths(dataset):
                for row_id in read_ids(path, SCHEMAS[schema]):
                    if hash(row_id) in seen:
                        raise CorpusError(
                            f"{self.output / dataset}: the id {row_id!r} is met twice (again in "
                            f"{path.name}). Give each record its own, or leave one out."
                        )
                    seen.add(hash(row_id))

    def publish(self, write_side_files: Callable[["Build"], None] | None = None) -> None:
        """Put shards and side files into place; see the module for the order."""
        shutil.rmtree(self.side, ignore_errors=True)
        self.side.mkdir()
        if write_side_files is not None:
            write_side_files(self)
        shards = {dataset: self.shard_paths(dataset) for dataset in self.plan.datasets}
        self._withdraw()
        files: dict[str, str] = {}
        for dataset, paths in shards.items():
            files |= self._publish_dataset(dataset, paths)
        for path in sorted(self.side.iterdir()):
            path.rename(self.output / path.name)
            files[path.name] = sha256_of(self.output / path.name)
        sync_folder(self.output)
        run = {"pipeline": self.plan.pipeline, "fingerprint": self.plan.fingerprint}
        write_json(self.output / "run.json", run | {"files": files})
        self._tidy()

    def _withdraw(self) -> None:
        """Take the old datasets and side files out of force, ``run.json`` last."""
        for dataset in self.plan.datasets:
            (self.output / dataset / "dataset.json").unlink(missing_ok=True)
        for name in _side_files(self.output):
            (self.output / name).unlink(missing_ok=True)
        (self.output / "run.json").unlink(missing_ok=True)
        sync_folder(self.output)

    def _publish_dataset(self, dataset: str, paths: Sequence[Path]) -> dict[str, str]:
        folder = self.output / dataset
        folder.mkdir(exist_ok=True)
        names = {path.name for path in paths}
        for stale in folder.glob("shard-*.arrow"):
            if stale.name not in names:
                stale.unlink()
        for path in paths:
            if path.parent != folder:
                path.rename(folder / path.name)
        rejected = [row for receipt in self.finished for row in receipt.rejected]
        write_text(
            folder / "rejected.jsonl",
            (json.dumps(row, ensure_ascii=False) + "\n" for row in rejected),
        )
        sync_folder(folder)
        write_json(folder / "dataset.json", self._describe(dataset))
        prefix = f"{dataset}/" if dataset else ""
        files = {
            f"{prefix}{r.shards[dataset].name}": r.shards[dataset].sha256 for r in self.finished
        }
        for name in ("rejected.jsonl", "dataset.json"):
            files[f"{prefix}{name}"] = sha256_of(folder / name)
        return files

    def _describe(self, dataset: str) -> dict[str, Any]:
        schema = SCHEMAS[self.plan.datasets[dataset]]
        return {
            "schema": schema.name,
            "version": schema.version,
            "plan": {"fingerprint": self.plan.fingerprint, **self.plan.description},
            "shards": [asdict(receipt.shards[dataset]) for receipt in self.finished],
            "accounting": asdict(self.accounting),
            "counters": self.counters,
        }

    def _tidy(self) -> None:
        for name in ("shards", "side"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


@contextmanager
def hold(output: Path, plan: Plan) -> Iterator[Build]:
    """Hold an output folder for a run; raises ``FolderInUseError`` where another run does."""
    output.mkdir(parents=True, exist_ok=True)
    with (output / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise FolderInUseError(
                f"{output}: another run (process {holder}) works here. "
                "Wait for it, or choose another --output."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        build = Build(output, plan)
        build.prepare()
        yield build


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt in one atomic step."""
    write_json(path, asdict(receipt))


def read_receipt(path: Path) -> Receipt | None:
    """Read a receipt; None where there is none that is whole."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        values["shards"] = {name: Shard(**shard) for name, shard in values["shards"].items()}
        values["accounting"] = Accounting(**values["accounting"])
        return Receipt(**values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _side_files(output: Path) -> list[str]:
    """Name the side files of what is published: those that lie in the output itself."""
    try:
        files = json.loads((output / "run.json").read_text(encoding="utf-8"))["files"]
        return [name for name in files if "/" not in name and not name.startswith("shard-")]
    except (OSError, ValueError, KeyError, TypeError):
        return []
