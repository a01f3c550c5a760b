"""Where units find what earlier stages of a run made: ``OUTPUT/.build/FINGERPRINT``."""

import json
from pathlib import Path

from corpora.datasets.shards import sha256_of
from corpora.runs.plan import shard_name
from corpora.system.files import is_plain

COUNTS = "shards.json"  # how many shards each intermediate dataset will have


class WorkDirectory:
    """What a run keeps until it is published: shards and tables of its stages, receipts."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    @property
    def tables(self) -> Path:
        """Folder for what is merged between stages."""
        return self.folder / "tables"

    def hashes_of_tables(self) -> dict[str, str]:
        """Path in the folder of tables to SHA-256, of all files there."""
        files = (path for path in sorted(self.tables.rglob("*")) if path.is_file())
        named = ((path.relative_to(self.tables).as_posix(), path) for path in files)
        return {name: sha256_of(path) for name, path in named if is_plain(name)}

    @property
    def carried(self) -> Path:
        """Folder for files from elsewhere that the run needs until it is done."""
        return self.folder / "carried"

    def shard(self, dataset: str, number: int) -> Path:
        """The shard that a unit of an earlier stage made."""
        return self.folder / "shards" / dataset / shard_name(number)

    def receipt(self, stage: str, number: int) -> Path:
        """The receipt of a unit of an earlier stage."""
        return self.folder / "receipts" / stage / f"{number:05d}.json"

    def shards(self, dataset: str) -> list[Path]:
        """All shards of an intermediate dataset, in order.

        The plan says which they are: a listing of a network file system may lack the newest.
        """
        counts = _read_counts(self.folder)
        if dataset in counts:
            return [self.shard(dataset, number) for number in range(counts[dataset])]
        found = (self.folder / "shards" / dataset).glob("shard-*.arrow")
        return sorted(found, key=lambda path: (len(path.name), path.name))  # of any number


def _read_counts(folder: Path) -> dict[str, int]:
    try:
        return dict(json.loads((folder / COUNTS).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
