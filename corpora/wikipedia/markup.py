"""The markup that may stand inside a line, and the tags of wikitext (``tags.toml``)."""

import re
import tomllib
from functools import cache
from importlib.resources import files

SPECIAL = re.compile("[\\[\\]<&_{}\x00-\x02\x06]")
"""What shows that a line is not plain text."""
SILENT = re.compile("[\x01\x06]")
"""Marks of what leaves nothing in a title."""
SIGNS = re.compile("[<>&{}\\[\\]\x00-\x06]")
"""Markup that may stand in a title."""
MARKS = re.compile("\x00\\d+\x00|\x02\\d+\x02|[\x00-\x06]")
"""All marks of ``structure.py`` and ``quotes.py``."""
LITERAL_SPACES = re.compile("[ \t\n\u00a0\u2028\u2029]+")
"""White space that becomes a space where text is literal."""


class Kind:
    """Numbers of the groups of ``inline_pattern``: the last one that took part."""

    LINK, OPENINGS, OPEN, STRAY, BREAK, TAG, ENTITY = 3, 4, 5, 6, 7, 8, 9
    DROPPED, SILENT, LITERAL, EXTERNAL, BRACKET, MAGIC, SIGNS = 10, 11, 12, 13, 14, 15, 16


@cache
def inline_pattern(trail: str) -> re.Pattern[str]:
    """All markup inside a line.

    Each alternative begins with a literal, so that the engine leaps from one such character to the
    next; empty groups tell which it was.
    """
    return re.compile(
        rf"""
        \[\[([^\[\]|{{}}<>&\n\x00-\x06]++)(?:\|([^\[\]{{}}<>&\n\x00-\x06]++))?\]\]({trail})
      | \[\[*(?=\[\[)()
      | \[\[()
      | \]\]()
      | <(?i:br)\b[^<>]*+>()
      | </?([a-zA-Z][a-zA-Z0-9]*+)\b[^<>\[\]{{}}]*+>
      | &(?:\#\w{{1,8}}|[A-Za-z0-9]{{1,31}});()
      | \x00(\d+)\x00
      | \x01()
      | \x02(\d+)\x02
      | \[(?:(?:https?|ftps?|irc|gopher|news|git):|(?=//)|mailto:)[^\s\[\]<>"\x00-\x05]*+[ ]*()
      | \]()
      | __[^\W\d_]+__()
      | \{{(?:\{{++|\|)()
      | \}}\}}++()
      | \|\}}()
      | \x06()
        """,
        re.VERBOSE,
    )


@cache
def tags() -> dict[str, frozenset[str]]:
    """Read ``tags.toml``; ``all`` are the names of all lists."""
    table = tomllib.loads((files("corpora") / "wikipedia" / "tags.toml").read_text("utf-8"))
    lists = {name: frozenset(names) for name, names in table.items()}
    return lists | {"all": frozenset().union(*lists.values())}


def heading(line: str) -> tuple[str, str]:
    """The text of a heading without its signs, or the line as it is."""
    stripped = line.rstrip(" \t\x01")
    level = min(
        6, len(stripped) - len(stripped.lstrip("=")), len(stripped) - len(stripped.rstrip("="))
    )
    if 2 * level < len(stripped) and level:
        return "head", stripped[level:-level].strip()
    return "p", line
