"""A sentence in each line, with signs between a token and its tags: bars (WikiNER), or slashes.

``Ada|NNP|I-PER kam|VBD|O``, ``Ada/PERSON kam/O``: the last is the tag; tokens have no blanks.
"""

from collections import Counter
from collections.abc import Sequence

from corpora.document import Rejected
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Gathered, Origin, PartSentences, Row, row_of
from corpora.ner.layout import LABELS, USUAL, FileLayout
from corpora.ner.schemes import LABEL, READABLE

SIGNS = {"bars": "|", "slashes": "/"}
_FIRST = 200
"""The number of lines that are looked at."""
_MIN_RATIO = 0.9


def bars_layout(lines: Sequence[str], form: str) -> FileLayout | None:
    """Find how many signs follow a token; None if the lines are something else.

    Tags without letters are labels if half of the tokens or more are in no name.
    """
    sign = SIGNS[form]
    full = [line for line in lines[:_FIRST] if line.strip()]
    items = [item for line in full for item in line.split()]
    counts = Counter(item.count(sign) for item in items)
    n_signs = max(counts, key=counts.__getitem__, default=0)
    tags = Counter(item.rpartition(sign)[2] for item in items)
    n_tags = sum(n for tag, n in tags.items() if READABLE.fullmatch(tag))
    n_labels = sum(n for tag, n in tags.items() if LABEL.fullmatch(tag))
    is_labels = 2 * tags["O"] >= tags.total() and n_labels >= _MIN_RATIO * tags.total()
    if not n_signs or not (is_labels or n_tags >= _MIN_RATIO * tags.total()):
        return None
    spelling = USUAL if n_tags >= _MIN_RATIO * tags.total() else LABELS
    return FileLayout(
        format=form, separator=sign, n_columns=n_signs + 1, tag=n_signs, spelling=spelling
    )


def read_bars(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
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


def _row(item: str, layout: FileLayout) -> Row:
    token, *others = item.rsplit(layout.separator, layout.n_columns - 1)
    if len(others) != layout.n_columns - 1:
        what = f"{len(others)} signs {layout.separator} in {item[:80]!r}, not {layout.tag}"
        raise BadRecordError("columns", what)
    tag = others[layout.tag - 1]
    return row_of([token, f"I-{tag}" if layout.spelling == LABELS and tag != "O" else tag])
