"""The steps of a project, from its ``onoma.toml``: what each reads, and whether it is done.

    [[step]]
    onoma = "tei"                   # the command
    input = ["letters/*.xml"]       # --input letters/*.xml
    output = "build/letters"

Other keys are the options of that command. Paths are relative to the folder of the file.
"""

import argparse
import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onoma
from corpora.errors import UsageError
from corpora.runs.code import code_hash
from corpora.system.arguments import parser_of
from corpora.system.parsing import parse_toml
from corpora.system.typed_tables import did_you_mean

FILE = "onoma.toml"
MANIFESTS = ("run.json", "dataset.json", "summary.json", "evaluation.json")
"""The files that describe what a command made: they name all else by hashes, or are written
last."""
_OUTPUTS = ("output", "archive", "shelf", "parquet")
_WRITTEN = frozenset({*_OUTPUTS, "json", "candidates", "decisions"})
"""The options whose paths need not exist."""
_METAVARS = frozenset({"DIR", "FILE", "PATTERN", "STORE", "STORE/NAME"})
"""The metavars of options whose values may be paths, though the parser takes them as texts."""
_NOT_OURS = frozenset({"exclude"})
"""The options whose patterns are names inside other paths, and no paths themselves."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command line."""

    text: str
    option: str = ""
    """The option that the word is a value of; empty for options and commands."""
    before: str = ""
    """The beginning of the word before ``text``: ``gazetteer.path=``."""
    is_path: bool = False

    def seen_from(self, folder: Path) -> str:
        """Return the word as typed where ``folder`` is the path of the project's folder."""
        is_moved = self.is_path and "://" not in self.text
        return f"{self.before}{folder / self.text if is_moved else self.text}"


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """A command with its options."""

    name: str
    words: tuple[str, ...]
    """The words of the command: ``tei``; ``store publish``."""
    arguments: tuple[Word, ...]
    output: str
    """The path that the command writes, relative to the folder; empty if it writes nothing."""
    values: tuple[str, ...]
    """The values of all options, some of which are paths."""

    @property
    def line(self) -> str:
        """The command as it would be typed in the folder."""
        return self.line_from(Path())

    def line_from(self, folder: Path) -> str:
        """Return the command line as typed where the project's folder is ``folder``."""
        return shlex.join(["onoma", *self.command_from(folder)])

    def command_from(self, folder: Path) -> list[str]:
        """Return the words after ``onoma``, for the same folder as ``line_from``."""
        return [*self.words, *(word.seen_from(folder) for word in self.arguments)]


def read_steps(file: Path) -> list[RecipeStep]:
    """Read the steps in order; raises ``UsageError`` for an invalid step."""
    try:
        tables = parse_toml(file.read_text("utf-8"), where=file).get("step", [])
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error}). See onoma project new.") from error
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise UsageError(f"{file}: has no [[step]]. See onoma project new.")
    steps: list[RecipeStep] = []
    for number, table in enumerate(tables, 1):
        step = _step(table, where=f"{file}: step {number}", folder=file.parent)
        if step.name in {other.name for other in steps}:
            raise UsageError(f"{file}: two steps are {step.name!r}. Give one another name = …")
        steps.append(step)
    return steps


def _step(table: Mapping[str, object], *, where: str, folder: Path) -> RecipeStep:
    commands = {command.name: command for command in onoma.commands()}
    options = {key: _at_home(value) for key, value in table.items()}
    name, words = options.pop("name", ""), str(options.pop("onoma", "")).split()
    if not isinstance(name, str):
        raise UsageError(f"{where}: name = {name!r}: a text is expected.")
    if any("\0" in word for value in options.values() for word in _words(value)):
        raise UsageError(f"{where}: a value has a NUL character.")
    if not words or words[0] not in commands or words[0] == "project":
        known = ", ".join(commands)
        raise UsageError(f'{where}: onoma = "{" ".join(words)}": no command. There are: {known}.')
    command = commands[words[0]]
    parser: Any = parser_of(command.main)  # Any: argparse has no public type for its subparsers
    try:
        for word in (*command.first, *words[1:]):
            parser = parser._subparsers._group_actions[0].choices[word]  # noqa: SLF001 - argparse's
    except (AttributeError, KeyError):
        raise UsageError(f'{where}: onoma = "{" ".join(words)}": no command.') from None
    output = next((str(options[key]) for key in _OUTPUTS if key in options), "")
    return RecipeStep(
        name=name or Path(output).name or words[0],
        words=tuple(words),
        arguments=tuple(
            _arguments(parser, options, where=f"{where} ({' '.join(words)})", folder=folder)
        ),
        output=output,
        values=tuple(word for value in options.values() for word in _words(value)),
    )


def _at_home(value: object) -> object:
    """Replace the ``~`` of paths by the home of the user."""
    if isinstance(value, str):
        return os.path.expanduser(value) if value.startswith("~/") else value  # noqa: PTH111
    if isinstance(value, list):
        return [_at_home(one) for one in value]
    if isinstance(value, dict):
        return {key: _at_home(one) for key, one in value.items()}
    return value


