"""Entity dictionaries of novels and news: the names of each work, for ``onoma augment``.

Blocks of 14 lines (novels): the title; six pairs of a heading and a line of names with blanks
between; a last line. Blocks of 3 lines (news, finance): the title, the names, a last line. The last
line is empty. The same name in two works means two entities, ``WORK:NAME``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import UsageError

LONG, SHORT = 14, 3


@dataclass(frozen=True, slots=True)
class Work:
    """A work, and the names in it."""

    title: str
    names: tuple[str, ...]
    """The names, each once, in the order of the file."""


def read_dictionary(path: Path) -> list[Work]:
    """Read a dictionary of either form; raises ``UsageError`` with file and line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--dictionary {path}: cannot be read ({error}).") from error
    lines = [" ".join(line.split()) for line in text.rstrip().split("\n")]
    fitting = [size for size in (SHORT, LONG) if all(_fits(b, size) for b in _blocks(lines, size))]
    if len(fitting) != 1 or not text.strip():
        raise UsageError(
            f"--dictionary {path}: blocks of neither {SHORT} nor {LONG} lines (title, names, "
            "empty; or title, six times heading and names, empty). Fix the file."
        )
    [size] = fitting
    works: dict[str, Work] = {}
    for index, block in enumerate(_blocks(lines, size)):
        title, where = block[0], f"{path}:{index * size + 1}"
        if not title:
            raise UsageError(f"{where}: no title. A block has {size} lines, the last one empty.")
        if title in works:
            raise UsageError(f"{where}: {title} is a title for the second time. Join the two.")
        listed = block[1:2] if size == SHORT else block[2:13:2]
        names = dict.fromkeys(name for line in listed for name in line.split())
        works[title] = Work(title, tuple(names))
    return list(works.values())


def _blocks(lines: Sequence[str], size: int) -> list[Sequence[str]]:
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def _fits(block: Sequence[str], size: int) -> bool:
    """Tell whether a block of this size ends with an empty line, and has its headings."""
    headings = block[1:13:2] if size == LONG else block[:1]
    n_headings = 6 if size == LONG else 1
    return len(headings) == n_headings and all(headings) and not any(block[size - 1 :])


def forms(works: Sequence[Work]) -> Iterator[str]:
    """Yield lines ``form TAB entity``, as ``onoma augment --forms`` reads them."""
    for work in works:
        for name in work.names:
            yield f"{name}\t{work.title}:{name}\n"
