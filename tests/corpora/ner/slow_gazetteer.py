"""The gazetteer token by token: the slow, obvious way.

A form is a tuple of tokens; it matches where exactly these tokens stand in a row.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from corpora.document import Sentence
from corpora.ner.gazetteer import LEVELS
from corpora.tagging import Score, from_iob2

Form = tuple[str, ...]
Value = TypeVar("Value")


class Match(NamedTuple, Generic[Value]):
    """Tokens ``start`` to ``end``, half-open, and what the dictionary says about them."""

    start: int
    end: int
    value: Value


class Matcher(Generic[Value]):
    """A dictionary of forms, each with a value; lookup by first token and length."""

    def __init__(self, entries: Mapping[Form, Value]) -> None:
        self._entries = dict(entries)
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for form in self._entries:
            if form:
                lengths[form[0]].add(len(form))
        self._lengths = {first: sorted(n, reverse=True) for first, n in lengths.items()}

    def find_all(self, tokens: Form) -> Iterator[Match[Value]]:
        """Yield every match, overlapping or not, by start, the longer first."""
        lengths = self._lengths
        for start in [start for start, token in enumerate(tokens) if token in lengths]:
            for length in lengths[tokens[start]]:
                end = start + length
                if end <= len(tokens) and (form := tokens[start:end]) in self._entries:
                    yield Match(start, end, self._entries[form])

    def find(self, tokens: Form) -> list[Match[Value]]:
        """Return disjoint matches from left to right, at each place the longest."""
        return leftmost_longest(self.find_all(tokens))


def leftmost_longest(matches: Iterable[Match[Value]]) -> list[Match[Value]]:
    """Keep each match that starts after the end of the last one kept; ordered as by ``find_all``.

    >>> leftmost_longest([Match(0, 2, "x"), Match(0, 1, "y"), Match(1, 3, "z"), Match(2, 3, "y")])
    [Match(start=0, end=2, value='x'), Match(start=2, end=3, value='y')]
    """
    kept: list[Match[Value]] = []
    end = 0
    for match in matches:
        if match.start >= end:
            kept.append(match)
            end = match.end
    return kept


class Name(NamedTuple):
    """A form that was a mention in train."""

    label: str
    """The label that it had most often; ties go to the first in the alphabet."""
    level: int
    """In how many twentieths of its occurrences it was a mention, rounded down."""


def learn_names(forms: Mapping[Form, Counter[str]], train: Iterable[Sentence]) -> Matcher[Name]:
    """Make a gazetteer of the mentions of train.

    ``forms`` says how often a form was a mention, by label. An occurrence is every place in
    train where its tokens stand in a row, mention or not, inside another mention or not.
    """
    places = Matcher({form: form for form in forms})
    matches = (match for sentence in train for match in places.find_all(sentence.tokens))
    occurrences = Counter(match.value for match in matches)
    names: dict[Form, Name] = {}
    for form, labels in forms.items():
        label = min(labels, key=lambda label: (-labels[label], label))
        names[form] = Name(label, LEVELS * labels.total() // max(occurrences[form], labels.total()))
    return Matcher(names)


def score_names(names: Matcher[Name], sentences: Iterable[Sentence]) -> list[Score]:
    """Tag sentences with the names of at least each level from 0 to ``LEVELS``, and score that.

    Among the names that are left, the leftmost and there the longest wins.
    """
    gold = 0
    correct, predicted = [0] * (LEVELS + 1), [0] * (LEVELS + 1)
    for sentence in sentences:
        spans = {(span.start, span.end, span.label) for span in from_iob2(sentence.tags)}
        gold += len(spans)
        matches = list(names.find_all(sentence.tokens))
        tops = sorted({match.value.level for match in matches})
        for before, top in pairwise([-1, *tops]):  # the levels between have the same names
            found = leftmost_longest(match for match in matches if match.value.level >= top)
            n_correct = _count_correct(found, spans)
            for level in range(before + 1, top + 1):
                predicted[level] += len(found)
                correct[level] += n_correct
    return [
        Score(correct=correct[level], predicted=predicted[level], gold=gold)
        for level in range(LEVELS + 1)
    ]


def _count_correct(found: Sequence[Match[Name]], gold: set[tuple[int, int, str]]) -> int:
    return sum((match.start, match.end, match.value.label) in gold for match in found)
