"""TEI Publisher's API for named entity recognition.

The API is that of ``eeditiones/tei-publisher-ner`` (87f16a7, February 2024), as TEI Publisher uses
it (``modules/lib/api/nlp.xql`` of a52994f, January 2026): TEI Publisher posts a whole document as
``text/text`` and gives up after 10 seconds.
"""

import platform
from typing import Final

from fastapi import APIRouter, Request
from pydantic import BaseModel

from corpora import __version__
from modeling.serve.apart import Apart
from modeling.serve.kinds import kind_of
from modeling.serve.loaded_models import Service, checked, places_of
from modeling.serve.onoma_api import body_of, decoded
from modeling.serve.patterns import BOUNDS, PATTERNS
from modeling.taggers.tagger import sentences_of

_TYPES: Final = frozenset({"author", "organization", "person", "place"})
"""The types of names in TEI Publisher's annotation editor; names of other types are left out, as by
``tei-publisher-ner``."""


class PublisherName(BaseModel):
    """A name; ``start`` counts characters."""

    text: str
    type: str
    start: int


class PatternRequest(BaseModel):
    """A text, and the patterns of the names in it."""

    lang: str | None = None
    text: str
    patterns: list[dict[str, object]]


def routes(service: Service) -> APIRouter:
    """Create the router of the protocol, without the routes that train."""
    router = APIRouter(tags=["TEI Publisher"])
    by_patterns = Apart(PATTERNS, BOUNDS)

    @router.get("/status")
    @router.get("/status/", include_in_schema=False)  # TEI Publisher's form
    async def status() -> dict[str, object]:
        """Return the versions of the software, and the models that are served."""
        return {
            "onoma_version": __version__,
            "platform": platform.platform(),
            "python_version": platform.python_version(),
            "pipelines": dict.fromkeys(service.models.names(), __version__),
        }

    @router.get("/model")
    @router.get("/model/", include_in_schema=False)
    async def models() -> list[str]:
        """List the models."""
        return service.models.names()

    @router.get("/model/{model:path}")
    async def model(model: str) -> dict[str, object]:
        """Describe a model: its language, version and labels."""
        batcher = await service.models.get(model)
        labels = list(batcher.tagger.labels)
        return {
            "name": model,
            "lang": service.settings.lang or "",
            "version": __version__,
            "labels": {"ner": labels},
            "description": "A name tagger of Onoma",
        }

    @router.post("/entities/{model:path}")
    async def entities(model: str, request: Request) -> list[PublisherName]:
        """Find the names in a text, whatever Content-Type the request declares."""
        text = decoded(await request.body())
        document = await service.running_text(text)
        [found] = await service.annotate([document], model=model)
        names = (_entity(text, (m.start, m.end), m.label) for m in found.mentions)
        return [name for name in names if name]

    @router.post("/patterns/", openapi_extra=body_of(PatternRequest))
    async def patterns(request: Request) -> list[PublisherName]:
        """Find the names in a text that match patterns of spaCy's EntityRuler."""
        asked = await service.read(request, PatternRequest)
        document = await service.running_text(asked.text, lang=asked.lang)
        sentences = await service.prepare(
            lambda: checked(sentences_of(document)), size=len(document.text)
        )
        tokens = [sentence.tokens for sentence in sentences]
        matches = await by_patterns.call({"sentences": tokens, "patterns": asked.patterns})
        places = [places_of(sentence) for sentence in sentences]
        names = (
            _entity(asked.text, (places[number][start][0], places[number][end - 1][1]), label)
            for number, start, end, label in matches
        )
        return sorted(filter(None, names), key=lambda name: name.start)

    return router


def _entity(text: str, place: tuple[int, int], label: str | None) -> PublisherName | None:
    (start, end), kind = place, kind_of(label)
    return PublisherName(text=text[start:end], type=kind, start=start) if kind in _TYPES else None
