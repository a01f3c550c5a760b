"""An output in a bucket, where a run publishes without a lock.

A run works in a copy on this machine (``~/.cache/onoma/runs``), and each finished unit uploads its
shards and its receipt. Names of shards contain their hashes, so no shard in force is ever
overwritten. The commit is one conditional write of ``.build/published.json``, which has the content
of the new ``run.json``: it succeeds only if the object is as it was when the run began; otherwise
another run has published meanwhile. The commit lists the files that are written next
(``dataset.json`` and side files, ``run.json`` last; up to ``_LARGE`` bytes by conditional writes),
so that the next run can finish what a killed run has left undone.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path, PurePosixPath
from uuid import uuid4

from corpora.datasets.shards import Description, Shard, read_description
from corpora.errors import CorpusError, FolderInUseError
from corpora.runs.build import BUILD, JOURNAL, NAMED_COUNTERS, Build
from corpora.runs.journal import RunRecord, has_files, hash_of, is_whole, read_run
from corpora.runs.plan import Plan
from corpora.runs.work_directory import mirror_of, published_name
from corpora.system.buckets import N_TRANSFERS, Bucket, ListedObject, transfer
from corpora.system.files import is_plain, locked, sha256_of, take_away
from corpora.system.parsing import parse_json
from corpora.system.staging import cache_folder, hold_copy
from corpora.system.threads import map_in_order

GRACE = timedelta(days=1)
"""How long unused objects are kept: another process may be reading them, or about to use them."""
PUBLISHED = f"{BUILD}/{JOURNAL}"
_LARGE = 1 << 30  # bytes; larger files are uploaded in parts, and not by conditional writes


class BucketOutput:
    """An output in a bucket, and its copy on this machine, as ``open_output`` yields it."""

    def __init__(self, url: str, mirror: Path) -> None:
        self.bucket, self.mirror = Bucket(url), mirror
        self._writer = uuid4().hex
        self._seen = ""  # etag of the commit when the run began
        self._committed: RunRecord = {}
        self._etags: dict[str, str] = {}

    def address_of(self, fingerprint: str) -> str:
        """Return the address that workers open as the work directory of a plan."""
        return f"{self.bucket.url_of(self._folder_of(fingerprint))}#{self.mirror.name}"

    def _folder_of(self, fingerprint: object) -> str:
        return f"{BUILD}/{str(fingerprint)[:16]}"

    def holds(self, url: str) -> bool:
        """Tell whether an object is one of the published files of this output."""
        return url.removeprefix(f"{self.bucket.url}/") in self._committed.get("files", {})

    def look(self) -> None:
        """Read what is published, and finish what a killed run began to publish."""
        self._see()
        if self._committed and self._run_there() != self._committed and self._can_finish():
            self._finish()
            self._see()

    def _see(self) -> None:
        self._etags = {found.name: found.etag for found in self.bucket.list()}
        content = self.bucket.read(PUBLISHED)
        self._seen = content.etag if content else ""
        self._committed = _parse(content.data) if content else self._run_there()

    def _run_there(self) -> RunRecord:
        content = self.bucket.read("run.json")
        return _parse(content.data) if content else {}

    def _can_finish(self) -> bool:
        folder = self._folder_of(self._committed["plan"])
        files = self._committed["files"].items()
        return all(
            (name if is_shard(name) else f"{folder}/files/{sha256}") in self._etags
            for name, sha256 in files
        )

    def begin(self, build: Build) -> None:
        """Upload the plan, and download existing receipts.

        Raises ``CorpusError`` where a file of the output was not made by a run.
        """
        for dataset in build.plan.datasets:
            self._check_foreign([(PurePosixPath(dataset) / "dataset.json").as_posix(), "run.json"])
        folder = self._folder_of(build.plan.fingerprint)
        for name in ("plan.json", "shards.json"):
            self.bucket.put(f"{folder}/{name}", build.folder / name)
        self.bring_receipts(build)

    def bring_receipts(self, build: Build) -> None:
        """Synchronize the local receipts with the bucket, which decides what is done."""
        there = self.bucket / self._folder_of(build.plan.fingerprint)
        names = {found.name for found in there.list("receipts/")}
        for path in build.receipts.rglob("*.json"):
            if path.relative_to(build.folder).as_posix() not in names:
                path.unlink()
        missing = [name for name in names if not (build.folder / name).exists()]
        transfer(lambda name: there.download(name, build.folder / name), sorted(missing))

    def is_published(self, plan: Plan) -> bool:
        """Tell whether every file of a plan is published with its hash.

        If so, download the files that describe the data.
        """
        run = self._committed
        files: dict[str, str] = run.get("files", {})
        if run.get("plan") != plan.fingerprint or self._run_there() != run:
            return False
        try:
            hashes = list(map_in_order(self.bucket.sha256, files, n_threads=N_TRANSFERS))
            if hashes != list(files.values()):
                return False
            for name in files:
                if name.endswith("dataset.json") or name == NAMED_COUNTERS:
                    self.bucket.download(name, self.mirror / name)
        except FileNotFoundError:
            return False
        (self.mirror / "run.json").write_bytes(_bytes(run))
        return True

    def publish(self, folder: Path) -> None:
        """Publish in the bucket what was published in a folder of this machine.

        Raises ``CorpusError`` where another run has published since this one began.
        """
        run = read_run(folder)
        files = dict(_files_of(folder, run))
        self._check_foreign(name for name in files if not is_shard(name))
        under = f"{self._folder_of(run['plan'])}/files"
        there = {found.name: found.size for found in self.bucket.list()}
        hashes: dict[str, str] = {}
        for name, content in files.items():
            hashes[name] = (
                sha256_of(content)
                if isinstance(content, Path)
                else hashlib.sha256(content).hexdigest()
            )
            target = name if is_shard(name) else f"{under}/{hashes[name]}"
            if there.get(target) != _size(content):
                self.bucket.put(target, content)
        run = {**run, "files": hashes}
        run["sha256"] = hash_of(run)
        if not self.bucket.replace(PUBLISHED, _bytes(run), seen=self._seen, writer=self._writer):
            raise self._lost()
        old, self._committed = self._committed, run
        self._finish()
        gone = old.get("files", {}).keys() - hashes.keys()
        self.bucket.delete(sorted(name for name in gone if is_plain(name) and not is_shard(name)))

    def _lost(self) -> CorpusError:
        return CorpusError(
            f"{self.bucket.url}: another run has published here since this one began. What is "
            "there is whole, and stays; to replace it, run the same command again, or choose "
            "another --output."
        )

    def _check_foreign(self, names: Iterable[str]) -> None:
        ours = {*self._committed.get("files", {}), "run.json"} if self._committed else set()
        for name in names:
            if name in self._etags and name not in ours:
                raise CorpusError(
                    f"{self.bucket.url_of(name)}: was not made by a run. Move it away, or choose "
                    "another --output."
                )

    def _finish(self) -> None:
        """Carry out the commit: publish each file under its name, ``run.json`` last."""
        run = self._committed
        under = f"{self._folder_of(run['plan'])}/files"
        names = [name for name in run["files"] if not is_shard(name)]
        for name in sorted(names, key=lambda name: (name.endswith("dataset.json"), name)):
            self._put_in_force(name, f"{under}/{run['files'][name]}")
        self._replace("run.json", _bytes(run))

    def _put_in_force(self, name: str, source: str) -> None:
        path = self.mirror / BUILD / f"file-{self._writer}"
        try:
            self.bucket.download(source, path)
        except FileNotFoundError:
            raise self._lost() from None
        try:
            if path.stat().st_size > _LARGE:
                self.bucket.put(name, path)
            else:
                self._replace(name, path.read_bytes())
        finally:
            path.unlink(missing_ok=True)

    def _replace(self, name: str, data: bytes) -> None:
        """Write a file unless another commit has replaced this one."""
        seen = self._etags.get(name, "")
        while not self.bucket.replace(name, data, seen=seen, writer=self._writer):
            there, commit = self.bucket.read(name), self.bucket.read(PUBLISHED)
            if there is not None and there.data == data:
                return  # another process wrote the same bytes
            if commit is None or _parse(commit.data) != self._committed:
                raise self._lost()
            seen = there.etag if there else ""

    def tidy(self, fingerprint: str) -> None:
        """Remove objects that nobody needs: this plan's at once, all others after a day."""
        own, found = f"{self._folder_of(fingerprint)}/", self.bucket.list()
        files = self._committed.get("files", {})
        before = datetime.now(UTC) - GRACE
        others: dict[str, list[ListedObject]] = {}
        gone = []
        for each in found:
            if each.name.startswith(own):
                if not each.name.startswith(f"{own}receipts/"):
                    gone.append(each.name)
            elif each.name.startswith(f"{BUILD}/") and each.name != PUBLISHED:
                others.setdefault(each.name.split("/")[1], []).append(each)
        for objects in others.values():
            if max(each.changed for each in objects) < before:
                gone += [each.name for each in objects]
        if all(max(each.changed for each in objects) < before for objects in others.values()):
            gone += [
                each.name
                for each in found
                if is_shard(each.name) and each.name not in files and each.changed < before
            ]
        self.bucket.delete(gone)


