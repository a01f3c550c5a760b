"""The part of the protocol of Stanford CoreNLP's server that finds names (``POST /``).

The answer has what the plugin ``@recogito/plugin-ner`` 0.5.1 of Recogito Studio reads:
``sentences`` with ``entitymentions``. Offsets count UTF-16 units, as in Java and JavaScript.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote_plus

from fastapi import APIRouter, Request

from corpora.document import Sentence
from corpora.system.parsing import parse_json
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.http.guard import Refusal
from modeling.serve.kinds import kind_of
from modeling.serve.loaded_models import Service, checked, place_of, places_of
from modeling.serve.onoma_api import decoded, media_type
from modeling.taggers.tagger import sentences_of

_NAMES: Final = {
    "author": "PERSON",
    "date": "DATE",
    "organization": "ORGANIZATION",
    "person": "PERSON",
    "place": "LOCATION",
}
_OFFERED: Final = frozenset(
    {*("tokenize", "cleanxml", "ssplit", "mwt", "pos", "lemma", "ner", "entitymentions")}
)  # clients name all annotators that CoreNLP runs up to ``ner``; Onoma has its own segmentation


def routes(service: Service) -> APIRouter:
    """Create the router of the protocol."""
    router = APIRouter(tags=["CoreNLP"])

    @router.post("/", summary="Find names as CoreNLP's server does")
    async def annotate(request: Request, properties: str = "{}") -> dict[str, object]:
        """Return the sentences of a text, with tokens and names (outputFormat ``json``)."""
        asked = _read_properties(properties)
        text = decoded(await request.body())
        if media_type(request) == "application/x-www-form-urlencoded":  # curl's default
            text = unquote_plus(text)
        lang = asked.get("pipelineLanguage") or request.query_params.get("pipelineLanguage")
        document = await service.running_text(text, lang=lang)
        sentences = await service.prepare(lambda: checked(sentences_of(document)), size=len(text))
        found = await service.tag(sentences, threshold=None)
        return await service.prepare(lambda: _answer(text, found), size=len(text))

    return router


def _read_properties(given: str) -> Mapping[str, str]:
    try:
        read = parse_json(given)
    except ValueError as error:
        raise Refusal(400, f"properties: no JSON ({error}).") from error
    if not isinstance(read, dict) or not all(isinstance(v, str) for v in read.values()):
        raise Refusal(400, "properties: an object of strings is read.")
    annotators = {part.strip() for part in read.get("annotators", "ner").split(",")}
    if others := sorted(annotators - _OFFERED - {""}):
        raise Refusal(400, f"annotators {', '.join(others)}: only names are found here (ner).")
    if read.get("outputFormat", "json") != "json":
        raise Refusal(400, f"outputFormat {read['outputFormat']!r}: only json is written.")
    return read


def _answer(text: str, found: Sequence[Tagged]) -> dict[str, object]:
    units, sentences, n_tokens = _Units(text), [], 0
    for index, one in enumerate(found):
        sentences.append(
            {
                "index": index,
                "tokens": _tokens(text, one, units),
                "entitymentions": [
                    _mention(text, one.sentence, s, units=units, n_before=n_tokens)
                    for s in one.spans
                ],
            }
        )
        n_tokens += len(one.sentence.tokens)
    return {"sentences": sentences}


def _name(label: str) -> str:
    return _NAMES.get(kind_of(label) or "", label.upper())


def _tokens(text: str, one: Tagged, units: "_Units") -> list[dict[str, object]]:
    names = {n: _name(span.label) for span in one.spans for n in range(span.start, span.end)}
    spans = places_of(one.sentence)
    return [
        {
            "index": number + 1,
            "word": token,
            "originalText": text[start:end],
            "characterOffsetBegin": units.before(start),
            "characterOffsetEnd": units.before(end),
            "ner": names.get(number, "O"),
            "before": text[spans[number - 1][1] : start] if number else "",
            "after": text[end : spans[number + 1][0]] if number + 1 < len(spans) else "",
        }
        for number, (token, (start, end)) in enumerate(zip(one.sentence.tokens, spans, strict=True))
    ]


def _mention(
    text: str, sentence: Sentence, span: PredictedSpan, *, units: "_Units", n_before: int
) -> dict[str, object]:
    start, end = place_of(sentence, span)
    name = _name(span.label)
    return {
        "docTokenBegin": n_before + span.start,
        "docTokenEnd": n_before + span.end,
        "tokenBegin": span.start,
        "tokenEnd": span.end,
        "text": text[start:end],
        "characterOffsetBegin": units.before(start),
        "characterOffsetEnd": units.before(end),
        "ner": name,
        "nerConfidences": {name: round(min(span.probability, 1.0), 6)},
    }


class _Units:
    """A converter of character offsets in a text to offsets in UTF-16 units.

    A character outside the Basic Multilingual Plane counts two units.
    """

    def __init__(self, text: str) -> None:
        self.wide = [n for n, character in enumerate(text) if character > "\uffff"]

    def before(self, index: int) -> int:
        return index + bisect_left(self.wide, index)
