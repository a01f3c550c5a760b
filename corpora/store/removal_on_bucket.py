"""Pruning of a store in a bucket, and removal of a person's data from all its versions.

The decisions are made by the code for stores on disk (``retention``, ``forgetting``), on downloaded
manifests and, for removal, on versions downloaded one by one. A version in a bucket never changes:
the version without forgotten data gets a new name, and one conditional write of ``current``
replaces the old version by it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from json import dumps
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tempfile import TemporaryDirectory

from corpora.datasets.forgetting import FORGOTTEN, parse_list
from corpora.datasets.rows import Row
from corpora.errors import CorpusError, UsageError
from corpora.store import forgetting, on_bucket
from corpora.store.retention import MANIFESTS, Fate
from corpora.store.retention import prune as prune_folder
from corpora.store.versions import CURRENT, HISTORY
from corpora.store.versions import version_names as names_in_folder
from corpora.system.buckets import Bucket, transfer
from corpora.system.files import check_plain
from corpora.system.staging import cache_folder, stage


def prune(
    shelf: str, *, keep: int, keep_for: Sequence[Path | str] = (), is_dry_run: bool = False
) -> list[Fate]:
    """Remove versions of a shelf that nobody needs; see ``retention.prune``.

    Raises ``CorpusError``, and removes nothing, where another process has made one of these
    versions current since this one began.
    """
    bucket = Bucket(shelf)
    there, name = on_bucket.sizes(shelf), bucket.url.rpartition("/")[2]
    store = on_bucket.store_of(bucket)
    with _copies() as copies:
        folder = copies.place(store.url)
        runs = [copies.of_run(run) for run in keep_for]
        _bring_store(store, folder)
        found = prune_folder(folder / name, keep=keep, keep_for=runs, is_dry_run=True)
        fates = [
            Fate(fate.version, copies.named(fate.reason), there.get(fate.version, 0))
            for fate in found
        ]
    gone = [fate.version for fate in fates if not fate.reason]

    def check(state: on_bucket.ShelfState) -> None:
        if state.current in gone:
            raise CorpusError(
                f"{bucket.url_of(state.current)}: another process has made it current since this "
                "one began. Nothing was removed; run the same command again."
            )

    if not is_dry_run:
        on_bucket.remove(bucket, gone, check=check)
    return fates


def forget(
    url: str,
    *,
    documents: Sequence[str] = (),
    entities: Sequence[str] = (),
    why: str = "",
    today: str,
) -> Iterator[str]:
    """Take documents, and all mentions of entities, out of every version of a store.

    See ``forgetting.forget``. A version that held any of it is removed, and replaced by a version
    with a number after its name: ``20261101.1``.
    """
    store = Bucket(url)
    shelves = _shelves(store)

    known: set[str] = set()  # and then what is found: all other ids that are named get a warning

    def note(data: bytes) -> bytes:
        rows = _rows(data, store)
        known.update(forgetting.hashes_in(rows))
        return _to_json(forgetting.noted(rows, documents, entities, why=why, today=today))

    hashes = forgetting.hashes_in(_rows(on_bucket.update(store, FORGOTTEN, note), store))
    with _copies() as copies:
        folder = copies.place(store.url)
        for name in shelves:
            bucket = store / name
            on_bucket.remove_unfinished(bucket)
            for version in on_bucket.version_names(bucket.url):
                lines = _free(bucket, version, hashes, folder=folder / name, found=known)
                yield from map(copies.named, lines)
        _bring_store(store, folder)
        there = {folder / name: names_in_folder(folder / name) for name in shelves}
        changed = [
            shelf / version
            for shelf, versions in there.items()
            for version in versions
            if forgetting.earlier_hashes_of(shelf / version)
        ]
        if not changed:
            yield f"{store.url}: no version holds any of it"
        yield from forgetting.not_found(documents, entities, known)
        for made in forgetting.made_of(changed, [*there]):
            yield copies.named(forgetting.to_make_again(made))
    on_bucket.update(
        store, FORGOTTEN, lambda data: _to_json(forgetting.done(_rows(data, store), hashes, today))
    )
    yield forgetting.what_is_next(store.url_of(FORGOTTEN))


def _shelves(store: Bucket) -> list[str]:
    """List the shelves of a store; raises ``UsageError`` where there is none."""
    parts = [found.name.split("/") for found in store.list()]
    found = {
        name[0]
        for name in parts
        if len(name) == 2 and (name[1] == CURRENT or on_bucket.version_of(name[1]))
    }
    if not found:
        is_shelf = any(name == [CURRENT] for name in parts)
        hint = f" Name the store: {on_bucket.store_of(store).url}." if is_shelf else ""
        raise UsageError(f"{store.url}: no store, for nothing is published in it.{hint}")
    return sorted(found)


def _free(
    bucket: Bucket, version: str, hashes: Sequence[str], *, folder: Path, found: set[str]
) -> list[str]:
    """Replace a version by one without forgotten data; return the lines to print."""
    source, target = folder / version, folder / ".incoming"
    try:
        inside = bucket / version
        _bring(inside, [found.name for found in inside.list()], source)
        lines = forgetting.make_without(source, target, hashes, found=found)
        if lines:
            new = _put_under_new_name(bucket, version, target)
            _put_in_place(bucket, version, new)
            lines.append(f"{source}: is {folder / new} now")
        return lines
    finally:
        rmtree(folder, ignore_errors=True)


def _put_under_new_name(bucket: Bucket, version: str, target: Path) -> str:
    """Upload a folder under the first free name with a number."""
    removed = {*on_bucket.look(bucket).removed}
    base, _, number = version.rpartition(".")
    base = base if number.isdigit() and base in removed else version
    names = (f"{base}.{n}" for n in count(1))
    return next(
        new
        for new in names
        if new not in removed and on_bucket.put_version(bucket, new, target, instead_of=version)
    )


def _put_in_place(bucket: Bucket, old: str, new: str) -> None:
    """Replace a version by another, atomically for readers."""

    def beside(names: list[str]) -> list[str]:
        if new in names or old not in names:
            return names
        at = names.index(old)
        return [*names[:at], new, *names[at:]]

    def to(state: on_bucket.ShelfState) -> on_bucket.ShelfState:
        if new in state.removed:
            raise CorpusError(
                f"{bucket.url_of(new)}: another process has removed it. Run the same command again."
            )
        removed = state.removed if old in state.removed else (*state.removed, old)
        return on_bucket.ShelfState(new if state.current == old else state.current, removed)

    on_bucket.change_history(bucket, beside)
    on_bucket.change(bucket, to)
    on_bucket.delete_removed(bucket)


# --- copies on this machine


class _Copies:
    """Copies of bucket folders on this machine, and the address of each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[Path, str] = {}

    def place(self, url: str) -> Path:
        """Choose the path for the copy of a folder."""
        path = self._folder / f"copy-{len(self._names):05d}"
        self._names[path] = url
        return path

    def of_run(self, run: Path | str) -> Path:
        """Download the manifests of a run, unless the copy of a folder covers it."""
        if not isinstance(run, str):
            return run
        for path, url in self._names.items():
            if run.startswith(f"{url}/"):
                return path / run.removeprefix(f"{url}/")
        if PurePosixPath(run).name in MANIFESTS:
            path = stage(run)
            self._names[path] = run
        else:
            path = self.place(run)
            _bring_manifests(Bucket(run), path)
        return path

    def named(self, text: str) -> str:
        """Replace paths of copies by their addresses."""
        for path, name in self._names.items():
            text = text.replace(str(path), name)
        return text


