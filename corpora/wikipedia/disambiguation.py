"""Disambiguation pages, known by a magic word, a template, a category or the brackets of the title.

``disambiguation.toml`` has the words of all languages, and the names that each wiki uses.
"""

import re
from dataclasses import dataclass
from functools import cache

from corpora.wikipedia.titles import CATEGORY, namespace_pattern, read_table, upper_first

_BRACKETS = re.compile(r"[(（]([^()（）]+)[)）]$")
_MIN_QUALIFIER = 6
"""The fewest characters of an ASCII template name that may also mark a page in the brackets of its
title: ``(DP)`` is a party."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs by which the disambiguation pages of a wiki are known."""

    templates: frozenset[str]
    """The names of templates, with a capital and without underscores."""
    qualifiers: frozenset[str]
    """The words in the brackets of titles, in lower case."""
    categories: tuple[str, ...]
    """The names of categories, without namespace."""
    is_own: bool
    """Whether the table names templates of this wiki, and not only those of all wikis."""
    category: re.Pattern[str] | None

    def in_title(self, title: str) -> bool:
        """Tell whether the brackets of a title mark a disambiguation page."""
        if title[-1:] not in (")", "）"):
            return False
        match = _BRACKETS.search(title)
        return match is not None and match[1].strip().lower() in self.qualifiers

    def in_text(self, text: str) -> bool:
        """Tell whether a magic word or a category in the wikitext marks a disambiguation page."""
        if "__" in text and words().search(text):
            return True
        if self.category is None or not any(name in text for name in self.categories):
            return False
        return self.category.search(text) is not None


@cache
def words() -> re.Pattern[str]:
    """Compile the pattern of ``__DISAMBIG__`` and its translations."""
    return re.compile("|".join(map(re.escape, read_table("disambiguation")["words"])))


@cache
def signs_of(codes: tuple[str, ...]) -> Signs:
    """Collect the signs of a wiki; ``codes`` are the names that its tables may have."""
    table = read_table("disambiguation")
    templates = {name for code in codes for name in table["templates"].get(code, ())}
    qualifiers = {
        name.lower() for name in templates if not name.isascii() or len(name) >= _MIN_QUALIFIER
    }
    categories = tuple(name for code in codes for name in table["categories"].get(code, ()))
    return Signs(
        frozenset(map(upper_first, templates | set(table["templates"]["all"]))),
        frozenset(qualifiers | set(table["qualifiers"])),
        categories,
        bool(templates),
        _category_pattern(codes, categories) if categories else None,
    )


def _category_pattern(codes: tuple[str, ...], categories: tuple[str, ...]) -> re.Pattern[str]:
    either, names = namespace_pattern(codes, CATEGORY), "|".join(map(re.escape, categories))
    return re.compile(rf"\[\[\s*(?i:{either})\s*:\s*(?:{names})\s*[|\]]")
