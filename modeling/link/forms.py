"""The known forms of entities, and the search for those that a name in a text may be.

A name is looked up as it is written, then normalised, then word by word. A word matches a known
word if it is the same, has another ending (exchanges of endings are learned from the known forms),
is cut short (``Lichtenst.``), is an initial, or is spelled almost alike.
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, takewhile
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeling.link.records import normalise, words_of
from modeling.link.spelling import Spellings

KINDS: Final = ("exact", "normal", "words", "similar")
"""The ways in which a form can be found, the surest first."""
_MAX_ENDING: Final = 4
_MIN_STEM: Final = 3
_MIN_SHOWN: Final = 2  # entities whose forms must show an exchange of endings for it to be used
_MIN_FUZZY: Final = 4  # characters from which on a word is compared by spelling
_MAX_BEGUN: Final = 500  # most words that an initial or a shortened word may stand for
_SAME: Final = 100.0
_MIN_OVERLAP: Final = 0.2
_SURE: Final = 0.6  # if a form is found with this similarity, names are not compared by spelling
_MAX_HITS: Final = 200
_N_KEPT: Final = 4096  # most names whose hits are kept
_MAX_POSTINGS: Final = 2000
"""Most forms that a word may be in to be looked up by; a more frequent word says too little."""
_ENDED, _CUT, _INITIAL = 0.95, 0.9, 0.4
"""The similarity of a word with another ending, that of a word cut short, and the factor for the
weight of an initial."""


class Hit(NamedTuple):
    """A known form that a looked-up name may be."""

    form: int
    """The index in ``LinkForms``; -1 if only the vocabulary has the form."""
    kind: int
    """The index in ``KINDS``."""
    similarity: float
    """From 0 to 1; of a form found word by word, the rarer words weigh more."""


class _Match(NamedTuple):
    """A known word that a word of a looked-up name may be."""

    place: int
    """The index of the word in the name."""
    word: str
    known: str
    similarity: float


class LinkForms:
    """The known forms of entities, by index."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Index pairs (form, entity), each once."""
        self.entities: list[str] = []
        """The entity of each form."""
        self.texts: list[str] = []
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._normal: dict[str, list[int]] = defaultdict(list)
        by_word: dict[str, list[int]] = defaultdict(list)
        self._numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
        for text, entity in self._numbers:
            self._add(text, entity, by_word)
        self._words = {word: np.array(numbers, np.int64) for word, numbers in by_word.items()}
        self._rarity = self._measure_rarity()
        lengths = (sum(map(self._weight, normalise(text).split())) or 1.0 for text in self.texts)
        self._length = np.fromiter(lengths, np.float64)
        self._sorted, self._squashed = sorted(self._words), Spellings(list(self._normal))
        self._long = Spellings([word for word in self._sorted if len(word) >= _MIN_FUZZY])
        self.endings = learn_endings(self._words_by_entity())
        self._found: dict[str, list[Hit]] = {}

    def _add(self, text: str, entity: str, by_word: dict[str, list[int]]) -> None:
        number = len(self.texts)
        self.texts.append(text)
        self.entities.append(entity)
        self._exact[text].append(number)
        normal = normalise(text)
        self._normal[normal.replace(" ", "")].append(number)
        for word in normal.split():  # a form is there as often as the word is in it
            by_word[word].append(number)

    def _words_by_entity(self) -> dict[str, set[str]]:
        words: dict[str, set[str]] = defaultdict(set)
        for text, entity in zip(self.texts, self.entities, strict=True):
            words[entity].update(normalise(text).split())
        return words

    def _measure_rarity(self) -> Mapping[str, float]:
        n = len(set(self.entities))
        having = Counter[str]()
        for words in self._words_by_entity().values():
            having.update(words)
        return {word: math.log((n + 1) / count) for word, count in having.items()}

    def _weight(self, word: str) -> float:
        """Weigh a word by its rarity; initials count little, and unknown words like the rarest."""
        rarity = self._rarity.get(word, math.log(len(self.entities) + 1))
        return rarity * (_INITIAL if len(word) == 1 else 1.0) + 0.1

    def look_up(self, name: str, *, hidden: frozenset[int] = frozenset()) -> list[Hit]:
        """Find the forms that a name may be, the surest and most similar first.

        Forms with the indices ``hidden`` are skipped, as if they were not known.
        """
        exact = self._exact.get(name, ())[:_MAX_HITS]
        if hidden and not hidden.isdisjoint(exact):
            return self._look_up(name, hidden)
        hits = self._found.get(name)
        if hits is None:
            if len(self._found) >= _N_KEPT:
                self._found.clear()
            hits = self._found[name] = self._look_up(name, frozenset())
        if any(hit.form in hidden for hit in hits):
            return self._look_up(name, hidden)
        return hits

    def number_of(self, text: str, entity: str) -> int | None:
        """Return the index of a form of an entity; None if it is not known."""
        return self._numbers.get((text, entity))

    def _look_up(self, name: str, hidden: frozenset[int]) -> list[Hit]:
        best = {n: Hit(n, 0, 1.0) for n in self._exact.get(name, ()) if n not in hidden}
        squashed = normalise(name).replace(" ", "")
        for number in self._normal.get(squashed, ()) if squashed else ():
            if number not in hidden:
                best.setdefault(number, Hit(number, 1, 1.0))
        for hit in self._by_words(name, hidden):
            best.setdefault(hit.form, hit)
        if all(hit.similarity < _SURE for hit in best.values()) and len(squashed) >= _MIN_FUZZY:
            for normal, similarity in _similar(squashed, self._squashed):
                for number in self._normal[normal]:
                    if number not in hidden:
                        best.setdefault(number, Hit(number, 3, similarity))
        order = sorted(best.values(), key=lambda hit: (hit.kind, -hit.similarity, hit.form))
        return order[:_MAX_HITS]

    def _by_words(self, name: str, hidden: frozenset[int]) -> Iterator[Hit]:
        """Find forms by matching word by word.

        Each word of the name counts once for a form, and each word of the form counts once.
        """
        words = words_of(name)
        matches = [
            _Match(index, word, known, similarity)
            for index, (word, is_cut) in enumerate(words)
            for known, similarity in self._alike(word, hidden, is_cut=is_cut)
            if len(self._words[known]) <= _MAX_POSTINGS
        ]
        if not matches:
            return
        postings = [self._words[match.known] for match in matches]
        sizes = [len(posting) for posting in postings]
        numbers, column = np.unique(np.concatenate(postings), return_inverse=True)

        def any_of(is_so: list[bool]) -> NDArray[np.bool_]:
            return np.bincount(column, np.repeat(is_so, sizes)) > 0

        gains = [m.similarity * min(self._weight(m.word), self._weight(m.known)) for m in matches]
        row = np.repeat([match.place for match in matches], sizes)
        matched = np.zeros((len(words), len(numbers)))
        np.maximum.at(matched, (row, column), np.repeat(gains, sizes))
        is_initials = all(len(word) == 1 for word, _ in words)
        solid = any_of([is_initials or min(len(m.word), len(m.known)) > 1 for m in matches])
        inexact = any_of([match.similarity < _CUT for match in matches])
        own, theirs = sum(self._weight(word) for word, _ in words), self._length[numbers]
        both = 0.5 / np.minimum(own, theirs) + 0.5 / np.maximum(own, theirs)
        most = np.bincount(column, np.repeat(_once(matches, gains), sizes))
        similarity = np.minimum(1.0, np.minimum(matched.sum(axis=0), most) * both)
        for index in np.flatnonzero(solid & (similarity >= _MIN_OVERLAP)).tolist():
            if (number := int(numbers[index])) not in hidden:
                yield Hit(number, 3 if inexact[index] else 2, float(similarity[index]))

    def _alike(
        self, word: str, hidden: frozenset[int], *, is_cut: bool
    ) -> Iterator[tuple[str, float]]:
        """Yield the known words that a word may be, with the similarity of each."""
        is_known = self._is_known(word, hidden)
        if is_known:
            yield word, 1.0
        ended = [other for other in self._other_endings(word) if self._is_known(other, hidden)]
        yield from ((other, _ENDED) for other in ended)
        begun = self._beginning_with(word) if len(word) == 1 or is_cut else []
        yield from ((other, _CUT) for other in begun if other != word)
        if len(word) > 1 and word[0] in self._words:  # *Franz Marc*, if *F. Marc* is known
            yield word[0], _CUT
        if not (is_known or ended or begun) and len(word) >= _MIN_FUZZY:
            yield from _similar(word, self._long)

    def _is_known(self, word: str, hidden: frozenset[int]) -> bool:
        postings = self._words.get(word)
        if postings is None:
            return False
        return any(number not in hidden for number in postings)

    def _other_endings(self, word: str) -> Iterator[str]:
        for cut in range(max(len(word) - _MAX_ENDING, _MIN_STEM), len(word) + 1):
            yield from (word[:cut] + other for other in self.endings.get(word[cut:], ()))

    def _beginning_with(self, start: str) -> list[str]:
        first = bisect_left(self._sorted, start)
        some = self._sorted[first : first + _MAX_BEGUN]
        return list(takewhile(lambda word: word.startswith(start), some))


