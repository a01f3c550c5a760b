"""Taggers that clients train: ``POST /train/`` of TEI Publisher, ``POST /train`` of INCEpTION.

``modeling.finetune`` does it, in another process, one at a time. What it made is offered as a model
of the name that the client gave, after a restart as well.

DIR/NAME/1/ner/    the sentences of the first request for that name
DIR/NAME/1/run/    the run of modeling.finetune
DIR/NAME/1/log.txt what it said
"""

import asyncio
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, ValidationError, field_validator

from corpora.datasets.rows import sentence_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, write_json
from corpora.document import Document, Mention, Sentence, without_crossing
from corpora.hashing.sampling import choose
from corpora.ner.alignment import to_sentences
from modeling.http.guard import Refused
from modeling.serve.inception import CasDocument, Metadata, is_prediction, read_cas
from modeling.serve.own import body_of, said
from modeling.serve.service import Models, Service, running_text
from modeling.taggers.folders import has_tagger

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_SPLITS: Final = {"train": 0.9, "dev": 0.1}
"""Samples of ``dev`` choose the best epoch, and are not trained on."""
_LOG_BYTES: Final = 64_000
_ENDING: Final = 20.0  # seconds
_ROOT: Final = Path(__file__).resolve().parents[2]
OFF: Final = "Training is off here: start the service with --allow-training DIR --encoder MODEL."


class Sample(BaseModel):
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
    samples: list[Sample]

    @field_validator("samples", mode="before")
    @classmethod
    def _as_list(cls, given: Any) -> Any:
        """One sample comes without a list around it."""
        return [given] if isinstance(given, dict) else given


class CasTrainRequest(BaseModel):
    """Documents to learn from, as INCEpTION sends them."""

    metadata: Metadata
    documents: list[CasDocument]
    typeSystem: str  # noqa: N815 - the name of the protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """What clients may train."""

    folder: Path
    encoder: Path
    recipe: str = "crf"


@dataclass(eq=False)
class _Job:
    name: str
    folder: Path
    process: asyncio.subprocess.Process

    @property
    def status(self) -> int | None:
        return self.process.returncode

    def log(self) -> str:
        path = self.folder / "log.txt"
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            return file.read().decode("utf-8", "replace")


class Trainer:
    """Starts trainings, and offers what they made."""

    def __init__(self, models: Models, settings: TrainSettings) -> None:
        self.models, self.settings = models, settings
        self.jobs: list[_Job] = []
        self._watchers: set[asyncio.Task[None]] = set()
        self._is_starting = False
        for name in sorted(settings.folder.glob("*")) if settings.folder.is_dir() else ():
            for run in sorted(name.glob("*/run"), key=lambda run: _number(run.parent)):
                if has_tagger(run) and name.name != models.name:
                    models.add(name.name, run)

    async def start(self, name: str, documents: Sequence[Document], *, service: Service) -> int:
        """Start a training; returns its id. Raises ``Refused``."""
        if not _NAME.fullmatch(name) or name == self.models.name:
            raise Refused(422, f"name {name[:80]!r}: letters, digits, . _ and -, and not taken.")
        if self._is_starting or any(job.status is None for job in self.jobs):
            raise Refused(429, "Something is trained already. Come again when it is done.")
        self._is_starting = True
        try:
            sentences = await service.prepare(lambda: _sentences(documents))
            folder = self._new_folder(name)
            await service.prepare(lambda: _write(folder / "ner", sentences))
            job = await self._begin(name, folder)
        finally:
            self._is_starting = False
        self.jobs.append(job)
        watcher = asyncio.create_task(self._watch(job))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return len(self.jobs)

    def _new_folder(self, name: str) -> Path:
        numbers = [_number(path) for path in (self.settings.folder / name).glob("*")]
        folder = self.settings.folder / name / str(max(numbers, default=0) + 1)
        folder.mkdir(parents=True)
        return folder

    async def _begin(self, name: str, folder: Path) -> _Job:
        command = ("-m", "modeling.finetune", self.settings.recipe, "--ner", folder / "ner")
        options = ("--model", self.settings.encoder, "--output", folder / "run", "--threads", "1")
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        with (folder / "log.txt").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *map(str, (*command, *options)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )
        return _Job(name, folder, process)

    async def _watch(self, job: _Job) -> None:
        if await job.process.wait() == 0:
            self.models.add(job.name, job.folder / "run")

    def job(self, id: int) -> _Job:
        """The training of an id; raises ``Refused``."""
        if not 0 < id <= len(self.jobs):
            raise Refused(404, f"No training {id}.")
        return self.jobs[id - 1]

    async def close(self) -> None:
        """End what is trained; what it has learned so far is in its folder."""
        for job in self.jobs:
            if job.status is None:
                job.process.terminate()
                try:
                    await asyncio.wait_for(job.process.wait(), _ENDING)
                except TimeoutError:
                    job.process.kill()
                    await job.process.wait()


def _number(path: Path) -> int:
    return int(path.name) if path.name.isdecimal() else 0


