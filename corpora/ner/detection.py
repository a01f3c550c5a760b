"""Detect the format of a NER file by its content: by all of it, or the first ``HEAD_BYTES``."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from corpora.errors import UsageError
from corpora.ner.bars import bars_layout
from corpora.ner.brackets import has_names as has_brackets
from corpora.ner.brat import is_standoff
from corpora.ner.formats import FORMATS
from corpora.ner.layout import BLANKS, OUTSIDE, SPACE, TAB, USUAL, FileLayout
from corpora.ner.markup import names_in_text
from corpora.ner.schemes import (
    CONTINUING,
    LABEL,
    LETTERS,
    NOTHING,
    READABLE,
    SUFFIXED,
    detect_scheme,
)
from corpora.ner.webanno import webanno_layout

HEAD_BYTES = 1 << 20
MIN_RATIO = 0.9
"""The least ratio of a table's lines that must have the same number of columns, and of a column's
values that must be tags."""
MAX_LINES = 20_000
"""The most lines that are split into columns."""
MAX_COLUMNS = 200
"""The most columns of a table; a line with more is prose."""
MIN_RUNNING = 500
"""The mean number of lines between empty ones from which on they are a running text, not a
sentence."""

_CONTRACTION = re.compile(r"\d+[-.]\d+")  # as in CoNLL-U: ids of contractions and empty nodes
_MARK = re.compile(r"-DOCSTART-|<title>|#(?:\s*$|[\s#])")
_OTHER_MARKS = ";$%"
"""The characters with which comments begin in few sets."""
_PREFIX = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*:")
_GLOBAL_COLUMNS = re.compile(r"#\s*global\.columns\s*=\s*(.*\S)\s*")
_OF_NAMES = re.compile(r"(?:.*:)?(?:NER|NE)", re.IGNORECASE)  # as CONLL:NER
N_CONLLU = 10
"""The number of columns in CoNLL-U; MISC is the last."""
_LABEL = re.compile(r"(?!.*[-_][BIMESLUW]$)[^\W\d_][^\s^]+")  # no B, I alone, no PER-B, no O^O
_CHUNKS = frozenset({
    "ADJP", "ADVP", "CONJP", "INTJ", "LST", "NC", "NP", "PC", "PP", "PRT", "SBAR", "UCP", "VC",
    "VP",
})  # fmt: skip
_NOT_READ = {
    r"version https://git-lfs\.": "is a pointer of Git LFS, not the file. Fetch it: git lfs pull.",
    r"#begin document": "is CoNLL-2012 without names: they would stand in its eleventh column, in "
    "brackets. Leave the file out with --exclude.",
    r"\s*<(?:[?!]|[A-Za-z][\w:.-]*[\s>])": "is XML or SGML in which no name is in tags in a text. "
    "TEI is read by onoma tei. Write other texts and their names as JSON Lines (spans in "
    "docs/ner.md), or leave the file out with --exclude.",
}
"""Beginnings of files that are not read, each with what to say."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """The user's statements about a file, which override what is detected."""

    format: str | None = None
    scheme: str | None = None
    tag_column: str | None = None
    """The column of tags: its number, from 1, or its name in the header; None: detected."""
    inner_column: str | None = None
    """The column of inner tags, given in the same way, or ``none``; None: detected."""


