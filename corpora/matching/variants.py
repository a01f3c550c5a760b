"""Spellings that are one form: both Chinese scripts, full and half width, the dots of names.

Each character becomes another one, so that offsets stay valid. Where a character of traditional
script has two in simplified script, both forms of a word become the same.
"""

from functools import cache
from importlib.util import find_spec

from corpora.errors import UsageError
from corpora.segmentation.language_tags import CHINESE, primary_language

DOTS = "·•‧・･"
"""The dots between the parts of foreign names; the first stands for all."""
_HAN = [*range(0x3400, 0xA000), *range(0xF900, 0xFB00), *range(0x20000, 0x2EBE1)]
_WIDE = range(0xFF01, 0xFF5F)
_TO_NARROW = 0xFEE0


def has_scripts(lang: str | None) -> bool:
    """Tell whether a language is written in two scripts that are one here."""
    return primary_language(lang) in CHINESE


def check_variants(lang: str | None) -> None:
    """Raise ``UsageError`` where the library is missing that knows the scripts."""
    if has_scripts(lang) and find_spec("opencc") is None:
        raise UsageError(
            "--variants same: OpenCC, which knows both Chinese scripts, is not installed. Install "
            "it (pip install 'onoma[chinese]'), or choose --variants distinct."
        )


def as_one(text: str, *, lang: str | None) -> str:
    """Return a text of the same length in which spellings of one form are equal.

    >>> as_one("ＡＢ約翰・史密斯", lang="zh")
    'AB约翰·史密斯'
    """
    return text.translate(_table(has_both=has_scripts(lang)))


@cache
def _table(*, has_both: bool) -> dict[int, int]:
    table = {code: code - _TO_NARROW for code in _WIDE} | {ord(dot): ord(DOTS[0]) for dot in DOTS}
    if has_both:
        from opencc import OpenCC

        characters = [chr(code) for code in _HAN]
        simplified = OpenCC("t2s").convert("\n".join(characters)).split("\n")
        pairs = zip(characters, simplified, strict=True)
        table |= {ord(a): ord(b) for a, b in pairs if a != b and len(b) == 1}
    return table
