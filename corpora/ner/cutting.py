"""Long sentences cut into rows: after a full stop where there is one, never inside an entity."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from corpora.ner.columns import Flags, Indices, Tags
from corpora.ner.found import Found

_ENDS = frozenset(".!?…;。！？；．")


def cut_long(found: Found, levels: Sequence[Tags], max_tokens: int) -> tuple[Indices, Indices]:
    """Where rows begin, and how many tokens of the same sentence are before each.

    A row has at most ``max_tokens``, unless a single entity has more; 0 cuts nothing.
    """
    lengths = np.diff(found.begins)
    is_long = lengths > max_tokens
    if not max_tokens or not is_long.any():
        return found.begins, np.zeros(len(found), np.int64)
    goes_on = _goes_on(levels)
    begins: list[int] = []
    shifts: list[int] = []
    for begin, length, long in zip(found.begins[:-1].tolist(), lengths, is_long, strict=True):
        cuts = [0]
        if long:
            end = begin + int(length)
            stops = _is_stop(found.tokens[begin:end])
            cuts += _cuts(goes_on[begin:end], stops, max_tokens)
        begins += [begin + cut for cut in cuts]
        shifts += cuts
    return np.array([*begins, found.begins[-1]], np.int64), np.array(shifts, np.int64)


def _goes_on(levels: Sequence[Tags]) -> Flags:
    """(T,): whether a tag of any level goes on with an entity."""
    flags = np.zeros(len(levels[0].codes), bool)
    for tags in levels:
        flags |= np.array([name[0] == "I" for name in tags.names], bool)[tags.codes]
    return flags


def _is_stop(tokens: pa.StringArray) -> Flags:
    return np.array([token in _ENDS for token in tokens.to_pylist()], bool)


def _cuts(goes_on: Flags, stops: Flags, max_tokens: int) -> list[int]:
    """Where a sentence is cut: before which tokens."""
    may_cut = np.flatnonzero(~goes_on)
    after_stop = may_cut[(may_cut > 0) & stops[may_cut - 1]]
    cuts: list[int] = []
    begin = 0
    while len(goes_on) - begin > max_tokens:
        place = _last(after_stop, begin + max_tokens // 2, begin + max_tokens)
        place = place or _last(may_cut, begin, begin + max_tokens)
        if place is None:  # one entity is longer than that
            later = may_cut[may_cut > begin]
            if not len(later):
                break
            place = int(later[0])
        cuts.append(place)
        begin = place
    return cuts


def _last(places: Indices, after: int, until: int) -> int | None:
    """The last place that is above ``after`` and at most ``until``."""
    row = int(np.searchsorted(places, until, side="right")) - 1
    return int(places[row]) if row >= 0 and places[row] > after else None