@dataclass(frozen=True)
class _Table:
    """Lines split into columns."""

    separator: str
    rows: Sequence[list[str]]
    n_columns: int

    @classmethod
    def of(cls, lines: Sequence[str], *, form: str | None) -> "_Table | None":
        """Split lines at tabs, single spaces or blanks: the first that gives a table with tags.

        A table with labels does, too, and any table if the user says that it has labels.
        """
        for separator in (TAB, SPACE, BLANKS) if lines else ():
            widths = [
                line.count(separator) + 1 if separator else len(line.split()) for line in lines
            ]
            [(n_columns, n)] = Counter(widths).most_common(1)
            if not (1 < n_columns <= MAX_COLUMNS and n >= MIN_RATIO * len(lines)):
                continue
            table = cls(separator, [line.split(separator or None) for line in lines], n_columns)
            has_tags = table.has_tags_first or any(map(table.can_be_tags, range(1, n_columns)))
            if form == "labels" or has_tags:
                return table
        return None

    @cached_property
    def columns(self) -> list[tuple[str, ...]]:
        """The values of each column, in the rows that have all columns."""
        return [*zip(*(row for row in self.rows if len(row) == self.n_columns), strict=True)]

    @cached_property
    def counts(self) -> list[Counter[str]]:
        """The values of each column, with the number of rows that have them."""
        return [*map(Counter, self.columns)]

    def has_tags(self, index: int, *, blank: str | None = None) -> bool:
        """Tell whether a column holds tags, or ``blank`` for none."""
        counts, plain = self.counts[index], {blank, *CONTINUING}
        n = sum(n for value, n in counts.items() if READABLE.fullmatch(value) or value in plain)
        return n >= MIN_RATIO * counts.total()

    def has_labels(self, index: int, *, is_said: bool = False) -> bool:
        """Tell whether a column holds labels without ``B-`` and ``I-``: words, and ``O`` or ``0``.

        Parts of speech are words, too. So half of the values must be ``O``, unless the user says
        that they are labels. Chunks and ``B``, ``I`` without a label are none.
        """
        counts = self.counts[index].copy()
        n_outside = sum(counts.pop(value, 0) for value in OUTSIDE)
        n_labels = sum(n for value, n in counts.items() if LABEL.fullmatch(value))
        if is_said or n_labels < MIN_RATIO * counts.total():
            return n_labels >= MIN_RATIO * counts.total()
        is_word = all(_LABEL.fullmatch(value) for value in counts if LABEL.fullmatch(value))
        is_rare = 0 < counts.total() <= n_outside
        return is_rare and is_word and not counts.keys() & _CHUNKS

    def can_be_tags(self, index: int) -> bool:
        """Tell whether a column holds tags, or labels."""
        return self.has_tags(index) or self.has_labels(index) or self.spelling(index) != USUAL

    def spelling(self, index: int) -> str:
        """Tell how the tags of a column are written, as in a ``FileLayout``."""
        counts = self.counts[index].copy()
        n_outside = sum(counts.pop(value, 0) for value in NOTHING)
        n_tags = sum(n for value, n in counts.items() if READABLE.fullmatch(value))
        if not n_outside or 10 * n_tags >= counts.total():
            return USUAL
        if counts.keys() <= LETTERS and not counts.keys() <= CONTINUING:
            return "B"
        n_suffixed = sum(n for value, n in counts.items() if SUFFIXED.fullmatch(value))
        return "PER-B" if n_suffixed >= MIN_RATIO * counts.total() else USUAL

    @cached_property
    def has_tags_first(self) -> bool:
        """Whether the first of two columns holds tags, and the second words."""
        if self.n_columns != 2:
            return False
        has_words = not all(map(str.isdecimal, self.counts[1]))  # a list of tags has numbers
        are_tags = self.has_tags(0) or self.spelling(0) == "PER-B"
        return has_words and are_tags and not self.can_be_tags(1)

    @cached_property
    def is_numbered(self) -> bool:
        """Whether the first column counts tokens, words or sentences.

        Most values are 1, that of the row before, or one more.
        """
        if self.n_columns < 3:
            return False
        values = [value for value in self.columns[0] if not _CONTRACTION.fullmatch(value)]
        if 2 * len(values) < len(self.columns[0]):
            return False
        numbers = [int(value) if value.isdecimal() else -1 for value in values]
        steps = sum(b >= 0 and b in {1, a, a + 1} for a, b in pairwise([0, *numbers]))
        return steps >= MIN_RATIO * len(numbers)

    def is_row(self, line: str) -> bool:
        """Tell whether a line with ``#`` is the row of a token."""
        row = line.split(self.separator or None)
        has_tag = any(READABLE.fullmatch(value) for value in row[1 - self.has_tags_first :])
        return len(row) == self.n_columns and has_tag and not self.is_numbered

    def has_names(self, index: int) -> bool:
        """Tell whether a column holds tags of names, not all ``O``; tags of chunks are none."""
        labels = {value[2:] for value in self.counts[index]} - {""}
        return bool(labels) and not labels & _CHUNKS and self.has_tags(index, blank="_")

    @cached_property
    def has_second_level(self) -> bool:
        """Whether the last two columns are both tags of names; tags of chunks are not."""
        outer = self.n_columns - 2
        if not (self.has_tags(outer) and self.has_tags(outer + 1, blank="_")):
            return False
        return self.has_names(outer) or (self.n_columns == 3 and self.counts[outer].keys() == {"O"})

    @cached_property
    def levels(self) -> list[int]:
        """The columns with tags of names."""
        return [index for index in range(1, self.n_columns) if self.has_names(index)]


