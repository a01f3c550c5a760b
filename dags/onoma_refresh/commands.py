"""Run ``python -m …`` in the environment that the settings name, its output in the task's log.

A command that was stopped or killed is run again by Airflow, and goes on: that is the contract of
every command here. What trying again cannot mend ends the task at once.
"""

import logging
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from onoma_refresh.environment import environment_of, interpreter
from onoma_refresh.results import describe_rejects
from onoma_refresh.settings import Settings

log = logging.getLogger(__name__)
LEASH = Path(__file__).with_name("leash.py")
WRONG_COMMAND, TOO_FAR = 2, 3
"""Exit statuses: options that cannot be; a limit of drift or scores was passed."""
_LAST_LINES = 8


class StoppedError(AirflowFailException):
    """A command passed a limit that must not be passed (exit status 3)."""


def run(
    settings: Settings, module: str, *arguments: str | Path, output: Path | None = None
) -> list[str]:
    """Run ``python -m MODULE ARGUMENTS``; returns the lines that it wrote.

    ``output``: a folder whose rejects are told where it fails. Raises ``StoppedError`` for exit
    status 3, ``AirflowFailException`` where options are wrong, ``AirflowException`` for the rest,
    which Airflow tries again.
    """
    command = [interpreter(settings), "-m", module, *map(str, arguments)]
    log.info("%s", " ".join(command))
    status, lines = stream(command, folder=settings.folder, environment=environment_of(settings))
    if not status:
        return lines
    last = "\n".join(lines[-_LAST_LINES:])
    told = [f"{module}: exit status {status}.", last, *describe_rejects(output)]
    message = "\n".join(part for part in told if part)
    if status == TOO_FAR:
        raise StoppedError(message)
    raise (AirflowFailException if status == WRONG_COMMAND else AirflowException)(message)


def stream(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str]
) -> tuple[int, list[str]]:
    """Run a command on the leash of this process; returns its exit status and its last lines."""
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
        start_new_session=True,  # what ends the task's own group must not end the leash before
    )
    assert process.stdin  # noqa: S101 - for mypy
    assert process.stdout  # noqa: S101
    lines: deque[str] = deque(maxlen=1000)
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            log.info("%s", lines[-1])
    finally:
        process.stdin.close()  # of a task that is stopped or timed out: ends the command
        process.stdout.close()
        status = process.wait()
    return status, list(lines)
