"""NER data in JSON: an array of sentences of ``[token, tag]``, or CLUENER's lines with spans.

CLUENER's spans are ``[start, last]``, in characters, both inclusive; nested spans make a
second level.
"""

import json
import re
from collections.abc import Iterator, Mapping

from corpora.document import TokenSpan
from corpora.errors import CorpusError
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Gathered, Origin, PartSentences, Row, check_characters, row_of
from corpora.ner.layout import FileLayout
from corpora.tagging import to_iob2

_NO_BLANK = re.compile(r"[^ \t\r\n]")


class MalformedJsonError(CorpusError):
    """A file is no JSON array of sentences of ``[token, tag]``."""


def read_items(text: str, *, where: str) -> Iterator[object]:
    """Yield the items of the single array in a text; raises ``MalformedJsonError``."""
    decoder, at = json.JSONDecoder(), _next(text, 0)
    if text[at : at + 1] != "[":
        raise _malformed(where, at, "no JSON array")
    at = _next(text, at + 1)
    mark = text[at : at + 1]
    while mark != "]":
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            raise _malformed(where, at, "too deeply nested") from None
        except json.JSONDecodeError as error:
            raise _malformed(where, at, f"not well-formed ({error.msg})") from error
        except ValueError:
            raise _malformed(where, at, "a number of too many digits") from None
        yield value
        at = _next(text, end)
        mark = text[at : at + 1]
        if mark not in {",", "]"}:
            raise _malformed(where, at, "neither comma nor closing bracket after a sentence")
        if mark == ",":
            at = _next(text, at + 1)
    at = _next(text, at + 1)
    if at < len(text):
        raise _malformed(where, at, "something follows the end of the array")


def _next(text: str, at: int) -> int:
    """Find the next character that is no white space of JSON, or the end."""
    match = _NO_BLANK.search(text, at)
    return match.start() if match else len(text)


def _malformed(where: str, at: int, problem: str) -> MalformedJsonError:
    return MalformedJsonError(
        f"{where}: character {at}: {problem}. Write one array of sentences, each an array of "
        "[token, tag]."
    )


def read_cluener(data: bytes, _: FileLayout, origin: Origin) -> PartSentences:
    """Read lines ``{"text": …, "label": {class: {surface: [[start, last], …]}}}``."""
    sentences, rejected = Gathered(), []
    for number, raw in enumerate(data.split(b"\n"), 1):
        try:
            if raw.strip():
                sentences.add(number, _parse_line(raw))
        except BadRecordError as error:
            excerpt = raw[:400].decode("utf-8", "replace")
            rejected.append(origin.leave_out("line", error, number, excerpt=excerpt))
    return sentences.found(rejected)


def parse_record(raw: bytes) -> object:
    """Parse a line, or a whole file; what cannot be read is a ``BadRecordError``."""
    try:
        return json.loads(raw)
    except UnicodeDecodeError:
        return BadRecordError("not_utf8", "bytes that are not UTF-8")
    except (ValueError, RecursionError) as error:
        return BadRecordError("malformed_json", f"no JSON ({error})")


def _parse_line(raw: bytes) -> list[Row]:
    match parse_record(raw):
        case BadRecordError() as error:
            raise error
        case {"text": str(text), "label": dict(labels)} if text:
            pass
        case {"text": str(), "label": dict()}:
            raise BadRecordError("empty_token", "an empty text")
        case _:
            raise BadRecordError("no_label", 'no object with "text" and "label"')
    check_characters(text)
    spans = sorted(_spans(text, labels), key=lambda s: (s.start, -s.end, s.label))
    # to the outer level, or to the inner one if it would overlap there
    levels: tuple[list[TokenSpan], list[TokenSpan]] = ([], [])
    for span in spans:
        level = next((one for one in levels if not one or one[-1].end <= span.start), None)
        if level is None:
            raise BadRecordError("third_level", f"{span.label}: a third span at one place")
        level.append(span)
    outer, inner = levels
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


def read_sentence_array(data: bytes, _: FileLayout, origin: Origin) -> PartSentences:
    """Read one array of sentences of ``[token, tag]`` or ``[token, tag, inner tag]``."""
    sentences, rejected = Gathered(), []
    number = 0
    try:
        items = read_items(data.decode(), where=origin.source)
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
