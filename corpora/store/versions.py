"""A shelf of published versions of a dataset on disk: ``STORE/NAME/VERSION/``.

The file ``STORE/NAME/current`` holds the name of the current version. It is replaced atomically
after the new version was verified, so a reader finds the old or the new version, at any moment and
after any kill. A reader should read it once, and keep the path of the version.
"""

import fcntl
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from corpora.datasets.forgetting import FORGOTTEN, check_forgotten
from corpora.datasets.shards import datasets_in, open_dataset, read_description
from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError, UsageError
from corpora.runs.journal import published_files, read_run
from corpora.store.inspection import verify
from corpora.system.files import locked, take_away
from corpora.system.parsing import parse_json, typed
from corpora.system.typed_tables import did_you_mean
from corpora.system.writing import is_temporary, link_or_copy, sync_folder, write_json, write_text

CURRENT = "current"
HISTORY = "history.json"
"""The file with the names of versions, in the order of publishing; some may be gone."""
LOCK = ".lock"
_INCOMING, _READY, _REMOVED = ".incoming-", ".ready-", ".removed-"
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MARKERS = ("run.json", "dataset.json")


def publish(source: Path, shelf: Path, *, version: str | None = None) -> Path:
    """Make the output of a run the current version of a shelf, ``STORE/NAME``.

    Files are linked where possible, else copied, and verified in their new place; ``source`` may be
    deleted afterwards. Without ``version`` the name is made from the fingerprint. A version of that
    name with the same files only becomes current. Raises ``CorpusError`` where something is damaged
    or changes meanwhile, ``run.json`` and ``dataset.json`` do not agree, the name holds other data,
    or another process works on either.
    """
    _check_place(shelf)
    if source.resolve() in (shelf.resolve(), *shelf.resolve().parents):
        raise UsageError(f"{shelf}: is, or lies in, what is published. Name a store elsewhere.")
    with _held_while_read(source):
        names = files_of(source)
        version = version or fingerprint_of_run(source)[:12]
        target = shelf / check_name(version)
        with hold(shelf):
            # Checked while the shelf is held, so that `forget` cannot run in between.
            check_forgotten(source, shelf.parent / FORGOTTEN)
            if target.exists():
                _check_same(source, target)
                _verify_there(target)
            else:
                _bring_in(source, target, names)
            _make_current(shelf, version)
    return target


def switch(shelf: Path, version: str) -> Path:
    """Verify another existing version, and make it current."""
    check_published(shelf)
    with hold(shelf):
        if version not in version_names(shelf):
            known = ", ".join(version_names(shelf)) or "none"
            raise UsageError(f"{shelf}: has no version {version}. There are: {known}.")
        _verify_there(shelf / version)
        _make_current(shelf, version)
    return shelf / version


def current(shelf: Path) -> Path:
    """Return the folder of the current version; ask once, and keep the answer.

    Raises ``CorpusError`` where nothing is published, or it is not known which is current.
    """
    try:
        name = (shelf / CURRENT).read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        if (shelf / HISTORY).exists() and (there := version_names(shelf)):
            raise DamagedDatasetError(
                f"{shelf / CURRENT}: is missing. Switch to one of the versions that are there: "
                f"{', '.join(there)}."
            ) from None
        raise CorpusError(
            f"{shelf}: nothing is published there. Run: onoma store publish DIR {shelf}"
        ) from None
    if not _VERSION.fullmatch(name) or not _is_version(shelf / name):
        raise DamagedDatasetError(
            f"{shelf / CURRENT}: names {name!r}, which is no version. Switch to one that is there: "
            f"{', '.join(version_names(shelf)) or 'none'}."
        )
    return shelf / name


def check_published(shelf: Path) -> None:
    """Raise ``UsageError`` for a folder in which nothing was ever published; nothing is written."""
    if any((shelf / name).exists() for name in (CURRENT, HISTORY)) or version_names(shelf):
        return
    _check_place(shelf)
    names = [path.parent.name for path in shelf.absolute().parent.glob(f"*/{CURRENT}")]
    near = did_you_mean(shelf.name, names)
    raise UsageError(f"{shelf}: nothing is published there{near}. Check the name.")


