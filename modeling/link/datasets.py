"""Linking of datasets: mentions of ``documents`` get entities; sentences become JSON lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from corpora.document import Document, Mention, Sentence
from corpora.tagging import from_iob2
from modeling.data.documents import change_dataset
from modeling.link.linker import Linker, RankedCandidates, files_of, grouped
from modeling.link.records import record_of

PROBABILITY: Final = "entity_probability"
"""The attribute of a mention that says that a linker found its entity, and how sure it is."""


def link_document(document: Document, linker: Linker, counters: Counter[str]) -> Document:
    """Link the mentions of a document that have no entity; replace earlier links of a linker."""
    [linked] = link_documents([document], linker, counters)
    return linked


def link_documents(
    documents: Iterable[Document], linker: Linker, counters: Counter[str]
) -> Iterator[Document]:
    """Link the mentions of several documents; yield the documents in their order."""
    with_text = linker.contexts is not None
    for some in grouped(documents, lambda document: len(document.mentions)):
        ranked = linker.rank_all([record_of(d, with_text=with_text) for d in some])
        for document, own in zip(some, ranked, strict=True):
            mentions = [
                _linked(mention, answer, counters, linker=linker)
                for mention, answer in zip(document.mentions, own, strict=True)
            ]
            yield replace(document, mentions=tuple(mentions))


def _linked(
    mention: Mention, ranked: RankedCandidates | None, counters: Counter[str], *, linker: Linker
) -> Mention:
    if PROBABILITY in mention.attributes:
        rest = {k: v for k, v in mention.attributes.items() if k != PROBABILITY}
        mention = replace(mention, entity=None, attributes=rest)
        counters["links.replaced"] += 1
    if mention.entity is not None:
        counters["names.linked_before"] += 1
        return mention
    if ranked is None:
        counters["names.of_other_classes"] += 1
        return mention
    if not linker.is_sure(ranked):
        counters["names.without_candidates" if not ranked.entities else "names.not_sure"] += 1
        return mention
    counters["links"] += 1
    attributes = {**mention.attributes, PROBABILITY: f"{ranked.probability:.3f}"}
    return replace(mention, entity=ranked.entities[0], attributes=attributes)


def link_dataset(source: Path, output: Path, linker: Linker, *, folder: Path) -> Mapping[str, int]:
    """Link the mentions of every document; return the counters.

    ``folder`` is where the linker was read from. Raises ``CorpusError`` for what is no dataset of
    documents.
    """
    _, counters = change_dataset(
        source,
        output,
        lambda documents, counters: link_documents(documents, linker, counters),
        pipeline="link",
        parameters={"threshold": linker.threshold},
        models=files_of(folder),
    )
    return counters


def link_sentences(
    sentences: Iterable[Sentence], linker: Linker, counters: Counter[str], *, n_candidates: int = 0
) -> Iterator[dict[str, object]]:
    """Link the names that are tagged in sentences; yield an object for each sentence.

    Adjacent sentences of one document are linked together. Words are joined by spaces.
    """
    joined = (
        _join(list(group), id=id)
        for id, group in groupby(sentences, key=lambda sentence: sentence.document_id)
    )
    with_text = linker.contexts is not None
    for some in grouped(joined, lambda joined_part: len(joined_part.places)):
        records = [record_of(joined_part.document, with_text=with_text) for joined_part in some]
        for joined_part, ranked in zip(some, linker.rank_all(records), strict=True):
            linked = [
                _linked(mention, answer, counters, linker=linker)
                for mention, answer in zip(joined_part.document.mentions, ranked, strict=True)
            ]
            yield from _to_json(joined_part, linked, ranked, n_candidates=n_candidates)


class _Joined(NamedTuple):
    """Adjacent sentences of one document, joined to one text."""

    sentences: list[Sentence]
    document: Document
    places: list[tuple[int, int, int]]
    """For each mention, the index of its sentence, its first token, and the one after its last."""


def _to_json(
    joined: _Joined,
    linked: Sequence[Mention],
    ranked: Sequence[RankedCandidates | None],
    *,
    n_candidates: int,
) -> Iterator[dict[str, object]]:
    """Yield an object with the linked names for each sentence."""
    text = joined.document.text
    names: list[list[dict[str, object]]] = [[] for _ in joined.sentences]
    for (number, start, end), mention, one in zip(joined.places, linked, ranked, strict=True):
        value: dict[str, object] = {"start": start, "end": end, "label": mention.label}
        value["text"] = text[mention.start : mention.end]
        value["entity"] = mention.entity
        value["probability"] = round(one.probability, 4) if one else None
        if n_candidates and one:
            some = zip(one.entities[:n_candidates], one.choice, strict=False)
            value["candidates"] = [[entity, round(p, 4)] for entity, p in some]
        names[number].append(value)
    for sentence, tokens in zip(joined.sentences, names, strict=True):
        yield {"id": sentence.id, "tokens": sentence.tokens, "names": tokens}


def _join(sentences: list[Sentence], *, id: str) -> _Joined:
    """Join sentences to one document."""
    parts: list[str] = []
    mentions: list[Mention] = []
    places: list[tuple[int, int, int]] = []
    offset = 0
    for number, sentence in enumerate(sentences):
        starts = [offset]
        for token in sentence.tokens:
            starts.append(starts[-1] + len(token) + 1)
        for span in from_iob2(sentence.tags):
            end = starts[span.end] - 1
            mentions.append(Mention(starts[span.start], end, label=span.label))
            places.append((number, span.start, span.end))
        parts.append(" ".join(sentence.tokens) + "\n")
        offset += len(parts[-1])
    text = "".join(parts)
    document = Document(id=id, group="", source=id, text=text, mentions=tuple(mentions))
    return _Joined(sentences, document, places)
