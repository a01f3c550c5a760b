"""Names of a tagger and names of a dictionary in one text: together never less than either alone.

A place that both take for a name may be one though neither is sure enough alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from corpora.document import Mention, index_of
from corpora.registers.dictionary import Dictionary, Judged


@dataclass(frozen=True, slots=True)
class Joined:
    """What each of the two writes."""

    tagged: list[Mention]
    """The tagger's names; those below its threshold that nothing supports are among them."""
    known: list[Judged]
    """The dictionary's names that the tagger's leave room for, and what it held back."""


def join(
    predicted: Sequence[Mention],
    judged: Sequence[Judged],
    dictionary: Dictionary,
    *,
    threshold: float,
) -> Joined:
    """Join the names of both; of two that overlap, the more probable one is taken.

    ``threshold``: the least probability of the tagger's names that are written.
    """
    by_span = {(*each.span, each.label): each for each in judged}
    supported = [
        _support(
            mention, by_span.get((mention.start, mention.end, mention.label or "")), dictionary
        )
        for mention in predicted
    ]
    names = [each for each in judged if each.is_name]
    sure = [mention for mention in supported if (mention.score or 0.0) >= threshold]
    known = index_of([dictionary.mention(each) for each in names])
    weaker = {
        id(mention)
        for mention in sure
        for other in known.touching(mention.start, mention.end)
        if other.key[:3] != mention.key[:3] and (other.score or 0.0) > (mention.score or 0.0)
    }
    taken = index_of([mention for mention in sure if id(mention) not in weaker])
    left = [each for each in judged if not each.is_name or not taken.touching(*each.span)]
    return Joined([mention for mention in supported if id(mention) not in weaker], left)


def _support(mention: Mention, judged: Judged | None, dictionary: Dictionary) -> Mention:
    """Add what the dictionary says of the place of a tagger's name: its entity, and how sure."""
    if judged is None:
        return mention
    if judged.entity and mention.entity is None:
        known = dictionary.mention(judged)
        mention = replace(mention, entity=known.entity, attributes=known.attributes)
    chance, score = judged.probability, mention.score or 0.0
    if chance is None:
        return mention
    return replace(mention, score=max(score, _both(score, chance)))


def _both(first: float, second: float) -> float:
    """Combine two probabilities as independent ones."""
    yes, no = first * second, (1 - first) * (1 - second)
    return yes / (yes + no) if yes + no else first
