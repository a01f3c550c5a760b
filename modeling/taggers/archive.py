"""A tagger or an encoder packed into one file: ``Tagger.load("sturm.onoma")``.

The file is a zip without compression (weights do not shrink). The same files give the same bytes:
names are sorted, and there are no times and no owners. ``checksums.json``, the last entry, has the
SHA-256 of every other entry; an archive is not read if an entry is missing there or differs.
"""

import atexit
import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from corpora.errors import CorpusError
from corpora.system.files import is_plain
from corpora.system.parsing import parse_json
from corpora.system.writing import appearing, remove_leftovers

CHECKSUMS: Final = "checksums.json"
VERSION: Final = 1
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_MODE: Final = 0o100644 << 16  # a regular file, writable by its owner
_BLOCK: Final = 1 << 20
_UNPACKED: Final[dict[tuple[int, ...], Path]] = {}
"""Device, inode, size and time of each archive that this process has unpacked, and its folder."""


class ArchiveError(CorpusError):
    """The error for a file that is no archive, is damaged, or must not be trusted."""


def pack(files: Mapping[str, Path], archive: Path) -> None:
    """Write files into an archive under the given names; it appears when it is complete."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(archive.parent, archive.name)
    hashes = {}
    with (
        appearing(archive, is_durable=False) as temporary,
        zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as made,
    ):
        for name in sorted(files):
            _check_name(name, where=archive)
            if name == CHECKSUMS:
                raise ArchiveError(f"{files[name]}: an archive has its own. Take it away.")
            hashes[name] = _copy_in(made, name, files[name])
        listed = {"version": VERSION, "sha256": hashes}
        text = json.dumps(listed, indent=1, sort_keys=True) + "\n"
        made.writestr(_entry(CHECKSUMS), text)


def files_in(folder: Path) -> dict[str, Path]:
    """Find all files of a folder, by their paths relative to it; hidden ones are left out."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path
        for name, path in found.items()
        if not any(part.startswith(".") for part in name.parts)
    }


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.create_system = 3  # Unix, so that all systems write the same bytes
    entry.external_attr = _MODE
    return entry


def _copy_in(made: zipfile.ZipFile, name: str, path: Path) -> str:
    entry = _entry(name)
    entry.file_size = path.stat().st_size  # without it, zipfile refuses files above 2 GiB
    with path.open("rb") as source, made.open(entry, "w") as target:
        return _copy(source, target)


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy all bytes; return their SHA-256."""
    digest = hashlib.sha256()
    while block := source.read(_BLOCK):
        digest.update(block)
        target.write(block)
    return digest.hexdigest()


def opened(path: Path) -> Path:
    """Return a folder as it is; unpack an archive into a temporary folder and return that.

    The content of the archive is checked; the folder is removed when the process ends. An archive
    that has not changed since it was unpacked is not unpacked again. Raises ``ArchiveError`` for a
    file that is no archive, or not a complete one.
    """
    if not path.is_file():
        return path
    status = path.stat()
    archive = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if (known := _UNPACKED.get(archive)) and known.is_dir():
        return known
    folder = Path(tempfile.mkdtemp(prefix="onoma-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    unpack(path, folder)
    _UNPACKED[archive] = folder
    return folder


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into an empty folder; nothing is ever written outside the folder.

    Raises ``ArchiveError``. All errors but damaged bytes are found before anything is written.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            hashes = _checksums(packed, archive)
            _check_entries(packed, hashes, archive)
            for name, expected in hashes.items():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(name) as source, target.open("xb") as file:
                    is_same = _copy(source, file) == expected
                if not is_same:
                    raise ArchiveError(
                        f"{archive}: {name} is not what it was. Copy the file again."
                    )
    except (zipfile.BadZipFile, EOFError, ValueError, RuntimeError, OSError) as error:
        raise ArchiveError(
            f"{archive}: no archive that can be read ({error}). Name a file that "
            "onoma export --archive made."
        ) from error


def _checksums(packed: zipfile.ZipFile, archive: Path) -> dict[str, str]:
    lists = [entry for entry in packed.infolist() if entry.filename == CHECKSUMS]
    if len(lists) != 1 or lists[0].compress_type != zipfile.ZIP_STORED:
        raise ArchiveError(f"{archive}: has not one list of checksums ({CHECKSUMS}), stored.")
    try:
        listed = parse_json(packed.read(CHECKSUMS))
        version, hashes = listed["version"], dict(listed["sha256"].items())
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{archive}: has no list of checksums ({CHECKSUMS}).") from error
    if version != VERSION:
        raise ArchiveError(f"{archive}: has version {version} of the format; this reads {VERSION}.")
    return hashes


def _check_entries(packed: zipfile.ZipFile, hashes: Mapping[str, str], archive: Path) -> None:
    """Check that the entries are plain files of possible sizes, and those listed, each once.

    Raises ``ArchiveError`` if they are not.
    """
    entries = [entry for entry in packed.infolist() if entry.filename != CHECKSUMS]
    names = [entry.filename for entry in entries]
    for name in names:
        _check_name(name, where=archive)
    if sorted(names) != sorted(hashes):
        odd = sorted({*names} ^ {*hashes}) or ["a name twice"]
        raise ArchiveError(f"{archive}: its files are not those of its list: {odd[0]}.")
    is_odd = [
        entry.filename
        for entry in entries
        if entry.compress_type != zipfile.ZIP_STORED or entry.external_attr not in {0, _MODE}
    ]
    if is_odd:
        raise ArchiveError(f"{archive}: {is_odd[0]} is no plain file that is stored as it is.")
    if sum(entry.file_size for entry in entries) > archive.stat().st_size:
        raise ArchiveError(f"{archive}: claims to hold more than its own size.")


def _check_name(name: str, *, where: Path) -> None:
    if not is_plain(name) or set(name) & set(':*?"<>|'):  # some systems forbid these in names
        raise ArchiveError(f"{where}: {name!r} is no plain name of a file inside a folder.")