def version_names(shelf: Path) -> list[str]:
    """List the existing versions in the order in which they were published.

    Versions that the history does not list come first.
    """
    there = {path.name for path in shelf.glob("*") if _is_version(path)}
    known = [name for name in history(shelf) if name in there]
    return sorted(there - set(known)) + known


def sizes(shelf: Path) -> dict[str, int]:
    """Map the existing versions, in the order of ``version_names``, to their sizes in bytes."""
    return {
        name: sum(file.stat().st_size for file in (shelf / name).rglob("*") if file.is_file())
        for name in version_names(shelf)
    }


@contextmanager
def hold(shelf: Path) -> Iterator[None]:
    """Hold a shelf; first remove what a killed process left on it, or finish its exchange."""
    with locked(shelf / LOCK, busy=lambda _: _busy(shelf)):
        for ready in shelf.glob(f"{_READY}*"):
            if (version := shelf / ready.name.removeprefix(_READY)).exists():
                take_away(ready)
            else:  # a process was killed in the middle of an exchange
                ready.rename(version)
        for left in [*shelf.glob(f"{_INCOMING}*"), *shelf.glob(f"{_REMOVED}*")]:
            take_away(left)
            _forget_gone(shelf, left.name.removeprefix(_REMOVED))
        for left in filter(is_temporary, shelf.glob(".tmp-*")):
            left.unlink()
        yield


def _forget_gone(shelf: Path, version: str) -> None:
    """Take a version out of the history whose removal did not come to its end."""
    if version in (names := history(shelf)) and not (shelf / version).exists():
        write_json(shelf / HISTORY, [name for name in names if name != version])


def _busy(folder: Path) -> str:
    return f"{folder}: another process works here. Wait for it."


def remove(shelf: Path, version: str) -> None:
    """Remove a version, atomically for readers; the caller must hold the shelf.

    A reader that has a shard open keeps it; the next one that it opens is missing.
    """
    removed = shelf / f"{_REMOVED}{version}"
    (shelf / version).rename(removed)
    sync_folder(shelf)
    take_away(removed)  # removes only the link, if the version was moved to another disk
    write_json(shelf / HISTORY, [name for name in history(shelf) if name != version])


def exchange(shelf: Path, version: str, incoming: Path) -> None:
    """Replace a version by a verified folder; the caller must hold the shelf.

    There is a moment without the version; after a kill then, the next command on the shelf finishes
    the exchange.
    """
    ready, removed = shelf / f"{_READY}{version}", shelf / f"{_REMOVED}{version}"
    for folder in {file.parent for file in incoming.rglob("*")} | {incoming}:
        sync_folder(folder)
    incoming.rename(ready)
    sync_folder(shelf)
    (shelf / version).rename(removed)
    ready.rename(shelf / version)
    sync_folder(shelf)
    take_away(removed)


def incoming_of(shelf: Path, version: str) -> Path:
    """Return the hidden folder in which a version is made."""
    return shelf / f"{_INCOMING}{version}"


def _check_place(shelf: Path) -> None:
    """Raise ``UsageError`` for a store or a version, in which ``forget`` finds no versions."""
    if any(shelf.glob(f"*/{CURRENT}")):
        raise UsageError(f"{shelf}: is a store. Name the dataset in it, too: {shelf}/NAME.")
    above = shelf.absolute().parent
    if (above / HISTORY).exists():
        raise UsageError(
            f"{shelf}: lies in {above.name}, a dataset of a store. Name only that, and --version "
            f"{shelf.name}."
        )


@contextmanager
def _held_while_read(source: Path) -> Iterator[None]:
    """Keep runs from changing a folder, or its parent if that is a run, while it is read."""
    with ExitStack() as stack:
        for folder in (source, source.parent):
            if (folder / LOCK).exists() and (folder / ".build").is_dir():
                lock = stack.enter_context((folder / LOCK).open())
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise FolderInUseError(_busy(folder)) from None
                except OSError:  # a file system without locks, in which no run works
                    continue
        yield


