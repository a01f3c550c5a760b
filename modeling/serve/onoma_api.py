"""Onoma's own protocol: ``POST /v1/tag``; reading of bodies for all protocols."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from corpora.document import Document, Mention, Sentence, TokenSpan
from corpora.errors import CorpusError
from corpora.tagging import to_iob2
from corpora.tei.writer import TeiFile, WriteOptions
from modeling.data.predictions import Tagged, outermost
from modeling.http.guard import Busy, Refusal
from modeling.predict.tei import mentions_of, model_of
from modeling.serve.kinds import kind_of
from modeling.serve.loaded_models import Service, checked, failure, read_json
from modeling.taggers.tagger import document_of

if TYPE_CHECKING:
    from modeling.serve.entries import EntryIndex

log = logging.getLogger(__name__)

TEI: Final = "application/tei+xml"
LINES: Final = "application/x-ndjson"
_JSON: Final = "application/json"
_XML: Final = (TEI, "application/xml", "text/xml")
_AHEAD: Final = 16
"""The number of texts of a streamed answer that are tagged at the same time."""
_PAUSE: Final = 0.05  # seconds until a text of a streamed answer is tried again after ``Busy``
Probability = Annotated[float, Field(ge=0, le=1)]


class Text(BaseModel):
    """A text, with the id that it has in the answer."""

    model_config = ConfigDict(extra="forbid")
    text: str
    id: str | None = None
    lang: str | None = Field(
        default=None, description="BCP 47: whose rules for sentences and words apply"
    )


class TagRequest(BaseModel):
    """A request to tag exactly one of ``text``, ``texts`` and ``sentences``."""

    model_config = ConfigDict(extra="forbid")
    text: str | None = Field(default=None, description="each line is a paragraph")
    texts: list[str | Text] | None = None
    sentences: list[list[str]] | None = Field(default=None, description="lists of words")
    lang: str | None = None
    model: str | None = Field(
        default=None, description="of GET /model (default: the one that is served)"
    )
    threshold: Probability | None = Field(default=None, description="least probability of a name")
    candidates: int = Field(
        default=0, ge=0, le=20, description="entries of the register for each name, the best first"
    )
    stream: bool = Field(
        default=False, description=f"answer {LINES}: a line for each text as soon as it is tagged"
    )

    @model_validator(mode="after")
    def _is_one(self) -> "TagRequest":
        given = (self.text, self.texts, self.sentences)
        if sum(one is not None for one in given) != 1:
            raise ValueError("give one of text, texts, sentences")
        if any(not word.strip() for words in self.sentences or () for word in words):
            raise ValueError("a word of sentences is empty")
        return self


class Entity(BaseModel):
    """An entry of the register that a name may mean."""

    id: str
    name: str
    score: float = Field(description="likeness of the names, from 0 to 100")


class Name(BaseModel):
    """A name; offsets are half-open, and count Unicode characters of a text, or words."""

    start: int
    end: int
    text: str
    label: str
    probability: float
    candidates: list[Entity] | None = None


class TaggedText(BaseModel):
    """The names of a text."""

    id: str
    mentions: list[Name]


class TaggedWords(BaseModel):
    """A sentence that came as words: its tags (IOB2), and its names."""

    tags: list[str]
    mentions: list[Name]


class TagAnswer(BaseModel):
    """The names that were found, in the order of the request."""

    model: str
    texts: list[TaggedText] | None = None
    sentences: list[TaggedWords] | None = None


def _inlined(value: object, definitions: Mapping[str, object]) -> object:
    """Replace references in a JSON schema by definitions, which OpenAPI expects elsewhere."""
    if isinstance(value, list):
        return [_inlined(one, definitions) for one in value]
    if not isinstance(value, dict):
        return value
    if reference := value.get("$ref"):
        return _inlined(definitions[reference.rpartition("/")[2]], definitions)
    return {k: _inlined(v, definitions) for k, v in value.items() if k != "$defs"}


def schema_of(model: type[BaseModel]) -> object:
    """Return the JSON schema of a body that a route reads itself, without references."""
    schema = model.model_json_schema()
    return _inlined(schema, schema.get("$defs", {}))


def body_of(model: type[BaseModel]) -> dict[str, object]:
    """Build the part of an OpenAPI description for a body that a route reads itself."""
    return {"requestBody": {"required": True, "content": {_JSON: {"schema": schema_of(model)}}}}


_EXAMPLES: Final[Mapping[str, object]] = {
    "requestBody": {
        "required": True,
        "content": {
            _JSON: {"schema": schema_of(TagRequest)},
            "text/plain": {"schema": {"type": "string"}},
            TEI: {"schema": {"type": "string"}},
        },
    },
    "responses": {
        "200": {
            "content": {
                _JSON: {"schema": {"$ref": "#/components/schemas/TagAnswer"}},
                LINES: {"schema": {"$ref": "#/components/schemas/TaggedText"}},
                TEI: {"schema": {"type": "string"}},
            }
        }
    },
}


def routes(service: Service, entries: "EntryIndex | None" = None) -> APIRouter:
    """Create the router of the protocol; candidates for names come from ``entries``."""
    router = APIRouter(tags=["Onoma"])

    @router.post("/v1/tag", response_model=TagAnswer, openapi_extra=dict(_EXAMPLES))
    async def tag(
        request: Request,
        *,
        threshold: Probability | None = None,
        lang: str | None = None,
        existing: Literal["keep", "only-new", "replace-predicted"] = "keep",
        crossing: Literal["split", "standOff"] = "split",
    ) -> Response:
        """Find names in JSON (see the schema), in plain text, or in a TEI file.

        A TEI file comes back with the names in it and nothing else changed; with
        ``Accept: application/json`` the names of each of its documents come instead.
        """
        body, kind = await request.body(), media_type(request)
        if kind in _XML:
            if _JSON in request.headers.get("accept", ""):
                return await _names_of_tei(service, body, threshold)
            least = await service.threshold_of_tei(threshold)
            options = WriteOptions(existing=existing, crossing=crossing, threshold=least)
            return await _tag_tei(service, body, options)
        asked = _read(body, kind)
        asked.threshold = asked.threshold if threshold is None else threshold
        asked.lang = asked.lang or lang
        if asked.candidates and entries is None:
            raise Refusal(422, "candidates: there is no register here (--register).")
        if not asked.stream or asked.sentences is not None:
            return to_answer(await _answer(service, asked, entries))
        await service.models.get(asked.model)
        return StreamingResponse(_lines(service, asked, entries), media_type=LINES)

    return router


def media_type(request: Request) -> str:
    """Return the Content-Type of a request (default: JSON) in lower case, without parameters."""
    return request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()


def decoded(body: bytes) -> str:
    """Decode a body as UTF-8; raises ``Refusal`` where it is not."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, f"The body is no UTF-8 (byte {error.start:,}).") from error