def detect_layout(head: str, *, name: str, overrides: Overrides) -> FileLayout:
    """Detect the layout of a file from its beginning, which ends with a whole line.

    Raises ``UsageError`` if it is none of ``FORMATS``, or not the one that the user named.
    """
    text = head.removeprefix("\ufeff")
    form = overrides.format or _by_beginning(text, name=name)
    if form and (FORMATS[form].is_json or _begins(text, form, name=name)):
        layout = FileLayout(format=form, key=overrides.tag_column or "")
        if form == "webanno":
            layout = webanno_layout(text, name=name, tag_column=overrides.tag_column)
    elif form in {None, "csv"} and (layout_of_csv := _csv(text, name=name, overrides=overrides)):
        layout = layout_of_csv
    else:
        layout = _detect_columns(text, name=name, overrides=overrides)
    check_options(layout, overrides, name=name)
    return replace(layout, scheme=_scheme(text, layout, overrides=overrides))


def _by_beginning(text: str, *, name: str) -> str | None:
    """Find the format of a file whose first characters are enough; None if they are not."""
    is_json = text.lstrip()[:1] in {"[", "{"}
    form = next((form for form in FORMATS if _begins(text, form, name=name)), None)
    return form or (_json(text, name=name) if is_json else None)


def _begins(text: str, form: str, *, name: str) -> bool:
    """Tell whether a text begins as files of a format do that are recognised by it."""
    if form == "brat":
        return is_standoff(text, name=name)
    if form == "conll2012":
        return has_brackets(text)
    pattern = FORMATS[form].begins
    return bool(pattern and re.match(pattern, text))


def check_options(layout: FileLayout, overrides: Overrides, *, name: str) -> None:
    """Raise ``UsageError`` for an option about which the format has nothing to say."""
    kind = layout.kind
    unknown = {
        "--tag-column": overrides.tag_column and "--tag-column" not in kind.options,
        "--inner-column": overrides.inner_column and "--inner-column" not in kind.options,
        "--scheme": overrides.scheme and kind.scheme not in {None, overrides.scheme},
    }
    if options := [option for option, is_unknown in unknown.items() if is_unknown]:
        raise UsageError(
            f"{name}: is in the format {layout.format}, which has no use for "
            f"{', '.join(options)}. Leave it out, or read the file in a run of its own."
        )


def _json(text: str, *, name: str) -> str | None:
    """Find the format of a file that begins as JSON does."""
    from corpora.ner.records import format_of

    is_array = re.match(r"\s*\[\s*(?:\]|\[\s*(?:\]|\[\s*\"))", text)
    return "json" if is_array else format_of(text, name=name)


def _csv(text: str, *, name: str, overrides: Overrides) -> FileLayout | None:
    """Find the columns of CSV by its header."""
    from corpora.ner.csv import check_tags, csv_layout

    columns = csv_layout(
        text, name=name, is_said=overrides.format == "csv", tag_column=overrides.tag_column
    )
    if columns is None:
        return None
    layout = _named(columns[0], overrides, columns[1])
    check_tags(text, layout, name=name)
    return layout


