"""The protocol of INCEpTION's external recommenders: ``POST /predict`` (``training``: ``/train``).

Requests are those of INCEpTION 42 (``inception-imls-external`` at 55ba8ba, August 2026), answers
those of its Python library (``inception-external-recommender`` at 260b76d): JSON with a CAS in XMI,
which comes back with predictions. Offsets in XMI count UTF-16 units; ``cassis`` converts them to
characters.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel

from corpora.document import Sentence
from corpora.ner.exchange import refuse_wild_places
from corpora.system.extras import missing_extra
from modeling.data.predictions import Tagged
from modeling.http.guard import Refusal
from modeling.serve.kinds import label_among
from modeling.serve.loaded_models import Service, checked, place_of, running_text
from modeling.serve.onoma_api import body_of
from modeling.taggers.tagger import sentences_of

if TYPE_CHECKING:
    from cassis import Cas

T = TypeVar("T")
_SEGMENT: Final = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
_PREDICTED: Final = "inception_internal_predicted"
_FORBIDDEN: Final = re.compile(
    r"<!DOCTYPE|<!ENTITY|<\?xml[^>]*encoding\s*=\s*['\"](?!UTF-8['\"])", re.IGNORECASE
)
"""XML that no CAS needs and that is refused: entities, and encodings that could hide them."""


class VisibleRange(BaseModel):
    """The span of the text that the user sees, in UTF-16 units."""

    begin: int = 0
    end: int = 0


class Metadata(BaseModel):
    """The layer and the feature that are to be predicted."""

    layer: str
    feature: str
    projectId: int = 0  # noqa: N815 - names of the protocol
    anchoringMode: str = "tokens"  # noqa: N815
    crossSentence: bool = False  # noqa: N815
    range: VisibleRange | None = None


class CasDocument(BaseModel):
    """A document as XMI."""

    xmi: str
    documentId: int | str = 0  # noqa: N815
    userId: str = ""  # noqa: N815


class Tag(BaseModel):
    """A tag of a tag set."""

    tag: str
    description: str | None = None


class FeatureHandle(BaseModel):
    """A feature that has a tag set."""

    type: str
    feature: str


class InceptionTags(BaseModel):
    """Tags, and the features that have them."""

    tags: list[Tag] = []
    targets: list[FeatureHandle] = []


class PredictRequest(BaseModel):
    """A document, and what is to be predicted in it."""

    metadata: Metadata
    document: CasDocument
    typeSystem: str  # noqa: N815
    tagsets: list[InceptionTags] | None = None


class PredictAnswer(BaseModel):
    """The document with predictions."""

    document: str


def routes(service: Service) -> APIRouter:
    """Create the router of the route that predicts."""
    router = APIRouter(tags=["INCEpTION"])

    @router.post("/predict", openapi_extra=body_of(PredictRequest))
    async def predict(request: Request) -> PredictAnswer:
        """Add predictions of a layer's feature to a document."""
        asked = await service.read(request, PredictRequest)
        xmi, layer = asked.document.xmi, asked.metadata.layer
        read = partial(read_cas, xmi, asked.typeSystem, layer=layer)
        cas = await service.prepare(read, size=len(xmi))
        cut = partial(_sound, _sentences, service, cas, asked)
        sentences = await service.prepare(cut, size=len(xmi))
        model = service.models.of_project(asked.metadata.projectId)
        found = await service.tag(sentences, model=model, threshold=None)
        return await service.prepare(partial(_sound, _answer, cas, asked, found), size=len(xmi))

    return router


def _sound(work: Callable[..., T], *given: object) -> T:
    """Call ``work`` on a document; raises ``Refusal`` (422) where the document is inconsistent."""
    try:
        return work(*given)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        detail = f"The CAS cannot be read ({type(error).__name__}: {error})."
        raise Refusal(422, detail) from error


def read_cas(xmi: str, type_system: str, *, layer: str) -> "Cas":
    """Read a document as a CAS.

    Raises ``Refusal`` for one that cannot be read or lacks the layer, or without ``cassis``.
    """
    try:
        from cassis import load_cas_from_xmi, load_typesystem  # noqa: PLC0415 - an extra
    except ImportError as error:
        if (missing := missing_extra(error)) is None:
            raise
        raise Refusal(501, str(missing)) from error
    refuse_wild_places()
    for name, text in (("typeSystem", type_system), ("xmi", xmi)):
        if _FORBIDDEN.search(text):
            raise Refusal(422, f"{name}: is XML with a DOCTYPE, or not in UTF-8.")
    try:
        cas = load_cas_from_xmi(xmi, load_typesystem(type_system), lenient=True)
        if not isinstance(cas.sofa_string, str):
            raise TypeError("it has no text")
    except Exception as error:
        raise Refusal(422, f"The CAS cannot be read ({type(error).__name__}: {error}).") from error
    if not cas.typesystem.contains_type(layer):
        raise Refusal(422, f"layer {layer[:80]!r}: not in the type system.")
    return cas


