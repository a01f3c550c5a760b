"""Match the titles of a page's own links in its text, as DaLUKE did (thesis, section 3.1.1).

Left out are matches that seem to be no name, or a part of a longer one. The forms differ on every
page, so many pages have a table together, each with a group of its own.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import itemgetter

import numpy as np

from corpora.matching.contexts import NOUNS_HAVE_CAPITALS, SpanContexts
from corpora.matching.form_table import FormTable
from corpora.matching.name_edges import NameEdges
from corpora.matching.surface_forms import WORD, fold
from corpora.segmentation.language_tags import primary_language

MIN_CHARACTERS = 3
TitleMatch = tuple[int, int, str]
"""Start, end and title."""
PageLink = tuple[tuple[int, int], str | None]
"""Span and title, redirects resolved; None for a title that must not be found."""
_LETTER = re.compile(r"[^\W\d_]")
_OPENING = 300  # the first characters of a page, which name its subject
_BEFORE = re.compile(r"(?<!\w)(?:[^\W\d_]\w*|[^\W\d_]\.)[ \u00a0‐-]\Z")
_STARTS = frozenset('\n.!?…:;"“„«»(–—•*')
_QUOTE = re.compile(
    r"[\"“„«‹「『《〈](?=\S)([^\n\"“”„«»‹›「」『』《》〈〉.!?。！？]{1,60})(?<=\S)[\"“”»›」』》〉]"
)
_JOINTS = frozenset(" \u00a0‐-")
_CLEAR = 3  # how many times as often as all others a title is linked that a form means
_WINDOW = 40  # the characters before a match among which the word beside it is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """The settings for matching titles."""

    lang: str | None = None
    min_characters: int = MIN_CHARACTERS
    """The fewest characters of a form; 2 for languages where a character can be a word."""
    name_edges: NameEdges | None = None
    """What words beside a match say; None: not known."""


def match_pages(
    texts: Sequence[str],
    names: Sequence[str | None],
    links: Sequence[Sequence[PageLink]],
    *,
    how: Augmentation,
    are_hidden: bool = False,
) -> list[list[TitleMatch]]:
    """Match the titles of each page's links, and its own (``names``), where they seem to be names.

    Matches overlap no link, unless links count as hidden.
    """
    forms = [
        page_forms(name, [t for _, t in linked], min_characters=how.min_characters, lang=how.lang)
        for name, linked in zip(names, links, strict=True)
    ]
    occupied = [[] if are_hidden else [span for span, _ in linked] for linked in links]
    found_titles = match_titles(texts, forms, occupied, lang=how.lang)
    matches = [
        spelled_as_linked(
            text, alone(text, titles, linked, lang=how.lang), linked, own=name, lang=how.lang
        )
        for text, titles, linked, name in zip(texts, found_titles, links, names, strict=True)
    ]
    return matches if how.name_edges is None else _whole(texts, matches, how)


def _whole(
    texts: Sequence[str], matches: Sequence[Sequence[TitleMatch]], how: Augmentation
) -> list[list[TitleMatch]]:
    """Keep the matches between words that do not continue a name."""
    begins = accumulate((len(text) + 1 for text in texts), initial=0)
    spans = [
        (begin + start, begin + end, " " in text[start:end])
        for begin, text, titles in zip(begins, texts, matches, strict=False)
        for start, end, _ in titles
    ]
    if how.name_edges is None or not spans:
        return list(map(list, matches))
    starts, ends, are_long = np.array(spans, np.int64).T
    contexts = SpanContexts("\n".join(texts), np.empty(0, np.int64), lang=how.lang)
    is_whole = how.name_edges.are_whole(contexts, starts, ends, are_long=are_long > 0)
    flags = iter(is_whole.tolist())
    return [[match for match in titles if next(flags)] for titles in matches]


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
    brackets. A form of several titles means the page itself if it can, else the one that needs no
    qualifier if it is linked three times as often as all others, else none. Left out are forms of
    fewer than ``min_characters`` and forms without a letter. Links to qualified titles give no form
    whose words are all in the title of the page or of another link: on a page with Taras Shevchenko
    ``Shevchenko`` is not ``Shevchenko (crater)``.
    """
    counts = Counter(target for target in targets if target is not None)
    meanings: dict[str, list[str]] = defaultdict(list)
    for form, meant in dict.fromkeys(_spelled(counts, lang=lang)):
        meanings[form].append(meant)
    chosen = {form: titles[0] for form, titles in meanings.items() if len(titles) == 1}
    for form in meanings.keys() - chosen.keys():
        best = max(meanings[form], key=counts.__getitem__)
        others = sum(counts[title] for title in meanings[form]) - counts[best]
        if len(best) == len(form) and counts[best] >= _CLEAR * others:
            chosen[form] = best
    own = dict(_spelled([] if title is None else [title], lang=lang))
    bare = [form for form, meant in chosen.items() if meant[-1:] == ")" and form[-1:] != ")"]
    if bare:
        holders = defaultdict(set)
        for form, meant in [*own.items(), *_spelled(counts, lang=lang)]:
            for word in WORD.findall(form):
                holders[word].add(meant)
        for form in bare:
            of_words = [holders[word] for word in WORD.findall(form)]
            if of_words and len(set.intersection(*of_words)) > 1:
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
    matches: Sequence[TitleMatch],
    links: Sequence[PageLink],
    *,
    own: str | None,
    lang: str | None = None,
) -> list[TitleMatch]:
    """Keep the matches whose letter case fits a name, judged by the page's links.

    A match fits if it is spelled as its title, or as the text of a link to the title. A small first
    letter also fits if a link to the title begins with one, or, for the page's own title (``own``),
    if the opening of the text has it small: ``windmill``, but not ``bill`` for ``Bill``. Without
    its qualifier, another title than the page's own fits only as the text of a link to it that does
    not begin small: ``Will (law)`` is not each ``will``. Nor fits a single small syllable of
    Vietnamese, whose words have spaces inside. ``links`` are spans and titles.
    """
    surfaces = [text[start:end] for start, end, _ in matches]
    pairs = list(zip(surfaces, matches, strict=True))
    odd = {
        title
        for surface, (_, _, title) in pairs
        if not title.startswith(surface) or title[-1:] == ")"
    }
    in_syllables = primary_language(lang) == "vi"
    if not odd and not in_syllables:
        return list(matches)
    linked = {(text[begin:stop], title) for (begin, stop), title in links if title in odd}
    small = {title for shown, title in linked if shown[:1].islower()}
    if own in odd and _small_first(own) in text[:_OPENING]:
        small.add(own)

    def fits(surface: str, title: str) -> bool:
        if title[-1:] == ")" and surface[-1:] != ")" and title != own:
            return (surface, title) in linked and not surface[0].islower()
        if in_syllables and surface[0].islower() and " " not in surface:
            return False
        return (
            title.startswith(surface)
            or (title in small and title[1:].startswith(surface[1:]))
            or (surface, title) in linked
            or surface.upper() == surface.lower()
        )

    return [match for surface, match in pairs if fits(surface, match[2])]


