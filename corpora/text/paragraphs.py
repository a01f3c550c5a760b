"""Paragraphs of a text, by lines or blank lines, and their sentences."""

import re
from collections.abc import Iterator, Sequence

from corpora.segmentation.sentences import Segmenter

LINE, BLANK = "line", "blank"
_LINE = re.compile(r"\S[^\n]*")
_LINES = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")  # up to the next blank line
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60]")
_UNIT = re.compile(rf"{_WIDE.pattern}{{1,3}}|\S+")

WIDTHS = (30, 120)
"""The least and the greatest width of hard-wrapped text, in columns, of which wide characters take
two; narrower text is verse or a list of words."""
MIN_INNER = 3
MIN_FULL = 0.75
LOOKED_AT = 5000
"""The number of inner lines of a text that are examined."""


def find_blocks(text: str, how: str, *, start: int = 0) -> list[tuple[int, int]]:
    """Find the paragraphs from ``start`` on, without white space around.

    ``line``: each line that is not blank; ``blank``: each run of lines between blank lines.
    """
    pattern = _LINE if how == LINE else _LINES
    return [
        (found.start(), found.start() + len(found[0].rstrip()))
        for found in pattern.finditer(text, start)
    ]


def first_line(text: str) -> tuple[int, int]:
    """Find the first line that is not blank, without white space around; 0, 0 if there is none."""
    found = _LINE.search(text)
    return (found.start(), found.start() + len(found[0].rstrip())) if found else (0, 0)


def is_hard_wrapped(text: str) -> bool:
    """Tell whether line breaks inside the paragraphs were put in at a certain width.

    An inner line is a line with another line, not blank, below it. A line was broken for want of
    room if the next word (of Chinese and Japanese: three characters, for some marks may not begin
    or end a line) would not have fitted into the width. The width is that of the longest inner
    line when the longest twentieth is left out. A text is hard-wrapped if its width is between
    ``WIDTHS``, and at least ``MIN_FULL`` of the inner lines, of which there must be ``MIN_INNER``,
    were broken for want of room.
    """
    widths, needed = [], []
    for line, following in _inner_lines(text):
        unit = _UNIT.match(following)
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


def _inner_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the first ``LOOKED_AT`` inner lines, each with the line below, both stripped."""
    n = 0
    previous = ""
    for found in re.finditer(r"[^\n]*\n?", text):
        line = found[0].rstrip()
        if previous and line:
            yield previous, line.lstrip()
            n += 1
            if n == LOOKED_AT:
                return
        previous = line


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
