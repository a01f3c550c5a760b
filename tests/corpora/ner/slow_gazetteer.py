"""The gazetteer token by token: the slow, obvious way.

A form is a tuple of tokens; it matches where exactly these tokens stand in a row.
"""

from collections import Counter
from typing import NamedTuple

from corpora.ner.gazetteer import LEVELS
from corpora.tagging import Score, from_iob2


class Match(NamedTuple):
    """Tokens ``start`` to ``end``, half-open, and what the dictionary says about them."""

    start: int
    end: int
    value: object


class Matcher:
    """A dictionary of forms, each with a value."""

    def __init__(self, entries):
        self._entries = {form: value for form, value in entries.items() if form}
        self._longest = max(map(len, self._entries), default=0)

    def find_all(self, tokens):
        """Yield every match, overlapping or not, by start, the longer first."""
        for start in range(len(tokens)):
            for end in range(min(len(tokens), start + self._longest), start, -1):
                if (form := tokens[start:end]) in self._entries:
                    yield Match(start, end, self._entries[form])


def leftmost_longest(matches):
    """Keep each match that starts after the last one kept ends; ordered as by ``find_all``."""
    kept = []
    for match in matches:
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


class Name(NamedTuple):
    """The most frequent label of a form in train, and its level.

    The level is in how many twentieths of its occurrences it was a mention, rounded down.
    """

    label: str
    level: int


def learn_names(forms, train):
    """Make a gazetteer of the mentions of train; ties of labels go to the first in the alphabet.

    ``forms`` says how often a form was a mention, by label. An occurrence is every place in
    train where its tokens stand in a row, mention or not, inside another mention or not.
    """
    places = Matcher({form: form for form in forms})
    occurrences = Counter(match.value for row in train for match in places.find_all(row.tokens))
    names = {}
    for form, labels in forms.items():
        label = min(labels, key=lambda label: (-labels[label], label))
        names[form] = Name(label, LEVELS * labels.total() // max(occurrences[form], labels.total()))
    return Matcher(names)


def score_names(names, sentences):
    """Tag sentences with the names of at least each level from 0 to ``LEVELS``, and score that."""
    scores = []
    for level in range(LEVELS + 1):
        correct = predicted = gold = 0
        for sentence in sentences:
            spans = {(span.start, span.end, span.label) for span in from_iob2(sentence.tags)}
            matches = names.find_all(sentence.tokens)
            sure = leftmost_longest(match for match in matches if match.value.level >= level)
            taken = {(match.start, match.end, match.value.label) for match in sure}
            gold, predicted = gold + len(spans), predicted + len(taken)
            correct += len(spans & taken)
        scores.append(Score(correct=correct, predicted=predicted, gold=gold))
    return scores
