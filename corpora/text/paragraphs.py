"""Paragraphs of a text, by lines, blank lines or indents, and their sentences."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, pairwise

from corpora.segmentation.sentences import Segmenter

LINE, BLANK, INDENT = "line", "blank", "indent"
_LINE = re.compile(r"\S[^\n]*")
_LINES = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")  # up to the next blank line
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60]")
_UNIT = re.compile(rf"{_WIDE.pattern}{{1,3}}|\S+")

WIDTHS = (30, 120)
"""The least and the greatest width of hard-wrapped text, in columns, of which wide characters take
two; narrower text is verse or a list of words."""
MIN_INNER = 3
MIN_FULL = 0.75
MIN_NOT_SET_IN = 0.25
MIN_MARGIN = 0.1
"""How frequent an indent must be, compared with the commonest one, to be the margin."""
LOOKED_AT = 5000
"""The number of inner lines of a text that are examined."""


def find_blocks(text: str, how: str, *, start: int = 0) -> list[tuple[int, int]]:
    """Find the paragraphs from ``start`` on, without white space around.

    ``line``: each line that is not blank; ``blank``: each run of lines between blank lines;
    ``indent``: the same, but a line that is set in from the margin begins a paragraph, too.
    """
    matches = (_LINE if how == LINE else _LINES).finditer(text, start)
    blocks = [(block.start(), block.start() + len(block[0].rstrip())) for block in matches]
    return blocks if how != INDENT else list(_at_indents(text, blocks))


def _at_indents(text: str, blocks: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Cut blocks before each line that is set in from the margin."""
    margin = _margin((above, line) for above, line in _lines(text) if above)
    for start, end in blocks:
        lines = [line.start() for line in _LINE.finditer(text, start, end)]
        indents = (text[text.rfind("\n", 0, line) + 1 : line + 1] for line in lines[1:])
        is_set_in = [_indent(indent) > margin for indent in indents]
        for begin, after in pairwise([start, *compress(lines[1:], is_set_in), end]):
            yield begin, begin + len(text[begin:after].rstrip())


def first_line(text: str) -> tuple[int, int]:
    """Find the first line that is not blank, without white space around; 0, 0 if there is none."""
    match = _LINE.search(text)
    return (match.start(), match.start() + len(match[0].rstrip())) if match else (0, 0)


def is_hard_wrapped(text: str) -> bool:
    """Tell whether line breaks inside the paragraphs were put in at a certain width."""
    return sign_of_paragraphs(text) != LINE


def sign_of_paragraphs(text: str) -> str:
    """Tell what begins a paragraph: ``line`` or, in hard-wrapped text, ``blank`` or ``indent``.

    An inner line is a line with another line, not blank, below it. A line was broken for want of
    room if the next word (of Chinese and Japanese: three characters, for some marks may not begin
    or end a line) would not have fitted into the width. The width is that of the longest inner
    line when the longest twentieth is left out. A text is hard-wrapped if its width is between
    ``WIDTHS``, and at least ``MIN_FULL`` of the inner lines, of which there must be ``MIN_INNER``,
    were broken for want of room.

    The indent begins a paragraph if more lines are set in, each below one that is not, than there
    are blank lines. Then a line above one that is set in is no inner line. At least
    ``MIN_NOT_SET_IN`` of all lines must not be set in: if there are fewer, they are a table of
    contents above a text whose paragraphs are lines.
    """
    lines = list(_lines(text))
    pairs = [(above, line) for above, line in lines if above]
    margin = _margin(pairs)
    inner = [(above, line) for above, line in pairs if _indent(line) <= margin]
    n_blank = len(lines) - len(pairs) - 1  # nothing is above the first line
    n_steps = sum(_indent(above) <= margin < _indent(line) for above, line in pairs)
    if n_steps > n_blank and len(inner) >= MIN_NOT_SET_IN * len(pairs) and _are_full(inner):
        return INDENT
    return BLANK if _are_full(pairs) else LINE


def _margin(pairs: Iterable[tuple[str, str]]) -> int:
    """Return the least indent that lines below others have, if it is not rare (``MIN_MARGIN``)."""
    counts = Counter(_indent(line) for _, line in pairs)
    least = MIN_MARGIN * max(counts.values(), default=0)
    return min((indent for indent, n in counts.items() if n >= least), default=0)


def _indent(line: str) -> int:
    return _columns(line[: len(line) - len(line.lstrip())])


def _are_full(pairs: Sequence[tuple[str, str]]) -> bool:
    """Tell whether most of these lines, each with the one below, were broken for want of room."""
    widths, needed = [], []
    for line, following in pairs:
        unit = _UNIT.match(following.lstrip())
        word = unit[0] if unit else ""
        widths.append(_columns(line))
        needed.append(widths[-1] + (not _WIDE.match(word)) + _columns(word))
    if len(widths) < MIN_INNER:
        return False
    width = sorted(widths)[len(widths) * 19 // 20]
    n_full = sum(1 for columns in needed if columns > width)
    return WIDTHS[0] <= width <= WIDTHS[1] and n_full >= MIN_FULL * len(widths)


def _columns(text: str) -> int:
    return len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line that is not blank, after the line above it, both stripped on the right.

    Ends after ``LOOKED_AT`` inner lines.
    """
    n = 0
    above = ""
    for match in re.finditer(r"[^\n]*\n?", text):
        line = match[0].rstrip()
        if line:
            yield above, line
            n += bool(above)
        if n == LOOKED_AT:
            return
        above = line


def find_sentences(
    segmenter: Segmenter, text: str, blocks: Sequence[tuple[int, int]], *, has_heading: bool
) -> list[tuple[int, int]]:
    """Find the sentences of all blocks; a heading, if the first block is one, is not cut."""
    starts: list[int] = []  # of the blocks in ``lines``, a line each
    end = -1
    for block_start, block_end in blocks:
        starts.append(end + 1)
        end += 1 + block_end - block_start
    lines = "\n".join([text[start:end] for start, end in blocks])
    moved = [(new, new + end - start) for new, (start, end) in zip(starts, blocks, strict=True)]
    sentences = []
    block = 0
    for start, end in segmenter.split(lines, moved, unbroken=moved[:1] if has_heading else ()):
        while moved[block][1] < end:
            block += 1
        shift = blocks[block][0] - starts[block]
        sentences.append((start + shift, end + shift))
    return sentences
