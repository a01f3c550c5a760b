"""Limits of how far a measure may move before a refresh is stopped.

A limit is written ``MEASURE=HOW``: ``documents=-10%`` (may fall by 10 %), ``labels.PER=+50%`` (may
rise by 50 %), ``rejected=x3`` (may become three times as much), ``documents=off`` (no limit).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from corpora.errors import UsageError

SMALL = 10
"""The least old count for ``xN`` limits, so that three rejects instead of one are not too many."""
EVERYWHERE = {"rejected": "x3"}
"""The limits for datasets of every schema."""
ROWS = "-10%"
"""The limit for the number of rows, a measure that is named like the schema."""
_PERCENT = re.compile(r"([+-])(\d+(?:\.\d+)?)%")
_TIMES = re.compile(r"x(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of one measure."""

    measure: str
    how: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``MEASURE=HOW``; raises ``UsageError``."""
        measure, _, how = text.partition("=")
        if not measure or not (how == "off" or _PERCENT.fullmatch(how) or _TIMES.fullmatch(how)):
            raise UsageError(
                f"--fail-if {text}: is no limit. They are as documents=-10% rejected=x3 "
                "labels.PER=+50% links_per_page=off."
            )
        return cls(measure, how)

    def exceeded(self, old: float, new: float) -> str:
        """Describe how two values exceed the limit; empty if they do not.

        Computes with decimal, not binary, fractions: 7 % of 100 are 7. A measure that was 0 may not
        rise at all under ``+N%``.
        """
        before, after = Fraction(str(old)), Fraction(str(new))
        if match := _PERCENT.fullmatch(self.how):
            moved = after - before if match[1] == "+" else before - after
            if moved > before * Fraction(match[2]) / 100:
                verb = "fell" if match[1] == "-" else "rose"
                change = f"by {float(moved / before):.1%}" if before else "from nothing"
                change = f"{verb} {change.replace('%', ' %')}"
                return f"{self.measure} {change} ({old:,} to {new:,}); {match[2]} % are allowed"
        times = _TIMES.fullmatch(self.how)
        least = Fraction(SMALL if isinstance(new, int) else 0)
        if times and after > Fraction(times[1]) * max(before, least):
            return f"{self.measure} went from {old:,} to {new:,}; x{times[1]} is allowed"
        return ""


def limits_of(schema: str, own: Mapping[str, str], given: Sequence[Limit]) -> Iterator[Limit]:
    """Yield the limits for datasets of a schema.

    Given limits replace the usual ones of their measures; several of one measure all hold.
    """
    replaced = {limit.measure for limit in given}
    for measure, how in {schema: ROWS, **own, **EVERYWHERE}.items():
        if measure not in replaced:
            yield Limit(measure, how)
    yield from given
