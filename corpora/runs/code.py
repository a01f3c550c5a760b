"""The code that decides the bytes of a run: the modules that its pipeline imports, and TOML tables.

Imports are found in the source text, also inside functions and as ``"module:function"``, so nothing
is loaded. Comments, docstrings and empty lines are not counted. Nor is code that only starts,
distributes or displays runs, and changes no byte of the output: where only such code has changed, a
run still resumes, and pages are still taken over from an earlier run.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

PACKAGES = ("corpora", "pipelines")
_ROOT = Path(__file__).resolve().parents[2]
_DRIVERS = frozenset(
    f"{folder}/{name}.py"
    for folder, names in {
        "corpora/runs": ("on_bucket",),
        "corpora/store": ("on_bucket",),
        "corpora/system": (
            *("arguments", "buckets", "copies", "extras", "imports", "interrupts", "web"),
            "staging",
        ),
        "pipelines": (
            *("carried", "engine", "in_memory", "on_beam", "options"),
            *("processes", "progress", "run"),
        ),
    }.items()
    for name in names
)
"""Modules that only start, distribute or display runs, or read and write buckets."""
_NAMES = "|".join(PACKAGES)
_IMPORT = re.compile(
    rf"^[ \t]*(?:from\s+((?:{_NAMES})\b[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)"
    rf"|import\s+((?:{_NAMES})\b[\w.]*))|\"((?:{_NAMES})\.[\w.]+):\w+\"",
    re.MULTILINE,
)
_PIECES = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\''''
    r"|#[^\n]*|\\\n|[ \t]*\n|[()\[\]{}]|[^\"'#\\\n()\[\]{}]+|.",
    re.DOTALL,
)
"""Pieces of a source text: strings, comments, ends of lines, brackets, and what is between."""
_COMMAND = '\nif __name__ == "__main__":'


@cache
def code_hash(pipeline: str = "") -> str:
    """Hash the code of one of our pipelines, or else all of ``corpora`` and ``pipelines``.

    The module of a pipeline of somebody else is hashed, too.
    """
    digest = hashlib.sha256()
    is_ours = _module(pipeline).is_file()
    for file in code_of(pipeline) if is_ours else (*_all(), *_of_others(pipeline)):
        name = file.relative_to(_ROOT).as_posix() if file.is_relative_to(_ROOT) else file.name
        text = file.read_text("utf-8")
        text = code_alone(text) if file.suffix == ".py" else text
        digest.update(f"{name}\0{hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return digest.hexdigest()


def code_alone(source: str) -> str:
    """Return a source text without comments, empty lines, and strings that are statements."""
    kept = [""]
    depth, begins_line = 0, True
    for piece, following in pairwise([*_PIECES.findall(source), "\n"]):
        is_end = piece[-1] == "\n" and piece.isspace()
        is_statement = piece[0] in "\"'" and begins_line and not depth and following[-1] == "\n"
        if piece[0] == "#" or is_statement:
            continue
        if is_end:
            kept[-1] = kept[-1].rstrip(" \t")
        depth += (piece in ("(", "[", "{")) - (piece in (")", "]", "}"))
        begins_line = is_end or (begins_line and piece.isspace())
        is_empty = is_end and "".join(kept[-2:])[-1:] in ("", "\n")
        kept.append("" if is_empty else "\n" if is_end else piece)
    return "".join(kept)


@cache
def code_of(pipeline: str) -> tuple[Path, ...]:
    """List the modules that a pipeline imports, directly or not, and the tables beside them."""
    found: set[Path] = set()
    writer = _ROOT / "corpora" / "runs" / "build.py"  # it writes dataset.json
    pending = [_module(pipeline), writer]
    while pending:
        file = pending.pop()
        if file not in found and file.relative_to(_ROOT).as_posix() not in _DRIVERS:
            found.add(file)
            pending += _imported(file.read_text(encoding="utf-8").partition(_COMMAND)[0])
    folders = {file.parent for file in found}
    return tuple(sorted({*found, *_tables(folders)}))


def _of_others(pipeline: str) -> Iterator[Path]:
    """Yield the module of a pipeline that is not ours, which is loaded then."""
    module = sys.modules.get(pipeline)
    if module and module.__file__ and hasattr(module, "phases"):
        yield Path(module.__file__)


def _module(pipeline: str) -> Path:
    return _ROOT / "pipelines" / f"{pipeline}.py"


def _imported(source: str) -> Iterator[Path]:
    """Find our modules that a source text imports, and the packages that contain them."""
    for match in _IMPORT.finditer(source):
        module, names = match[1] or match[3] or match[4], match[2] or ""
        yield from _modules(module)
        for name in re.findall(r"\w+", names):
            yield from _modules(f"{module}.{name}")


def _modules(name: str) -> Iterator[Path]:
    path = _ROOT.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            yield file
    if path.is_dir() and not (path / "__init__.py").is_file():
        return
    if (path.parent / "__init__.py").is_file():
        yield path.parent / "__init__.py"


def _tables(folders: Iterable[Path]) -> Iterator[Path]:
    """Find the TOML tables in these folders, and in their subfolders without code."""
    for folder in folders:
        yield from folder.glob("*.toml")
        for inside in folder.iterdir():
            if inside.is_dir() and not (inside / "__init__.py").exists():
                yield from inside.rglob("*.toml")


def _all() -> Iterator[Path]:
    for package in PACKAGES:
        for file in sorted((_ROOT / package).rglob("*")):
            if file.suffix in {".py", ".toml"}:
                yield file
