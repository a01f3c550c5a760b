"""Names found by a client's patterns: ``POST /patterns/`` of TEI Publisher.

Patterns are those of spaCy's ``EntityRuler``, as far as TEI Publisher writes them: a phrase, or a
list of conditions on words, each on ``lower`` or ``text`` (a string, ``{"regex": …}`` or
``{"in": […]}``), with or without ``op`` ``?``, ``*`` or ``+``. Of overlapping matches the longest
wins. A stranger's regular expression may take any time: ``PATTERNS`` is for a process of its own.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import regex

from corpora.errors import CountedError
from corpora.system.sandbox import Bounds, Task

_MOST: Final = 20_000
"""The most patterns of a request."""
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
    """The distinct words of a text, with those that fit each condition."""

    words: Sequence[str]
    _fitting: dict[_Word, frozenset[str]] = field(default_factory=dict)

    def pattern(self, label: str, wanted: Sequence[tuple[_Word, str]]) -> _Pattern:
        """Compile a pattern for the text; each condition has an operator, or an empty one."""
        return _Pattern(
            label,
            [self._fit(word) for word, _ in wanted],
            [operator in {"?", "*"} for _, operator in wanted],
            [operator in {"*", "+"} for _, operator in wanted],
        )

    def _fit(self, word: _Word) -> frozenset[str]:
        """Find the words of the text that fit."""
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
        except regex.error as error:
            raise _refused(f"regex {wanted[:80]!r}: {error}.") from error
        yield from (given for form, given in written if expression.search(form))


def find(
    sentences: Sequence[Sequence[str]], patterns: Sequence[Mapping[str, object]]
) -> list[tuple[int, int, int, str]]:
    """Find the matches in sentences of words: sentence, first word, word after the last, label.

    Of matches that overlap, the longest wins. Raises ``CountedError`` for patterns that cannot be
    read.
    """
    if len(patterns) > _MOST:
        raise _refused(f"{len(patterns):,} patterns: at most {_MOST:,} are tried.")
    vocabulary = _Vocabulary(sorted({token for tokens in sentences for token in tokens}))
    first: defaultdict[str, list[_Pattern]] = defaultdict(list)
    for number, given in enumerate(patterns):
        pattern = vocabulary.pattern(*_read(number, given))
        states = _closed({0}, pattern) - {len(pattern.fitting)}
        for word in frozenset().union(*(pattern.fitting[state] for state in states)):
            first[word].append(pattern)
    return [
        (number, start, end, label)
        for number, tokens in enumerate(sentences)
        for start, end, label in _longest_first(tokens, first)
    ]


PATTERNS: Final = Task(find, {"sentences": (), "patterns": ()})
BOUNDS: Final = Bounds(seconds=8, wall_seconds=9)
"""The time for all patterns of a request; TEI Publisher gives up after 10 seconds."""


def _longest_first(
    tokens: Sequence[str], first: Mapping[str, Sequence[_Pattern]]
) -> Iterator[tuple[int, int, str]]:
    """Yield the matches in a sentence; ``first`` has the patterns that may begin with a word."""
    matches = [
        (start - end, start, end, pattern.label)
        for start, token in enumerate(tokens)
        for pattern in first.get(token, ())
        if (end := _longest(pattern, tokens, start))
    ]
    taken: set[int] = set()
    for _, start, end, label in sorted(matches):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            yield start, end, label


def _refused(message: str) -> CountedError:
    return CountedError("pattern", message)


def _read(number: int, pattern: Mapping[str, object]) -> tuple[str, list[tuple[_Word, str]]]:
    where, label = f"patterns.{number}", pattern.get("label")
    given = pattern.get("pattern")
    if isinstance(given, str):
        given = [{"text": word} for word in given.split()]
    elif isinstance(given, dict):  # one condition for a phrase, which spaCy does not read
        [(name, text), *more] = given.items() or [("", "")]
        if not isinstance(text, str) or more:
            raise _refused(f"{where}: a phrase or a list of words.")
        given = [{name: word} for word in text.split()]
    if not isinstance(label, str) or not isinstance(given, list) or not given:
        raise _refused(f"{where}: needs a label, and a pattern: a phrase or a list of words.")
    if len(given) > _WORDS:
        raise _refused(f"{where}: {len(given):,} words; at most {_WORDS} are read.")
    return label, [_read_word(where, one) for one in given]


def _read_word(where: str, given: object) -> tuple[_Word, str]:
    values = {str(k).lower(): v for k, v in given.items()} if isinstance(given, dict) else {}
    operator = values.pop("op", "")
    if operator not in _OPERATORS or len(values) != 1:
        raise _refused(f"{where}: of a word, lower or text is read, with op ?, * or +.")
    [(name, value)] = values.items()
    if name not in {"lower", "text", "orth"}:
        raise _refused(f"{where}: {name[:40]!r} is not read, only lower and text.")
    is_lower = name == "lower"
    if isinstance(value, str):
        return _Word(is_lower, frozenset({value.lower() if is_lower else value})), operator
    [(kind, inner)] = value.items() if isinstance(value, dict) and len(value) == 1 else [("", "")]
    kind = str(kind).lower()
    if kind == "regex" and isinstance(inner, str) and len(inner) <= _LENGTH:
        if _COSTLY.search(inner):
            raise _refused(f"{where}: a regex with {{…}} or (?…) other than (?:…) is not read.")
        return _Word(is_lower, inner), operator
    if kind == "in" and isinstance(inner, list) and all(isinstance(one, str) for one in inner):
        return _Word(is_lower, frozenset(inner)), operator
    raise _refused(f"{where}: a string, regex (of {_LENGTH} characters at most) or in.")


def _longest(pattern: _Pattern, tokens: Sequence[str], start: int) -> int:
    """Find the end of the longest match that begins at ``start``; 0 for none.

    The time is linear in the number of tokens.
    """
    n, best = len(pattern.fitting), 0
    states = _closed({0}, pattern)
    for place in range(start, len(tokens)):
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
