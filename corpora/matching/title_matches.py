"""Match the titles of a page's own links in its text, as DaLUKE did (thesis, section 3.1.1).

The forms differ on every page, so the automaton must be quick to build. It finds all occurrences,
at word boundaries or not; boundaries are checked only for those that may be kept.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corpora.matching.form_table import SurfaceMatcher
from corpora.matching.surface_forms import Right, begins_word, ends_word, fold, windows

MIN_CHARACTERS = 3
WINDOW = 1 << 14
"""The number of characters that are searched at once; a longer line is not cut."""
MAX_OCCURRENCES = 1 << 18
"""The most occurrences in a window that are held at once (80 MB); if there may be more, a slower
matcher is used, which does not hold them."""
_PARTS = frozenset({"", *" \n.,;:!?()[]/'\"-"})
"""The characters that separate words in any script (empty: the end of the text), tested first."""
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")
_OPENING = 300  # the first characters of a page, which name its subject
_HEAD = 8  # characters of forms compared to estimate how many may begin in one place


def page_forms(
    title: str | None,
    targets: Iterable[str | None],
    anchors: Iterable[tuple[str, str]] = (),
    *,
    min_characters: int = MIN_CHARACTERS,
    lang: str | None = None,
) -> dict[str, str]:
    """Collect the forms to find on a page: folded form to title.

    Forms are the page's own ``title`` and those of its links, ``targets`` (one for each link,
    redirects resolved; None for titles that must not be found), each also without a qualifier in
    brackets; and ``anchors``, pairs of a link's text and its title. An ambiguous form means the
    page itself if it can, else the title with the most links; of equals, the one that is linked
    first. Left out are forms of fewer than ``min_characters``, forms without a letter, and, for
    links to qualified titles, forms whose words are all in the page's own title: on the page of
    Taras Shevchenko ``Shevchenko`` is not ``Shevchenko (crater)``.
    """
    titles = Counter(target for target in targets if target is not None)
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
    if title is not None:
        own = dict(_spelled([title], lang=lang))
        words = {word for form in own for word in _WORD.findall(form)}
        bare = [form for form, meant in chosen.items() if meant[-1:] == ")" and form[-1:] != ")"]
        for form in bare:
            if words.issuperset(_WORD.findall(form)):
                del chosen[form]
        chosen |= own  # the page's own title wins
    return {
        form: meant
        for form, meant in chosen.items()
        if len(form) >= min_characters and (form[0].isalpha() or _LETTER.search(form))
    }


def _spelled(titles: Iterable[str], *, lang: str | None) -> Iterator[tuple[str, str]]:
    """Yield (form, title) of titles, folded all at once, with and without their qualifier."""
    titles = list(titles)
    folded = fold("\n".join(titles), lang=lang).split("\n")
    for form, title in zip(folded, titles or [""], strict=True):
        yield form, title
        if form.endswith(")") and (bracket := form.rfind(" (")) > 0:
            yield form[:bracket], title


def spelled_as_linked(
    text: str,
    matches: Sequence[tuple[int, int, str]],
    links: Sequence[tuple[tuple[int, int], str | None]],
    *,
    own: str | None,
) -> list[tuple[int, int, str]]:
    """Keep the matches whose letter case fits a name, judged by the page's links.

    A match fits if it is spelled as its title, or as the text of a link to the title. A small first
    letter also fits if a link to the title begins with one, or, for the page's own title (``own``),
    if the opening of the text has it small: ``windmill``, but not ``bill`` for ``Bill``. ``links``
    are spans and titles.
    """
    surfaces = [text[start:end] for start, end, _ in matches]
    pairs = list(zip(surfaces, matches, strict=True))
    odd = {title for surface, (_, _, title) in pairs if not title.startswith(surface)}
    if not odd:
        return list(matches)
    linked = {(text[begin:stop], title) for (begin, stop), title in links if title in odd}
    small = {title for shown, title in linked if shown[:1].islower()}
    if own in odd and _small_first(own) in text[:_OPENING]:
        small.add(own)
    return [
        match
        for surface, match in pairs
        if (title := match[2]) not in odd
        or title.startswith(surface)
        or (title in small and title[1:].startswith(surface[1:]))
        or (surface, title) in linked
        or surface.upper() == surface.lower()
    ]


def _small_first(title: str) -> str:
    """Return a title as it stands inside a sentence: no qualifier, a small first letter."""
    bare = title[: title.rfind(" (")] if title[-1:] == ")" and " (" in title else title
    return bare[:1].lower() + bare[1:]


def match_titles(
    text: str,
    forms: Mapping[str, str],
    occupied: Sequence[tuple[int, int]],
    *,
    right: Right,
    lang: str | None = None,
) -> list[tuple[int, int, str]]:
    """Find the forms of a page in its text: (start, end, title), ordered and disjoint.

    From left to right, at each start of a word, the longest form is taken that overlaps none of the
    spans in ``occupied`` (in reading order; they may nest) and ends as ``right`` says. Forms are as
    ``page_forms`` returns them; one that spans a newline is never found.
    """
    from ahocorasick_rs import AhoCorasick, Implementation

    if not forms:
        return []
    names = list(forms)
    free = _free(fold(text, lang=lang), occupied)
    parts = list(windows(free, WINDOW))
    if _may_be_too_many(parts, names):
        matcher = SurfaceMatcher(names, lang=lang, right=right)
        return [(start, end, forms[names[n]]) for start, end, n in matcher.find(text, occupied)]
    # The contiguous automaton is built as fast as the plain one, and searches faster.
    automaton = AhoCorasick(
        names, implementation=Implementation.ContiguousNFA, store_patterns=False
    )
    matches: list[tuple[int, int, str]] = []
    last = 0
    for begin, stop in parts:
        found = automaton.find_matches_as_indexes(free[begin:stop], overlapping=True)
        # From left to right, the longer first.
        for start, minus_end, number in sorted([(begin + s, -begin - e, n) for n, s, e in found]):
            end = -minus_end
            if start < last:
                continue
            is_plain = text[start - 1 : start] in _PARTS and text[start].isalnum()
            if not is_plain and not begins_word(text, start):
                continue
            if text[end : end + 1] in _PARTS or ends_word(text, end, right=right, lang=lang):
                matches.append((start, end, forms[names[number]]))
                last = end
    return matches


def _free(folded: str, occupied: Sequence[tuple[int, int]]) -> str:
    """Replace occupied characters by newlines, which no form has."""
    parts: list[str] = []
    position = 0
    for start, end in occupied:
        if start >= position:
            parts += folded[position:start], "\n" * (end - start)
            position = end
        elif end > position:
            parts.append("\n" * (end - position))
            position = end
    parts.append(folded[position:])
    return "".join(parts)


def _may_be_too_many(parts: Sequence[tuple[int, int]], forms: Sequence[str]) -> bool:
    """Tell whether a part may have more than ``MAX_OCCURRENCES``, all of which are held at once.

    At one place as many forms may begin as there are in a chain where each begins with the one
    before. The chain is only computed if enough forms share their first characters.
    """
    longest = max((end - begin for begin, end in parts), default=0)
    alike = Counter([form[:_HEAD] for form in forms])
    most = max(alike.values()) + _HEAD
    return longest * most > MAX_OCCURRENCES and longest * _nested(forms) > MAX_OCCURRENCES


def _nested(forms: Sequence[str]) -> int:
    """Compute the length of the longest chain of forms, each a prefix of the next."""
    chain: list[str] = []
    deepest = 0
    for form in sorted(forms):
        while chain and not form.startswith(chain[-1]):
            chain.pop()
        chain.append(form)
        deepest = max(deepest, len(chain))
    return deepest
