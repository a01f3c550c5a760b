"""Trimming of a tokenizer to the subwords of a corpus, which it cuts as before.

A text is cut into the likeliest subwords (Unigram), by the longest match (WordPiece), or by merges
(BPE). Without subwords that never occur in the corpus, the likeliest and the longest stay the same.
For merges, the parts of subwords are kept. Special tokens and subwords of one character are kept as
well, so that other texts are cut into smaller subwords instead of unknown ones. So are the bytes of
a model that writes characters without a subword as bytes (``<0xE2>``); it needs all of them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError
from corpora.system.parsing import JsonObject
from corpora.tokenization.subwords import clear_errors
from corpora.tokenization.tokenizers import Tokenizer

_BYTE = re.compile("<0x[0-9A-F]{2}>")


def trim(tokenizer: Tokenizer, used: Iterable[int]) -> tuple[Tokenizer, NDArray[np.int64]]:
    """Make the tokenizer of some subwords; return it with their (U,) old ids, ascending.

    The index of an old id in the array is the new id. Raises ``CorpusError`` for a model that is
    neither WordPiece, Unigram nor BPE.
    """
    from tokenizers import Tokenizer as Backend

    parts = deepcopy(tokenizer.parts)
    model = parts["model"]
    by_name = _vocabulary(model)
    kept = {*used, *tokenizer.specials, *_single_characters(by_name, model)}
    if model.get("byte_fallback"):
        kept |= {id for subword, id in by_name.items() if _BYTE.fullmatch(subword)}
    kept |= {int(token["id"]) for token in parts.get("added_tokens") or ()}
    if model["type"] == "BPE":
        _add_parts(kept, by_name, model)
    ids = np.array(sorted(kept), np.int64)
    places = {int(id): place for place, id in enumerate(ids)}
    _trim_model(model, places)
    for token in parts.get("added_tokens") or ():
        token["id"] = places[token["id"]]
    _renumber(parts.get("post_processor"), places)
    with clear_errors(f"{tokenizer.name}: its vocabulary cannot be trimmed"):
        backend = Backend.from_str(json.dumps(parts, ensure_ascii=False))
    special = {name: tokenizer.backend.id_to_token(id) for name, id in tokenizer.special_items}
    return Tokenizer(backend, name=tokenizer.name, declared=special, parts=parts), ids


def _vocabulary(model: JsonObject) -> dict[str, int]:
    match model.get("type"):
        case "WordPiece" | "BPE":
            return dict(model["vocab"])
        case "Unigram":
            return {subword: id for id, (subword, _) in enumerate(model["vocab"])}
    raise CorpusError(
        f"The tokenizer is a {model.get('type')}; what can be trimmed is WordPiece, Unigram, BPE."
    )


def _single_characters(by_name: Mapping[str, int], model: JsonObject) -> Iterable[int]:
    """Yield the ids of subwords of one character.

    A mark before it, that the subword continues or begins a word, does not count.
    """
    prefix = model.get("continuing_subword_prefix") or ""
    for subword, id in by_name.items():
        bare = subword.removeprefix(prefix) if prefix else subword
        if len(bare) == 1 or (len(bare) == 2 and bare[0] in "▁Ġ"):
            yield id


def _merges(model: JsonObject) -> list[tuple[str, str]]:
    """List the merged pairs; older files have a pair as a string with a space between."""
    pairs = (merge.split(" ", 1) if isinstance(merge, str) else merge for merge in model["merges"])
    return [(left, right) for left, right in pairs]


def _add_parts(kept: set[int], by_name: Mapping[str, int], model: JsonObject) -> None:
    """Add to ``kept`` the parts of kept subwords, from which they are merged, and their parts."""
    prefix = model.get("continuing_subword_prefix") or ""
    sources: dict[str, list[tuple[str, str]]] = {}
    for left, right in _merges(model):
        sources.setdefault(left + right.removeprefix(prefix), []).append((left, right))
    names = {id: subword for subword, id in by_name.items()}
    waiting = [names[id] for id in kept if id in names]
    while waiting:
        for part in (part for pair in sources.get(waiting.pop(), ()) for part in pair):
            id = by_name.get(part)
            if id is not None and id not in kept:
                kept.add(id)
                waiting.append(part)


def _trim_model(model: dict[str, Any], places: Mapping[int, int]) -> None:  # Any: JSON
    """Remove the subwords that have no new id, and give the others their new ids."""
    if model["type"] == "Unigram":
        model["vocab"] = [row for id, row in enumerate(model["vocab"]) if id in places]
        if model.get("unk_id") is not None:
            model["unk_id"] = places[model["unk_id"]]
        return
    vocab = {subword: places[id] for subword, id in model["vocab"].items() if id in places}
    model["vocab"] = vocab
    if model["type"] == "BPE":
        prefix = model.get("continuing_subword_prefix") or ""
        model["merges"] = [
            [left, right]
            for left, right in _merges(model)
            if left in vocab and right in vocab and left + right.removeprefix(prefix) in vocab
        ]


def _renumber(processor: object, places: Mapping[int, int]) -> None:
    """Replace the ids of special tokens by new ones, wherever a post-processor has them."""
    if isinstance(processor, list):
        for part in processor:
            _renumber(part, places)
    if not isinstance(processor, dict):
        return
    for name in ("sep", "cls"):
        if isinstance(processor.get(name), list):
            processor[name][1] = places[processor[name][1]]
    for token in (processor.get("special_tokens") or {}).values():
        token["ids"] = [places[id] for id in token["ids"]]
    _renumber(processor.get("processors"), places)
