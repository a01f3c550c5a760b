"""Training for clients: ``POST /train/`` of TEI Publisher, ``POST /train`` of INCEpTION.

``onoma finetune`` runs in another process, one training at a time. The trained tagger is offered
as a model, under the name that the client gave or that of its project in INCEpTION, after a restart
of the service as well.

DIR/NAME/1/ner/    the sentences of the first request for that name
DIR/NAME/1/run/    the run of onoma finetune
DIR/NAME/1/log.txt the output of onoma finetune
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, field_validator

from corpora.document import Document, Mention, without_crossing
from corpora.runs.plain import write_dataset
from modeling.finetune import process
from modeling.http.guard import Refusal
from modeling.serve.inception import CasDocument, Metadata, is_prediction, read_cas
from modeling.serve.loaded_models import LoadedModels, Service, running_text
from modeling.serve.onoma_api import body_of
from modeling.taggers.folders import has_tagger

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
OFF: Final = "Training is off here: start the service with --allow-training DIR --encoder MODEL."


class TrainingText(BaseModel):
    """A text with its names: start, end (characters) and class."""

    source: str = ""
    text: str
    entities: list[tuple[int, int, str]] = []


class TrainRequest(BaseModel):
    """A model that is to be trained, as TEI Publisher asks for it."""

    name: str
    base: str | None = None
    lang: str | None = None
    copy_vectors: str | None = Field(default=None, description="not used: there are none")
    samples: list[TrainingText]

    @field_validator("samples", mode="before")
    @classmethod
    def _as_list(cls, given: object) -> object:
        """Put a single sample, which comes without a list, into one."""
        return [given] if isinstance(given, dict) else given


class CasTrainRequest(BaseModel):
    """Documents to learn from, as INCEpTION sends them."""

    metadata: Metadata
    documents: list[CasDocument]
    typeSystem: str  # noqa: N815 - the name of the protocol


class Trainer:
    """A starter of trainings, one at a time, which offers the trained taggers as models."""

    def __init__(self, models: LoadedModels, settings: process.TrainSettings) -> None:
        self.models, self.settings = models, settings
        self.jobs: list[tuple[str, process.CommandChain]] = []
        self._watchers: set[asyncio.Task[None]] = set()
        self._is_starting = False
        for name in sorted(settings.folder.glob("*")) if settings.folder.is_dir() else ():
            for run in sorted(name.glob("*/run"), key=lambda run: process.number_of(run.parent)):
                if has_tagger(run) and name.name != models.name:
                    models.add(name.name, run)

    async def start(self, name: str, documents: Sequence[Document], *, service: Service) -> int:
        """Start a training and return its id.

        Raises ``Refusal`` for a bad name or while another training runs, and ``CorpusError`` where
        no document has a name.
        """
        if not _NAME.fullmatch(name) or name == self.models.name:
            raise Refusal(422, f"name {name[:80]!r}: letters, digits, . _ and -, and not taken.")
        if self._is_starting or any(job.status is None for _, job in self.jobs):
            raise Refusal(429, "Something is trained already. Come again when it is done.")
        self._is_starting = True
        try:
            sentences = await service.prepare(lambda: process.sentences_to_learn(documents))
            folder = process.new_folder(self.settings.folder / name)
            await service.prepare(lambda: write_dataset(sentences, folder / "ner"))
            job = process.CommandChain(folder, [self.settings.command(folder, sentences)])
        finally:
            self._is_starting = False
        self.jobs.append((name, job))
        watcher = asyncio.create_task(self._watch(name, job))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return len(self.jobs)

    async def _watch(self, name: str, job: process.CommandChain) -> None:
        if await asyncio.to_thread(job.wait) == 0:
            self.models.add(name, job.folder / "run")

    def job(self, id: int) -> process.CommandChain:
        """Look up a training by its id; raises ``Refusal`` (404) for an unknown one."""
        if not 0 < id <= len(self.jobs):
            raise Refusal(404, f"No training {id}.")
        return self.jobs[id - 1][1]

    async def close(self) -> None:
        """Stop the training that runs; what it has learned so far stays in its folder."""
        for _, job in self.jobs:
            if job.status is None:
                await asyncio.to_thread(job.stop)


def routes(service: Service, trainer: Trainer | None) -> APIRouter:
    """Create the router of the routes that train; without a trainer they refuse (403)."""
    router = APIRouter()

    @router.post("/train/", tags=["TEI Publisher"], openapi_extra=body_of(TrainRequest))
    async def train(request: Request) -> int:
        """Start to train a model on samples; return the id of the training."""
        trainer_, asked = _given(trainer), await service.read(request, TrainRequest)
        if asked.base is not None and asked.base not in service.models.names():
            raise Refusal(404, f"No model {asked.base[:80]!r}.")
        documents = await service.prepare(
            lambda: [
                _document(sample.text, sample.entities, id=str(number), lang=asked.lang)
                for number, sample in enumerate(asked.samples)
            ]
        )
        return await trainer_.start(asked.name, documents, service=service)

    @router.get("/train/{id}", tags=["TEI Publisher"], response_class=PlainTextResponse)
    async def log(id: int) -> PlainTextResponse:
        """Return the log of a training: status 202 while it runs, 200 when it has ended."""
        job = _given(trainer).job(id)
        if job.status is None:
            return PlainTextResponse(job.log(), 202)
        ended = f"\n\nProcess completed with exit code {job.status}."
        return PlainTextResponse(job.log() + ended)

    @router.post(
        "/train", tags=["INCEpTION"], status_code=204, openapi_extra=body_of(CasTrainRequest)
    )
    async def train_recommender(request: Request) -> Response:
        """Start to train the model of a project on its documents."""
        trainer_, asked = _given(trainer), await service.read(request, CasTrainRequest)
        numbered = list(zip(asked.documents, _ids(asked.documents), strict=True))
        documents = await service.prepare(lambda: [_of_cas(asked, d, id=id) for d, id in numbered])
        name = f"inception-{asked.metadata.projectId}"
        await trainer_.start(name, documents, service=service)
        return Response(status_code=204)

    return router


def _given(trainer: Trainer | None) -> Trainer:
    if trainer is None:
        raise Refusal(403, OFF)
    return trainer


def _ids(documents: Iterable[CasDocument]) -> Iterator[str]:
    """Yield an id for each document: the one that it has, and a number where others have it."""
    times = Counter[str]()
    for document in documents:
        id = str(document.documentId)
        times[id] += 1
        yield id if times[id] == 1 else f"{id}.{times[id]}"


def _of_cas(asked: CasTrainRequest, document: CasDocument, *, id: str) -> Document:
    layer, feature = asked.metadata.layer, asked.metadata.feature
    cas = read_cas(document.xmi, asked.typeSystem, layer=layer)
    names = [
        (one.begin, one.end, label)
        for one in cas.select(layer)
        if not is_prediction(one) and (label := getattr(one, feature, None))
    ]
    return _document(cas.sofa_string, names, id=id, lang=None)


def _document(
    text: str, names: Sequence[tuple[int, int, str]], *, id: str, lang: str | None
) -> Document:
    mentions = []
    for start, end, label in names:
        if not 0 <= start < end <= len(text) or not label.strip():
            raise Refusal(422, f"sample {id}: a name from {start} to {end} of {len(text)}.")
        mentions.append(Mention(start, end, label=label, origin="annotation"))
    kept, _ = without_crossing(mentions)
    return replace(running_text(text, lang=lang), id=id, mentions=tuple(kept))
