"""brat's standoff (brat.nlplab.org/standoff.html): a text, and a file with the names in it.

A line ``T1 TAB Person 0 12 TAB Ada Lovelace`` is a name; its offsets are half-open.
``0 5;10 15`` is a name of several pieces. Tabs may stand for the spaces, as in NER-UK 2. A line
``N1 TAB Reference T1 ID TAB …`` is the id of a name. Other lines are counted: relations, events,
attributes, notes, equivalences.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from corpora.document import Mention
from corpora.errors import CorpusError
from corpora.ner.bad_records import BadRecordError
from corpora.ner.offsets import Counting, WrittenName, find_counting

SUFFIXES = (".ann", ".a1", ".a2")
"""How names of files with standoff end; the text beside them ends in ``.txt``."""
_PLACE = "[0-9]{1,12}[ \t][0-9]{1,12}"
_NAME = re.compile(rf"(T\S*)\t(\S+)[ \t]({_PLACE}(?:;{_PLACE})*)(?:\t(.*))?")
_ID = re.compile(r"N\S*\t\S+ (\S+) (\S+)(?:\t.*)?")
_ESCAPES = re.compile(r"(?:%[0-9A-F]{2})+")
_KINDS = {
    "R": "relation", "E": "event", "A": "attribute", "M": "attribute", "N": "id", "#": "note",
    "*": "equivalence",
}  # fmt: skip
_FIRST = re.compile(
    r"T\d+\t\S+[ \t]\d+[ \t]\d+|R\d+\t\S+ \S+:[TE]\d|E\d+\t\S+:T\d|[AM]\d+\t\S+ [TRE]\d+\b"
    r"|N\d+\t\S+ T\d+ |#\d*\t\S+ [TREA]\d+\t|\*\t\S+ T\d"
)


class StandoffError(CorpusError):
    """A line that cannot be read, or does not fit the text."""

    def __init__(self, line: int, reason: str, what: str) -> None:
        self.line, self.reason, self.what = line, reason, what
        super().__init__(f"line {line}: {what}")


class _Name(NamedTuple):
    """A name of one or more pieces, and its line; ``shown`` is its text, if the line has it."""

    line: int
    label: str
    pieces: Sequence[tuple[int, int]]
    shown: str | None


class _Text(NamedTuple):
    text: str
    names: Sequence[WrittenName]


def is_standoff(head: str, *, name: str) -> bool:
    """Tell whether a file is brat's standoff, by its first line that is not blank.

    An empty file ``.ann`` is, too: it says that its text has no names.
    """
    match = re.search(r"\S.*", head)
    return bool(_FIRST.match(match[0])) if match else name.endswith(SUFFIXES)


def text_name(name: str) -> str:
    """Name the file with the text of a file with standoff."""
    return f"{name.rpartition('.')[0]}.txt"


def parse_standoff(lines: str, text: str) -> tuple[list[Mention], Counter[str]]:
    """Parse the names of a text, in the order of the file, and count all other lines.

    A name of several pieces has everything from the first to the last; it is counted if there is
    more than white space between them. Raises ``StandoffError`` for a line that cannot be read, and
    for a name that is not in the text at its place.
    """
    names: dict[str, _Name] = {}
    ids: dict[str, str] = {}
    counters: Counter[str] = Counter()
    plain = lines.removeprefix("\ufeff").replace("\r\n", "\n")
    for number, line in _whole_names(plain.split("\n"), text):
        kind = _KINDS.get(line[:1])
        if match := _NAME.fullmatch(line):
            key = match[1]
            if key in names:
                raise StandoffError(number, "columns", f"{key} is there twice. Rename one.")
            edges = [place.split() for place in match[3].split(";")]
            pieces = [(int(start), int(end)) for start, end in edges]
            names[key] = _Name(number, match[2], pieces, match[4])
        elif kind == "id" and (match := _ID.fullmatch(line)):
            counters["lines.id"] += 1
            ids[match[1]] = _ESCAPES.sub(_plain, match[2])
        elif line.strip() and (kind in {None, "id"} or "\t" not in line):
            shown = line[:80]
            raise StandoffError(number, "columns", f"{shown!r} is no line of standoff. Fix it.")
        elif kind:
            counters[f"lines.{kind}"] += 1
    counting = _counting(names.values(), text)
    mentions = []
    for key, name in names.items():
        places = _places(name, text, counting)
        if any(text[a[1] : b[0]].strip() for a, b in pairwise(places)):
            counters[f"discontinuous names: {name.label}"] += 1
        end = max(end for _, end in places)
        mentions.append(Mention(places[0][0], end, label=name.label, entity=ids.get(key)))
    return mentions, counters


def _counting(names: Iterable[_Name], text: str) -> Counting:
    """Find what the offsets count, by the names in one piece; raises ``StandoffError``."""
    whole = [
        WrittenName(*name.pieces[0], name.label, name.shown)
        for name in names
        if len(name.pieces) == 1
    ]
    try:
        return find_counting([_Text(text, whole)])
    except BadRecordError as error:
        raise StandoffError(1, *error.args) from error


def _whole_names(lines: Sequence[str], text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; one name of several lines of the text may stand on as many.

    brat has spaces for the line ends, but NER-UK 2 does not.
    """
    at = 0
    while at < len(lines):
        n = 1
        if (match := _NAME.fullmatch(lines[at])) and ";" not in match[3]:
            start, end = map(int, match[3].split())
            surface = text[start:end]
            shown = " ".join([match[4] or "", *lines[at + 1 : at + 1 + surface.count("\n")]])
            n += surface.count("\n") if shown.split() == surface.split() else 0
        yield at + 1, " ".join(lines[at : at + n])
        at += n


def _plain(found: re.Match[str]) -> str:
    """Decode bytes in hexadecimal: UTF-8, or Latin-1 if they are none (``%A0`` alone)."""
    data = bytes.fromhex(found[0].replace("%", ""))
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _places(name: _Name, text: str, counting: Counting) -> list[tuple[int, int]]:
    """Find the pieces of a name in the text, in order; raises ``StandoffError``."""
    written = [WrittenName(*piece, name.label) for piece in name.pieces]
    places = [place for place in counting.places(text, written) if place]
    where = ";".join(f"{start} {end}" for start, end in name.pieces)
    if len(places) < len(written):
        what = f"{name.label} {where} is no place in the text, which has {len(text):,} characters"
        raise StandoffError(name.line, "bad_span", f"{what}. Is it the right text?")
    surface = " ".join(" ".join(text[start:end] for start, end in places).split())
    if not surface or surface != " ".join((name.shown or surface).split()):
        what = f"{(name.shown or '')[:80]!r} is {surface[:80]!r} at {where} in the text"
        raise StandoffError(name.line, "bad_span", f"{what}. Offsets count {counting}.")
    return sorted(places)