def _read(body: bytes, kind: str) -> TagRequest:
    if kind in {"text/plain", "text/text"}:
        return TagRequest(text=decoded(body))
    if kind != _JSON:
        raise Refusal(415, f"Content-Type {kind[:80]!r}: {_JSON}, text/plain or {TEI} is read.")
    return read_json(TagRequest, body)


def to_answer(answer: BaseModel) -> Response:
    """Serialize an answer as JSON, without fields that are None."""
    return Response(answer.model_dump_json(exclude_none=True, by_alias=True), media_type=_JSON)


async def _answer(service: Service, asked: TagRequest, entries: "EntryIndex | None") -> TagAnswer:
    name = asked.model or service.models.name
    if asked.sentences is not None:
        sentences = checked([_sentence(n, words) for n, words in enumerate(asked.sentences)])
        found = await service.tag(sentences, model=asked.model, threshold=asked.threshold)
        words = [_tagged_words(one) for one in found]
        await _link(words, asked, entries)
        return TagAnswer(model=name, sentences=words)
    texts, lang = _texts(asked), asked.lang or service.settings.lang
    documents = await service.prepare(
        lambda: [
            replace(document_of(text.text, lang=text.lang or lang), id=str(n))
            for n, text in enumerate(texts)
        ],
        size=sum(len(text.text) for text in texts),
    )
    tagged = await service.annotate(documents, model=asked.model, threshold=asked.threshold)
    pairs = zip(texts, tagged, strict=True)
    answers = [_tagged_text(text.id or document.id, document) for text, document in pairs]
    await _link(answers, asked, entries)
    return TagAnswer(model=name, texts=answers)


async def _link(
    tagged: Sequence[TaggedText | TaggedWords], asked: TagRequest, entries: "EntryIndex | None"
) -> None:
    """Add candidates to the names, if the request asks for them."""
    if not asked.candidates or entries is None:
        return
    names = [name for one in tagged for name in one.mentions]
    forms = {(name.text, name.label) for name in names}
    found = await asyncio.to_thread(
        lambda: {form: _candidates(entries, *form, n=asked.candidates) for form in forms}
    )
    for name in names:
        name.candidates = found[name.text, name.label]


