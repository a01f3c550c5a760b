"""Learning of the abbreviations of a language from text, without any list.

The method is that of Kiss and Strunk, "Unsupervised multilingual sentence boundary detection"
(Computational Linguistics 32, 2006), sections 3 and 4.1: an abbreviation is short, and hardly ever
occurs without its period.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import exp, log
from typing import NamedTuple
from unicodedata import category

from corpora.segmentation.scripts import begins_low, has_case

THRESHOLD = 0.3
"""The least score of an abbreviation (table 1 of the paper)."""
MIN_COUNT = 3
"""The least number of times that an abbreviation must occur with its period: rarer words say
little, and missing them costs little."""
MAX_CHARACTERS = 4_000_000
"""The number of characters that are learned from; the memory for their words is about 50 MB."""
MIN_CHARACTERS = 50_000
"""The least number of characters to learn from; less text says nothing."""
_AT_END = 0.1
"""The most occurrences of an abbreviation at the end of a line, for each one elsewhere; words that
end sentences, such as verbs, have more."""
_INSIDE = 0.1
"""The least ratio of an abbreviation's occurrences that are followed by what begins no sentence."""
_WITH_PERIOD = 0.99  # probability that an abbreviation has its period
_WORD = re.compile(r"\S+")
_AROUND = "\"'»«›‹“”„‘’()[]{}*,;:!?…–—-"
_JOINTS = re.compile("[.-]")


