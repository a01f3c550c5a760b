"""A shelf of published versions in a bucket: ``s3://BUCKET/STORE/NAME/VERSION/``.

No lock: a version begins with an object that says of which data it is, so that others cannot put
theirs under its name; its ``run.json`` (or ``dataset.json``) comes last. ``current`` is replaced by
one conditional write, after everything was verified.
"""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from corpora.errors import CorpusError, DamagedDatasetError, UsageError
from corpora.store.versions import CURRENT, HISTORY, check_name, files_of, fingerprint_of_run
from corpora.system.buckets import Bucket
from corpora.system.parsing import parse_json
from corpora.system.threads import map_in_order

_BEGUN = ".begun-"
_N_TRANSFERS = 8


def publish(source: Path, shelf: str, *, version: str | None = None) -> str:
    """Make what a run made the current version of a shelf; see ``versions.publish``."""
    from corpora.datasets.shards import sha256_of
    from corpora.store.inspection import verify

    verify(source)
    names, bucket = files_of(source), Bucket(shelf)
    version = check_name(version or fingerprint_of_run(source)[:12])
    marker = "run.json" if "run.json" in names else "dataset.json"
    before, data = bucket.read(CURRENT), (source / marker).read_bytes()
    claim = json.dumps({name: sha256_of(source / name) for name in names if name != marker})
    begun = f"{_BEGUN}{version}"
    if not bucket.replace(begun, claim.encode(), seen="", writer=uuid4().hex):
        there = bucket.read(begun)
        if there is None or there.data != claim.encode():
            raise CorpusError(
                f"{bucket.url_of(version)}: holds other data than {source}, and a version never "
                "changes. Choose another --version."
            )

    def put(name: str) -> None:
        bucket.put(f"{version}/{name}", source / name)

    if bucket.read(f"{version}/{marker}") is None:
        for _ in map_in_order(put, (n for n in names if n != marker), n_threads=_N_TRANSFERS):
            pass
        bucket.put(f"{version}/{marker}", data)
    _make_current(bucket, version, seen=before.etag if before else "")
    return bucket.url_of(version)


def switch(shelf: str, version: str) -> str:
    """Verify another version that is there, and make it current."""
    from corpora.store.inspection import verify
    from corpora.system.staging import stage

    bucket = Bucket(shelf)
    before = bucket.read(CURRENT)
    if version not in version_names(shelf):
        known = ", ".join(version_names(shelf)) or "none"
        raise UsageError(f"{shelf}: has no version {version}. There are: {known}.")
    verify(stage(bucket.url_of(version)))
    _make_current(bucket, version, seen=before.etag if before else "")
    return bucket.url_of(version)


def _make_current(bucket: Bucket, version: str, *, seen: str) -> None:
    def add(names: list[str]) -> list[str]:
        return [*(name for name in names if name != version), version]

    _change_history(bucket, add)
    if not bucket.replace(CURRENT, f"{version}\n".encode(), seen=seen, writer=uuid4().hex):
        raise CorpusError(
            f"{bucket.url}: another process has made a version current since this one began. "
            f"{version} is there; to make it current: python -m corpora.store switch "
            f"{bucket.url} {version}"
        )


def _change_history(bucket: Bucket, change: Callable[[list[str]], list[str]]) -> None:
    while True:
        there = bucket.read(HISTORY)
        names = _history(bucket, there.data if there else b"[]")
        data = (json.dumps(change(names), indent=1) + "\n").encode()
        seen = there.etag if there else ""
        if bucket.replace(HISTORY, data, seen=seen, writer=uuid4().hex):
            return


def _history(bucket: Bucket, data: bytes) -> list[str]:
    try:
        return [str(name) for name in parse_json(data.decode())]
    except (ValueError, TypeError) as error:
        raise DamagedDatasetError(
            f"{bucket.url_of(HISTORY)}: damaged ({error}). Write the names of the versions into it "
            "as a JSON list, the oldest first."
        ) from error


def current(shelf: str) -> str:
    """Give the address of the current version; ask once, and keep what you got."""
    bucket = Bucket(shelf)
    there = bucket.read(CURRENT)
    if there is None:
        raise CorpusError(
            f"{shelf}: nothing is published there. Run: python -m corpora.store publish DIR {shelf}"
        )
    return bucket.url_of(check_name(there.data.decode(errors="replace").strip()))


def version_names(shelf: str) -> list[str]:
    """List the versions that are there, in the order in which they were published."""
    return list(sizes(shelf))


def sizes(shelf: str) -> dict[str, int]:
    """List the versions that are there, as ``version_names`` does, with their bytes."""
    bucket = Bucket(shelf)
    found: dict[str, int] = {}
    whole = set()
    for each in bucket.list():
        version, _, name = each.name.partition("/")
        if name:
            found[version] = found.get(version, 0) + each.size
            whole |= {version} if name in {"run.json", "dataset.json"} else set()
    there = bucket.read(HISTORY)
    known = [name for name in _history(bucket, there.data if there else b"[]") if name in whole]
    return {name: found[name] for name in [*sorted(whole - set(known)), *known]}
