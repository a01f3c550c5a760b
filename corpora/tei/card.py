"""Tables and warnings for an edition's ``card.md``, which tell its reader how it was read.

The rest of the card is that of any NER set (``corpora/ner/card.py``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from corpora.reports import folded, markdown_table
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.sentences import table_name
from corpora.tei.abbreviations import Learned
from corpora.tei.edition import CHARACTERS
from corpora.tei.layout import LINES_JOINED
from corpora.tei.prefixes import NOT_READ

Counts = Mapping[str, int]
_PASSED_OVER = re.compile(r"((?:left out|not chosen|not read): .+?)(?: \((characters|names)\))?")
_LANGUAGE, _PATTERN = "language/", "pattern/"
N_SHOWN = 50
_SPACED = frozenset({"ko", "okm", "vi"})
"""Languages that put spaces between words that are written in Chinese characters."""


def warnings_of(counters: Counts, patterns: Sequence[str]) -> Iterator[str]:
    """Yield warnings on results that look wrong.

    ``patterns`` are those of the edition's own file.
    """
    if unmatched := [key for key in patterns if not counters.get(_PATTERN + key)]:
        yield f"patterns of the edition that match nothing: {', '.join(unmatched)}"
    if not any(name.startswith("mentions: ") for name in counters):
        yield (
            "no name was found. If names are tagged, labels and content of the edition file say "
            "which elements they are, and where (docs/editions.md). If none is, onoma predict "
            "--tei finds some (docs/enriching.md)"
        )
    if n := sum(counters.get(f"not read: empty {name}", 0) for name in CHARACTERS):
        yield (
            f"{n:,} empty <c> or <g> are not in the text: say for which characters they stand, in "
            "[characters] (--inspect --output lists them)"
        )
    for name, n in counters.items():
        if name.startswith(NOT_READ):
            yield (
                f"{name} ({n:,} references, which stay ids of the edition). Say what the prefix "
                "stands for in [entities.spaces] of the edition file"
            )
    languages = languages_of(counters)
    n, spaced = counters.get(LINES_JOINED, 0), languages.keys() & _SPACED
    if n and spaced:
        yield (
            f"{n:,} line ends between Chinese characters are no spaces, though words of "
            f"{', '.join(sorted(spaced))} have spaces between them: look at some"
        )
    without = {lang: n for lang, n in languages.items() if not table_name(lang)}
    if n := sum(without.values()):
        ratio, named = n / languages.total(), ", ".join(lang or "not said" for lang in without)
        percent = f"{ratio:.1%}" if ratio >= 0.0005 else "under 0.1%"
        yield (
            f"{n:,} of {languages.total():,} characters ({percent}) are in a language "
            f"without a table of abbreviations ({named}): sentences may end too early there. See "
            "lang and [languages] in docs/editions.md"
        )


def languages_of(counters: Counts) -> Counter[str]:
    """Count the characters of each language, by its shortest code; empty where none is given.

    ``deu``, ``ger`` and ``de-AT`` are ``de``, as for sentences and words; documents keep their
    tags.
    """
    languages = Counter[str]()
    for name, n in counters.items():
        if name.startswith(_LANGUAGE):
            languages[primary_language(name.removeprefix(_LANGUAGE))] += n
    return languages


def plain_counters(counters: Counts) -> dict[str, int]:
    """Select the counters that are in none of the card's tables."""
    return {
        name: n
        for name, n in counters.items()
        if "/" not in name and not _PASSED_OVER.fullmatch(name)
    }


def passed_over(counters: Counts) -> dict[str, dict[str, int]]:
    """Collect what is not in the text: kind to numbers of elements, characters and names.

    Kinds with the most characters come first.
    """
    counts_of: dict[str, dict[str, int]] = {}
    for name, n in counters.items():
        if match := _PASSED_OVER.fullmatch(name):
            counts = counts_of.setdefault(match[1], {"elements": 0, "characters": 0, "names": 0})
            counts[match[2] or "elements"] = n
    return dict(sorted(counts_of.items(), key=lambda pair: -pair[1]["characters"]))


def sections_of(
    counters: Counts, patterns: Sequence[str], learned: Learned, *, ends: Counts, taken: bool
) -> list[list[str]]:
    """Write the tables of the card.

    ``ends`` holds the number of sentences inside a paragraph that end with each word; ``taken``
    tells that the abbreviations were learned before the run, and used by it.
    """
    return [
        ["## Languages", *_languages(counters)],
        ["## Abbreviations", *_abbreviations(learned, ends=ends, taken=taken)],
        ["## What is not in the text", *_passed_over(counters)],
        *([["## Patterns of the edition", *_patterns(counters, patterns)]] if patterns else []),
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[object]], *, align: str) -> str:
    lines = markdown_table(head, rows, align=align)
    return "\n".join(folded(lines, n_items=len(rows), what="lines"))


def _languages(counters: Counts) -> list[str]:
    rows = [
        (lang or "not said", n, f"`{table_name(lang)}`" if table_name(lang) else "**none**")
        for lang, n in languages_of(counters).most_common()
    ]
    return [_table(("language", "characters", "table of abbreviations"), rows, align="lrl")]


def _abbreviations(learned: Learned, *, ends: Counts, taken: bool) -> list[str]:
    found = [(lang, each) for lang, some in learned.items() for each in some]
    if not found:
        return ["No word was found that is always written with a period and stands in no table."]
    found.sort(key=lambda pair: (-pair[1].n, pair[1].form))
    rows = [
        (
            lang or "not said",
            " ".join(f"`{form}`" for form in each.written),
            each.n,
            sum(ends.get(form, 0) for form in each.written),
            "maybe" if each.may_be_final else "no",
        )
        for lang, each in found[:N_SHOWN]
    ]
    about = (
        "These were learned from the text, and taken: no sentence ends with them unless the last "
        "column says so."
        if taken
        else "Words that are hardly ever written without a period (Kiss and Strunk 2006), and "
        "stand in no table. Look at them; `--abbreviations learned` takes all, `[sentences] "
        "abbreviations` of the edition file those that you choose."
    )
    head = ("language", "abbreviation", "times", "at the end of a sentence", "may end one")
    blocks = [about, _table(head, rows, align="llrrl")]
    if len(found) > N_SHOWN:
        blocks.append(f"{len(found) - N_SHOWN:,} rarer ones are in `card.json`.")
    return blocks


def _passed_over(counters: Counts) -> list[str]:
    rows = [(what, *counts.values()) for what, counts in passed_over(counters).items()]
    if not rows:
        return ["All text that the edition reads from is there."]
    return [_table(("", "elements", "characters", "names"), rows, align="lrrr")]


def _patterns(counters: Counts, patterns: Sequence[str]) -> list[str]:
    rows = [(f"`{key}`", counters.get(_PATTERN + key, 0)) for key in patterns]
    return [_table(("pattern", "elements"), rows, align="lr")]
