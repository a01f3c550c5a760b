"""A token a line, in columns, by arrays, with the number of each line.

A sentence with a line that cannot be read is rejected with that line; the others are kept. Shapes:
L lines, T tokens (lines that hold one), N sentences.
"""

import re
from collections import Counter

import numpy as np

from corpora.document import Rejected
from corpora.ner.columns import Flags, Indices, Tags
from corpora.ner.found import Found, Origin, any_of
from corpora.ner.layout import BLANKS, SPACE, TAB, Layout
from corpora.ner.lines import Lines
from corpora.ner.marks import Marks, find_marks
from corpora.ner.schemes import READABLE, continues

_OUTSIDE = ord("O")
_NUMBER = re.compile(rb"\d+")
_NO_TOKEN = re.compile(rb"\d+[-.]\d+")  # CoNLL-U: a contraction, a word that is not written
_NAMES = {TAB: "a tab", SPACE: "one space", BLANKS: "blanks"}


def read_column_text(data: bytes, layout: Layout, origin: Origin, *, first_line: int = 1) -> Found:
    """Read whole sentences; ``first_line`` is the number of the first line in its file."""
    counters: Counter[str] = Counter()
    lines = Lines(_even(data, layout, counters), layout.separator or SPACE)
    marks = find_marks(lines, layout)
    counters["lines.comment"] += marks.n_comments
    at = np.flatnonzero(marks.is_token)  # (T,), lines
    columns = _Columns(lines, layout, at)
    if columns.n_skipped:
        counters["lines.no_token"] += columns.n_skipped
        at = columns.at
    begins = _begins(at, marks, columns)
    is_bad = any_of(columns.problems > 0, begins)
    rejected = tuple(
        _reject(columns, begins[number : number + 2], origin, first_line=first_line)
        for number in np.flatnonzero(is_bad).tolist()
    )
    kept = np.repeat(~is_bad, np.diff(begins))
    lengths = np.diff(begins)[~is_bad]
    begins = begins[:-1][~is_bad]
    documents = _documents(marks, at[begins], first_line=first_line, source=origin.source)
    counters["documents"] += len({*documents} - {None})
    if layout.has_comments:  # who counts lines without # misses these
        counters["tokens.with # first"] += int((lines.first_bytes[at[kept]] == ord("#")).sum())
    return Found(
        tokens=lines.gather(columns.starts[kept], columns.ends[kept]),
        begins=np.concatenate([[0], np.cumsum(lengths)]),
        tags=columns.tags.where(kept),
        inner=columns.inner.where(kept) if columns.inner else None,
        places=at[kept] + first_line,
        documents=documents,
        rejected=rejected,
        counters=counters,
    )


def _even(data: bytes, layout: Layout, counters: Counter[str]) -> bytes:
    """One line feed at the end of each line, and one space between columns if they were ragged."""
    if b"\r" in data and (n := data.count(b"\r\n")):
        counters["line_ends.crlf"] += n
        data = data.replace(b"\r\n", b"\n")
    if layout.separator == BLANKS:
        data = re.sub(rb"[ \t]+", b" ", data)
        data = re.sub(rb"(?m)^ | $", b"", data)
    return data if data.endswith(b"\n") or not data else data + b"\n"


