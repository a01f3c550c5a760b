"""The work of a run in its output folder: lock, staged shards, receipts, resuming, publishing.

A run works in ``OUTPUT/.build/<fingerprint>/``; what was published in ``OUTPUT`` before stays whole
meanwhile. A unit counts as done when it has a receipt, and its shards have the hashes in the
receipt. Receipts stay, so that a single damaged shard can be made again.

Publishing writes a journal of all names that it will touch, and removes the old ``run.json``,
``dataset.json`` and side files. It moves the new files into place, and writes ``rejected.jsonl``
and ``dataset.json`` of each dataset; ``run.json`` is the last. A kill at any moment leaves the old
data, no dataset, or the new data, and the next run resumes from there.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import Description, Shard, ShardWriter, read_description
from corpora.document import Document
from corpora.errors import CorpusError, UsageError
from corpora.runs.journal import (
    RunRecord,
    names_of_runs,
    published_files,
    read_journal,
    read_run,
    sealed,
)
from corpora.runs.plan import InputFile, Plan, Stage, Unit, fingerprint_of
from corpora.runs.receipts import (
    Accounting,
    Receipt,
    Totals,
    read_receipt,
    sorted_counts,
    write_receipt,
)
from corpora.runs.record_errors import INTERNAL_ERROR
from corpora.runs.work_directory import COUNTS, MERGED, WorkDirectory
from corpora.system.files import inside, is_plain, locked, refuse_links, sha256_of, take_away
from corpora.system.parsing import read_json
from corpora.system.threads import map_in_order
from corpora.system.writing import is_temporary, sync_file, sync_folder, write_json, write_text

if TYPE_CHECKING:
    from corpora.runs.on_bucket import BucketOutput

LOCK = ".lock"
BUILD = ".build"
PIECES = "pieces"  # in .build: parts that planning cut from inputs without random access
JOURNAL = "published.json"  # in .build: all files that runs have put, or were about to put, here
NAMED_COUNTERS = "counters.json"
"""The side file for counters with a ``/``, such as ``hole/NAME``. There may be a million of them,
too many for ``dataset.json``, which is read whenever a dataset is opened."""
_OF_DATASET = ("rejected.jsonl", "dataset.json")  # the files of a dataset besides its shards
_BUILD_NAME = re.compile(r"[0-9a-f]{16}")


class Build:
    """The work of one plan in one output folder, as ``hold`` yields it."""

    def __init__(self, output: Path, plan: Plan, *, remote: "BucketOutput | None" = None) -> None:
        self.output, self.plan, self.remote = output, plan, remote
        self.folder = output / BUILD / plan.fingerprint[:16]
        self.receipts = self.folder / "receipts"
        self.side = self.folder / "side"
        self.work = WorkDirectory(self.address)
        self._right: dict[tuple[str, Shard], Path] = {}  # shards whose hash was checked in this run
        self._confirmed: dict[InputFile, bool] = {}  # inputs with the hash of a receipt, or another

    @property
    def address(self) -> str:
        """The address that workers open as their work directory."""
        if self.remote:
            return self.remote.address_of(self.plan.fingerprint)
        return str(self.folder.absolute())

    def check_inputs(self) -> None:
        """Raise ``UsageError`` for a file that is read, and that a run wrote into the output.

        The files of a vocabulary or a tokenizer are such files, too: publishing would remove them.
        """
        ours = {os.path.realpath(self.output / name) for name in published_files(self.output)}
        for file in (*self.plan.inputs, *self.plan.auxiliary.values()):
            is_remote = self.remote is not None and self.remote.holds(file.address)
            if is_remote or os.path.realpath(file.path) in ours:
                raise UsageError(
                    f"{file.path}: is an output of an earlier run, which this run would replace. "
                    "Choose an --output outside of all that is read, or a narrower --input."
                )

    def prepare(self) -> None:
        """Remove what other plans left unfinished, and make the folders of this plan.

        Receipts of the published data are kept until other data is published. Raises
        ``CorpusError`` where a file that no run made is in the way.
        """
        self._check_foreign(self._names_to_come())
        published = str(read_run(self.output).get("plan"))[:16]
        for other in self._builds():
            if other.name not in (self.folder.name, published):
                shutil.rmtree(other)
        self.receipts.mkdir(parents=True, exist_ok=True)
        datasets = [*self.plan.datasets, *(d for stage in self.plan.stages for d in stage.datasets)]
        for dataset in datasets:
            self.staging(dataset).mkdir(parents=True, exist_ok=True)
        for stage in self.plan.stages:
            (self.receipts / stage.name).mkdir(exist_ok=True)
        datasets_there = [self.output / name for name in self.plan.datasets]
        for folder in (self.output, self.output / BUILD, *datasets_there):
            _remove_leftovers(filter(is_temporary, folder.glob(".tmp-*")))
        _remove_leftovers(self.folder.rglob(".tmp-*"))
        write_json(
            self.folder / "plan.json",
            {"fingerprint": self.plan.fingerprint, **self.plan.description},
        )
        counts = {
            name: (stage.name, len(stage.units))
            for stage in self.plan.stages
            for name in stage.datasets
        }
        write_json(self.folder / COUNTS, counts)
        if self.remote:
            self.remote.begin(self)

    def _builds(self) -> list[Path]:
        """List the build folders of this plan and of others."""
        return [
            path for path in (self.output / BUILD).glob("*") if _BUILD_NAME.fullmatch(path.name)
        ]

    def _names_to_come(self) -> Iterator[str]:
        """Yield the names that publishing may replace or remove: existing files, ``run.json``."""
        for dataset in self.plan.datasets:
            folder = inside(self.output, f"{dataset}/" if dataset else "")
            if folder.exists() and not folder.is_dir():
                yield dataset
            found = [*folder.glob("shard-[0-9]*.arrow"), *map(folder.joinpath, _OF_DATASET)]
            yield from (path.relative_to(self.output).as_posix() for path in found)
        yield "run.json"

    def _check_foreign(self, names: Iterable[str]) -> None:
        """Raise ``CorpusError`` for an existing file that no run made."""
        ours = names_of_runs(self.output, self.output / BUILD / JOURNAL)
        for name in names:
            path = inside(self.output, name)
            if name not in ours and (path.exists() or path.is_symlink()):
                raise CorpusError(
                    f"{path}: was not made by a run. Move it away, or choose another --output."
                )

    def unconfirmed(self) -> list[InputFile]:
        """List the inputs that must be hashed before anything that was made of them is used.

        The version of an object in a bucket is in the fingerprint of the plan.
        """
        hashes, is_published = self._hashes_before, self._has_same_plan()
        if not (is_published or any(self.receipts.rglob("*.json"))):
            return []
        return [
            file
            for file in self.plan.inputs
            if not (file.is_hashed or file.version) and (file.sha256 or file.name in hashes)
        ]

    @cached_property
    def _hashes_before(self) -> dict[str, str]:
        """The hashes of the inputs as earlier runs of this plan have taken them."""
        hashes: dict[str, str] = {}
        if self._has_same_plan():
            with suppress(CorpusError, KeyError, TypeError):  # a damaged dataset.json is made again
                about = read_description(self.output / next(iter(self.plan.datasets)))
                hashes = {file["name"]: file["sha256"] for file in about["plan"]["inputs"]}
        for path in self.receipts.rglob("*.json"):
            if receipt := read_receipt(path):
                hashes |= receipt.inputs
        return hashes

    def _has_same_plan(self) -> bool:
        return read_run(self.output).get("plan") == self.plan.fingerprint

    def confirm(self, hashes: Mapping[InputFile, str]) -> None:
        """Compare the hashes of the ``unconfirmed`` inputs; forget what was made of other bytes.

        Raises ``DamagedDatasetError`` for a shard with other bytes than its dataset says.
        """
        for file, sha256 in hashes.items():
            if file.sha256 not in ("", sha256):
                raise file.damaged()
            self._confirmed[file] = sha256 == (file.sha256 or self._hashes_before[file.name])
        if not all(self._confirmed.values()):
            for path in self.receipts.rglob("*.json"):
                path.unlink()

    def _is_as_before(self, file: InputFile) -> bool:
        return file.is_hashed or bool(file.version) or self._confirmed.get(file, False)

    def staging(self, dataset: str) -> Path:
        """Return the folder of a dataset's shards until they are published."""
        return self.folder / "shards" / dataset

    def pending(self, stage: Stage | None = None) -> list[Unit]:
        """Find the units that are not done: without receipt, or with a shard of another hash."""
        units = stage.units if stage else self.plan.units
        done = map_in_order(partial(self._is_done, stage=stage), units)
        return [unit for unit, is_done in zip(units, done, strict=True) if not is_done]

    def _is_done(self, unit: Unit, stage: Stage | None) -> bool:
        receipt = read_receipt(self.receipt_path(unit, stage))
        datasets = stage.datasets if stage else self.plan.datasets
        return (
            receipt is not None
            and (receipt.fingerprint, receipt.unit) == (self.plan.fingerprint, unit.number)
            and receipt.shards.keys() == datasets.keys()
            and all(shard.name == unit.shard_name for shard in receipt.shards.values())
            and all(self._where(name, shard) for name, shard in receipt.shards.items())
            and self._has_tables(receipt)
            and all(map(self._is_as_before, unit.inputs))
        )

    def _where(self, dataset: str, shard: Shard) -> Path | None:
        """Find a shard with the right hash, staged or already published."""
        if known := self._right.get((dataset, shard)):
            return known
        for folder in (self.staging(dataset), self.output / dataset):
            path = folder / shard.name
            if path.exists() and sha256_of(path) == shard.sha256:
                return self._right.setdefault((dataset, shard), path)
        path = self.staging(dataset) / shard.name
        if self.remote and self.work.fetch_shard(
            dataset, shard, path, is_published=dataset in self.plan.datasets
        ):
            return self._right.setdefault((dataset, shard), path)
        return None

    def receipt_path(self, unit: Unit, stage: Stage | None = None) -> Path:
        """Return the path of a unit's receipt."""
        return self.work.place_of_receipt(stage.name if stage else "", unit.number)

    def write_documents(
        self,
        unit: Unit,
        documents: Iterable[Document],
        *,
        counters: Counter[str],
        filtered: Counter[str] | None = None,
    ) -> None:
        """Write the shard of a unit, and then its completion marker; documents may count."""
        with ShardWriter(self.staging("") / unit.shard_name, SCHEMAS["documents"]) as writer:
            for document in documents:
                writer.write(document)
        assert writer.shard is not None  # noqa: S101 - there is one when it is closed
        n, left_out = writer.shard.rows, dict(filtered or {})
        receipt = Receipt(
            fingerprint=self.plan.fingerprint,
            unit=unit.number,
            shards={"": writer.shard},
            accounting=Accounting(read=n + sum(left_out.values()), written=n, filtered=left_out),
            counters=sorted_counts(counters),
            rejected=[],
        )
        write_receipt(self.receipt_path(unit), receipt)

    def is_published(self) -> bool:
        """Tell whether every file of this plan is in place with its hash."""
        if self.remote:
            return self.remote.is_published(self.plan)
        files = read_run(self.output).get("files", {})
        paths = (self.output / name for name in files)
        datasets = {(Path(name) / "dataset.json").as_posix() for name in self.plan.datasets}
        try:
            return (
                self._has_same_plan()
                and all(map(self._is_as_before, self.plan.inputs))
                and datasets <= files.keys()
                and all(map(eq, map_in_order(sha256_of, paths), files.values()))
            )
        except OSError:
            return False

    @property
    def published_fingerprint(self) -> str:
        """The fingerprint in ``run.json``."""
        return read_run(self.output)["fingerprint"]

    def published_account(self) -> tuple[Accounting, dict[str, int]]:
        """Read accounting and counters from the published files."""
        description = read_description(self.output / next(iter(self.plan.datasets)))
        path = self.output / NAMED_COUNTERS
        named = read_json(path) if path.exists() else {}
        return Accounting(**description["accounting"]), description["counters"] | named

    def _receipt(self, unit: Unit, stage: Stage | None = None) -> Receipt:
        receipt = read_receipt(self.receipt_path(unit, stage))
        if receipt is None:
            raise CorpusError(f"{self.output}: unit {unit.number} left no receipt. Run again.")
        return receipt

    @cached_property
    def _totals(self) -> Totals:
        """The sums over the receipts of all stages, their merges, and the units of the plan.

        Raises ``CorpusError`` where a receipt is missing or damaged: its counts would be lost.
        """
        totals = Totals()
        for stage in self.plan.stages:
            for unit in stage.units:
                totals.add(self._receipt(unit, stage))
            path = self.merge_receipt(stage)
            if merged := read_receipt(path):
                totals.add(merged)
            elif path.exists():
                raise CorpusError(f"{path}: damaged. Run the same command again.")
        for unit in self.plan.units:
            totals.add(self._receipt(unit), is_last=True)
        return totals

    def merge_receipt(self, stage: Stage) -> Path:
        """Return the path of the receipt of the merge after a stage."""
        return self.work.place_of_receipt(stage.name, MERGED)

    def is_merged(self, stage: Stage) -> bool:
        """Tell whether the units of a stage are merged, and the tables still have their hashes."""
        receipt = read_receipt(self.merge_receipt(stage))
        return (
            receipt is not None
            and receipt.fingerprint == self.plan.fingerprint
            and self.work.tables.exists()
            and self._has_tables(receipt)
        )

    def _has_tables(self, receipt: Receipt) -> bool:
        return all(
            is_plain(name) and _has_hash(self.work.tables / name, sha256)
            for name, sha256 in receipt.tables.items()
        )

    @cached_property
    def _description(self) -> dict[str, object]:
        """The description of the plan, with the hashes of all inputs."""
        return self.plan.describe(self._totals.inputs)

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of what is published, when all units are done: with all hashes."""
        return fingerprint_of(self._description)

    @property
    def accounting(self) -> Accounting:
        """The numbers of input records by outcome: written, filtered, rejected."""
        return self._totals.accounting

    @property
    def rejected(self) -> list[Mapping[str, str]]:
        """The rows of ``rejected.jsonl``."""
        return self._totals.rejected

    @property
    def notes(self) -> list[Mapping[str, str | int]]:
        """The rows for a side file of the pipeline, in the order of the units that made them."""
        return self._totals.notes

    @cached_property
    def counters(self) -> dict[str, int]:
        """The sums of the counters of all units, sorted by name."""
        return sorted_counts(self._totals.counters)

    @cached_property
    def reused(self) -> dict[str, int]:
        """The sums of the counts of what was taken over from earlier data, sorted by name."""
        return sorted_counts(self._totals.reused)

    def shard_paths(self, dataset: str) -> list[Path]:
        """Find the finished shards of a dataset, in order."""
        shards = self._shards(dataset)
        unchecked = [shard for shard in shards if (dataset, shard) not in self._right]
        found = map_in_order(partial(self._where, dataset), unchecked)
        for shard, path in zip(unchecked, found, strict=True):
            if path is None:
                raise CorpusError(f"{self.output / dataset / shard.name}: damaged. Run again.")
        return [self._right[dataset, shard] for shard in shards]

    def _shards(self, dataset: str) -> list[Shard]:
        return [shards[dataset] for shards in self._totals.shards]

    def check_ids(self) -> None:
        """Raise ``CorpusError`` where two shards hold the same id."""
        from corpora.datasets.repeated_ids import find_repeated

        for dataset, schema in self.plan.datasets.items():
            if found := find_repeated(self.shard_paths(dataset), SCHEMAS[schema]):
                id, path = found
                raise CorpusError(
                    f"{self.output / dataset}: the id {id!r} is met twice (again in "
                    f"{path.name}). Give each record its own, or leave one out."
                )

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a side file, which appears beside the datasets."""
        write_text(self.side / name, lines)

    def publish(self, write_side_files: Callable[["Build", object], None] | None = None) -> None:
        """Move shards and side files into place; the module docstring describes the order."""
        if not self.accounting.adds_up:
            raise CorpusError(f"{self.output}: the accounting does not add up: {self.accounting}.")
        shutil.rmtree(self.side, ignore_errors=True)
        self.side.mkdir()
        if write_side_files is not None:
            write_side_files(self, self.plan.settings)
        if named := {name: n for name, n in self.counters.items() if "/" in name}:
            write_json(self.side / NAMED_COUNTERS, named)
        for path in self.side.iterdir():
            sync_file(path)
        shards = {dataset: self.shard_paths(dataset) for dataset in self.plan.datasets}
        self._write_journal()
        try:
            self._exchange(shards)
        except OSError as error:
            raise CorpusError(
                f"{error.filename or self.output}: {error.strerror or error}. The data in "
                f"{self.output} is not complete; fix it, and the same command resumes."
            ) from error
        if self.remote:
            self.remote.publish(self.output)
        self.tidy()

    def _write_journal(self) -> None:
        """Note every file that will be removed or put in place, before the first is touched."""
        journal = self.output / BUILD / JOURNAL
        coming = {path.name for path in self.side.iterdir()} | self._shard_names() | {"run.json"}
        for dataset in self.plan.datasets:
            coming |= {(Path(dataset) / name).as_posix() for name in _OF_DATASET}
        self._check_foreign(sorted(coming))
        write_json(journal, sorted(coming | names_of_runs(self.output, journal)))
        sync_folder(self.output / BUILD)

    def _shard_names(self) -> set[str]:
        """Return the names of the published shards, relative to the output."""
        return {
            (Path(dataset) / shard.name).as_posix()
            for dataset in self.plan.datasets
            for shard in self._shards(dataset)
        }

    def _exchange(self, shards: Mapping[str, Sequence[Path]]) -> None:
        """Remove the old data, ``run.json`` first, and move the new data into its place."""
        names = {*read_journal(self.output / BUILD / JOURNAL)} - self._shard_names()
        old = [inside(self.output, name) for name in sorted(names)]
        _remove([self.output / "run.json"])
        _remove([path for path in old if path.name == "dataset.json"])
        _remove(old)
        files: dict[str, str] = {}
        for dataset, paths in shards.items():
            files |= self._publish_dataset(dataset, paths)
        for path in sorted(self.side.iterdir()):
            path.rename(self.output / path.name)
            files[path.name] = sha256_of(self.output / path.name)
        sync_folder(self.output)
        run: RunRecord = {
            "pipeline": self.plan.pipeline,
            "fingerprint": self.fingerprint,
            "plan": self.plan.fingerprint,
        }
        if self.reused:
            run["reused"] = self.reused
        write_json(self.output / "run.json", sealed({**run, "files": files}))
        sync_folder(self.output)

    def _publish_dataset(self, dataset: str, paths: Sequence[Path]) -> dict[str, str]:
        folder = self.output / dataset
        folder.mkdir(exist_ok=True)
        for path in paths:
            if path.parent != folder:
                path.rename(folder / path.name)
        write_text(
            folder / "rejected.jsonl",
            (json.dumps(row, ensure_ascii=False) + "\n" for row in self.rejected),
        )
        sync_folder(folder)
        write_json(folder / "dataset.json", self._describe(dataset))
        sync_folder(folder)
        prefix = f"{dataset}/" if dataset else ""
        files = {f"{prefix}{shard.name}": shard.sha256 for shard in self._shards(dataset)}
        for name in _OF_DATASET:
            files[f"{prefix}{name}"] = sha256_of(folder / name)
        return files

    def _describe(self, dataset: str) -> Description:
        schema = SCHEMAS[self.plan.datasets[dataset]]
        return {
            "schema": schema.name,
            "version": schema.version,
            "plan": {"fingerprint": self.fingerprint, **self._description},
            "shards": [shard.to_json() for shard in self._shards(dataset)],
            "accounting": self.accounting.to_json(),
            "counters": {name: n for name, n in self.counters.items() if "/" not in name},
        }

    def tidy(self) -> None:
        """Keep only the receipts of what is published now, and the log if it has errors."""
        if self.remote:
            self.remote.tidy(self.plan.fingerprint)
            return
        for name in ("shards", "side", "tables", "carried"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        if INTERNAL_ERROR not in self.published_account()[0].rejected:
            (self.folder / "workers.log").unlink(missing_ok=True)
        for other in [*self._builds(), self.output / BUILD / PIECES]:
            if other != self.folder:
                shutil.rmtree(other, ignore_errors=True)
        write_json(self.output / BUILD / JOURNAL, sorted(published_files(self.output)))


@contextmanager
def hold(
    output: Path, plan: Plan | Callable[[], Plan], *, remote: "BucketOutput | None" = None
) -> Iterator[Build]:
    """Hold an output folder for a run; raises ``FolderInUseError`` where another run does.

    Raises ``UsageError`` where the run would replace what it reads. If ``plan`` is a function, it
    is called when the folder is held, and may write there. A folder that did not exist is removed
    again if no plan can be made for it.
    """

    def busy(holder: str) -> str:
        return (
            f"{output}: another run (process {holder}) works here. "
            "Wait for it, or choose another --output."
        )

    is_new = not output.exists()
    with locked(output / LOCK, busy=busy):
        try:
            refuse_links(output / BUILD)
            build = Build(output, plan() if callable(plan) else plan, remote=remote)
            build.check_inputs()
            build.prepare()
        except BaseException:
            if is_new and [path.name for path in output.iterdir()] == [LOCK]:
                (output / LOCK).unlink()
                output.rmdir()
            raise
        yield build


def _remove(paths: Sequence[Path]) -> None:
    """Remove files, and sync their folders, so that no file comes back after a power cut."""
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths}:
        if folder.is_dir():
            sync_folder(folder)


def _remove_leftovers(paths: Iterable[Path]) -> None:
    for path in list(paths):
        take_away(path)


def _has_hash(path: Path, sha256: str) -> bool:
    try:
        return sha256_of(path) == sha256
    except OSError:  # there is no such file, or it cannot be read
        return False
