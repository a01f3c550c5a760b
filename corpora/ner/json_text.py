"""NER sets as JSON: lines of text with spans (CLUENER), one array of sentences (NEISS).

CLUENER's spans are ``[start, last]`` of characters, both inside; nested ones make a second level.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa

from corpora.document import Rejected, TokenSpan
from corpora.ner.columns import Tags
from corpora.ner.found import Found, Origin
from corpora.ner.json import MalformedJsonError, read_items
from corpora.tagging import to_iob2


class _Rows:
    """Sentences that are being collected."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.tags: list[str] = []
        self.inner: list[str] = []
        self.lengths: list[int] = []
        self.places: list[int] = []
        self.rejected: list[Rejected] = []
        self.counters: Counter[str] = Counter()

    def add(
        self, tokens: Sequence[str], tags: Sequence[str], inner: Sequence[str] | None, *, place: int
    ) -> None:
        self.tokens += tokens
        self.tags += tags
        self.inner += inner or ["_"] * len(tokens)
        self.lengths.append(len(tokens))
        self.places += [place] * len(tokens)

    def found(self) -> Found:
        has_inner = any(tag != "_" for tag in self.inner)
        return Found(
            tokens=pa.array(self.tokens, pa.string()),
            begins=np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)]),
            tags=Tags.of(pa.array(self.tags, pa.string())),
            inner=Tags.of(pa.array(self.inner, pa.string())) if has_inner else None,
            places=np.array(self.places, np.int64),
            rejected=self.rejected,
            counters=self.counters,
        )


class _BadRecordError(ValueError):
    """A record that cannot be used; the reason that is counted, and what is wrong."""

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.reason = reason


def read_cluener(data: bytes, origin: Origin, *, first_line: int = 1) -> Found:
    """Read lines ``{"text": …, "label": {class: {surface: [[start, last], …]}}}``."""
    rows = _Rows()
    for number, raw in enumerate(data.split(b"\n"), first_line):
        if not raw.strip():
            continue
        try:
            text, spans = _parse_line(raw)
            levels = _levels(spans)
        except _BadRecordError as error:
            what = f"{error}. The line is left out; mend it."
            excerpt = raw[:400].decode("utf-8", "replace")
            rows.rejected.append(origin.reject(number, error.reason, what=what, excerpt=excerpt))
            continue
        outer, inner = (to_iob2(level, len(text)) for level in levels)
        rows.add(list(text), outer, inner if levels[1] else None, place=number)
    return rows.found()


def _parse_line(raw: bytes) -> tuple[str, list[TokenSpan]]:
    try:
        record = json.loads(raw)
    except UnicodeDecodeError as error:
        raise _BadRecordError("not_utf8", "bytes that are not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise _BadRecordError("malformed_json", f"no JSON ({error})") from error
    match record:
        case {"text": str(text), "label": dict(labels)} if text:
            pass
        case {"text": str(), "label": dict()}:
            raise _BadRecordError("empty_token", "an empty text")
        case _:
            raise _BadRecordError("no_label", 'no object with "text" and "label"')
    _check_characters(text)
    return text, list(_spans(text, labels))


def _check_characters(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _BadRecordError("not_utf8", "half a character (\\ud800 …)")
    if "\0" in text:
        raise _BadRecordError("nul", "a NUL character")


def _spans(text: str, labels: Mapping[str, Any]) -> Iterator[TokenSpan]:
    """The spans of a text; their surface must be what stands there."""
    for label, surfaces in labels.items():
        if not label or not label.isprintable() or " " in label or not isinstance(surfaces, dict):
            raise _BadRecordError("bad_label", f"{label!r} is no label with spans")
        for surface, places in surfaces.items():
            for place in places if isinstance(places, list) else [places]:
                match place:
                    case [int(start), int(last)] if 0 <= start <= last < len(text):
                        pass
                    case _:
                        raise _BadRecordError("bad_span", f"{place!r} is no [start, last] in it")
                if text[start : last + 1] != surface:
                    here = text[start : last + 1]
                    raise _BadRecordError(
                        "bad_span", f"{surface!r} is {here!r} at {place} (ends are inclusive)"
                    )
                yield TokenSpan(start=start, end=last + 1, label=label)


def _levels(spans: Sequence[TokenSpan]) -> tuple[list[TokenSpan], list[TokenSpan]]:
    """Put each span on the outer level, or on the inner one where it would overlap there."""
    levels: tuple[list[TokenSpan], list[TokenSpan]] = ([], [])
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.label)):
        level = next((one for one in levels if not one or one[-1].end <= span.start), None)
        if level is None:
            raise _BadRecordError("third_level", f"{span.label}: a third span at one place")
        level.append(span)
    return levels


def read_sentence_array(data: bytes, origin: Origin) -> Found:
    """Read one array of sentences, each of ``[token, tag]`` or ``[token, tag, inner tag]``."""
    rows = _Rows()
    number = 0
    try:
        for number, sample in enumerate(
            read_items(StringIO(data.decode()), where=origin.source), 1
        ):
            _read_sample(sample, rows, origin, number=number)
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
        rows.rejected.append(origin.reject(number + 1, "not_utf8", what=f"{message}. Mend it."))
    except MalformedJsonError as error:
        what = f"the rest of the file cannot be read: {error}"
        rows.rejected.append(origin.reject(number + 1, "malformed_json", what=what))
    return rows.found()


def _read_sample(sample: object, rows: _Rows, origin: Origin, *, number: int) -> None:
    try:
        triples = [_triple(pair) for pair in sample] if isinstance(sample, list) else []
        if not triples:
            raise _BadRecordError("empty_token", f"{str(sample)[:80]!r} has no [token, tag]")
        tokens, tags, inner = zip(*triples, strict=True)
    except _BadRecordError as error:
        what = f"{error}. The sentence is left out; mend it."
        excerpt = str(sample)
        rows.rejected.append(origin.reject(number, error.reason, what=what, excerpt=excerpt))
        return
    rows.add(tokens, tags, inner if set(inner) != {"_"} else None, place=number)


def _triple(pair: object) -> tuple[str, str, str]:
    from corpora.ner.schemes import READABLE

    match pair:
        case [str(token), str(tag)]:
            inner = "_"
        case [str(token), str(tag), str(inner)]:
            pass
        case _:
            raise _BadRecordError("columns", f"{str(pair)[:80]!r} is no [token, tag]")
    if not token:
        raise _BadRecordError("empty_token", f"no token before {tag!r}")
    if not READABLE.fullmatch(tag) or not (inner == "_" or READABLE.fullmatch(inner)):
        raise _BadRecordError("bad_tag", f"{tag!r}, {inner!r}: no tags that can be read")
    _check_characters(token + tag + inner)
    return token, tag, inner