def _verify_there(version: Path) -> None:
    """Verify a version of a shelf; its error says how to get a good one."""
    try:
        verify(version)
    except CorpusError as error:
        raise DamagedDatasetError(
            f"{error} That is a published version: remove the folder {version}, and publish the "
            "run again, or bring the version back from a backup."
        ) from error


def _bring_in(source: Path, target: Path, names: Sequence[str]) -> None:
    """Make a version from the files of a run, under a hidden name until it is verified there."""
    incoming = incoming_of(target.parent, target.name)
    try:
        for name in names:
            (incoming / name).parent.mkdir(parents=True, exist_ok=True)
            if not (source / name).exists():
                raise DamagedDatasetError(f"{source / name}: is missing. Run the pipeline again.")
            link_or_copy(source / name, incoming / name)
        verify(incoming)
        for folder in {(incoming / name).parent for name in names} | {incoming}:
            sync_folder(folder)
        _note(target.parent, target.name)
    except BaseException as error:
        shutil.rmtree(incoming, ignore_errors=True)  # ignores errors, such as those of a full disk
        if isinstance(error, CorpusError):
            raise type(error)(str(error).replace(str(incoming), str(source))) from error
        raise
    incoming.rename(target)
    sync_folder(target.parent)


def _note(shelf: Path, version: str) -> None:
    """Make a version the last of the history, before it exists, so that every version is listed."""
    write_json(shelf / HISTORY, [*(n for n in history(shelf) if n != version), version])
    sync_folder(shelf)


def _make_current(shelf: Path, version: str) -> None:
    _note(shelf, version)
    write_text(shelf / CURRENT, [f"{version}\n"])
    sync_folder(shelf)


def files_of(source: Path) -> list[str]:
    """List the files of a version: all that ``run.json`` lists, or the files of a dataset."""
    if (source / "run.json").exists():
        if not read_run(source) and datasets_in(source):
            raise DamagedDatasetError(f"{source / 'run.json'}: damaged. Run the pipeline again.")
        return published_files(source)
    shards = [shard.name for shard in open_dataset(source).shards]
    return [*shards, "rejected.jsonl", "dataset.json"]


def check_name(version: str) -> str:
    """Return the name of a version; raises ``UsageError`` for one that is not allowed."""
    if not _VERSION.fullmatch(version) or version in {CURRENT, HISTORY}:
        raise UsageError(
            f"--version {version!r}: letters, digits, dots, hyphens and underscores, as 20261101."
        )
    return version


def fingerprint_of_run(source: Path) -> str:
    """Read the fingerprint of the plan of a run or a dataset."""
    said = read_run(source) or read_description(source)["plan"]
    return str(said.get("fingerprint"))


def _check_same(source: Path, target: Path) -> None:
    """Raise ``CorpusError`` unless two folders list the same files with the same hashes."""
    marker = MARKERS[0] if (source / MARKERS[0]).exists() else MARKERS[1]
    there = target / marker
    if not there.exists() or _said_of_data(there) != _said_of_data(source / marker):
        raise CorpusError(
            f"{target}: holds other data than {source}, and a version never changes. Choose "
            "another --version."
        )


def _said_of_data(marker: Path) -> object:
    """Read a marker without ``reused`` and the hash of itself, which do not describe the data."""
    try:
        said = parse_json(marker.read_text(encoding="utf-8"))
    except ValueError:
        return marker.read_bytes()
    if not isinstance(said, dict):
        return said
    return {name: value for name, value in said.items() if name not in {"reused", "sha256"}}


def _is_version(path: Path) -> bool:
    return not path.name.startswith(".") and any((path / name).is_file() for name in MARKERS)


def history(shelf: Path) -> list[str]:
    """Read the names of all versions that were published and not removed, the newest last."""
    file = shelf / HISTORY
    return read_names(file.read_bytes(), where=file) if file.exists() else []


def read_names(data: bytes, *, where: object) -> list[str]:
    """Parse a history; raises ``DamagedDatasetError`` where it is not a list."""
    try:
        return typed(list[str], parse_json(data.decode()))
    except ValueError as error:
        raise DamagedDatasetError(
            f"{where}: damaged ({error}). Write the names of the versions into it as a JSON list, "
            "the oldest first."
        ) from error
