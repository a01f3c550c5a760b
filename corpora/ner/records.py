"""JSON objects, one a line or in an array: tokens with tags, or texts with names at characters.

Texts are those of annotation tools and of training data: doccano, Prodigy, Label Studio, spaCy. A
name is ``[start, end, label]``, or an object with keys for these. A text is cut into sentences and
tokens here, as the texts of brat are.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import cast

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import (
    Gathered,
    Origin,
    PartSentences,
    Row,
    check_characters,
    label_of,
    read_each,
    row_of,
)
from corpora.ner.json import MalformedJsonError, parse_record, read_items
from corpora.ner.layout import FileLayout
from corpora.ner.offsets import WrittenName
from corpora.ner.parquet import INNER, TAGS, TOKENS
from corpora.ner.token_spans import is_name, names_at_tokens, read_token_spans

TEXTS = ("text", "full_text", "sentence", "data", "content", "originalText")
"""The keys of a text."""
NAMES = ("spans", "entities", "label", "labels", "annotations", "annotation")
"""The keys of a list of names."""
_STARTS = ("start", "start_offset", "start_position", "begin", "start_idx", "start_pos")
_ENDS = ("end", "end_offset", "end_position", "end_idx", "end_pos")
_LABELS = ("label", "type", "entity_type", "labels", "label_type", "tag_name")
_SURFACES = ("text", "name", "entity_value", "value", "entity")
_LISTS = ("annotations", "examples", "data", "documents")
"""The keys of the list of records, in an object that holds them all."""
_LIST = re.compile(rf'"(?:{"|".join(_LISTS)})"\s*:\s*(?=\[)')
_FIRST = 20
"""The number of records that are looked at to find the format."""
_NOT_ACCEPTED = ("reject", "ignore")
"""The values of ``answer`` that Prodigy gives to texts which are no data."""
_PRODIGY = "_task_hash"
"""A key of objects that Prodigy wrote, which have tokens, but no list if there is no name."""


def format_of(head: str, *, name: str) -> str | None:
    """Find the format of records from the beginning of a file; None if it is no such file.

    The first of some records counts that is an object with tokens and tags (``tokens``) or names
    (``tokenspans``), a text with a dictionary of labels (``cluener``), or a text with names
    (``spans``). Raises ``UsageError`` if tags are numbers.
    """
    format = None
    for _, item in islice(records(head.encode(), where=""), _FIRST):
        match item:
            case BadRecordError():
                continue
            case {"text": str(), "label": dict()}:
                return "cluener"
            case dict() as record if _list(record, TOKENS, str) and _has_tags(record, name=name):
                return "tokens"
            case record if (of_tokens := names_at_tokens(record)) is not None:
                if of_tokens:
                    return "tokenspans" if all(map(is_name, of_tokens)) else None
                format = "tokenspans"
            case dict() as record if _list(record, TOKENS, str):
                return None
            case record:
                parts = _parts_or_none(record)
                names = parts and parts[1]
                if names:
                    return "spans" if all(isinstance(name, dict | list) for name in names) else None
                format = format if names is None else "spans"
    return format


def _has_tags(record: Mapping[str, object], *, name: str) -> bool:
    tags = _first(record, TAGS)
    if tags and all(isinstance(tag, int) for tag in tags):
        raise UsageError(
            f"{name}: its tags are numbers ({tags[:3]} …), whose names are not in the file. Write "
            "the names in their place, or save the set as Parquet with datasets, as ClassLabel."
        )
    return bool(tags) and all(isinstance(tag, str) for tag in tags or ())


def _parts_or_none(record: object) -> tuple[str, Sequence[object]] | None:
    try:
        return _parts(record)
    except BadRecordError:
        return None


def records(data: bytes, *, where: str) -> Iterator[tuple[int, object]]:
    """Yield the values of JSON Lines by line, or those of an array by number.

    The array may be in an object, as NER Annotator has it; a null in it is no record. What cannot
    be read is a ``BadRecordError``; after one in an array, nothing follows.
    """
    start = data.lstrip()[:1]
    if start == b"{" and (array := _array_in(data)) is not None:
        data, start = array, b"["
    if start != b"[":
        for number, raw in enumerate(data.split(b"\n"), 1):
            if raw.strip():
                yield number, parse_record(raw)
        return
    number = 0
    try:
        for number, item in enumerate(read_items(data.decode(), where=where), 1):
            if item is not None:
                yield number, item
    except UnicodeDecodeError as error:
        yield number + 1, BadRecordError("not_utf8", f"byte {error.start} is not UTF-8")
    except MalformedJsonError as error:
        yield number + 1, BadRecordError("malformed_json", f"the rest cannot be read: {error}")


def _array_in(data: bytes) -> bytes | None:
    """Find the array of records in an object; None if the data are lines of records.

    In the beginning of such an object, whose end is not there, it is found by its key.
    """
    first = parse_record(data.lstrip().partition(b"\n")[0])
    if isinstance(first, dict) and (_parts_or_none(first) or names_at_tokens(first) is not None):
        return None
    whole = parse_record(data) if isinstance(first, BadRecordError) else first
    match whole:
        case dict():
            array = next((whole[key] for key in _LISTS if isinstance(whole.get(key), list)), None)
            is_list = array and all(isinstance(item, dict | list | None) for item in array)
            return json.dumps(array).encode() if is_list else None
        case BadRecordError():
            text = data.decode("utf-8", "replace")
            match = _LIST.search(text)
            return text[match.end() :].encode() if match else None
    return None


def read_tokens(data: bytes, __: FileLayout, origin: Origin) -> PartSentences:
    """Read objects with tokens, tags and inner tags, in keys named as in Parquet."""
    sentences, rejected = Gathered(), list[Rejected]()
    objects = records(data, where=origin.source)
    for number, _, rows in read_each(objects, _sentence, rejected, origin=origin):
        sentences.add(number, rows)
    return sentences.found(rejected)


def _sentence(record: object) -> list[Row]:
    tokens = _list(record, TOKENS, str)
    tags, inner = _list(record, TAGS, str), _list(record, INNER, str)
    if not tokens or tags is None:
        raise BadRecordError("columns", "no object with tokens and tags in words")
    if len(tags) != len(tokens) or len(inner or tags) != len(tokens):
        raise BadRecordError("columns", f"{len(tags)} tags for {len(tokens)} tokens")
    return [row_of(list(row)) for row in zip(tokens, tags, inner or ["_"] * len(tags), strict=True)]


def read_names_at_tokens(data: bytes, _: FileLayout, origin: Origin) -> PartSentences:
    """Read objects with tokens, and names at their numbers."""
    return read_token_spans(records(data, where=origin.source), origin)


def read_spans(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read texts with names; each is a document, cut into sentences."""
    return read_texts(records(data, where=origin.source), origin, lang=layout.lang)


