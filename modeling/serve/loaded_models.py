"""The service that all protocols use: models by name, preparation of texts in a thread, tagging."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from corpora.document import Document, Sentence, TokenSpan
from corpora.ner.labels import LabelMap
from corpora.tei.edition import Edition
from modeling.data.predictions import Tagged
from modeling.http.guard import Refusal
from modeling.serve.batching import Batcher
from modeling.taggers.tagger import Tagger, document_of, sentences_of, to_mentions

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
_MAX_LOADED: Final = 4
"""The most models in memory: the one of the command, and the trained ones that were used last."""
_MAX_WORD: Final = 10_000
"""The most characters of a word; the time to cut a word into subwords grows with their square."""
_SMALL: Final = 100_000
"""The most bytes or characters of a small text, which is prepared in some 10 ms."""
_BLANK: Final = re.compile(r"\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The settings for finding and writing names, the same for all requests."""

    edition: Edition | None = None
    """The rules by which TEI is read and written."""
    lang: str | None = None
    """The language of texts whose request names none."""
    labels: LabelMap | None = None
    threshold: float | None = None
    """The least probability of a name, for requests that give none. None: the tagger's own for
    names that are written into TEI, and 0 for names that are listed with their probabilities."""
    max_waiting: int = 20_000
    """The most sentences of all requests together that wait for a model or are being tagged."""


class LoadedModels:
    """The taggers by name; each that is loaded has a thread of its own."""

    def __init__(self, name: str, tagger: Tagger, settings: ServiceSettings) -> None:
        self.name, self.settings = name, settings
        self.loaded: dict[str, Batcher] = {name: self._batcher(tagger)}
        self._folders: dict[str, Path] = {}
        self._lock = asyncio.Lock()

    def names(self) -> list[str]:
        """List the names of the models that can be asked, the model of the command first."""
        return [self.name, *(name for name in self._folders if name != self.name)]

    def of_project(self, project: int) -> str:
        """Return the name of the model trained for a project of INCEpTION, else the default."""
        name = f"inception-{project}"
        return name if name in self._folders else self.name

    def add(self, name: str, folder: Path) -> None:
        """Offer a trained tagger; an earlier one of the same name is unloaded."""
        self._folders[name] = folder
        if name in self.loaded and name != self.name:
            self._drop(name)

    async def get(self, name: str | None = None) -> Batcher:
        """Return the batcher of a model; load its tagger if it is not in memory.

        Raises ``Refusal`` (404) for an unknown name.
        """
        name = name or self.name
        if name not in self.names():
            raise Refusal(404, f"No model {name[:80]!r}: there are {', '.join(self.names())}.")
        async with self._lock:
            if name not in self.loaded:
                tagger = await asyncio.to_thread(Tagger.load, self._folders[name])
                for other in list(self.loaded)[1 : len(self.loaded) + 2 - _MAX_LOADED]:
                    self._drop(other)
                self.loaded[name] = self._batcher(tagger)
            elif name != self.name:  # order of last use
                self.loaded[name] = self.loaded.pop(name)
            return self.loaded[name]

    def close(self) -> None:
        """End the threads of all loaded taggers."""
        for batcher in self.loaded.values():
            batcher.close()

    def _batcher(self, tagger: Tagger) -> Batcher:
        tagger.label_map = self.settings.labels
        return Batcher(tagger, max_waiting=self.settings.max_waiting)

    def _drop(self, name: str) -> None:
        asyncio.get_running_loop().run_in_executor(None, self.loaded.pop(name).close)


