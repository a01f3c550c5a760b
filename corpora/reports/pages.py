"""Pages made of blocks, as Markdown or as one HTML file, and pages of other templates.

All HTML is made by the jinja2 templates of ``templates/``, which escape whatever they are given,
with one style sheet. A page loads no other files.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from corpora.reports import on_one_line

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of the page (level 1) or of a section (level 2 or 3)."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; ``kind`` is a class of the style sheet, as ``good`` or ``far``."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first row is the head, and the first column names the rows."""

    rows: Sequence[Sequence[object]]
    shades: Sequence[Sequence[float]] = ()
    """The darkness, from 0 to 1, of each cell outside the first row and column; HTML only."""
    n_texts: int = 1
    """The number of columns, from the left, that hold texts; the others hold numbers."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An ``svg`` element of ours; Markdown leaves it out, because a table has its numbers."""

    svg: str


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Preformatted text, such as settings."""

    text: str


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that a reader opens; HTML only."""

    summary: str
    blocks: Sequence["Block"]


Block = Heading | Prose | Items | Table | Picture | Preformatted | Details


_MARKUP = re.compile(r"[\\`*_\[\]<>|#$]|&(?=#?\w+;)|~(?=~)|(?<=~)~")
"""Matches what is markup in Markdown, also GitHub's: formulas, entities, text struck through."""


def to_markdown(blocks: Sequence[Block]) -> str:
    """Render the page as Markdown, without its pictures."""
    return "\n\n".join(text for block in blocks for text in _markdown(block)) + "\n"


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {_plain(text)}"
        case Prose(text):
            yield _plain(text)
        case Items(texts):
            yield "\n".join(f"- {_plain(text)}" for text in texts)
        case Table(rows, _, n_texts):
            head, *body = ([_plain(str(cell)) for cell in row] for row in rows)
            rules = ["---"] * n_texts + ["---:"] * (len(head) - n_texts)
            yield "\n".join(f"| {' | '.join(row)} |" for row in (head, rules, *body))
        case Preformatted(text):
            fence = "```"
            while fence in text:
                fence += "`"
            yield f"{fence}\n{text}\n{fence}"


def _plain(text: str) -> str:
    """Escape the characters that are markup in Markdown, and collapse white space."""
    return " ".join(_MARKUP.sub(r"\\\g<0>", text).split())


def to_html(blocks: Iterable[Block]) -> str:
    """Render the page as one HTML file; the first block is its title."""
    title, *rest = blocks
    assert isinstance(title, Heading)  # noqa: S101 - all pages have one
    return render("blocks", title=title.text, blocks=rest)


def render(template: str, **values: object) -> str:
    """Render a page by a template; its text is escaped, except what is ``Markup`` already."""
    return _templates().get_template(f"{template}.html").render(values) + "\n"


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=PackageLoader("corpora.reports"),
    )
    environment.filters["on_one_line"] = on_one_line
    environment.filters["shade"] = _shade
    environment.tests["of_kind"] = lambda block, kind: type(block).__name__ == kind
    return environment


def _shade(darkness: float) -> str:
    """Return the colour of a cell, on which dark ink can be read: white at 0, blue at 1."""
    return ",".join(str(round(255 + darkness * (full - 255))) for full in (106, 160, 218))
