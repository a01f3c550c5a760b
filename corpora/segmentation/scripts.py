"""Properties of letters: which have case, which may be initials, which need no spaces."""

import re
from unicodedata import category

_GEORGIAN = ("\u10d0", "\u10ff")
"""The first and last Georgian letter; they are lower case in Unicode, but texts have no capitals:
sentences begin with them."""
_WORDS = ("\u1100-\u11ff", "\u2e80-\u9fff", "\ua960-\ua97f", "\uac00-\ud7ff", "\uf900-\ufaff")
"""The ranges of scripts in which a single letter is often a word: Hangul, kana, Han."""
_RANGES = tuple((some[0], some[-1]) for some in _WORDS)
_ASTRAL = "\U00020000"
_PHRASES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\ua9e0-\ua9ff\uaa60-\uaa7f"
"""The ranges of scripts with spaces between phrases only: Thai, Lao, Khmer, Burmese …"""
_SOLID = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303b\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U0001aff0-\U0001b16f"
    "\U00020000-\U0003fffd"
)
"""The ranges of scripts without any spaces: Han, Kana."""
UNSPACED = _PHRASES + _SOLID
"""The ranges (first, hyphen, last) of scripts that are written without spaces between words."""
WIDE = "\u3000-\u3004\u3008-\u3020\u302a-\u3030\u303c-\u303f\uff01-\uff65"
"""The ranges of marks of these scripts, and of full-width letters; they share none with
``UNSPACED``."""
_IS_SOLID = re.compile(f"[{_SOLID}{WIDE}]")
SOLID_WRAP = re.compile(rf"(?<=[{_SOLID}{WIDE}])[ \t\r]*\n[ \t\r\n]*(?=[{_SOLID}{WIDE}])")
"""White space with the end of a line between two characters that are solid: no space."""
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]+")
_SYLLABLES = re.compile("[\u3041-\u3096\u30a1-\u30ff\uac00-\ud7a3]+")
_IS_DENSE = re.compile("[\u3041-\ufaff\U00020000-\U0003fffd]")


def n_letters(text: str) -> int:
    """Count the characters of a text by what they say, as letters of an alphabet.

    A Han character counts as three, kana and Hangul as two: a translation has about as many letters
    as its original.
    """
    if _IS_DENSE.search(text) is None:
        return len(text)
    n_syllables = sum(map(len, _SYLLABLES.findall(text)))
    return len(text) + 2 * sum(map(len, _HAN.findall(text))) + n_syllables


def is_solid(character: str) -> bool:
    """Tell whether a character is Chinese or Japanese, or one of their marks; false for none.

    Between two such characters the end of a line is no space.
    """
    return _IS_SOLID.match(character) is not None


def begins_low(word: str) -> bool:
    """Tell whether a word begins with a small letter, where its script has capitals."""
    return word[0].islower() and not _GEORGIAN[0] <= word[0] <= _GEORGIAN[1]


def has_case(word: str) -> bool:
    """Tell whether the script of a word has capitals."""
    letter = word[0]
    return letter.lower() != letter.upper() and not _GEORGIAN[0] <= letter <= _GEORGIAN[1]


def is_initial(word: str) -> bool:
    """Tell whether a word is one letter, with its marks, that may stand for a name.

    A capital, or a letter of a script without capitals in which no word is that short.
    """
    letter = word[0]
    if len(word) > 1 and any(category(mark)[0] != "M" for mark in word[1:]):
        return False
    if letter < "\u0530":  # Latin, Greek, Cyrillic
        return letter.isupper()
    if not letter.isalpha() or begins_low(letter) or letter >= _ASTRAL:
        return False
    return not any(first <= letter <= last for first, last in _RANGES)
