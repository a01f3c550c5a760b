"""The work of tasks: running ``python -m …`` with the configured interpreter, publishing, pruning.

Airflow runs a command again that was stopped or killed, and every command here must resume then.
What cannot be fixed by trying again ends the task at once.
"""

import logging
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict

from airflow.sdk import Asset, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from onoma_refresh.environment import environment_of, interpreter
from onoma_refresh.results import describe_version, read_json
from onoma_refresh.settings import (
    EditionEntry,
    RefreshSettings,
    SettingsError,
    check_store,
    read,
    settings_file,
)

if TYPE_CHECKING:
    from airflow.sdk import XComArg

Context = Mapping[str, Any]
"""The context of a task. Any: Airflow passes it as untyped keywords."""
Params = Mapping[str, Any]
"""The parameters of a run. Any: the ``Param`` of each name defines its JSON type."""
Task = Callable[..., "XComArg"]
"""A task, to be called while a DAG is built, with the future results of earlier tasks."""
log = logging.getLogger(__name__)
CRAWLS: Final = "onoma_crawls"
"""The pool of crawls (see pools.json): one at a time, so that no host is crawled twice at once."""
TRAINING: Final = "onoma_training"
JOBS: Final = "onoma_jobs"
SHORT: Final = timedelta(hours=1)
"""The time limit of short tasks; ``JOB`` is for pipelines, ``TRAIN`` for training."""
JOB: Final = timedelta(hours=24)
TRAIN: Final = timedelta(days=7)
LEASH = Path(__file__).with_name("leash.py")
WRONG_COMMAND, TOO_FAR = 2, 3
"""Exit statuses of commands: for wrong options, and for a passed limit of drift or scores."""
DATASETS, MODEL = ("corpora.store", "publish"), ("modeling.publish",)
_LAST_LINES = 8


class RefreshPlan(TypedDict):
    """The plan of a run for an entry of the settings."""

    name: str
    version: str
    work: str
    """The folder in which the run works."""


class LimitPassedError(AirflowFailException):
    """A command that ended because a limit was passed (exit status 3)."""


def step(
    limit: timedelta = SHORT,
    **more: Any,  # Any: those of ``airflow.sdk.task``
) -> Callable[[Callable[..., object]], Task]:
    """Make a task of a function that takes a ``DagTask`` and the results of earlier tasks."""

    def decorate(function: Callable[..., object]) -> Task:
        def do(*made: object, **context: Any) -> object:  # Any: as ``Context``
            try:
                return function(DagTask(load_settings(context["params"]), context), *made)
            except SettingsError as error:
                raise AirflowFailException(str(error)) from error

        do.__name__, do.__doc__ = function.__name__, function.__doc__
        decorated: Task = task(execution_timeout=limit, **more)(do)
        return decorated

    return decorate


def load_settings(params: Params) -> RefreshSettings:
    """Read the settings that the environment names, or the file that a parameter names.

    Raises ``SettingsError`` where there are none, they are wrong, or the store is missing.
    """
    settings = read(settings_file(params["settings"]))
    check_store(settings)
    return settings


def given(name: str, *values: object) -> list[object]:
    """Write an option, or nothing where there are no values."""
    return [name, *values] if any(values) else []


