"""Options among the parts of a file link: ``thumb``, ``200px``, ``alt=…``, by language."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from corpora.system.parsing import JsonObject
from corpora.wikipedia.titles import read_table

_VALUED = r"[\w-]+\s*=.*"
"""The pattern of any option with a value: what has the form ``name=value`` counts as one, even with
an unknown name."""
_NUMBER = r"\s*\d*(?:x\d+)?(?:[.,]\d+)?\s*"


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """The options of image links in a wiki."""

    names: frozenset[str]
    valued: re.Pattern[str]
    is_own: bool
    """Whether the table has the options of the wiki's language, or of one that it falls back to."""

    def has(self, part: str) -> bool:
        """Tell whether a part of a file link, without white space around it, is an option."""
        return part in self.names or self.valued.fullmatch(part) is not None


@cache
def options_of(codes: tuple[str, ...]) -> ImageOptions:
    """Collect the options of a wiki; ``codes`` are the names that its tables may have."""
    table = read_table("image_options")
    used = list(dict.fromkeys(code for own in codes for code in _with_fallbacks(table, own)))
    names: set[str] = set()
    values = [_VALUED, r"\d+"]
    for code in (*used, "en"):
        words = table.get(code, {})
        for name in words.get("names", ()):
            names |= {name, name.replace(" ", "_")}
        values += map(_pattern, words.get("values", ()))
    return ImageOptions(frozenset(names), re.compile("|".join(values), re.DOTALL), bool(used))


def _with_fallbacks(table: JsonObject, code: str) -> Iterator[str]:
    """Yield the code of a language if the table has it, then its fallback languages."""
    if code not in ("fallbacks", *table["fallbacks"]) and code in table:
        yield code
    yield from table["fallbacks"].get(code, ())


def _pattern(value: str) -> str:
    """Build the pattern of an option with a value, ``$1``.

    The value is a number; any text if the option has an equals sign.
    """
    filling = ".*" if "=" in value else _NUMBER
    return re.escape(value).replace(r"\ ", "[ _]").replace(r"\$1", filling)
