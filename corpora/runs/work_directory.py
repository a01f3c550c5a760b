"""The work directory of a run, ``OUTPUT/.build/FINGERPRINT``, with what earlier stages made.

If the output is in a bucket, the address of the work directory is
``s3://BUCKET/OUTPUT/.build/FINGERPRINT#NAME``, and each machine has its own copy of it below
``~/.cache/onoma/runs/NAME``: a unit writes its shards to the copy, uploads them, and then uploads
its receipt. A machine downloads what it lacks.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from corpora.datasets.shards import Shard
from corpora.errors import CorpusError, DamagedDatasetError
from corpora.runs.plan import shard_name
from corpora.runs.receipts import read_receipt
from corpora.system.buckets import N_TRANSFERS, Bucket, is_url
from corpora.system.files import check_plain, is_plain, sha256_of
from corpora.system.parsing import parse_json, read_json
from corpora.system.threads import map_in_order

COUNTS = "shards.json"
"""The file with the stage that makes each intermediate dataset, and the number of its shards."""
MERGED = -1
"""The number, instead of an index, of the unit that merges the other units of a stage."""
_tables: dict[tuple[str, str], str] = {}  # (folder, list of tables) to the etag of the list


class WorkDirectory:
    """The files that a run needs until it is published: shards and tables of stages, receipts."""

    def __init__(self, folder: Path | str) -> None:
        self.address, self.folder = str(folder), Path(folder)
        self.bucket: Bucket | None = None
        """The folder of this run in a bucket; None if the output is on this machine."""
        if is_url(folder):
            from corpora.system.staging import cache_folder

            url, _, name = str(folder).rpartition("#")
            self.bucket = Bucket(url)
            self._output = Bucket(url.rpartition("/.build/")[0])
            self.folder = mirror_of(cache_folder(), name) / ".build" / url.rpartition("/")[2]

    def __reduce__(self) -> tuple[type["WorkDirectory"], tuple[str]]:
        """Travel to other machines as the address."""
        return WorkDirectory, (self.address,)

    @property
    def tables(self) -> Path:
        """The folder for tables that are merged between stages, downloaded if necessary."""
        if self.bucket:
            self._fetch_tables(self.bucket)
            (self.folder / "tables").mkdir(parents=True, exist_ok=True)
        return self.folder / "tables"

    def hashes_of_tables(self) -> dict[str, str]:
        """Hash all files in the folder of tables: relative path to SHA-256."""
        folder = self.folder / "tables"
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        named = ((path.relative_to(folder).as_posix(), path) for path in files)
        return {name: sha256_of(path) for name, path in named if is_plain(name)}

    @property
    def carried(self) -> Path:
        """The folder for files from elsewhere that the run needs until it is done."""
        return self.folder / "carried"

    def place(self, dataset: str, number: int) -> Path:
        """Return the path to which a unit writes its shard."""
        return self.folder / "shards" / dataset / shard_name(number)

    def shard(self, dataset: str, number: int) -> Path:
        """Return the shard of a unit of an earlier stage, downloaded if necessary."""
        path = self.place(dataset, number)
        if self.bucket and not path.exists():
            stage, _ = self._planned[dataset]
            made = self.receipt(stage, number)
            receipt = read_receipt(made)  # it has the hash, which is in the name of the object
            if receipt is None:
                raise DamagedDatasetError(
                    f"{made}: damaged. Delete it; run the same command again."
                )
            shard = receipt.shards[dataset]
            fetch(self.bucket, staged_name(dataset, shard), path, sha256=shard.sha256)
        return path

    def make_room(self, datasets: Iterable[str], stage: str) -> None:
        """Make the folders that a unit writes to, if the output is in a bucket."""
        if self.bucket:
            for dataset in datasets:
                (self.folder / "shards" / dataset).mkdir(parents=True, exist_ok=True)
            (self.folder / "receipts" / stage).mkdir(parents=True, exist_ok=True)

    def place_of_receipt(self, stage: str, number: int) -> Path:
        """Return the path to which a unit writes its receipt."""
        name = "merged" if number == MERGED else f"{number:05d}"
        return self.folder / "receipts" / stage / f"{name}.json"

    def receipt(self, stage: str, number: int) -> Path:
        """Return the receipt of a unit of an earlier stage, downloaded if necessary."""
        path = self.place_of_receipt(stage, number)
        if self.bucket and not path.exists():
            fetch(self.bucket, path.relative_to(self.folder).as_posix(), path)
        return path

    def shards(self, dataset: str) -> list[Path]:
        """Return all shards of an intermediate dataset, in order.

        The plan gives their number: a listing of a network file system may lack the newest.
        """
        if dataset not in self._planned:
            return self._listed(dataset)
        numbers, n_threads = range(self.count(dataset)), N_TRANSFERS if self.bucket else 1
        return list(map_in_order(lambda n: self.shard(dataset, n), numbers, n_threads=n_threads))

    def count(self, dataset: str) -> int:
        """Count the shards of an intermediate dataset."""
        if dataset in self._planned:
            return self._planned[dataset][1]
        return len(self._listed(dataset))

    def _listed(self, dataset: str) -> list[Path]:
        paths = (self.folder / "shards" / dataset).glob("shard-*.arrow")
        return sorted(paths, key=lambda path: (len(path.name), path.name))  # in numeric order

    @cached_property
    def _planned(self) -> dict[str, tuple[str, int]]:
        """Stage and number of shards of each intermediate dataset; empty if no run was planned."""
        path = self.folder / COUNTS
        if self.bucket and not path.exists():
            fetch(self.bucket, COUNTS, path)
        try:
            return {name: (stage, n) for name, (stage, n) in read_json(path).items()}
        except FileNotFoundError:
            return {}

    def fetch_shard(self, dataset: str, shard: Shard, path: Path, *, is_published: bool) -> bool:
        """Download a shard that a receipt lists; return whether it exists with the right bytes."""
        if self.bucket is None:
            return False
        bucket, name = self.bucket, staged_name(dataset, shard)
        if is_published:
            bucket, name = self._output, published_name(dataset, shard)
        try:
            if bucket.download(name, path) == shard.sha256:
                return True
            path.unlink()
        except FileNotFoundError:
            pass
        return False

    def send(self, stage: str, shards: Mapping[str, Shard], tables: Mapping[str, str]) -> None:
        """Upload the shards and tables of a unit, under names that contain their hashes."""
        if self.bucket is None:
            return
        for dataset, shard in shards.items():
            path = self.folder / "shards" / dataset / shard.name
            if stage:
                self.bucket.put(staged_name(dataset, shard), path)
            else:
                self._output.put(published_name(dataset, shard), path)
        for name, sha256 in tables.items():
            self.bucket.put(f"tables/{sha256}", self.folder / "tables" / name)
        if tables:
            self.bucket.put(f"tables/{stage}.json", json.dumps(dict(tables)).encode())

    def send_receipt(self, path: Path) -> None:
        """Upload a receipt; everything that it lists must be uploaded before."""
        if self.bucket:
            self.bucket.put(path.relative_to(self.folder).as_posix(), path)

    def _fetch_tables(self, bucket: Bucket) -> None:
        """Download the merged tables that this machine lacks or has with other bytes."""
        for found in bucket.list("tables/"):
            known = (str(self.folder), found.name)
            if not found.name.endswith(".json") or _tables.get(known) == found.etag:
                continue
            content = bucket.read(found.name)
            tables = parse_json(content.data.decode()) if content else {}
            for name, sha256 in tables.items():
                path = self.folder / "tables" / check_plain(name, where=Path(bucket.url))
                if not path.is_file() or sha256_of(path) != sha256:
                    fetch(bucket, f"tables/{sha256}", path, sha256=sha256)
            _tables[known] = found.etag


def mirror_of(cache: Path, name: str) -> Path:
    """Return the folder in which a machine keeps its copy of an output in a bucket."""
    return cache / "runs" / name


def staged_name(dataset: str, shard: Shard) -> str:
    """Return the name of an intermediate shard in the bucket folder of a run."""
    return f"shards/{dataset}/{shard.name.removesuffix('.arrow')}-{shard.sha256}.arrow"


def published_name(dataset: str, shard: Shard) -> str:
    """Return the name of a published shard in a bucket, which contains the hash."""
    name = f"{shard.name.removesuffix('.arrow')}-{shard.sha256[:16]}.arrow"
    return f"{dataset}/{name}" if dataset else name


def fetch(bucket: Bucket, name: str, path: Path, *, sha256: str = "") -> None:
    """Download an object of a run; raises ``DamagedDatasetError`` where its hash is another.

    Raises ``CorpusError`` where it is missing.
    """
    try:
        found = bucket.download(name, path)
    except FileNotFoundError as error:
        raise CorpusError(
            f"{bucket.url_of(name)}: is missing; another run may have published meanwhile. Run the "
            "same command again."
        ) from error
    if sha256 and found != sha256:
        path.unlink()
        raise DamagedDatasetError(
            f"{bucket.url_of(name)}: damaged (other bytes than were written). Delete it, and run "
            "the same command again."
        )
