"""Write two-column CoNLL: ``token tag``, one space between, an empty line after each sentence.

``readers.py`` reads it. UTF-8 without a byte order mark, lines end in LF, tags are IOB2; no header,
no comments.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.reports import counted
from corpora.tagging import IOB2_TAG

_LINE = re.compile(rf"(\S+) ({IOB2_TAG.pattern})")
_LINES = re.compile(rf"{_LINE.pattern}(?:\n{_LINE.pattern})*")


class MalformedConllError(CorpusError):
    """A line is not ``token tag``."""


def write_conll(sentences: Iterable[Sentence], path: Path) -> None:
    """Write sentences; raises ``MalformedConllError`` for one that could not be read back."""
    with path.open("wb") as file:
        for number, sentence in enumerate(sentences):
            file.write(format_conll(sentence, is_first=number == 0).encode())


def format_conll(sentence: Sentence, *, is_first: bool = False) -> str:
    """Return the lines of a sentence, with the empty line that ends it.

    The first sentence of a file gets an empty line before it if it would look like a byte order
    mark.
    """
    if not sentence.tokens:
        raise MalformedConllError(f"{sentence.id}: has no tokens. Leave it out.")
    lines = [f"{token} {tag}" for token, tag in zip(sentence.tokens, sentence.tags, strict=True)]
    block = "\n".join(lines)
    if not _LINES.fullmatch(block) or block.count("\n") != len(lines) - 1:
        number, line = next((n, x) for n, x in enumerate(lines, 1) if not _LINE.fullmatch(x))
        raise MalformedConllError(f"{sentence.id}: token {number}: {_explain(line)}")
    before = "\n" if is_first and block[0] == "\ufeff" else ""
    return f"{before}{block}\n\n"


def _explain(line: str) -> str:
    """Describe what is wrong with a line, and what to do."""
    token, *tags = line.split(" ")
    if len(tags) != 1:
        return (
            f"{counted(len(tags) + 1, 'column')} in {line[:80]!r}, not two. "
            "Write each line as the token, one space, the tag."
        )
    if not token:
        return f"the token before {tags[0]!r} is empty. Remove the line or give the token."
    if not IOB2_TAG.fullmatch(tags[0]):
        return f"{tags[0]!r} is no IOB2 tag. Use O, B-label or I-label."
    return f"the token {token!r} holds whitespace. Split it or replace the whitespace."
