"""Words beside names and inside them, learned from links, by which parts of names are told.

A word that often stands beside links shows that a name ends there. One that often stands inside
links, or that no link shows, may be a part of the name: no *Nepal* in *Nepal Sanskrit University*.
Also a word with a capital may belong to a name that only a small word parts from it: *Bank of*.
"""

import bz2
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corpora.matching.arrays import Flags, Numbers
from corpora.matching.contexts import N_WORDS, SpanContexts

WORD_COUNTS = ("after", "after_inside", "before", "before_inside", "name", "name_inside")
"""The places of words that are counted: after links, and in links after the first; before links,
and in links before the last; words with a capital that only small words part from a link, and from
the last word of one."""
MIN_LINKS = 2000
"""The fewest links from which words are learned: of fewer, hardly any word is known."""
_ENDS = np.array([[1.5], [1 / 2], [1 / 4]])
"""How often, at least, a word stands after links, before them, and before a small word before them,
for each time that it stands inside one, to end a name of one word. To both numbers a little is
added: a word that no link shows has 0.3, and one that once stood beside a link 1.3."""
_ENDS_LONG = 1 / 4
"""The same for names of several words, which a word that is not known does not continue."""


@dataclass(frozen=True)
class NameEdges:
    """What the words after and before a span say of it; see ``learn``."""

    ends: Flags
    """Shape (3, ``N_WORDS``): the words after a name of one word, before it, and before a small
    word before it, that do not continue it."""
    ends_long: Flags
    """The same for names of several words."""

    @classmethod
    def unpacked(cls, text: str) -> "NameEdges":
        """Rebuild what ``packed`` wrote."""
        bits = np.unpackbits(np.frombuffer(bz2.decompress(b64decode(text)), np.uint8))
        return cls(*bits.astype(np.bool_).reshape(2, 3, N_WORDS))

    def packed(self) -> str:
        """Write the words as text, of 5 to 20 kB; by bzip2, whose bytes no version changes."""
        bits = np.packbits([self.ends, self.ends_long]).tobytes()
        return b64encode(bz2.compress(bits)).decode()

    def are_whole(
        self, contexts: SpanContexts, starts: Numbers, ends: Numbers, *, are_long: Flags
    ) -> Flags:
        """Tell which spans are whole names, by the words on both sides."""
        after, before = contexts.words_after(ends)[0], contexts.words_before(starts)[0]
        beyond = contexts.names_before(starts)[0]
        are_ends = [
            np.where(are_long, self.ends_long[side, words], self.ends[side, words])
            for side, words in enumerate((after, before))
        ]
        return np.asarray(are_ends[0] & are_ends[1] & self.ends[2, beyond])


def learn(
    texts: Iterable[tuple[str, Iterable[tuple[int, int]]]], *, lang: str | None
) -> NameEdges | None:
    """Learn from texts with the spans of their links, in order; None where there are too few."""
    counts, n_links = np.zeros((len(WORD_COUNTS), N_WORDS), np.int64), 0
    for text, spans in texts:
        links = np.array(list(spans), np.int64).reshape(-1, 2)
        contexts = SpanContexts(text, np.empty(0, np.int64), lang=lang)
        for number, (_, words) in enumerate(words_of_links(contexts, *links.T)):
            np.add.at(counts[number], words, 1)
        n_links += len(links)
    if n_links < MIN_LINKS:
        return None
    ratios = (counts[::2] + 0.3) / (counts[1::2] + 1)
    ratios[:, 0] = np.inf  # no word
    return NameEdges(ratios > _ENDS, ratios > _ENDS_LONG)


def words_of_links(
    contexts: SpanContexts, starts: Numbers, ends: Numbers
) -> list[tuple[Numbers, Numbers]]:
    """Hash the words that ``WORD_COUNTS`` counts, each kind with the indices of the links."""
    every = np.arange(len(starts))
    spans, offsets = contexts.words_inside(starts, ends)
    follows = np.append(False, spans[1:] == spans[:-1])[: len(spans)]
    precedes = np.append(follows[1:], False)[: len(spans)]
    inside = contexts.words_at(offsets)
    with_words, lasts = spans[~precedes], offsets[~precedes]
    names, _, name_starts = contexts.names_before(lasts)
    return [
        (every, contexts.words_after(ends)[0]),
        (spans[follows], inside[follows]),
        (every, contexts.words_before(starts)[0]),
        (spans[precedes], inside[precedes]),
        (every, contexts.names_before(starts)[0]),
        (with_words, np.where(name_starts >= starts[with_words], names, 0)),
    ]