@dataclass(eq=False)
class Service:
    """The models, and the threads that prepare texts for them: large ones have their own."""

    models: LoadedModels
    settings: ServiceSettings
    _preparing: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="preparing")
    )
    _preparing_large: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="preparing-large")
    )

    @classmethod
    @contextmanager
    def opened(cls, name: str, tagger: Tagger, settings: ServiceSettings) -> "Iterator[Service]":
        """Open a service, and end its threads afterwards."""
        service = cls(LoadedModels(name, tagger, settings), settings)
        try:
            yield service
        finally:
            service._preparing.shutdown(cancel_futures=True)
            service._preparing_large.shutdown(cancel_futures=True)
            service.models.close()

    async def prepare(self, work: Callable[[], T], *, size: int | None = None) -> T:
        """Run CPU-bound work in a thread, off the event loop, one call after the other.

        ``size`` is that of the text, in bytes or characters: small texts do not wait for large
        ones. None: as if it were large.
        """
        is_small = size is not None and size <= _SMALL
        thread = self._preparing if is_small else self._preparing_large
        return await asyncio.get_running_loop().run_in_executor(thread, work)

    async def read(self, request: Request, kind: type[M]) -> M:
        """Read the body of a request into a pydantic model; raises ``Refusal`` if invalid."""
        body = await request.body()
        return await self.prepare(lambda: read_json(kind, body), size=len(body))

    async def tag(
        self, sentences: Sequence[Sentence], *, model: str | None = None, threshold: float | None
    ) -> list[Tagged]:
        """Tag sentences, in their order; drop names whose probability is below the threshold."""
        batcher = await self.models.get(model)
        found = await batcher.tag(sentences)
        least = (self.settings.threshold or 0.0) if threshold is None else threshold
        if least <= 0:
            return found
        return [
            replace(t, spans=tuple(s for s in t.spans if s.probability >= least)) for t in found
        ]

    async def threshold_of_tei(self, asked: float | None) -> float:
        """Return the least probability of names that are written into TEI.

        It is what the request asks for, else that of the settings, else that of the tagger.
        """
        given = self.settings.threshold if asked is None else asked
        if given is not None:
            return given
        return (await self.models.get()).tagger.threshold_of_editions

    async def annotate(
        self,
        documents: Sequence[Document],
        *,
        model: str | None = None,
        threshold: float | None = None,
    ) -> list[Document]:
        """Return the documents with predicted mentions instead of their own.

        Each document needs a unique id: sentences of one document are context of each other.
        """
        sentences = await self.prepare(
            lambda: [checked(sentences_of(document)) for document in documents],
            size=sum(len(document.text) for document in documents),
        )
        every = [sentence for own in sentences for sentence in own]
        found = map(to_mentions, await self.tag(every, model=model, threshold=threshold))
        return [
            replace(document, mentions=tuple(chain.from_iterable(islice(found, len(own)))))
            for document, own in zip(documents, sentences, strict=True)
        ]

    async def running_text(self, text: str, *, lang: str | None = None) -> Document:
        """Call the function ``running_text`` off the event loop."""
        lang = lang or self.settings.lang
        return await self.prepare(lambda: running_text(text, lang=lang), size=len(text))


def checked(sentences: list[Sentence]) -> list[Sentence]:
    """Return the sentences unchanged; raises ``Refusal`` for a word that is too long."""
    for sentence in sentences:
        if any(len(token) > _MAX_WORD for token in sentence.tokens):
            raise Refusal(422, f"A word has more than {_MAX_WORD:,} characters: this is no text.")
    return sentences


def read_json(kind: type[M], text: str | bytes, *, what: str = "", status: int = 422) -> M:
    """Parse JSON into a pydantic model; raises ``Refusal`` that says what is wrong, and where."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise Refusal(status, what + said(error.errors())) from error


def said(errors: Sequence[ErrorDetails]) -> str:
    """Describe what is wrong with a request, and where: the first three errors."""
    found = ((".".join(map(str, error["loc"])), error["msg"]) for error in errors[:3])
    return "; ".join(": ".join(filter(None, pair)) for pair in found)


def failure(error: Exception) -> str:
    """Describe an unexpected error to a client."""
    return f"The service failed ({type(error).__name__}); its log says where."


def running_text(text: str, *, lang: str | None) -> Document:
    """Make a document of a text whose line ends mean nothing, cut into sentences.

    Each white space becomes a blank, so that offsets stay the same.
    """
    return document_of(_BLANK.sub(" ", text), lang=lang)


def places_of(sentence: Sentence) -> list[tuple[int, int]]:
    """Return the span of each word as (start, end) in characters."""
    starts = sentence.token_starts or ()
    return [(s, s + len(t)) for s, t in zip(starts, sentence.tokens, strict=True)]


def place_of(sentence: Sentence, span: TokenSpan) -> tuple[int, int]:
    """Convert a span of words to (start, end) in characters."""
    starts, last = sentence.token_starts or (), span.end - 1
    return starts[span.start], starts[last] + len(sentence.tokens[last])
