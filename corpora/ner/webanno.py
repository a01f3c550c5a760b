"""WebAnno TSV 3, as WebAnno and INCEpTION export it: a token a line, a column a feature of a layer.

A cell has the values of all annotations of a layer at a token, ``PER[1]|LOC``; a number in brackets
joins the tokens of one. Rows ``1-3.1`` are parts of tokens. Offsets count UTF-16 units.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from corpora.document import Mention, Rejected
from corpora.errors import UsageError
from corpora.ner.bad_records import BadRecordError
from corpora.ner.exchange import unescape
from corpora.ner.found import Gathered, Origin, PartSentences, Row, check_characters, label_of
from corpora.ner.layout import TAB, FileLayout
from corpora.ner.offsets import utf16_units
from corpora.ner.token_spans import tagged

_LAYER = re.compile(r"#T_(SP|CH|RL)=([^|]*)\|?(.*)")
_N_BEFORE = 3
"""The columns before those of the layers: number, offsets, token."""
_OF_NAMES = re.compile(r"(?:.*[._])?(?:named)?_?(?:entity|ner?)", re.IGNORECASE)
_PLACE = re.compile(r"(\d+)-(\d+)(?:\.\d+)?\t(\d+)-(\d+)\t([^\t]*)((?:\t[^\t]*)*)")
_VALUE = re.compile(r"((?:[^\\\[\]|]|\\.)*)(?:\[(\d+)\])?")


class _Feature(NamedTuple):
    """A feature of a layer of spans, and its column, from 0."""

    layer: str
    name: str
    column: int


def webanno_layout(text: str, *, name: str, tag_column: str | None) -> FileLayout:
    """Find the column of names; raises ``UsageError`` with the layers if it is unclear."""
    features, n_columns = _features(text)
    if tag_column is not None:
        chosen = [
            feature
            for feature in features
            if tag_column in {feature.layer, feature.name, str(feature.column + 1)}
        ]
    else:
        chosen = [f for f in features if _OF_NAMES.fullmatch(f.layer)] or features
        chosen = [f for f in chosen if f.name == "value"] or chosen
        chosen = chosen[:1] if len({feature.layer for feature in chosen}) == 1 else chosen
    if len(chosen) != 1:
        there = "; ".join(f"{f.column + 1}: {f.layer} {f.name}" for f in features) or "none"
        raise UsageError(
            f"{name}: which layer of WebAnno has the names? Name a column with --tag-column "
            f"({there})."
        )
    return FileLayout(
        format="webanno", separator=TAB, token=2, tag=chosen[0].column, n_columns=n_columns
    )


def _features(text: str) -> tuple[list[_Feature], int]:
    """List the features of spans, and count the columns of all layers."""
    features, column = list[_Feature](), _N_BEFORE
    for kind, layer, names in _LAYER.findall(text):
        for number, name in enumerate(names.rstrip("\r").split("|")):
            if kind == "SP" and not name.startswith("ROLE_"):
                features.append(_Feature(layer.rpartition(".")[2], name, column + number))
        column += names.count("|") + 1
    return features, column


@dataclass
class _Sentence:
    """A sentence: the places of its tokens and names."""

    line: int
    tokens: list[tuple[int, int, str]] = field(default_factory=list)
    names: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Places by number (or line and order) and label."""
    error: tuple[int, BadRecordError] | None = None


def read_webanno(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read the sentences; a name over several sentences is one in each, and counted."""
    sentences = Gathered()
    rejected: list[Rejected] = []
    counters: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for sentence in _sentences(data.decode("utf-8", "surrogateescape"), layout):
        try:
            if sentence.error:
                raise sentence.error[1]
            rows = _rows(sentence, counters)
        except BadRecordError as error:
            line = sentence.error[0] if sentence.error else sentence.line
            rejected.append(origin.leave_out("sentence", error, line))
            continue
        again = seen & sentence.names.keys()
        counters.update(f"names over sentences: {label}" for _, label in again)
        seen |= sentence.names.keys()
        sentences.add(sentence.line, rows)
    found = sentences.found(rejected)
    found.counters.update(counters)
    return found


def _sentences(text: str, layout: FileLayout) -> Iterator[_Sentence]:
    own: _Sentence | None = None
    before = ""
    for line, shown in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not shown.strip() or shown.startswith("#"):
            continue
        match = _PLACE.fullmatch(shown)
        number = shown.partition("-")[0]
        if own is None or number != before:
            if own is not None:
                yield own
            own, before = _Sentence(line), number
        try:
            if not match:
                what = f"{shown[:80]!r} is no row with a number, offsets and a token"
                raise BadRecordError("columns", what)
            _add(own, match, layout, line=line)
        except BadRecordError as error:
            own.error = own.error or (line, error)
    if own is not None:
        yield own


def _add(sentence: _Sentence, match: re.Match[str], layout: FileLayout, *, line: int) -> None:
    """Add a row: a token, or a part of one, and the names at it."""
    start, end, token = int(match[3]), int(match[4]), unescape(match[5])
    if "." not in match[0].partition("\t")[0]:
        check_characters(token)
        if not token.strip() or utf16_units(token)[-1] != end - start:
            what = f"{token!r} has not the {end - start} characters of {start}–{end}"
            raise BadRecordError("empty_token", what)
        sentence.tokens.append((start, end, token))
    cells = match[6].split("\t")[1:]
    n = layout.tag - _N_BEFORE
    cell = cells[n] if n < len(cells) else "_"
    if cell == "_":
        return
    for order, (value, number) in enumerate(_values(cell)):
        label = "*" if value in {"*", ""} else label_of(unescape(value), cell)
        key = number or f"{line} {order}"
        first, last = sentence.names.get((key, label), (start, end))
        sentence.names[key, label] = min(first, start), max(last, end)


def _values(cell: str) -> Iterator[tuple[str, str]]:
    """Yield the value of each annotation in a cell, and its number, which may be empty."""
    at = 0
    while at <= len(cell):
        match = _VALUE.match(cell, at)
        if match is None or cell[match.end() : match.end() + 1] not in {"", "|"}:
            raise BadRecordError("bad_tag", f"{cell[:80]!r} is no value with a number in brackets")
        yield match[1], match[2] or ""
        at = match.end() + 1


def _rows(sentence: _Sentence, counters: Counter[str]) -> list[Row]:
    """Cut tokens where names begin or end, and tag them."""
    if not sentence.tokens:
        raise BadRecordError("empty_token", "a sentence without tokens")
    edges = {edge for place in sentence.names.values() for edge in place}
    tokens = [piece for token in sentence.tokens for piece in _cut(token, edges)]
    names = []
    for (_, label), (start, end) in sentence.names.items():
        covered = [n for n, (a, b, _) in enumerate(tokens) if start < b and a < end]
        if covered:
            names.append(Mention(covered[0], covered[-1] + 1, label=label))
        else:
            counters[f"empty names not in ner: {label}"] += 1
    return tagged([token for _, _, token in tokens], names, counters)


def _cut(token: tuple[int, int, str], edges: Iterable[int]) -> list[tuple[int, int, str]]:
    """Cut a token at the edges inside it."""
    start, end, text = token
    units = text.encode("utf-16-le")
    places = [start, *sorted(edge for edge in edges if start < edge < end), end]
    return [
        (a, b, units[2 * (a - start) : 2 * (b - start)].decode("utf-16-le", "replace"))
        for a, b in pairwise(places)
    ]
