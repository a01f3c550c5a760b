"""The marks of bold and italics, which are made of apostrophes."""

import re

PARTING = "\x06"
"""Left of a mark after a bracket: letters after it are not the link's, brackets make none."""
_BOLD = "\x07"
"""Stands for a bold mark for a moment."""
_QUOTES = re.compile(r"'{2,}")
_ORDINARY = frozenset({2, 3, 5})


def without_quotes(line: str) -> str:
    r"""Take out the marks of bold and italics, by MediaWiki's rules.

    Of four quotes one is an apostrophe, of more than five all but five; where both bold and italics
    are left open, one bold mark is an apostrophe and an italic mark.

    >>> without_quotes("l\'\'\'amour\'\' est \'\'bleu\'\'")
    "l'amour est bleu"
    """
    if "''''" not in line and "]''" not in line and "[''" not in line:
        n_bold = line.count("'''")
        rest = line.replace("'''", _BOLD) if n_bold else line
        if not n_bold % 2 or not rest.count("''") % 2:
            return rest.replace("''", "").replace(_BOLD, "")
    return by_rules(line)


def by_rules(line: str) -> str:
    """Do that for any line; ``without_quotes`` knows a shorter way for most."""
    lengths = [len(mark) for mark in _QUOTES.findall(line)]
    if _ORDINARY.issuperset(lengths) and "]''" not in line and "[''" not in line:
        odd_bold, odd_italic = (sum(n in kind for n in lengths) % 2 for kind in ((3, 5), (2, 5)))
        if not (odd_bold and odd_italic):
            return _QUOTES.sub("", line)
    marks = list(_QUOTES.finditer(line))
    kept = ["'" * (n - 5 if n > 5 else n == 4) for n in lengths]
    n_bold = sum(n in (3, 4) or n >= 5 for n in lengths)
    n_italic = sum(n == 2 or n >= 5 for n in lengths)
    if n_bold % 2 and n_italic % 2:
        bold = [i for i, n in enumerate(lengths) if n in (3, 4)]
        if bold:
            kept[min(bold, key=lambda i: (_rank(line, marks[i].start()), i))] += "'"
    for i, mark in enumerate(marks):
        if line[mark.start() - 1 : mark.start()] in ("[", "]"):
            kept[i] += PARTING
    kept.reverse()
    return _QUOTES.sub(lambda _: kept.pop(), line)


def _rank(line: str, start: int) -> int:
    """How likely a bold mark is an apostrophe: after one letter, after a word, after a space."""
    before = line[max(0, start - 2) : start]
    if before[-1:] in ("", " "):
        return 2
    return 0 if len(before) == 1 or before[0] == " " else 1