def _arguments(
    parser: argparse.ArgumentParser, options: Mapping[str, object], *, where: str, folder: Path
) -> Iterator[Word]:
    """Yield the options as a command line: named ones first, positional ones after ``--``."""
    named = {flag: a for a in parser._actions for flag in a.option_strings}  # noqa: SLF001
    alone = {a.dest: a for a in parser._actions if not a.option_strings}  # noqa: SLF001
    for key, value in options.items():
        flag = f"--{key.replace('_', '-')}"
        if key in alone:
            continue
        if flag not in named:
            known = sorted(f.removeprefix("--") for f in named if f.startswith("--"))
            why = f"no option of this command{did_you_mean(key, known)}"
            raise UsageError(f"{where}: {key}: {why}. There are: {', '.join(known)}.")
        if value is not False:
            yield Word(flag)
            yield from _values(named[flag], value, folder)
    if found := [
        w for key in alone if key in options for w in _values(alone[key], options[key], folder)
    ]:
        yield from (Word("--"), *found)


def _values(action: argparse.Action, value: object, folder: Path) -> Iterator[Word]:
    """Yield the values of an option, marked if they are paths."""
    for word in _words(value):
        key, is_setting, text = word.partition("=")
        if isinstance(value, dict) and is_setting and key.endswith(".path"):
            yield Word(text, action.dest, f"{key}=", is_path=True)
        else:
            yield Word(word, action.dest, is_path=_is_path(action, word, folder))


def _is_path(action: argparse.Action, text: str, folder: Path) -> bool:
    if action.type is Path:
        return True
    kinds = str(action.metavar).split("|")
    if action.dest in _NOT_OURS or not _METAVARS & set(kinds):
        return False
    # The value may also be the name of something that ships with Onoma.
    return len(kinds) == 1 or "/" in text or bool(Path(text).suffix) or (folder / text).exists()


def _words(value: object) -> list[str]:
    if isinstance(value, bool):
        return []
    if isinstance(value, dict):  # set = {"training.max_steps" = 150}
        texts = {key: v if isinstance(v, str) else json.dumps(v) for key, v in value.items()}
        return [f"{key}={text}" for key, text in texts.items()]
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def sources_of(step: RecipeStep, steps: Sequence[RecipeStep]) -> list[RecipeStep]:
    """Find the steps whose output a step reads."""
    return [
        other
        for other in steps
        if other is not step
        and other.output
        and any(_is_inside(value, other.output) for value in step.values if value != step.output)
    ]


def _is_inside(path: str, folder: str) -> bool:
    inside, outside = Path(path).parts, Path(folder).parts
    return inside[: len(outside)] == outside


def check_order(steps: Sequence[RecipeStep], *, file: Path) -> None:
    """Raise ``UsageError`` if a step reads the output of a later one."""
    for number, step in enumerate(steps):
        for other in sources_of(step, steps[number:]):
            raise UsageError(f"{file}: {step.name} reads {other.output}, which a later step makes.")


def missing_inputs(steps: Sequence[RecipeStep], folder: Path) -> list[str]:
    """List the inputs that neither exist nor are made by another step."""
    return [
        f"{word.seen_from(folder)} ({word.option} of {step.name})"
        for step in steps
        for word in step.arguments
        if word.is_path
        and word.option not in _WRITTEN
        and "://" not in word.text
        and not any(s.output and _is_inside(word.text, s.output) for s in steps)
        and not any(path.exists() for path in _matching(word.text, folder))
    ]


def state_of(step: RecipeStep, folder: Path) -> str:
    """Hash all that a step depends on: its command, its inputs, and the code of Onoma.

    For outputs of commands, their manifests are hashed; for other files, name, size and time.
    """
    digest = hashlib.sha256(f"{code_hash()}\0{step.line}\0".encode())
    for value in step.values:
        if value != step.output:
            for line in _input_lines(value, folder):
                digest.update(f"{line}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _input_lines(value: str, folder: Path) -> Iterator[str]:
    if not value or "://" in value or not _may_be_path(value):
        return
    for path in _matching(value, folder):
        yield from _described(path)


def _may_be_path(value: str) -> bool:
    """Tell whether a value is short enough for a path, and for each name in it (bytes, Linux)."""
    lengths = [len(part.encode()) for part in value.split("/")]
    return "\0" not in value and sum(lengths) <= 1000 and max(lengths) <= 255


def _matching(value: str, folder: Path) -> list[Path]:
    """List the files that match a pattern; a plain path is returned even if it does not exist."""
    path = Path(value)
    if not any(sign in value for sign in "*?["):
        return [folder / path]
    root = Path(path.anchor) if path.anchor else folder
    try:
        return sorted(root.glob(str(path.relative_to(path.anchor))))
    except ValueError:  # two stars beside something else, as in a regular expression
        return []


def _described(path: Path) -> Iterator[str]:
    if path.is_file():
        about = path.stat()
        yield f"{path.name} {about.st_size} {about.st_mtime_ns}"
    elif path.is_dir():
        manifests = [file for name in MANIFESTS if (file := path / name).is_file()]
        if manifests:
            yield from (hashlib.sha256(file.read_bytes()).hexdigest() for file in manifests)
            return
        for parent, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                file = Path(parent, name)
                about = file.stat() if file.exists() else file.lstat()  # a link to nothing
                yield f"{parent}/{name} {about.st_size} {about.st_mtime_ns}"
