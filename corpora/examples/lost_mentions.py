"""A bounded list of the mentions that were lost because of the limits of examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final

import numpy as np
import pyarrow as pa

from corpora.datasets.columns import MentionColumn
from corpora.examples.mentions import LOSSES, NAMED, Entities
from corpora.reports import markdown_table
from corpora.system.cells import guarded

LISTED: Final = 100
"""The most mentions that are listed for each reason and each shard of documents."""
SHOWN: Final = 10
"""The most mentions that ``report.md`` shows for each reason."""
FILE: Final = "lost_mentions.tsv"
_LONGEST: Final = 200
"""The most characters of a mention that are shown; ``start`` and ``end`` give its full length."""


@dataclass(frozen=True, slots=True)
class LostMention:
    """A mention that became no entity because of the limits of examples."""

    reason: str
    document: str
    start: int
    """In characters of the document, as ``end``; half-open."""
    end: int
    subwords: int
    """The number of its subwords."""
    text: str
    """The text on one line; after 200 characters it is cut and ends with an ellipsis."""


def name_losses(
    batch: pa.RecordBatch, mentions: MentionColumn, entities: Entities
) -> list[LostMention]:
    """List the lost mentions of documents, at most ``LISTED`` a reason, in reading order."""
    starts, ends = mentions.numbers("start"), mentions.numbers("end")
    ids, texts = batch.column("id"), batch.column("text")
    named = []
    for reason, (numbers, sizes) in entities.named.items():
        order = np.argsort(numbers, kind="stable")[:LISTED]
        of = np.searchsorted(mentions.ends, numbers[order], side="right") - 1
        opened = {row: texts[row].as_py() for row in np.unique(of).tolist()}
        for row, number, size in zip(
            of.tolist(), numbers[order].tolist(), sizes[order].tolist(), strict=True
        ):
            start, end = int(starts[number]), int(ends[number])
            text = _on_a_line(opened[row][start:end])
            named.append(LostMention(reason, ids[row].as_py(), start, end, size, text))
    return named


def _on_a_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


class FirstMentions:
    """A filter that passes only the first ``LISTED`` mentions of each reason."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def take(self, lost: Iterable[LostMention]) -> list[dict[str, str | int]]:
        """Return the mentions that there is room for, as plain values."""
        taken = []
        for mention in lost:
            if self._taken[mention.reason] < LISTED:
                self._taken[mention.reason] += 1
                taken.append(asdict(mention))
        return taken


def to_tsv(named: Iterable[Mapping[str, str | int]]) -> Iterator[str]:
    """Yield the lines of a TSV file: a header, and a line for each mention."""
    columns = [column.name for column in fields(LostMention)]
    yield "\t".join(columns) + "\n"
    for mention in named:
        yield "\t".join(guarded(str(mention[column])) for column in columns) + "\n"


def section(named: Sequence[Mapping[str, str | int]], counters: Mapping[str, int]) -> Iterator[str]:
    """Yield the part of ``report.md``: how many are lost, and the first of each reason."""
    if not named:
        return
    yield from ("## Mentions that no example has room for", "")
    yield (
        f"`{FILE}` names the first {LISTED} of each reason of each shard of documents; here stand "
        f"the first {SHOWN} of each."
    )
    for reason in NAMED:
        listed = [mention for mention in named if mention["reason"] == reason]
        if listed:
            n = counters[f"mentions.{reason}"]
            yield from ("", f"`{reason}`, {LOSSES[reason]}: {n:,}, of which {len(listed):,} named.")
            columns = ("document", "start", "end", "subwords", "text")
            rows = ([str(mention[name]) for name in columns] for mention in listed[:SHOWN])
            head = ("document", "from", "to", "subwords", "text")
            yield from ("", *markdown_table(head, rows, align="lrrrl"))
    yield ""
