"""Strings that are pieces of sentences rather than one name or term, as a dictionary's tags show.

A string is cut into the words of a dictionary with frequencies and tags, as jieba cuts sentences:
where the product of the frequencies is largest. If a word of several symbols is among them, the
string is a name or term if all are nouns and the like (金融危机, 副总理), and the last is no
surname (记者刘). Else its symbols must be tied to each other (not 两国), as those of foreign names
are; less where the first is a surname. A word of the dictionary whose symbols are firmly tied
(诸葛亮) is always one.
"""

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from importlib.resources import files
from math import inf, log

import numpy as np
import pyarrow as pa

from corpora.lexicon.counting import Flags, Floats

TIED = 0.45
"""The least mutual information of the symbols of a name, as a ratio of what it would be if they
stood nowhere else."""
TIED_TO_SURNAME = 0.25
"""The same for a surname with one or two symbols more, as many persons share it."""
FIRM = 0.7
"""The same for a known name that is made of other words."""
_NOMINAL = ("n", "vn", "an", "j", "k", "h", "b", "i", "l", "s", "eng", "g")
"""The tags of words of which terms are made, and (n) the beginning of others."""
_SURNAME = "nr"
"""The tag of a single symbol that may be a surname."""
_LONGEST_PERSON = 3
_UNSEEN = 0.1
"""The frequency of a symbol that is no word of the dictionary."""


@cache
def surnames() -> frozenset[str]:
    """Return the surnames of ``surnames.toml``."""
    table = tomllib.loads((files("corpora.lexicon") / "surnames.toml").read_text("utf-8"))
    return frozenset(name for names in table.values() for name in names.split())


class Phrases:
    """A dictionary with tags, by which strings are judged."""

    def __init__(self, known: pa.Table) -> None:
        """Take the words of ``known.read_known`` that have a frequency and a tag."""
        tagged = known.filter((pa.compute.field("tag") != "") & (pa.compute.field("times") > 0))
        self._words = tagged
        self._total = log(max(np.asarray(tagged.column("times")).sum(), 1))

    @cached_property
    def _known(self) -> dict[str, tuple[float, bool]]:
        """Each word with the logarithm of its ratio, and whether it is a noun or the like."""
        columns = (self._words.column(name).to_pylist() for name in ("word", "times", "tag"))
        return {
            word: (log(times) - self._total, tag in _NOMINAL or tag[0] == "n")
            for word, times, tag in zip(*columns, strict=True)
        }

    @cached_property
    def _surnames(self) -> frozenset[str]:
        tags = zip(*(self._words.column(name).to_pylist() for name in ("word", "tag")), strict=True)
        return frozenset(word for word, tag in tags if tag == _SURNAME and len(word) == 1)

    def among(self, forms: Iterable[str], ties: Floats) -> Flags:
        """Tell which strings are phrases; ``ties`` are those of their symbols. None, without tags.

        A string that the dictionary has is judged by its parts, too: its names are often wrong.
        """
        if not len(self._words):
            return np.zeros(len(ties), np.bool_)
        judged = (self._is_phrase(form, tie) for form, tie in zip(forms, ties, strict=True))
        return np.fromiter(judged, np.bool_, len(ties))

    def _is_phrase(self, form: str, tie: float) -> bool:
        parts = list(self._parts(form))
        if all(len(part) == 1 for part in parts):
            is_person = form[0] in surnames() and len(form) <= _LONGEST_PERSON
            return bool(tie < (TIED_TO_SURNAME if is_person else TIED))
        if form in self._known and tie >= FIRM:
            return False
        are_nominal = all(self._known.get(part, (0.0, True))[1] for part in parts)
        return not are_nominal or parts[-1] in self._surnames

    def _parts(self, form: str) -> Iterator[str]:
        """Cut a string into two or more words: the likeliest, last to first, then turned."""
        best: list[tuple[float, int]] = [(0.0, 0)]
        for end in range(1, len(form) + 1):
            cuts = [
                (best[begin][0] + self._weight(form[begin:end]), begin)
                for begin in range(end)
                if end - begin < len(form)
            ]
            best.append(max(cuts, default=(-inf, 0)))
        parts, end = list[str](), len(form)
        while end:
            parts.append(form[best[end][1] : end])
            end = best[end][1]
        return reversed(parts)

    def _weight(self, word: str) -> float:
        found = self._known.get(word)
        if found:
            return found[0]
        return log(_UNSEEN) - self._total if len(word) == 1 else -inf