@dataclass(frozen=True)
class DagTask:
    """A task of a DAG run, with its settings."""

    settings: RefreshSettings
    context: Context

    @property
    def params(self) -> Params:
        """The parameters of the run."""
        params: Params = self.context["params"]
        return params

    def version(self, form: str = "%Y%m%d") -> str:
        """Return the name of what the run publishes: its date, the same for each run of that date.

        A run that assets started has no logical date; its name is made from the time when it was
        due.
        """
        run = self.context["dag_run"]
        date: datetime = run.logical_date or run.run_after
        return date.strftime(form)

    def run(self, module: str, *arguments: object) -> list[str]:
        """Run ``python -m MODULE ARGUMENTS``; return its last lines of output.

        Raises ``LimitPassedError`` for exit status 3, ``AirflowFailException`` for wrong options,
        ``AirflowException`` for other failures, which Airflow tries again.
        """
        settings = self.settings
        command = [interpreter(settings), "-m", module, *map(str, arguments)]
        log.info("%s", " ".join(command))
        status, lines = stream(
            command, folder=settings.folder, environment=environment_of(settings)
        )
        if not status:
            return lines
        message = "\n".join([f"{module}: exit status {status}.", *lines[-_LAST_LINES:]])
        if status == TOO_FAR:
            raise LimitPassedError(message)
        raise (AirflowFailException if status == WRONG_COMMAND else AirflowException)(message)

    def make(self, module: str, output: str | Path, *arguments: object) -> str:
        """Run a command that makes a folder; return the folder."""
        self.run(module, *arguments, "--output", output)
        return str(output)

    def finetune(self, edition: EditionEntry, output: Path, *, ner: str, encoder: str) -> str:
        """Train a tagger from an encoder and NER data; a retry resumes the training."""
        options = ("--ner", ner, "--model", encoder, *edition.finetune)
        return self.make("modeling.finetune", output, edition.recipe, *options)

    def evaluate(self, edition: EditionEntry, *, ner: str, tagger: str) -> None:
        """Score a tagger; ``LimitPassedError`` where it is significantly worse than the current.

        Compares with the tagger that is current now: while this one was trained, another run may
        have published a better one.
        """
        against = self.settings.current(f"{edition.name}-tagger")
        self.run(
            "modeling.evaluate",
            *(tagger, "--ner", ner, "--output", Path(tagger) / "evaluation"),
            *(given("--against", against, "--fail-if-worse") if against else ()),
            *edition.evaluate,
        )

    def publish(
        self, folder: str, shelf: str, plan: RefreshPlan, *, by: Sequence[str] = DATASETS
    ) -> dict[str, object]:
        """Verify and publish datasets, or a model; return totals for the event of their asset."""
        version = self.settings.shelf(shelf) / plan["version"]
        self.run(*by, folder, version.parent, "--version", version.name)
        return describe_version(version)

    def add_event(self, asset: Asset, **extra: Any) -> None:  # Any: JSON values
        """Attach a description of what was published to the event of an asset."""
        self.context["outlet_events"][asset].extra = extra

    def prune(self, *shelves: str) -> None:
        """Remove old versions of each shelf, except those that a published model was made from.

        An encoder is kept for the taggers that began with it, not for the encoders that did: these
        would keep all encoders for ever.
        """
        settings = self.settings
        encoders = [f"{name}-encoder" for name in settings.models]
        taggers = [f"{name}-tagger" for name in settings.editions]
        for shelf in shelves:
            if settings.current(shelf):
                by = (
                    [] if shelf in taggers else taggers if shelf in encoders else encoders + taggers
                )
                needed = _versions(settings.shelf(name) for name in by)
                options = ["--keep", settings.keep, *given("--keep-for", *needed)]
                self.run("corpora.store", "prune", settings.shelf(shelf), *options)

    def remove_dumps(self, wiki: str) -> None:
        """Remove all but the last dumps of a wiki: older locks, and the files that they list.

        Also removes what has come of dumps that were given up for a newer one.
        """
        folder = self.settings.work / "dumps"
        locks = sorted(folder.glob(f"{wiki}-????????.lock.json"))
        for lock in locks[: -self.settings.keep]:
            for file in read_json(lock)["files"]:
                (lock.parent / Path(file["name"]).name).unlink(missing_ok=True)
            lock.unlink()
        for lock in locks[-1:]:
            last = lock.name.removesuffix(".lock.json").removeprefix(f"{wiki}-")
            for partial in folder.glob(f".{wiki}-*.partial"):
                date = re.search(r"-(\d{8})-", partial.name)
                if date and date[1] < last:
                    partial.unlink()

    def remove_work(self, folder: str) -> None:
        """Remove the folder in which a run worked; published files are not part of it."""
        if self.settings.work not in Path(folder).parents:
            raise ValueError(f"{folder}: not in {self.settings.work}.")
        shutil.rmtree(folder, ignore_errors=True)


def _versions(shelves: Iterable[Path]) -> list[Path]:
    folders = (folder for shelf in shelves for folder in sorted(shelf.glob("[!.]*/")))
    return [folder for folder in folders if (folder / "run.json").is_file()]


def stream(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str]
) -> tuple[int, list[str]]:
    """Run a command on the leash of this process; return its exit status and its last lines."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(LEASH), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=dict(environment),
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # a signal to the task's process group must not end the leash
    )
    assert process.stdin  # noqa: S101 - for mypy
    assert process.stdout  # noqa: S101
    lines: deque[str] = deque(maxlen=1000)
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            log.info("%s", lines[-1])
    finally:
        process.stdin.close()  # ends the command, if the task was stopped or timed out
        process.stdout.close()
        status = process.wait()
    return status, list(lines)