class _Columns:
    """The columns that count, of the lines that should hold a token; what is wrong with a line."""

    def __init__(self, lines: Lines, layout: Layout, at: Indices) -> None:
        self.lines, self.layout = lines, layout
        self.n_skipped = 0
        if layout.is_numbered:
            at = self._without_contractions(at)
        self.at = at
        self.problems = np.zeros(len(at), np.uint8)  # (T,)
        self._flag(lines.n_columns[at] != layout.n_columns, _COLUMNS)
        self._flag(np.isin(at, lines.holding(0)), _NUL)
        self._flag(np.isin(at, lines.invalid()), _UTF8)
        good = np.flatnonzero(self.problems == 0)
        self.starts, self.ends = np.zeros((2, len(at)), np.int64)
        self.starts[good], self.ends[good] = lines.column(layout.token, at[good])
        self._strip(good)
        self._flag((self.starts >= self.ends) & (self.problems == 0), _EMPTY)
        good = np.flatnonzero(self.problems == 0)
        self.tags = self._read_tags(layout.tag, good)
        self.inner = None if layout.inner is None else self._read_tags(layout.inner, good)

    def _flag(self, where: Flags, problem: int) -> None:
        self.problems[where & (self.problems == 0)] = problem

    def _without_contractions(self, at: Indices) -> Indices:
        values = self.lines.values(0, at)
        kept = np.array([not _NO_TOKEN.fullmatch(value) for value in values], bool)
        self.n_skipped = int(np.count_nonzero(~kept))
        without: Indices = at[kept]
        return without

    def _strip(self, good: Indices) -> None:
        """Take off what is no part of a token: a language before, a digit after it."""
        layout, raw = self.layout, self.lines.raw
        if layout.is_numbered:
            values = self.lines.values(0, self.at[good])
            is_number = np.array([bool(_NUMBER.fullmatch(value)) for value in values], bool)
            self.problems[good[~is_number]] = _NUMBERS
        for i, byte in enumerate(layout.prefix.encode()):
            places = np.minimum(self.starts[good] + i, len(raw) - 1)
            self.problems[good[raw[places] != byte]] = _PREFIX
        self.starts[good] += len(layout.prefix.encode())
        if layout.has_digits:
            last = raw[np.maximum(self.ends[good] - 1, 0)]
            self.problems[good[(last < ord("0")) | (last > ord("9"))]] = _DIGIT
            self.ends[good] -= 1

    def _read_tags(self, column: int, good: Indices) -> Tags:
        """Encode the tags of a column; a line whose tag cannot be read has a problem."""
        starts, ends = self.lines.column(column, self.at[good])
        codes = np.zeros(len(self.at), np.int32)
        first = self.lines.raw[starts]
        tagged = np.flatnonzero((ends - starts != 1) | (first != _OUTSIDE))
        known: dict[bytes, int] = {b"O": 0}
        data = self.lines.data
        pairs = zip(starts[tagged].tolist(), ends[tagged].tolist(), strict=True)
        codes[good[tagged]] = [known.setdefault(data[i:j], len(known)) for i, j in pairs]
        names = tuple(name.decode() for name in known)
        blank = "_" if column == self.layout.inner else ""
        unreadable = np.array([not READABLE.fullmatch(name) and name != blank for name in names])
        self._flag(unreadable[codes], _TAG)
        return Tags(codes, names)


_COLUMNS, _NUL, _UTF8, _EMPTY, _NUMBERS, _PREFIX, _DIGIT, _TAG = range(1, 9)


def _begins(at: Indices, marks: Marks, columns: _Columns) -> Indices:
    """(N + 1,): which token is the first of each sentence."""
    sentence = np.cumsum(marks.ends_sentence)[at]
    is_first = np.ones(len(at), bool)
    is_first[1:] = sentence[1:] != sentence[:-1]
    if columns.layout.misc is not None and len(at):
        is_first[1:] |= _ends_here(columns)[:-1] & ~continues(columns.tags)[1:]
    return np.append(np.flatnonzero(is_first), len(at))


def _ends_here(columns: _Columns) -> Flags:
    """(T,): whether a line says that a sentence ends with it."""
    ends = np.zeros(len(columns.at), bool)
    good = np.flatnonzero(columns.problems != _COLUMNS)
    values = columns.lines.values(columns.layout.misc or 0, columns.at[good])
    ends[good] = [b"EndOfSentence" in value for value in values]
    return ends


def _documents(
    marks: Marks, first_lines: Indices, *, first_line: int, source: str
) -> tuple[str | None, ...]:
    """(N,): the document that was named last before each sentence."""
    if not len(marks.lines):
        return ()
    names = [
        name or f"{source}:{line + first_line}"
        for line, name in zip(marks.lines.tolist(), marks.names, strict=True)
    ]
    rows = np.searchsorted(marks.lines, first_lines).tolist()
    return tuple(names[row - 1] if row else None for row in rows)


def _reject(columns: _Columns, sentence: Indices, origin: Origin, *, first_line: int) -> Rejected:
    """Say what is wrong with the first bad line of a sentence."""
    problems = columns.problems[sentence[0] : sentence[1]]
    number = int(sentence[0] + np.flatnonzero(problems)[0])
    line = int(columns.at[number])
    reason, what = _explain(int(columns.problems[number]), columns, line)
    text = columns.lines.text(line)
    return origin.reject(
        line + first_line,
        reason,
        what=f"{what} in {text[:80]!r}. The sentence is left out; mend the line.",
        excerpt=text,
    )


def _explain(problem: int, columns: _Columns, line: int) -> tuple[str, str]:
    layout = columns.layout
    n = int(columns.lines.n_columns[line])
    between = _NAMES[layout.separator]
    return {
        _COLUMNS: ("columns", f"{n} columns with {between} between, not {layout.n_columns},"),
        _NUL: ("nul", "a NUL byte"),
        _UTF8: ("not_utf8", "bytes that are not UTF-8"),
        _EMPTY: ("empty_token", "no token"),
        _NUMBERS: ("columns", "no number in the first column"),
        _PREFIX: ("prefix", f"no {layout.prefix!r} before the token"),
        _DIGIT: ("digit", "no digit after the token"),
        _TAG: ("bad_tag", "no tag that can be read"),
    }[problem]
