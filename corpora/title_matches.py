"""Match the titles of a page's own links in its text, as DaLUKE did (thesis, section 3.1.1).

The forms differ on every page, so what counts is that an automaton is made quickly: it finds all
occurrences, word boundaries or not, and only those in question are looked at.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corpora.surface_forms import Right, begins_word, ends_word, fold

MIN_CHARACTERS = 3
_PARTS = frozenset({"", *" \n.,;:!?()[]/'\"-"})
"""What parts words in any script, to ask for it first."""
_LETTER = re.compile(r"[^\W\d_]")


def page_forms(
    title: str,
    targets: Iterable[str],
    anchors: Iterable[tuple[str, str]] = (),
    *,
    min_characters: int = MIN_CHARACTERS,
    lang: str | None = None,
) -> dict[str, str]:
    """Collect what to look for on a page: folded form to title.

    Forms are the page's own ``title`` and those of its links, ``targets`` (one for each link,
    redirects resolved), all of them also without a qualifier in brackets; and ``anchors``, pairs
    of a link's text and its title. A form that may mean several titles means the page itself if
    it can, else the one that most links have; of equals, the one that is linked first. Left out
    are forms of less than ``min_characters`` and those without a letter.
    """
    titles = Counter(targets)
    counts = {pair: titles[pair[1]] for pair in _spelled(titles, lang=lang)}
    if pairs := Counter(anchors):
        texts = fold("\n".join([text.replace("\n", " ") for text, _ in pairs]), lang=lang)
        for form, pair in zip(texts.split("\n"), pairs, strict=True):
            counts[form, pair[1]] = counts.get((form, pair[1]), 0) + pairs[pair]
    chosen: dict[str, str] = {}
    best: dict[str, int] = {}
    for (form, meant), count in counts.items():
        if count > best.get(form, 0):
            best[form], chosen[form] = count, meant
    chosen |= dict(_spelled([title], lang=lang))  # a page speaks of its subject
    return {
        form: meant
        for form, meant in chosen.items()
        if len(form) >= min_characters and (form[0].isalpha() or _LETTER.search(form))
    }


def _spelled(titles: Iterable[str], *, lang: str | None) -> Iterator[tuple[str, str]]:
    """Titles, folded all at once, with and without a qualifier."""
    titles = list(titles)
    folded = fold("\n".join(titles), lang=lang).split("\n")
    for form, title in zip(folded, titles or [""], strict=True):
        yield form, title
        if form.endswith(")") and (bracket := form.rfind(" (")) > 0:
            yield form[:bracket], title


def match_titles(
    text: str,
    forms: Mapping[str, str],
    occupied: Sequence[tuple[int, int]],
    *,
    right: Right,
    lang: str | None = None,
) -> list[tuple[int, int, str]]:
    """Find the forms of a page in its text: (start, end, title), ordered and disjoint.

    From left to right, and where a word begins the longest form that fits: that overlaps none of
    the spans in ``occupied`` (in reading order; they may nest) and ends as ``right`` says. Forms
    are as ``page_forms`` makes them; one that spans a newline is never found.
    """
    if not forms:
        return []
    names = list(forms)
    found: list[tuple[int, int, str]] = []
    last = 0
    for start, minus_end, number in _occurrences(_free(fold(text, lang=lang), occupied), names):
        end = -minus_end
        if start < last:
            continue
        is_plain = text[start - 1 : start] in _PARTS and text[start].isalnum()
        if not is_plain and not begins_word(text, start):
            continue
        if text[end : end + 1] in _PARTS or ends_word(text, end, right=right, lang=lang):
            found.append((start, end, forms[names[number]]))
            last = end
    return found


def _free(folded: str, occupied: Sequence[tuple[int, int]]) -> str:
    """Put newlines, which no form has, where a match must not be."""
    parts = []
    position = 0
    for start, end in occupied:
        if end > position:
            parts.append(folded[position:start])
            parts.append("\n" * (end - max(start, position)))
            position = end
    parts.append(folded[position:])
    return "".join(parts)


def _occurrences(folded: str, forms: Sequence[str]) -> list[tuple[int, int, int]]:
    """All occurrences of all forms: start, end with a minus, number; the longer first."""
    from ahocorasick_rs import AhoCorasick, Implementation

    # The contiguous automaton is made in no more time than the plain one, and searches faster.
    automaton = AhoCorasick(
        forms, implementation=Implementation.ContiguousNFA, store_patterns=False
    )
    found = automaton.find_matches_as_indexes(folded, overlapping=True)
    return sorted([(start, -end, number) for number, start, end in found])