@contextmanager
def _copies() -> Iterator[_Copies]:
    """Make a folder for copies; after a kill, the cache removes it some time later."""
    above = cache_folder() / "folders"
    with TemporaryDirectory(dir=above, ignore_cleanup_errors=True) as name:
        copies = _Copies(Path(name).resolve())
        try:
            yield copies
        except FileNotFoundError as error:
            raise CorpusError(
                f"{copies.named(str(error.filename))}: is not there, or no more. Check the "
                "address, and run the same command again."
            ) from error
        except CorpusError as error:
            raise type(error)(copies.named(str(error))) from error


def _bring_store(store: Bucket, folder: Path) -> None:
    """Download histories and manifests of a store, in the layout of a store on disk."""
    names = {found.name.split("/")[0] for found in store.list() if "/" in found.name}
    for name in sorted(names):
        shelf, bucket = folder / check_plain(name, where=Path(store.url)), store / name
        shelf.mkdir(parents=True)
        state, history = on_bucket.look(bucket), bucket.read(HISTORY)
        if state.current:
            (shelf / CURRENT).write_text(f"{state.current}\n", encoding="utf-8")
        if history:
            (shelf / HISTORY).write_bytes(history.data)
        _bring_manifests(bucket, shelf, without=state.removed)


def _bring_manifests(bucket: Bucket, folder: Path, *, without: Sequence[str] = ()) -> None:
    names = [PurePosixPath(found.name) for found in bucket.list()]
    manifests = (n for n in names if n.name in MANIFESTS and n.parts[0] not in without)
    _bring(bucket, [name.as_posix() for name in manifests], folder)


def _bring(bucket: Bucket, names: Sequence[str], folder: Path) -> None:
    def bring(name: str) -> str:
        return bucket.download(name, folder / check_plain(name, where=Path(bucket.url)))

    transfer(bring, names)


def _rows(data: bytes, store: Bucket) -> list[Row]:
    return parse_list(data, where=store.url_of(FORGOTTEN)) if data else []


def _to_json(rows: Sequence[Row]) -> bytes:
    return (dumps({"forgotten": rows}, ensure_ascii=False, indent=1) + "\n").encode()
