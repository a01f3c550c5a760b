"""Authors that only the visible page names: ``By Jane Doe and John Smith``, ``class="byline"``."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from corpora.news.blocks import Block, key_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_BY = re.compile(
    r"(?:written by|reported by|story by|text von|text|texte|texto|testo|tekst|autorin|autore?|"
    r"auteure?|author|skrevet av|skrevet af|von|by|par|por|di|af|av|door|przez)(?:\s*:\s*|\s+)",
    re.IGNORECASE,
)
"""The words that begin a byline, in languages that capitalize names."""
_GLUED = re.compile(r"(?:By|Von|Par|Por)(?=[A-Z][a-z])")
"""Such a word before a name, without the space that the page shows by other means."""
_BETWEEN = re.compile(r"\s*(?:[,;|/•·–—(]|\s-\s|\s(?:and|und|et|y|e|og|och|en|i|in|for)\s)\s*")
"""The separators between names, and before a place or a date."""
_PARTICLES = frozenset(
    {"al", "bin", "da", "de", "del", "della", "den", "der", "di", "do", "dos"}
    | {"du", "el", "la", "le", "ten", "ter", "van", "von", "zu"}
)
_AND = re.compile(r"\s(?:and|und|et|y|e|og|och|en|i)\s")
_CLASS = re.compile(
    r"(?:^|[\s_-])(?:byline|author|autor|auteur|autore)s?(?:[_-]{1,2}names?)?(?:$|\s)",
    re.IGNORECASE,
)
"""CSS classes of elements that hold authors; boxes around them have other endings (``author-box``).
"""
_NO_NAMES = frozenset({"author", "authors", "autor", "autore", "auteur", "by", "written"})
_MAX_BYLINE = 100
"""The most characters of a byline."""
_NEAR = 8
"""The number of blocks after the title in which a byline is looked for, and then in two before it.
"""
_MAX_NAME_WORDS = 4


def find_authors(
    tree: "HtmlElement", page: Sequence[Block], titles: Iterable[str]
) -> tuple[str, ...]:
    """Find the names in the byline of a page; empty where there is none.

    A line near the title that begins with a word like ``by``, followed by a name, is tried first;
    then the first element that holds a name and whose class marks a byline.
    """
    return _after_title(page, titles) or _by_class(tree)


def _by_class(tree: "HtmlElement") -> tuple[str, ...]:
    for element in tree.iter():
        if _CLASS.search(element.get("class") or ""):
            line = " ".join(" ".join(element.itertext()).split())
            if names := names_of(line) or _names_in(line):
                return names
    return ()


def _after_title(page: Sequence[Block], titles: Iterable[str]) -> tuple[str, ...]:
    return next(filter(None, (names_of(block.text) for block in near_title(page, titles))), ())


def near_title(page: Sequence[Block], titles: Iterable[str]) -> Iterator[Block]:
    """Yield the eight blocks after each title of a page, and then the two before it."""
    title_keys = {key_of(title) for title in titles}
    longest = 2 * max(map(len, title_keys), default=0)  # most blocks need no key
    short = [index for index, block in enumerate(page) if len(block.text) <= longest]
    for place in [index for index in short if page[index].key in title_keys]:
        yield from page[place + 1 : place + 1 + _NEAR]
        yield from page[max(0, place - 2) : place]


def names_of(line: str) -> tuple[str, ...]:
    """Extract the names from a line like ``By Jane Doe``; empty for any other line."""
    match = (_BY.match(line) or _GLUED.match(line)) if len(line) <= _MAX_BYLINE else None
    return _names_in(line[match.end() :]) if match else ()


def joined_names(line: str) -> tuple[str, ...]:
    """Split ``Jane Doe, Ann Poe and John Smith``; empty where any part is no name."""
    parts = [part.removeprefix("and ") for part in _BETWEEN.split(line.strip())]
    return tuple(parts) if _AND.search(line) and all(map(_is_name, parts)) else ()


def _names_in(line: str) -> tuple[str, ...]:
    """Extract the names from a line that begins with a name; empty for any other line."""
    parts = _BETWEEN.split(line.strip()) if len(line) <= _MAX_BYLINE else [""]
    return tuple(dict.fromkeys(filter(_is_name, parts))) if _is_name(parts[0]) else ()


def _is_name(text: str) -> bool:
    """Tell whether a text is a name: two to four words, capitalized except for particles."""
    words = text.split()
    capital = [w for w in words if w.lower() not in _PARTICLES]
    return (
        len(capital) >= 2
        and not {word.lower() for word in words} & _NO_NAMES
        and len(words) <= _MAX_NAME_WORDS
        and all(word[0].isupper() and _is_word(word) for word in capital)
    )


def _is_word(word: str) -> bool:
    return word.replace(".", "").replace("-", "").replace("'", "").replace("’", "").isalpha()
