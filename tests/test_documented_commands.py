"""Every command that the documentation shows has the name and the options that it shows."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

import onoma

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
COMMANDS = {command.name: command for command in onoma.commands()}
MODULES = {" ".join([c.module, *c.first]): c for c in onoma.commands()}
BLOCK = re.compile(r"^```(?:sh|bash)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands_in(page):
    """Yield each command in the blocks of a page, as words."""
    for block in BLOCK.findall(page.read_text("utf-8")):
        text = re.sub(r"\\\n\s*", " ", block)
        for line in text.splitlines():
            for part in re.split(r" \| | && |\$\(|; ", line):
                try:
                    words = shlex.split(part.strip().rstrip(")\"'"), comments=True)
                except ValueError:
                    continue
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                    words = words[1:]
                if words[:2] == ["python", "-m"] or words[:1] == ["onoma"]:
                    yield words


def test_pages_name_commands_as_they_are_typed():
    others = {"commands.md", "library.md"}  # what else there is to type, and why
    names = (" ".join([command.module, *command.first]) for command in onoma.commands())
    modules = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    typed = re.compile(rf"python3? -m (?:{modules})(?![\w/-]|\.\w)")

    found = [
        f"{page.name}: {match[0]}"
        for page in PAGES
        if page.name not in others
        for match in typed.finditer(page.read_text("utf-8"))
    ]

    assert not found


@cache
def flags_of(command):
    """Return the options of a command, and of those inside it."""
    flags, parsers = set(), command.parsers()
    while parsers:
        for action in parsers.pop()._actions:
            flags.update(action.option_strings)
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
    return flags


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_the_options_that_are_shown(page):
    wrong = []
    for words in commands_in(page):
        if words[0] == "onoma":
            if len(words) < 2 or words[1].startswith("-") or not words[1].isalpha():
                continue
            command, rest = COMMANDS.get(words[1]), words[2:]
        else:
            pair = " ".join(words[2:4])
            command = MODULES.get(pair) or MODULES.get(words[2])
            rest = words[4:] if pair in MODULES else words[3:]
            if words[2].startswith("benchmarks."):
                if not (ROOT / f"{words[2].replace('.', '/')}.py").is_file():
                    wrong.append(words[2])
                continue
            if command is None and words[2].partition(".")[0] not in onoma.PACKAGES:
                continue
        if command is None:
            wrong.append(" ".join(words[:4]))
            continue
        if not any(word.startswith("--runner") for word in rest):  # Beam has options of its own
            flags = {word.partition("=")[0] for word in rest if word.startswith("--")}
            wrong += [f"{command.name} {flag}" for flag in flags - flags_of(command)]

    assert not wrong


OTHERS = {
    *("--add-opens", "--add-exports", "--ff-only", "--runner"),  # of Java, git, Beam
    *("--config-settings", "--editable", "--user"),  # of pip, Docker
}
OPTION = re.compile(r"(?<=`)--[a-z][a-z0-9_-]+(?=[^`\n]*`)")


def options_in_sentences(page):
    """Return the options that stand by themselves in code between words."""
    return OPTION.findall(re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))


def test_options_that_sentences_name_are_those_of_a_command():
    known = OTHERS.union(*map(flags_of, COMMANDS.values()))
    benchmarks = "".join(file.read_text("utf-8") for file in (ROOT / "benchmarks").glob("*.py"))

    wrong = [
        f"{page.name}: {option}"
        for page in PAGES
        for option in options_in_sentences(page)
        if option not in known and "_" not in option and f'"{option}"' not in benchmarks
    ]  # those with _ are Beam's

    assert not wrong
