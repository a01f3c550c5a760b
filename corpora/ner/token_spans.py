"""JSON objects with tokens, and with names at their numbers: SpERT, GLiNER, DyGIE++, OneIE, W2NER.

Tokens are counted from 0. A name that is a list has its last token, ``[start, last, label]``; one
that is an object ends before ``end``, or lists its tokens, ``{"index": [0, 1], "type": …}``. In an
object with ``sentences``, each sentence has a list of names, and tokens are counted through all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from corpora.document import Mention, Rejected, TokenSpan, without_crossing
from corpora.ner.alignment import levels
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import (
    Gathered,
    Origin,
    PartSentences,
    Row,
    check_characters,
    label_of,
    read_each,
)
from corpora.tagging import to_iob2

_TOKENS = ("tokens", "words", "tokenized_text", "sentence")
_NAMES = ("entities", "ner", "entity_mentions")
_LABELS = ("type", "entity_type", "label")
_DOCUMENTS = ("doc_key", "doc_id")

Sentences = list[tuple[list[str], list[object]]]
"""Sentences: the tokens of each, and its names."""


def names_at_tokens(record: object) -> list[object] | None:
    """Return the names of an object with names at tokens; None if it is no such object."""
    sentences = _sentences(record)
    return None if sentences is None else [name for _, names in sentences for name in names]


def is_name(value: object) -> bool:
    """Tell whether a value looks like a name at tokens."""
    match value:
        case [int(), int(), str(), *_] | {"index": [int(), *_]} | {"start": int(), "end": int()}:
            return True
    return False


def _sentences(record: object) -> Sentences | None:
    match record:
        case {"sentences": list(sentences), "ner": list(names)}:
            pairs = list(zip(sentences, names, strict=len(sentences) == len(names)))
            is_right = len(sentences) == len(names) and all(
                _is_tokens(tokens) and isinstance(own, list) for tokens, own in pairs
            )
            return cast("Sentences", pairs) if is_right else None
        case dict() as fields:
            tokens = next((fields[key] for key in _TOKENS if _is_tokens(fields.get(key))), None)
            own = next((fields[key] for key in _NAMES if isinstance(fields.get(key), list)), None)
            if tokens is None or own is None or ("text" in fields and any(map(_is_unclear, own))):
                return None
            return [(tokens, own)]
    return None


def _is_unclear(name: object) -> bool:
    """Tell whether offsets may count the characters of a text that is beside the tokens."""
    return isinstance(name, Mapping) and "start" in name


def _is_tokens(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(token, str) for token in value)


def read_token_spans(records: Iterable[tuple[int, object]], origin: Origin) -> PartSentences:
    """Read numbered records; names that cross, and those inside two others, are counted."""
    sentences = Gathered()
    documents: list[str | None] = []
    ids: list[str] = []
    rejected: list[Rejected] = []
    counters: Counter[str] = Counter()
    for number, record, (made, own) in read_each(records, _rows, rejected, origin=origin):
        id = f"{origin.source}:{number}"
        for rows in made:
            sentences.add(number, rows)
        ids += [f"{id}#{n}" for n in range(1, len(made) + 1)] if _is_document(record) else [id]
        documents += [_document(record) or (id if _is_document(record) else None)] * len(made)
        counters.update(own)
    counters["documents"] += len({*documents} - {None})
    found = sentences.found(rejected)
    return replace(found, ids=ids, documents=documents if any(documents) else (), counters=counters)


def _is_document(record: object) -> bool:
    return isinstance(record, dict) and "sentences" in record


def _document(record: object) -> str | None:
    fields = record if isinstance(record, dict) else {}
    names = (fields.get(key) for key in _DOCUMENTS)
    return next((name for name in names if isinstance(name, str) and name), None)


def _rows(record: object) -> tuple[list[list[Row]], Counter[str]]:
    """Read the sentences of a record; raises ``BadRecordError``."""
    found = _sentences(record)
    if found is None:
        raise BadRecordError("columns", "no object with tokens and names at their numbers")
    rows, counters, before = [], Counter[str](), 0
    for tokens, names in found:
        if not tokens or not all(tokens):
            raise BadRecordError("empty_token", "a sentence without tokens, or an empty token")
        check_characters(" ".join(tokens))
        mentions = [_mention(name, tokens, before, counters=counters) for name in names]
        rows.append(tagged(tokens, mentions, counters))
        before += len(tokens)
    return rows, counters


def tagged(tokens: Sequence[str], names: Sequence[Mention], counters: Counter[str]) -> list[Row]:
    """Tag tokens with names at their numbers: two levels; others are counted."""
    nested, crossing = without_crossing(names)
    outer, inner = levels(nested, "all")
    counters.update(f"crossing names not in ner: {name.label}" for name in crossing)
    deep = Counter(name.label for name in nested) - Counter(name.label for name in (*outer, *inner))
    counters.update({f"nested names not in ner: {label}": n for label, n in deep.items()})
    tags, inner_tags = (to_iob2([*map(_span, own)], len(tokens)) for own in (outer, inner))
    return list(zip(tokens, tags, inner_tags if inner else ["_"] * len(tokens), strict=True))


def _span(name: Mention) -> TokenSpan:
    return TokenSpan(start=name.start, end=name.end, label=name.label or "")


def _mention(
    name: object, tokens: Sequence[str], before: int, *, counters: Counter[str]
) -> Mention:
    """Read a name, with tokens in place of characters, ``before`` of which are in other sentences.

    Raises ``BadRecordError``.
    """
    label: object = None
    surface: object = None
    places: list[int] = []
    start = end = -1
    match name:
        case [int(first), int(last), found, *_]:
            start, end, label = first, last + 1, found
        case {"index": [int(), *_] as index} if all(isinstance(at, int) for at in index):
            places = sorted({*index})
            start, end = places[0], places[-1] + 1
        case {"start": int(first), "end": int(limit)}:
            start, end = first, limit
    if isinstance(name, Mapping):
        label = next((name[key] for key in _LABELS if key in name), None)
        surface = name.get("text")
    start, end = start - before, end - before
    if not 0 <= start < end <= len(tokens):
        what = f"{str(name)[:80]!r} is no place among {len(tokens):,} tokens"
        raise BadRecordError("bad_span", f"{what} (the first is {before})")
    pieces = [tokens[at - before] for at in places] or tokens[start:end]
    if isinstance(surface, str) and "".join(surface.split()) != "".join("".join(pieces).split()):
        what = f"{surface[:80]!r} is {' '.join(pieces)[:80]!r} at {start}–{end}"
        raise BadRecordError("bad_span", f"{what} (in objects, ends are exclusive)")
    mention = Mention(start, end, label=label_of(label, name))
    if len(pieces) < end - start:
        counters[f"discontinuous names: {mention.label}"] += 1
    return mention
