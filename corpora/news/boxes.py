"""Boxes of a page: its main area; what is no text of its article, or its lead, by their classes.

The words are those that the systems behind the pages use in all languages: ``newsletter-signup``,
``AuthorBio``, ``article__lead``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

from corpora.news.blocks import Block, Box, key_of, link_ratio
from corpora.news.page_metadata import PageMetadata

_NO_TEXT = frozenset(
    {"affiliate", "author", "authors", "banner", "bio", "biography", "byline", "caption"}
    | {
        "comment",
        "comments",
        "cookie",
        "cookies",
        "copyright",
        "cta",
        "ctas",
        "disclaimer",
        "disclosure",
        "figcaption",
    }
    | {"modal", "newsletter", "newsletters", "popup", "related", "sharing", "signup", "social"}
    | {"subscribe", "trending"}
)
"""The words of boxes that are no text, and the tag of a caption."""
_LEAD = frozenset(
    {"chapeau", "chapo", "dek", "excerpt", "intro", "lead", "lede", "sapo", "standfirst", "teaser"}
)
_NO_LEAD = _NO_TEXT | {"aside", "figure", "footer", "form", "nav"}
_TAGS = frozenset({"aside", "figcaption", "figure", "footer", "form", "nav"})
"""The tags that count as words."""
_AREA_IDS = frozenset({"content", "main", "main-content", "primary"})
"""The ids of the main area, on pages without a ``main`` element."""
_FURNITURE = frozenset({"aside", "footer", "form", "header", "nav"})
"""The elements that are left out of the main area."""
_MIN_PARAGRAPH = 200
"""The least letters of a block that shows that an extractor has found the text of a page."""
_MIN_FOUND = 0.5
"""The least ratio of the letters of the main area that an extractor must have found."""
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
"""The words of a name, also of one in ``camelCase``."""
_ANY = re.compile("|".join(sorted(_NO_LEAD | _LEAD)), re.IGNORECASE)
"""Finds names that may have such a word: most have none, and need not be split."""
_ABOUT = re.compile("(?:has|with)(?:[-_]|[A-Z])")
"""The beginning of a name that says what is in a box, or beside it: ``has-caption``."""
_MAX_WORDS = 4
"""The most words of an ``id``; longer ones are made of the text: ``why-authors-need-a-bio``."""
_MAX_PART = 0.25
"""The highest ratio of the letters of the text in boxes of a word for them to be no text."""
_MIN_LEAD, _MAX_LEAD = 40, 1_000
"""The least and most letters of a lead."""
_LEAD_END = re.compile(r"(?<!\.\.)[.!?。！？।۔።][\"'”’»›“‘」』)）\]]*\Z")
"""The end of a sentence that is not cut short by an ellipsis."""


def main_area(
    page: Sequence[Block], boxes: Sequence[Box], *, found: Sequence[Block]
) -> list[Block]:
    """Return the blocks of the main area of a page of which an extractor found little; else none.

    This is the case where ``found`` has blocks, but none of 200 letters, and less than half of the
    letters of the area: extractors look for paragraphs, which lists and pages of short texts do not
    have. An area with a higher ratio of links is none: it holds menus, too.
    """
    letters = [block.n_letters for block in found]
    if max(letters, default=_MIN_PARAGRAPH) >= _MIN_PARAGRAPH:
        return []
    areas = [box for box in boxes if box.tag == "main"]
    areas += [box for box in boxes if box.id.lower() in _AREA_IDS]
    start, end = (areas[0].start, areas[0].end) if areas else (0, len(page))
    outside = set[int]()
    for box in boxes:
        if box.tag in _FURNITURE and not (box.start <= start and end <= box.end):
            outside.update(range(box.start, box.end))
    area = [page[index] for index in range(start, end) if index not in outside]
    is_more = sum(letters) < _MIN_FOUND * sum(block.n_letters for block in area)
    return area if is_more and link_ratio(area) <= link_ratio(found) else []


def keys_in_boxes(
    page: Sequence[Block], boxes: Iterable[Box], *, found: Iterable[Block]
) -> frozenset[str]:
    """Find the blocks of ``found`` that stand only in boxes that are no text; return their keys.

    Boxes that hold more than a quarter of what was found are text, whatever their names; so are
    all boxes of a word that together do.
    """
    keys = {block.key for block in found} - {""}
    page_keys = [block.key for block in page]
    letters = [len(key) if key in keys else 0 for key in page_keys]
    before = list(accumulate(letters, initial=0))
    most = _MAX_PART * sum(map(len, keys))
    inside: dict[str, set[int]] = defaultdict(set)
    for box in boxes:
        if 0 < before[box.end] - before[box.start] <= most:
            for word in _NO_TEXT & _words(box):
                inside[word].update(range(box.start, box.end))
    indices = set().union(
        *(places for places in inside.values() if sum(letters[i] for i in places) <= most)
    )
    times = Counter(page_keys[index] for index in indices)
    everywhere = Counter(page_keys)
    return frozenset(key for key in keys if key in times and times[key] == everywhere[key])


def leads_in_boxes(
    page: Sequence[Block], boxes: Iterable[Box], *, found: Iterable[Block], metadata: PageMetadata
) -> list[Block]:
    """Find the lead of an article between its title and the first block of ``found``.

    It consists of whole sentences, in a box that says that it is a lead, or at the beginning of a
    description.
    """
    title_keys = {key_of(title) for title in metadata.titles}
    description_keys = [key_of(text) for text in metadata.descriptions]
    keys = {block.key for block in found if block.n_letters >= _MIN_LEAD}
    end = next((i for i, block in enumerate(page) if block.key in keys), 0)
    start = 1 + max((i for i in range(end) if page[i].key in title_keys), default=end)
    described = {
        i for i in range(start, end) if any(d.startswith(page[i].key) for d in description_keys)
    }
    other = set[int]()
    for box in boxes:
        if box.end > end or box.end <= start:
            continue
        within = range(max(start, box.start), box.end)
        words = _words(box)
        if not words.isdisjoint(_NO_LEAD):
            other.update(within)
        elif not words.isdisjoint(_LEAD) and sum(page[i].n_letters for i in within) <= _MAX_LEAD:
            described.update(within)
    return [page[i] for i in sorted(described - other) if _is_lead(page[i])]


def _is_lead(block: Block) -> bool:
    return block.n_letters >= _MIN_LEAD and _LEAD_END.search(block.text) is not None


def _words(box: Box) -> set[str]:
    """Return the words of a box's classes and id in lower case, and its tag if that says much."""
    tag = {box.tag} & _TAGS
    if not (_ANY.search(box.classes) or _ANY.search(box.id)):
        return tag
    names = (_WORD.findall(name) for name in box.classes.split() if not _ABOUT.match(name))
    of_id = _WORD.findall(box.id)
    every = chain(*names, of_id if len(of_id) <= _MAX_WORDS else ())
    return {word.lower() for word in every} | tag