def _sentences(service: Service, cas: "Cas", asked: PredictRequest) -> list[Sentence]:
    """List the sentences in the requested range, with the words of the document if it has some."""
    text, lang = cas.sofa_string, _lang(cas) or service.settings.lang
    sentences = words_of(cas)
    if not sentences:
        sentences = checked(sentences_of(running_text(text, lang=lang)))
    shown = asked.metadata.range
    if shown is None or shown.end <= shown.begin:
        return sentences
    slack = sum(character > "\uffff" for character in text)  # UTF-16 units minus characters
    first, last = shown.begin - slack, shown.end
    return [one for one in sentences if _starts(one)[-1] >= first and _starts(one)[0] < last]


def _starts(sentence: Sentence) -> tuple[int, ...]:
    return sentence.token_starts or (0,)


def words_of(cas: "Cas") -> list[Sentence]:
    """List the sentences of a document with their words; none where it is not cut into words."""
    types = {name: f"{_SEGMENT}.{name}" for name in ("Sentence", "Token")}
    if not all(cas.typesystem.contains_type(name) for name in types.values()):
        return []
    text, sentences = cas.sofa_string, list[Sentence]()
    last = 0
    for number, sentence in enumerate(cas.select(types["Sentence"])):
        if sentence.begin < last:
            continue  # overlaps the sentence before, which has the words of both
        last = sentence.end
        places: list[tuple[int, int]] = []
        for word in cas.select_covered(types["Token"], sentence):
            is_inside = bool(places) and word.begin < places[-1][1]  # overlaps the word before
            if not is_inside and text[word.begin : word.end].strip():
                places.append((word.begin, word.end))
        if places:
            sentences.append(
                Sentence(
                    id=f"sentence {number + 1}",
                    document_id="cas",
                    split="test",
                    tokens=tuple(text[start:end] for start, end in places),
                    tags=("O",) * len(places),
                    token_starts=tuple(start for start, _ in places),
                )
            )
    return checked(sentences)


def _lang(cas: "Cas") -> str | None:
    found = next(iter(cas.select("uima.tcas.DocumentAnnotation")), None)
    lang = getattr(found, "language", None)
    return lang if lang and lang != "x-unspecified" else None


def _answer(cas: "Cas", asked: PredictRequest, found: Sequence[Tagged]) -> PredictAnswer:
    layer, feature = asked.metadata.layer, asked.metadata.feature
    kind = cas.typesystem.get_type(layer)
    features = {feature.name for feature in kind.all_features}
    if missing := {feature, _PREDICTED} - features:
        raise Refusal(422, f"layer {layer[:80]}: has no feature {min(missing)[:80]!r}.")
    for earlier in list(cas.select(layer)):
        if is_prediction(earlier):
            cas.remove(earlier)
    rename, scored = _renamer(asked), f"{feature}_score" in features
    for one in found:
        for span in one.spans:
            start, end = place_of(one.sentence, span)
            values = {"begin": start, "end": end, _PREDICTED: True, feature: rename(span.label)}
            if scored:
                values[f"{feature}_score"] = round(min(span.probability, 1.0), 6)
            cas.add(kind(**values))
    return PredictAnswer(document=cas.to_xmi())


def is_prediction(annotation: object) -> bool:
    """Tell whether an annotation is a prediction of a recommender, not the work of a person."""
    return bool(getattr(annotation, _PREDICTED, False))


def _renamer(asked: PredictRequest) -> Callable[[str], str]:
    """Return a function that maps a label to the tag of the project that means the same.

    Labels stay as they are where the project has no tags for the feature, or none that fits.
    """
    layer, feature = asked.metadata.layer, asked.metadata.feature
    tags: list[str] = [
        tag.tag
        for tagset in asked.tagsets or ()
        if any((target.type, target.feature) == (layer, feature) for target in tagset.targets)
        for tag in tagset.tags
    ]

    def rename(label: str) -> str:
        return label_among(label, tags) if tags else label

    return rename
