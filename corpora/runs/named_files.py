"""Files that users name: what is behind the name, and whose it is."""

import os
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from corpora.errors import UsageError
from corpora.runs.journal import published_files
from corpora.system.writing import remove_leftovers, write_text

_OF_TRAINING = frozenset({".json", ".jsonl", ".safetensors"})
"""The endings of files that only a training run writes beside its ``settings.json``."""
_FORMS = {
    "text": re.compile(r"\ufeff?\s*\S+[ \t](?:O|[BIES]-\S+)\s*$", re.MULTILINE),  # <unk> O
    "HTML": re.compile(r"\ufeff?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE),
    "XML": re.compile(r"\ufeff?\s*<[a-zA-Z?!]"),
    "JSON": re.compile(r'\ufeff?\s*(?:\{\s*["}]|\[\s*["\[\]{])'),
}
"""How the beginning of a file shows its form; the first that matches counts."""
_SEEN = 1024
"""Characters of a file in which its form is seen."""


def write_named(path: Path, lines: Iterable[str]) -> None:
    """Write a file that the user named, in one atomic step; behind a link, the file there.

    A pipe or a device gets the lines as they come: a rename would replace it (``/dev/null``).
    Raises ``UsageError`` as ``refuse_published``, and for a file of another form than the lines
    (HTML, XML, JSON, text), which another program made. No lines have any form.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        return
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    refuse_published(path)
    if path.is_file():
        found, rest = _form_of_file(path), iter(lines)
        first = next(filter(None, rest), "")  # the others before it are empty
        if found and first and found != (made := _form_of(first)):
            raise UsageError(
                f"{path}: is there already, and is {found}, not {made}. Name another place, or "
                "take it away."
            )
        lines = chain([first], rest)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, path.name)
    write_text(path, lines)


def refuse_published(path: Path) -> None:
    """Raise ``UsageError`` for a file of a run or a published version, and for ``-``."""
    if str(path) == "-":
        raise UsageError("-: is the name of a file here. For standard output, give /dev/stdout.")
    folder = path.absolute().parent
    if path.suffix in _OF_TRAINING and (folder / "settings.json").is_file():
        raise UsageError(f"{path}: belongs to a training run. Name another place.")
    for folder in path.absolute().parents[:2]:
        name = path.absolute().relative_to(folder).as_posix()
        if (folder / "run.json").is_file() and name in published_files(folder):
            raise UsageError(f"{path}: belongs to a run, as its run.json says. Name another place.")


def _form_of_file(path: Path) -> str:
    """Name the form of a file by its beginning; empty for a file without text."""
    with path.open("rb") as file:
        head = file.read(_SEEN)
    if b"\0" in head:
        return "binary"
    return _form_of(head.decode("utf-8", "replace")) if head.strip() else ""


def _form_of(head: str) -> str:
    """Name the form of a text by its beginning."""
    return next((form for form, begins in _FORMS.items() if begins.match(head)), "text")
