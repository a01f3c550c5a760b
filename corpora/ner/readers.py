"""Files with a token per line to sentences, and the import of the reader of any other format.

``FORMATS`` names them. Files with a token per line, the most frequent format, are read here, by
Arrow's functions. A sentence with an unreadable line is rejected, with a message on that line; all
others are kept. Shapes: L lines, T lines that should hold a token, N sentences.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.document import Rejected
from corpora.ner.columns import Flags, Indices, Tags
from corpora.ner.formats import Format
from corpora.ner.found import Origin, PartSentences, any_of
from corpora.ner.layout import BLANKS, OUTSIDE, SPACE, TAB, FileLayout
from corpora.ner.schemes import LABEL, LETTERS, READABLE, continues, respelled
from corpora.reports import counted

BOM = b"\xef\xbb\xbf"
TITLE, DOCSTART, HEADER = "<title>", "-DOCSTART-", "TOKEN\t"
_NAMES = {TAB: "a tab", SPACE: "one space", BLANKS: "blanks"}
_DOCUMENT = re.compile(r"#\s*(?:newdoc id|[\w.-]+:document_id)\s*=\s*(.*\S)\s*")
_SOURCE = re.compile(
    r"#\t([^\t]*[^\s])\s*(?:\t.*)?"
)  # GermEval: the source and the date of a sentence


Reader = Callable[[bytes, FileLayout, Origin], PartSentences]
"""From the bytes of a file, or of a part of it, to its sentences."""


def reader_of(format: Format) -> Reader:
    """Import the reader of a format."""
    module, _, name = format.reader.partition(":")
    return cast("Reader", getattr(import_module(module), name))


def read_text(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read UTF-8 of any format that needs no other file, except Parquet.

    The data hold whole sentences of a file, or the whole file.
    """
    has_bom = origin.first_line == 1 and data.startswith(BOM)
    sentences = reader_of(layout.kind)(data.removeprefix(BOM) if has_bom else data, layout, origin)
    sentences.counters["byte_order_marks"] += has_bom
    return sentences


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a file, flagged if they hold a token: no document mark, comment or header."""

    texts: pa.LargeStringArray  # (L,)
    not_utf8: Indices
    is_token: Flags  # (L,)
    ends_sentence: Flags
    """(L,): whether a sentence ends before the line."""
    documents: dict[int, str]
    """The document that a line names, by the index of the line, in order; empty if it gives no
    name."""


def read_columns(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read lines with a token each; an empty line ends a sentence."""
    first_line = origin.first_line
    counters: Counter[str] = Counter()
    lines = _read_lines(data, layout, counters)
    rows = _Rows(lines, layout, counters)
    begins = rows.begins(lines)
    is_bad = any_of(rows.problems > 0, begins)
    if layout.has_comments:  # tokens that programs lose if they skip lines with #
        is_kept = np.repeat(~is_bad, np.diff(begins))
        is_token = _numpy(pc.starts_with(rows.texts, "#")) & is_kept
        counters["tokens.with # first"] += int(np.count_nonzero(is_token))
    firsts = rows.at[begins[:-1]]
    sentences = PartSentences(
        tokens=rows.tokens.cast(pa.string()),
        begins=begins,
        tags=rows.tags,
        inner=rows.inner,
        places=rows.at + first_line,
        documents=_documents(lines, firsts, source=origin.source, first_line=first_line),
        rejected=[
            rows.reject(begins[index : index + 2], origin)
            for index in np.flatnonzero(is_bad).tolist()
        ],
        counters=counters,
    ).keep(~is_bad)
    counters["documents"] += len({*sentences.documents} - {None})
    return sentences


def _read_lines(data: bytes, layout: FileLayout, counters: Counter[str]) -> _Lines:
    """Split data at line feeds, and flag the lines without a token."""
    if n := data.count(b"\r\n"):
        counters["line_ends.crlf"] += n
        data = data.replace(b"\r\n", b"\n")
    if layout.separator == BLANKS:  # reduce blanks to one space between columns
        data = re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", data))
    not_utf8: list[int] = []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        not_utf8 = [n for n, line in enumerate(data.split(b"\n")) if not _is_utf8(line)]
        text = data.decode("utf-8", "replace")
    texts = pc.split_pattern(pa.array([text.removesuffix("\n")], pa.large_string()), "\n").flatten()
    is_blank = _numpy(pc.equal(pc.ascii_trim(texts, " \t"), ""))
    is_token, ends_sentence = ~is_blank, is_blank.copy()
    documents: dict[int, str] = {}
    marks = layout.marks if layout.has_comments else ""
    for line, shown in (found for mark in marks for found in _beginning(texts, mark)):
        if layout.is_numbered or not _is_row(shown, layout):
            is_token[line] = False
            counters["lines.comment"] += 1
            if match := _DOCUMENT.fullmatch(shown) or _SOURCE.fullmatch(shown):
                documents[line] = match[1]
    for mark in (DOCSTART, TITLE, HEADER):
        for line, shown in _beginning(texts, mark):
            if _is_mark(shown, mark, layout):
                is_token[line], ends_sentence[line] = False, True
                if mark != HEADER:
                    documents[line] = shown.removeprefix(TITLE).strip() if mark == TITLE else ""
    return _Lines(texts, np.array(not_utf8, np.int64), is_token, ends_sentence, documents)


