"""Run a chain of commands, from sources to a model, that one file (onoma.toml) lists.

Examples:
  onoma project new wikipedia dawiki      (or: tei, news, chinese) writes onoma.toml and README.md
  onoma project show dawiki               lists the steps, and which are up to date
  onoma project run dawiki                runs the steps that are not; resumes one that was stopped
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TypedDict

from corpora.errors import CorpusError, UsageError
from corpora.project.recipe import (
    FILE,
    Step,
    check_order,
    missing_inputs,
    read_steps,
    sources_of,
    state_of,
)
from corpora.system.arguments import execute, make_parser
from corpora.system.files import check_new, locked, write_whole
from corpora.system.parsing import parse_json

KINDS = {"tei": "letters", "wikipedia": "dumps", "news": "archives", "chinese": "novels"}
"""The kinds of recipes, each with the folder that it reads."""
DONE = ".onoma-project.json"
"""The file with the state in which each step was done, by the name of the step."""


class StepFailedError(CorpusError):
    """A command of a step failed, and has printed the reason."""


def new(arguments: argparse.Namespace) -> Iterator[str]:
    """Write a recipe and a README into a folder; raises ``UsageError`` if others are there."""
    folder: Path = arguments.folder
    recipe = Path(str(files("corpora.project"))) / "recipes" / f"{arguments.kind}.toml"
    made = {FILE: recipe.read_bytes(), "README.md": "".join(_readme(folder, recipe)).encode()}
    for name, data in made.items():
        check_new(folder / name, data)
    for name, data in made.items():
        write_whole(folder / name, data)
    yield f"made  {folder / FILE}, {folder / 'README.md'}"
    yield f"read  {folder / FILE}: what it does, and what it asks for"
    kind, sources = arguments.kind, folder / KINDS[arguments.kind]
    yield f"next  put your files into {sources}, or: python -m corpora.samples {kind} {sources}"
    yield f"      python -m corpora.project run {folder}"


def _readme(folder: Path, recipe: Path) -> Iterator[str]:
    yield f"# {folder.resolve().name}\n\n"
    comment = recipe.read_text("utf-8").partition("\n\n")[0]
    yield "".join(f"{line.removeprefix('#').strip()}\n" for line in comment.splitlines())
    yield f"\n`onoma project run` does all steps of `{FILE}`:\n\n```\n"
    yield from (f"{step.line}\n" for step in read_steps(recipe))
    yield "```\n"


class _Row(TypedDict):
    """The line of ``show`` for a step."""

    step: str
    command: str
    reads: list[str]
    done: bool


def show(arguments: argparse.Namespace) -> Iterator[str]:
    """List the steps: what each reads, and whether it is up to date."""
    folder: Path = arguments.folder
    steps = _steps(folder)
    done = _done(folder)
    rows: list[_Row] = []
    for step in steps:
        reads = [other.name for other in sources_of(step, steps)]
        is_done = _is_done(step, folder, done)
        rows.append({"step": step.name, "command": step.line, "reads": reads, "done": is_done})
    if arguments.json:
        yield json.dumps(rows, ensure_ascii=False, indent=1)
        return
    width = max(len(step.name) for step in steps)
    for row in rows:
        sign = "✓" if row["done"] else "·"
        after = f"  ← {', '.join(row['reads'])}" if row["reads"] else ""
        yield f"{sign} {row['step']:<{width}}{after}".rstrip()
        yield f"    {row['command']}"
    for each in missing_inputs(steps, folder):
        yield f"missing  {each}"


def run(arguments: argparse.Namespace) -> Iterator[str]:
    """Run the steps that are not up to date, in order; stops at the first that fails."""
    folder: Path = arguments.folder
    steps = _steps(folder)
    only = set(arguments.only or [step.name for step in steps])
    if unknown := only - {step.name for step in steps}:
        names = ", ".join(step.name for step in steps)
        raise UsageError(f"--only {', '.join(sorted(unknown))}: there are {names}.")
    with locked(folder / ".onoma-project.lock", busy=partial(_busy, folder)):
        done = {} if arguments.force else _done(folder)
        asked = [step for step in steps if step.name in only]
        _check_inputs([step for step in asked if not _is_done(step, folder, done)], folder)
        for number, step in enumerate(steps, 1):
            if step.name not in only:
                continue
            head = f"[{number}/{len(steps)}] {step.name}"
            if not arguments.force and _is_done(step, folder, _done(folder)):
                yield f"{head}: up to date"
                continue
            yield f"{head}: {step.line_from(folder)}"
            sys.stdout.flush()
            _do(step, folder)
        left = [step.name for step in steps if not _is_done(step, folder, _done(folder))]
    if left:
        yield f"{folder}: not up to date: {', '.join(left)}"
    else:
        yield f"{folder}: all steps are done"


def _check_inputs(steps: list[Step], folder: Path) -> None:
    """Raise ``UsageError`` with all missing inputs, before anything runs."""
    if missing := missing_inputs(steps, folder):
        raise UsageError(
            f"{folder / FILE}: there is no {', no '.join(missing)}. Put it there, or name another."
        )


def _busy(folder: Path, process: str) -> str:
    return f"{folder}: process {process} runs this project. Wait for it."


def _do(step: Step, folder: Path) -> None:
    """Run a command in the user's folder, and record the state of its step.

    Meanwhile no state is recorded: the command may change the output, and then fail or be killed.
    """
    from corpora.datasets.shards import write_json

    before, done = state_of(step, folder), _done(folder)
    if done.pop(step.name, None):
        write_json(folder / DONE, done)
    [onoma] = import_module("onoma").__path__
    command = [sys.executable, onoma, *step.command_from(folder)]
    status = status_of(command)
    if status:
        raise StepFailedError(
            f"{step.name}: exit status {status}. Repair what it says, and run the same command: "
            "what is done stays done."
        )
    write_json(folder / DONE, {**done, step.name: before})


def status_of(command: Sequence[str]) -> int:
    """Run a command, and return its exit status.

    Ctrl-C reaches the command, too, which may need a while to end in order (a checkpoint); a second
    one kills it.
    """
    with subprocess.Popen(command) as process:
        try:
            try:
                return process.wait()
            except KeyboardInterrupt:
                process.wait()
                raise
        except BaseException:
            process.kill()
            raise


def _steps(folder: Path) -> list[Step]:
    steps = read_steps(folder / FILE)
    check_order(steps, file=folder / FILE)
    return steps


def _done(folder: Path) -> dict[str, str]:
    try:
        return dict(parse_json((folder / DONE).read_text("utf-8")))
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError) as error:
        raise CorpusError(f"{folder / DONE}: damaged ({error}). Remove it.") from error


def _is_done(step: Step, folder: Path, done: dict[str, str]) -> bool:
    is_there = not step.output or (folder / step.output).exists()
    return is_there and done.get(step.name) == state_of(step, folder)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser("corpora.project", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser(
        "new",
        help="write a list of steps (onoma.toml) and a README",
        description="Write a list of steps (onoma.toml) and a README into a folder.",
    )
    maker.add_argument("kind", choices=tuple(KINDS), help="kind of the sources")
    maker.add_argument("folder", type=Path, metavar="DIR", help="folder to write the files into")
    maker.set_defaults(do=new)
    where = "folder with onoma.toml (default: the current folder)"
    shower = commands.add_parser(
        "show",
        help="list the steps, and which are up to date",
        description="List the steps, what each reads, and which are up to date.",
    )
    shower.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR", help=where)
    shower.add_argument("--json", action="store_true", help="print the steps as JSON, for programs")
    shower.set_defaults(do=show)
    runner = commands.add_parser(
        "run",
        help="run the steps that are not up to date",
        description="Run the steps that are not up to date, in order, until one fails.",
    )
    runner.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="DIR", help=where)
    runner.add_argument(
        "--only", nargs="+", metavar="STEP", help="names of the steps to run (default: all)"
    )
    runner.add_argument("--force", action="store_true", help="run steps that are up to date, too")
    runner.set_defaults(do=run)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = _arguments(argv)
    interrupted = "interrupted. The same command resumes."
    return execute(lambda: arguments.do(arguments), path=arguments.folder, interrupted=interrupted)


if __name__ == "__main__":
    sys.exit(main())
