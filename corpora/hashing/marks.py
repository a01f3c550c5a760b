r"""Vowel signs and other marks that are parts of words, but that ``\w`` lacks."""

import re
from itertools import chain
from unicodedata import category

_BEYOND = range(0x10A00, 0x1EA00)
HAS_MARKS_BEYOND = re.compile(f"[{chr(_BEYOND.start)}-{chr(_BEYOND.stop - 1)}]")
"""Finds the scripts beyond U+FFFF whose words have marks. Patterns with these marks take five times
as long, so they are for texts that have such a script."""


def marks_of(*ranges: range) -> str:
    """Return the marks among the characters of ranges of codes, for a class of a pattern."""
    characters = map(chr, chain.from_iterable(ranges))
    return "".join(character for character in characters if category(character)[0] == "M")


MARKS_BEYOND = marks_of(_BEYOND)
"""The marks of scripts beyond U+FFFF: Chakma, Brahmi, Adlam …"""
