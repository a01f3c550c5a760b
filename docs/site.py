"""Hooks of mkdocs: the pages of the site, made from the files of the repository.

The front page is README.md; pages are grouped as below, and one that stands in no group comes last.
The reference of commands is their own help, that of the library its docstrings.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import onoma

ROOT = Path(__file__).resolve().parent.parent
GROUPS: Mapping[str, Sequence[str]] = {
    "Start": (
        "index",
        "overview",
        "comparison",
        "commands",
        "projects",
        "library",
        "troubleshooting",
    ),
    "Tutorials": tuple(
        f"tutorials/{name}" for name in ("edition", "wikipedia", "novel", "news", "model")
    ),
    "Editions": ("editions", "registers", "enriching", "workbench"),
    "Corpora": ("wikipedia", "news", "text", "entities", "lexicon", "datasets", "sharing"),
    "Taggers": ("ner", "tagging", "linking", "serving", "spacy", "exporting"),
    "Encoders": ("tokenizers", "examples", "pretraining", "chinese"),
    "Operations": ("refresh", "forgetting", "airflow", "scale", "security-policy"),
    "Reference": ("reference-commands", "reference-library", "results", "benchmarks"),
    "Developers": ("rooms", "contributing", "pipelines", "security", "roadmap", "changelog"),
}
TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages that lie outside of docs/."""
_CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
_HYPHENED = re.compile(r"(?<![^\s>(])(?=[^\s<>&]{2,34}(?![^\s<]))([^\s<>&]*-[^\s<>&]*)")
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Group the pages."""
    pages = {_name_of(file) for file in (ROOT / "docs").rglob("*.md")}
    pages |= {Path(name).stem for name in TOP.values()}
    pages |= {"reference-commands", "reference-library"}
    left = sorted(pages - {name for names in GROUPS.values() for name in names})
    groups = {**GROUPS, "More": left} if left else GROUPS
    config.nav = [
        {title: [f"{name}.md" for name in names if name in pages]}
        for title, names in groups.items()
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside of docs/, those that are made, and files that pages name."""
    made = {page: _moved((ROOT / name).read_text("utf-8"), name) for name, page in TOP.items()}
    made["reference-commands.md"] = "".join(f"{line}\n" for line in command_reference())
    made["reference-library.md"] = "".join(f"{line}\n" for line in library_reference())
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for name in _named_files():
        files.append(File.generated(config, f"files/{name}", content=(ROOT / name).read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Let links lead to what stands in the site; find pages for users first."""
    if page.file.src_uri.removesuffix(".md") in {*GROUPS["Developers"], "results", "benchmarks"}:
        page.meta["search"] = {"boost": 0.1}
    return _moved(markdown, f"docs/{page.file.src_uri}")


def on_page_content(html: str, **_: Any) -> str:
    """Say where code may be divided: names with hyphens nowhere, long words of a table at signs."""
    html = _CELL.sub(lambda cell: _CODE.sub(_in_a_table, cell[0]), html)
    return _CODE.sub(lambda code: _HYPHENED.sub(r"<span class=whole>\1</span>", code[0]), html)


def _in_a_table(code: re.Match[str]) -> str:
    """Change code of a cell; a bar has a backslash there, for those who read the file elsewhere."""
    return re.sub(r"(?<=\w\w)([_.=/:|])(?=\w)", r"\1<wbr>", code[0].replace("\\|", "|"))


def _name_of(page: Path) -> str:
    return page.relative_to(ROOT / "docs").with_suffix("").as_posix()


def _moved(text: str, name: str) -> str:
    """Change the links of a file: to pages, to copies of files, or to nothing."""
    folder = (ROOT / name).parent
    up = "../" * (name.removeprefix("docs/").count("/"))

    def change(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        if not target.exists():
            return match[0]  # of the site already; or broken, which the build reports
        name = target.relative_to(ROOT).as_posix()
        page = TOP.get(name, name.removeprefix("docs/") if name.startswith("docs/") else "")
        if page:
            return f"]({up}{page}{match[2] or ''})"
        return f"]({up}files/{name})" if target.is_file() else "]()"

    text = _LINK.sub(change, text)
    return re.sub(r"\[([^\]]*)\]\(\)", r"\1", text)  # a folder


def _named_files() -> Iterator[str]:
    """Files outside of docs/, and no pages, that a page leads to."""
    found = set()
    for file in [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in TOP)]:
        for match in _LINK.finditer(file.read_text("utf-8")):
            target = (file.parent / match[1]).resolve()
            if target.is_file() and target.is_relative_to(ROOT):
                found.add(target.relative_to(ROOT).as_posix())
    return (name for name in sorted(found) if name not in TOP and not name.startswith("docs/"))


def command_reference() -> Iterator[str]:
    """Write the help of each command."""
    yield from ("# Commands and options", "", "What `onoma COMMAND --help` says.", "")
    for title, commands in onoma.COMMANDS.items():
        yield from (f"## {title}", "")
        for command in commands:
            about = f"{command.about[:1].upper()}{command.about[1:]}."
            yield from (f"### onoma {command.name}", "", about, "")
            for text in _helps(command):
                yield from ("```text", text, "```", "")


def _helps(command: onoma.Command) -> list[str]:
    """The help of a command, and of those inside it."""
    parsers: list[Any] = command.parsers()
    for group in [one._subparsers for one in parsers if one._subparsers]:  # noqa: SLF001
        parsers += group._group_actions[0].choices.values()  # noqa: SLF001
    return [one.format_help().rstrip() for one in parsers]


def library_reference() -> Iterator[str]:
    """Write the signature and the docstring of each public name of ``onoma``."""
    yield from ("# The library", "", "What `import onoma` gives; see also [library](library.md).")
    for name in sorted(onoma.__all__, key=lambda name: (name[0].isupper(), name)):
        thing = getattr(onoma, name)
        yield from ("", f"## {name}", "", "```python", f"{name}{_signature(thing)}", "```", "")
        yield _prose(thing)
        for inner, function in _methods(thing):
            yield from ("", f"### {name}.{inner}", "", "```python")
            yield from (f"{inner}{_signature(function)}", "```", "", _prose(function))


def _methods(thing: Any) -> Iterator[tuple[str, Any]]:
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return
    for name, value in vars(thing).items():
        if not name.startswith("_") and inspect.isfunction(value) and value.__doc__:
            yield name, value


def _signature(thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return ""
    text = str(inspect.signature(thing))
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)
    return re.sub(r"'([A-Z][\w\[\], |.]*)'", r"\1", text)  # types that are named by strings


def _prose(thing: Any) -> str:
    """A docstring as Markdown."""
    return (inspect.getdoc(thing) or "").replace("``", "`")
