"""The markup that may stand inside a line, and the tags of wikitext (``tags.toml``)."""

import re
from functools import cache
from itertools import accumulate

from corpora.wikipedia.titles import read_table

SPECIAL = re.compile("[\\[\\]<&_{}\x00-\x02\x06]")
"""Matches a character that shows that a line is not plain text."""
SILENT = re.compile("[\x01\x06]")
"""Matches a mark that leaves nothing in a title."""
SIGNS = re.compile("[<>&{}\\[\\]\x00-\x06]")
"""Matches markup that may stand in a title."""
MARKS = re.compile("\x00\\d+\x00|\x02\\d+\x02|[\x00-\x06]")
"""Matches all marks of ``structure.py`` and ``without_quotes``."""
LITERAL_SPACES = re.compile("[ \t\n\u00a0\u2028\u2029]+")
"""Matches white space that becomes one space in literal text."""
PARTING = "\x06"
"""Replaces a bold or italic mark after a bracket: so letters after it do not belong to the link,
and brackets on both sides of it do not join."""
_BOLD = "\x07"
"""Replaces a bold mark while the italic marks are counted."""
_QUOTES = re.compile(r"('{2,})")
_ORDINARY = frozenset({2, 3, 5})
_MAGIC = r"__[^\W\d_]++(?:_[^\W\d_]++)*+__"
MAGIC_LINE = re.compile(rf"(?:{_MAGIC}[ \t]*+)+")
"""Matches a line of magic words, if it is not in small letters."""
MAGIC_WORDS = frozenset(
    (
        "disambig", "expectunusedcategory", "forcetoc", "hiddencat", "index", "newsectionlink",
        "nocc", "nocontentconvert", "noeditsection", "nogallery", "noindex", "nonewsectionlink",
        "notc", "notitleconvert", "notoc", "staticredirect", "toc",
    )
)  # fmt: skip
"""The English magic words, which may be in small letters; other words in them are text."""
_QUOTED_ADDRESS = re.compile(r"(\[(?:[A-Za-z]+:)?//(?:(?!'')[^\s\[\]<>\"])++)(?='')")
"""Matches the address of an external link that ends where bold or italics begin."""


class MarkupGroup:
    """Group numbers of ``inline_pattern``; the last group of a match tells the kind of markup."""

    LINK, OPENINGS, OPEN, ORPHAN, BREAK, TAG, ENTITY = 3, 4, 5, 6, 7, 8, 9
    DROPPED, SILENT, LITERAL, EXTERNAL, BRACKET, MAGIC, SIGNS = 10, 11, 12, 13, 14, 15, 16


@cache
def inline_pattern(trail: str) -> re.Pattern[str]:
    """Compile the pattern of all markup inside a line; ``trail`` matches letters after a link.

    Each alternative begins with a literal, so that the engine skips from one such character to the
    next; empty groups tell which alternative matched.
    """
    return re.compile(
        rf"""
        \[\[([^\[\]|{{}}<>&\n\x00-\x06]++)(?:\|([^\[\]{{}}<>&\n\x00-\x06]++))?\]\]({trail})
      | \[\[*(?=\[\[)()
      | \[\[()
      | \]\]()
      | <(?i:br)\b[^<>]*+>()
      | </?([a-zA-Z][a-zA-Z0-9]*+)(?=[\s/>\x00-\x02\x06])[^<>\[\]{{}}]*+>
      | &(?:\#\w{{1,16}}|[A-Za-z0-9]{{1,31}}|רלמ|رلم);()
      | \x00(\d+)\x00
      | \x01()
      | \x02(\d+)\x02
      | \[(?:(?i:https?|ftps?):|(?:irc|gopher|news|git|mailto):(?=\S)|(?=//))
          (?://\[[0-9A-Fa-f:.]++\])?[^\s\[\]<>"\x00-\x05]*+[ ]*()
      | \]()
      | {_MAGIC}()
      | \{{(?:\{{++|\|)()
      | \}}\}}++()
      | \|\}}()
      | \x06()
        """,
        re.VERBOSE,
    )


@cache
def tags() -> dict[str, frozenset[str]]:
    """Read ``tags.toml``; ``all`` holds the names of all lists."""
    lists = {name: frozenset(names) for name, names in read_table("tags").items()}
    return lists | {"all": frozenset().union(*lists.values())}


def heading(line: str) -> tuple[str, int | None]:
    """Return the text and level of a heading; the line as it is and None for any other line."""
    stripped = line.rstrip(" \t\x01")
    level = min(
        6, len(stripped) - len(stripped.lstrip("=")), len(stripped) - len(stripped.rstrip("="))
    )
    if 2 * level < len(stripped) and level:
        return stripped[level:-level].strip(), level
    return line, None


def without_quotes(line: str) -> str:
    r"""Take out the marks of bold and italics, by MediaWiki's rules.

    One of four quotes is an apostrophe, and so are all beyond five; where both bold and italics
    are left open, one bold mark is an apostrophe and an italic mark.

    >>> without_quotes("l\'\'\'amour\'\' est \'\'bleu\'\'")
    "l'amour est bleu"
    """
    if "//" in line:
        line = _QUOTED_ADDRESS.sub(r"\1 ", line)
    if "''''" not in line and "]''" not in line and "[''" not in line:
        n_bold = line.count("'''")
        rest = line.replace("'''", _BOLD) if n_bold else line
        if not n_bold % 2 or not rest.count("''") % 2:
            return rest.replace("''", "").replace(_BOLD, "")
    return by_rules(line)


def by_rules(line: str) -> str:
    """Remove the quotes of any line by the full rules.

    ``without_quotes`` has a shortcut for most.
    """
    pieces = _QUOTES.split(line)  # text, quotes, text …
    lengths = list(map(len, pieces[1::2]))
    if _ORDINARY.issuperset(lengths) and "]''" not in line and "[''" not in line:
        odd_bold, odd_italic = (sum(n in kind for n in lengths) % 2 for kind in ((3, 5), (2, 5)))
        if not (odd_bold and odd_italic):
            return "".join(pieces[::2])
    kept = ["'" * (n - 5 if n > 5 else n == 4) for n in lengths]
    n_bold = sum(n in (3, 4) or n >= 5 for n in lengths)
    n_italic = sum(n == 2 or n >= 5 for n in lengths)
    if n_bold % 2 and n_italic % 2:
        bold = [i for i, n in enumerate(lengths) if n in (3, 4)]
        if bold:
            starts = list(accumulate(map(len, pieces)))[::2]
            kept[min(bold, key=lambda i: (_rank(line, starts[i]), i))] += "'"
    for i, before in enumerate(pieces[:-1:2]):
        if before[-1:] in ("[", "]"):
            kept[i] += PARTING
    pieces[1::2] = kept
    return "".join(pieces)


def _rank(line: str, start: int) -> int:
    """Rank how likely a bold mark is an apostrophe; the lowest rank is the likeliest.

    0: after a space and one letter; 1: after anything else, also at the start; 2: after a space.
    """
    before = line[max(0, start - 2) : start]
    if before[-1:] == " ":
        return 2
    return 0 if before[:1] == " " else 1