@contextmanager
def open_output(url: str) -> Iterator[BucketOutput]:
    """Open an output in a bucket; its copy on this machine is removed at the end, if all goes well.

    A lock on this machine only keeps copies apart: it decides nothing about what is published.
    """
    with ExitStack() as stack:
        mirror = _take_mirror(hashlib.sha256(url.encode()).hexdigest()[:16], stack)
        output = BucketOutput(url, mirror)
        output.look()
        yield output
        take_away(mirror)


def _take_mirror(name: str, stack: ExitStack) -> Path:
    """Take the first copy in which no other process of this machine works."""
    numbers = count()
    while True:
        number = next(numbers)
        mirror = mirror_of(cache_folder(), f"{name}-{number}" if number else name)
        with suppress(FolderInUseError):
            stack.enter_context(locked(mirror.with_name(f".{mirror.name}.lock"), busy=str))
            (mirror / BUILD).mkdir(parents=True, exist_ok=True)
            os.utime(mirror)
            hold_copy(mirror)
            return mirror


def is_shard(name: str) -> bool:
    """Tell whether a published file is a shard, whose name contains its hash."""
    last = PurePosixPath(name).name
    return last.startswith("shard-") and last.endswith(".arrow")


def _files_of(folder: Path, run: RunRecord) -> Iterator[tuple[str, Path | bytes]]:
    """Yield each file of a run with its name and content in the bucket."""
    for name in run["files"]:
        path, dataset = folder / name, str(PurePosixPath(name).parent).removeprefix(".")
        if PurePosixPath(name).name == "dataset.json":
            description = read_description(path.parent)
            shards = [Shard(**shard) for shard in description["shards"]]
            for shard, row in zip(shards, description["shards"], strict=True):
                row["name"] = PurePosixPath(published_name(dataset, shard)).name
                yield f"{dataset}/{row['name']}".lstrip("/"), path.parent / shard.name
            yield name, _bytes(description)
        elif not is_shard(name):
            yield name, path


def _bytes(value: RunRecord | Description) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _size(content: Path | bytes) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)


def _parse(data: bytes) -> RunRecord:
    """Parse a ``run.json``; return an empty record where it is damaged, or not of a run."""
    try:
        run: RunRecord = parse_json(data.decode())
    except ValueError:
        return {}
    if not has_files(run) or "pipeline" not in run:
        return {}
    return run if is_whole(run) and all(map(is_plain, run["files"])) else {}
