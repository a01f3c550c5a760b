"""Local copies of files in buckets, in ``~/.cache/onoma`` or the folder that ``ONOMA_CACHE`` names.

A copy is stored under a hash of its address, etag and size, so that each state of an object is
downloaded once. Copies that were not used for a week are removed, but no folder that a process
still holds: a training may take longer.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath

from corpora.errors import CorpusError, DamagedDatasetError, InputChangedError, UsageError
from corpora.system.buckets import Bucket, ListedObject, etag_of, transfer
from corpora.system.copies import copied, with_addresses
from corpora.system.files import check_plain, home
from corpora.system.parsing import parse_json
from corpora.system.writing import temporary_path

CACHE = "ONOMA_CACHE"
_A_WEEK = 7 * 24 * 3600
_MAGIC = "*?["
_held: set[Path] = set()
"""Folders of the cache that this process uses until it ends."""
_urls: dict[str, str] = {}
_found: dict[str, tuple[Bucket, ListedObject]] = {}


def cache_folder() -> Path:
    """Return the folder for copies from buckets; make it if necessary, and remove old copies."""
    above = os.environ.get("XDG_CACHE_HOME") or home() / ".cache"
    return _cleared(Path(os.environ.get(CACHE) or Path(above) / "onoma").absolute())


@cache
def _cleared(folder: Path) -> Path:
    for kind in ("files", "folders", "runs"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for path in (folder / kind).iterdir():
            with suppress(OSError):  # another process removes it, too
                if time.time() - path.stat().st_mtime > _A_WEEK and not _is_held(path):
                    shutil.rmtree(path)
    return folder


def hold_copy(folder: Path) -> None:
    """Keep a folder of the cache from being removed while this process runs.

    The lock is a byte of one file: a descriptor for each folder could be too many.
    """
    _held.add(folder)
    with suppress(OSError):  # a file system without locks
        fcntl.lockf(_locks(folder.parents[1]), fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _byte_of(folder))


def _is_held(folder: Path) -> bool:
    """Tell whether this process, or another, holds a folder."""
    if folder in _held:
        return True
    locks, byte = _locks(folder.parents[1]), _byte_of(folder)
    try:
        fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError as error:
        return error.errno in {errno.EAGAIN, errno.EACCES}
    fcntl.lockf(locks, fcntl.LOCK_UN, 1, byte)
    return False


@cache
def _locks(folder: Path) -> int:
    """Open the file of locks; it stays open, for closing it would drop all locks on it."""
    return os.open(folder / ".held", os.O_RDWR | os.O_CREAT, 0o666)


def _byte_of(folder: Path) -> int:
    return int(hashlib.sha256(folder.name.encode()).hexdigest()[:15], 16)


def _note(path: Path, url: str) -> None:
    """Remember what a copy was made of."""
    _urls[str(path)] = url
    copied[path.parent.name] = str(path.parent), url.rpartition("/")[0]


def beside(path: Path, *, option: str = "output") -> Path:
    """Return a place beside what is read; raises ``UsageError`` where that is a copy."""
    if (url := with_addresses(str(path))) != str(path):
        raise UsageError(
            f"{url}: would be written into a bucket. Name a place on this machine: --{option}."
        )
    return path


def url_of(path: str | Path) -> str:
    """Return the address that this process copied a file from; empty for other files."""
    return _urls.get(str(path), "")


def find(pattern: str, *, suffix: str | tuple[str, ...] = "") -> tuple[dict[str, Path], str]:
    """Find what a pattern in a bucket matches: address to path, and the folder that they share.

    Nothing is downloaded yet: ``ensure`` does that. In a folder, all files are taken that end in
    ``suffix``, except hidden ones.
    """
    fixed = pattern.rstrip("/")
    while any(character in fixed for character in _MAGIC):
        fixed = fixed.rpartition("/")[0]
    if fixed != pattern.rstrip("/"):
        bucket = Bucket(fixed)
        matching = [f for f in bucket.list() if _fits(bucket.url_of(f.name), pattern)]
        return _place_all(bucket, matching), bucket.url
    if one := _find_one(fixed):
        return _place_all(*one), one[0].url
    bucket = Bucket(fixed)
    inside = [
        f for f in bucket.list() if not _is_hidden(f.name) and f.name.lower().endswith(suffix)
    ]
    return _place_all(bucket, inside), bucket.url


def ensure(path: Path) -> Path:
    """Download a file from ``find``, if that was not done yet; return its path."""
    if str(path) in _found:
        _bring(*_found[str(path)])
    return path


def listed(path: Path) -> tuple[str, ListedObject] | None:
    """Return the address, and the entry in the listing, of a path from ``find``; else None."""
    if (found := _found.get(str(path))) is None:
        return None
    return found[0].url_of(found[1].name), found[1]


def stage(url: str) -> Path:
    """Copy a file, or a folder with its published files, to this machine; return the path.

    Raises ``CorpusError`` where there is nothing, or an object changes while it is read.
    """
    bucket = Bucket(url)
    if one := _find_one(bucket.url):
        return ensure(next(iter(_place_all(*one).values())))
    there = [found for found in bucket.list() if not _is_hidden(found.name)]
    if not there:
        raise CorpusError(
            f"{bucket.url}: there is no such object, nor a folder. Check the address."
        )
    paths = _place_all(bucket, _in_force(bucket, there))
    if not paths:
        raise CorpusError(f"{bucket.url}: nothing is published there yet. Run the pipeline again.")
    transfer(ensure, paths.values())
    named = {url.removeprefix(f"{bucket.url}/"): path for url, path in paths.items()}
    return _assemble(bucket.url, named)


def _find_one(url: str) -> tuple[Bucket, list[ListedObject]] | None:
    """Find the object with exactly this address, and the folder it lies in.

    Nothing is listed: beside it, there may be millions of objects.
    """
    folder, _, name = url.rpartition("/")
    if folder.endswith(":/"):  # the bucket itself
        return None
    found = Bucket(folder).find(name)
    return (Bucket(folder), [found]) if found else None


def _fits(url: str, pattern: str) -> bool:
    """Tell whether an address matches a pattern, in which only ``**`` crosses folders."""
    parts, wanted = url.split("/"), pattern.split("/")

    def fits(i: int, j: int) -> bool:
        if j == len(wanted):
            return i == len(parts)
        if wanted[j] == "**":
            return any(fits(k, j + 1) for k in range(i, len(parts) + 1))
        hidden = i < len(parts) and parts[i].startswith(".") and not wanted[j].startswith(".")
        return (
            i < len(parts)
            and not hidden
            and fnmatchcase(parts[i], wanted[j])
            and fits(i + 1, j + 1)
        )

    return fits(0, 0)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(name).parts)


def _in_force(bucket: Bucket, there: Sequence[ListedObject]) -> list[ListedObject]:
    """Drop the shards that no ``dataset.json`` lists: they are from earlier runs."""
    shards: set[str] = set()
    for found in there:
        path = PurePosixPath(found.name)
        if path.name == "dataset.json":
            shards |= {str(path.parent / name) for name in read_shards(bucket, found.name)}
    of_runs = {f.name for f in there if PurePosixPath(f.name).match("shard-*.arrow")}
    return [f for f in there if f.name not in of_runs - shards]


def read_shards(bucket: Bucket, name: str) -> Mapping[str, str]:
    """Read the shards that a ``dataset.json`` lists: name to hash."""
    content = bucket.read(name)
    where = bucket.url_of(name)
    try:
        shards = parse_json(content.data.decode())["shards"] if content else []
        return {check_plain(s["name"], where=Path(where)): str(s["sha256"]) for s in shards}
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedDatasetError(f"{where}: damaged ({error}). Run the pipeline again.") from error


def _place_all(bucket: Bucket, found: Sequence[ListedObject]) -> dict[str, Path]:
    """Choose the local paths of objects: address to path."""
    paths = {}
    for each in found:
        url = bucket.url_of(each.name)
        check_plain(each.name, where=Path(bucket.url))
        path = _path_of(url, each.etag, each.size)
        _found[str(path)] = bucket, each
        _note(path, url)
        paths[url] = path
    return paths


def _bring(bucket: Bucket, found: ListedObject) -> None:
    [(url, path)] = _place_all(bucket, [found]).items()
    if not path.exists():
        bucket.download(found.name, path, changed=found.changed)
    if path.stat().st_size != found.size:
        path.unlink()
        raise CorpusError(f"{url}: has changed while it was read. Run the same command again.")
    os.utime(path.parent)


def bring(url: str, *, sha256: str) -> Path:
    """Copy an object with a known hash to this machine; raises ``FileNotFoundError``.

    Raises ``DamagedDatasetError`` where its bytes have another hash.
    """
    folder, _, name = url.rpartition("/")
    path = cache_folder() / "files" / sha256[:32] / name
    _note(path, url)
    if path.exists():
        os.utime(path.parent)
    elif Bucket(folder).download(name, path) != sha256:
        path.unlink()
        raise DamagedDatasetError(f"{url}: has other bytes than were planned with. Run again.")
    return path


def bring_version(url: str, *, version: str, size: int) -> Path:
    """Copy an object as a listing had it to this machine; raises ``FileNotFoundError``.

    Raises ``InputChangedError`` where it has changed since.
    """
    folder, _, name = url.rpartition("/")
    path = _path_of(url, version, size)
    _note(path, url)
    if not path.exists():
        bucket, etag = Bucket(folder), etag_of(version)
        found = bucket.find(name)
        if found and (etag_of(found.etag), found.size) == (etag, size):
            bucket.download(name, path, changed=found.changed)
            found = bucket.find(name)
        if found is None or (etag_of(found.etag), found.size) != (etag, size):
            path.unlink(missing_ok=True)
            raise InputChangedError(
                f"{url}: has changed since the run began. Run again: a new plan is made."
            )
    os.utime(path.parent)
    return path


def _path_of(url: str, version: str, size: int) -> Path:
    key = hashlib.sha256(f"{url}\0{version}\0{size}".encode()).hexdigest()
    return cache_folder() / "files" / key[:32] / PurePosixPath(url).name


def _assemble(url: str, paths: Mapping[str, Path]) -> Path:
    """Make a folder of copied files, by hard links."""
    key = hashlib.sha256("\0".join([url, *map(str, paths.values())]).encode()).hexdigest()
    target = cache_folder() / "folders" / key[:32] / PurePosixPath(url).name
    if not target.exists():
        temporary = temporary_path(target.parent)
        for name, path in paths.items():
            file = temporary / target.name / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.hardlink_to(path)
        with suppress(OSError):  # another process was faster
            temporary.rename(target.parent)
        shutil.rmtree(temporary, ignore_errors=True)
    os.utime(target.parent)
    hold_copy(target.parent)
    _note(target, url)
    for name in paths:
        _urls[str(target / name)] = f"{url}/{name}"
    return target