def read_texts(
    records: Iterable[tuple[int, object]], origin: Origin, *, lang: str | None
) -> PartSentences:
    """Read numbered texts with names."""
    from corpora.ner.texts import NamedText, cut_texts

    texts: list[NamedText] = []
    rejected: list[Rejected] = []
    counters: Counter[str] = Counter()
    for number, record, (text, names) in read_each(records, _text_of, rejected, origin=origin):
        if isinstance(record, dict) and record.get("answer") in _NOT_ACCEPTED:
            counters["texts.not accepted"] += 1
        else:
            texts.append(NamedText(number, text, names))
    return cut_texts(
        texts,
        replace(origin, unit="record"),
        what="record",
        lang=lang,
        rejected=rejected,
        counters=counters,
    )


def _text_of(record: object) -> tuple[str, list[WrittenName]]:
    """Read a text and its names from a value; raises ``BadRecordError``."""
    parts = _parts(record)
    if parts is None:
        raise BadRecordError("no_label", "no text with a list of names")
    text, names = parts
    if not text.strip():
        raise BadRecordError("empty_token", "an empty text")
    check_characters(text)
    return text, [_name(name) for name in names]


def _parts(record: object) -> tuple[str, Sequence[object]] | None:
    """Find the text and the list of its names; None without them.

    Raises ``BadRecordError`` for a task of Label Studio with the results of several annotators.
    """
    match record:
        case [str(text), {"entities": list(names)}]:
            return text, names
        case {"data": dict(data), "annotations": list(made)}:
            return _task(made, data)
        case dict() as fields:
            found = _first(fields, NAMES)
            texts = [fields[key] for key in TEXTS if isinstance(fields.get(key), str)]
            is_without = _PRODIGY in fields and isinstance(fields.get("tokens"), list)
            if texts and (found is not None or is_without):
                return texts[0], found or []
    return None


def _task(annotations: Sequence[object], data: Mapping[str, object]) -> tuple[str, list[object]]:
    """Find the text of a task of Label Studio, and the names in its annotation."""
    accepted = [
        one["result"]
        for one in annotations
        if isinstance(one, dict) and isinstance(one.get("result"), list)
        if not one.get("was_cancelled")
    ]
    if len(accepted) != 1:
        what = f"{len(accepted)} annotations of one text in Label Studio; keep one"
        raise BadRecordError("several_annotations" if accepted else "no_label", what)
    values = [
        one["value"]
        for one in accepted[0]
        if isinstance(one, dict) and isinstance(one.get("value"), dict)
    ]
    texts = [data[key] for key in TEXTS if isinstance(data.get(key), str)]
    texts += [value for value in data.values() if isinstance(value, str)]
    if not texts:
        raise BadRecordError("empty_token", "a task of Label Studio without a text")
    return str(texts[0]), [value for value in values if "start" in value and "end" in value]


def _name(name: object) -> WrittenName:
    """Read a name; blanks in its label become ``_``."""
    surface: object = None
    match name:
        case [start, end, label, *_]:
            pass
        case {"points": [{**place}], "label": label}:  # Dataturks
            start, end, surface = place.get("start"), place.get("end"), place.get("text")
        case {**fields}:
            where = fields.get("span")
            start, end = where if isinstance(where, list) and len(where) == 2 else (None, None)
            start, end = _value(fields, _STARTS, start), _value(fields, _ENDS, end)
            label, surface = _value(fields, _LABELS, None), _value(fields, _SURFACES, None)
        case _:
            start = end = label = None
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(label, str):
        what = f"{str(name)[:80]!r} is no name with start, end and one label"
        raise BadRecordError("bad_label" if isinstance(start, int) else "bad_span", what)
    surface = surface if isinstance(surface, str) else None
    return WrittenName(start, end, label_of(label, name), surface)


def _value(fields: Mapping[object, object], keys: Sequence[str], default: object) -> object:
    return next((fields[key] for key in keys if key in fields), default)


def _first(fields: Mapping[str, object], keys: Sequence[str]) -> list[object] | None:
    """Return the first of the keys that has a list."""
    return next((value for key in keys if isinstance(value := fields.get(key), list)), None)


def _list(record: object, keys: Sequence[str], kind: type) -> list[str] | None:
    """Return the first of the keys that has a list of strings."""
    found = _first(record, keys) if isinstance(record, dict) else None
    is_right = found is not None and all(isinstance(value, kind) for value in found)
    return cast("list[str]", found) if is_right else None
