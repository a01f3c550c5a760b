"""What is found, as lines: a table, JSON, or words with tags."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from corpora.document import Document
from corpora.ner.conll import format_conll
from corpora.tagging import to_iob2
from modeling.data.predictions import Tagged


def format_mentions(document: Document, form: str) -> Iterator[str]:
    """The mentions of a text: ``tsv`` with a header, or ``jsonl``, an object each."""
    if form == "tsv":
        yield "start\tend\tlabel\tprobability\ttext\n"
    for mention in document.mentions:
        surface = document.text[mention.start : mention.end]
        if form == "tsv":
            shown = json.dumps(surface, ensure_ascii=False)[1:-1]
            row = (mention.start, mention.end, mention.label, f"{mention.score:.4f}", shown)
            yield "\t".join(map(str, row)) + "\n"
        else:
            values = {
                "start": mention.start,
                "end": mention.end,
                "label": mention.label,
                "probability": mention.score,
                "text": surface,
            }
            yield json.dumps(values, ensure_ascii=False) + "\n"


def format_tagged(tagged: Iterable[Tagged], form: str) -> Iterator[str]:
    """Sentences with the tags that were found.

    ``conll``: ``word tag``; ``json``: lists of pairs, as ``tei_to_ner`` writes them; ``jsonl``: an
    object each, with the probabilities of the spans.
    """
    if form == "json":
        yield from _json(tagged)
        return
    for number, one in enumerate(tagged):
        if form == "conll":
            yield format_conll(replace(one.sentence, tags=tags_of(one)), is_first=number == 0)
        else:
            yield json.dumps(_values(one), ensure_ascii=False) + "\n"


def tags_of(one: Tagged) -> tuple[str, ...]:
    """The IOB2 tags of what was found."""
    return to_iob2(one.spans, len(one.sentence.tokens))


def _json(tagged: Iterable[Tagged]) -> Iterator[str]:
    before = "[\n"
    for one in tagged:
        pairs: Sequence[tuple[str, str]] = list(zip(one.sentence.tokens, tags_of(one), strict=True))
        yield before + json.dumps(pairs, ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _values(one: Tagged) -> dict[str, object]:
    return {
        "id": one.sentence.id,
        "tokens": one.sentence.tokens,
        "spans": [
            {
                "start": span.start,
                "end": span.end,
                "label": span.label,
                "probability": span.probability,
                "text": " ".join(one.sentence.tokens[span.start : span.end]),
            }
            for span in one.spans
        ],
    }
