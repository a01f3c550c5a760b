"""What a worker does: a unit of work, or the merge of a stage; and what comes out of it.

Whoever hands tasks over, and wherever the worker is: it does each by itself.
"""

import gc
import json
import socket
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from corpora.errors import CorpusError
from pipelines.failures import UnitFailedError, explain
from pipelines.outcomes import Yield

FAILURE = "onoma-unit-failed:"


@dataclass(frozen=True, slots=True)
class Task:
    """What travels to a worker for a unit."""

    pipeline: str
    fingerprint: str
    folder: str
    datasets: tuple[tuple[str, str], ...]
    unit: str
    """Empty: merge what the units of the stage made."""
    stage: str = ""
    """Empty for the units that make what is published."""
    code: str = ""
    """``version_of_code()`` where the run was planned; empty: not compared."""


StageOfWork = tuple[Sequence[Task], Task | None]
"""What is to be done at once, and what comes after all of it."""


def to_json(unit: Any) -> str:
    """Write a unit down, to travel; ``from_json`` reads it."""
    return json.dumps(asdict(unit))


def from_json(text: str) -> Any:
    """Read a unit that ``to_json`` wrote down."""
    from corpora.plan import InputFile, Unit

    values = json.loads(text)
    return Unit(
        values["number"],
        tuple(InputFile(**file) for file in values["inputs"]),
        {name: InputFile(**file) for name, file in values["auxiliary"].items()},
        values["settings"],
        values["part"],
    )


@cache
def version_of_code() -> str:
    """Hash what decides the bytes that this process writes: our code, and the libraries."""
    from corpora.code import code_hash
    from corpora.plan import fingerprint_of, library_versions

    return fingerprint_of({"code": code_hash(), "libraries": library_versions()})


def check_place(folder: str, code: str) -> None:
    """Raise ``CorpusError`` where a worker on another machine cannot do what was planned."""
    if code and code != version_of_code():
        raise CorpusError(
            f"A worker on {socket.gethostname()} has another Onoma, Python or pyarrow than the "
            "run was planned with. Install the same there as here, or use one image for all."
        )
    if not Path(folder).is_dir():
        raise CorpusError(
            f"{folder}: a worker on {socket.gethostname()} does not see this folder. Mount "
            "--output there under the same path."
        )


def do_task(task: Task) -> int:
    """Do a unit, or a merge; raises ``UnitFailedError``."""
    return do_unit(task) if task.unit else do_merge(task)


def do_merge(task: Task) -> int:
    """Merge what the units of a stage made: write its tables, and then its receipt."""
    from corpora.build import Scratch
    from pipelines.unit_writer import MERGED

    scratch = Scratch(Path(task.folder))
    try:
        check_place(task.folder, task.code)
        scratch.tables.mkdir(exist_ok=True)
        work = getattr(import_module(task.pipeline), f"after_{task.stage}")
        _write(task, work(scratch), number=MERGED)
    except (CorpusError, OSError) as error:
        message = explain(error, where=task.folder)
        raise UnitFailedError(FAILURE + message.encode().hex()) from error
    return MERGED


def do_unit(task: Task) -> int:
    """Do a unit: write its shards, and then its receipt; returns its number."""
    unit = from_json(task.unit)
    gc.disable()  # a unit makes millions of small objects, and hardly a cycle
    try:
        check_place(task.folder, task.code)
        _do(task, unit)
    except (CorpusError, OSError) as error:
        message = explain(error, where=f"{task.folder}, unit {unit.number}")
        raise UnitFailedError(FAILURE + message.encode().hex()) from error
    finally:
        gc.enable()
    return int(unit.number)


def _do(task: Task, unit: Any) -> None:
    from corpora.build import Scratch

    work = getattr(import_module(task.pipeline), task.stage or "write")
    _write(task, work(unit, Scratch(Path(task.folder))), number=unit.number)


def _write(task: Task, outcomes: Iterable[Yield], *, number: int) -> None:
    from pipelines.unit_writer import UnitWriter

    writer = UnitWriter(
        Path(task.folder),
        number,
        fingerprint=task.fingerprint,
        datasets=dict(task.datasets),
        stage=task.stage,
    )
    try:
        for outcome in outcomes:
            writer.add(outcome)
    except BaseException:
        writer.abandon()
        raise
    writer.close()
