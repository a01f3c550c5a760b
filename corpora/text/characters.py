"""Changes of characters of a text, all of them counted: line ends, control characters, width."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

Normalization = Literal["none", "width", "nfkc"]
"""``width`` replaces full-width digits and Latin letters by the usual ones; ``nfkc`` replaces every
character that Unicode's NFKC maps to one other character."""

REPLACEMENT = "\ufffd"
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_TO_NARROW = 0xFEE0
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")


def with_line_feeds(chunks: Iterable[str], counters: Counter[str]) -> Iterator[str]:
    """Convert CRLF and CR to LF in the chunks of a text; count ``line_ends.crlf|cr``."""
    held = ""
    for chunk in chunks:
        text = held + chunk
        held = "\r" if text.endswith("\r") else ""  # a LF may begin the next chunk
        yield _line_feeds(text[: len(text) - len(held)], counters)
    if held:
        yield _line_feeds(held, counters)


def _line_feeds(text: str, counters: Counter[str]) -> str:
    if "\r" not in text:
        return text
    n_pairs = text.count("\r\n")
    n_single = text.count("\r") - n_pairs
    counters.update({"line_ends.crlf": n_pairs} if n_pairs else {})
    counters.update({"line_ends.cr": n_single} if n_single else {})
    return text.replace("\r\n", "\n").replace("\r", "\n")


def clean(text: str, counters: Counter[str]) -> str:
    """Convert line ends to LF, and replace characters that are no text, one for one.

    Control characters (Unicode's Cc but tab and LF) become spaces and count as
    ``characters.control``, each kind as ``characters.control/U+0000``; surrogates, which JSON can
    bring in alone, become U+FFFD and count as ``characters.surrogate``. Characters of private use
    stay, and count as ``characters.private_use``.
    """
    text = _line_feeds(text, counters)
    if parts := _CONTROL.findall(text):
        counters["characters.control"] += len(parts)
        counters.update(f"characters.control/U+{ord(character):04X}" for character in parts)
        text = _CONTROL.sub(" ", text)
    if _SURROGATE.search(text):
        text, n = _SURROGATE.subn(REPLACEMENT, text)
        counters["characters.surrogate"] += n
    if private := _PRIVATE.findall(text):
        counters["characters.private_use"] += len(private)
    return text


def normalize(text: str, how: Normalization, counters: Counter[str]) -> str:
    """Replace characters by their normal form, one for one, so that offsets stay the same.

    Counts ``characters.normalized``, and as ``characters.not_normalized`` the characters that NFKC
    would write as several; these stay. Sequences that NFKC would compose stay, too.
    """
    if how == "none":
        return text
    table = {}
    counts = Counter(_WIDE.findall(text) if how == "width" else text)
    for character, n in counts.items():
        if how == "width":
            becomes = chr(ord(character) - _TO_NARROW)
        else:
            becomes = unicodedata.normalize("NFKC", character)
        if len(becomes) != 1:
            counters["characters.not_normalized"] += n
        elif becomes != character:
            counters["characters.normalized"] += n
            table[ord(character)] = becomes
    return text.translate(table) if table else text


def read_lines(chunks: Iterable[str], *, max_characters: int) -> Iterator[str | None]:
    """Split the chunks of a text into lines; yield None for a line that is too long.

    A line feed at the very end begins no further line.
    """
    held: list[str] = []
    n_held = 0
    for chunk in chunks:
        first, *rest = chunk.split("\n")
        n_held += len(first)
        if n_held <= max_characters:
            held.append(first)
        if rest:
            yield "".join(held) if n_held <= max_characters else None
            *whole, last = rest
            for line in whole:
                yield line if len(line) <= max_characters else None
            held, n_held = [last], len(last)
    if n_held:
        yield "".join(held) if n_held <= max_characters else None
