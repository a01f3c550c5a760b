"""Names found by a client's patterns: ``POST /patterns/`` of TEI Publisher.

Patterns are those of spaCy's ``EntityRuler``, as far as TEI Publisher writes them: a phrase, or a
list of conditions on words, each on ``lower`` or ``text`` (a string, ``{"regex": …}`` or
``{"in": […]}``), with or without ``op`` ``?``, ``*`` or ``+``. Of overlapping matches the longest
wins.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import regex

from corpora.document import Sentence, TokenSpan
from modeling.http.guard import Refused

_MOST: Final = 20_000
"""The most patterns of a request."""
_SECONDS: Final = 8.0
"""The time limit for all patterns of a request; TEI Publisher gives up after 10 seconds."""
_WORDS: Final = 100
"""The most words of a pattern."""
_LENGTH: Final = 500
"""The most characters of a regular expression."""
_COSTLY: Final = regex.compile(r"(?<!\\[pP])\{|\(\?(?!:)")
"""Syntax of regular expressions that is refused: counted repeats, which take memory to compile,
recursion and the like."""
_OPERATORS: Final = ("", "?", "*", "+")


@dataclass(frozen=True, slots=True)
class _Word:
    """A condition on a word."""

    is_lower: bool
    wanted: str | frozenset[str]
    """A regular expression, or the set of words that fit."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern, compiled for a text.

    Each list has an item for each word of the pattern: the words of the text that fit it, whether
    it may be left out, and whether it may be repeated.
    """

    label: str
    fitting: Sequence[frozenset[str]]
    may_lack: Sequence[bool]
    may_repeat: Sequence[bool]


@dataclass(slots=True)
class _Vocabulary:
    """The distinct words of a text, with those that fit each condition, and a time limit."""

    words: Sequence[str]
    until: float
    _fitting: dict[_Word, frozenset[str]] = field(default_factory=dict)

    def check_time(self) -> None:
        """Raise ``Refused`` after the time limit."""
        if time.monotonic() > self.until:
            raise _late()

    def pattern(self, label: str, wanted: Sequence[tuple[_Word, str]]) -> _Pattern:
        """Compile a pattern for the text; each condition has an operator, or an empty one."""
        return _Pattern(
            label,
            [self._fit(word) for word, _ in wanted],
            [operator in {"?", "*"} for _, operator in wanted],
            [operator in {"*", "+"} for _, operator in wanted],
        )

    def _fit(self, word: _Word) -> frozenset[str]:
        """Find the words of the text that fit; raises ``Refused`` after the time limit."""
        self.check_time()
        if word not in self._fitting:
            self._fitting[word] = frozenset(self._find(word))
        return self._fitting[word]

    def _find(self, word: _Word) -> Iterator[str]:
        wanted = word.wanted
        written = ((w.lower() if word.is_lower else w, w) for w in self.words)
        if isinstance(wanted, frozenset):
            yield from (given for form, given in written if form in wanted)
            return
        try:
            expression = regex.compile(wanted)
            for form, given in written:
                self.check_time()
                if expression.search(form, timeout=self.until - time.monotonic()):
                    yield given
        except (TimeoutError, ValueError) as error:  # ValueError: the timeout is not positive
            raise _late() from error
        except regex.error as error:
            raise Refused(422, f"regex {wanted[:80]!r}: {error}.") from error


def find(
    sentences: Iterable[Sentence], patterns: Sequence[Mapping[str, object]]
) -> Iterator[tuple[Sentence, TokenSpan]]:
    """Yield the matches, each with its sentence; of matches that overlap, the longest wins.

    Raises ``Refused`` for patterns that cannot be read or take too long.
    """
    if len(patterns) > _MOST:
        raise Refused(422, f"{len(patterns):,} patterns: at most {_MOST:,} are tried.")
    sentences = list(sentences)
    words = sorted({token for sentence in sentences for token in sentence.tokens})
    vocabulary = _Vocabulary(words, time.monotonic() + _SECONDS)
    first: defaultdict[str, list[_Pattern]] = defaultdict(list)
    for number, one in enumerate(patterns):
        pattern = vocabulary.pattern(*_read(number, one))
        states = _closed({0}, pattern) - {len(pattern.fitting)}
        for word in frozenset().union(*(pattern.fitting[state] for state in states)):
            first[word].append(pattern)
    for sentence in sentences:
        found = []
        for start, token in enumerate(sentence.tokens):
            for pattern in first.get(token, ()):
                vocabulary.check_time()
                if end := _longest(pattern, sentence.tokens, start, vocabulary=vocabulary):
                    found.append((start - end, start, end, pattern.label))
        taken: set[int] = set()
        for _, start, end, label in sorted(found):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                yield sentence, TokenSpan(start=start, end=end, label=label)


def _late() -> Refused:
    return Refused(422, f"The patterns take longer than {_SECONDS:g} seconds.")


def _read(number: int, pattern: Mapping[str, object]) -> tuple[str, list[tuple[_Word, str]]]:
    where, label = f"patterns.{number}", pattern.get("label")
    given = pattern.get("pattern")
    if isinstance(given, str):
        given = [{"text": word} for word in given.split()]
    elif isinstance(given, dict):  # one condition for a phrase, which spaCy does not read
        [(name, text), *more] = given.items() or [("", "")]
        if not isinstance(text, str) or more:
            raise Refused(422, f"{where}: a phrase or a list of words.")
        given = [{name: word} for word in text.split()]
    if not isinstance(label, str) or not isinstance(given, list) or not given:
        raise Refused(422, f"{where}: needs a label, and a pattern: a phrase or a list of words.")
    if len(given) > _WORDS:
        raise Refused(422, f"{where}: {len(given):,} words; at most {_WORDS} are read.")
    return label, [_read_word(where, one) for one in given]


def _read_word(where: str, given: object) -> tuple[_Word, str]:
    values = {str(k).lower(): v for k, v in given.items()} if isinstance(given, dict) else {}
    operator = values.pop("op", "")
    if operator not in _OPERATORS or len(values) != 1:
        raise Refused(422, f"{where}: of a word, lower or text is read, with op ?, * or +.")
    [(name, value)] = values.items()
    if name not in {"lower", "text", "orth"}:
        raise Refused(422, f"{where}: {name[:40]!r} is not read, only lower and text.")
    is_lower = name == "lower"
    if isinstance(value, str):
        return _Word(is_lower, frozenset({value.lower() if is_lower else value})), operator
    [(kind, inner)] = value.items() if isinstance(value, dict) and len(value) == 1 else [("", "")]
    kind = str(kind).lower()
    if kind == "regex" and isinstance(inner, str) and len(inner) <= _LENGTH:
        if _COSTLY.search(inner):
            raise Refused(422, f"{where}: a regex with {{…}} or (?…) other than (?:…) is not read.")
        return _Word(is_lower, inner), operator
    if kind == "in" and isinstance(inner, list) and all(isinstance(one, str) for one in inner):
        return _Word(is_lower, frozenset(inner)), operator
    raise Refused(422, f"{where}: a string, regex (of {_LENGTH} characters at most) or in.")


def _longest(
    pattern: _Pattern, tokens: Sequence[str], start: int, *, vocabulary: _Vocabulary
) -> int:
    """Find the end of the longest match that begins at ``start``; 0 for none.

    The time is linear in the number of tokens. Raises ``Refused`` after the time limit.
    """
    n, best = len(pattern.fitting), 0
    states = _closed({0}, pattern)
    for place in range(start, len(tokens)):
        vocabulary.check_time()
        following: set[int] = set()
        for state in states:
            if state < n and tokens[place] in pattern.fitting[state]:
                following.add(state + 1)
                if pattern.may_repeat[state]:
                    following.add(state)
        states = _closed(following, pattern)
        if not states:
            break
        if n in states:
            best = place + 1
    return best


def _closed(states: set[int], pattern: _Pattern) -> set[int]:
    """Add to ``states``, in place, those that are reached by leaving out optional words."""
    for state in sorted(states):
        following = state
        while following < len(pattern.fitting) and pattern.may_lack[following]:
            following += 1
            if following in states:
                break  # the states after it are added in its own turn
            states.add(following)
    return states
