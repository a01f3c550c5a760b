"""The ASGI application: the routes of all protocols, health, counters, and answers to errors."""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from corpora import __version__
from corpora.errors import CorpusError
from corpora.reports.pages import render
from modeling.http.guard import Guard, Refusal, RequestLimits
from modeling.serve import corenlp, inception, onoma_api, publisher, training
from modeling.serve.loaded_models import Service, failure, said
from modeling.serve.training import Trainer

if TYPE_CHECKING:
    from modeling.serve.entries import EntryIndex

_ABOUT = """Finds names with a tagger. `POST /v1/tag` is for programs; the other paths are those
that TEI Publisher, reconciliation clients (OpenRefine), INCEpTION and Recogito Studio ask for."""


def guarded(
    service: Service,
    rules: RequestLimits,
    entries: "EntryIndex | None" = None,
    *,
    space: str = "",
    trainer: Trainer | None = None,
) -> Guard:
    """Make the application with its guard.

    Args:
        service: finds names.
        rules: of the guard.
        entries: a register or vocabulary that ids are taken from, if any.
        space: the URI of the identifier space of these ids.
        trainer: trains for clients, if they may; it ends with the application.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if trainer is not None:
            await trainer.close()

    app = FastAPI(
        title="Onoma",
        version=__version__,
        description=_ABOUT,
        docs_url=None,  # FastAPI's pages of documentation load scripts from other servers
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.include_router(onoma_api.routes(service, entries))
    for protocol in (publisher, inception, corenlp):
        app.include_router(protocol.routes(service))
    app.include_router(training.routes(service, trainer))
    if entries is not None:
        from modeling.serve import reconciliation  # noqa: PLC0415 - needs the extra linking

        app.include_router(reconciliation.routes(entries, space=space))

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> str:
        return render("service", title="Onoma")

    _answer_errors(app)
    guard = Guard(app, rules)
    _add_counters(app, service, guard)
    return guard


def _answer_errors(app: FastAPI) -> None:
    """Turn exceptions into JSON answers that say what was wrong."""

    @app.exception_handler(Refusal)
    async def refused(_: Request, error: Refusal) -> JSONResponse:
        headers = {name.decode(): value.decode() for name, value in error.headers}
        return JSONResponse({"detail": _plain(error.detail)}, error.status, headers=headers)

    @app.exception_handler(CorpusError)
    async def unreadable(_: Request, error: CorpusError) -> JSONResponse:
        return JSONResponse({"detail": _plain(str(error))}, 422)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": _plain(said(error.errors()))}, 422)

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": failure(error)}, 500)


def _plain(detail: str) -> str:
    """Replace lone surrogates, which JSON can contain but UTF-8 cannot."""
    return detail.encode("utf-8", "replace").decode("utf-8")


def _add_counters(app: FastAPI, service: Service, guard: Guard) -> None:
    """Add ``/health`` and ``/metrics``; the latter has the counters of the guard, too."""
    began = time.monotonic()

    @app.get("/health", tags=["Onoma"])
    async def health() -> dict[str, object]:
        """Say that the service answers, and what it serves."""
        waiting = sum(one.n_waiting for one in service.models.loaded.values())
        return {
            "status": "ok",
            "version": __version__,
            "models": service.models.names(),
            "sentences_waiting": waiting,
            "seconds": round(time.monotonic() - began, 3),
        }

    @app.get("/metrics", response_class=PlainTextResponse, tags=["Onoma"])
    async def metrics() -> str:
        """Return the counters in the text format of Prometheus."""
        return "".join(_metrics(service, guard, time.monotonic() - began))


def _metrics(service: Service, guard: Guard, seconds: float) -> Iterator[str]:
    """Yield the lines of the text format of Prometheus."""
    yield from _samples("uptime_seconds", "gauge", {"": seconds}, about="Seconds since the start.")
    by_status = {f'{{status="{status}"}}': n for status, n in guard.counts.items()}
    yield from _samples("requests_total", "counter", by_status, about="Answers by status.")
    name, bounds = "request_seconds", guard.histogram()
    counts: dict[str, float] = {f'_bucket{{le="{bound}"}}': n for bound, n in bounds.items()}
    counts |= {"_sum": guard.seconds, "_count": bounds["+Inf"]}
    yield from _samples(name, "histogram", counts, about="Seconds from a request to its answer.")
    yield from _samples("requests_now", "gauge", {"": guard.n_requests}, about="Requests in work.")
    yield from _samples(
        "body_bytes_now", "gauge", {"": guard.n_bytes}, about="Bytes of their bodies."
    )
    loaded = {f'{{model="{name}"}}': batcher for name, batcher in service.models.loaded.items()}
    waiting = {label: batcher.n_waiting for label, batcher in loaded.items()}
    yield from _samples("sentences_waiting", "gauge", waiting, about="Sentences that wait.")
    for counter, what in (
        ("batches", "Batches that went through a model."),
        ("sentences", "Sentences that were tagged."),
        ("failures", "Batches that failed."),
    ):
        values = {label: batcher.counts[counter] for label, batcher in loaded.items()}
        yield from _samples(f"{counter}_total", "counter", values, about=what)


def _samples(name: str, kind: str, values: Mapping[str, float], *, about: str) -> Iterator[str]:
    """Yield a metric: its description, and a sample for each suffix of its name."""
    yield f"# HELP onoma_{name} {about}\n# TYPE onoma_{name} {kind}\n"
    for suffix, value in values.items():
        yield f"onoma_{name}{suffix} {value:.15g}\n"
