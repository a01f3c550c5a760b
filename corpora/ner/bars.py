"""A sentence a line, with bars between a token and its tags: ``Ada|NNP|I-PER kam|VBD|O``.

WikiNER has it so. Spaces are between tokens; the tag is after the last bar, the token before the
first of the same number of bars from the end.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from corpora.document import Rejected
from corpora.ner.found import BadRecordError, Found, Gathered, Origin, Row, row_of
from corpora.ner.layout import Layout
from corpora.ner.schemes import READABLE

BAR = "|"
_FIRST = 200
"""The number of lines that are looked at."""
_MIN_RATIO = 0.9


def bars_layout(lines: Sequence[str]) -> Layout | None:
    """Find how many bars follow a token; None if the lines are something else."""
    items = [item for line in _full(lines[:_FIRST]) for item in line.split()]
    counts = Counter(item.count(BAR) for item in items)
    n_bars = max(counts, key=counts.__getitem__, default=0)
    n_tags = sum(bool(READABLE.fullmatch(item.rpartition(BAR)[2])) for item in items)
    if not n_bars or n_tags < _MIN_RATIO * len(items):
        return None
    return Layout(format="bars", separator=BAR, n_columns=n_bars + 1, tag=n_bars)


def _full(lines: Sequence[str]) -> Iterator[str]:
    return (line for line in lines if line.strip())


def read_bars(data: bytes, layout: Layout, origin: Origin) -> Found:
    """Read the sentences; a token without its tags rejects its line."""
    sentences = Gathered()
    rejected: list[Rejected] = []
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
        try:
            if line.strip():
                sentences.add(number, [_row(item, layout) for item in line.split()])
        except BadRecordError as error:
            rejected.append(origin.leave_out("line", error, number))
    return sentences.found(rejected)


def _row(item: str, layout: Layout) -> Row:
    token, *others = item.rsplit(BAR, layout.n_columns - 1)
    if len(others) != layout.n_columns - 1:
        what = f"{len(others)} bars in {item[:80]!r}, not {layout.n_columns - 1}"
        raise BadRecordError("columns", what)
    return row_of([token, others[layout.tag - 1]])