def _detect_columns(text: str, *, name: str, overrides: Overrides) -> FileLayout:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if lines[0].startswith("TOKEN\t") and "\tNE-" in lines[0]:
        return _hipe(lines[0], name=name, overrides=overrides)
    rows = [line for line in lines[:MAX_LINES] if line.strip()]
    header = _GLOBAL_COLUMNS.fullmatch("".join(rows[:1]))
    if header and overrides.format in {None, "conllup"}:
        return _conllup(header[1].split(), name=name, overrides=overrides)
    if overrides.format in {None, "conllu"} and (key := _key_of_names(rows, overrides)):
        return FileLayout(
            format="conllu",
            n_columns=N_CONLLU,
            token=1,
            tag=N_CONLLU - 1,
            key=key,
            is_numbered=True,
            has_comments=True,
        )
    plain = [line for line in rows if not _MARK.match(line)]
    tables = (plain, rows, [line for line in plain if line[0] not in _OTHER_MARKS])
    table = next(
        (found for some in tables if (found := _Table.of(some, form=overrides.format))), None
    )
    layout = _of_table(table, lines, overrides=overrides) if table else None
    if table and overrides.tag_column is None and overrides.format is None:
        _check_levels(table, layout, name=name)
    for form in ("bars", "slashes") if layout is None else ():
        if overrides.format in {None, form} and (of_bars := bars_layout(rows, form)):
            return of_bars
    if layout is None and overrides.format in {None, "markup"} and names_in_text(text):
        return FileLayout(format="markup")
    if layout is None:
        raise _unknown(text, name=name, overrides=overrides)
    return layout


def _check_levels(table: _Table, layout: FileLayout | None, *, name: str) -> None:
    """Raise ``UsageError`` if names stand in other columns than the two that are read."""
    read = set() if layout is None else {layout.tag, layout.inner}
    if layout is None or layout.format in {"conll", "danplus", "uner"}:
        columns = [index + 1 for index in table.levels]
        if not {*table.levels} <= read and (len(columns) > 1 or not read & {*table.levels}):
            raise UsageError(
                f"{name}: tags of names are in column {', '.join(map(str, columns))} of "
                f"{table.n_columns}. Name what to read: --tag-column N for the (outer) names, "
                "--inner-column N for the inner ones, or none. No third level is read."
            )


def _unknown(text: str, *, name: str, overrides: Overrides) -> UsageError:
    if overrides.format:
        about = f"{overrides.format}: {FORMATS[overrides.format].about}"
        return UsageError(f"{name}: is not laid out as {about}. Name another --format, or none.")
    if keys := _keys(text):
        return UsageError(
            f"{name}: in no format that is known: JSON whose first object has {keys}. Write texts "
            'and names as {"text": "Ada kam.", "label": [[0, 3, "PER"]]} (spans in docs/ner.md), '
            "or leave the file out with --exclude."
        )
    for pattern, what in _NOT_READ.items():
        if re.match(pattern, text):
            return UsageError(f"{name}: {what}")
    likely = "; ".join(f"{form}: {FORMATS[form].about}" for form in _likeliest(text))
    return UsageError(
        f"{name}: in no format that is known. The likeliest are {likely}. Write it as one of these "
        "(docs/ner.md has all), name another with --format, or leave it out with --exclude."
    )


def _likeliest(text: str) -> tuple[str, str]:
    """Guess from the beginning of a text which two formats are meant."""
    lines = [line for line in text.split("\n")[:MAX_LINES] if line.strip()]
    first = text.lstrip()[:1]
    if first in {"{", "["}:
        return "spans", "tokens"
    if first == "<":
        return "markup", "xmi"
    if lines and lines[0].count(",") and not any("\t" in line for line in lines):
        return "csv", "conll"
    if 2 * sum(len(line.split()) in {2, 3, 4} for line in lines) > len(lines):
        return "conll", "labels"
    return "brat", "spans"


def _keys(text: str) -> str:
    """List the keys of the first object in JSON; empty if there is none."""
    from corpora.ner.records import records

    if text.lstrip()[:1] not in {"{", "["}:
        return ""
    objects = (record for _, record in records(text.encode(), where="") if isinstance(record, dict))
    return ", ".join(map(repr, next(objects, {})))[:200]


