"""What is removed after a refresh: versions that nobody needs, old dumps, folders of work."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from onoma_refresh.commands import run
from onoma_refresh.settings import Settings


def prune(settings: Settings, shelves: Iterable[str]) -> None:
    """Keep the last versions of each shelf, and what any published model was made from.

    Of models that is the encoder that a tagger began with; not what an encoder began with, or else
    all of them would stay for ever.
    """
    encoders = [f"{name}-encoder" for name in settings.models]
    taggers = [f"{name}-tagger" for name in settings.editions]
    for shelf in shelves:
        if settings.current(shelf):
            by = [] if shelf in taggers else taggers if shelf in encoders else encoders + taggers
            needed = [str(folder) for name in by for folder in _versions(settings.shelf(name))]
            keep_for = ["--keep-for", *needed] if needed else []
            command = ["prune", str(settings.shelf(shelf)), "--keep", str(settings.keep)]
            run(settings, "corpora.store", *command, *keep_for)


def _versions(shelf: Path) -> list[Path]:
    folders = (folder for folder in sorted(shelf.glob("*/")) if not folder.name.startswith("."))
    return [folder for folder in folders if (folder / "run.json").is_file()]


def remove_dumps(settings: Settings, wiki: str) -> None:
    """Keep the files of the last dumps of a wiki: those that the locks of older ones name go."""
    locks = sorted((settings.work / "dumps").glob(f"{wiki}-????????.lock.json"))
    for lock in locks[: -settings.keep]:
        for file in json.loads(lock.read_text(encoding="utf-8"))["files"]:
            (lock.parent / Path(file["name"]).name).unlink(missing_ok=True)
        lock.unlink()


def remove_work(settings: Settings, folder: Path) -> None:
    """Remove the folder in which a run worked; what it published are files of their own."""
    if settings.work not in folder.parents:
        raise ValueError(f"{folder}: not in {settings.work}.")
    shutil.rmtree(folder, ignore_errors=True)