def _beginning(texts: pa.LargeStringArray, mark: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that begin with a mark, each with its index."""
    for line in np.flatnonzero(_numpy(pc.starts_with(texts, mark))).tolist():
        yield line, _shown(texts[line].as_py())


def _shown(line: str) -> str:
    return line.replace("\0", "\N{SYMBOL FOR NULL}")


def _is_row(line: str, layout: FileLayout) -> bool:
    """Tell whether a line that looks like a comment is the row of a token."""
    cells = line.split(layout.separator or SPACE)
    if len(cells) != layout.n_columns:
        return False
    may_be_label = layout.format == "labels" and (layout.separator == TAB or line[:2] != "# ")
    return bool((LABEL if may_be_label else READABLE).fullmatch(cells[layout.tag]))


def _is_mark(line: str, mark: str, layout: FileLayout) -> bool:
    if mark == HEADER:
        return layout.format == "hipe" and "\tNE-" in line
    if mark == TITLE:
        return layout.format == "titles"
    return line[len(mark) :].strip() == "" or line[len(mark)].isspace()


class _Rows:
    """The lines that should hold a token, split into columns, and the first problem of each."""

    def __init__(self, lines: _Lines, layout: FileLayout, counters: Counter[str]) -> None:
        self.layout, separator, self._counters = layout, layout.separator or SPACE, counters
        self.at = np.flatnonzero(lines.is_token)  # (T,): indices of lines
        self.texts = lines.texts.take(pa.array(self.at))
        if layout.is_numbered:  # leave out contractions and empty nodes of CoNLL-U
            is_word = ~_matches(self.texts, rf"^[0-9]+[-.][0-9]+(?:{separator}|$)")
            counters["lines.no_token"] += int(np.count_nonzero(~is_word))
            self.at, self.texts = self.at[is_word], self.texts.filter(pa.array(is_word))
        self.n_columns = _numpy(pc.count_substring(self.texts, separator)) + 1
        self.problems = np.zeros(len(self.at), np.int8)
        """(T,): the problem of each line, an index into ``kinds``; 0: none."""
        self.kinds = [("", "")]
        """The reason of each kind of problem, and what is wrong; the first stands for no
        problem."""
        is_ragged = self.n_columns != layout.n_columns
        self._flag("columns", "", is_ragged)
        self._flag("nul", "a NUL byte", _numpy(pc.match_substring(self.texts, "\0")))
        self._flag("not_utf8", "bytes that are not UTF-8", np.isin(self.at, lines.not_utf8))
        rows = pc.if_else(pa.array(is_ragged), separator * (layout.n_columns - 1), self.texts)
        self.cells = pc.split_pattern(rows, separator)  # (T,) lists
        self.tokens = self._tokens()
        self.tags = self._tags(layout.tag)
        self.inner = None if layout.inner is None else self._tags(layout.inner)

    def _flag(self, reason: str, what: str, where: Flags) -> None:
        self.problems[where & (self.problems == 0)] = len(self.kinds)
        self.kinds.append((reason, what))

    def _tokens(self) -> pa.LargeStringArray:
        """Return the tokens, without a prefix (the language) or a digit that follows them."""
        layout, tokens = self.layout, pc.list_element(self.cells, self.layout.token)
        if layout.is_numbered:
            is_number = _matches(pc.list_element(self.cells, 0), "^[0-9]+$")
            self._flag("columns", "no number in the first column", ~is_number)
        if layout.prefix:
            has_prefix = _numpy(pc.starts_with(tokens, layout.prefix))
            self._flag("prefix", f"no {layout.prefix!r} before the token", ~has_prefix)
            tokens = pc.utf8_slice_codeunits(tokens, len(layout.prefix))
        if layout.has_digits:
            self._flag("digit", "no digit after the token", ~_matches(tokens, "[0-9]$"))
            tokens = pc.utf8_slice_codeunits(tokens, 0, -1)
        self._flag("empty_token", "no token", _numpy(pc.equal(tokens, "")))
        return tokens

    def _tags(self, column: int) -> Tags:
        """Encode the tags of a column; ``O`` where a line has a problem.

        A label without a letter is a tag of IOB1, in which adjacent tokens of a label are one name.
        """
        cells = pc.list_element(self.cells, column)
        if self.layout.key:
            # cells like ``a=b|c=d``; ``O`` where the key is missing
            found = pc.extract_regex(
                cells, rf"(?:^|\|){re.escape(self.layout.key)}=(?P<value>[^|]*)"
            )
            cells = pc.fill_null(pc.struct_field(found, "value"), "O")
        written = Tags.of(pc.if_else(pa.array(self.problems > 0), "O", cells))
        tags = respelled(written, self.layout.spelling)
        is_bare = np.array([name in LETTERS for name in written.names], bool)[written.codes]
        self._counters["tags.without label"] += int(np.count_nonzero(is_bare))
        may_be_blank = column == self.layout.inner or self.layout.format == "conllup"
        plain = {"O", "_"} if may_be_blank else {"O"}
        is_label = self.layout.format == "labels"
        pattern = LABEL if is_label else READABLE
        unreadable = [name not in plain and not pattern.fullmatch(name) for name in tags.names]
        self._flag("bad_tag", "no tag that can be read", np.array(unreadable, bool)[tags.codes])
        if not is_label:
            return tags
        return Tags(tags.codes, tuple("O" if n in OUTSIDE else f"I-{n}" for n in tags.names))

    def begins(self, lines: _Lines) -> Indices:
        """Find the first row of each sentence, and the end of the last, shape (N + 1,)."""
        sentence = np.cumsum(lines.ends_sentence)[self.at]
        is_first = np.append(True, sentence[1:] != sentence[:-1])[: len(self.at)]
        if self.layout.misc is not None and len(self.at):
            misc = pc.list_element(self.cells, self.layout.misc)
            is_last = _numpy(pc.match_substring(misc, "EndOfSentence"))
            is_first[1:] |= is_last[:-1] & ~continues(self.tags)[1:]
        return np.append(np.flatnonzero(is_first), len(self.at))

    def reject(self, sentence: Indices, origin: Origin) -> Rejected:
        """Build the rejection of a sentence for its first bad line."""
        row = int(sentence[0] + np.flatnonzero(self.problems[sentence[0] : sentence[1]])[0])
        reason, what = self.kinds[self.problems[row]]
        between, n = _NAMES[self.layout.separator], self.layout.n_columns
        there = counted(self.n_columns[row], "column")
        what = what or f"{there} with {between} between, not {n},"
        text = _shown(self.texts[row].as_py())
        what = f"{what} in {text[:80]!r}. The sentence is left out; fix the line."
        return origin.reject(int(self.at[row]) + origin.first_line, reason, what=what, excerpt=text)


def _documents(
    lines: _Lines, firsts: Indices, *, source: str, first_line: int
) -> tuple[str | None, ...]:
    """Find the last document named before each sentence, shape (N,); empty if none is named."""
    if not lines.documents:
        return ()
    named = sorted(lines.documents)
    names = [lines.documents[line] or f"{source}:{line + first_line}" for line in named]
    return tuple([None, *names][n] for n in np.searchsorted(np.array(named), firsts).tolist())


def read_running_text(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read newspaper pages from OCR: columns without sentence breaks.

    The tag is after the last blank; the token is everything before it, with its blanks. Each line
    is a record, as sentences are long; a line without a tag is rejected alone. ``#`` begins a
    comment.
    """
    counters = Counter({"line_ends.crlf": data.count(b"\r\n")})
    rows: list[tuple[str, str, int]] = []
    begins: list[int] = []
    rejected: list[Rejected] = []
    is_new = True
    for number, raw in enumerate(data.replace(b"\r\n", b"\n").split(b"\n"), origin.first_line):
        line = raw.decode("utf-8", "replace").rstrip(" \t")
        token, _, tag = line.rpartition(layout.separator or SPACE)
        token = token.strip(" \t")
        if not line:
            is_new = True
        elif layout.has_comments and line.startswith("#") and not READABLE.fullmatch(tag):
            counters["lines.comment"] += 1
        elif problem := _problem(raw, token):
            what = f"{problem[1]} in {line[:80]!r}. The line is left out; fix it."
            rejected.append(origin.reject(number, problem[0], what=what, excerpt=line))
        else:
            begins += [len(rows)] * is_new
            is_new = False
            rows.append((token, tag, number))
    if layout.has_comments:  # tokens that programs lose if they skip lines with #
        counters["tokens.with # first"] += sum(token[0] == "#" for token, _, _ in rows)
    counters["tokens.with blanks"] += sum(" " in token for token, _, _ in rows)
    return PartSentences(
        tokens=pa.array([token for token, _, _ in rows], pa.string()),
        begins=np.array([*begins, len(rows)], np.int64),
        tags=Tags.of(pa.array([tag for _, tag, _ in rows], pa.string())),
        places=np.array([number for _, _, number in rows], np.int64),
        rejected=rejected,
        counters=+counters,
    )


def _problem(raw: bytes, token: str) -> tuple[str, str] | None:
    if b"\0" in raw:
        return "nul", "a NUL byte"
    if not _is_utf8(raw):
        return "not_utf8", "bytes that are not UTF-8"
    return None if token else ("columns", "no token and tag")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _numpy(flags: pa.Array) -> Flags:
    return np.asarray(flags.to_numpy(zero_copy_only=False))


def _matches(strings: pa.LargeStringArray, pattern: str) -> Flags:
    return _numpy(pc.match_substring_regex(strings, pattern))
