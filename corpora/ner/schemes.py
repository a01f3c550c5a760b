"""Tags of any scheme converted to IOB2, and spans of IOB2, on arrays; illegal tags are repaired.

A tag is ``O``, or a letter, ``-`` or ``_``, and a label. ``B`` begins an entity, ``I`` and ``M``
continue it, ``E`` and ``L`` end it; ``S``, ``U`` and ``W`` are an entity of a single token. In IOB1
``I`` also begins an entity, and ``B`` stands only between two entities of one label (Ramshaw and
Marcus 1995; Tjong Kim Sang and Veenstra 1999). Shapes: N sentences, T tokens, S spans.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corpora.errors import InvalidDocumentError
from corpora.ner.columns import Codes, Flags, Indices, SentenceColumns, Tags, shifted
from corpora.tagging import IOB2_TAG

READABLE = re.compile(r"O|[BIMESLUW][-_]\S+")
LABEL = re.compile(r"O|(?![BIMESLUW][-_.:=])\S+")
"""What stands for a tag where labels have no letter before them: a label, or ``O``."""
SUFFIXED = re.compile(r"(\S+)[-_]([BIMESLUW])")
"""A tag with its letter at the end: ``PER-B``."""
LETTERS = frozenset("BIMESLUW")
CONTINUING = frozenset("IMEL")
"""Letters that may stand alone: they continue an entity, whose label is known."""
UNLABELLED = "NAME"
"""The label of names in sets without labels."""
NOTHING = ("O", "0", "-", "_")
"""What stands for no name where tags are written as ``PER-B``, or without labels."""
_ODD = re.compile(r"[BIMESLUW][.:=]\S+")  # as B.PER
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
_LETTERS = {
    "O": OUTSIDE, "B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END,
    "S": SINGLE, "U": SINGLE, "W": SINGLE,
}  # fmt: skip


def respelled(tags: Tags, spelling: str) -> Tags:
    """Write tags as ``B-PER``; ``spelling`` is that of a ``Layout``.

    A letter alone that continues an entity (``I`` after ``B-PER``) gets its label; one after ``O``
    stays as it is. Where no tag has a label, it is ``UNLABELLED``.
    """
    if spelling == "B":
        return Tags(
            tags.codes, tuple(f"{n}-{UNLABELLED}" if n in LETTERS else n for n in tags.names)
        )
    if spelling == "PER-B":
        matches = [SUFFIXED.fullmatch(name) for name in tags.names]
        names = [
            f"{match[2]}-{match[1]}" if match else "O" if name in NOTHING else name
            for name, match in zip(tags.names, matches, strict=True)
        ]
        return Tags(tags.codes, tuple(names))
    is_bare = np.array([name in CONTINUING for name in tags.names], bool)[tags.codes]
    if not is_bare.any():
        return tags
    at = np.arange(len(tags.codes))
    before = np.maximum.accumulate(np.where(is_bare, -1, at))
    numbers = {name: number for number, name in enumerate(tags.names)}
    codes = tags.codes.copy()
    for row in np.flatnonzero(is_bare & (before >= 0)).tolist():
        whole = tags.names[tags.codes[before[row]]]
        if READABLE.fullmatch(whole) and whole != "O":
            name = f"{tags.names[tags.codes[row]]}-{whole[2:]}"
            codes[row] = numbers.setdefault(name, len(numbers))
    return Tags(codes, tuple(numbers))


@dataclass(frozen=True, slots=True)
class Normal:
    """Tags in IOB2, and the repairs that were needed."""

    tags: Tags
    is_illegal: Flags
    """(T,): whether the scheme does not allow the tag, which is repaired in ``tags``."""
    opens: Flags
    """(T,): whether the token begins an entity."""
    is_source_opening: Flags
    """(T,): whether it begins one in the source too, by the rules of the source's scheme."""
    problems: dict[str, int]
    """The number of tokens by kind of problem: ``tags.orphan`` …"""


class _Read(NamedTuple):
    """Parsed tags."""

    kind: Codes  # (T,)
    label: Codes  # (T,); -1: none
    labels: tuple[str, ...]
    flags: Flags
    """(3, number of names): whether each is like ``B.PER``, is unreadable, has an underscore."""


def _read(tags: Tags) -> _Read:
    labels: dict[str, int] = {}
    rows = []
    for name in tags.names:
        is_odd = bool(_ODD.fullmatch(name))
        is_tag = is_odd or bool(READABLE.fullmatch(name))
        has_label = is_tag and name != "O"
        rows.append((
            _LETTERS[name[0]] if is_tag else OUTSIDE,
            labels.setdefault(name[2:], len(labels)) if has_label else -1,
            is_odd,
            not is_tag and name != "_",
            has_label and name[1] == "_",
        ))  # fmt: skip
    kinds, of_names, *flags = np.array(rows, np.int32).reshape(-1, 5).T
    return _Read(kinds[tags.codes], of_names[tags.codes], tuple(labels), np.array(flags, bool))


