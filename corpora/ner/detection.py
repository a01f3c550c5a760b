"""Which format a file has, told by its content: by all of it, or the first ``HEAD_BYTES``."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from corpora.errors import UsageError
from corpora.ner.layout import BLANKS, FORMATS, SPACE, TAB, Layout
from corpora.ner.schemes import READABLE, detect_scheme

HEAD_BYTES = 1 << 20
MIN_SHARE = 0.9
"""Of the lines of a table, those that must have as many columns, and a tag in one of them."""
MAX_LINES = 20_000
"""Lines that are cut into columns."""
MIN_RUNNING = 500
"""Lines between empty ones, on average, that are no longer a sentence but a text."""

_CONTRACTION = re.compile(r"\d+[-.]\d+")  # CoNLL-U
_COMMENT = re.compile(r"#(?:\s*$|[\s#])")
_PREFIX = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*:")
_CHUNKS = frozenset({
    "ADJP", "ADVP", "CONJP", "INTJ", "LST", "NC", "NP", "PC", "PP", "PRT", "SBAR", "UCP", "VC",
    "VP",
})  # fmt: skip
_FORCED = {"germeval": (1, 2, 3), "uner": (1, 2, None), "danplus": (0, 1, 2)}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the user says of a file, instead of what it shows."""

    format: str | None = None
    scheme: str | None = None
    tag_column: str | None = None
    """Its number, from 1, or its name in the header."""
    inner_column: str | None = None
    """The same, or ``none``."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Lines cut into columns."""

    separator: str
    rows: Sequence[tuple[str, ...]]
    n_columns: int
    share: float
    """Of the lines, those that have so many columns."""

    def column(self, number: int) -> list[str]:
        return [row[number] for row in self.rows if len(row) == self.n_columns]

    def has_tags(self, number: int, *, blank: str = "") -> bool:
        """Whether there are tags in a column, or what stands for none."""
        values = self.column(number)
        n = sum(bool(READABLE.fullmatch(value)) or value == blank for value in values)
        return n >= MIN_SHARE * max(len(values), 1)


def detect_layout(head: str, *, name: str, said: Overrides) -> Layout:
    """Tell how a file is laid out by its beginning, which ends with a whole line.

    Raises ``UsageError`` where it is none of ``FORMATS``, or not the one that was named.
    """
    text = head.removeprefix("\ufeff")
    start = text.lstrip()[:1]
    form = said.format
    if form in {"json", "cluener"} or (form is None and start in {"[", "{"} and _is_json(text)):
        found = form or ("json" if start == "[" else "cluener")
        layout = Layout(format=found)
    else:
        layout = _detect_columns(text, name=name, said=said)
    return replace(layout, scheme=said.scheme or _scheme(text, layout))


def _is_json(text: str) -> bool:
    return bool(re.match(r"\s*(?:\[\s*(?:\]|\[\s*(?:\]|\[\s*\"))|\{\s*\")", text))


def _detect_columns(text: str, *, name: str, said: Overrides) -> Layout:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if _is_header(lines[0]):
        return _hipe(lines[0], name=name, said=said)
    rows = [line for line in lines[:MAX_LINES] if line.strip()]
    table = _best_table([line for line in rows if not _is_mark(line)]) or _best_table(rows)
    if table is None:
        raise _unknown(name, said)
    layout = _of_table(table, lines, said=said)
    if layout is None:
        raise _unknown(name, said)
    return layout


def _is_header(line: str) -> bool:
    return line.startswith("TOKEN\t") and "\tNE-" in line


def _is_mark(line: str) -> bool:
    return line.startswith(("-DOCSTART-", "<title>")) or bool(_COMMENT.match(line))


def _unknown(name: str, said: Overrides) -> UsageError:
    if said.format:
        return UsageError(
            f"{name}: is not laid out as {said.format}: {FORMATS[said.format]}. Name another "
            "--format, or none."
        )
    return UsageError(
        f"{name}: in no format that is known ({', '.join(FORMATS)}). Name it with --format, or "
        "leave the file out with --exclude."
    )


def _best_table(lines: Sequence[str]) -> _Table | None:
    """Cut lines at tabs, single spaces or any blanks, whichever makes a table with tags."""
    for separator in (TAB, SPACE, BLANKS):
        rows = [tuple(line.split(separator) if separator else line.split()) for line in lines]
        if not rows:
            return None
        [(n_columns, n)] = Counter(map(len, rows)).most_common(1)
        table = _Table(separator, rows, n_columns, n / len(rows))
        if (
            n_columns > 1
            and table.share >= MIN_SHARE
            and any(map(table.has_tags, range(1, n_columns)))
        ):
            return table
    return None


def _of_table(table: _Table, lines: Sequence[str], *, said: Overrides) -> Layout | None:
    """Tell which column holds what."""
    layout = Layout(
        format="conll",
        separator=table.separator,
        n_columns=table.n_columns,
        has_comments=any(line.startswith("#") and not _is_row(line, table) for line in lines),
        tag=table.n_columns - 1,
    )
    if _is_numbered(table):
        layout = _numbered(layout, table)
    elif table.n_columns > 2 and _is_second_level(table):
        form = "danplus" if table.n_columns == 3 else "conll"
        layout = replace(layout, format=form, tag=layout.tag - 1, inner=layout.tag)
    elif table.n_columns == 2:
        layout = _two_columns(layout, table, lines)
    if any(line.startswith("<title>") for line in lines):
        layout = replace(layout, format="titles", tag=table.n_columns - 1, inner=None)
    layout = _named(layout, said, n_columns=table.n_columns)
    columns = [layout.tag, *([] if layout.inner is None else [layout.inner])]
    is_header_missing = layout.format == "hipe"
    if is_header_missing or max(columns) >= table.n_columns or not table.has_tags(layout.tag):
        return None
    return layout


