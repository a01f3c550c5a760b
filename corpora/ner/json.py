"""NER data as JSON: an array of sentences of ``[token, tag]``, or CLUENER's lines with spans.

The array is written with ASCII escapes on one line, byte for byte as ``json.dump`` of the whole
writes it. Writing and ``read_json`` hold one sentence at a time, and a few MiB of text. CLUENER's
spans are ``[start, last]``, in characters, both inclusive; nested spans make a second level.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from json.encoder import encode_basestring_ascii as _quote
from pathlib import Path
from typing import TextIO

from corpora.document import Sentence, TokenSpan
from corpora.errors import CorpusError
from corpora.ner.found import (
    HALF_CHARACTER,
    BadRecordError,
    Found,
    Gathered,
    Origin,
    Row,
    check_characters,
    row_of,
)
from corpora.tagging import IOB2_TAG, to_iob2

_CHUNK = 1 << 20
_LONGEST = 16 << 20  # characters of one sentence, at most: bounds the memory for a broken file


class MalformedJsonError(CorpusError):
    """A file is no JSON array of sentences of ``[token, tag]``."""


def read_json(path: Path, *, split: str) -> Iterator[Sentence]:
    """Yield the sentences of a file; the id of the third is ``FILE#3``.

    Raises ``MalformedJsonError`` with file and place. A sentence may be empty.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, sample in enumerate(read_items(file, where=str(path)), start=1):
                where = f"{path}: sentence {number}"
                if not isinstance(sample, list):
                    shown = str(sample)[:80]
                    raise MalformedJsonError(f"{where}: {shown!r} is no array of [token, tag].")
                rows = [_pair(pair, f"{where}, token {n}") for n, pair in enumerate(sample, 1)]
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


def _pair(pair: object, where: str) -> tuple[str, str]:
    match pair:
        case [str(token), str(tag)]:
            pass
        case _:
            raise MalformedJsonError(f"{where}: {str(pair)[:80]!r}. Write [token, tag].")
    if not token:
        raise MalformedJsonError(f"{where}: the token is empty. Remove the pair or give it.")
    if not IOB2_TAG.fullmatch(tag):
        raise MalformedJsonError(f"{where}: {tag!r} is no IOB2 tag. Use O, B-label or I-label.")
    if HALF_CHARACTER.search(token + tag):
        raise MalformedJsonError(f"{where}: {pair!r} holds half a character. Repair the escape.")
    return token, tag


def write_json(sentences: Iterable[Sentence], path: Path) -> None:
    """Write sentences as a stream, in half the time of ``json.dumps``."""
    with path.open("w", encoding="ascii", newline="") as file:
        file.write("[")
        for number, sentence in enumerate(sentences):
            tokens, tags = map(_quote, sentence.tokens), map(_quote, sentence.tags)
            pairs = [f"[{token}, {tag}]" for token, tag in zip(tokens, tags, strict=True)]
            file.write(f"{', ' if number else ''}[{', '.join(pairs)}]")
        file.write("]")


def read_items(file: TextIO, *, where: str) -> Iterator[object]:
    """Yield the items of the single array in ``file``; raises ``MalformedJsonError``."""
    text = _Window(file, where=where)
    if text.peek() != "[":
        raise text.error("no JSON array")
    text.skip()
    mark = text.peek()
    while mark != "]":
        yield text.take_value()
        mark = text.peek()
        if mark not in {",", "]"}:
            raise text.error("neither comma nor closing bracket after a sentence")
        if mark == ",":
            text.skip()
    text.skip()
    if text.peek():
        raise text.error("something follows the end of the array")


