"""Requests for consent to cookies, which extractors take for the text of a page."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from corpora.news.blocks import Block

_MIN_SUBJECTS = 3
"""The least number of subjects in a request; at 3, 35 of 36 blocks were requests (in pages of four
evaluation sets)."""


def requests_in(blocks: Iterable[Block], *, about: Iterable[str]) -> set[str]:
    """Return the texts of blocks that ask for consent; none of a page that is ``about`` such.

    ``about`` has the titles and descriptions of the page.
    """
    storage, subjects = _patterns()
    privacy = subjects["privacy"]
    if any(storage.search(text) or privacy.search(text) for text in about):
        return set()
    return {
        block.text
        for block in blocks
        if storage.search(block.text)
        and _count(block.text, list(subjects.values())) >= _MIN_SUBJECTS
    }


def _count(text: str, subjects: Sequence[re.Pattern[str]]) -> int:
    return sum(pattern.search(text) is not None for pattern in subjects)


@cache
def _patterns() -> tuple[re.Pattern[str], dict[str, re.Pattern[str]]]:
    table = tomllib.loads((files("corpora.news") / "consent.toml").read_text("utf-8"))
    subjects = {name: _any_of(words) for name, words in table["subjects"].items()}
    return _any_of(table["storage"]), subjects


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)
