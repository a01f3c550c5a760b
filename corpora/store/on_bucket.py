"""A shelf of published versions in a bucket: ``s3://BUCKET/STORE/NAME/VERSION/``.

There is no lock. The first object of a version lists the hashes of its files, so that other data
cannot get the same name; its ``run.json`` (or ``dataset.json``) is uploaded last. The object
``current`` names the current version and, below it, all removed versions, so that one conditional
write changes both. The name of a removed version is never used again; otherwise a slow process
could delete the data of another.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from uuid import uuid4

from corpora.datasets.forgetting import FORGOTTEN, check_forgotten
from corpora.errors import CorpusError, UsageError
from corpora.store.inspection import verify
from corpora.store.versions import (
    CURRENT,
    HISTORY,
    MARKERS,
    check_name,
    files_of,
    fingerprint_of_run,
    read_names,
)
from corpora.system.buckets import Bucket, transfer
from corpora.system.files import sha256_of
from corpora.system.parsing import parse_json
from corpora.system.staging import stage

_BEGUN, _INSTEAD = ".begun-", "instead of"
_REMOVED = "removed "


@dataclass(frozen=True, slots=True)
class ShelfState:
    """The content of the object ``current`` of a shelf."""

    current: str
    """The name of the current version; empty: nothing was published yet."""
    removed: tuple[str, ...]
    """Names of removed versions, which readers ignore and whose objects are deleted."""


def look(bucket: Bucket) -> ShelfState:
    """Read the state of a shelf."""
    there = bucket.read(CURRENT)
    return _parse(there.data if there else b"")


def _parse(data: bytes) -> ShelfState:
    name, *removed = data.decode(errors="replace").splitlines() or [""]
    return ShelfState(name.strip(), tuple(line.removeprefix(_REMOVED) for line in removed))


def change(bucket: Bucket, to: Callable[[ShelfState], ShelfState]) -> ShelfState:
    """Change the state of a shelf by a conditional write; ``to`` may raise, or change nothing."""

    def write(data: bytes) -> bytes:
        state = to(_parse(data))
        return "\n".join([state.current, *map(_REMOVED.__add__, state.removed), ""]).encode()

    return _parse(update(bucket, CURRENT, write))


def update(bucket: Bucket, name: str, to: Callable[[bytes], bytes]) -> bytes:
    """Compute the new content of an object from the old, and write it; return the content.

    Repeats this until no other process has written in between.
    """
    while True:
        there = bucket.read(name)
        seen, old = (there.etag, there.data) if there else ("", b"")
        data = to(old)
        if data == old or bucket.replace(name, data, seen=seen, writer=uuid4().hex):
            return data


def publish(source: Path, shelf: str, *, version: str | None = None) -> str:
    """Make the output of a run the current version of a shelf; see ``versions.publish``."""
    verify(source)
    bucket = Bucket(shelf)
    version = check_name(version or fingerprint_of_run(source)[:12])
    list_seen = _check_forgotten(source, bucket, seen=None)
    before = look(bucket)
    _check_not_removed(bucket, version, before)
    if not put_version(bucket, version, source):
        raise CorpusError(
            f"{bucket.url_of(version)}: holds other data than {source}, and a version never "
            "changes. Choose another --version."
        )
    try:
        # Checked again, because only from now on does `forget` see the version.
        _check_forgotten(source, bucket, seen=list_seen)
    except CorpusError:
        remove(bucket, [version])
        raise
    _make_current(bucket, version, seen=before.current)
    return bucket.url_of(version)


def put_version(bucket: Bucket, version: str, source: Path, *, instead_of: str = "") -> bool:
    """Upload the files of a folder as a version; return False where it holds other data."""
    names = files_of(source)
    marker = "run.json" if "run.json" in names else "dataset.json"
    hashes = {name: sha256_of(source / name) for name in names if name != marker}
    replaced = {_INSTEAD: instead_of} if instead_of else {}
    begun, claim = f"{_BEGUN}{version}", json.dumps(replaced | hashes).encode()
    if not bucket.replace(begun, claim, seen="", writer=uuid4().hex):
        there = bucket.read(begun)
        if there is None or there.data != claim:
            return False

    def put(name: str) -> None:
        bucket.put(f"{version}/{name}", source / name)

    if bucket.read(f"{version}/{marker}") is None:
        data = (source / marker).read_bytes()
        transfer(put, hashes)
        bucket.put(f"{version}/{marker}", data)
    return True


def _check_forgotten(source: Path, shelf: Bucket, *, seen: str | None) -> str:
    """Raise for a run with data that its store has forgotten; return the etag of the list."""
    store = store_of(shelf)
    there = store.read(FORGOTTEN)
    if there is not None and there.etag != seen:
        check_forgotten(source, stage(store.url_of(FORGOTTEN)))
    return there.etag if there else ""


def store_of(shelf: Bucket) -> Bucket:
    """Return the store of a shelf; raises ``UsageError`` for the root of a bucket."""
    above = shelf.url.rpartition("/")[0]
    if above.endswith("/"):
        raise UsageError(f"{shelf.url}: is no shelf of a store. Name one: {shelf.url}/NAME.")
    return Bucket(above)


def switch(shelf: str, version: str) -> str:
    """Verify another existing version, and make it current."""
    bucket = Bucket(shelf)
    before = look(bucket)
    if version not in version_names(shelf):
        known = ", ".join(version_names(shelf)) or "none"
        raise UsageError(f"{shelf}: has no version {version}. There are: {known}.")
    verify(stage(bucket.url_of(version)))
    _make_current(bucket, version, seen=before.current)
    return bucket.url_of(version)


def _make_current(bucket: Bucket, version: str, *, seen: str) -> None:
    """Make a version current; raises where another became current since ``seen`` was read."""

    def to(state: ShelfState) -> ShelfState:
        _check_not_removed(bucket, version, state)
        if state.current not in {seen, version}:
            raise CorpusError(
                f"{bucket.url}: another process has made a version current since this one began. "
                f"{version} is there; to make it current: onoma store switch "
                f"{bucket.url} {version}"
            )
        return replace(state, current=version)

    change_history(bucket, lambda names: [*(name for name in names if name != version), version])
    change(bucket, to)


def _check_not_removed(bucket: Bucket, version: str, state: ShelfState) -> None:
    if version in state.removed:
        delete_removed(bucket)  # this process may have uploaded objects since
        raise CorpusError(
            f"{bucket.url_of(version)}: was removed, and a name is not used twice in a bucket. "
            "Choose another --version."
        )


def remove(
    bucket: Bucket, versions: Sequence[str], *, check: Callable[[ShelfState], None] = lambda _: None
) -> None:
    """Remove versions, atomically for readers, and delete their objects.

    ``check`` gets the state at that moment, and may raise.
    """

    def to(state: ShelfState) -> ShelfState:
        check(state)
        new = tuple(name for name in versions if name not in state.removed)
        return replace(state, removed=(*state.removed, *new))

    change(bucket, to)
    delete_removed(bucket)


def delete_removed(bucket: Bucket) -> None:
    """Delete the objects of all removed versions, beginning with the files that mark versions."""
    removed = {*look(bucket).removed}
    change_history(bucket, lambda names: [name for name in names if name not in removed])
    found = [each.name for each in bucket.list() if version_of(each.name) in removed]
    for _, names in groupby(sorted(found, key=_order_of_deletion), key=_order_of_deletion):
        bucket.delete(names)


def remove_unfinished(bucket: Bucket) -> None:
    """Remove what killed processes left: incomplete versions, and replacements beside the original.

    A process that still works on one of them ends with an error.
    """
    there, left = {*version_names(bucket.url)}, []
    for begun in bucket.list(_BEGUN):
        content = bucket.read(begun.name)
        instead_of = parse_json(content.data).get(_INSTEAD) if content else None
        if version_of(begun.name) not in there or instead_of in there:
            left.append(version_of(begun.name))
    remove(bucket, left)


def _order_of_deletion(name: str) -> int:
    last = name.rpartition("/")[2]
    return 0 if name.count("/") == 1 and last in MARKERS else 1 if last in MARKERS else 2


def version_of(name: str) -> str:
    """Return the version of a shelf that an object belongs to; empty for none."""
    version, slash, _ = name.removeprefix(_BEGUN).partition("/")
    return version if slash or name.startswith(_BEGUN) else ""


def change_history(bucket: Bucket, to: Callable[[list[str]], list[str]]) -> None:
    """Change the list of published versions, the oldest first."""

    def write(data: bytes) -> bytes:
        names = to(read_names(data or b"[]", where=bucket.url_of(HISTORY)))
        return (json.dumps(names, indent=1) + "\n").encode()

    update(bucket, HISTORY, write)


def current(shelf: str) -> str:
    """Return the address of the current version; ask once, and keep the answer."""
    bucket = Bucket(shelf)
    name = look(bucket).current
    if not name:
        raise CorpusError(
            f"{shelf}: nothing is published there. Run: onoma store publish DIR {shelf}"
        )
    return bucket.url_of(check_name(name))


def version_names(shelf: str) -> list[str]:
    """List the existing versions in the order in which they were published."""
    return list(sizes(shelf))


def sizes(shelf: str) -> dict[str, int]:
    """Map the existing versions, in the order of ``version_names``, to their sizes in bytes."""
    bucket = Bucket(shelf)
    found: dict[str, int] = {}
    whole = set()
    for each in bucket.list():
        version, _, name = each.name.partition("/")
        if name:
            found[version] = found.get(version, 0) + each.size
            whole |= {version} if name in MARKERS else set()
    whole -= {*look(bucket).removed}
    there = bucket.read(HISTORY)
    names = read_names(there.data, where=bucket.url_of(HISTORY)) if there else []
    known = [name for name in names if name in whole]
    return {name: found[name] for name in [*sorted(whole - set(known)), *known]}