@dataclass(slots=True)
class _Counts:
    """Counts of the words of a text, in lower case and without their last period.

    The last word of a line counts only in ``last``.
    """

    bare: Counter[str] = field(default_factory=Counter)
    """Words without a period."""
    dotted: Counter[str] = field(default_factory=Counter)
    """Words with a period."""
    last: Counter[str] = field(default_factory=Counter)
    """Words with a period at the end of a line."""
    inside: Counter[str] = field(default_factory=Counter)
    """Words with a period inside a sentence: a comma, a number or a small letter follows."""
    small: Counter[str] = field(default_factory=Counter)
    """Words that begin with a small letter."""
    capital: Counter[str] = field(default_factory=Counter)
    """Words that begin with a capital, unless the word before has a period."""
    written: Counter[str] = field(default_factory=Counter)
    """Words with a period, in upper and lower case as written."""
    followed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Pairs of a word with a period and a word with a capital after it."""


class Abbreviation(NamedTuple):
    """An abbreviation that was found in texts."""

    form: str
    """The abbreviation in lower case, with its period."""
    n: int
    """The number of times that it occurs with its period."""
    may_be_final: bool
    """Whether a word with a capital after it mostly begins a sentence."""
    written: tuple[str, ...] = ()
    """The forms as written, with upper case, the most frequent first."""


def learn(texts: Iterable[str]) -> dict[str, list[str]]:
    """Learn a table of abbreviations, as languages have, from the first ``MAX_CHARACTERS``.

    After an abbreviation in ``may_be_final``, a word with a capital mostly begins a sentence: the
    word is written small elsewhere. The table is empty where no abbreviations are found, and where
    there is too little text.
    """
    return as_table(find_abbreviations(texts, min_characters=MIN_CHARACTERS))


def find_abbreviations(texts: Iterable[str], *, min_characters: int = 0) -> list[Abbreviation]:
    """Find the abbreviations of texts, in alphabetic order; none in too little text."""
    counts = _Counts()
    n = 0
    for text in texts:
        _count(text[: MAX_CHARACTERS - n], counts)
        n += len(text)
        if n >= MAX_CHARACTERS:
            break
    if n < min_characters:
        return []
    starts = _starts_of_sentences(counts)
    found = {word: list[str]() for word in sorted(_abbreviations(counts, starts))}
    for form, _ in sorted(counts.written.items(), key=lambda pair: (-pair[1], pair[0])):
        if form.lower() in found:
            found[form.lower()].append(f"{form}.")
    return [
        Abbreviation(
            form=f"{word}.",
            n=counts.dotted[word],
            may_be_final=starts[word] > 0 and len(word) > 1,
            written=tuple(forms),
        )
        for word, forms in found.items()
    ]


def as_table(abbreviations: Iterable[Abbreviation]) -> dict[str, list[str]]:
    """Sort abbreviations into a table, as a language has it."""
    table: dict[str, list[str]] = {}
    for each in abbreviations:
        name = "may_be_final" if each.may_be_final else "never_final"
        table.setdefault(name, []).append(each.form)
    return {name: table[name] for name in ("never_final", "may_be_final") if name in table}


def _count(text: str, counts: _Counts) -> None:
    before = ""  # the word before, in lower case, if it has a period
    for line in text.split("\n"):
        *tokens, last = _WORD.findall(line) or [""]
        word = last.strip(_AROUND)
        counts.last[word.removesuffix(".").lower()] += word.endswith(".")
        for token in tokens:
            if word := token.strip(_AROUND):
                before = _count_word(word, before, counts)
                counts.inside[before] += bool(before) and token[-1] in ",;:"
        before = ""


def _count_word(word: str, before: str, counts: _Counts) -> str:
    """Count a word, and what it shows of the word ``before``, which has a period if not empty.

    Returns the word in small letters without its period; empty if the word has no period.
    """
    form, first = word.rstrip(".").lower(), word[0]
    if not form:
        return ""
    if before and (first.isdecimal() or begins_low(word) or has_case(first) > has_case(before)):
        counts.inside[before] += 1
    if begins_low(word):
        counts.small[form] += 1
    elif first.isupper() and before:
        counts.followed[before, form] += 1
    elif first.isupper():
        counts.capital[form] += 1
    if word.endswith("."):
        counts.dotted[word[:-1].lower()] += 1
        counts.written[word[:-1]] += 1
        return word[:-1].lower()
    counts.bare[form] += 1
    return ""


def _abbreviations(counts: _Counts, starts: Mapping[str, int]) -> Iterator[str]:
    n_words, n_dotted = counts.bare.total(), counts.dotted.total()
    ratio = min(max(n_dotted, 1) / max(n_words + n_dotted, 1), 0.5)
    for word, n in counts.dotted.items():
        if n < MIN_COUNT or counts.last[word] > n * _AT_END or not _is_of_letters(word):
            continue
        goes_on = counts.inside[word] >= n * _INSIDE or starts.get(word, 0) < 0
        if goes_on and _score(word, n, counts.bare[word], ratio=ratio) >= THRESHOLD:
            yield word


def _is_of_letters(word: str) -> bool:
    """Tell whether a word has letters and their marks only, with single periods and hyphens."""
    parts = _JOINTS.split(word)
    return all(parts) and all(c.isalpha() or category(c)[0] == "M" for c in "".join(parts))


def _starts_of_sentences(counts: _Counts) -> Counter[str]:
    """Count for each word with a period how many more sentences than names begin after it.

    A following word with a capital begins a sentence if it is mostly written small elsewhere; else
    it is a name.
    """
    starts: Counter[str] = Counter()
    for (word, following), n in counts.followed.items():
        starts[word] += n if counts.small[following] > counts.capital[following] else -n
    return starts


def _score(word: str, n_dotted: int, n_bare: int, *, ratio: float) -> float:
    """Compute formula 15 of the paper; ``ratio`` is the fraction of all words with a period."""
    null = n_dotted * log(ratio) + n_bare * log(1 - ratio)
    bound = n_dotted * log(_WITH_PERIOD) + n_bare * log(1 - _WITH_PERIOD)
    n_periods = word.count(".") + 1
    n_letters = len(word) - n_periods + 1
    return 2 * (bound - null) * exp(-n_letters) * n_periods * float(n_letters) ** -n_bare


def to_toml(table: Mapping[str, object]) -> str:
    """Write a table as a file that ``--abbreviations`` takes."""
    lines = ["# Where a period is no full stop; see corpora/segmentation/languages/de.toml."]
    for name, value in table.items():
        if isinstance(value, list):
            words = (f"  {json.dumps(word, ensure_ascii=False)}," for word in value)
            lines += ["", f"{name} = [", *words, "]"]
        else:
            lines += ["", f"{name} = {json.dumps(value, ensure_ascii=False)}"]
    return "\n".join(lines) + "\n"
