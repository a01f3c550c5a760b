"""Formulas of one letter or number, readings (``<ruby>``), and raised digits, as plain text."""

import re
from html.entities import html5

from corpora.segmentation.scripts import is_solid

_SPACE = r"(?:\\[,;:!> ]|\\q?quad|[~\s])*+"
_SYMBOL = re.compile(
    rf"{_SPACE}(?P<brace>\{{)?(?:\\(?:mathrm|mathbf|mathit|boldsymbol|(?P<double>mathbb))\s*(?=\{{))?(?P<group>\{{)?"
    r"(?:(?P<plain>[A-Za-z]|[+-]?\d+(?:[.,]\d+)*)|\\(?:var)?(?P<name>[A-Za-z]+))(?(group)\})"
    rf"(?:(?P<script>[_^])(?:(?P<digit>\d)|\{{(?P<digits>\d+)\}}))?(?(brace)\}}){_SPACE}"
)
"""Matches a formula of one letter or number, which may have an index or a power."""
_LETTERS = {"infty": "∞", "infin": "∞", "emptyset": "∅", "nothing": "∅", "ell": "ℓ", "hbar": "ℏ"}
_GREEK = re.compile("[\u0391-\u03a9\u03b1-\u03c9]")
_LETTERS |= {name[:-1]: letter for name, letter in html5.items() if _GREEK.fullmatch(letter)}
"""The letters of TeX's commands, without ``var`` before them."""
_RUBY = re.compile(r"<ruby\b[^<>]*+>(?:[^<]|<(?!/?ruby\b|rp\b))*+</ruby\s*>", re.IGNORECASE)
"""Matches words with a reading for which the page has no brackets (``<rp>``)."""
_READING = re.compile(
    r"<rt\b[^<>]*+>((?:[^<]|<(?!/?(?:rt|rtc|rb|ruby)\b))*+)(?:</rt\s*>)?", re.IGNORECASE
)
SCRIPTS = {
    "sub": str.maketrans("0123456789+−-", "₀₁₂₃₄₅₆₇₈₉₊₋₋"),
    "sup": str.maketrans("0123456789+−-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻"),
}
"""The lowered (``sub``) and raised (``sup``) characters of digits and signs, by element."""


def symbol_of(tex: str) -> str:
    """Return what a formula of one letter or number shows; empty for other formulas."""
    match = _SYMBOL.fullmatch(tex)
    if match is None:
        return ""
    symbol = match["plain"] or _LETTERS.get(match["name"], "")
    if match["double"]:
        symbol = html5.get(f"{symbol}opf;", "")
    digits = match["digit"] or match["digits"] or ""
    kind = "sub" if match["script"] == "_" else "sup"
    return symbol and symbol.replace("-", "−") + digits.translate(SCRIPTS[kind])


def with_readings(text: str) -> str:
    """Put the readings of words in brackets where the page has none."""
    return _RUBY.sub(lambda ruby: _READING.sub(_reading, ruby[0]), text)


def _reading(found: re.Match[str]) -> str:
    """Put a reading in brackets, as browsers do that do not know ``<ruby>``."""
    reading = found[1].strip()
    if not reading:
        return found[1]
    return f"（{reading}）" if any(map(is_solid, reading)) else f" ({reading})"
