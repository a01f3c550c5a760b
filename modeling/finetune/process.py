"""Fine-tuning in another process, for services that must answer requests meanwhile.

FOLDER/ner/     the dataset of training sentences
FOLDER/run/     the run of onoma finetune
FOLDER/log.txt  the output of the commands
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from corpora.document import Document, Sentence
from corpora.errors import CorpusError
from corpora.hashing.sampling import choose
from corpora.ner.alignment import to_sentences
from modeling.taggers.archive import opened
from modeling.taggers.folders import find_tagger, read_manifest

Command = Sequence[object]
"""A module of this project and its options: ``("modeling.finetune", "crf", "--ner", folder)``."""
_SPLITS: Final = {"train": 0.9, "dev": 0.1}
"""The fraction of documents of each split; ``dev`` is for choosing the best epoch alone."""
_LOG_BYTES: Final = 64_000
_ENDING: Final = 20.0  # seconds from SIGTERM to SIGKILL
_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """The settings of a training: its encoder, its recipe, and the folder for the result."""

    folder: Path
    encoder: Path | None = None
    """None: the training of a tagger is continued."""
    recipe: str = ""
    """Empty: the recipe of the tagger, or ``crf`` if there is no tagger."""

    def command(
        self,
        folder: Path,
        sentences: Iterable[Sentence],
        *,
        tagger: Path | None = None,
        labels: Path | None = None,
    ) -> Command:
        """Build the command that trains on ``FOLDER/ner`` and writes ``FOLDER/run``.

        Training begins with ``encoder``, if it is set, or else continues ``tagger``, whose labels
        the map ``labels`` renames. If no name is in ``dev``, the last epoch is taken.
        """
        has_dev = _has_names(one for one in sentences if one.split == "dev")
        begun = ("--tagger", tagger) if self.encoder is None else ("--model", self.encoder)
        renamed = ("--labels", labels) if labels and self.encoder is None else ()
        recipe = self.recipe or (_recipe_of(tagger) if tagger else "crf")
        return (
            *("modeling.finetune", recipe, "--ner", folder / "ner", *begun, *renamed),
            *("--output", folder / "run"),
            *(() if has_dev else ("--set", "training.choose=last")),
        )


def _recipe_of(tagger: Path) -> str:
    return str(read_manifest(find_tagger(opened(tagger)).path).get("recipe", "crf"))


class CommandChain:
    """Commands that run one after the other in the background, until one of them fails."""

    def __init__(self, folder: Path, commands: Iterable[Command]) -> None:
        self.folder = folder
        self.status: int | None = None
        """The exit status of the last command that ran; None while the job runs."""
        self._commands = [list(map(str, command)) for command in commands]
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped, self._lock = False, threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"job {folder}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        status = 1
        try:
            with (self.folder / "log.txt").open("ab") as log:
                for command in self._commands:
                    status = 1
                    with self._lock:
                        if self._is_stopped:
                            return
                        self._process = subprocess.Popen(
                            [sys.executable, "-m", *command],
                            stdin=subprocess.DEVNULL,
                            stdout=log,
                            stderr=subprocess.STDOUT,
                            env=os.environ | {"PYTHONPATH": _paths(), "OMP_NUM_THREADS": "1"},
                        )
                    if status := self._process.wait():
                        return
        finally:
            self.status = status

    def log(self) -> str:
        """Read the end of the log of the commands; empty if there is none yet."""
        path = self.folder / "log.txt"
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _LOG_BYTES))
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:  # the job has only begun
            return ""

    def wait(self) -> int | None:
        """Wait for the end of the job; returns the exit status."""
        self._thread.join()
        return self.status

    def stop(self) -> None:
        """Stop the job; what was learned so far stays in the folder."""
        with self._lock:
            self._is_stopped = True
            process = self._process
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDING)
            process.kill()
        self._thread.join()


def _paths() -> str:
    return os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))


def new_folder(folder: Path) -> Path:
    """Make the next numbered folder (``1``, ``2`` …) inside ``folder``."""
    numbers = [number_of(path) for path in folder.glob("*")]
    made = folder / str(max(numbers, default=0) + 1)
    made.mkdir(parents=True)
    return made


def number_of(path: Path) -> int:
    """Return the number of a folder that ``new_folder`` made; 0 for any other folder."""
    return int(path.name) if path.name.isdecimal() else 0


def sentences_to_learn(documents: Iterable[Document]) -> list[Sentence]:
    """Convert documents to tagged sentences of the splits ``train`` and ``dev``.

    The split of a document is chosen by the hash of its text. If ``train`` would have no name, all
    sentences are put into it. Raises ``CorpusError`` if no sentence has a name.
    """
    sentences = [
        replace(sentence, split=split)
        for document in documents
        for split in [choose(document.text, _SPLITS)]
        for sentence in to_sentences(document, lambda _: "train")
        if sentence.tokens
    ]
    if _has_names(one for one in sentences if one.split == "train"):
        return sentences
    if not _has_names(sentences):
        raise CorpusError("There is no name to learn from in these texts.")
    return [replace(one, split="train") for one in sentences]  # too few names for a split dev


def _has_names(sentences: Iterable[Sentence]) -> bool:
    return any(tag != "O" for one in sentences for tag in one.tags)
