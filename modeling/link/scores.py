"""Scores of end-to-end entity linking against gold links, as HIPE-2022 defines them.

Strict: a link is right if its start, its end and its entity are those of a gold link. Fuzzy: a link
is right if it overlaps a gold link with the same entity; each gold link is overlapped once. Labels
do not count, nor does the case of ids. With NIL, mentions without an entity are links to NIL;
without, they are no links. (CLEF-HIPE 2022, "Evaluation"; its published scorer, scenarios I to VI.)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from corpora.document import Document, SpanIndex
from corpora.errors import CorpusError
from corpora.reports import markdown_table
from modeling.bootstrap import DrawnUnits, percentiles, ratios, resample

NIL: Final = "NIL"
CORRECT, PREDICTED, GOLD = range(3)
WAYS: Final = ("strict", "fuzzy")


class LinkedSpan(NamedTuple):
    """A half-open span of characters (or tokens), and the entity that it means."""

    start: int
    end: int
    entity: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The counts (right, predicted, gold) of each of N documents."""

    ids: tuple[str, ...]
    counts: Mapping[str, NDArray[np.int64]]  # (N, 3), for each of ``WAYS``


def links_of(document: Document, *, nil: bool) -> list[LinkedSpan]:
    """Return the links of a document; with ``nil``, mentions without an entity are links to NIL."""
    return [
        LinkedSpan(m.start, m.end, m.entity or NIL) for m in document.mentions if m.entity or nil
    ]


def compare(gold: Sequence[Document], predicted: Sequence[Document], *, nil: bool) -> Compared:
    """Count right, predicted and gold links of each document.

    Raises ``CorpusError`` unless both datasets have the same documents with the same texts, each
    once.
    """
    for documents in (gold, predicted):
        if repeated := [
            id for id, n in Counter(document.id for document in documents).items() if n > 1
        ]:
            raise CorpusError(
                f"{repeated[0]}: is the id of several documents of a dataset, so that nothing says "
                "which to compare. Make the dataset again with ids that differ."
            )
    by_id = {document.id: document for document in predicted}
    missing = [document.id for document in gold if document.id not in by_id]
    if missing or len(by_id) != len(gold):
        example = missing[0] if missing else next(iter(by_id.keys() - {d.id for d in gold}))
        raise CorpusError(
            f"{example}: in one of the two datasets only. Score the same documents on both sides."
        )
    for document in gold:
        if by_id[document.id].text != document.text:
            raise CorpusError(f"{document.id}: the texts differ, so that places mean nothing.")
    rows: dict[str, list[tuple[int, int, int]]] = {way: [] for way in WAYS}
    for document in gold:
        theirs = links_of(document, nil=nil)
        ours = links_of(by_id[document.id], nil=nil)
        for way in WAYS:
            correct = count_right(theirs, ours, fuzzy=way == "fuzzy")
            rows[way].append((correct, len(ours), len(theirs)))
    ids = tuple(document.id for document in gold)
    return Compared(ids, {w: np.array(r, np.int64).reshape(-1, 3) for w, r in rows.items()})


def count_right(gold: Iterable[LinkedSpan], predicted: Iterable[LinkedSpan], *, fuzzy: bool) -> int:
    """Count the predicted links that are right; each is matched with one gold link at most.

    The links of both sides are in reading order.
    """
    index, used, right = SpanIndex[LinkedSpan](), set[LinkedSpan](), 0
    for link in map(_folded, gold):
        index.add(link.start, link.end, link)
    for link in map(_folded, predicted):
        near = index.touching(link.start, link.end)
        free = (other for other in near if other not in used or other[:2] == link[:2])
        if match := link if link in near else next(free, None):
            used.add(match)
            right += match == link or (fuzzy and match.entity == link.entity)
    return right


def _folded(link: LinkedSpan) -> LinkedSpan:
    return link._replace(entity=link.entity.upper())


class MeasuredF1(TypedDict):
    """The F1 with its interval, precision, recall, and counts."""

    f1: float
    interval: list[float] | None
    precision: float | None
    recall: float | None
    right: int
    predicted: int
    gold: int


def measure(compared: Compared, *, replicates: int = 1000) -> dict[str, MeasuredF1]:
    """Compute precision, recall, F1 and its interval over documents, for each way of comparing."""
    units = DrawnUnits.choose(compared.ids)
    scores: dict[str, MeasuredF1] = {}
    for way, counts in compared.counts.items():
        correct, predicted, gold = (int(n) for n in counts.sum(axis=0))
        drawn = resample(counts, units, replicates=replicates)
        both = drawn[:, PREDICTED] + drawn[:, GOLD]
        interval = percentiles(ratios(2 * drawn[:, CORRECT], both))
        scores[way] = {
            "f1": 2 * correct / (predicted + gold) if predicted + gold else 0.0,
            "interval": [interval.low, interval.high] if interval else None,
            "precision": correct / predicted if predicted else None,
            "recall": correct / gold if gold else None,
            "right": correct,
            "predicted": predicted,
            "gold": gold,
        }
    return scores


def describe(scores: Mapping[str, MeasuredF1]) -> Iterator[str]:
    """Yield the lines of a table of scores."""
    rows = []
    for way, score in scores.items():
        between = " to ".join(f"{bound:.3f}" for bound in score["interval"] or ())
        ratios = (score["precision"], score["recall"])
        shown = ["" if ratio is None else f"{ratio:.3f}" for ratio in ratios]
        counts = (score["right"], score["predicted"], score["gold"])
        rows.append([way, f"{score['f1']:.3f}", between, *shown, *counts])
    head = ["links", "F1", "95 %", "precision", "recall", "right", "predicted", "gold"]
    yield from markdown_table(head, rows)
