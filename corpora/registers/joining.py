"""Names of a tagger and names of a dictionary in one text, as one set of names.

The dictionary knows more of the forms that it knows: how sure it is that the place is a name counts
beside the tagger's probability, so that both may be sure enough together, or one may refuse.
Elsewhere the tagger decides, if it is as sure as the names of the dictionary must be: the names
that it alone finds are right less often than those that both find.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corpora.document import Mention, SpanIndex, index_of
from corpora.registers.dictionary import DecidedPlace, Dictionary


@dataclass(frozen=True, slots=True)
class Joined:
    """The names that the tagger writes, and those that the dictionary writes."""

    tagged: list[Mention]
    """The tagger's names; those below its threshold that nothing supports are among them."""
    known: list[DecidedPlace]
    """The dictionary's names that the tagger's leave room for, and what it held back."""
    n_alone: int = 0
    """The tagger's names above its threshold that are not sure enough without the dictionary."""


def join(
    predicted: Sequence[Mention],
    judged: Sequence[DecidedPlace],
    dictionary: Dictionary,
    *,
    threshold: float,
) -> Joined:
    """Join the names of both; no part of a longer form that the dictionary knows is taken.

    ``threshold``: the least probability of the tagger's names that are written.
    """
    by_span = {(*each.span, each.label): each for each in judged}
    known = SpanIndex[DecidedPlace]()
    for each in judged:
        known.add(*each.span, each)
    least = max(threshold, dictionary.least_alone)
    kept: list[Mention] = []
    n_alone = 0
    for mention in predicted:
        same = by_span.get((mention.start, mention.end, mention.label or ""))
        there = known.touching(mention.start, mention.end)
        if same or not any(_excludes(each, mention) for each in there):
            if same is None and threshold <= (mention.score or 0.0) < least:
                n_alone += 1
                continue
            kept.append(_support(mention, same, dictionary))
    taken = index_of([mention for mention in kept if (mention.score or 0.0) >= threshold])
    left = [each for each in judged if not each.is_name or not taken.touching(*each.span)]
    return Joined(kept, left, n_alone)


def _excludes(judged: DecidedPlace, mention: Mention) -> bool:
    """Tell whether a known form is the better reading of the place of another name."""
    start, end = judged.span
    is_inside = start <= mention.start and mention.end <= end
    return judged.probability is not None and (judged.is_name or is_inside)


def _support(mention: Mention, judged: DecidedPlace | None, dictionary: Dictionary) -> Mention:
    """Add what the dictionary says of the place of a tagger's name: its entity, and how sure."""
    if judged is None:
        return mention
    if judged.entity and mention.entity is None:
        known = dictionary.mention(judged)
        mention = replace(mention, entity=known.entity, attributes=known.attributes)
    chance, score = judged.probability, mention.score or 0.0
    if chance is None:
        return mention
    return replace(mention, score=score if judged.is_name else _both(score, chance))


def _both(first: float, second: float) -> float:
    """Combine two probabilities as independent ones."""
    yes, no = first * second, (1 - first) * (1 - second)
    return yes / (yes + no) if yes + no else first