def _is_row(line: str, table: _Table) -> bool:
    """Whether a line with ``#`` is that of a token."""
    row = line.split(table.separator) if table.separator else line.split()
    has_tag = len(row) > 1 and any(READABLE.fullmatch(value) for value in row[1:])
    return len(row) == table.n_columns and has_tag and not _is_numbered(table)


def _is_numbered(table: _Table) -> bool:
    """Whether the first column counts: most numbers are 1, or one more than the one before."""
    if table.n_columns < 3:
        return False
    values = [value for value in table.column(0) if not _CONTRACTION.fullmatch(value)]
    numbers = [int(value) if value.isdecimal() else -1 for value in values]
    steps = sum(b in {1, a + 1} for a, b in pairwise([0, *numbers]))
    return steps >= MIN_SHARE * len(numbers)


def _numbered(layout: Layout, table: _Table) -> Layout:
    if table.n_columns == 4 and table.has_tags(2) and table.has_tags(3):
        return replace(layout, format="germeval", token=1, tag=2, inner=3, is_numbered=True)
    return replace(layout, format="uner", token=1, tag=2, is_numbered=True)


def _is_second_level(table: _Table) -> bool:
    """Whether the last two columns are tags of names; those of chunks are not."""
    outer = table.n_columns - 2
    if not (table.has_tags(outer) and table.has_tags(outer + 1, blank="_")):
        return False
    labels = {value[2:] for value in table.column(outer) if value != "O"}
    return not labels & _CHUNKS and (bool(labels) or table.n_columns == 3)


def _two_columns(layout: Layout, table: _Table, lines: Sequence[str]) -> Layout:
    tokens = table.column(0)
    prefixes = Counter(match[0] for token in tokens if (match := _PREFIX.match(token)))
    for prefix, n in prefixes.most_common(1):
        if n >= MIN_SHARE * len(tokens):
            return replace(layout, format="wikiann", prefix=prefix)
    digits = [token[-1:] for token in tokens if len(token) > 1 and token[-1:].isdecimal()]
    if len(digits) >= MIN_SHARE * len(tokens) and digits.count("0") > len(digits) // 10:
        return replace(layout, format="weibo", has_digits=True)
    is_full = [bool(line.strip()) for line in lines[:MAX_LINES]]
    n_blocks = sum(b and not a for a, b in pairwise([False, *is_full]))
    if sum(is_full) >= MIN_RUNNING * n_blocks:
        return replace(layout, format="europeana")
    return layout


def _hipe(header: str, *, name: str, said: Overrides) -> Layout:
    columns = header.split("\t")
    known = {column: number for number, column in enumerate(columns)}
    if "NE-COARSE-LIT" not in known and said.tag_column is None:
        raise UsageError(f"{name}: has no NE-COARSE-LIT. Name the column with --tag-column.")
    layout = Layout(
        format="hipe",
        n_columns=len(columns),
        tag=known.get("NE-COARSE-LIT", 1),
        inner=known.get("NE-NESTED"),
        misc=known.get("MISC"),
        has_comments=True,
    )
    return _named(layout, said, n_columns=len(columns), columns=columns)


def _named(
    layout: Layout, said: Overrides, *, n_columns: int, columns: Sequence[str] = ()
) -> Layout:
    """Apply what the user says."""
    if said.format and said.format != layout.format:
        token, tag, inner = _FORCED.get(said.format, (0, n_columns - 1, None))
        layout = replace(
            layout,
            format=said.format,
            token=token,
            tag=tag,
            inner=inner,
            is_numbered=said.format in {"germeval", "uner"},
            prefix=layout.prefix if said.format == "wikiann" else "",
            has_digits=said.format == "weibo",
        )
    if said.tag_column is not None:
        tag = _column(said.tag_column, columns, option="--tag-column", n=n_columns)
        layout = replace(layout, tag=tag)
    if said.inner_column == "none":
        layout = replace(layout, inner=None)
    elif said.inner_column is not None:
        inner = _column(said.inner_column, columns, option="--inner-column", n=n_columns)
        layout = replace(layout, inner=inner)
    return layout


def _column(text: str, columns: Sequence[str], *, option: str, n: int) -> int:
    if text in columns:
        return columns.index(text)
    if text.isdecimal() and 1 <= int(text) <= n:
        return int(text) - 1
    there = ", ".join(columns) or f"1 to {n}"
    raise UsageError(f"{option} {text}: no such column. There are {there}.")


def _scheme(text: str, layout: Layout) -> str:
    """Tell the scheme by the sentences of the head."""
    from corpora.ner.found import Origin
    from corpora.ner.readers import read_text

    found = read_text(text.encode(), layout, Origin("head"))
    return detect_scheme(found.tags, found.begins)