def _of_table(table: _Table, lines: Sequence[str], *, overrides: Overrides) -> FileLayout | None:
    """Detect the meaning of the columns."""
    marked: dict[str, list[int]] = {mark: [] for mark in f"#<{_OTHER_MARKS}"}
    for number, line in enumerate(lines):
        if line[:1] in marked:
            marked[line[:1]].append(number)
    n, marks = table.n_columns, "".join(["#", *_other_marks(table, lines, marked)])
    layout = FileLayout(
        format="conll",
        separator=table.separator,
        n_columns=n,
        has_comments=any(not table.is_row(lines[n]) for mark in marks for n in marked[mark]),
        marks=marks,
        tag=n - 1,
    )
    if table.is_numbered:
        is_germeval = n == 4 and table.has_tags(2) and table.has_tags(3)
        layout = replace(
            layout,
            format="germeval" if is_germeval else "uner",
            token=1,
            tag=next(filter(table.can_be_tags, range(2, n)), 2),
            inner=3 if is_germeval else None,
            is_numbered=True,
        )
    elif n > 2 and table.has_second_level:
        layout = replace(layout, format="danplus" if n == 3 else "conll", tag=n - 2, inner=n - 1)
    elif table.has_tags_first:
        layout = replace(layout, token=1, tag=0)
    elif n == 2:
        layout = _two_columns(layout, table, lines)
    if any(lines[n].startswith("<title>") for n in marked["<"]):
        layout = replace(layout, format="titles", tag=n - 1, inner=None)
    if overrides.format in {None, "labels"} and (found := _of_labels(layout, table, overrides)):
        return found
    if overrides.format and not FORMATS[overrides.format].table:
        return None
    layout = _named(layout, overrides)
    if max(layout.tag, layout.inner or 0) >= n:
        return None
    layout = replace(layout, spelling=table.spelling(layout.tag))
    is_tag = layout.spelling != USUAL or table.has_tags(layout.tag)
    return layout if is_tag else None


def _other_marks(
    table: _Table, lines: Sequence[str], marked: Mapping[str, Sequence[int]]
) -> Iterator[str]:
    """Yield other characters that begin comments: of no line that is a row, and only before rows.

    Korean sets have the sentence after ``;``, and its names in it after ``$``. ``marked`` has the
    indices of the lines that begin with each character.
    """
    for mark in _OTHER_MARKS:
        around = {index for n in marked[mark] for index in (n, max(n - 1, 0))}
        if len(marked[mark]) > 1 and not any(table.is_row(lines[index]) for index in around):
            yield mark


def _of_labels(layout: FileLayout, table: _Table, overrides: Overrides) -> FileLayout | None:
    """Return the layout if the column of tags holds labels, or the user says so."""
    tag = 2 if table.is_numbered else layout.tag
    if overrides.tag_column is not None:
        tag = _column(overrides.tag_column, (), option="--tag-column", n=table.n_columns)
    is_said = overrides.format == "labels"
    is_other = layout.format == "titles" or layout.inner is not None
    if (is_other and not is_said) or not table.has_labels(tag, is_said=is_said):
        return None
    plain = replace(layout, format="labels", tag=tag, inner=None, prefix="", has_digits=False)
    return _named(plain, replace(overrides, tag_column=None))


def _two_columns(layout: FileLayout, table: _Table, lines: Sequence[str]) -> FileLayout:
    tokens = table.columns[0]
    prefixes = Counter(match[0] for token in tokens if (match := _PREFIX.match(token)))
    for prefix, n in prefixes.most_common(1):
        if n >= MIN_RATIO * len(tokens):
            return replace(layout, format="wikiann", prefix=prefix)
    digits = [token[-1:] for token in tokens if len(token) > 1 and token[-1:].isdecimal()]
    if len(digits) >= MIN_RATIO * len(tokens) and digits.count("0") > len(digits) // 10:
        return replace(layout, format="weibo", has_digits=True)
    is_full = [bool(line.strip()) for line in lines[:MAX_LINES]]
    n_blocks = sum(b and not a for a, b in pairwise([False, *is_full]))
    if sum(is_full) >= MIN_RUNNING * n_blocks:
        return replace(layout, format="europeana")
    return layout