def routes(service: Service, trainer: Trainer | None) -> APIRouter:
    """The routes that train; without a trainer they say that they do not."""
    router = APIRouter()

    @router.post("/train/", tags=["TEI Publisher"], openapi_extra=body_of(TrainRequest))
    async def train(request: Request) -> int:
        """Train a model from samples; returns the id to ask for."""
        asked, trainer_ = await _read(service, request, TrainRequest), _given(trainer)
        if asked.base is not None and asked.base not in service.models.names():
            raise Refused(404, f"No model {asked.base[:80]!r}.")
        documents = await service.prepare(lambda: list(_of_samples(asked)))
        return await trainer_.start(asked.name, documents, service=service)

    @router.get("/train/{id}", tags=["TEI Publisher"], response_class=PlainTextResponse)
    async def log(id: int) -> PlainTextResponse:
        """Give what a training said so far: 202 while it runs, 200 when it has ended."""
        job = _given(trainer).job(id)
        if job.status is None:
            return PlainTextResponse(job.log(), 202)
        ended = f"\n\nProcess completed with exit code {job.status}."
        return PlainTextResponse(job.log() + ended)

    @router.post(
        "/train", tags=["INCEpTION"], status_code=204, openapi_extra=body_of(CasTrainRequest)
    )
    async def train_recommender(request: Request) -> Response:
        """Train the model of a project from its documents."""
        asked, trainer_ = await _read(service, request, CasTrainRequest), _given(trainer)
        documents = await service.prepare(lambda: [_of_cas(asked, d) for d in asked.documents])
        name = f"inception-{asked.metadata.projectId}"
        await trainer_.start(name, documents, service=service)
        return Response(status_code=204)

    return router


def _given(trainer: Trainer | None) -> Trainer:
    if trainer is None:
        raise Refused(403, OFF)
    return trainer


async def _read(service: Service, request: Request, kind: Any) -> Any:
    body = await request.body()
    try:
        return await service.prepare(lambda: kind.model_validate_json(body))
    except ValidationError as error:
        raise Refused(422, said(error)) from error


def _of_samples(asked: TrainRequest) -> Iterator[Document]:
    for number, sample in enumerate(asked.samples):
        names = [(start, end, label) for start, end, label in sample.entities]
        yield _document(sample.text, names, id=str(number), lang=asked.lang)


def _of_cas(asked: CasTrainRequest, document: CasDocument) -> Document:
    cas = read_cas(document.xmi, asked.typeSystem)
    layer, feature = asked.metadata.layer, asked.metadata.feature
    if not cas.typesystem.contains_type(layer):
        raise Refused(422, f"layer {layer[:80]!r}: not in the type system.")
    names = [
        (one.begin, one.end, label)
        for one in cas.select(layer)
        if not is_prediction(one) and (label := getattr(one, feature, None))
    ]
    return _document(cas.sofa_string, names, id=str(document.documentId), lang=None)


def _document(
    text: str, names: Sequence[tuple[int, int, str]], *, id: str, lang: str | None
) -> Document:
    mentions = []
    for start, end, label in names:
        if not 0 <= start < end <= len(text) or not label.strip():
            raise Refused(422, f"sample {id}: a name from {start} to {end} of {len(text)}.")
        mentions.append(Mention(start, end, label=label, origin="annotation"))
    kept, _ = without_crossing(mentions)
    return replace(running_text(text, lang=lang), id=id, mentions=tuple(kept))


def _sentences(documents: Sequence[Document]) -> list[Sentence]:
    """The tagged sentences of documents; raises ``Refused`` where none has a name."""
    sentences = [
        replace(sentence, split=split)
        for document in documents
        for split in [choose(document.text, _SPLITS)]
        for sentence in to_sentences(document, lambda _: "train")
        if sentence.tokens
    ]
    if _has_names([one for one in sentences if one.split == "train"]):
        return sentences
    if not _has_names(sentences):
        raise Refused(422, "There is no name to learn from in these samples.")
    return [replace(one, split="train") for one in sentences]  # too few for a dev


def _has_names(sentences: Sequence[Sentence]) -> bool:
    return any(tag != "O" for one in sentences for tag in one.tags)


def _write(folder: Path, sentences: Sequence[Sentence]) -> None:
    """Write a dataset of tagged sentences."""
    folder.mkdir()
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["ner"]) as writer:
        for sentence in sentences:
            writer.write(sentence_to_row(sentence))
    shard = writer.shard
    assert shard is not None  # noqa: S101 - there is one when it is closed
    n = len(sentences)
    write_json(
        folder / "dataset.json",
        {
            "schema": "ner",
            "version": SCHEMAS["ner"].version,
            "plan": {"fingerprint": shard.sha256, "inputs": [], "parameters": {}},
            "shards": [{k: getattr(shard, k) for k in ("name", "rows", "bytes", "sha256")}],
            "accounting": {"read": n, "written": n, "filtered": {}, "rejected": {}},
            "counters": {},
        },
    )
