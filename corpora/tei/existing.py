"""Names that are in a text already, quick to ask which of them a span touches."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from corpora.document import Mention, Span


class Names:
    """The mentions of a document, in reading order."""

    def __init__(self, mentions: Sequence[Mention]) -> None:
        self._mentions = mentions
        self._starts = [mention.start for mention in mentions]
        self._reach = list(accumulate((mention.end for mention in mentions), max))

    def overlapping(self, span: Span) -> list[Mention]:
        """Those that share characters with the span, the last first."""
        found = []
        number = bisect_left(self._starts, span.end) - 1
        while number >= 0 and self._reach[number] > span.start:
            if self._mentions[number].end > span.start:
                found.append(self._mentions[number])
            number -= 1
        return found

    @staticmethod
    def cross(first: Span, second: Span) -> bool:
        """Whether two spans that overlap part each other."""
        nested = first.start <= second.start and second.end <= first.end
        return not nested and not (second.start <= first.start and first.end <= second.end)