def _hipe(header: str, *, name: str, overrides: Overrides) -> FileLayout:
    columns = header.split("\t")
    known = {column: index for index, column in enumerate(columns)}
    if "NE-COARSE-LIT" not in known and overrides.tag_column is None:
        raise UsageError(f"{name}: has no NE-COARSE-LIT. Name the column with --tag-column.")
    layout = FileLayout(
        format="hipe",
        n_columns=len(columns),
        tag=known.get("NE-COARSE-LIT", 1),
        inner=known.get("NE-NESTED"),
        misc=known.get("MISC"),
        has_comments=True,
    )
    return _named(layout, overrides, columns)


def _conllup(columns: Sequence[str], *, name: str, overrides: Overrides) -> FileLayout:
    """Find the columns of tokens and names (universaldependencies.org/ext-format.html)."""
    of_names = [column for column in columns if _OF_NAMES.fullmatch(column)]
    if "FORM" not in columns or not (of_names or overrides.tag_column):
        raise UsageError(
            f"{name}: has no columns FORM and NER among {', '.join(columns)}. Name that of names "
            "with --tag-column, or leave the file out with --exclude."
        )
    layout = FileLayout(
        format="conllup",
        n_columns=len(columns),
        token=columns.index("FORM"),
        tag=columns.index(of_names[0]) if of_names else 0,
        is_numbered=columns[0] == "ID",
        has_comments=True,
    )
    return _named(layout, overrides, columns)


def _key_of_names(rows: Sequence[str], overrides: Overrides) -> str:
    """Find the key in MISC of CoNLL-U whose values are tags of names; empty if there is none."""
    of_tokens = [line for line in rows if not line.startswith("#")]
    misc = [line.rpartition("\t")[2] for line in of_tokens if line.count("\t") == N_CONLLU - 1]
    if len(misc) < MIN_RATIO * max(len(of_tokens), 1):
        return ""
    values: dict[str, Counter[str]] = {}
    for key, _, value in (pair.partition("=") for cell in misc for pair in cell.split("|")):
        values.setdefault(key, Counter())[value] += 1
    if overrides.tag_column is not None:
        return overrides.tag_column if overrides.tag_column in values else ""
    of_names = [
        key
        for key, found in values.items()
        if sum(n for value, n in found.items() if READABLE.fullmatch(value))
        >= MIN_RATIO * found.total()
    ]
    return max(
        of_names, key=lambda key: (set(values[key]) != {"O"}, values[key].total()), default=""
    )


def _named(layout: FileLayout, overrides: Overrides, columns: Sequence[str] = ()) -> FileLayout:
    """Apply the user's statements to a layout."""
    n_columns = layout.n_columns
    if (
        overrides.format
        and overrides.format != layout.format
        and (table := FORMATS[overrides.format].table)
    ):
        token, tag, inner = table
        layout = replace(
            layout,
            format=overrides.format,
            token=token,
            tag=tag % n_columns,
            inner=inner,
            is_numbered=overrides.format in {"germeval", "uner"},
            prefix=layout.prefix if overrides.format == "wikiann" else "",
            has_digits=overrides.format == "weibo",
        )
    if overrides.tag_column is not None:
        tag = _column(overrides.tag_column, columns, option="--tag-column", n=n_columns)
        layout = replace(layout, tag=tag)
    if overrides.inner_column == "none":
        layout = replace(layout, inner=None)
    elif overrides.inner_column is not None:
        inner = _column(overrides.inner_column, columns, option="--inner-column", n=n_columns)
        layout = replace(layout, inner=inner)
    return layout


def _column(text: str, columns: Sequence[str], *, option: str, n: int) -> int:
    if text in columns:
        return columns.index(text)
    if text.isdecimal() and 1 <= int(text) <= n:
        return int(text) - 1
    there = ", ".join(columns) or f"1 to {n}"
    raise UsageError(f"{option} {text}: no such column. There are {there}.")


def _scheme(text: str, layout: FileLayout, *, overrides: Overrides) -> str:
    """Detect the scheme from the sentences at the beginning, unless the user or the format says."""
    if scheme := layout.kind.scheme or overrides.scheme:
        return scheme
    from corpora.ner.found import Origin
    from corpora.ner.readers import read_text

    sentences = read_text(text.encode(), layout, Origin("head"))
    return detect_scheme(sentences.tags, sentences.begins)