def _once(matches: Sequence[_Match], gains: Sequence[float]) -> list[float]:
    """Return the gains, but for each known word only the highest; 0 for its other matches."""
    best: dict[str, int] = {}
    for index, match in enumerate(matches):
        if gains[index] > gains[best.setdefault(match.known, index)]:
            best[match.known] = index
    return [
        gain if best[match.known] == index else 0.0
        for index, (match, gain) in enumerate(zip(matches, gains, strict=True))
    ]


def _similar(word: str, known: Spellings) -> Iterator[tuple[str, float]]:
    yield from ((other, _CUT * score / 100) for other, score in known.alike(word) if score < _SAME)


def learn_endings(words_by_entity: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Find the endings that words of one entity exchange: ``{"s": [""], "er": ["", "en"]}``.

    Words of at least ``_MIN_SHOWN`` entities must show an exchange; stems have at least
    ``_MIN_STEM`` characters.
    """
    shown: Counter[tuple[str, str]] = Counter()
    for words in words_by_entity.values():
        pairs: set[tuple[str, str]] = set()
        long = sorted(word for word in words if len(word) >= _MIN_STEM and word.isalpha())
        for one, other in combinations(long, 2):
            n = n_common(one, other)
            if n >= _MIN_STEM and max(len(one), len(other)) - n <= min(_MAX_ENDING, n):
                pairs |= {(one[n:], other[n:]), (other[n:], one[n:])}
        shown.update(pairs)
    endings: dict[str, list[str]] = defaultdict(list)
    for (ending, other), n in sorted(shown.items()):
        if n >= _MIN_SHOWN:
            endings[ending].append(other)
    return dict(endings)


def n_common(first: str, other: str) -> int:
    """Count the characters that two words both begin with."""
    n = 0
    for a, b in zip(first, other, strict=False):
        if a != b:
            break
        n += 1
    return n
