"""NER data as one JSON array: sentences, each a list of ``[token, tag]``.

ASCII-escaped and on one line, byte for byte what ``json.dump`` of the whole writes. Both ways
hold one sentence at a time, and a few MiB of text.
"""

import json
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring_ascii as _quote
from pathlib import Path
from typing import TextIO

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.tagging import IOB2_TAG

_CHUNK = 1 << 20
_LONGEST = 16 << 20  # characters of one sentence, so that a broken file cannot fill the memory


class MalformedJsonError(CorpusError):
    """A file is no JSON array of sentences of ``[token, tag]``."""


def read_json(path: Path, *, split: str) -> Iterator[Sentence]:
    """Stream the sentences of a file; the id of the third is ``FILE#3``.

    Raises ``MalformedJsonError`` with file and place. A sentence may be empty.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, sample in enumerate(read_items(file, where=str(path)), start=1):
                rows = _check_sample(sample, where=f"{path}: sentence {number}")
                yield Sentence(
                    id=f"{path.name}#{number}",
                    document_id=path.name,
                    split=split,
                    tokens=tuple(token for token, _ in rows),
                    tags=tuple(tag for _, tag in rows),
                )
    except UnicodeDecodeError as error:
        raise MalformedJsonError(
            f"{path}: not UTF-8 ({error.reason}). Convert the file to UTF-8."
        ) from error


def write_json(sentences: Iterable[Sentence], path: Path) -> int:
    """Write sentences as a stream and say how many."""
    count = 0
    with path.open("w", encoding="ascii", newline="") as file:
        file.write("[")
        for sentence in sentences:
            file.write((", " if count else "") + _format_sentence(sentence))
            count += 1
        file.write("]")
    return count


def _format_sentence(sentence: Sentence) -> str:
    """Write what ``json.dumps`` of the pairs writes, in half its time."""
    tokens, tags = map(_quote, sentence.tokens), map(_quote, sentence.tags)
    pairs = [f"[{token}, {tag}]" for token, tag in zip(tokens, tags, strict=True)]
    return f"[{', '.join(pairs)}]"


def read_items(file: TextIO, *, where: str) -> Iterator[object]:
    """Yield the items of the one array in ``file``."""
    text = _Window(file, where=where)
    if text.peek() != "[":
        raise text.error("no JSON array")
    text.skip()
    if text.peek() == "]":
        text.skip()
    else:
        while True:
            yield text.take_value()
            mark = text.peek()
            if mark not in {",", "]"}:
                raise text.error("neither comma nor closing bracket after a sentence")
            text.skip()
            if mark == "]":
                break
    if text.peek():
        raise text.error("something follows the end of the array")


class _Window:
    """The part of a file that is being parsed."""

    def __init__(self, file: TextIO, *, where: str) -> None:
        self._file = file
        self._where = where
        self._buffer = ""
        self._position = 0  # in the buffer
        self._dropped = 0  # characters of the file before the buffer
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is no whitespace, or nothing at the end."""
        while True:
            while self._position < len(self._buffer):
                if self._buffer[self._position] not in " \t\r\n":
                    return self._buffer[self._position]
                self._position += 1
            if not self._fill():
                return ""

    def skip(self) -> None:
        """Step over the character that ``peek`` has returned."""
        self._position += 1

    def take_value(self) -> object:
        """Parse the next value, reading on for as long as it is not complete."""
        self.peek()
        while True:
            try:
                value, self._position = self._decoder.raw_decode(self._buffer, self._position)
            except RecursionError:
                raise self.error("too deeply nested") from None
            except json.JSONDecodeError as error:
                too_long = len(self._buffer) - self._position > _LONGEST
                if too_long or not self._fill():
                    raise self.error(f"not well-formed ({error.msg})") from error
            except ValueError:
                raise self.error("a number of too many digits") from None
            else:
                return value

    def error(self, problem: str) -> MalformedJsonError:
        """Say that something is wrong in the value that begins here."""
        return MalformedJsonError(
            f"{self._where}: character {self._dropped + self._position}: {problem}. "
            "Write one array of sentences, each an array of [token, tag]."
        )

    def _fill(self) -> bool:
        more = self._file.read(max(_CHUNK, len(self._buffer) - self._position))
        if not more:
            return False
        self._dropped += self._position
        self._buffer = self._buffer[self._position :] + more
        self._position = 0
        return True


def _check_sample(sample: object, *, where: str) -> list[tuple[str, str]]:
    if not isinstance(sample, list):
        raise MalformedJsonError(f"{where}: {str(sample)[:80]!r} is no array of [token, tag].")
    return [_check_pair(pair, where=f"{where}, token {n}") for n, pair in enumerate(sample, 1)]


def _check_pair(pair: object, *, where: str) -> tuple[str, str]:
    match pair:
        case [str(token), str(tag)]:
            pass
        case _:
            raise MalformedJsonError(f"{where}: {str(pair)[:80]!r}. Write [token, tag].")
    if not token:
        raise MalformedJsonError(f"{where}: the token is empty. Remove the pair or give it.")
    if not IOB2_TAG.fullmatch(tag):
        raise MalformedJsonError(f"{where}: {tag!r} is no IOB2 tag. Use O, B-label or I-label.")
    if any("\ud800" <= character <= "\udfff" for character in token + tag):
        raise MalformedJsonError(f"{where}: {pair!r} holds half a character. Repair the escape.")
    return token, tag