def normalise(tags: Tags, begins: Indices, scheme: str) -> Normal:
    """Convert tags to IOB2.

    An orphan ``I`` or ``E`` begins an entity (as in ``conlleval``), an entity that IOBES leaves
    open ends with its tokens, ``B.PER`` is ``B-PER``, and an unreadable tag is ``O``; each of these
    is illegal, and counted.
    """
    kind, label, labels, flags = _read(tags)
    odd, unreadable, has_underscore = flags[:, tags.codes]
    is_inner = (kind == INSIDE) | (kind == END)
    continues = is_inner & _is_open_before(kind, label, begins)
    opens = (label >= 0) & ~continues
    orphan = opens & is_inner & (scheme != "iob1")
    unclosed = np.zeros_like(opens)
    if scheme == "iobes":
        is_last = np.append(~continues[1:], True)[: len(kind)]
        unclosed = ((kind == BEGIN) | (kind == INSIDE)) & is_last & (label >= 0)
    is_foreign = (kind >= END) & (label >= 0) & ~orphan & (scheme != "iobes")
    problems = {
        "tags.orphan": orphan,
        "tags.unclosed": unclosed,
        "tags.misspelled": odd,
        "tags.unreadable": unreadable,
        "tags.of another scheme": is_foreign,
        "tags.with underscore": has_underscore,
    }
    codes = np.where(label < 0, 0, 2 * label + 2 - opens).astype(np.int32)
    return Normal(
        tags=Tags(codes, ("O", *(f"{letter}-{name}" for name in labels for letter in "BI"))),
        is_illegal=orphan | unclosed | odd | unreadable | is_foreign,
        opens=opens,
        is_source_opening=opens & ~orphan & ~odd,
        problems={name: int(flags.sum()) for name, flags in problems.items() if flags.any()},
    )


def _is_open_before(kind: Codes, label: Codes, begins: Indices) -> Flags:
    """Tell for each token whether the entity before it is open and has its label, shape (T,)."""
    is_open = (kind == BEGIN) | (kind == INSIDE)
    return np.asarray(shifted(np.where(is_open, label, -1), begins) == label)


def continues(tags: Tags) -> Flags:
    """Tell for each tag whether it continues the entity before it, across sentences; shape (T,)."""
    kind, label, *_ = _read(tags)
    is_inner: Flags = (kind == INSIDE) | (kind == END)
    return is_inner & _is_open_before(kind, label, np.array([0, len(kind)]))


def detect_scheme(tags: Tags, begins: Indices) -> str:
    """Detect the scheme of tags.

    It is IOBES if most entities end in ``E``, ``S`` or the like; IOB1 if more entities begin with
    ``I`` than with ``B``; else IOB2.
    """
    kind, label, *_ = _read(tags)
    n_closing = np.count_nonzero(kind >= END)
    if 2 * n_closing > np.count_nonzero((kind == BEGIN) | (kind == SINGLE)):
        return "iobes"
    is_first = shifted(label, begins) != label
    by_inside, by_begin = (np.count_nonzero((kind == k) & is_first) for k in (INSIDE, BEGIN))
    return "iob1" if by_inside > by_begin else "iob2"


def to_scheme(tags: Tags, *, letters: str) -> Tags:
    """Convert legal IOB2 tags; ``letters`` are those of the first, inner, last and only token."""
    kind, label, labels, _ = _read(tags)
    is_last = np.append(kind[1:] != INSIDE, True)[: len(kind)]
    form = np.where(kind == BEGIN, np.where(is_last, 3, 0), np.where(is_last, 2, 1))
    codes = np.where(label < 0, 0, 1 + 4 * label + form).astype(np.int32)
    return Tags(codes, ("O", *(f"{letter}-{name}" for name in labels for letter in letters)))


@dataclass(frozen=True, slots=True)
class Spans:
    """The spans of a batch of sentences, and the number of orphan ``I-`` tags."""

    starts: Indices  # (S,), indices of tokens in the batch
    ends: Indices  # (S,), half-open
    labels: Codes
    """(S,): indices into ``label_names``."""
    label_names: tuple[str, ...]
    is_adjacent: Flags
    """(S,): whether a span begins where one of the same label ends."""
    n_orphans: int
    """The number of ``I-x`` after neither ``B-x`` nor ``I-x``."""


def find_spans(sentences: SentenceColumns) -> Spans:
    """Find the spans in order, strictly, as ``corpora.tagging.from_iob2`` does.

    Raises ``InvalidDocumentError`` for a tag that is not IOB2.
    """
    for name in sentences.tags.names:
        if not IOB2_TAG.fullmatch(name):
            raise InvalidDocumentError(f"{name!r} is none of O, B-x, I-x")
    kind, label, names, _ = _read(sentences.tags)
    is_open = kind == BEGIN
    before = shifted(label, sentences.begins)
    continues = ~is_open & (label >= 0) & (label == before)
    runs = np.flatnonzero(~continues)  # every token begins a run, or continues it
    ends = np.append(runs, len(label))[1:]
    is_span = is_open[runs]
    starts, ends = runs[is_span], ends[is_span]
    last = np.full(len(label) + 1, -1, np.int32)
    last[ends] = label[starts]  # the label of the span that ends here
    last[sentences.begins] = -1
    return Spans(
        starts=starts,
        ends=ends,
        labels=label[starts],
        label_names=names,
        is_adjacent=last[starts] == label[starts],
        n_orphans=int(np.count_nonzero(~is_open & (label >= 0) & ~continues)),
    )