def alone(
    text: str,
    matches: Sequence[TitleMatch],
    links: Sequence[PageLink] = (),
    *,
    lang: str | None = None,
) -> list[TitleMatch]:
    """Keep the matches that are no part of a longer name, as quotation marks and capitals show.

    ``links`` are spans and titles. Left out are matches

    - that are a part of a quotation, which has at most 60 characters of one sentence;
    - that are all of a quotation, if no link to their title is: the theatre "Firdusi" is not the
      poet;
    - before a word with a capital (*York City*), and of one word after such a word that begins no
      sentence (*National Bank*, *J. Smith*), except where common nouns have a capital.
    """
    quotes = [quote.span(1) for quote in _QUOTE.finditer(text)]
    frames = set(quotes)
    quoted = {title for span, title in links if span in frames}
    nouns_have_capitals = primary_language(lang) in NOUNS_HAVE_CAPITALS
    return [
        (start, end, title)
        for start, end, title in matches
        if not _is_in_quote(start, end, quotes, is_quoted=title in quoted)
        and (nouns_have_capitals or not _is_in_run(text, start, end))
    ]


def _is_in_quote(
    start: int, end: int, quotes: Sequence[tuple[int, int]], *, is_quoted: bool
) -> bool:
    """Tell whether a match lies in one of the quotations, and is not all of it (``is_quoted``)."""
    number = bisect_right(quotes, start, key=itemgetter(0)) - 1
    if number < 0 or end > quotes[number][1]:
        return False
    return not (is_quoted and (start, end) == quotes[number])


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
) -> list[list[TitleMatch]]:
    """Find the forms of each page in its text: (start, end, title), ordered and disjoint.

    From left to right, at each start of a word, the longest form is taken that overlaps none of the
    spans in ``occupied`` and ends with a word. Forms are as ``page_forms`` returns them; one that
    spans a newline is never found. Nothing is found in the text of a span that stands once more.
    """
    pages = [str(number) for number in range(len(texts))]
    joined = fold("\n".join(texts), lang=lang)
    begins = list(accumulate((len(text) + 1 for text in texts), initial=0))[:-1]
    spans = [
        (begin + start, begin + end)
        for begin, own in zip(begins, occupied, strict=True)
        for start, end in own
    ]
    shown = iter([joined[start:end] for start, end in spans])
    known = []
    for of, own in zip(forms, occupied, strict=True):
        several = {form for form in [*of, *islice(shown, len(own))] if " " in form}
        known.append([*of.items(), *((form, "") for form in sorted(several.difference(of)))])
    table = FormTable(
        forms=[[form for every in known for form, _ in every]],
        groups=list(zip(pages, accumulate(map(len, known)), strict=True)),
    )
    names = [title for every in known for _, title in every]
    taken = np.array(spans, np.int64).reshape(-1, 2)
    found = table.find(
        joined,
        *(taken[:, 0], taken[:, 1]),
        lang=lang,
        groups=pages,
        borders=np.array(begins[1:], np.int64),
    )
    matches: list[list[TitleMatch]] = [[] for _ in texts]
    page_of = np.searchsorted(begins, found[0], side="right") - 1
    for page, start, end, number in zip(
        page_of.tolist(), *map(np.ndarray.tolist, found), strict=True
    ):
        if title := names[number]:
            matches[page].append((start - begins[page], end - begins[page], title))
    return matches
