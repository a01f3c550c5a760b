"""Tags of any scheme to IOB2, by arrays; what is illegal is marked, and repaired.

A tag is ``O``, or a letter, ``-`` or ``_``, and a label. ``B`` begins an entity, ``I`` and ``M`` go
on with it, ``E`` and ``L`` end it, ``S``, ``U`` and ``W`` are one of a single token. In IOB1 ``I``
begins an entity, too, and ``B`` stands only between two of one label (Ramshaw and Marcus 1995;
Tjong Kim Sang and Veenstra 1999). Shapes: N sentences, T tokens.
"""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corpora.ner.columns import Codes, Flags, Indices, Tags
from corpora.ner.spans import shifted

READABLE = re.compile(r"O|[BIMESLUW][-_]\S+")
_ODD = re.compile(r"[BIMESLUW][.:=]\S+")  # B.PER
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
_LETTERS = {
    "O": OUTSIDE, "B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END,
    "S": SINGLE, "U": SINGLE, "W": SINGLE,
}  # fmt: skip
Kinds = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Normal:
    """Tags as IOB2, and what had to be done for it."""

    tags: Tags
    is_illegal: Flags
    """(T,): what the scheme does not allow; it is repaired in ``tags``."""
    opens: Flags
    """(T,): begins an entity."""
    is_source_opening: Flags
    """(T,): does so in the source too, by the rules of its scheme."""
    problems: dict[str, int]
    """How many tokens of which kind of repair: ``tags.stray`` …"""


@dataclass(frozen=True, slots=True)
class _Read:
    """Names of tags, read: one row each."""

    kinds: Kinds
    labels: Codes  # -1: outside
    label_names: tuple[str, ...]
    is_odd: Flags
    is_unreadable: Flags
    has_underscore: Flags


def _read(names: tuple[str, ...]) -> _Read:
    labels: dict[str, int] = {}
    kinds, numbers = np.zeros(len(names), np.int8), np.full(len(names), -1, np.int32)
    odd, unreadable, underscore = np.zeros((3, len(names)), bool)
    for code, name in enumerate(names):
        odd[code] = bool(_ODD.fullmatch(name))
        if not READABLE.fullmatch(name) and not odd[code]:
            unreadable[code] = name != "_"
            continue
        kinds[code] = _LETTERS[name[0]]
        if name != "O":
            numbers[code] = labels.setdefault(name[2:], len(labels))
            underscore[code] = name[1] == "_"
    return _Read(kinds, numbers, tuple(labels), odd, unreadable, underscore)


def normalise(tags: Tags, begins: Indices, scheme: str) -> Normal:
    """Rewrite tags as IOB2.

    ``I`` or ``E`` that go on with nothing begin an entity (as ``conlleval`` reads them), an entity
    that IOBES leaves open ends where its tokens do, ``B.PER`` is ``B-PER``, and a tag that cannot
    be read is ``O``; each is illegal, and counted.
    """
    read = _read(tags.names)
    kind, label = read.kinds[tags.codes], read.labels[tags.codes]  # (T,)
    goes_on = ((kind == INSIDE) | (kind == END)) & _is_open_before(kind, label, begins)
    opens = (label >= 0) & ~goes_on
    is_letter = _letters(scheme)[kind]
    stray = opens & ((kind == INSIDE) | (kind == END)) & (scheme != "iob1")
    unclosed = _unclosed(kind, goes_on, label) if scheme == "iobes" else np.zeros_like(opens)
    odd, unreadable = read.is_odd[tags.codes], read.is_unreadable[tags.codes]
    foreign = ~is_letter & (label >= 0) & ~stray
    return Normal(
        tags=Tags(_codes(opens, label), _names(read.label_names)),
        is_illegal=stray | unclosed | odd | unreadable | foreign,
        opens=opens,
        is_source_opening=opens & ~stray & ~odd,
        problems={
            name: int(np.count_nonzero(flags))
            for name, flags in (
                ("tags.stray", stray),
                ("tags.unclosed", unclosed),
                ("tags.misspelled", odd),
                ("tags.unreadable", unreadable),
                ("tags.of another scheme", foreign),
                ("tags.with underscore", read.has_underscore[tags.codes]),
            )
            if flags.any()
        },
    )


def _letters(scheme: str) -> Flags:
    """Which kinds a scheme has."""
    allowed = np.ones(5, bool)
    if scheme != "iobes":
        allowed[[END, SINGLE]] = False
    return allowed


def _is_open_before(kind: Kinds, label: Codes, begins: Indices) -> Flags:
    """(T,): whether the token before has the same label, and its entity has not ended."""
    is_open = (kind == BEGIN) | (kind == INSIDE)
    before = shifted(np.where(is_open, label, -1).astype(np.int32), begins)
    return np.asarray(before == label)


def _unclosed(kind: Kinds, goes_on: Flags, label: Codes) -> Flags:
    """(T,): the last token of an entity that should go on."""
    ends = np.ones(len(kind), bool)
    ends[:-1] = ~goes_on[1:]
    unclosed: Flags = ((kind == BEGIN) | (kind == INSIDE)) & ends & (label >= 0)
    return unclosed


def _codes(opens: Flags, label: Codes) -> Codes:
    """Codes of IOB2 tags: O, then B and I of each label."""
    codes = np.where(label < 0, 0, 2 * label + 2 - opens)
    return codes.astype(np.int32)


def _names(labels: tuple[str, ...]) -> tuple[str, ...]:
    return ("O", *(f"{letter}-{label}" for label in labels for letter in "BI"))


def continues(tags: Tags) -> Flags:
    """(T,): whether a tag goes on with the entity of the token before, sentences aside."""
    read = _read(tags.names)
    kind, label = read.kinds[tags.codes], read.labels[tags.codes]
    inside: Flags = (kind == INSIDE) | (kind == END)
    return inside & _is_open_before(kind, label, np.array([0, len(kind)]))


def detect_scheme(tags: Tags, begins: Indices) -> str:
    """Tell IOBES by what ends most entities, IOB1 from IOB2 by what begins them."""
    read = _read(tags.names)
    kind, label = read.kinds[tags.codes], read.labels[tags.codes]
    n_closing = np.count_nonzero((kind == END) | (kind == SINGLE))
    if 2 * n_closing > np.count_nonzero((kind == BEGIN) | (kind == SINGLE)):
        return "iobes"
    before = shifted(label, begins)
    by_inside = np.count_nonzero((kind == INSIDE) & (before != label))
    by_begin = np.count_nonzero((kind == BEGIN) & (before != label))
    return "iob1" if by_inside > by_begin else "iob2"


def to_scheme(tags: Tags, *, letters: str) -> Tags:
    """Rewrite legal IOB2 tags; ``letters`` are those of the first, inner, last and only token."""
    read = _read(tags.names)
    kind, label = read.kinds[tags.codes], read.labels[tags.codes]
    goes_on = kind == INSIDE
    last = np.ones(len(kind), bool)
    last[:-1] = ~goes_on[1:]
    form = np.where(kind == BEGIN, np.where(last, 3, 0), np.where(last, 2, 1))
    codes = np.where(label < 0, 0, 1 + 4 * label + form).astype(np.int32)
    names = ("O", *(f"{letter}-{name}" for name in read.label_names for letter in letters))
    return Tags(codes, names)
