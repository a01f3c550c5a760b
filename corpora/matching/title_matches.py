"""Match the titles of a page's own links in its text, as DaLUKE did (thesis, section 3.1.1).

The forms differ on every page, so many pages have a table together, each with a group of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np

from corpora.matching.form_table import FormTable
from corpora.matching.surface_forms import fold

MIN_CHARACTERS = 3
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")
_OPENING = 300  # the first characters of a page, which name its subject
_BEFORE = re.compile(r"(?<!\w)(?:[^\W\d_]\w*|[^\W\d_]\.)[ \u00a0‐-]\Z")
_STARTS = frozenset('\n.!?…:;"“„«»(–—•*')
_JOINTS = frozenset(" \u00a0‐-")
_WINDOW = 40  # the characters before a match among which the word beside it is looked for
_CAPITALS = 0.25
"""The share of words with a capital above which common nouns have one, too, as in German."""
_SAMPLE = 3000  # the characters of a page by which this is judged


def page_forms(
    title: str | None,
    targets: Iterable[str | None],
    *,
    min_characters: int = MIN_CHARACTERS,
    lang: str | None = None,
) -> dict[str, str]:
    """Collect the forms to find on a page: folded form to title.

    Forms are the page's own ``title`` and those of its links, ``targets`` (one for each link,
    redirects resolved; None for titles that must not be found), each also without a qualifier in
    brackets. An ambiguous form means the page itself if it can, else the title with the most links;
    of equals, the one that is linked first. Left out are forms of fewer than ``min_characters``,
    forms without a letter, and, for links to qualified titles, forms whose words are all in the
    page's own title: on the page of Taras Shevchenko ``Shevchenko`` is not ``Shevchenko (crater)``.
    """
    titles = Counter(target for target in targets if target is not None)
    counts = {pair: titles[pair[1]] for pair in _spelled(titles, lang=lang)}
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


def alone(text: str, matches: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Keep the matches that are no part of a longer name, as words with a capital beside show.

    Left out are matches before such a word (*York City*), and matches of one word after one that
    begins no sentence (*National Bank*, *J. Smith*), except where common nouns have a capital.
    """
    suspects = {match for match in matches if _is_in_run(text, *match[:2])}
    if suspects:
        words = text[:_SAMPLE].split()
        if sum(word[0].isupper() for word in words) > _CAPITALS * len(words):
            return list(matches)
    return [match for match in matches if match not in suspects]


def _is_in_run(text: str, start: int, end: int) -> bool:
    """Tell whether words with a capital beside a match seem to belong to it."""
    if text[end : end + 1] in _JOINTS and text[end + 1 : end + 2].isupper():
        return True
    if not _JOINTS.isdisjoint(text[start:end]):
        return False
    before = _BEFORE.search(text, max(0, start - _WINDOW), start)
    if before is None or not before[0][0].isupper():
        return False
    sides = text[max(0, before.start() - 2) : before.start()].rstrip(" \u00a0")
    return sides[-1:] not in _STARTS and bool(sides)


def _small_first(title: str) -> str:
    """Return a title as it stands inside a sentence: no qualifier, a small first letter."""
    bare = title[: title.rfind(" (")] if title[-1:] == ")" and " (" in title else title
    return bare[:1].lower() + bare[1:]


def match_titles(
    texts: Sequence[str],
    forms: Sequence[Mapping[str, str]],
    occupied: Sequence[Sequence[tuple[int, int]]],
    *,
    lang: str | None = None,
) -> list[list[tuple[int, int, str]]]:
    """Find the forms of each page in its text: (start, end, title), ordered and disjoint.

    From left to right, at each start of a word, the longest form is taken that overlaps none of the
    spans in ``occupied`` and ends with a word. Forms are as ``page_forms`` returns them; one that
    spans a newline is never found.
    """
    pages = [str(number) for number in range(len(texts))]
    table = FormTable(
        forms=[[form for of in forms for form in of]],
        groups=list(zip(pages, accumulate(map(len, forms)), strict=True)),
    )
    titles = [title for of in forms for title in of.values()]
    begins = list(accumulate((len(text) + 1 for text in texts), initial=0))[:-1]
    places = zip(begins, occupied, strict=True)
    spans = [(begin + start, begin + end) for begin, own in places for start, end in own]
    taken = np.array(spans, np.int64).reshape(-1, 2)
    found = table.find(
        "\n".join(texts),
        *(taken[:, 0], taken[:, 1]),
        lang=lang,
        ignore_case=True,
        right="word",
        groups=pages,
        borders=np.array(begins[1:], np.int64),
    )
    matches: list[list[tuple[int, int, str]]] = [[] for _ in texts]
    of = np.searchsorted(begins, found[0], side="right") - 1
    for page, start, end, number in zip(of.tolist(), *map(np.ndarray.tolist, found), strict=True):
        matches[page].append((start - begins[page], end - begins[page], titles[number]))
    return matches
