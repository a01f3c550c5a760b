"""Counts of the outcomes of the links, numbers and templates in the wikitext of a page.

Counters are called ``links.REASON``, ``numbers.…``, ``words.…``, ``templates.…``; ``dropped/NAME``,
``hole/NAME`` and ``words/NAME`` count templates by name, and the words in them.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from corpora.matching.arrays import code_units
from corpora.wikipedia.blocks import PageText

_CROWDED = 20
"""The mean number of characters between white space from which on a script counts as one without
spaces."""
_NUMBER = re.compile(r"\d+")
_MARKUP = re.compile(  # each alternative begins with a literal: that is fast
    r"""\[\[(?:[^\[\]|\n]*+\|                 # the target of a link that has a text
          |\s*[^\W\d_][\w-]*+:[^\[\]\n]*+\]\])  # a category, another language
      | </?[a-zA-Z][^<>]*+>
      | //[^\s\[\]|]++
      | &\#?\w++;
      | \x00\d++\x00
      | \x02\d++\x02
      | \n[ ]?\|[^\n]*+
      | \n\{\|[^\n]*+""",
    re.VERBOSE,
)


LONG_SENTENCE = 800
"""The characters beyond which a sentence counts as very long: about 120 words."""
_LONG_WORD = 30
_SHORT = 1000  # characters
_SPACED, _HANGUL = "\u0e00", "\uac00"
"""The bounds of the code points whose scripts are mostly written without spaces; a sentence in them
of at most two characters counts as one word."""


def count_page(
    wikitext: str, page: PageText, sentences: Sequence[tuple[int, int]] = ()
) -> Counter[str]:
    """Count links, tables, templates, numbers, words and sentences of a page."""
    counters: Counter[str] = Counter()
    counters["links.in_wikitext"] = wikitext.count("[[") if page.n_links is None else page.n_links
    for reason, n in page.left_out.items():
        counters[f"left_out/{reason}"] = n
    if page.n_errors:
        counters["html.errors"] = page.n_errors
    counters["links.mentions"] = len(page.links)
    for reason, n in page.dropped.items():
        counters[f"links.{reason}"] += n
    counters["tables.dropped"] = page.n_tables
    counters["tables.stray_lines"] = page.n_table_lines
    for name, n in page.templates.items():
        counters[f"dropped/{name}"] = n
        counters["templates.dropped"] += n
    for name, n in page.hole_templates.items():
        counters[f"hole/{name}"] = n
        counters["templates.out_of_a_line"] += n
    for name, n in page.expanded.items():
        counters[f"expanded/{name}"] = n
    if page.n_not_expanded:
        counters["templates.not_expanded"] = page.n_not_expanded
    outside, shown = _numbers(_MARKUP.sub(" ", page.simplified)), _numbers(page.text)
    counters["numbers.in_wikitext"] = len(outside)
    if outside != shown:
        counters["numbers.lost"] = (Counter(outside) - Counter(shown)).total()
    _count_words(page, counters)
    _count_sentences(page, sentences, counters)
    return counters


def _count_words(page: PageText, counters: Counter[str]) -> None:
    """Count words and numbers in the text, and in the parts that were left out of it."""
    n_spaces = page.text.count(" ") + len(page.blocks)  # faster than splitting
    counters["words.text"] = _at_least(n_spaces, page.text)
    for name, inside in page.in_templates:
        if n := count_values(inside):
            counters[f"words/{name}"] += n
            counters["words.in_templates"] += n
    for place, parts in (
        ("in_templates", [inside for _, inside in page.in_templates]),
        ("in_notes", page.in_notes),
        ("in_tables", page.in_tables),
    ):
        joined = "\n|".join(parts)
        counters[f"numbers.{place}"] = len(_numbers(joined)) if joined else 0
        if place != "in_templates":
            counters[f"words.{place}"] = count_values(joined)


def _count_sentences(
    page: PageText, sentences: Sequence[tuple[int, int]], counters: Counter[str]
) -> None:
    """Count sentences outside headings, and those that are very short or very long."""
    heads = {block.start for block in page.blocks if block.kind == "head"}
    written, n_words, n_long = page.text, 0, 0
    for start, end in sentences:
        length = end - start
        if length > LONG_SENTENCE:
            n_long += 1
        elif length <= _LONG_WORD and start not in heads:
            spaced = written[start] < _SPACED or written[start] >= _HANGUL
            n_words += length <= 2 if not spaced else written.find(" ", start, end) < 0
    counters["sentences.all"] = len(sentences) - len(heads)
    counters["sentences.one_word"] = n_words
    counters["sentences.long"] = n_long


def count_words(text: str) -> int:
    """Count words between white space.

    In scripts without spaces, every two characters are a word.
    """
    return _at_least(len(text.split()), text)


def _at_least(n: int, text: str) -> int:
    """Return ``n``, or half the number of characters if the pieces are too long to be words."""
    return n if text.isascii() or len(text) < _CROWDED * n else max(n, len(text) // 2)


def count_values(text: str) -> int:
    """Count the words of parameters or cells, without pipes, names and equals signs."""
    n_signs = text.count("\n|") + text.count(" || ") + 2 * text.count(" = ")
    return max(count_words(text) - n_signs, 0)


def _numbers(text: str) -> list[str]:
    """List the numbers in a text, in digits of any script."""
    codes = code_units(text)
    if len(text) < _SHORT or (not text.isascii() and _has_digits().take(codes).any()):
        return _NUMBER.findall(text)
    # for a long text, arrays are faster than the pattern
    is_digit = codes - codes.dtype.type(48) < 10
    is_kept = is_digit.copy()
    is_kept[1:] |= is_digit[:-1]
    kept = codes[is_kept].astype(np.uint8)
    kept[~is_digit[is_kept]] = ord(" ")  # after each number
    return kept.tobytes().decode().split()


@cache
def _has_digits() -> npt.NDArray[np.bool_]:
    """Make a table of all UTF-16 code units: whether it is a digit outside ASCII.

    A surrogate may be half of a digit, and counts as one.
    """
    return np.array(
        [i > 0x7F and (chr(i).isdecimal() or 0xD800 <= i < 0xE000) for i in range(0x10000)]
    )


def links_add_up(counters: Mapping[str, int]) -> bool:
    """Tell whether each link in the wikitext is a mention or was dropped for a counted reason.

    Templates that show a parameter twice create links (counted as ``created``).
    """
    accounted = sum(n for name, n in counters.items() if is_link_fate(name))
    return counters.get("links.in_wikitext", 0) + counters.get("links.created", 0) == accounted


def is_link_fate(name: str) -> bool:
    """Tell whether a counter counts an outcome of links."""
    return name.startswith("links.") and name not in ("links.in_wikitext", "links.created")
