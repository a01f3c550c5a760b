"""Commands as the user types them: ``onoma tei``, where that was typed, for ``python -m …``.

Messages and help name commands by their modules, which always work; ``onoma`` says here what it
calls them.
"""

import re
from collections.abc import Mapping

_typed: dict[str, str] = {}


def name_commands(names: Mapping[str, str]) -> None:
    """From now on, call commands by these names: ``corpora.shards show`` to ``onoma show``."""
    _typed.clear()
    _typed.update(names)


def as_typed(text: str) -> str:
    """Put the names that the user types into a text; none where modules are typed."""
    if not _typed or "python -m " not in text:
        return text
    longest_first = "|".join(map(re.escape, sorted(_typed, key=len, reverse=True)))
    pattern = rf"python -m ({longest_first})(?![\w.])"
    return re.sub(pattern, lambda match: _typed[match[1]], text)