def _candidates(entries: "EntryIndex", form: str, label: str, *, n: int) -> list[Entity]:
    """Find the entries that a name with this form and label may mean, at most ``n``."""
    kind = kind_of(label)
    alike = entries.search(form, limit=n, kinds=[kind] if kind else ())
    return [Entity(id=one.id, name=one.name, score=round(score, 3)) for one, score in alike]


def _texts(asked: TagRequest) -> list[Text]:
    given = [asked.text] if asked.text is not None else asked.texts or []
    return [Text(text=one) if isinstance(one, str) else one for one in given]


def _sentence(number: int, words: Sequence[str]) -> Sentence:
    tags, id = ("O",) * len(words), f"sentence {number + 1}"
    return Sentence(id=id, document_id="request", split="test", tokens=tuple(words), tags=tags)


def _tagged_text(id: str, document: Document) -> TaggedText:
    return TaggedText(
        id=id,
        mentions=[
            _name(m, document.text[m.start : m.end], m.score or 0.0) for m in document.mentions
        ],
    )


def _tagged_words(one: Tagged) -> TaggedWords:
    words = one.sentence.tokens
    names = [
        _name(span, " ".join(words[span.start : span.end]), min(span.probability, 1.0))
        for span in one.spans
    ]
    return TaggedWords(tags=list(to_iob2(outermost(one.spans), len(words))), mentions=names)


def _name(span: Mention | TokenSpan, text: str, probability: float) -> Name:
    return Name(
        start=span.start,
        end=span.end,
        text=text,
        label=span.label or "",
        probability=round(probability, 6),
    )


async def _lines(
    service: Service, asked: TagRequest, entries: "EntryIndex | None"
) -> AsyncIterator[bytes]:
    """Yield the answer to each text as a line of JSON, in the order of the texts.

    Up to ``_AHEAD`` texts are tagged ahead. An error of any kind is the line of its text alone.
    """
    waiting: deque[asyncio.Task[bytes]] = deque()

    async def line(text: Text, number: int) -> bytes:
        text.id = text.id or str(number)
        own = asked.model_copy(update={"text": None, "texts": [text]})
        while True:
            try:
                [found] = (await _answer(service, own, entries)).texts or []
                return found.model_dump_json(exclude_none=True).encode() + b"\n"
            except Busy:
                await asyncio.sleep(_PAUSE)  # until there is room
                continue
            except Refusal as refused:
                status, detail = refused.status, refused.detail
            except CorpusError as error:
                status, detail = 422, str(error)
            except Exception as error:
                log.exception("text %s of a streamed answer could not be tagged", text.id)
                status, detail = 500, failure(error)
            fields = {"id": text.id, "status": status, "detail": detail}
            return json.dumps(fields).encode() + b"\n"

    try:
        for number, text in enumerate(_texts(asked)):
            waiting.append(asyncio.create_task(line(text, number)))
            if len(waiting) == _AHEAD:
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()


async def _read_tei(service: Service, body: bytes) -> TeiFile:
    edition = service.settings.edition
    if edition is None:
        raise Refusal(501, "TEI is not read here: start the service with --edition.")
    return await service.prepare(
        lambda: TeiFile.read(body, edition, name="the body"), size=len(body)
    )


async def _names_of_tei(service: Service, body: bytes, threshold: float | None) -> Response:
    file = await _read_tei(service, body)
    documents = await service.annotate(file.documents, threshold=threshold)
    texts = [_tagged_text(document.id, document) for document in documents]
    return to_answer(TagAnswer(model=service.models.name, texts=texts))


async def _tag_tei(service: Service, body: bytes, options: WriteOptions) -> Response:
    """Write names into TEI; the writer skips and counts those below the threshold."""
    file = await _read_tei(service, body)
    documents = await service.annotate(file.documents, threshold=0.0)
    batcher = await service.models.get()
    written = await service.prepare(
        lambda: file.write(mentions_of(documents), model=model_of(batcher.tagger), options=options),
        size=len(body),
    )
    counts = "; ".join(f"{name}={n}" for name, n in sorted(written.counters.items()) if n)
    headers = {
        "x-onoma-counts": counts.encode("ascii", "replace").decode(),
        "x-onoma-threshold": f"{options.threshold:.3f}",
    }
    return Response(written.data, media_type=TEI, headers=headers)
