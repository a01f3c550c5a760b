"""Run a chain of commands, from sources to a model, that one file (onoma.toml) lists.

Examples:
  onoma project new wikipedia dawiki      (or: tei, news, chinese) writes onoma.toml and README.md
  onoma project show dawiki               lists the steps, and which are up to date
  onoma project run dawiki                runs the steps that are not; resumes one that was stopped
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypedDict

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import Subcommand, execute, option, option_table, parse_subcommand
from corpora.system.files import check_new, locked
from corpora.system.parsing import parse_json
from corpora.system.writing import output_folder, write_whole
from onoma.project.recipe import (
    FILE,
    RecipeStep,
    check_order,
    missing_inputs,
    read_steps,
    sources_of,
    state_of,
)

KINDS = {"tei": "letters", "wikipedia": "dumps", "news": "archives", "chinese": "novels"}
"""The kinds of recipes, each with the folder that it reads."""
DONE = ".onoma-project.json"
"""The file with the state in which each step was done, by the name of the step."""


_ONOMA = Path(__file__).resolve().parents[1]
_WHERE = "folder with onoma.toml (default: the current folder)"


@option_table
class NewOptions:
    """The kind of a project, and its folder."""

    kind: Literal["tei", "wikipedia", "news", "chinese"] = option(
        "kind of the sources", positional=True
    )
    folder: Path = option("folder to write the files into", positional=True, metavar="DIR")


@option_table
class ShowProjectOptions:
    """The folder of a project, and the form of its list."""

    folder: Path = option(_WHERE, Path(), positional=True, nargs="?", metavar="DIR")
    json: bool = option("print the steps as JSON, for programs")


@option_table
class RunOptions:
    """The folder of a project, and the steps to run."""

    folder: Path = option(_WHERE, Path(), positional=True, nargs="?", metavar="DIR")
    only: tuple[str, ...] = option("names of the steps to run (default: all)", metavar="STEP")
    force: bool = option("run steps that are up to date, too")


class StepFailedError(CorpusError):
    """A command of a step failed, and has printed the reason."""


def new(options: NewOptions) -> Iterator[str]:
    """Write a recipe and a README into a folder; raises ``UsageError`` if others are there."""
    folder = options.folder
    recipe = Path(str(files("onoma.project"))) / "recipes" / f"{options.kind}.toml"
    made = {FILE: recipe.read_bytes(), "README.md": "".join(_readme(folder, recipe)).encode()}
    for name, data in made.items():
        check_new(folder / name, data)
    with output_folder(folder):
        for name, data in made.items():
            write_whole(folder / name, data)
    yield f"made  {folder / FILE}, {folder / 'README.md'}"
    yield f"read  {folder / FILE}: what it does, and what it asks for"
    kind, sources = options.kind, folder / KINDS[options.kind]
    yield f"next  put your files into {sources}, or: onoma sample {kind} {sources}"
    yield f"      onoma project run {folder}"


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


def show(options: ShowProjectOptions) -> Iterator[str]:
    """List the steps: what each reads, and whether it is up to date."""
    folder = options.folder
    steps = _steps(folder)
    done = _done(folder)
    rows: list[_Row] = []
    for step in steps:
        reads = [other.name for other in sources_of(step, steps)]
        is_done = _is_done(step, folder, done)
        rows.append({"step": step.name, "command": step.line, "reads": reads, "done": is_done})
    if options.json:
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


def run(options: RunOptions) -> Iterator[str]:
    """Run the steps that are not up to date, in order; stops at the first that fails."""
    folder = options.folder
    steps = _steps(folder)
    only = set(options.only or [step.name for step in steps])
    if unknown := only - {step.name for step in steps}:
        names = ", ".join(step.name for step in steps)
        raise UsageError(f"--only {', '.join(sorted(unknown))}: there are {names}.")
    with locked(folder / ".onoma-project.lock", busy=partial(_busy, folder)):
        done = {} if options.force else _done(folder)
        asked = [step for step in steps if step.name in only and not _is_done(step, folder, done)]
        if missing := missing_inputs(asked, folder):
            what = ", no ".join(missing)
            raise UsageError(f"{folder / FILE}: there is no {what}. Put it there, or name another.")
        for number, step in enumerate(steps, 1):
            if step.name not in only:
                continue
            head = f"[{number}/{len(steps)}] {step.name}"
            if not options.force and _is_done(step, folder, _done(folder)):
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


def _busy(folder: Path, process: str) -> str:
    return f"{folder}: process {process} runs this project. Wait for it."


def _do(step: RecipeStep, folder: Path) -> None:
    """Run a command in the user's folder, and record the state of its step.

    Meanwhile no state is recorded: the command may change the output, and then fail or be killed.
    """
    from corpora.system.writing import write_json

    before, done = state_of(step, folder), _done(folder)
    if done.pop(step.name, None):
        write_json(folder / DONE, done)
    command = [sys.executable, str(_ONOMA), *step.command_from(folder)]
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


def _steps(folder: Path) -> list[RecipeStep]:
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


def _is_done(step: RecipeStep, folder: Path, done: dict[str, str]) -> bool:
    is_there = not step.output or (folder / step.output).exists()
    return is_there and done.get(step.name) == state_of(step, folder)


_COMMANDS = {
    "new": Subcommand(
        NewOptions,
        new,
        "write a list of steps (onoma.toml) and a README",
        "Write a list of steps (onoma.toml) and a README into a folder.",
    ),
    "show": Subcommand(
        ShowProjectOptions,
        show,
        "list the steps, and which are up to date",
        "List the steps, what each reads, and which are up to date.",
    ),
    "run": Subcommand(
        RunOptions,
        run,
        "run the steps that are not up to date",
        "Run the steps that are not up to date, in order, until one fails.",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    options, work = parse_subcommand(_COMMANDS, argv, name="project", about=__doc__)
    return execute(work, path=options.folder, resumes="The same command resumes.")


if __name__ == "__main__":
    sys.exit(main())
