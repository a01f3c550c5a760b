"""Print a script by which a shell completes commands, options and their values.

Examples:
  onoma completion bash > ~/.local/share/bash-completion/completions/onoma
  onoma completion zsh > ~/.zfunc/_onoma        (with fpath+=~/.zfunc before compinit)
  onoma completion fish > ~/.config/fish/completions/onoma.fish

Make the folder first if it is missing. Write the script again after an update of Onoma.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

import onoma
from corpora.system.arguments import execute, option, option_table, parse


@dataclass(frozen=True, slots=True)
class CompletionWords:
    """The words that may follow a command."""

    about: str = ""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Each option with the values that it may have; empty: any file, number or text."""
    helps: Mapping[str, str] = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    """Words that may follow without an option: subcommands (``publish``) and choices."""


def words_of(*parsers: argparse.ArgumentParser, about: str = "") -> CompletionWords:
    """Collect the options and words of the parsers of a command and of its subcommands."""
    options: dict[str, tuple[str, ...]] = {}
    helps: dict[str, str] = {}
    positional: list[str] = []
    # argparse has no public way to list options.
    for action in chain.from_iterable(parser._actions for parser in parsers):  # noqa: SLF001
        choices = tuple(map(str, action.choices or ()))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            positional += choices
            inside = words_of(*action.choices.values())
            options |= inside.options
            helps |= inside.helps
        elif action.help is argparse.SUPPRESS:
            continue
        elif not action.option_strings:
            positional += choices
        else:
            name = action.option_strings[-1]
            options[name] = choices
            helps[name] = " ".join((action.help or "").replace("%%", "%").split())
    return CompletionWords(about, options, helps, tuple(positional))


def to_bash(commands: Mapping[str, CompletionWords]) -> Iterator[str]:
    """Write a completion script for bash; files are completed where nothing else fits."""
    yield "_onoma() {"
    yield '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=""'
    yield "  if [ $COMP_CWORD -eq 1 ]; then"
    yield f"    words={shlex.quote(' '.join([*commands, '--help', '--version']))}"
    yield "  else"
    yield "    case ${COMP_WORDS[1]}:$before in"
    for name, words in commands.items():
        for flag, values in words.options.items():
            if values:
                yield f"      {name}:{flag}) words={shlex.quote(' '.join(values))} ;;"
    yield "      *) case ${COMP_WORDS[1]} in"
    for name, words in commands.items():
        found = " ".join([*words.options, *words.positional])
        yield f"        {name}) words={shlex.quote(found)} ;;"
    yield "      esac ;;"
    yield "    esac"
    yield "  fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _onoma onoma"


def to_zsh(commands: Mapping[str, CompletionWords]) -> Iterator[str]:
    """Write a completion script for zsh, which loads the script for bash."""
    yield "#compdef onoma"
    yield "autoload -Uz bashcompinit && bashcompinit"
    yield from to_bash(commands)


def to_fish(commands: Mapping[str, CompletionWords]) -> Iterator[str]:
    """Write a completion script for fish, with the help of each command and option."""
    first = "complete -c onoma -n __fish_use_subcommand"
    for name, words in commands.items():
        yield f"{first} -f -a {name} -d {_fish(words.about)}"
        after = f"complete -c onoma -n '__fish_seen_subcommand_from {name}'"
        if words.positional:
            yield f"{after} -a {_fish(' '.join(words.positional))}"
        for flag, values in words.options.items():
            line = f"{after} -l {flag.removeprefix('--')} -d {_fish(words.helps[flag])}"
            yield f"{line} -x -a {_fish(' '.join(values))}" if values else line


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@option_table
class Options:
    """Options of the command."""

    shell: Literal["bash", "zsh", "fish"] = option("shell to write the script for", positional=True)


def all_words() -> dict[str, CompletionWords]:
    """Collect the words that may follow each command of ``onoma``."""
    commands = onoma.commands()
    return {each.name: words_of(*each.parsers(), about=each.about) for each in commands}


def main(argv: Sequence[str] | None = None) -> int:
    """Write a script; return the exit status."""
    options = parse(Options, argv, name="completion", about=__doc__)
    writers = {"bash": to_bash, "zsh": to_zsh, "fish": to_fish}
    return execute(lambda: writers[options.shell](all_words()), path=Path())


if __name__ == "__main__":
    sys.exit(main())