class _Window:
    """A window of a file's text, for the parser."""

    def __init__(self, file: TextIO, *, where: str) -> None:
        self._file, self._where = file, where
        self._buffer = ""
        self._position = 0  # in the buffer
        self._dropped = 0  # characters of the file before the buffer
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is no white space, or nothing at the end."""
        while True:
            while self._position < len(self._buffer):
                if self._buffer[self._position] not in " \t\r\n":
                    return self._buffer[self._position]
                self._position += 1
            if not self._fill():
                return ""

    def skip(self) -> None:
        """Skip the character that ``peek`` returned."""
        self._position += 1

    def take_value(self) -> object:
        """Parse the next value; reads on while it is incomplete."""
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
        """Build the error for the value that begins at the current position."""
        return MalformedJsonError(
            f"{self._where}: character {self._dropped + self._position}: {problem}. "
            "Write one array of sentences, each an array of [token, tag]."
        )

    def _fill(self) -> bool:
        more = self._file.read(max(_CHUNK, len(self._buffer) - self._position))
        self._dropped += self._position
        self._buffer, self._position = self._buffer[self._position :] + more, 0
        return bool(more)


def read_cluener(data: bytes, origin: Origin, *, first_line: int = 1) -> Found:
    """Read lines ``{"text": …, "label": {class: {surface: [[start, last], …]}}}``."""
    sentences, rejected = Gathered(), []
    for number, raw in enumerate(data.split(b"\n"), first_line):
        try:
            if raw.strip():
                sentences.add(number, _parse_line(raw))
        except BadRecordError as error:
            excerpt = raw[:400].decode("utf-8", "replace")
            rejected.append(origin.leave_out("line", error, number, excerpt=excerpt))
    return sentences.found(rejected)


def _parse_line(raw: bytes) -> list[Row]:
    try:
        record = json.loads(raw)
    except UnicodeDecodeError as error:
        raise BadRecordError("not_utf8", "bytes that are not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise BadRecordError("malformed_json", f"no JSON ({error})") from error
    match record:
        case {"text": str(text), "label": dict(labels)} if text:
            pass
        case {"text": str(), "label": dict()}:
            raise BadRecordError("empty_token", "an empty text")
        case _:
            raise BadRecordError("no_label", 'no object with "text" and "label"')
    check_characters(text)
    outer, inner = _levels(sorted(_spans(text, labels), key=lambda s: (s.start, -s.end, s.label)))
    inner_tags = to_iob2(inner, len(text)) if inner else "_" * len(text)
    return list(zip(text, to_iob2(outer, len(text)), inner_tags, strict=True))


def _spans(text: str, labels: Mapping[str, object]) -> Iterator[TokenSpan]:
    """Yield the spans of a text; raises if a surface is not the text at its place."""
    for label, surfaces in labels.items():
        if not label or not label.isprintable() or " " in label or not isinstance(surfaces, dict):
            raise BadRecordError("bad_label", f"{label!r} is no label with spans")
        for surface, places in surfaces.items():
            for place in places if isinstance(places, list) else [places]:
                match place:
                    case [int(start), int(last)] if 0 <= start <= last < len(text):
                        here = text[start : last + 1]
                    case _:
                        raise BadRecordError("bad_span", f"{place!r} is no [start, last] in it")
                if here != surface:
                    what = f"{surface!r} is {here!r} at {place} (ends are inclusive)"
                    raise BadRecordError("bad_span", what)
                yield TokenSpan(start=start, end=last + 1, label=label)


def _levels(spans: Iterable[TokenSpan]) -> tuple[list[TokenSpan], list[TokenSpan]]:
    """Assign each span to the outer level, or to the inner one if it would overlap there."""
    levels: tuple[list[TokenSpan], list[TokenSpan]] = ([], [])
    for span in spans:
        level = next((one for one in levels if not one or one[-1].end <= span.start), None)
        if level is None:
            raise BadRecordError("third_level", f"{span.label}: a third span at one place")
        level.append(span)
    return levels


def read_sentence_array(data: bytes, origin: Origin) -> Found:
    """Read one array of sentences of ``[token, tag]`` or ``[token, tag, inner tag]``."""
    sentences, rejected = Gathered(), []
    number = 0
    try:
        items = read_items(StringIO(data.decode()), where=origin.source)
        for number, sample in enumerate(items, 1):
            try:
                sentences.add(number, _parse_sample(sample))
            except BadRecordError as error:
                rejected.append(origin.leave_out("sentence", error, number, excerpt=str(sample)))
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is not UTF-8. Fix it."
        rejected.append(origin.reject(number + 1, "not_utf8", what=what))
    except MalformedJsonError as error:
        what = f"the rest of the file cannot be read: {error}"
        rejected.append(origin.reject(number + 1, "malformed_json", what=what))
    return sentences.found(rejected)


def _parse_sample(sample: object) -> list[Row]:
    if not isinstance(sample, list) or not sample:
        raise BadRecordError("empty_token", f"{str(sample)[:80]!r} has no [token, tag]")
    return [row_of(pair) for pair in sample]
