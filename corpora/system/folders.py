"""Folders that commands write: held while one writes, and freed of what a killed one left."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.files import locked
from corpora.system.writing import remove_leftovers

_LOCK = ".lock"


@contextmanager
def output_folder(folder: Path, *, mark: str = "", others: str = "*") -> Iterator[None]:
    """Hold a folder, made if it is missing, into which a command writes files.

    Raises ``UsageError`` unless the folder is empty, or was made by the same command: ``mark`` is
    the file that the command writes first, and without it the folder holds nothing that matches
    ``others``. Raises ``FolderInUseError`` while another command holds it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--output {folder}: is no folder. Choose a new folder.")

    def busy(process: str) -> str:
        return f"{folder}: another command (process {process}) writes here. Wait for it."

    with locked(folder / _LOCK, busy=busy):
        try:
            remove_leftovers(folder)
            found = (path for path in folder.glob(others) if path.name != _LOCK)
            if mark and not (folder / mark).is_file() and any(found):
                raise UsageError(f"--output {folder}: holds something else. Choose a new folder.")
            yield
        finally:
            (folder / _LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # it holds files
                folder.rmdir()
