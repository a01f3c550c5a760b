"""Names from classes, starts and ends of words: the rules of Class-Start-End (C.5).

Shapes: S sentences, N words of the longest, L labels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modeling.data.tagset import OUTSIDE, Codes

Floats = NDArray[np.floating[Any]]

_LIKELY = 0.5


@dataclass(frozen=True, slots=True)
class ClassStartEnd:
    """Probabilities of the words of one sentence."""

    classes: Floats
    """(N, 1 + L): of O and of each label."""
    starts: Floats
    """(N,): that a name begins there."""
    ends: Floats
    """(N,): that a name ends there."""


def class_start_end(sentence: ClassStartEnd, *, as_published: bool = False) -> Codes:
    """(N,) tags of the names in a sentence.

    A name opens at a likely start and closes at a likely end. An end that nothing opened opens at
    the best start since the last name; a likely start after an open name closes it at its best end.
    Its label is the one with the largest sum over its words.

    Two rules differ from the published ones. A start with neither an end nor a start after it is
    closed at the best end of the rest of the sentence; and a name is dropped where O is more
    likely, on average over its words, than all labels together. ``as_published``: such a start is
    dropped; and so is a name if the sum of O is larger than that of its label.
    """
    tags = np.zeros(len(sentence.starts), np.int64)
    for first, last in _bounds(sentence, closes_last=not as_published):
        sums = sentence.classes[first : last + 1].sum(0)
        label = int(sums[1:].argmax())
        of_name = sums[1 + label] if as_published else sums[1:].sum()
        if of_name > sums[OUTSIDE]:
            tags[first] = 1 + 2 * label
            tags[first + 1 : last + 1] = 2 + 2 * label
    return tags


def _bounds(sentence: ClassStartEnd, *, closes_last: bool) -> list[tuple[int, int]]:
    """First and last word of each candidate; disjoint, in order."""
    starts, ends = sentence.starts, sentence.ends
    is_start, is_end = starts > _LIKELY, ends > _LIKELY
    followed_by_start = np.append(is_start[1:], False)
    found: list[tuple[int, int]] = []
    open, free = None, 0  # the first word of the open name; the first one after the last name
    for word in np.flatnonzero(is_start | is_end | followed_by_start).tolist():
        if is_start[word] and open is None:
            open = word
        if is_end[word]:
            first = free + int(starts[free : word + 1].argmax()) if open is None else open
            found.append((first, word))
        elif open is not None and followed_by_start[word]:
            found.append((open, open + int(ends[open : word + 1].argmax())))
        else:
            continue
        open, free = None, word + 1
    if open is not None and closes_last:
        found.append((open, open + int(ends[open:].argmax())))
    return found
